# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults that verification finds: likely causes and fixes, from upstream's issue threads and our measurements."""

from __future__ import annotations

from typing import NamedTuple

from ..tools.finding import Finding
from ..tools.text import one_line


class Fault(NamedTuple):
    """``why``: the likely cause or the consequence; ``fix``: what to do or to check first."""

    why: str
    fix: str


FAULTS = {
    "dead": Fault(
        "The process is not running or listens elsewhere.",
        "Read the last lines of its log.",
    ),
    "hangs": Fault(
        "It accepts the connection but does not answer: the engine core or the API server is blocked. An engine core that outlived "
        "its killed API server also keeps the port open.",
        "Check its log for a stuck engine core, and restart it.",
    ),
    "unready": Fault(
        "It runs but is not ready: weights are still loading, or its engine core has exited.",
        "Wait until its /health answers 200, or read its log.",
    ),
    "not_openai": Fault("Another program listens at this address.", "Compare the port with the plan."),
    "wrong_model": Fault(
        "It was started with a different --served-model-name or --model than planned.",
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
        "The API key differs from the one that the service was started with.",
        "Use the same inference_secrets as at its start, or run site.",
    ),
    "master_standby": Fault(
        "This master is a standby of a highly available pair.",
        "Use the leader's address, or check why none was elected.",
    ),
    "no_leader": Fault(
        "Without a leader no block can be stored or found, and no engine can start.",
        "Check etcd (playbook status): a majority of its members has to run and to be reached by the masters.",
    ),
    "two_leaders": Fault(
        "Each of them knows only a part of the blocks.",
        "Compare --cluster_id and the addresses of etcd of all masters (playbook plan), then restart them.",
    ),
    "master_clients": Fault(
        "An engine did not register: wrong master_server_address, MOONCAKE_CONFIG_PATH unset, or its mount of the segment failed "
        "(RPC_FAIL: too few master RPC threads).",
        "Check the mount of the segment in each engine's log.",
    ),
    "master_capacity": Fault(
        "A segment is missing or smaller than planned.", "Compare global_segment_size in each mooncake.json."
    ),
    "different_engine": Fault(
        "The weights, tokenizer, quantization or dtype differ between the engines.",
        "Compare the hash of the model directory on each host.",
    ),
    "entry_down": Fault("The router is not running or listens elsewhere.", "Read the last lines of its log."),
    "unread_metrics": Fault(
        "Without its counters the transfer cannot be proven.",
        "Query its /metrics; check its log if it does not answer.",
    ),
    "no_engine_served": Fault(
        "The router sends requests to engines that are not in this plan.",
        "Compare the router's list of engines with the plan.",
    ),
    "prefill_not_used": Fault(
        "The router's prefill list is empty or wrong, or its flavour does not support this connector.",
        "Compare the router's command line with the plan.",
    ),
    "decode_not_used": Fault(
        "The router's decode list is wrong (it may contain prefill engines), so a prefill engine answered without decode.",
        "Compare the router's command line with the plan.",
    ),
    "some_lost": Fault(
        "An engine in the router's list is dead or wrong, so only some requests take the planned path.",
        "Compare the router's list of engines with the plan.",
    ),
    "empty_200": Fault("The proxy suppressed the decode engine's error and answered 200.", "Read decode's log."),
    "cut": Fault(
        "The decode engine or the proxy aborted during the answer.",
        "Read the logs of decode and the router.",
    ),
    "decode_hangs": Fault(
        "Prefill answered and decode waits for KV that does not arrive: unreachable kv_port, a pinned engine_id that is outdated after a "
        "restart, or a device network fault (hccn link, TLS switch, ASCEND_CONNECT_TIMEOUT).",
        "Run check, which pings the device network, and read decode's log.",
    ),
    "kv_error": Fault(
        "Prefill answered, and decode refuses the request with its KV: the KV could not be loaded (kv_load_failure_policy is fail), or its engine core has "
        "exited.",
        "Read decode's log of this time, and run check, which pings the device network.",
    ),
    "no_callback": Fault(
        "Decode asks for KV by a call to this host, as it does to a layerwise proxy. Without the call it waits for ever, so nothing proves the engine.",
        "Let the decode hosts reach any TCP port of this host, or change the engines with a pause.",
    ),
    "prefill_hangs": Fault("The router waits for prefill, which does not answer.", "Read prefill's log."),
    "recomputed": Fault(
        "Decode did not get or did not use kv_transfer_params: kv_connector or kv_role is wrong on one side, the router does not forward the "
        "parameters, or loading failed and kv_load_failure_policy is recompute.",
        "Compare --kv-transfer-config of both engines with the plan, then read decode's log.",
    ),
    "garbage": Fault(
        "The KV that decode used differs from what prefill computed: a failed pull that was not reported (Mooncake transfer failed), "
        "/etc/hccn.conf missing in the container, blocks freed before the pull (Force freed), or different block size, dtype or TP layout.",
        "Search for these lines in decode's log, and compare the engines' arguments.",
    ),
    "changed_in_transit": Fault(
        "The engines agree with each other, so a component between them and the client changed the prompt or the answer: the router's "
        "rewriting, or an engine outside this plan.",
        "Query an engine directly, then through the router.",
    ),
    "no_kv_params": Fault(
        "Prefill has no KV connector or the wrong kv_role, so it answers like a colocated engine.",
        "Compare its --kv-transfer-config with the plan.",
    ),
    "pool_not_written": Fault(
        "Nothing was written to the store: kv_role does not produce, AscendStore/MooncakeStore connector not loaded, prefix caching off, "
        "or no free space (NO_AVAILABLE_HANDLE).",
        "Check the connector in the engine's log, and the master's capacity.",
    ),
    "pool_not_read": Fault(
        "The keys do not match or the transfer fails: PYTHONHASHSEED differs between the processes, block size or model directory name "
        "differ, lookup port shared by two instances, or the store's transport is broken.",
        "Compare these settings of both engines, and read the reader's log.",
    ),
    "silent_overflow": Fault(
        "A prompt longer than max_model_len must be refused; the proxy suppressed the engine's error.",
        "Read the router's log.",
    ),
    "not_refused": Fault(
        "The prompt was truncated instead of refused, or the engine's max_model_len differs from the reported one.",
        "Query an engine directly, then through the router.",
    ),
    "listeners": Fault(
        "A rank did not open its KV port: the port is taken by another instance, or the rank failed to start.",
        "Read the engine's log from its start.",
    ),
    "red_flag": Fault("Such a line accompanies lost or wrong KV cache.", "Read the log around the line."),
    "no_line": Fault(
        "Decode never pulled for these requests, or its log is not where the plan expects it.",
        "Compare the log's path with the plan.",
    ),
    # --- the entry as clients use it
    "open_entry": Fault(
        "Anybody who reaches the entry can use the model.",
        "Check client_keys in inference_secrets and the frontend's log, then run site.",
    ),
    "open_path": Fault(
        "Through it a client can change the router or its engines, or read data of others.",
        "Compare the frontend's haproxy.cfg with the plan, then run site.",
    ),
    "no_tls": Fault(
        "The entry does not speak TLS, or only versions or ciphers that this host refuses.",
        "Read the frontend's log; check certificate and certificate_key in inference_router.",
    ),
    "ca_file": Fault(
        "Whether clients trust the entry is not known.",
        "Copy the file, in PEM format, to the host that asks, readable for the user that asks; or correct inference_verify.ca_file.",
    ),
    "certificate_dates": Fault(
        "Clients refuse it.",
        "Renew the certificate that inference_router.certificate names. The frontend loads it within 10 s.",
    ),
    "certificate_ends": Fault(
        "Clients will refuse it then.",
        "Renew the certificate that inference_router.certificate names. The frontend loads it within 10 s.",
    ),
    "certificate_name": Fault(
        "Clients that use this name refuse it.",
        "Issue the certificate for the name, or correct inference_verify.server_name.",
    ),
    "certificate_name_unknown": Fault(
        "Clients that use this address refuse it. Whether they use another name is not known.",
        "Set inference_verify.server_name to the name that clients use.",
    ),
    "certificate_issuer": Fault(
        "Clients with this CA file refuse it.",
        "Append intermediate certificates to the certificate's file, or correct inference_verify.ca_file.",
    ),
    "certificate_issuer_unknown": Fault(
        "Clients refuse it unless they trust its issuer. The authorities of the operating system do not include it.",
        "Set inference_verify.ca_file to the CA file that clients use, on the host of the entry.",
    ),
    "chat": Fault(
        "Most clients use the chat API. The router may not support it, or the engines have other chat templates or parsers.",
        "Send the same request to an engine directly, and compare the options chat-template and the parsers of the pools.",
    ),
    "no_chat": Fault(
        "Without a chat template only /v1/completions can be used.",
        "Use a model with a chat template, or set chat-template in inference_args.",
    ),
    "wrong_usage": Fault(
        "Clients count and pay their tokens by these numbers, and the transferred tokens are compared with them.",
        "Send the same request to an engine directly; the router must pass its usage on.",
    ),
    "idle_engine": Fault(
        "Its devices are unused, and the others get its load: it is missing in the router's list of engines, or the router sends all "
        "requests to one.",
        "Compare the router's list of engines and its policy with the plan.",
    ),
    "restarted": Fault(
        "It stopped and was started again while it was verified, so it may do so under load.",
        "Read its log from before the restart.",
    ),
    # --- what is compared
    "no_logprobs": Fault(
        "Only texts are compared then, so other weights of the same family may stay unseen.",
        "Remove options that switch log-probabilities off, such as max-logprobs: 0.",
    ),
    "few_tokens": Fault(
        "Near ties cannot be compared, so other weights may stay unseen. Models with random weights are like this.",
        "Set inference_verify.prompts higher.",
    ),
    "long_prompt": Fault(
        "Prompts of several chunks are transferred incompletely, or the proxy limits their size or time.",
        "Read decode's log, and compare max-num-batched-tokens and the frontend's limits with the plan.",
    ),
    "burst": Fault(
        "Under load requests get lost or get KV of other requests: blocks were freed before decode pulled them, or ports and connections ran out.",
        "Read the logs of decode and the router; raise inference_kv_hold_timeout.",
    ),
    "no_registry": Fault(
        "Decode asks this registry for prefill's ranks before it pulls KV.",
        "Read prefill's log; compare VLLM_MOONCAKE_BOOTSTRAP_PORT with the plan.",
    ),
    "rank_ignored": Fault(
        "Ranks cannot be addressed, so this verification does not know which of them work.",
        "Check the installed vLLM; between 0.11.1 and this release it reads the header X-data-parallel-rank.",
    ),
    "not_covered": Fault(
        "A broken link of these ranks stays unseen.",
        "Raise inference_verify.max_pairs; where ranks cannot be addressed, send load and watch the counters of each rank.",
    ),
    "no_reason": Fault("Later readers do not know why less was verified.", "Set inference_verify.reason."),
    "no_proof": Fault(
        "This release has no counters for it, and the log lines were not read or are missing.",
        "Set the engines' logs (verify.*.log) and run on all their hosts.",
    ),
}


def name_of(fault):
    """The id of a fault of the table, as findings and pages show it."""
    return "VERIFY-" + fault.upper().replace("_", "-")


class Problem(NamedTuple):
    """The concrete problem with names and numbers, and its fault in the table."""

    text: str
    fault: str

    def finding(self, path: str, severity: str = "error") -> Finding:
        """The problem at a hop or a service. Raises KeyError for an unknown fault."""
        fault = FAULTS[self.fault]
        return Finding(path, name_of(self.fault), one_line(self.text), fault.fix, severity, why=fault.why)
