# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes in ports, addresses, links between NPUs, and processes that wait for each other."""

from __future__ import annotations

from .words import CAUSE, HINT, LITTLE, WAITS, Cause, cann, driver, event, hccl, runtime

CAUSES = (
    Cause(
        "LOG-NPU-PORT",
        r"\bport 16666 .{0,20}been bound|bind.*\b16666\b|\bFailed to enable listening for the NPU network adapter socket\b"
        r"|\bsocket type\[[01]\], listen on ip\[[^\]]+\] and specific port\[\d+\] fail\b|" + cann("EI0020"),
        "another process uses the same NPU",
        "Each process opens port 16666 on its NPUs, so an NPU cannot belong to two engines.",
        "Stop the other process (npu-smi info lists it), or plan other devices.",
    ),
    Cause(
        "LOG-HCCL-PORT",
        r"\bsocket type\[2\], listen on ip\[[^\]]+\] and specific port\[\d+\] fail\b"
        r"|\bFailed to enable listening for the host network adapter socket\b|" + cann("EI0019|EJ0003") + "|" + hccl(7),
        "HCCL's port on the host is in use",
        "Two instances share HCCL_IF_BASE_PORT, or another connection was given the port.",
        "Set other ports (ports: {hccl: ...}) for the pool, and reserve them; the role service does so by default.",
    ),
    Cause(
        "LOG-KV-PORT",
        r"\bKV Cache sending/receiving thread failed to start\b|\bTimeout waiting for KV Cache thread to be ready\b"
        r"|\bMooncake pull receiving thread failed to start\b"
        r"|\bTimed out starting Mooncake pull receiving thread\b",
        "a rank could not open its KV port",
        "The port is in the range from which Mooncake draws its ports at random, or belongs to another instance.",
        "Set ports: {kv: ...} of the pool outside of that range, or remove the setting.",
    ),
    Cause(
        "LOG-PORT",
        r"[Aa]ddress already in use|\[Errno 98\]|\bEADDRINUSE\b|\bport is already allocated\b|\bThe server socket has failed to (?:listen|bind)\b"
        r"|\bport \d+ is used by process\b|\bSocketHandShakePlugin: (?:bind \(port|listen\(\))",
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
        r"Can't read the target server_id|DISAGGREGATED_PREFILL_RANK_TABLE_PATH|[Rr]ank_?table.*(?:invalid|not exist|mismatch)"
        r"|\bFailed to parse the ranktable file\b|\branktable information check failed\b"
        r"|\bdevices have same superDeviceId\[|\bsuper_device_id\[[^\]]*\] is invalid\b|\bCheck ip fail\b|\[check\]\[ip\]fail"
        r"|" + cann("EI0004|EI0014|EI0017|EJ0004"),
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
        "LOG-FILES",
        r"Too many open files|\[Errno 24\]",
        "the process may not open more files",
        "Each connection is an open file.",
        "Raise the limit of open files; the units of the collection set 1048576.",
    ),
    Cause(
        "LOG-DEVICE-ADDRESS",
        r"'device ip' is not set correctly",
        "the NPUs' addresses are unknown to the process",
        "/etc/hccn.conf is missing on the host or in the container.",
        "Set the NPUs' addresses with the module hccn_config, and mount /etc/hccn.conf into the container.",
        CAUSE,
    ),
    Cause(
        "LOG-HCCL-LINK",
        r"\b[Gg]etting socket times? ?out\b|\b[Tt]ransport init error\b|\bwait socket establish timeout|\[Wait\]\[LinksEstablishCompleted\] is failed"
        r"|\btopo exchange (?:server|agent) get socket timeout|\bWait timeout for get P2P status\b"
        r"|\bFailed to collect cluster information of the communicator\b|_+LINK_ERROR_INFO_+|\bthe connection failure between this device and\b"
        r"|\bWait links establish completed failed\b|\|\s*[\d.]+\(\d+\)\s*\|\s*\d+\s*\|\s*[\d.]+\(\d+\)|\b(?:ra qp create fail"
        r"|get qp status timeout_?=)|\bNnopbase fails to invoke the HcclAllocComResourceByTiling\b|"
        + "|".join((cann("EI0006|EI0009|EI0012|EI0015"), hccl(11), hccl(12), hccl(13))),
        "NPUs could not connect with each other",
        "A rank ended or did not start in time, or a link is down, or addresses, VLANs or the TLS switch do not match.",
        "Read the logs of the other ranks first: the one that failed earlier is the cause. Then run check, which looks at links and pings NPUs.",
        WAITS,
    ),
    Cause(
        "LOG-HCCL-ACCOUNT",
        r"(?:HCCL|hccl|Hccl).*\berror code:? ?(?:is )?19\b|\bra init failed, return\[\d+\]|\bgetpwuid\(\): uid not found: \d+",
        "HCCL could not start the network process of its NPU",
        "Without an entry of the process's user in /etc/passwd of its container this fails for engines on several NPUs; the variables USER and HOME "
        "do not replace it. An NPU that another process uses, and one without /etc/hccn.conf, fail in the same way.",
        "Run site, which mounts a passwd file with the user; remove own mounts over /etc/passwd from inference_container. Then look for another "
        "process with npu-smi info, and run check.",
    ),
    Cause(
        "LOG-HCCL",
        r"HcclCommInitRootInfo\w*.*failed|\bHCCL function error: .{1,300}\berror code:? ?(?:is )?\d+|" + hccl(6),
        "HCCL could not be initialised",
        "HCCL_IF_IP is not an address of this host, the rank table does not match, or the TLS switch of NPUs differs between hosts.",
        "Remove own settings of HCCL_IF_IP, HCCL_SOCKET_IFNAME and the rank table, and run check.",
        LITTLE,
    ),
    Cause(
        "LOG-GLOO",
        r"Gloo connectFullMesh failed|Timed out after \d+ seconds waiting for clients|Did not receive response from front-end"
        r"|\bThe client socket has (?:timed out|failed to connect)|\bTCPStore.*(?:timed out|recvValue failed)",
        "the processes of one engine did not find each other",
        "The interface is wrong, the host's name resolves to 127.0.1.1, a firewall blocks the ports, or another process of the engine ended.",
        "Read the log of the engine's other processes; compare inference_interface with the host; run check.",
        WAITS,
    ),
    Cause(
        "LOG-WORKER-HANGS",
        r"No available shared memory broadcast block found",
        "a worker of the engine does not answer the others",
        "It hangs in an operator or in HCCL, or /dev/shm is too small.",
        "Find the worker without new log lines, and look at its NPU with check; set inference_container.shm_size higher.",
        HINT,
        True,
    ),
    Cause(
        "LOG-INTERFACE",
        r"\[Find\]\[LocalHostIP\]ip ?\[.*is not found in the nic list|\bby HCCL_SOCKET_IFNAME, but not found\b|\bget host ip fail by socket Ifname\b"
        r"|\b(?:Unable to find address for|interface .{0,40} not found|No such interface):? ?\S*",
        "an address or interface that HCCL or Gloo shall use is not one of this host",
        "HCCL_IF_IP, HCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME or TP_SOCKET_IFNAME names another host's.",
        "Remove own settings of these variables from inference_env, or correct inference_interface and inference_address.",
    ),
    Cause(
        "LOG-RANK-STUCK",
        r"\bCluster Exception Location\[IP/ID\]: ?\[[^\]]{1,80}\].{0,200}ExceptionType: ?\[(?:Stuck)" + r""
        r"|\bcrimer rank ?\[[^\]]{1,80}\] status ?\[STUCK\]",
        "a rank of the engine hangs, and HCCL says which one",
        "Its process or a task on its NPU does not go on; all other ranks wait for it and end with time-outs.",
        "Read the log and CANN's plog of this rank before any other; look at its NPU with check.",
        CAUSE,
        True,
    ),
    Cause(
        "LOG-RANK-LOST",
        r"\bCluster Exception Location\[IP/ID\]: ?\[[^\]]{1,80}\].{0,200}ExceptionType: ?\[(?:Heartbeat Lost)" + r""
        r"|\bcrimer rank ?\[[^\]]{1,80}\] status ?\[LOST\]",
        "a rank of the engine ended or cannot be reached, and HCCL says which one",
        "If both ends report each other, the network between them is broken; else that process ended.",
        "Read the log of this rank and the kernel's messages of its host (an end by the kernel leaves no log); then run check for the network.",
        CAUSE,
        True,
    ),
    Cause(
        "LOG-LINK-DOWN",
        r"\bCluster Exception Location\[IP/ID\]: ?\[[^\]]{1,80}\].{0,200}ExceptionType: ?\[(?:(?i:Error cqe)|OpRetry)"
        + r""
        r"|\bcrimer rank ?\[[^\]]{1,80}\] status ?\[ERROR CQE\]|\bThe network port is down\b|\bP2P communication failed\b"
        r"|\bAn error CQE occurred during operator execution\b"
        r"|\bcqe err(?:or)? status ?\[\d+\]|\bnf_conntrack: (?:nf_conntrack: )?table full\b|\b(?:HCCS|UB) LINK ERROR\b|\bHCCL OP RETRY FAILED\b"
        r"|\bLLM_LINK_FAILED\b|"
        + "|".join(
            (
                cann("EJ0002|EI0010|EI0013|EI0018"),
                runtime("507056|507904|507914", r"(?:device network )?link error|hccl op retry failed"),
                hccl(14),
                hccl(21),
                hccl(23),
                driver("95|96|97"),
                event("80[bB][bB]800[0aA]|80[bB][dD]8000|81078603|81[bB]18603"),
            )
        ),
        "a link of an NPU is down or loses packets",
        "The cable, the optical module or the switch port, or a port that goes up and down.",
        "Run check, which reads each NPU's link and health; then replace the module or cable of the NPU that the text names.",
        CAUSE,
    ),
    Cause(
        "LOG-TLS",
        r"\bSome ranks tlsStatus are inconsistent\b|\bfor config \"tls\" is invalid\b|" + cann("EI0016"),
        "NPUs of the engine have different TLS switches or other different settings",
        "HCCL connects only NPUs with the same setting.",
        "Run check, which compares the TLS switch of all NPUs; set it alike with hccn_tool or the playbook fabric.",
        CAUSE,
    ),
    Cause(
        "LOG-HCCL-VARIABLE",
        r"\b(?:Environment variable \[|for environment variable )(?:HCCL|ASCEND|RANK)_\w+\]? is invalid|"
        + cann("EI0001|EE2002"),
        "a variable of HCCL or CANN has a wrong value",
        "The line names it.",
        "Correct or remove it in inference_env.",
    ),
    Cause(
        "LOG-RANKS-DIFFER",
        r"\bCluster Exception Location\[IP/ID\]: ?\[[^\]]{1,80}\].{0,200}ExceptionType: ?\[(?:Op Inconsistent)" + r""
        r"|\[RankConsistentImpl\]\[CompareFrame\]|\barguments for collective communication are inconsistent between ranks|"
        + cann("EI0005"),
        "the ranks of one engine call different collectives",
        "Their options, variables or software differ, or one of them took another way through the program.",
        "Compare inference_args and inference_env of the instance's hosts, and run deploy on all of them; look for the release's known issues.",
        CAUSE,
    ),
    Cause(
        "LOG-UB-LINKS",
        r"\b(?:Endpoint config file not found|Failed to parse endpoint config file): ",
        "the description of an NPU's links is missing or damaged",
        "On 950 hosts a connector reads ub_endpoint_npu_N.json of each NPU from ascend_local_comm_res_path, /etc/hixlep by default.",
        "Generate the files on each host (HiXLEP guide of CANN's hixl); for other links set ASCEND_LOCAL_COMM_RES or ASCEND_GLOBAL_RESOURCE_CONFIG "
        "in inference_env.",
    ),
    Cause(
        "LOG-KV-RANGE",
        r"\bFind available port failed\b",
        "Mooncake found no free port for its transfers",
        "It draws 100 ports for each device from 20000 on, or from ASCEND_BASE_PORT.",
        "Move other services out of this range, or set ASCEND_BASE_PORT in inference_env.",
    ),
    Cause(
        "LOG-COLLECTIVE",
        r"\bNotify register (?:times out|waits for execution)|\b(?:notify wait|hccl fftsplus task"
        r"|event wait) timeout occurred during task execution\b|\bProcess group work \w+, seq_num \d+ dispatch timeout\b"
        r"|\bWatchdog caught collective operation timeout\b|\bStream synchronize timeout\b|\[TaskExecStage\]\[Timeout\]|"
        + "|".join(
            (
                cann("EI0002|EE1002"),
                runtime(
                    "107019|107020|507046|507047|507048|507915",
                    r"task timeout|stream sync timeout|event sync timeout|fftsplus timeout"
                    r"|ccu timeout|Task execution timed out\.|The execution of the internal task times out\.|In the specified timeout waiting event",
                ),
                hccl(9),
                hccl(22),
            )
        ),
        "a collective waited for another rank until its time was over",
        "Another rank of the engine hangs or ended earlier. The rank of this line is only the one that noticed.",
        "Find the rank that does not print such lines, or the one that the lines 'Cluster Exception Location' of CANN's plog name; read its log "
        "before any other.",
        WAITS,
    ),
    Cause(
        "LOG-REMOTE-FAULT",
        r"\bSUSPECT REMOTE ERROR\b|" + runtime("507057", r"suspect remote error|device remote mem error"),
        "a transfer between NPUs failed because of a fault at its other end",
        "A kernel of the other rank failed, or its process ended.",
        "Find the other ranks of the instance that have another error, and read the log of the first one; then run check for the device network.",
        WAITS,
    ),
    Cause(
        "LOG-WORKER-SILENT",
        r"\bRPC call to \w+ timed out\b",
        "a worker did not answer within VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS",
        "It hangs, mostly in a collective whose other rank ended, or the first capture of graphs takes longer.",
        "Find the worker without new log lines, and the first error in the logs of all hosts of the instance; with a limit below HCCL_EXEC_TIMEOUT "
        "vLLM ends the engine before HCCL says which rank hangs.",
        WAITS,
    ),
    Cause(
        "LOG-ENGINE-LATE",
        r"\bTimed out waiting for engine(?:s| core processes) to (?:send ?initial message|start)\b|\bTimed out waiting for new engine",
        "the engine did not start within VLLM_ENGINE_READY_TIMEOUT_S",
        "Loading weights or capturing graphs takes longer, or another process of the engine failed.",
        "Look for an error of the other processes and hosts of this instance; if there is none, raise VLLM_ENGINE_READY_TIMEOUT_S in inference_env.",
        WAITS,
    ),
    Cause(
        "LOG-KILLED",
        r"\b(?:Worker proc|Engine core proc(?:ess)?|Process) \S+.{0,40} died (?:unexpectedly|with exit code -?\d+)|^Killed\b",
        "a process of the engine ended without a word",
        "The kernel killed it, mostly because memory ran out, or it crashed in compiled code.",
        "Read the kernel's messages of the host (dmesg, journalctl -k) and CANN's plog of the same time.",
        LITTLE,
    ),
    Cause(
        "LOG-CRASH",
        r"^(?:!!!!!!! Segfault encountered|Segmentation fault|Fatal Python error: |terminate called after throwing|Aborted(?: \(core dumped\))?\s*$)",
        "a process crashed in compiled code",
        "A library failed: torch-npu, CANN or Mooncake.",
        "Read CANN's plog and the lines before it; compare the versions that check prints with the release's.",
        LITTLE,
    ),
)
