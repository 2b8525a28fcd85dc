# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of single environment variables: values that the program which reads them does not take."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding
from ...description.meaning import close
from ...releases import values as data
from ...releases.release import ASCEND_NAMES
from .base import Case, Rules
from .environment import HOLD, OWN, TIMEOUTS, user_variables

RULES = Rules()
SWITCH = ("0|1", "0 or 1")
COUNT = (r"[1-9]\d*", "a whole number above 0")
# torch_npu's allocator takes these settings (torch_npu/csrc/core/npu/NPUAllocatorConfig.cpp)
ALLOCATOR = (
    "max_split_size_mb",
    "garbage_collection_threshold",
    "expandable_segments",
    "base_addr_aligned_kb",
    "page_size",
    "segment_size_mb",
    "multi_stream_lazy_reclaim",
    "pinned_mem_register",
    "pin_memory_expandable_segments",
    "roundup_power2_divisions",
)
SIZES = r"\[(?:\d+|>):\d+(?:,\s*(?:\d+|>):\d+)*\]"  # [256:1,512:2,>:8], by the size of a request
SETTING = rf"(?:(?:{'|'.join(ALLOCATOR)}):[\w.-]+|roundup_power2_divisions:{SIZES})"
# name -> (the whole value, what the reader takes); sources: CANN's environment variables, torch_npu, vllm/envs.py,
# vllm_ascend/envs.py, OpenMP 5.2
VALUES: dict[str, tuple[str, str]] = {
    "HCCL_OP_EXPANSION_MODE": (
        "AI_CPU|AIV|HOST|HOST_TS|CCU_MS|CCU_SCHED|AIV_ONLY",
        "one of AI_CPU, AIV, HOST, HOST_TS, CCU_MS and CCU_SCHED, in capitals",
    ),
    "HCCL_DETERMINISTIC": ("(?i:true|false|strict)", "true, false or strict"),
    "HCCL_INTRA_ROCE_ENABLE": SWITCH,
    "HCCL_INTRA_PCIE_ENABLE": SWITCH,
    "HCCL_WHITELIST_DISABLE": SWITCH,
    "HCCL_RDMA_TC": (r"0|[1-9]\d*", "a multiple of 4 from 0 to 252"),
    "HCCL_RDMA_SL": ("[0-7]", "a number from 0 to 7"),
    "HCCL_RDMA_RETRY_CNT": ("[1-7]", "a number from 1 to 7"),
    "ASCEND_GLOBAL_LOG_LEVEL": ("[0-4]", "a number from 0 to 4"),
    "ASCEND_SLOG_PRINT_TO_STDOUT": SWITCH,
    "ASCEND_LAUNCH_BLOCKING": SWITCH,
    "ASCEND_AGGREGATE_ENABLE": SWITCH,
    "ASCEND_BUFFER_POOL": (r"\d+:\d+", "two numbers with a colon, such as 4:8"),
    "TASK_QUEUE_ENABLE": ("[0-2]", "0, 1 or 2"),
    "PYTORCH_NPU_ALLOC_CONF": (rf"{SETTING}(,\s*{SETTING})*", f"NAME:VALUE of {', '.join(ALLOCATOR[:5])}"),
    "OMP_NUM_THREADS": (r"[1-9]\d*(,\s*[1-9]\d*)*", "a whole number above 0"),
    "OMP_PROC_BIND": (
        "(?i:true|false|(?:master|primary|close|spread)(?:,(?:master|primary|close|spread))*)",
        "true, false, primary, close or spread",
    ),
    "DYNAMIC_EPLB": ("(?i:true|false|0|1)", "true or false"),
    "VLLM_USE_V1": SWITCH,
    "VLLM_RPC_TIMEOUT": COUNT,
    "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": COUNT,
    "VLLM_ENGINE_READY_TIMEOUT_S": COUNT,
    "VLLM_ENGINE_ITERATION_TIMEOUT_S": COUNT,
    "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": COUNT,
    "VLLM_LOGGING_LEVEL": (
        "(?i:DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL|NOTSET)",
        "one of DEBUG, INFO, WARNING, ERROR and CRITICAL",
    ),
    "VLLM_WORKER_MULTIPROC_METHOD": ("fork|spawn", "fork or spawn"),
    "VLLM_USE_MODELSCOPE": ("(?i:0|1|true|false)", "true or false"),
    "VLLM_CPU_KVCACHE_SPACE": (r"\d+", "a whole number of GiB without a unit, such as 4"),
    "VLLM_CPU_NUM_OF_RESERVED_CPU": (r"\d+", "a whole number"),
    "VLLM_CPU_SGL_KERNEL": SWITCH,
    "MC_TRANSFER_TIMEOUT": COUNT,
    "HCCL_LOGIC_SUPERPOD_ID": (r"\d+", "a number from 0 on"),
}
OF_NPUS = ("ASCEND_", "HCCL_", "PYTORCH_NPU_", "TASK_QUEUE_", "VLLM_ASCEND_")  # nothing reads them without NPUs
# Read as bool(int(...)) or int(...): a word such as "true" ends the engine with a ValueError
NUMBERS = re.compile(r"VLLM_ASCEND_(ENABLE_\w+|BALANCE_SCHEDULING|FUSION_OP_TRANSPOSE_KV_CACHE_BY_BLOCK)")


@RULES.rule(
    "ENV-VALUE",
    "Write a value that the program takes.",
    "CANN: environment variables; torch_npu NPUAllocatorConfig.cpp; vllm/envs.py; vllm_ascend/envs.py; OpenMP 5.2",
)
def value(case: Case) -> t.Iterator[Finding]:
    """An environment variable has a value that the program which reads it does not take.

    The engine ends at start, or the setting is silently dropped.
    """
    for path, name, text in user_variables(case):
        if "$" in text or (not case.npu and name.startswith(OF_NPUS)):
            continue  # ENV-SHELL judges a shell's; a pod fills its own in
        pattern, expected = VALUES.get(name, ("", ""))
        if NUMBERS.fullmatch(name):
            pattern, expected = r"\d+", "a number: 1 for on, 0 for off"
        if not pattern:
            continue
        wrong = not re.fullmatch(pattern, text.strip())
        if name == "HCCL_RDMA_TC" and not wrong:
            wrong = int(text) > 252 or int(text) % 4 > 0
        if wrong:
            yield Finding.at(path, text, f"'{text}' is not {expected}")


@RULES.rule(
    "ENV-TYPO",
    "Correct the name.",
    "vllm/envs.py of every version, vllm_ascend/envs.py of every release, CANN: environment variables",
    "warning",
)
def typo(case: Case) -> t.Iterator[Finding]:
    """An environment variable is spelt almost as one that is read, and nothing reads it.

    The setting has no effect, and no program says so.
    """
    known = data.environment_of_any() | ASCEND_NAMES | {*VALUES, *HOLD, *OWN, *TIMEOUTS, "HCCL_BUFFSIZE"}
    for path, name, text in user_variables(case):
        if name.upper() in known and name not in known:
            yield Finding.at(path, text, f"nothing reads {name} in lower case", f"Did you mean '{name.upper()}'?")
            continue
        if name in known or not name.startswith(("VLLM_", "HCCL_", "ASCEND_", "OMP_", "PYTORCH_NPU_")):
            continue
        alike = close(name, known, cutoff=0.93)
        if alike:
            yield Finding.at(path, text, f"nothing reads {name}", f"Did you mean '{alike[0]}'?")
