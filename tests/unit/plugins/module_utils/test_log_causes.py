# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of a failed service is translated: each known text has one cause, and a healthy log has none."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.diagnose import causes_in, explanation
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.log_causes import CAUSES
from ansible_collections.ascend.inference.plugins.module_utils.status import cause as status_cause
from ansible_collections.ascend.inference.plugins.module_utils.status import services
from ansible_collections.ascend.inference.plugins.module_utils.verify import logs
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import Lines, Log

# A line as the program prints it, and the cause that must be named. Rows of one cause show its different texts.
TEXTS = [
    ("ERROR: No matching distribution found for torch-npu==2.5.1.post1.dev20250619", "LOG-NO-DISTRIBUTION"),
    ("  × No solution found when resolving dependencies:", "LOG-NO-DISTRIBUTION"),
    (
        "ERROR: Cannot install torch-npu==2.5.1.post1 and torch>=2.5.1 because these package versions have conflicting dependencies.",
        "LOG-PACKAGES-CONFLICT",
    ),
    ("ImportError: /lib64/libc.so.6: version `GLIBC_2.35' not found (required by engine.so)", "LOG-GLIBC"),
    ("packaging.version.InvalidVersion: Invalid version: 'dev'", "LOG-VERSION"),
    ("libascend_hal.so: cannot open shared object file: No such file or directory", "LOG-DRIVER-LIBRARY"),
    ("ImportError: ascend_transport.so: cannot open shared object file", "LOG-TRANSPORT-LIBRARY"),
    ("ImportError: libhccl.so: cannot open shared object file: No such file or directory", "LOG-CANN-LIBRARY"),
    ("OSError: libatb.so: cannot open shared object file", "LOG-CANN-LIBRARY"),
    ("RuntimeError: Failed to load the backend extension: torch_npu.", "LOG-CANN-LIBRARY"),
    ("OSError: libgomp.so.1: cannot open shared object file: No such file or directory", "LOG-LIBRARY"),
    ("RuntimeError: Failed to infer device type, please set the environment variable", "LOG-DEVICE-TYPE"),
    ("the socversion Ascend910B1 of bin package does not match the current device socverison", "LOG-CHIP"),
    ("ValueError: Unsupported soc_version: AscendSocVersion.UNDEFINED", "LOG-CHIP"),
    ("corrupted size vs. prev_size", "LOG-JEMALLOC"),
    ("RuntimeError: SetDevice: error code is 107001", "LOG-DEVICE-ABSENT"),
    ("this package does not support hrtRaAiQpCreate for device, please change new package", "LOG-DRIVER-OLD"),
    ("rtStreamCreate failed, runtime result = 207008", "LOG-STREAMS"),
    ("EZ9999: 2026-05-17-01:30:26.960.959  Op Cast does not has any binary.", "LOG-OPERATOR"),
    ("Call OptimizeFusedGraph failed, ret:-1, engine_name:AIcoreEngine, graph_name:partition0_rank1", "LOG-OPERATOR"),
    (
        "[SubGraphOpt][ParseJson][PkgTvmJsInfo] Parse blockDim failed, the json file:/x/kernel_meta/te_cast_1.json.",
        "LOG-OPERATOR",
    ),
    (
        "'Can't determine cudagraph shapes that are both a multiple of 6 (num_speculative_tokens + 1) required by spec-decode'",
        "LOG-SPECULATION",
    ),
    (
        "ValueError: No valid cudagraph sizes after rounding to multiple of 8 (num_speculative_tokens + 1",
        "LOG-SPECULATION",
    ),
    ('  File "/x/ascend_store/backend/memcache_backend.py", line 60, in __init__', "LOG-STORE-CLIENT"),
    ("Failed to create client after 20 retries", "LOG-STORE-CLIENT"),
    ("AttributeError: 'Qwen2Config' object has no attribute 'head_dim'", "LOG-HEAD-DIM"),
    ("aclnnQuantMatmulV4 failed: Tensor scale not implemented for DT_FLOAT16", "LOG-FLOAT16"),
    ("vllm: error: unrecognized arguments: --shutdown-timeout", "LOG-OPTION"),
    ("ValueError: Please set trust_remote_code=True to allow it", "LOG-REMOTE-CODE"),
    ("OSError: /models/ds does not appear to have a file named config.json", "LOG-MODEL-FILES"),
    ("Value error, Model architectures ['NewForCausalLM'] are not supported for now", "LOG-ARCHITECTURE"),
    ("ValueError: The supplied chat template (/no/such.jinja) looks like a file path", "LOG-CHAT-TEMPLATE"),
    ("User-specified max_model_len (9) is greater than the derived max_model_len (8)", "LOG-MODEL-LENGTH"),
    ("ValueError: prefill_tp_size: 2 must be greater than or equal to the decode_tp_size: 4", "LOG-TP-SIZE"),
    ("KV transfer 'decode' config has a conflicting tensor parallel size. Expected 4", "LOG-SIZES-DIFFER"),
    ("AssertionError: Expected 1, but got 2", "LOG-DENSE-DP"),
    ("AttributeError: Class MooncakeConnectorV1 not found in vllm_ascend.mooncake_connector", "LOG-CONNECTOR"),
    ("ModuleNotFoundError: No module named 'vllm_ascend.distributed.mooncake_connector'", "LOG-CONNECTOR"),
    ("ModuleNotFoundError: No module named 'httpx'", "LOG-MODULE"),
    ("ModuleNotFoundError: No module named 'torch_npu'", "LOG-MODULE"),
    ("ValueError: Free memory on device (3.1/61.2 GiB) on startup is less than desired GPU memory", "LOG-NPU-BUSY"),
    ("ValueError: max seq len 4096 needs 8 GiB, which is larger than the available KV cache memory", "LOG-KV-MEMORY"),
    ("ValueError: No available memory for the cache blocks.", "LOG-KV-MEMORY"),
    ("RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB", "LOG-NPU-MEMORY"),
    ("RuntimeError: DefaultCPUAllocator: can't allocate memory: you tried to allocate", "LOG-HOST-MEMORY"),
    ("Bus error (core dumped)", "LOG-SHARED-MEMORY"),
    ("OSError: [Errno 28] No space left on device", "LOG-DISK"),
    ("Failed to register memory 0x7f: Cannot allocate memory [12]", "LOG-MEMORY-LOCK"),
    ("device 0 port 16666 has been bound", "LOG-NPU-PORT"),
    ("[Communication_Error_Bind_IP_Port(EI0019)]", "LOG-HCCL-PORT"),
    ("[Communication_Error_Bind_IP_Port(EI0020)]", "LOG-NPU-PORT"),
    ("RuntimeError: KV Cache sending/receiving thread failed to start.", "LOG-KV-PORT"),
    ("RuntimeError: Timed out starting Mooncake pull receiving thread", "LOG-KV-PORT"),
    ("Find available port failed", "LOG-KV-RANGE"),
    ("zmq.error.ZMQError: Address already in use (addr='tcp://10.0.0.1:30012')", "LOG-PORT"),
    ("zmq.error.ZMQError: Cannot assign requested address (addr='tcp://10.0.0.9:30012')", "LOG-ADDRESS"),
    ("AssertionError: Conflict engine id x with local engine id x.", "LOG-ENGINE-ID"),
    ("Can't read the target server_id 10.0.0.9 and device_rank 0 from rank table", "LOG-RANK-TABLE"),
    ("Ascend Direct Xfer Library currently does not support IPv6.", "LOG-IPV6"),
    ("ValueError: The environment variable 'MOONCAKE_CONFIG_PATH' is not set.", "LOG-STORE-CONFIG"),
    ("Failed to ping master: RPC_FAIL", "LOG-STORE-MASTER-SILENT"),
    ("Failed to mount segment due to rpc error", "LOG-STORE-MASTER"),
    ("mount_segment_to_master_failed base=0x12 size=6, error=RPC_FAIL", "LOG-STORE-MASTER"),
    ("OSError: [Errno 24] Too many open files", "LOG-FILES"),
    ("PermissionError: [Errno 13] Permission denied: '/models/ds/config.json'", "LOG-PERMISSION"),
    ("[RanktablCheck] 'device ip' is not set correctly, must be set", "LOG-DEVICE-ADDRESS"),
    ("EI0006: getting socket times out", "LOG-HCCL-LINK"),
    ("RuntimeError: HCCL function error: hcclCommInitRootInfo, error code is 6", "LOG-HCCL"),
    (
        "RuntimeError: createHCCLComm:build/x.ts:1479 HCCL function error: HcclGetRootInfo(&hcclID), error code is 19",
        "LOG-HCCL-ACCOUNT",
    ),
    (
        "[ERROR] HCCL(311,):2026-05-23 [network_manager.cc:300] [311]ra init failed, return[19] devicePhyId_[4]",
        "LOG-HCCL-ACCOUNT",
    ),
    ("RuntimeError: Gloo connectFullMesh failed with connection refused", "LOG-GLOO"),
    ("torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients.", "LOG-GLOO"),
    ("Failed to connect to target: 10.0.0.1:1, status: 103900", "LOG-KV-LINK"),
    ("Mooncake transfer failed, ret: -1", "LOG-KV-TRANSFER"),
    ("Force freed expired request: x. Reason: Request exceeded timeout threshold (480 seconds)", "LOG-KV-FREED"),
    ("BatchPut failed: NO_AVAILABLE_HANDLE", "LOG-STORE-FULL"),
    ("lease_expired_before_data_transfer_completed key=x", "LOG-STORE-LEASE"),
    ("No available shared memory broadcast block found in 60 seconds.", "LOG-WORKER-HANGS"),
    # --- packages and versions
    ("AttributeError: module 'triton.language' has no attribute 'constexpr_function'", "LOG-TRITON"),
    ("ImportError: /x/_C.so: undefined symbol: _ZN3c10", "LOG-MIXED-BUILDS"),
    ("AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'", "LOG-MIXED-BUILDS"),
    ("AttributeError: '_OpNamespace' '_C_ascend' object has no attribute 'weak_ref_tensor'", "LOG-OPERATORS-ABSENT"),
    ("AssertionError: camem allocator is not available", "LOG-OPERATORS-ABSENT"),
    ("triton.compiler.errors.MLIRCompilationError:", "LOG-KERNEL-COMPILER"),
    ("error: ub overflow, requires 3072000 bits while 1572864 bits available", "LOG-KERNEL-COMPILER"),
    ("AttributeError: 'AscendQKVParallelLinear' object has no attribute 'weight'", "LOG-QUANTIZATION"),
    (
        "AssertionError: len of local trans block ids : 0 not equal to the len of remote trans block ids : 2",
        "LOG-KV-SPLIT",
    ),
    (
        "ValueError: Hybrid KV cache manager is disabled but failed to convert the KV cache specs to one unified type.",
        "LOG-KV-SPLIT",
    ),
    ("json.decoder.JSONDecodeError: Extra data: line 731 column 1 (char 60338)", "LOG-JSON"),
    ("ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.", "LOG-TOKENIZER"),
    ("AssertionError: Failed to apply prompt replacement for mm_items['vision_chunk'][0]", "LOG-PROCESSOR"),
    (
        "RuntimeError: The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 0",
        "LOG-SHAPES",
    ),
    ("RuntimeError: shape '[-1, 49, 8, 128]' is invalid for input of size 504832", "LOG-SHAPES"),
    ("NotImplementedError: ACL Graph does not support deepseek.", "LOG-UNSUPPORTED"),
    ("ValueError: context parallelism is not supported with this backend", "LOG-UNSUPPORTED"),
    (
        "E1213 02:57:10.528410  58 worker_pool.cpp:274] Worker: Process failed for slice (opcode: 0, length: 404): flushed",
        "LOG-RDMA",
    ),
    (
        "torch.OutOfMemoryError: map:N.cpp:457 NPU function error: aclrtMallocPhysical, error code is 507899",
        "LOG-NPU-MEMORY",
    ),
    ("[drv api]halMemCreate failed drvRetCode=17, size=20971520(bytes), ErrCode=507899", "LOG-NPU-MEMORY"),
    ("httpx.HTTPStatusError: Server error '500 Internal Server Error' for url 'http://10.0.0.1:8080/v1'", "LOG-ROUTER"),
    (
        "[ERROR] GE(17,):2025-12-25-17:14:00.937.954 [tiling.cc:312]17 Failed to find func by type TransData",
        "LOG-OPERATOR",
    ),
    (
        "AssertionError: Tried to load weights of size torch.Size([3, 1])to a parameter of size torch.Size([5, 1])",
        "LOG-WEIGHTS",
    ),
    ("KeyError: 'layers.0.mlp.gate_up_proj.deq_scale'", "LOG-WEIGHTS"),
    ("ERROR 06-20 23:20:13 engine.py:400] 'layers.0.mlp.gate_up_proj.deq_scale'", "LOG-WEIGHTS"),
    ("E0523 06:50:40.085733   223 store_py.cpp:367] Put operation failed with error: TRANSFER_FAIL", "LOG-STORE-PUT"),
    (
        "E0423 16:34:48.929325 217299 tcp_transport.cpp:393] TcpTransport: ASIO exception: connect: Connection refused",
        "LOG-KV-TRANSFER",
    ),
    (
        "The process exits for this inner error, and the current working operator name is RopeOperation.",
        "LOG-OPERATOR-CALL",
    ),
    (
        "The error from device(chipId:0, dieId:0), an exception occurred during AICPU execution, stream_id:5",
        "LOG-AICPU-KERNEL",
    ),
    ("EH9999  [Init][Env]init env failed![FUNC:ReportInnerError]", "LOG-CANN-ENVIRONMENT"),
    ("GEInitialize failed.[FUNC:GEInitialize][FILE:ge_api.cc][LINE:337]", "LOG-CANN-ENVIRONMENT"),
    ("Compile op[trans_Cast_2,] failed", "LOG-OPERATOR"),
    ("KeyError: 'model.layers.30.self_attn.attn'", "LOG-CODE"),
    ("AssertionError: Some layers are not correctly initialized", "LOG-CODE"),
    ("IndexError: list index out of range", "LOG-CODE"),
    ("AssertionError", "LOG-CODE"),
    ("E40020: [PID: 7] 2026-01-01 Failed to import Python module", "LOG-CANN-ENVIRONMENT"),
    ("E30006: Failed to verify the OPP", "LOG-CANN-PACKAGE"),
    ("aclInit failed, runtime result = 207000", "LOG-DRIVER-OLD"),
    ("EI0008: [PID: 7] The HCCL versions are inconsistent", "LOG-CANN-VERSIONS"),
    ("ImportError: mooncake is not available", "LOG-NO-MOONCAKE"),
    # --- model and options
    ("NotImplementedError: There is no available ascend quantizer.", "LOG-QUANTIZATION"),
    ("KeyError: 'model.layers.0.self_attn.q_proj.weight'", "LOG-WEIGHTS"),
    ("AssertionError: remote_block_size(4) not divisible by kernel_size(128)", "LOG-BLOCK-SIZE"),
    ("ValueError: None of the kernel sizes [128] can divide physical block size 16 evenly", "LOG-BLOCK-SIZE"),
    ('  File "/x/mooncake_connector.py", line 2240, in _get_kv_split_metadata', "LOG-KV-SPLIT"),
    ("1 validation error for SpeculativeConfig", "LOG-SPECULATION"),
    ("1 validation error for ModelConfig", "LOG-CONFIGURATION"),
    ("ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (4096)", "LOG-BATCHED-TOKENS"),
    ("RuntimeError: All DP workers must have identical configurations.", "LOG-DP-OPTIONS"),
    ("AssertionError: local_world_size (8) must be less than or equal to the number", "LOG-DEVICES-FEW"),
    ("ValueError: Sleep mode is not enabled", "LOG-OPTIONS-CONFLICT"),
    ("ValueError: additional_config keys are invalid for vLLM-Ascend: x", "LOG-ADDITIONAL-CONFIG"),
    # --- NPUs
    ("EL0008: [PID: 7] event resources", "LOG-NPU-RESOURCES"),
    ("NPU function error: HBM MULTI BIT ECC ERROR, error code is 507054", "LOG-HBM"),
    ("event_id=0x80e01801", "LOG-HBM"),
    ("RuntimeError: ACL stream synchronize failed, error code:507035", "LOG-KERNEL-FAULT"),
    ("errorStr: The DDR address of the MTE instruction is out of range.", "LOG-KERNEL-FAULT"),
    ("rtEventQueryStatus execution failed, reason=vector core timeout[FUNC:x]", "LOG-KERNEL-TIMEOUT"),
    ("[Error]: Vector core execution timed out.", "LOG-KERNEL-TIMEOUT"),
    ("EL0005: [PID: 7] The resources are busy, drvRetCode=87", "LOG-DEVICE-HELD"),
    ("wait for compute device to finish failed, runtime result = 507010.", "LOG-DEVICE-LOST"),
    ("EL0007: [PID: 7] You have no permission", "LOG-DEVICE-ACCESS"),
    ("EZ9999[PID: 584] (EZ9999):  CausalConv1d do tiling failed, ret is -1.", "LOG-OPERATOR"),
    ("RuntimeError: aclnnX or aclnnXGetWorkspaceSize not in libopapi.so, or libopapi.sonot found.", "LOG-OPERATOR"),
    ("E90003: [PID: 9] 2025 Compile operator failed, cause: bfloat16 is not supported.", "LOG-OPERATOR"),
    ("0%| | 0/9 [?it/s][rank0]:[E903 07:21:23.263967696 c.ts:4] RopeOperation setup failed!", "LOG-OPERATOR"),
    ("        HCCL_BUFFSIZE_EP is too SMALL, maxBs = 64, h = 6144, HCCL_BUFFSIZE=256MB.", "LOG-HCCL-BUFFER"),
    ("acl::AclmdlRICaptureBegin(capture_stream_, capture_mode), error code is 207005", "LOG-STREAMS"),
    ("       Create capture stream failed, stream_id=1987, event_id=-1, error=117571619.", "LOG-STREAMS"),
    ("rtMemcpy:ErrCode=107030, desc=[the current capture mode does not support this]", "LOG-GRAPH-CAPTURE"),
    ("AttributeError: module 'vllm' has no attribute '__version__'", "LOG-MODULE-HIDDEN"),
    ("AttributeError: module 'vllm_ascend' has no attribute 'register'", "LOG-MODULE-HIDDEN"),
    ("ImportError: cannot import name 'LLM' from 'vllm' (unknown location)", "LOG-MODULE-HIDDEN"),
    (
        "ImportError: cannot import name 'AscendFusedMoE' from 'vllm_ascend.ops.fused_moe' (/opt/fused_moe.py)",
        "LOG-MODULE",
    ),
    ("AttributeError: 'PPMissingLayer' object has no attribute 'self_attn'", "LOG-PIPELINE"),
    ("FileNotFoundError: Endpoint config file not found: /etc/hixlep/ub_endpoint_npu_3.json.", "LOG-UB-LINKS"),
    ("NPU function error: x, error code is 107025", "LOG-GRAPH-CAPTURE"),
    ("NPU function error: c10_npu::SetDevice(device), error code is 507033", "LOG-DEVICE-OPEN"),
    ("[Error]: The aicpu execution is abnormal.", "LOG-AICPU-KERNEL"),
    ("[Error]: Model execution failed.", "LOG-GRAPH-FAILED"),
    ("RuntimeError: call aclnnCat failed", "LOG-OPERATOR-CALL"),
    ("synchronize stream failed, runtime result = 507001[FUNC:x]", "LOG-NPU"),
    # --- network and other processes
    ("get host ip fail by socket Ifname", "LOG-INTERFACE"),
    (
        "Cluster Exception Location[IP/ID]:[192.0.2.15/6], Arrival Time:[x], ExceptionType:[Stuck Occurred], Reason",
        "LOG-RANK-STUCK",
    ),
    ("[HeartbeatAbnormal]local rank [192.0.2.1/1]: crimer rank [192.0.2.2/2] status[LOST]", "LOG-RANK-LOST"),
    ("EJ0002: [PID: 3801] The network port is down.", "LOG-LINK-DOWN"),
    ("Some ranks tlsStatus are inconsistent", "LOG-TLS"),
    ("EI0001: Environment variable [HCCL_IF_IP] is invalid", "LOG-HCCL-VARIABLE"),
    ("EI0005: The arguments for collective communication are inconsistent between ranks", "LOG-RANKS-DIFFER"),
    ("EI0002: The wait execution of the Notify register times out.", "LOG-COLLECTIVE"),
    ("RuntimeError: SUSPECT REMOTE ERROR,", "LOG-REMOTE-FAULT"),
    ("there is an exception of fftsplus aivector error, core id is 15", "LOG-KERNEL-FAULT"),
    ("TimeoutError: RPC call to sample_tokens timed out.", "LOG-WORKER-SILENT"),
    ("TimeoutError: Timed out waiting for engines to send initial message on input socket.", "LOG-ENGINE-LATE"),
    ("Worker proc VllmWorker-1 died unexpectedly, shutting down executor.", "LOG-KILLED"),
    ("Fatal Python error: Segmentation fault", "LOG-CRASH"),
    # --- KV, store, router
    ("HcclBatchGet: HcclException, what: x, Error: [BatchGet] AICPU launch failed, code: 1", "LOG-AICPU"),
    ("aclrtGetDevice failed, ret:107002", "LOG-STORE-CONTEXT"),
    ("KV load failed for hybrid request cmpl-1. Skip invalid-block fallback", "LOG-KV-WRONG"),
    ("Mooncake KVCacheSendingThread exception", "LOG-KV-THREAD"),
    ("Failed to receive ACK for request. request_id=cmpl-1", "LOG-KV-ACK"),
    ("Connect timeout to: 192.0.2.2:20033, you can increase the timeout", "LOG-KV-LINK"),
    ("Transfer slice failed with status: 103902", "LOG-KV-LINK"),
    ("Failed to get 3 keys out of 8. error_codes=[-704, -704]", "LOG-STORE-GET"),
    ("Failed to put 8 keys out of 8. error_codes=[-800]", "LOG-STORE-PUT"),
    (
        "E1012 09:10:11.485378 14018 transfer_task.cpp:236] Failed to complete transfers after 60 seconds for batch 1401",
        "LOG-STORE-TRANSFER",
    ),
    (
        "E1012 09:10:11.485489 14018 client.cpp:526] Transfer failed for key: 6000 replica: with error:TRANSFER_FAIL",
        "LOG-STORE-TRANSFER",
    ),
    ("W0523 06:50:40.117973 223 client.cpp:460] transfer_incomplete max_attempts=3", "LOG-STORE-TRANSFER"),
    ("E0521 16:22:21.694042   162 transfer_metadata.cpp:877] Local segment descriptor not found", "LOG-KV-TRANSFER"),
    ("All 3 attempts failed for streaming /completions.", "LOG-ROUTER"),
    ("InitAdxlEngine failed", "LOG-TRANSFER-START"),
    ("Error: manifest for x/y:1 not found: manifest unknown", "LOG-IMAGE"),
]

