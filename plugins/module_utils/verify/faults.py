# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults that verification finds: the usual cause of each and what to do, from upstream's issue threads and our measurements."""

from __future__ import annotations

from typing import NamedTuple

from ..tools.finding import Finding


class Fault(NamedTuple):
    """``why``: where the fault usually comes from, or what it means; ``fix``: what to do or to look at first."""

    why: str
    fix: str


FAULTS = {
    "dead": Fault(
        "The process is not running or listens elsewhere.",
        "Read the last lines of its log; they say why.",
    ),
    "hangs": Fault(
        "It accepts the connection and does not answer: the engine core or the API server is blocked. An engine core that outlived "
        "its killed API server also keeps the port open.",
        "Look for a stuck engine core in its log, and restart it.",
    ),
    "unready": Fault(
        "It is up but not ready: weights still load, or its engine core died.",
        "Wait until its /health answers 200, or read its log.",
    ),
    "not_openai": Fault("Another program listens at this address.", "Compare the port with the plan."),
    "wrong_model": Fault(
        "It was started with another --served-model-name or --model than the plan says.",
        "Restart it from the plan with site.",
    ),
    "no_room": Fault(
        "A prompt of less than two KV blocks is not transferred, so it proves nothing.",
        "Set a larger max-model-len for this engine.",
    ),
    "short_probe": Fault(
        "A prompt of less than two KV blocks is not transferred, so it proves nothing.",
        "Set inference_verify.min_prompt_tokens higher.",
    ),
    "unauthorized": Fault(
        "The API key given here is not the one that the service was started with.",
        "Give the same inference_secrets as at its start, or run site.",
    ),
    "master_standby": Fault(
        "This master is a standby of a highly available pair.",
        "Give the leader's address, or find out why none was elected.",
    ),
    "master_clients": Fault(
        "An engine did not register: wrong master_server_address, MOONCAKE_CONFIG_PATH unset, or its mount of the segment failed "
        "(RPC_FAIL: too few master RPC threads).",
        "Look for the mount of the segment in each engine's log.",
    ),
    "master_capacity": Fault(
        "A segment is missing or smaller than planned.", "Compare global_segment_size in each mooncake.json."
    ),
    "different_engine": Fault(
        "The weights, tokenizer, quantisation or dtype differ between the engines.",
        "Compare the hash of the model directory on each host.",
    ),
    "entry_down": Fault("The router is not running or listens elsewhere.", "Read the last lines of its log."),
    "unread_metrics": Fault(
        "Without its counters nothing proves what it did.",
        "Query its /metrics; look in its log why it does not answer.",
    ),
    "no_engine_served": Fault(
        "The router sends to engines that are not in this plan.", "Compare the router's list of engines with the plan."
    ),
    "prefill_not_asked": Fault(
        "The router's prefill list is empty or wrong, or its flavour does not drive this connector.",
        "Compare the router's command line with the plan.",
    ),
    "decode_not_asked": Fault(
        "The router's decode list is wrong (it may name prefill engines), so a prefill engine answered alone.",
        "Compare the router's command line with the plan.",
    ),
    "some_lost": Fault(
        "An engine in the router's list is dead or wrong, so only part of the requests takes the planned way.",
        "Compare the router's list of engines with the plan.",
    ),
    "empty_200": Fault("The proxy swallowed the decode engine's error and still answered 200.", "Read decode's log."),
    "cut": Fault(
        "The decode engine or the proxy broke off in the middle of the answer.",
        "Read the logs of decode and the router.",
    ),
    "decode_hangs": Fault(
        "Prefill answered and decode waits for KV that does not come: unreachable kv_port, a pinned engine_id that is stale after a "
        "restart, or a device network fault (hccn link, TLS switch, ASCEND_CONNECT_TIMEOUT).",
        "Run check, which pings the device network, and read decode's log.",
    ),
    "prefill_hangs": Fault("The router waits for prefill, which does not answer.", "Read prefill's log."),
    "recomputed": Fault(
        "Decode did not get or not use kv_transfer_params: kv_connector or kv_role is wrong on one side, the router does not pass the "
        "parameters on, or loading failed and kv_load_failure_policy is recompute.",
        "Compare --kv-transfer-config of both engines with the plan, then read decode's log.",
    ),
    "garbage": Fault(
        "The KV that decode used is not what prefill computed: a failed pull that was not surfaced (Mooncake transfer failed), "
        "/etc/hccn.conf missing in the container, blocks freed before the pull (Force freed), or different block size, dtype or TP layout.",
        "Look for these lines in decode's log, and compare the engines' arguments.",
    ),
    "garbled_on_the_way": Fault(
        "The engines agree with each other, so something between them and the client changed the prompt or the answer: the router's "
        "rewriting, or an engine outside this plan.",
        "Query an engine directly, then through the router.",
    ),
    "no_kv_params": Fault(
        "Prefill has no KV connector or the wrong kv_role, so it answers like a plain engine.",
        "Compare its --kv-transfer-config with the plan.",
    ),
    "pool_not_written": Fault(
        "Nothing was put into the pool: kv_role without producing, AscendStore/MooncakeStore connector not loaded, prefix caching off, "
        "or no room (NO_AVAILABLE_HANDLE).",
        "Look for the connector in the engine's log, and at the master's capacity.",
    ),
    "pool_not_read": Fault(
        "The keys do not match or the transfer fails: PYTHONHASHSEED differs between the processes, block size or model directory name "
        "differ, lookup port shared by two instances, or the store's transport is broken.",
        "Compare these settings of both engines, and read the reader's log.",
    ),
    "silent_overflow": Fault(
        "A prompt longer than max_model_len has to be refused; the proxy swallowed the engine's error.",
        "Read the router's log.",
    ),
    "not_refused": Fault(
        "Something cut the prompt instead of refusing it, or the engine's max_model_len is not what it reports.",
        "Query an engine directly, then through the router.",
    ),
    "listeners": Fault(
        "A rank did not open its KV port: the port is taken by another instance, or the rank failed to start.",
        "Read the engine's log from its start.",
    ),
    "red_flag": Fault("Such a line accompanies lost or wrong KV cache.", "Read the log around the line."),
    "no_line": Fault(
        "Decode never pulled for these requests, or logs to another place than the plan says.",
        "Compare the log's path with the plan.",
    ),
    "no_proof": Fault(
        "This release has no counters for it, and the log lines were not read or are missing.",
        "Give the engines' logs (verify.*.log) and run on all their hosts.",
    ),
}


class Problem(NamedTuple):
    """What is wrong in this case, with its names and numbers, and the fault of the table that it shows."""

    text: str
    fault: str

    def finding(self, path: str) -> Finding:
        """The problem at a hop or a service. KeyError for a fault outside of the table: a fault without its fix is a defect."""
        fault = FAULTS[self.fault]
        return Finding(path, "VERIFY-" + self.fault.upper().replace("_", "-"), self.text, fault.fix, why=fault.why)
