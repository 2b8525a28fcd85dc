# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads that vLLM-Ascend's own CI measures, from the newest source distribution. tests/releases/baselines.py compares all of them with it.

Source: tests/e2e/cases/models/configs/*/CASE.yaml of vLLM-Ascend 0.30.0rc2, and .github/workflows/configs for those that its CI runs. A case passes if
the throughput of output tokens is at least ``least`` times ``throughput``. Its prompts are those of a data set that is padded to a length, of which
``prefix`` tokens are shared. Not listed are warm-ups and placeholders (a baseline of 1), lengths that are not printed as a number of tokens (128k), and
loads with two baselines, which differ by what is not printed.
"""

from __future__ import annotations

import typing as t

SDIST = "0.30.0rc2"  # the newest release with a source distribution
HARDWARE = "a3"  # of all cases


class Case(t.NamedTuple):
    """A case of the CI: tokens of a prompt's shared begin, of its rest, and of the answer; requests at a time and per second (0: at once)."""

    name: str
    model: str
    devices: int
    pools: tuple[tuple[str, int], ...]
    prefix: int
    input: int
    output: int
    load: int
    rate: float
    throughput: float  # output tokens per second of all devices
    least: float


_ONE = (("decode", 1), ("prefill", 1))
_TWO = (("decode", 1), ("prefill", 2))
_DECODES = (("decode", 2), ("prefill", 1))
CASES = (
    Case(
        "DS-V4-flash-w8a8-PD-prefix-weekly",
        "DeepSeek-V4-Flash-w8a8-mtp",
        *(32, _ONE, 58982, 6554, 1024, 128, 4.7, 3126.2883, 0.95),
    ),
    Case(
        "DeepSeek-V4-Pro-w4a8-PD-no-prefix",
        "DeepSeek-V4-Pro-w4a8-mtp",
        *(64, _ONE, 0, 3500, 1500, 256, 3, 3822.66, 0.95),
    ),
    Case(
        "DeepSeek-V4-Pro-w4a8-PD-no-prefix",
        "DeepSeek-V4-Pro-w4a8-mtp",
        *(64, _ONE, 0, 3500, 1500, 4, 0, 138.5562, 0.95),
    ),
    Case(
        "DeepSeek-V4-Pro-w4a8-PD-no-prefix",
        "DeepSeek-V4-Pro-w4a8-mtp",
        *(64, _ONE, 0, 65536, 1024, 16, 0.25, 177.9478, 0.95),
    ),
    Case(
        "DeepSeek-V4-Pro-w4a8-prefix-cache-PD_weekly",
        "DeepSeek-V4-Pro-w4a8-mtp",
        *(64, _ONE, 58982, 6554, 1024, 96, 2.5, 1951.6, 0.95),
    ),
    Case(
        "DeepSeek-V4-flash-w8a8-PD-no-prefix",
        "DeepSeek-V4-Flash-w8a8-mtp",
        *(32, _ONE, 0, 3500, 1500, 1024, 12, 15569.48, 0.95),
    ),
    Case(
        "DeepSeek-V4-flash-w8a8-PD-no-prefix",
        "DeepSeek-V4-Flash-w8a8-mtp",
        *(32, _ONE, 0, 3500, 1500, 100, 12, 4071.471, 0.95),
    ),
    Case(
        "DeepSeek-V4.1-Flash-w8a8-PD-prefix",
        "DeepSeek-V4.1-Flash-w8a8",
        *(32, _ONE, 0, 16384, 1024, 64, 2.7, 1900, 0.95),
    ),
    Case(
        "DeepSeek_V3.1T_MTP1_3_5K_1_5K_PD",
        "DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot",
        *(64, _TWO, 0, 3500, 1500, 700, 0, 9800, 0.97),
    ),
    Case("GLM-5.1-W8A8C8-128k-1k-90-50-PD", "GLM-5.1-w8a8c8", *(64, _ONE, 117965, 13107, 1024, 64, 1.52, 923.6, 0.97)),
    Case("GLM-5.1-W8A8C8-3.5k-1.5k-0-20-PD", "GLM-5.1-w8a8c8", *(64, _ONE, 0, 3500, 1500, 40, 6.87, 1449.1316, 0.97)),
    Case("GLM-5.1-W8A8C8-3.5k-1.5k-0-50-PD", "GLM-5.1-w8a8c8", *(64, _ONE, 0, 3500, 1500, 480, 6.5, 8235.305, 0.97)),
    Case("GLM-5.1-W8A8C8-64k-1k-90-50-PD", "GLM-5.1-w8a8c8", *(64, _ONE, 58982, 6554, 1024, 128, 3.15, 2722.6, 0.97)),
    Case("GLM-5.2-W4A8C8-1M-PD-DCP", "GLM-5.2-w4a8c8", *(64, _ONE, 0, 3500, 1500, 64, 0, 100, 0.97)),
    Case(
        "GLM-5.2-W8A8C8-128k-1k-90-50-PD", "GLM-5.2-w8a8c8", *(64, _ONE, 117965, 13107, 1024, 64, 1.52, 1226.2755, 0.97)
    ),
    Case("GLM-5.2-W8A8C8-3.5k-1.5k-0-20-PD", "GLM-5.2-w8a8c8", *(64, _ONE, 0, 3500, 1500, 40, 6.87, 1434.5525, 0.97)),
    Case("GLM-5.2-W8A8C8-3.5k-1.5k-0-50-PD", "GLM-5.2-w8a8c8", *(64, _ONE, 0, 3500, 1500, 480, 6.5, 8382.882, 0.97)),
    Case(
        "GLM-5.2-W8A8C8-64k-1k-90-50-PD", "GLM-5.2-w8a8c8", *(64, _ONE, 58982, 6554, 1024, 128, 3.15, 2690.0808, 0.97)
    ),
    Case("GLM_5_1_PD_in32k_bs16-0", "GLM-5.1-w8a8", *(64, _ONE, 0, 32768, 512, 16, 0, 219.3345, 0.97)),
    Case("GLM_5_1_PD_in32k_bs20-90", "GLM-5.1-w8a8", *(64, _ONE, 29491, 3277, 512, 20, 0, 445.7809, 0.97)),
    Case("GLM_5_1_PD_in64k_bs16-90", "GLM-5.1-w8a8", *(64, _ONE, 58982, 6554, 1024, 16, 0, 367.228, 0.97)),
    Case("GLM_5_1_PD_in64k_bs16-90", "GLM-5.1-w8a8", *(64, _ONE, 117965, 13107, 1024, 8, 0, 393.6043, 0.97)),
    Case("Kimi-K2.5-W4A8-16k-1k-TPOT50", "Kimi-K2.5-W4A8", *(64, _TWO, 0, 16384, 1024, 256, 3, 2099.9, 0.95)),
    Case(
        "Kimi-K2.6-W4A8-128k-1k-TPOT50-PD", "Kimi-K2.6-w4a8", *(32, _ONE, 117965, 13107, 1024, 10, 0.3, 220.503, 0.97)
    ),
    Case("Kimi-K2.6-W4A8-3.5k-1.5k-TPOT50-PD", "Kimi-K2.6-w4a8", *(32, _ONE, 0, 3500, 1500, 128, 2.5, 3206.8964, 0.97)),
    Case("Kimi-K2.6-W4A8-64k-1k-TPOT50-PD", "Kimi-K2.6-w4a8", *(32, _ONE, 58982, 6554, 1024, 15, 0.4, 347.4475, 0.97)),
    Case(
        "Kimi-K2.7-W4A8-128k-1k-TPOT50-PD",
        "Kimi-K2.7-Code-w4a8",
        *(32, _ONE, 117965, 13107, 1024, 10, 0.3, 155.5781, 0.97),
    ),
    Case(
        "Kimi-K2.7-W4A8-3.5k-1.5k-TPOT50-PD",
        "Kimi-K2.7-Code-w4a8",
        *(32, _ONE, 0, 3500, 1500, 128, 2.5, 3206.8964, 0.97),
    ),
    Case(
        "Kimi-K2.7-W4A8-64k-1k-TPOT50-PD",
        "Kimi-K2.7-Code-w4a8",
        *(32, _ONE, 58982, 6554, 1024, 15, 0.4, 242.7762, 0.97),
    ),
    Case("MiniMax-PD-in32k-bs4-1", "MiniMax-M2.5-w8a8-QuaRot", *(48, _DECODES, 0, 32768, 512, 1, 1, 28.77, 0.97)),
    Case(
        "Minimax_m2.7_in128k_1k_prefix90_tpot50",
        "MiniMax-M2.7-w8a8-QuaRot",
        *(32, _ONE, 117965, 13107, 1024, 40, 0, 720.1, 0.97),
    ),
    Case("Minimax_m2.7_in198_prefix99", "MiniMax-M2.7-w8a8-QuaRot", *(48, _ONE, 201701, 2037, 1024, 1, 0, 53.57, 0.97)),
    Case("Minimax_m2.7_in3_5_tpot20", "MiniMax-M2.7-w8a8-QuaRot", *(48, _ONE, 0, 3500, 1500, 200, 0, 7603.536, 0.97)),
    Case("Minimax_m2.7_in3_5_tpot50", "MiniMax-M2.7-w8a8-QuaRot", *(48, _ONE, 0, 3500, 1500, 860, 0, 15006.5581, 0.97)),
    Case(
        "Minimax_m2.7_in64k_1k_prefix90_tpot50",
        "MiniMax-M2.7-w8a8-QuaRot",
        *(32, _ONE, 58982, 6554, 1024, 80, 0, 1446.69, 0.97),
    ),
    Case("QWEN3_235B_PD_3_5K_1_5k", "Qwen3-235B-A22B-W8A8", *(48, _ONE, 0, 3500, 1500, 190, 0, 3583.8747, 0.97)),
    Case(
        "Qwen3.5-122B-A10B-w4a8-128k-1k-PD",
        "Qwen3.5-122B-A10B-w4a8",
        *(48, _TWO, 117965, 13107, 1024, 16, 0, 368.5119, 0.97),
    ),
    Case(
        "Qwen3.5-122B-A10B-w4a8-16k-1k-PD", "Qwen3.5-122B-A10B-w4a8", *(32, _ONE, 0, 16384, 1024, 8, 0, 526.2983, 0.97)
    ),
    Case(
        "Qwen3.5-397B-w4a8_64k-1k-90-50-PD",
        "Qwen3.5-397B-A17B-w4a8-mtp",
        *(48, _ONE, 58982, 6554, 1024, 250, 1, 1005.6834, 0.97),
    ),
)