HEALTHY = """\
INFO 11-21 10:00:00 [simulator] Creating v1 connector with name: MooncakeConnectorV1 and engine_id: decode-0
WARNING 11-21 10:00:00 [interface.py:1] Failed to import from vllm._C with ImportError('libcudart.so.12: cannot open shared object file')
WARNING 11-21 10:00:00 [x.py:1] ModuleNotFoundError: No module named 'triton'
INFO 11-21 10:00:01 [core.py:1] EngineCore waiting for work. Maximum concurrency for 4,096 tokens per request: 12.00x
INFO 11-21 10:00:01 [loader.py:1] Loading weights took 6.00 seconds, error code 0
WARNING 11-21 10:00:01 [parallel.py:9] Address already in use. Retrying with a new port.
WARNING 11-21 10:00:01 [api_server.py:9] Found ulimit of 1024 and failed to automatically increase with error [Errno 24] Too many open files
W1121 10:00:01.100200    77 real_client.cpp:232] Failed to create client on port 13332, retry 1/20
(EngineCore_DP0 pid=9) ERROR 11-21 10:00:02 [dump_input.py:76] SchedulerOutput(num_computed_tokens=[107001, 207001, 507034], x='NPU out of memory')
INFO 11-21 10:00:02 [scheduler.py:1] error code is 507034 is what a client wrote
INFO:     10.0.0.1:20720 - "POST /v1/completions HTTP/1.1" 200 OK
"""


