# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules, in the order of their ids; and what a host has to check because only it can know."""

from __future__ import annotations

import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import nearest
from ansible_collections.ascend.inference.plugins.plugin_utils._rules import (
    arguments,
    connectors,
    environment,
    model,
    ports,
    router,
    runtime,
    sizes,
    store,
    topology,
)
from ansible_collections.ascend.inference.plugins.plugin_utils._rules._base import Case, Found, Rule, Rules

THEMES: dict[str, Rules] = {
    "Topology and devices": topology.RULES,
    "Parallel sizes": sizes.RULES,
    "Ports": ports.RULES,
    "Connectors": connectors.RULES,
    "The pool of KV cache": store.RULES,
    "Arguments of vLLM": arguments.RULES,
    "The model and its serving": model.RULES,
    "Environment": environment.RULES,
    "Router": router.RULES,
    "Names, paths, images, time-outs": runtime.RULES,
}
OWN = Rules()
THEMES["Rules about rules"] = OWN


@OWN.rule("IGNORE-UNKNOWN", "Correct or remove the id.", "the planner")
def ignored(case: Case) -> t.Iterator[Found]:
    """inference_rules_ignore names rules that exist."""
    known = [rule.id for rule in RULES]
    for index, id_ in enumerate(case.context.description.rules_ignore):
        if id_ not in known:
            yield Found(f"inference_rules_ignore[{index}]", id_, fix=nearest(id_, known).strip())


RULES: tuple[Rule, ...] = tuple(sorted((rule for rules in THEMES.values() for rule in rules), key=lambda rule: rule.id))

# What depends on files and devices of the hosts: checked there before anything starts, not by the planner.
HOST_RULES: tuple[dict[str, str], ...] = tuple(
    {"id": id_, "severity": severity, "reason": reason, "source": source}
    for id_, severity, reason, source in (
        (
            "MODEL-MOE",
            "error",
            "config.json has no experts and data_parallel_size is above 1 (DENSE-DP)",
            "vllm-ascend #8344",
        ),
        (
            "MODEL-HEAD-DIM",
            "error",
            "config.json has no head_dim and the release is from 0.11.0rc1 to 0.20.2rc1",
            "vllm-ascend #7352, #5572",
        ),
        (
            "MODEL-DTYPE",
            "error",
            "config.json says float16 and the model is quantized w8a8: --dtype bfloat16 is needed",
            "vllm-ascend docs",
        ),
        (
            "MODEL-QUANTIZATION",
            "error",
            "quant_model_description*.json is there and --quantization ascend is not",
            "vllm-ascend docs",
        ),
        ("MODEL-SAME", "error", "the model's files differ between the hosts of prefill and decode", "vllm-ascend docs"),
        (
            "MODEL-KV-HEADS",
            "error",
            "num_key_value_heads is missing (multi-modal models), or tensor parallel sizes do not divide it",
            "vllm-ascend #5245",
        ),
        (
            "MODEL-HYBRID",
            "error",
            "a hybrid (Mamba) model with kv_load_failure_policy recompute, or unequal num_speculative_tokens",
            "vllm-ascend kv_pool.md",
        ),
        (
            "HOST-SEGMENTS",
            "error",
            "the segments of a host's ranks take more than 60 % of MemAvailable",
            "vllm-ascend kv_pool.md",
        ),
        (
            "HOST-HDK",
            "error",
            "the driver is older than the release, or the pool's size or fabric memory, wants",
            "vllm-ascend docs",
        ),
        (
            "HOST-CLOCK",
            "error",
            "the clocks of an instance's hosts differ by a second or more",
            "vllm-ascend connectors: expiry by time.time()",
        ),
        ("HOST-PORTS", "error", "a planned port is in use", "bind(2)"),
    )
)


def rules_table() -> list[dict[str, str]]:
    """Every rule as plain data, in themes: theme, id, severity, reason, fix, source."""
    return [
        {
            "theme": theme,
            "id": rule.id,
            "severity": rule.severity,
            "reason": rule.reason,
            "fix": rule.fix,
            "source": rule.source,
        }
        for theme, rules in THEMES.items()
        for rule in sorted(rules, key=lambda one: one.id)
    ]


def rules_lines() -> list[str]:
    """Every rule as lines for people: id and severity, the reason, the way out."""
    lines: list[str] = []
    theme = ""
    for rule in rules_table():
        if rule["theme"] != theme:
            theme = rule["theme"]
            lines.append(f"{theme}:")
        lines.append(f"  [{rule['id']}] {rule['severity']}: {rule['reason']} {rule['fix']}")
    return lines
