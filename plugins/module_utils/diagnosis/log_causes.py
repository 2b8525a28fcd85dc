# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes of failed services as data: the text of a log, what it means, and how to fix it.

The texts are those of vLLM, vLLM-Ascend, torch-npu, CANN (HCCL), Mooncake, pip and uv. The order matters: a cause comes before its
consequences, so that an engine without memory whose peers then time out is reported as an engine without memory.
"""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """``pattern``: a regular expression of one log line, case-sensitive. ``problem``: what the line says, as a sentence without its subject."""

    id: str
    pattern: str
    problem: str
    why: str
    fix: str


# vLLM tries modules of other accelerators and warns about those that it does not find.
NOT_WARNED = r"^(?!.*\b(?:WARNING|WARN|INFO|DEBUG)\b).*"

CAUSES = (
    # --- packages --------------------------------------------------------------------------------------------------------
    Cause(
        "LOG-NO-DISTRIBUTION",
        r"No matching distribution found for|Could not find a version that satisfies the requirement"
        r"|No solution found when resolving|was not found in the package registry",
        "a package index does not have a required package",
        "The index is unreachable or incomplete (torch-npu is only on Huawei's index), or has no wheel for this Python version and architecture.",
        "Set the index of the role that installs the package, for torch-npu torch_npu_extra_index_urls or a bundle of the site, and compare the "
        "host's Python with the plan's.",
    ),
    Cause(
        "LOG-PACKAGES-CONFLICT",
        r"Cannot install .* because these package versions have conflicting|ResolutionImpossible|have conflicting dependencies",
        "packages have conflicting requirements",
        "Each torch-npu belongs to one torch, and each vLLM-Ascend to one pair of them.",
        "Use the versions of one release: remove own versions from the inventory, or remove the environment and run site.",
    ),
    Cause(
        "LOG-GLIBC",
        r"version `?GLIBC_[\d.]+'? not found",
        "the operating system's C library is too old for a package",
        "The wheels of Mooncake for NPUs need glibc 2.35, which openEuler 22.03 does not have.",
        "Use the release's container image, or a newer operating system.",
    ),
    Cause(
        "LOG-VERSION",
        r"InvalidVersion\b",
        "vLLM has a version that cannot be parsed",
        "A build from a source folder without tags has no version number.",
        "Set VLLM_VERSION to vLLM's release in inference_env.",
    ),
    # --- libraries and devices ---------------------------------------------------------------------------------------------
    Cause(
        "LOG-DRIVER-LIBRARY",
        r"lib(?:ascend_hal|drvdsmi_host|dcmi)\.so: cannot open shared object file",
        "the NPU driver's libraries were not found",
        "The driver is not installed, or not visible in the container.",
        "Install the driver, or mount /usr/local/Ascend/driver into the container; run check.",
    ),
    Cause(
        "LOG-TRANSPORT-LIBRARY",
        r"ascend_transport\.so: cannot open shared object file",
        "Mooncake's transport for NPUs was not found",
        "Its folder is not in LD_LIBRARY_PATH; some images set that only in the login shell's file.",
        "Run site, which sets the path, and remove own settings of LD_LIBRARY_PATH from inference_env.",
    ),
    Cause(
        "LOG-CANN-LIBRARY",
        r"lib(?:hccl|atb|ascendcl|acl_op_compiler|opapi|ge_runner|runtime|nnopbase|register)\w*\.so[.\d]*: cannot open shared object file"
        r"|Failed to load the backend extension: torch_npu",
        "CANN's libraries were not found",
        "CANN or NNAL is not installed in the planned folder, or its set_env.sh was not sourced.",
        "Compare inference_cann_path with the installation, and run site, which starts engines with CANN's environment.",
    ),
    Cause(
        "LOG-DEVICE-TYPE",
        r"Failed to infer device type|device type .* is not supported|No module named 'torch_npu'",
        "vLLM found no supported device",
        "The vLLM-Ascend plugin could not be loaded: torch-npu is missing or another version, or CANN's environment was not sourced.",
        "Read the warning about the plugin further up in the log, and run site to repair the environment.",
    ),
    Cause(
        "LOG-CHIP",
        r"the socversion \S+ of bin package does not match",
        "the package is built for another chip",
        "An image or wheel for A2 runs on A3, or the reverse.",
        "Set inference_hardware to the hosts' generation; remove an own inference_image.",
    ),
    Cause(
        "LOG-JEMALLOC",
        r"corrupted size vs\. prev_size",
        "the memory allocator reports a damaged heap",
        "Mooncake's store needs jemalloc with these releases; without it the process aborts at the import.",
        "Install jemalloc and set LD_PRELOAD to it in inference_env.",
    ),
    Cause(
        "LOG-DEVICE-ABSENT",
        r"invalid device ordinal|[Ii]nvalid [Dd]evice ID|\b107001\b|rtGetDeviceIndexByPhyId",
        "a planned NPU does not exist for the process",
        "The plan uses more devices than the host has, or the container sees only some of them.",
        "Compare inference_devices and the pool's devices with npu-smi info; run check.",
    ),
    Cause(
        "LOG-DRIVER-OLD",
        r"hrtRaAiQpCreate|creat qp failed",
        "the driver cannot create the connections that this CANN needs",
        "The driver (HDK) is older than the release requires.",
        "Upgrade driver and firmware to the version that the findings of check name.",
    ),
    Cause(
        "LOG-STREAMS",
        r"\b207008\b",
        "the NPU has no streams left",
        "Captured graphs use more streams than this driver and CANN provide.",
        "Reduce cudagraph_capture_sizes in compilation-config, or upgrade the driver (25.5.1) and CANN (8.5).",
    ),
    # --- model and options -------------------------------------------------------------------------------------------------
    Cause(
        "LOG-HEAD-DIM",
        r"has no attribute '(?:head_dim|num_key_value_heads)'",
        "the model's config.json lacks a field that the KV connector reads",
        "Connectors before 0.21.0rc1 read head_dim from config.json.",
        "Add head_dim (hidden_size divided by num_attention_heads) with hf-overrides or the role model, or use release 0.21.0rc1 or later.",
    ),
    Cause(
        "LOG-FLOAT16",
        r"[Tt]ensor scale not implemented for DT_FLOAT16|not implemented for DT_FLOAT16",
        "a quantized operator does not support float16",
        "config.json of the model has torch_dtype float16, and the quantized matrix multiplication needs bfloat16.",
        "Set dtype: bfloat16 in inference_args, or torch_dtype in the model's config.json.",
    ),
    Cause(
        "LOG-OPTION",
        r"error: (?:unrecognized arguments|argument |ambiguous option|the following arguments are required)",
        "the program does not accept an option",
        "The option belongs to another release, or its value is invalid.",
        "Remove it from the inventory; the rules of plan list the options of the release.",
    ),
    Cause(
        "LOG-REMOTE-CODE",
        r"trust_remote_code=True|requires you to execute the configuration file",
        "the model needs its own Python code",
        "vLLM runs code of the model's folder only if that is allowed.",
        "Check the code, then set trust-remote-code: true in inference_args.",
    ),
    Cause(
        "LOG-MODEL-FILES",
        r"does not appear to have a file named|Repo id must be in the form|Cannot find any model weights"
        r"|SafetensorError|is not a local folder and is not a valid model identifier|No such file or directory: .*\.safetensors",
        "files of the model are missing or damaged",
        "The folder is not the model's, a copy was interrupted, or the service's user cannot read it.",
        "Run check, which compares the folder with the model's index; then copy the model again.",
    ),
    Cause(
        "LOG-ARCHITECTURE",
        r"[Mm]odel architectures? .* (?:are|is) not supported|does not recognize this architecture",
        "this release does not support the model's architecture",
        "The model is newer than vLLM or its transformers package.",
        "Use a release that supports the model.",
    ),
    Cause(
        "LOG-CHAT-TEMPLATE",
        r"chat template .* (?:looks like a file path|doesn't exist|does not exist)|The supplied chat template",
        "the chat template cannot be read",
        "The option chat-template names a file that the engine's host or container does not have.",
        "Copy the file to every engine's host, or remove the option.",
    ),
    Cause(
        "LOG-MODEL-LENGTH",
        r"User-specified max_model_len .* is greater than the derived max_model_len",
        "max-model-len is larger than the model supports",
        "The model's positions end before it.",
        "Set a smaller max-model-len, or rope scaling with hf-overrides.",
    ),
    Cause(
        "LOG-TP-SIZE",
        r"prefill_tp_size: .* must be greater than or equal to the decode_tp_size|total number of attention heads .* must be divisible"
        r"|decode pp must be 1",
        "the parallel sizes do not match",
        "Decode's tensor-parallel size must divide prefill's, and the number of heads must be divisible by both.",
        "Change tensor_parallel_size of the pools.",
    ),
    Cause(
        "LOG-SIZES-DIFFER",
        r"config has a conflicting (?:tensor|data) parallel size",
        "the connector's configuration has other parallel sizes than the engine",
        "The sizes in kv_connector_extra_config must be those of the engines.",
        "Remove the sizes from the pool's kv settings, and run site.",
    ),
    Cause(
        "LOG-DENSE-DP",
        r"\bExpected 1, but got \d+",
        "data-parallel ranks of a model without experts disagree about their number",
        "From vLLM 0.14 on, an engine of a dense model resets its data-parallel size to one.",
        "Plan several instances instead of data_parallel_size.",
    ),
    Cause(
        "LOG-CONNECTOR",
        r"Unsupported connector type|Class \w+ not found in \S*(?:mooncake|connector)|No module named '\S*(?:mooncake_connector|llmdatadist)\w*'",
        "the KV connector does not exist in this release",
        "Its name or kv_connector_module_path belongs to another release.",
        "Remove own connector settings (kv of the pool) and run site.",
    ),
    # --- memory ------------------------------------------------------------------------------------------------------------
    Cause(
        "LOG-NPU-BUSY",
        r"[Ff]ree memory on device .* is less than desired",
        "another process holds the NPU's memory",
        "gpu-memory-utilization is a share of the whole memory, and part of it is already in use.",
        "Stop the other process (npu-smi info lists it), or set a smaller gpu-memory-utilization.",
    ),
    Cause(
        "LOG-KV-MEMORY",
        r"larger than the available KV cache memory|No available memory for the cache blocks"
        r"|is larger than the (?:maximum number of tokens|KV cache)|larger than the total KV cache space",
        "the KV cache does not have room for one request of max-model-len",
        "Weights and activations leave too little of the device's memory.",
        "Set a smaller max-model-len or max-num-batched-tokens, a larger gpu-memory-utilization, or a larger tensor_parallel_size.",
    ),
    Cause(
        "LOG-NPU-MEMORY",
        r"(?:NPU|CUDA) out of memory|NPUOutOfMemoryError|torch\.OutOfMemoryError|\bFAILED_MALLOC\b|\b207001\b",
        "the device has no memory left",
        "The weights are quantized but loaded without quantization: ascend, or activations, HCCL buffers and KV cache together are too large.",
        "Set quantization: ascend for quantized weights; else smaller max-model-len, max-num-batched-tokens, max-num-seqs, "
        "gpu-memory-utilization or HCCL_BUFFSIZE.",
    ),
    Cause(
        "LOG-HOST-MEMORY",
        r"DefaultCPUAllocator: can't allocate memory|\bMemoryError\b|[Oo]ut of memory: Killed process|oom-kill|OOMKilled",
        "the host has no memory left",
        "Weights are loaded through host memory, and each rank of a store adds its segment.",
        "Reduce inference_store.segment_size or the number of instances on the host.",
    ),
    Cause(
        "LOG-SHARED-MEMORY",
        r"Bus error|No space left on device.*(?:/dev/shm|shm)",
        "the shared memory of the processes is full",
        "/dev/shm is too small, as with a container's default of 64 MiB.",
        "Set inference_container.shm_size higher.",
    ),
    Cause(
        "LOG-DISK",
        r"No space left on device",
        "a file system is full",
        "Logs, caches of compiled graphs or the model fill it.",
        "Free space in inference_root.",
    ),
    Cause(
        "LOG-MEMORY-LOCK",
        r"Failed to register memory|[Ff]ailed to mount segment|mount_segment.*(?:INVALID_PARAMS|error)|ret:207000",
        "memory could not be registered for transfers",
        "The limit of locked memory or of mappings is too low, or a segment is not a multiple of 1 GiB with fabric memory.",
        "Run check (memlock, vm.max_map_count), and set inference_store.segment_size to whole GiB.",
    ),
    # --- ports, addresses, names -------------------------------------------------------------------------------------------
    Cause(
        "LOG-NPU-PORT",
        r"port 16666 has been bound|bind.*\b16666\b",
        "another process uses the same NPU",
        "Each process opens port 16666 on its NPUs, so an NPU cannot belong to two engines.",
        "Stop the other process (npu-smi info lists it), or plan other devices.",
    ),
    Cause(
        "LOG-HCCL-PORT",
        r"EI0019|EJ0003|Communication_Error_Bind_IP_Port",
        "HCCL's port on the host is in use",
        "Two instances share HCCL_IF_BASE_PORT, or another connection was given the port.",
        "Set other ports (ports: {hccl: ...}) for the pool, and reserve them; the role service does so by default.",
    ),
    Cause(
        "LOG-KV-PORT",
        r"KV Cache (?:sending|receiving) thread failed to start",
        "a rank could not open its KV port",
        "The port is in the range from which Mooncake draws its ports at random, or belongs to another instance.",
        "Set ports: {kv: ...} of the pool outside of that range, or remove the setting.",
    ),
    Cause(
        "LOG-STORE-PORT",
        r"Failed to create client on port",
        "the store's client found no free port",
        "Mooncake draws from the ports 12300 to 14300, and other services use them.",
        "Move other services out of this range.",
    ),
    Cause(
        "LOG-PORT",
        r"[Aa]ddress already in use|\[Errno 98\]",
        "a planned port is in use",
        "Another program or a process that survived its service listens there.",
        "Find it with ss -ltnp and stop it, or set another port.",
    ),
    Cause(
        "LOG-ADDRESS",
        r"[Cc]annot assign requested address|\[Errno 99\]",
        "an address does not belong to this host",
        "VLLM_HOST_IP, HCCL_IF_IP or an address of the inventory is another host's.",
        "Correct inference_address or ansible_host, and remove own settings of these variables.",
    ),
    Cause(
        "LOG-ENGINE-ID",
        r"Conflict engine id",
        "prefill and decode have the same engine_id",
        "The id identifies the owner of KV blocks.",
        "Remove engine_id from the pools' kv settings.",
    ),
    Cause(
        "LOG-RANK-TABLE",
        r"Can't read the target server_id|DISAGGREGATED_PREFILL_RANK_TABLE_PATH|[Rr]ank_?table.*(?:invalid|not exist|mismatch)",
        "the rank table does not describe this host",
        "It has another address or other devices than the engine, or differs between hosts.",
        "Run deploy, which writes the same table to all hosts.",
    ),
    Cause(
        "LOG-IPV6",
        r"does not support IPv6",
        "Mooncake's transport does not support IPv6 here",
        "Releases up to 0.14 support IPv4 only.",
        "Set IPv4 addresses (inference_address).",
    ),
    Cause(
        "LOG-STORE-CONFIG",
        r"MOONCAKE_CONFIG_PATH'? is not set|mooncake.*JSONDecodeError",
        "the store's configuration is missing",
        "The engine uses a store, and its file was not found.",
        "Run deploy, which writes mooncake.json.",
    ),
    Cause(
        "LOG-STORE-MASTER",
        r"Failed to ping master|mount_segment_to_master_failed|Initialize mooncake failed|Failed to connect to master",
        "the store's master cannot be reached",
        "mooncake_master is not running, listens elsewhere, or has too few RPC threads for all ranks at once.",
        "Check mooncake_master with status; for many ranks set args: {rpc_thread_num: 64} in inference_mooncake_master.",
    ),
    Cause(
        "LOG-FILES",
        r"Too many open files|\[Errno 24\]",
        "the process may not open more files",
        "Each connection is an open file.",
        "Raise the limit of open files; the units of the collection set 1048576.",
    ),
    # --- network between NPUs and hosts ------------------------------------------------------------------------------------
    Cause(
        "LOG-DEVICE-ADDRESS",
        r"'device ip' is not set correctly",
        "the NPUs' addresses are unknown to the process",
        "/etc/hccn.conf is missing on the host or in the container.",
        "Set the NPUs' addresses with the module hccn_config, and mount /etc/hccn.conf into the container.",
    ),
    Cause(
        "LOG-HCCL-LINK",
        r"EI0006|\bgetting socket times out\b",
        "NPUs could not connect with each other",
        "A link is down, addresses or VLANs do not match, or a rank did not start.",
        "Run check, which looks at links and pings NPUs; then read the log of the other ranks.",
    ),
    Cause(
        "LOG-HCCL-ACCOUNT",
        r"(?:HCCL|hccl|Hccl).*\berror code:? ?(?:is )?19\b|\bra init failed, return\[19\]",
        "HCCL could not start the network process of its NPU",
        "Without an entry of the process's user in /etc/passwd of its container this fails for engines on several NPUs; the variables USER and HOME "
        "do not replace it. An NPU that another process uses, and one without /etc/hccn.conf, fail in the same way.",
        "Run site, which mounts a passwd file with the user; remove own mounts over /etc/passwd from inference_container. Then look for another "
        "process with npu-smi info, and run check.",
    ),
    Cause(
        "LOG-HCCL",
        r"(?:HCCL|hccl).*error code is 6\b|error code:? ?(?:is )?6\b.*(?:HCCL|hccl)|HcclCommInitRootInfo\w*.*failed",
        "HCCL could not be initialised",
        "HCCL_IF_IP is not an address of this host, the rank table does not match, or the TLS switch of NPUs differs between hosts.",
        "Remove own settings of HCCL_IF_IP and the interfaces, and run check.",
    ),
    Cause(
        "LOG-GLOO",
        r"Gloo connectFullMesh failed|Timed out after \d+ seconds waiting for clients|waiting for core engine|Did not receive response from front-end",
        "the processes of one engine did not find each other",
        "The interface is wrong, the host's name resolves to 127.0.1.1, a firewall blocks the ports, or another process of the engine ended.",
        "Read the log of the engine's other processes; compare inference_interface with the host; run check.",
    ),
    Cause(
        "LOG-KV-LINK",
        r"status: 10390[02]|Sync batch data transfer timeout|increase ASCEND_CONNECT_TIMEOUT",
        "decode cannot transfer KV from prefill's NPUs",
        "The TLS switch differs, a link is down, /etc/hccn.conf has wrong addresses, or the first connection takes longer than its timeout.",
        "Run check; set ASCEND_CONNECT_TIMEOUT in inference_env if only the first requests fail.",
    ),
    Cause(
        "LOG-KV-TRANSFER",
        r"Mooncake transfer failed|MooncakeXferMetadata transfer failed|Failing .*request\(s\) due to KV load failure",
        "a KV transfer failed",
        "The connection to prefill broke, or prefill freed the blocks before decode fetched them.",
        "Read prefill's log of the same time, and run check for the device network.",
    ),
    Cause(
        "LOG-KV-FREED",
        r"Force freed (?:expired )?request",
        "prefill freed KV blocks that decode had not fetched",
        "Decode's queue is longer than the time for which prefill keeps blocks.",
        "Raise inference_kv_hold_timeout, or limit the number of requests in front of decode.",
    ),
    Cause(
        "LOG-STORE-FULL",
        r"NO_AVAILABLE_HANDLE|insufficient space",
        "the store has no room for a batch",
        "Its segments are smaller than the blocks of one batch.",
        "Raise inference_store.segment_size, or eviction_ratio of mooncake_master.",
    ),
    Cause(
        "LOG-STORE-LEASE",
        r"lease_expired_before_data_transfer_completed|action=client_expired|SEGMENT_NOT_FOUND",
        "the store took a client for dead while it was busy",
        "The time-to-live of leases or clients is shorter than a transfer.",
        "Raise default_kv_lease_ttl and client_ttl in args of inference_mooncake_master.",
    ),
    Cause(
        "LOG-WORKER-HANGS",
        r"No available shared memory broadcast block found",
        "a worker of the engine does not answer the others",
        "It hangs in an operator or in HCCL, or /dev/shm is too small.",
        "Find the worker without new log lines, and look at its NPU with check; set inference_container.shm_size higher.",
    ),
    # --- general: last, because the causes above are more exact ---------------------------------------------------------------
    Cause(
        "LOG-LIBRARY",
        NOT_WARNED + r"\S+\.so[.\d]*: cannot open shared object file",
        "a shared library was not found",
        "A package or a folder of LD_LIBRARY_PATH is missing.",
        "Install the package with this library, or run site to repair the environment.",
    ),
    Cause(
        "LOG-MODULE",
        NOT_WARNED + r"(?:ModuleNotFoundError: No module named|ImportError: cannot import name)",
        "a Python module is missing or has another version",
        "The environment is incomplete, or a program of one release runs with packages of another one.",
        "Run site to repair the environment; remove own versions from the inventory.",
    ),
    Cause(
        "LOG-PERMISSION",
        NOT_WARNED + r"(?:PermissionError: \[Errno 13\]|[Pp]ermission denied)",
        "the service's user has no access",
        "The model, a folder or a device belongs to another user.",
        "Give the service's user read access to the model and the NPU devices (group HwHiAiUser).",
    ),
)