@pytest.mark.parametrize(("line", "expected"), TEXTS, ids=[f"{id_} {line[:30]}" for line, id_ in TEXTS])
def test_a_known_text_has_its_cause(line, expected):
    found = causes_in(["INFO starts", "ERROR 11-21 10:00:00 [x.py:1] " + line, "INFO ends"], "decode-0")
    assert found[0].id == expected, found
    assert line[:60] in found[0].value
    assert found[0].path == "decode-0"


def test_every_cause_has_a_text_and_is_complete():
    assert {cause.id for cause in CAUSES} == {id_ for _line, id_ in TEXTS}
    assert len({cause.id for cause in CAUSES}) == len(CAUSES)
    for cause in CAUSES:
        re.compile(cause.pattern)
        assert cause.why.endswith(".") and cause.fix.endswith(".") and not cause.problem.endswith("."), cause.id


def test_a_healthy_log_has_no_cause():
    assert causes_in(HEALTHY.splitlines(), "decode-0") == []


def test_a_cause_comes_before_its_consequences():
    lines = [
        "RuntimeError: Gloo connectFullMesh failed",
        "RuntimeError: NPU out of memory. Tried to allocate 1 GiB",
        "RuntimeError: NPU out of memory. Tried to allocate 9 GiB",
        "Mooncake transfer failed, ret: -1",
    ]
    found = causes_in(lines, "x")
    assert [item.id for item in found] == ["LOG-NPU-MEMORY"]
    assert found[0].value == lines[1]


