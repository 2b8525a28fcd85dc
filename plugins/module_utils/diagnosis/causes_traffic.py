# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes in transfers of KV cache, the store and routers."""

from __future__ import annotations

from .words import CAUSE, TRAFFIC, Cause

CAUSES = (
    Cause(
        "LOG-STORE-CONFIG",
        r"\b(?:Configuration loading failed|An error occurred while loading the configuration|Device id is not set\.)|"
        r"'(?:MOONCAKE_CONFIG_PATH|MMC_LOCAL_CONFIG_PATH)'? is not set|mooncake.*JSONDecodeError|\bEnvironment variable DS_WORKER_ADDR is required\b"
        r"|\bMooncakeBackend does not support protocol\b"
        r"|\bglobal segment size cannot be empty\b|\bUnsupported type for global_segment_size\b",
        "the store's configuration is missing",
        "The engine uses a store, and its file was not found.",
        "Run deploy, which writes mooncake.json.",
    ),
    Cause(
        "LOG-STORE-MASTER",
        r"mount_segment_to_master_failed|Failed to connect to master|\bFailed to get (?:new )?master (?:address|view)\b"
        r"|\b[Ff]ailed to mount segment(?: due to rpc error|: RPC_)",
        "the store's master cannot be reached",
        "mooncake_master is not running, listens elsewhere, or has too few RPC threads for all ranks at once.",
        "Check mooncake_master with status; for many ranks set args: {rpc_thread_num: 64} in inference_mooncake_master.",
    ),
    Cause(
        "LOG-RDMA",
        r"\bProcess failed for slice \(opcode: |\btransport retry counter exceeded\b|\bFailed to modify QP to (?:INIT|RTR|RTS)\b"
        r"|\bFailed to register memory 0x\w+.*(?:mlx|hns|rdma)|\bNo RNIC found\b|\bNo matched device found\b",
        "Mooncake cannot transfer by RDMA",
        "The network cards of both ends do not reach each other: another subnet, GID or MTU, a switch without lossless traffic, or the other end ended.",
        "Test the cards that the line names with ib_write_bw between both hosts; set MC_GID_INDEX in inference_env if a card has several addresses.",
        TRAFFIC,
    ),
    Cause(
        "LOG-KV-LINK",
        r"\bFailed to connect to (?:target|segment): |\b(?:Connect|Transfer) timeout(?: to:|, you can increase)|\bTransfer (?:failed to: "
        r"|slice failed with status)|Sync batch data transfer timeout|\bMooncake transfer failed to create link\b"
        r"|(?:\bstatus: ?|\bErrorNo: ?|\bret(?:urn)?(?: code)?[ :=]+|\bStatus[ :=]+)(?:10390[0124]|503900)\b|\bSocketHandShakePlugin: "
        r"|\bHandshake rejected by\b|\bLLM_(?:NOT_YET_LINK|TIMEOUT|WAIT_PROCESS_TIMEOUT)\b",
        "decode cannot transfer KV from prefill's NPUs",
        "The TLS switch differs, a link is down, /etc/hccn.conf has wrong addresses, or the first connection takes longer than its timeout.",
        "Run check; set ASCEND_CONNECT_TIMEOUT in inference_env if only the first requests fail.",
        TRAFFIC,
        True,
    ),
    Cause(
        "LOG-KV-TRANSFER",
        r"Mooncake transfer failed|\b[Ss]egment descriptor not found\b|\bTransfer failed for task\d+|\bTcpTransport: |MooncakeXferMetadata transfer failed"
        r"|Failing .*request\(s\) due to KV load failure|\bFailed to transfer KV cache\b"
        r"|\bpulling kv_caches for .* failed\b|\bMooncake (?:pull failed for remote engine|transfer task failed)"
        r"|\bMooncakeLayerwiseConnector transfer fail|\bFAILED_SENDING_MSG\b|\bP received READ_FAILED\b|\bKV transfer task failed\b"
        r"|\bMembPull (?:batch read|send task|DSpark draft KV read) failed|\bLLM_KV_CACHE_NOT_EXIST\b"
        r"|\bLLMDataDistCMgrConnectorWorker: (?:Linking failed|Timeout)",
        "a KV transfer failed",
        "The connection to prefill broke, or prefill freed the blocks before decode fetched them.",
        "Read prefill's log of the same time, and run check for the device network.",
        TRAFFIC,
    ),
    Cause(
        "LOG-KV-FREED",
        r"Force freed (?:expired )?(?:Mooncake )?request|\btimed out after \d+(?:\.\d+)? seconds without being sent\b",
        "prefill freed KV blocks that decode had not fetched",
        "Decode's queue is longer than the time for which prefill keeps blocks.",
        "Raise inference_kv_hold_timeout, or limit the number of requests in front of decode.",
        TRAFFIC,
        True,
    ),
    Cause(
        "LOG-STORE-FULL",
        r"NO_AVAILABLE_HANDLE|insufficient space|\bTENANT_QUOTA_EXCEEDED\b|\bKEYS_ULTRA_LIMIT\b",
        "the store has no room for a batch",
        "Its segments are smaller than the blocks of one batch.",
        "Raise inference_store.segment_size, or eviction_ratio of mooncake_master.",
        TRAFFIC,
    ),
    Cause(
        "LOG-STORE-LEASE",
        r"lease_expired_before_data_transfer_completed|action=client_expired|SEGMENT_NOT_FOUND",
        "the store took a client for dead while it was busy",
        "The time-to-live of leases or clients is shorter than a transfer.",
        "Raise default_kv_lease_ttl and client_ttl in args of inference_mooncake_master.",
        TRAFFIC,
        True,
    ),
    Cause(
        "LOG-AICPU",
        r"\bHcclBatch(?:Get|Put)\b.*AICPU launch failed|\bFailed to invoke HcclBatch(?:Get|Put)\b",
        "the own NPU cannot start transfers any more",
        "The AI CPU of this NPU refuses HCCL's one-sided copies: links and TLS are not the reason. Answers may be wrong although their status is 200.",
        "Restart the engine with the playbook restart; if it happens again, reset the NPU and upgrade driver and CANN.",
        CAUSE,
    ),
    Cause(
        "LOG-STORE-CONTEXT",
        r"\b(?:aclrt(?:Get|Set)(?:Current)?(?:Context|Device) failed|Call aclrt\w+ failed)",
        "a thread of the store's client has no context of its NPU",
        "Known of the standalone client with several NPUs before Mooncake 0.3.13: each put and get fails.",
        "Use the store inside of the engines, a client for each NPU, or a newer Mooncake.",
        TRAFFIC,
    ),
    Cause(
        "LOG-KV-WRONG",
        r"\bKV load failed for hybrid request\b|\bSkip invalid-block fallback\b|\bIgnoring Mooncake transfer failure for hybrid\b"
        r"|\bFailed to reformat KV cache after all pulls\b|\bRemote kv_group2layeridx is inconsistent\b"
        r"|\bhash alignment mismatch\b|\bobject_checksum_mismatch\b|\bCHECKSUM_MISMATCH\b",
        "KV cache of a request is missing or wrong and is used all the same",
        "The answer's status is 200 and its text may be wrong.",
        "Look for the transfer that failed before it; until it is mended, take the engine out of the router, or remove the store for hybrid models "
        "(see the release's known issues).",
        TRAFFIC,
    ),
    Cause(
        "LOG-KV-THREAD",
        r"\bMooncake KVCacheSendingThread (?:encountered )?exception|\bMooncake scheduler sending thread failed\b|\bMembPull (?:read"
        r"|send) thread (?:failed|crashed)|\bD2RH (?:ZMQ listener crashed|request processing failed)|\bError in KVCacheTransferThread\b"
        r"|\bError handling KV cache transfer request\b|\bFailed to initialize D2RH listener\b",
        "a thread that moves KV cache ended",
        "This worker moves no more KV until it is started again.",
        "Restart the engine with the playbook restart, and read the exception that follows the line.",
        TRAFFIC,
    ),
    Cause(
        "LOG-KV-ACK",
        r"\bFailed to receive ACK\b|\bUnexpected ACK response\b|\bTimed out waiting for ACK from\b|\bFailed to send done sending signal\b"
        r"|\bSending (?:done sending )?signal .{0,80}fail|\bAccess metaserver fail|\bFailed to connect to metaserver\b",
        "the other engine did not confirm a transfer",
        "It ended or is overloaded; prefill keeps or frees blocks that it should not.",
        "Read the log of the other engine of the same time; check its KV port and the proxy.",
        TRAFFIC,
    ),
    Cause(
        "LOG-STORE-MASTER-SILENT",
        r"\bFailed to ping master\b|\bread rpc (?:head|body) failed\b|\bRPC_(?:FAIL|TIMEOUT)\b",
        "the store's master does not answer",
        "mooncake_master ended, is overloaded, or the network to its host is broken.",
        "Check mooncake_master with status; for many ranks set args: {rpc_thread_num: 64} in inference_mooncake_master.",
        TRAFFIC,
    ),
    Cause(
        "LOG-STORE-PUT",
        r"\bFailed to put (?:\S+ )?keys?\b|\bPut operation failed with error\b|\bFailed to store KV cache for\b"
        r"|\bFailed to (?:finalize|end|start) (?:batch )?put\b"
        r"|\bFailed to start put operation\b|\bBatchPut failed for \d+ keys|\bTransfer submission failed for key\b|\bWRITE_FAIL\b",
        "KV could not be written to the store",
        "It is full, the master does not answer, or the transfer failed; what was not stored is computed again.",
        "Compare the store's use with inference_store.segment_size (dashboard), and read the master's log.",
        TRAFFIC,
    ),
    Cause(
        "LOG-STORE-GET",
        r"\bFailed to get (?:\S+ )?keys?\b|\bFailed to load blocks\b|\btransfer_read_failed key=|\bno_complete_replicas_found key="
        r"|\bFailed to submit (?:transfer operation|all transfers)\b|\bBatch \d+ completed with task failures\b|\bFailed to open segment\b"
        r"|\bOBJECT_NOT_FOUND\b|\bREPLICA_(?:IS_GONE|NOT_FOUND|IS_NOT_READY)\b|\bINVALID_READ\b",
        "KV could not be read from the store",
        "Its owner ended or was slow, the key was evicted, or the transfer failed.",
        "Read the log of the engine that owns the segment; raise inference_store.segment_size if keys are evicted; run check for the device network.",
        TRAFFIC,
    ),
    Cause(
        "LOG-STORE-TRANSFER",
        r"\bTRANSFER_FAIL\b|\bFailed to complete transfers after \d+ seconds\b|\btransfer_incomplete\b",
        "a transfer between an engine and a segment of the store failed",
        "The owner of the segment ended or was slow, or the network between them fails under load.",
        "Read the log of the engine that owns the segment, of the same time, and run check for the device network.",
        TRAFFIC,
    ),
    Cause(
        "LOG-ROUTER",
        r"\b(?:All \d+ attempts|Attempt \d+) failed for\b|\bAll connection attempts failed\b|\bCannot connect to host \S+|\bhttpx\.(?:(?:Read|Connect"
        r"|Pool)Timeout|HTTPStatusError)\b|\bStream error from (?:decode|prefill) server\b|\bNo (?:prefiller|decoder|prefill|decode"
        r"|available \w+) servers(?: available)?\b|\bError during streaming from (?:decoder|server)\b"
        r"|\bStreaming to client interrupted after response started\b"
        r"|\bno matching ModelRoute found\b|\b(?:prefill|decode) request failed(?: with status \d+|: )|\b(?:streaming"
        r"|non-streaming) decode interrupted\b|\bStart to taint (?:\w+ )?instances\b|\bInstance .* was not added to the proxy\b",
        "the router got no answer from an engine",
        "The engine ended, is overloaded, or is not in the router's list.",
        "Run status, and read the log of the engine that the line names.",
        TRAFFIC,
    ),
)
