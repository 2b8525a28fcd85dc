# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes of failed services as data: the text of a log, what it means, and how to fix it.

The texts are those of vLLM 0.9-0.33, vLLM-Ascend 0.9-0.30, torch-npu 2.5-2.9, CANN 8.0-9.1 (runtime, HCCL, HIXL), Mooncake 0.3.3-0.3.13, pip, uv and
docker, triton-ascend 3.2-3.5, transformers 4.5-5. Of several in one line the first one of the table counts; of several lines the time decides, see diagnose.py.
"""

from __future__ import annotations

from . import causes_devices, causes_general, causes_model, causes_network, causes_software, causes_traffic
from .words import Cause

CAUSES = (
    *causes_software.CAUSES,
    *causes_model.CAUSES,
    *causes_devices.CAUSES,
    *causes_network.CAUSES,
    *causes_traffic.CAUSES,
    *causes_general.CAUSES,
)

# Texts that say nothing about a fault although they have words of one. They are taken out before causes are sought.
BENIGN = (
    r"\bAddress already in use\. Retrying with a new port\b|\bFound ulimit of \d+ and failed to automatically increase.*"
    r"|\bFailed to create client on port \d+.*"
    r"|\b[Ff]irst DSV4\(compress\) request\b|\bFailed to import from vllm\._C\b.*|\bNo module named 'vllm\._C\w*'"
    r"|\bERR99999 UNKNOWN applic\w+ exception"
    r"|\bWaiting for (?:\d+ )?(?:init message|READY message|\d+ (?:local|remote)|core engine).*|\bASCEND_LAUNCH_BLOCKING=1 (?:will force|for).*"
    r"|\bkernel errors might be asynchronously reported.*|\bresource_tracker: There appear to be \d+ leaked\b.*"
)
# Sentences that say only that something failed: of a process that reports the end of another one, and of layers that repeat the code of a lower one.
WRAPPERS = (
    r"\bEngineCore (?:encountered (?:a fatal error|an issue)|failed to start)\b|\bEngine core initialization failed\b"
    r"|\bFrontend process failed during engine core initialization\b"
    r"|\bEngine process failed to start\b|\bEngineDeadError\b|\bEngineGenerateError\b|\bAsyncLLM output_handler failed\b"
    r"|\bWorkerProc (?:hit an exception|failed to start|initialization failed)"
    r"|\bWorker failed with error\b|\bRuntimeError: (?:Executor failed|One or more workers failed|cancelled$)|\bInvocation of \w+ method failed\b"
    r"|\bCancelled call to utility method\b"
    r"|\bvLLM shutdown signal from EngineCore\b|\bERR0[0-4]\d{3} [A-Z]{3,5} \S|\bERR99999\b|\bHCCL watchdog thread terminated\b"
    r"|\bTo avoid data inconsistency\b|\bThe Inner error is reported as above\b"
    r"|\bFind exception when finishedNPUExecutionInternal\b|\bWarning: NPU warning, error code is\b|\bgot ERROR via HcclGetCommAsyncError\b"
    r"|\bDP Coordinator process failed\b|\bKeyboardInterrupt\b|\bSystemExit\b"
)

__all__ = ["BENIGN", "CAUSES", "WRAPPERS", "Cause"]
