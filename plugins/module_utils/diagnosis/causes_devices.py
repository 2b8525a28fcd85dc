# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes in memory, NPUs and operators."""

from __future__ import annotations

from .words import CAUSE, Cause, cann, driver, event, hccl, runtime

CAUSES = (
    Cause(
        "LOG-NPU-BUSY",
        r"[Ff]ree memory on device .* is less than desired|\bError in memory profiling\. Initial free memory",
        "another process holds the NPU's memory",
        "gpu-memory-utilization is a share of the whole memory, and part of it is already in use.",
        "Stop the other process (npu-smi info lists it), or set a smaller gpu-memory-utilization.",
    ),
    Cause(
        "LOG-KV-MEMORY",
        r"larger than the available KV cache memory|No available memory for the cache blocks|\bAvailable KV cache memory: -\d"
        r"|is larger than the (?:maximum number of tokens|KV cache)",
        "the KV cache does not have room for one request of max-model-len",
        "Weights and activations leave too little of the device's memory.",
        "Set a smaller max-model-len or max-num-batched-tokens, a larger gpu-memory-utilization, or a larger tensor_parallel_size.",
    ),
    Cause(
        "LOG-NPU-MEMORY",
        r"(?:NPU|CUDA) out of memory|\bFailed to apply for memory\b|NPUOutOfMemoryError|torch\.OutOfMemoryError|\bFAILED_MALLOC\b"
        r"|\bhalMem(?:Alloc|Create) failed\b|\baclrtMalloc\w*, error code\b|\bDevMemAlloc\w+ failed\b"
        r"|\bFailed to allocate memory(?: requested by \S+ module)?\.|\bFailed to allocate \[?.{1,80}?\]? bytes of NPU memory\b"
        r"|\bLLM_DEVICE_OUT_OF_MEMORY\b|"
        + "|".join(
            (
                runtime("207001|207018|200000", r"driver error:out of memory|device oom"),
                cann("EL0004|EI0011"),
                hccl(3),
                hccl(24),
                driver("6"),
            )
        ),
        "the device has no memory left",
        "The weights are quantized but loaded without quantization: ascend, or activations, HCCL buffers and KV cache together are too large.",
        "Set quantization: ascend for quantized weights; else smaller max-model-len, max-num-batched-tokens, max-num-seqs, "
        "gpu-memory-utilization or HCCL_BUFFSIZE.",
        CAUSE,
    ),
    Cause(
        "LOG-MEMORY-LOCK",
        r"Failed to register memory|\bRegister mem ret ?: ?\d+|\baddLocalMemoryBuffer failed\b|\bMooncake memory registration failed\b"
        r"|\bFailed to register buffer via store\b"
        r"|[Ff]ailed to mount segment(?! due to rpc error|: RPC_)|mount_segment.*INVALID_PARAMS|\bret:207000\b|\bmmap failed: Cannot allocate memory"
        r"|\bregister_local_memory_failed\b",
        "memory could not be registered for transfers",
        "The limit of locked memory or of mappings is too low, or a segment is not a multiple of 1 GiB with fabric memory.",
        "Run check (memlock, vm.max_map_count), and set inference_store.segment_size to whole GiB.",
    ),
    Cause(
        "LOG-HOST-MEMORY",
        r"DefaultCPUAllocator: can't allocate memory|\bMemoryError\b|[Oo]ut of memory: Kill(?:ed)? process|oom-kill|OOMKilled|\boom_reaper\b"
        r"|(?<!mmap failed: )\bCannot allocate memory\b"
        r"|\[Errno 12\]|\bbytes of host memory via \S+ to Runtime\b|" + cann("EH0010|EE1013"),
        "the host has no memory left",
        "Weights are loaded through host memory, and each rank of a store adds its segment.",
        "Reduce inference_store.segment_size or the number of instances on the host.",
        CAUSE,
    ),
    Cause(
        "LOG-SHARED-MEMORY",
        r"Bus error|No space left on device.*(?:/dev/shm|shm)|\bInsufficient space in \S+(?: for .*)?: \S+ MiB required",
        "the shared memory of the processes is full",
        "/dev/shm is too small, as with a container's default of 64 MiB.",
        "Set inference_container.shm_size higher.",
        CAUSE,
    ),
    Cause(
        "LOG-DISK",
        r"No space left on device",
        "a file system is full",
        "Logs, caches of compiled graphs or the model fill it.",
        "Free space in inference_root.",
        CAUSE,
    ),
    Cause(
        "LOG-STREAMS",
        r"\bACLgraph sizes capture fail\b|\binsufficient available streams to capture\b|\bAlloc sq cq fail\b|CaptureBegin\(.{0,80}\b20700[58]\b"
        r"|\b(?:New|Create) capture stream failed\b|"
        + "|".join(
            (
                runtime("207008|203900", r"driver error:no stream resource|Stream resources are insufficient\."),
                cann("EL0009"),
                driver("48"),
            )
        ),
        "the NPU has no streams left",
        "Captured graphs use more streams than this driver and CANN provide.",
        "Reduce cudagraph_capture_sizes in compilation-config, or upgrade the driver (25.5.1) and CANN (8.5).",
        CAUSE,
    ),
    Cause(
        "LOG-DEVICE-ABSENT",
        r"invalid device ordinal|[Ii]nvalid [Dd]evice ID|rtGetDeviceIndexByPhyId|\bset ASCEND_RT_VISIBLE_DEVICES:\S+ error"
        r"|\bStarting a subprocess on the device timed out\b|"
        + "|".join(
            (
                runtime("107001|207004", r"driver error:no valid device|The device is unavailable\."),
                cann("EL0002|E39007"),
                driver("2"),
            )
        ),
        "a planned NPU does not exist for the process",
        "The plan uses more devices than the host has, or the container was given others than ASCEND_RT_VISIBLE_DEVICES names.",
        "Compare inference_devices, the pool's devices and, in a container, its device nodes with npu-smi info; run check.",
    ),
    Cause(
        "LOG-NPU-RESOURCES",
        "|".join(
            (
                runtime(
                    "207005|207007|207009|207010",
                    r"driver error:(?:resource alloc fail|no (?:event|notify|model) resource)"
                    r"|Event resources are insufficient\.",
                ),
                cann("EL0006|EL0008|EL0010|EL0011|EI0007|EE1019|EE1021|EE1023"),
                driver("14|37|47|49|50"),
            )
        )
        + r"|\bFailed to allocate resource ?\[?\S*\]? with info\b",
        "the NPU has no events, notify registers or queues left",
        "Captured graphs, communicators and links to other engines use them; processes that ended badly may still hold some.",
        "Stop other processes on the NPU, reduce cudagraph_capture_sizes in compilation-config, and upgrade the driver; reset the NPU if they stay used.",
        CAUSE,
    ),
    Cause(
        "LOG-HBM",
        r"\b(?:HBM MULTI BIT ECC ERROR|SUSPECT MEM ERROR|UCE ERROR)\b|"
        + runtime(
            "507053|507054|507055", r"device (?:local )?mem error|hbm Multi-bit ECC error|suspect device mem error"
        )
        + "|"
        + event("80[eE]01801|80[eE]01809|80[eE]18008|80[eE]1840[0124]|80[fF]38008|80[cC][9bBdDfF]8008|80[bB][bB]8008"),
        "the NPU's memory has an error that cannot be corrected",
        "Several bits of a word are wrong: what was computed with it is lost, and the error comes again.",
        "Read npu-smi info -t ecc -i NPU, stop the engine, reset the NPU (or restart the host); have the NPU replaced if it happens again.",
        CAUSE,
    ),
    Cause(
        "LOG-KERNEL-FAULT",
        r"\bDDR address of the MTE instruction is out of range\b|\berrorStr: ?(?!timeout or trap error)[A-Z][^.]{8,120}|\bthere is (?:a"
        r"|an) (?:(?:fftsplus )?sdma error|exception of .{0,30}(?:aicore|aivec(?:tor)?|vector core) (?:error|exception))\b|"
        + runtime(
            "507013|507015|507016|507035|507036|507042|507043|507044|507045|507049|507050",
            r"(?:ai|vector )core exception"
            r"|aicore trap exception|sdma copy error|fftsplus exception",
        )
        + r"|\[Error\]: ?(?:The aicore execution is abnormal|The vector core execution is abnormal|System Direct Memory Access)|"
        + cann("EZ2001")
        + "|"
        + event("80[cC][9bB]800[29]"),
        "a kernel failed on the NPU, such as by an address outside of its memory",
        "It is a fault of an operator or of what the model runner gave it (shapes, indices, speculation, graphs), rarely one of the hardware, and not "
        "of the network.",
        "Note the kernel's name (fault kernel_name in the log or in CANN's plog) and look for it in the issues of vllm-ascend; try without graphs "
        "(enforce-eager), without speculation, or another release.",
        CAUSE,
    ),
    Cause(
        "LOG-KERNEL-TIMEOUT",
        r"\berrorStr: ?timeout or trap error\b|\bAI CPU operator execution timed? out\b|"
        + runtime(
            "507014|507017|507034",
            r"(?:ai|vector )core timeout|aicpu timeout|The aicore execution times out\.|The aicpu execution times out\."
            r"|Vector core execution timed out\.",
        )
        + "|"
        + cann("E30008")
        + "|"
        + event("80[cC][9bB]800[aA]"),
        "a kernel on the NPU did not end",
        "A kernel that communicates (dispatch and combine of experts, gathers) waits for another rank that ended or hangs; any other one met a fault "
        "of its operator.",
        "Note the kernel's name (fault kernel_name). If it communicates, look for the first rank of the instance that failed, in all its hosts' logs "
        "and in CANN's plog; else look for the kernel in the issues of vllm-ascend.",
        CAUSE,
    ),
    Cause(
        "LOG-DEVICE-HELD",
        cann("EL0005|EJ0001|E30003") + r"|\bThe resources are busy\b|\blast training process is running\b"
        r"|\bnumber of started user processes on the device exceeds the limit\b|"
        + driver("87|13|45")
        + r"|\bhal\w+ .{0,80}\bret:(?:87|13)\b",
        "another process or container holds the NPU",
        "An engine that ended badly, or a second container with the same device.",
        "Find it with npu-smi info and docker ps, and stop it; wait for a reset of the NPU to end.",
    ),
    Cause(
        "LOG-DEVICE-LOST",
        r"\b[Dd]evice(?:\[\d+\])? lost heartbea(?:t|rt)\b|\bNPU card health status is not OK\b|\bDevice not found or invalid\b|\bTsdOpen failed\b"
        r"|\[Open\]\[Tsd\]Open TsdClient failed|\btsd client wait response fail|"
        + "|".join(
            (
                runtime(
                    "207020|500004|507010|507012|507022|507051|507899|507901",
                    r"lost heartbeat|driver error:internal error|driver timeout"
                    r"|report timeout|hdc disconnect",
                ),
                cann("E30004|E30005|E39002|E39004|E39005|E39009|EL0001"),
                driver("1|7|16|34|35|42|43|62"),
                r"(?:\b[Rr]et(?:urn)?(?: code| is|:)*[ :=]*|\bcode[:=] ?)-80(?:06|08|10|11|12|15|17|20)\b",
                event(
                    "40[fF]84[eE]00|80[bB]98000|80[cC]98001|80[cC][bB]8001|80[eE]0020[bB]|80[fF][aA]4[eE]00|812[eE]4[eE]00|8[cC]204[eE]00"
                ),
            )
        ),
        "the NPU or its driver does not answer",
        "The device or a process on it failed, or is being reset.",
        "Run check; read npu-smi info -t health -i NPU and dmesg; reset the NPU or restart the host, and have the NPU replaced if it happens again.",
        CAUSE,
    ),
    Cause(
        "LOG-DEVICE-ACCESS",
        r"\bYou have no permission\b|\bThe device access is invalid\b|\berror gathering device information while adding custom device\b|"
        + "|".join(
            (
                runtime(
                    "207006",
                    r"driver error:operation no permitted"
                    r"|You do not have the operation permission\.",
                ),
                cann("EL0007|EL0015"),
                driver("17|46|88"),
                r"\bret(?:urn)?(?: code| is|:)*[ :=]*-80(?:02|05"
                r"|09|13)\b",
            )
        ),
        "the process may not use the NPU",
        "The user is not in the group of the devices (HwHiAiUser), the device belongs to another container, or its node is missing.",
        "Give the service's user the group of /dev/davinci*, and compare the devices of inference_container with ls /dev/davinci*.",
    ),
    Cause(
        "LOG-HCCL-BUFFER",
        r"\bHCCL_BUFFSIZE\w* is too (?:SMALL|small)\b|\bhccl buffer is too small\b",
        "HCCL's buffer is too small for what the ranks exchange about experts",
        "It grows with the tokens of a batch, the hidden size and the number of experts; the line says how many MB are needed.",
        "Set HCCL_BUFFSIZE in inference_env to at least the number that the line says, or reduce max-num-seqs and max-num-batched-tokens.",
        CAUSE,
    ),
    Cause(
        "LOG-OPERATOR",
        r"\bCannot find bin of op \w+|\bdo tiling failed\b|\bTiling [Ff]ailed\b|\bFailed to compile Op\b|\bCompile operator failed\b"
        r"|\bnot in lib\w+\.so, or lib\w+\.so ?not ?found\b|\b\w+Operation setup failed!"
        r"|\bOptype \[?\S+\]? of Ops kernel \[?\S+\]? is unsupported\b"
        r"|\bNo supported Ops kernel and engine are found for\b|\bFailed to find func by type \w+"
        r"|\bCompile op\[|\bbuild op model failed\b|\bOp \w+ does not has any binary\b|\bParse(?:DynamicKernelConfig| \w+) failed, the json file"
        r"|\bOptimizeFusedGraph failed\b|\bFailed to re-compile op\b"
        r"|"
        + "|".join(
            (runtime("161001|161002|561003|561103"), cann("E20001|E40021|E69999|EZ1001|EZ3002|EZ3003"), hccl(5))
        ),
        "an operator is missing, cannot be compiled, or does not accept its types or shapes",
        "CANN's operators of another version or another chip are installed, or this model, quantization or parallel size needs shapes that the "
        "operator does not support.",
        "Compare CANN (toolkit and kernels) with the versions of the release; try other parallel sizes, another quantization or enforce-eager; look "
        "for the operator's name in the issues of vllm-ascend.",
        CAUSE,
    ),
    Cause(
        "LOG-GRAPH-CAPTURE",
        runtime("107024|107025|107027|107030|107033|507903")
        + r"|\bis in the capture state and the current operation cannot be performed\b"
        r"|\bdesyncs the cross-DP HCCL collectives\b|" + cann("EE1016|EE1009"),
        "a graph could not be captured or replayed",
        "A call that graphs do not allow was made while one was captured, such as with ASCEND_LAUNCH_BLOCKING=1.",
        "Remove ASCEND_LAUNCH_BLOCKING from inference_env; try enforce-eager, or another mode of graphs in compilation-config.",
        CAUSE,
    ),
)
