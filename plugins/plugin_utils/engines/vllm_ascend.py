# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM with vLLM-Ascend, on NPUs."""

from __future__ import annotations

from .base import Engine

# Its engines are quantized and sum in the order of the batch, so equal requests may get different tokens: see the base's tolerance.
ENGINE = Engine(
    name="vllm_ascend",
    title="vLLM-Ascend",
    release="0.23.0.post1",
    roles=("torch_npu", "vllm_ascend"),
    layers=("torch_npu", "vllm_ascend", "mooncake"),
    npus=True,
    images=True,
    python_option="torch_npu_python",
    hardware="a3",
    versions=("driver", "firmware", "CANN", "kernel"),
)