def test_the_explanation_has_line_reason_and_fix():
    text = explanation(causes_in([TEXTS[0][0]], "x")[0])
    assert [line.split(":")[0].strip() for line in text.splitlines()] == ["Likely cause", "Log", "Why", "Fix"]


def test_status_translates_the_cause_of_a_loop():
    state = {"restarts": 4, "detail": "", "state": "failed", "since": None}
    text = status_cause.finding(state, ["RuntimeError: NPU out of memory. Tried", "Engine core failed"])
    assert "Its log says: RuntimeError: NPU out of memory. Tried" in text
    assert "quantization: ascend" in text and text.endswith("Then run ascend.inference.deploy")


CLOSING = [
    "(Worker_TP3 pid=901) ERROR 06-18 16:38:41 [m.py:9] RuntimeError: nobody knows this.",
    "(APIServer pid=538) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
]


def test_status_names_no_closing_sentence_as_the_cause_of_a_loop():
    state = {"restarts": 4, "detail": "", "state": "failed", "since": None}
    text = status_cause.finding(state, CLOSING)
    assert "Its log says: Worker_TP3: RuntimeError: nobody knows this." in text and "See root cause" not in text
    assert "See root cause" not in status_cause.cause(["ValueError: x", CLOSING[1]])
    assert status_cause.down(CLOSING).startswith("has an error in its log: Worker_TP3: RuntimeError")
    assert explanation(causes_in(CLOSING, "x")[0]).startswith("No known cause, the first error is shown. [LOG-UNKNOWN]")


