# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of environment variables that only GPUs and their libraries read."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding
from .base import Case, Rules
from .environment import user_variables

RULES = Rules()
OTHER = re.compile(r"(CUDA|NCCL|RCCL|HIP|ROCR|ROCM|NVIDIA|GPU|CUBLAS|CUDNN|NVSHMEM|PYTORCH_(CUDA|HIP))_", re.IGNORECASE)
VISIBLE = re.compile(r"(CUDA|HIP|ROCR|NVIDIA|GPU)_(VISIBLE_DEVICES|DEVICE_ORDINAL)")
# The last word of a name, or all of it, and what stands in its place with NPUs
INSTEAD = (
    (VISIBLE, "Set inference_pools.<pool>.devices; the planner makes ASCEND_RT_VISIBLE_DEVICES of it."),
    (
        re.compile(r"[NR]CCL_(SOCKET_IFNAME|IB_HCA)$"),
        "Set inference_interface; the planner makes HCCL_SOCKET_IFNAME of it.",
    ),
    (re.compile(r"[NR]CCL_DEBUG"), "HCCL writes its logs by ASCEND_GLOBAL_LOG_LEVEL and HCCL_ENTRY_LOG_ENABLE."),
    (re.compile(r"[NR]CCL_BUFFSIZE$"), "HCCL reads HCCL_BUFFSIZE, in MB."),
    (re.compile(r"[NR]CCL_"), "HCCL takes the place of NCCL, and its variables begin with HCCL_."),
    (re.compile(r"PYTORCH_"), "NPUs read PYTORCH_NPU_ALLOC_CONF."),
    (re.compile(r"CUDA_LAUNCH_BLOCKING$"), "NPUs read ASCEND_LAUNCH_BLOCKING."),
)


@RULES.rule(
    "ENV-PLATFORM",
    "Remove it.",
    "CANN's and HCCL's environment variables; torch_npu: PYTORCH_NPU_ALLOC_CONF, ASCEND_LAUNCH_BLOCKING",
    "warning",
)
def platform(case: Case) -> t.Iterator[Finding]:
    """An environment variable is one of GPUs or their libraries.

    Nothing reads it on NPUs, so what it sets is not in effect.
    """
    for path, name, value in user_variables(case) if case.npu else ():
        if OTHER.match(name):
            instead = next((text for pattern, text in INSTEAD if pattern.match(name)), "")
            severity = "error" if VISIBLE.match(name) else ""  # engines would use other devices than were meant
            yield Finding.at(path, value, f"{name} is a variable of GPUs", instead, severity)
