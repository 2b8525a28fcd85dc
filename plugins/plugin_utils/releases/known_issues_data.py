# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Issues that upstream's notes list as known in a release and a description can be compared with: wrong text, ends and hangs.

Fields: number of the issue of vllm-ascend, first and last release whose notes list it, pattern for the model's name,
hardware (or nothing for all), condition (a key of rules/known_issues.py), what happens, the way out.
Left out: performance, what another rule refuses, and models and settings that no inventory can name.

Source: docs/source/user_guide/release_notes.md of 0.30.0rc2, sections Known Issues.
"""

from __future__ import annotations

# Releases whose notes have a section Known Issues, oldest first: the first one after an issue's last release lists it no more.
NOTES = ("0.18.0", "0.19.1rc1", "0.20.2rc1", "0.21.0rc1", "0.22.1rc1", "0.23.0rc1", "0.23.0", "0.26.0rc1", "0.30.0rc1")

# What a diagnosis says when an issue is met: ids of causes, or words of the log. Issues without them change answers, and end no engine.
_HANGS = r"\bLOG-(?:KERNEL-TIMEOUT|COLLECTIVE|RANK-STUCK|WORKER-HANGS|WORKER-SILENT|AICPU-KERNEL)\b"
_MEMORY = r"\bLOG-(?:NPU-MEMORY|HOST-MEMORY|KILLED)\b"
SIGNS = {
    "8843": _HANGS + r"|\bLOG-(?:KERNEL-FAULT|OPERATOR|GRAPH-FAILED)\b",
    "9956": r"\bexceeds varlen segment length\b",
    "9958": _HANGS,
    "10962": r"unhashable type: 'list'",
    "10963": _HANGS,
    "12345": _MEMORY,
    "12390": r"\bLOG-(?:KV-WRONG|STORE-GET)\b",
    "14911": _HANGS + r"|\bLOG-KERNEL-FAULT\b",
}

_TEST = "Compare answers with those of a colocated pool before you rely on it, or choose another release."

ROWS: tuple[tuple[str, str, str, str, str, str, str, str], ...] = (
    (
        "17541",
        "0.30.0rc1",
        "0.30.0rc2",
        r"glm-?5\.3(?!-flash)",
        "",
        "disaggregated",
        "less accurate answers",
        _TEST,
    ),
    (
        *("15648", "0.26.0rc1", "0.26.0rc1", r"deepseek-?v4", "", "sleep"),
        "engines may not work again after they were woken up",
        "Remove enable-sleep-mode.",
    ),
    (
        *("14911", "0.26.0rc1", "0.26.0rc1", r"deepseek-?v3\.1", "", "disaggregated"),
        "engines may hang or end",
        "Choose another release.",
    ),
    (
        *("12345", "0.23.0rc1", "0.23.0.post1", r"deepseek-?v4-pro", "a3 950", "always"),
        "engines need more and more memory until they end",
        "Watch their memory, and restart the engines one after the other (playbook restart) before it is used up.",
    ),
    (
        *("12390", "0.23.0", "0.23.0.post1", r"deepseek-?v4|qwen3\.[5-9]|kimi-?k3", "", "store"),
        "KV that the store fails to load may be used as it is, which changes answers",
        "Treat a red flag about failed loads as wrong answers, or remove store from inference_kv_transfer.",
    ),
    (
        *("14378", "0.23.0", "0.23.0.post1", r"glm-?5\.2", "", "sparse_c8"),
        "the accuracy of answers differs by 2 to 3 points from run to run",
        "Remove enable_sparse_sfa_c8 if that is too much.",
    ),
    (
        *("14011", "0.23.0", "0.23.0.post1", r"glm-?5\.2", "", "sparse_c8_context"),
        "decode context parallelism with enable_sparse_sfa_c8 is slow and has defects",
        "Remove one of them.",
    ),
    (
        *("12339", "0.23.0rc1", "0.23.0rc1", r"qwen3\.5-397b", "950", "disaggregated_without_mtp"),
        "answers are right and wrong in turn",
        "Set a speculative-config with method mtp, or choose another release.",
    ),
    (
        *("10961", "0.22.1rc1", "0.22.1rc1", r"qwen3\.[5-9]|qwen3-next", "", "disaggregated_with_mtp"),
        "used KV blocks are not cleaned, which changes answers",
        "Remove speculative-config, or choose another release.",
    ),
    (
        *("10962", "0.22.1rc1", "0.22.1rc1", r"kimi-?k2\.6", "a3", "disaggregated"),
        "decode's transfer of KV cache fails with several requests at a time (unhashable type: 'list')",
        "Choose another release.",
    ),
    (
        *("10963", "0.22.1rc1", "0.22.1rc1", r"glm-?5\.1", "", "disaggregated"),
        "engines may hang with prompts of 140,000 tokens",
        "Limit max-model-len, or choose another release.",
    ),
    (
        *("9956", "0.21.0rc1", "0.22.1rc1", r"qwen3\.6-35b", "", "with_mtp"),
        "engines may end (numAcceptedTokens exceeds varlen segment length)",
        "Remove speculative-config, or choose another release.",
    ),
    (
        *("9958", "0.21.0rc1", "0.22.1rc1", r"glm-?5\.1", "", "disaggregated"),
        "prefill may hang after long service with prompts of 200,000 tokens",
        "Limit max-model-len, or choose another release.",
    ),
    (
        *("8843", "0.19.1rc1", "0.19.1rc1", r"glm-?5(\.1)?(?![.\d])", "", "colocated"),
        "wrong answers, or errors while it runs",
        "Disaggregate prefill and decode, or choose another release.",
    ),
    ("8421", "0.18.0", "0.18.0", r"qwen3\.\d", "", "disaggregated", "less accurate answers", _TEST),
    (
        *("8853", "0.18.0", "0.18.0", r"glm-?5(?![.\d])|deepseek-?v3\.2", "", "disaggregated"),
        "answers are sometimes empty or garbled",
        _TEST,
    ),
    (
        *("8844", "0.18.0", "0.18.0", r"glm-?5(\.1)?(?![.\d])", "", "decode_tp16_dp2"),
        "answers are less accurate than with other sizes of decode",
        "Choose another tensor_parallel_size for decode.",
    ),
)