def test_status_translates_the_log_of_a_service_that_is_down():
    assert "[LOG-PORT]" in status_cause.down(["OSError: [Errno 98] address already in use"])
    assert status_cause.down(["INFO shut down"]) == ""


@pytest.mark.parametrize(("since", "expected"), [(0.0, ["LOG-DISK"]), (990.0, [])], ids=["too late", "still starts"])
def test_status_reads_the_log_of_a_service_that_does_not_answer(since, expected):
    running = dict(services.NOTHING, state="running", since=since)

    class Runtime:
        def states(self, wanted):
            return {"u": running}

        def log(self, service, lines):
            return "INFO\nOSError: [Errno 28] No space left on device\n"

    service = {
        "name": "decode-0",
        "kind": "decode",
        "unit": "u",
        "digest": "d",
        "digest_file": "",
        "url": "http://x/health",
    }
    service.update(timeout=100, base="", log={}, version="", transfers=False, generated=[], clients=0, engines=[])
    plan = {"services": [service]}
    reply = services.ask.__globals__["Reply"](0, "", 0.0, "refused")
    rows, _problems = services.Host(Runtime(), plan, plan, lambda *unused: reply, lambda: 1000.0).look()
    assert [text[-9:-1] for text in rows[0]["findings"] if text.endswith("]")] == expected


def test_the_log_reader_of_the_verification_has_the_causes(tmp_path):
    path = tmp_path / "decode-0.log"
    path.write_text("\n".join(["INFO"] * 900 + ["OSError: [Errno 28] No space left on device"]) + "\n")
    read = logs.read([("decode-0", Log("file", str(path), ""))], {}, Lines("", "", ""), None)
    assert [(item["id"], item["path"]) for item in read["decode-0"]["causes"]] == [("LOG-DISK", "decode-0")]
