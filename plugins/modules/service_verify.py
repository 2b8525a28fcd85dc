# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_verify
short_description: Verify a deployed inference service
version_added: 0.1.0
description:
  - Sends requests to a running service in ordered steps, from its components to the whole, and reports the result of each step.
    An HTTP 200 of the router proves nothing, so the engines' own counters and texts are compared.
  - C(master) - the store's master is ready, with all clients and all capacity.
    C(engines) - each engine is healthy and serves the planned model.
    C(alone) - each engine, queried directly, returns the same text at temperature 0.
    C(entry) and C(stream) - a request through the entry gets a complete answer with the text that a prefill engine computes itself.
    C(transfer) - according to its own counters decode received the prompt's KV and did not compute it.
    C(routers) - each of several routers answers as the entry does, although a balancer would hide one that does not.
    C(pairs) - every prefill engine with every decode engine.
    C(pool) - KV that one instance stored was used by another one.
    C(negative) - a prompt longer than the model allows gets an error, not an empty 200.
  - Each prompt starts with a random code and is longer than two KV blocks, so that no prefix cache can replace a transfer.
    The reference text is requested afterwards from a prefill engine, because decode's cache then contains the received KV.
  - Logs are read by M(ascend.inference.service_log) on their hosts and added by the filter
    P(ascend.inference.verify_verdict#filter). Without them the step C(logs) is skipped, and a release without counters cannot be verified.
    The role P(ascend.inference.verify#role) does all of it.
  - Only refused connections are retried. A wrong text or a missing transfer is final.
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details: Nothing is sent; each step lists the URLs of its requests.
  diff_mode:
    support: none
  platform:
    platforms: posix
options:
  verify:
    description:
      - What to prove, and the URLs. The section C(verify) of the plan that P(ascend.inference.launch_plan#filter) returns.
      - Unknown keys, missing keys and wrong types are refused; all are reported together.
    type: dict
    required: true
    suboptions:
      mode:
        description: >-
          V(disaggregated), with prefill and decode engines; V(pool), colocated engines that share a store;
          V(disaggregated+pool), both; or V(colocated), independent engines.
        type: str
        choices: [disaggregated, pool, disaggregated+pool, colocated]
        required: true
      model:
        description: The model name that every engine serves.
        type: str
        required: true
      entry:
        description: The entry for clients.
        type: dict
        required: true
        suboptions:
          name:
            description: Name of the service.
            type: str
            default: entry
          host:
            description: Inventory name of its host.
            type: str
            default: ""
          url:
            description: Base URL, such as V(http://10.0.0.1:8000).
            type: str
            required: true
          kind:
            description: >-
              The router's flavour, V(frontend) for a frontend, V(external) for a router outside of the plan, or V(direct) if the entry is an engine.
            type: str
            required: true
          api_key:
            description: Name of the secret that the entry requires from clients. For the role; this module uses O(entry_api_key).
            type: str
            default: ""
          ca_path:
            description: CA certificates for the validation of an https entry, on the host that runs the module.
            type: str
            default: ""
          validate_certs:
            description: Whether to validate the certificate of an https entry.
            type: bool
            default: true
          server_name:
            description: The name that clients use and the certificate must have. By default the address of the URL; then a wrong name is a warning.
            type: str
            default: ""
          refused_paths:
            description: Paths of operators, for which a client must get status 404.
            type: list
            elements: str
            default: []
          log: &log
            description: The log of the service; see M(ascend.inference.service_log).
            type: dict
            default: {}
            suboptions:
              kind:
                description:
                  - How to read it, V(file), V(journald), V(docker) or V(none); a runtime of hosts may have its own kind.
                type: str
                default: none
              path:
                description: The file, with O(verify.entry.log.kind=file).
                type: str
                default: ""
              unit:
                description: The systemd unit or the container of the log.
                type: str
                default: ""
      prefill:
        description: The prefill engines, one entry for each API server.
        type: list
        elements: dict
        default: []
        suboptions: &engine
          name:
            description: Name of the service, as in hops and pairs.
            type: str
            required: true
          host:
            description: Inventory name of its host.
            type: str
            default: ""
          url:
            description: Base URL.
            type: str
            required: true
          log: *log
          ranks:
            description: Number of data-parallel ranks behind the URL.
            type: int
            default: 1
          bootstrap:
            description: URL of the registry of ranks of vLLM's own Mooncake connector; empty for other connectors.
            type: str
            default: ""
      decode:
        description: The decode engines.
        type: list
        elements: dict
        default: []
        suboptions: *engine
      colocated:
        description: The engines that do both.
        type: list
        elements: dict
        default: []
        suboptions: *engine
      store:
        description: The Mooncake store, or nothing.
        type: dict
        suboptions:
          name:
            description: Name of the master's service.
            type: str
            default: mooncake_master
          host:
            description: Inventory name of its host.
            type: str
            default: ""
          master_url:
            description: URL of the master's metrics port, such as V(http://10.0.0.1:9003).
            type: str
            required: true
          clients:
            description: Number of ranks that mount a segment; V(0) is not compared.
            type: int
            default: 0
          capacity_bytes:
            description: Total size of their segments; V(0) is not compared.
            type: int
            default: 0
          writers:
            description: Names of the engines that store. Default, the colocated engines or else the prefill engines.
            type: list
            elements: str
            default: []
          readers:
            description: Names of the engines that load. Default, as with writers.
            type: list
            elements: str
            default: []
          log: *log
          masters:
            description: All masters, if there are several. One of them has to serve, and the others have to answer as standbys.
            type: list
            elements: dict
            default: []
            suboptions:
              name:
                description: Name of the service.
                type: str
                required: true
              host:
                description: Inventory name of its host.
                type: str
                default: ""
              url:
                description: URL of its metrics port.
                type: str
                required: true
              log: *log
      engine_api_key:
        description: Name of the secret that the engines require. For the role; this module uses O(engine_api_key).
        type: str
        default: ""
      transfer:
        description: The KV transfer from prefill to decode.
        type: dict
        default: {}
        suboptions:
          protocol:
            description: >-
              With V(prefill_answers) prefill returns C(kv_transfer_params) for decode, so every pair can be tested directly.
              With V(bootstrap) too, if every prefill engine has its registry's URL. Else, and with V(layerwise), pairs are tested by
              repeated requests through the entry. A warning lists untested pairs.
            type: str
            choices: [prefill_answers, bootstrap, layerwise, none]
            default: none
          listeners_per_prefill:
            description: Number of ranks of a prefill engine that open a KV port; V(0) is not compared.
            type: int
            default: 0
          lines_per_request:
            description: Number of transfer lines of one request in decode's log (one for each rank).
            type: int
            default: 1
      release:
        description: Facts of the engines' release.
        type: dict
        required: true
        suboptions:
          name:
            description: Its name.
            type: str
            required: true
          has_prompt_tokens_by_source:
            description: Whether C(vllm:prompt_tokens_by_source_total) exists (vLLM 0.16 and later).
            type: bool
            required: true
          lines:
            description: Fixed parts of log lines. Empty ones are not searched for.
            type: dict
            default: {}
            suboptions:
              transferred:
                description: Log line of decode after it has pulled a request's KV, such as V(KV cache transfer for request).
                type: str
                default: ""
              delayed:
                description: Log line of prefill when it holds KV for decode, such as V(Delaying free of).
                type: str
                default: ""
              listening:
                description: Log line of each rank of prefill when its KV port is open.
                type: str
                default: ""
          known_limits:
            description: >-
              Known problems of the release, which are only warnings. V(empty_200), the proxy answers an empty 200 if the engine
              answered an error.
            type: list
            elements: str
            default: []
          has_rank_header:
            description: Whether engines serve a request by the rank of its header C(X-data-parallel-rank) (vLLM 0.11.1 and later).
            type: bool
            default: false
      block_size:
        description: Tokens in a KV block.
        type: int
        required: true
      min_prompt_tokens:
        description: Minimum length of prompts in tokens; at least two blocks and one token.
        type: int
        default: 0
      max_tokens:
        description: Number of tokens that each probe requests.
        type: int
        default: 16
      match:
        description: >-
          V(exact), or V(prefix:N) to compare only the first N tokens. Engines with quantized weights and different tensor parallelism sum in a
          different order, so that texts may diverge after some tokens although the KV is correct.
        type: str
        default: exact
      max_pairs:
        description: Maximum number of pairs of ranks that are tested directly; diagonals first, so that every engine is included.
        type: int
        default: 256
      routers:
        description: The routers behind the entry, if the entry is a frontend or a balancer.
        type: list
        elements: dict
        default: []
        suboptions:
          name:
            description: Name of the service.
            type: str
            required: true
          host:
            description: Inventory name of its host.
            type: str
            default: ""
          url:
            description: Base URL.
            type: str
            required: true
          log: *log
      parsers:
        description: The engines' parsers and chat template, for the report of the chat API.
        type: list
        elements: str
        default: []
      prompts:
        description: Number of free texts whose tokens are compared; V(0) for none.
        type: int
        default: 3
      near_tie:
        description: Another token than the expected one is no difference if its log-probability is at most this much smaller, in nats.
        type: float
        default: 0.1
      agreement:
        description: Minimum percentage of equal tokens outside of near ties.
        type: int
        default: 100
      logprob_difference:
        description: Maximum mean difference of the log-probabilities of equal tokens, in nats.
        type: float
        default: 0.05
      burst:
        description: Number of concurrent requests; V(0) for none.
        type: int
        default: 8
      chunk_tokens:
        description: Tokens that prefill computes at once (C(max-num-batched-tokens)); V(0) if unknown.
        type: int
        default: 0
      long_prompt_tokens:
        description: Length of the long prompt in tokens; V(0) for more than two chunks.
        type: int
        default: 0
      changed:
        description: Settings that differ from the defaults, as they are shown in the report.
        type: list
        elements: str
        default: []
      reason:
        description: Why they differ.
        type: str
        default: ""
  engine_api_key:
    description: API key of the engines.
    type: str
  entry_api_key:
    description: API key that the entry requires from clients.
    type: str
  connect_timeout:
    description: Timeout of retries of a refused connection (or an HTTP 503 of a health check), in seconds from the start.
    type: float
    default: 60
  request_timeout:
    description: Timeout of one answer, in seconds. The first one between two engines opens their links and may be slow.
    type: float
    default: 300
  settle_timeout:
    description: Timeout for delayed counters, in seconds.
    type: float
    default: 15
  joining:
    description:
      - Names of engines that are not behind the router yet. Then only the steps C(engines), C(alone) and C(pairs) are run, for these engines
        and O(peers), and nothing is sent through the entry. Only pairs with one of them are tested. Clients may use the peers meanwhile.
      - With a layerwise connector this host listens on a free TCP port meanwhile, which decode calls as it calls its proxy.
    type: list
    elements: str
    default: []
  peers:
    description: With O(joining), names of the engines that serve.
    type: list
    elements: str
    default: []
  fail:
    description: Whether to fail if the service is not verified. The role sets V(false), reads the logs and then fails.
    type: bool
    default: true
seealso:
  - module: ascend.inference.service_log
"""

EXAMPLES = r"""
- name: Verify the service of this plan
  ascend.inference.service_verify:
    verify: "{{ inference_plan.verify }}"
    engine_api_key: "{{ inference_secrets.api_key | default(omit) }}"

- name: Prove a new decode engine with every prefill engine before it gets requests
  ascend.inference.service_verify:
    verify: "{{ inference_plan.verify }}"
    joining: [decode-2]
    peers: [prefill-0, prefill-1]

- name: Verify one prefill and one decode engine behind a router, without a plan
  ascend.inference.service_verify:
    verify:
      mode: disaggregated
      model: ds_r1
      entry: {name: router-0, url: "http://10.0.0.1:8000", kind: load_balance}
      prefill: [{name: prefill-0, url: "http://10.0.0.1:7100"}]
      decode: [{name: decode-0, url: "http://10.0.0.2:7100"}]
      transfer: {protocol: prefill_answers}
      release: {name: "0.23.0", has_prompt_tokens_by_source: true}
      block_size: 128
      match: "prefix:6"
"""

RETURN = r"""
report:
  description: The result.
  returned: always
  type: dict
  contains:
    verified:
      description: Whether nothing failed, and the KV transfer was proven if the mode requires one.
      type: bool
      sample: true
    findings:
      description: >-
        What is wrong, one entry for each broken hop, and what is not known (severity V(warning)) -
        C(id), C(path) (the hop), C(problem), C(why) (the usual cause), C(fix), C(severity), C(value), C(source).
      type: list
      elements: dict
      sample:
        - id: VERIFY-DEAD
          path: prefill-1
          problem: "its /health does not answer: Connection refused"
          why: The process is not running or listens elsewhere.
          fix: Read the last lines of its log.
          severity: error
          value: ""
          source: ""
    failures:
      description: The findings that fail the verification, one line each.
      type: list
      elements: str
      sample: []
    warnings:
      description: Problems that do not affect the result.
      type: list
      elements: str
      sample: []
    remarks:
      description: The findings of severity V(warning), which do not fail the verification, such as pairs that were not covered.
      type: list
      elements: dict
      sample: []
    retries:
      description: Number of repeated requests by reason (refused connection, HTTP 429 or 503).
      type: dict
      sample: {}
    near_ties:
      description: Number of texts that differ from the reference from a near tie on.
      type: int
      sample: 0
    changed:
      description: Settings of the verification that differ from the defaults.
      type: list
      elements: str
      sample: []
    reason:
      description: Why they differ.
      type: str
      sample: ""
    steps:
      description: >-
        One record for each step, or for each failed hop of it - C(step), C(status) (passed, failed, skipped), C(hop), C(message), C(evidence),
        C(finding) (as in RV(report.findings), empty where it did not fail), C(seconds).
      type: list
      elements: dict
      sample:
        - step: transfer
          status: passed
          hop: prefill-0 -> decode-0
          message: 529 of 529 prompt tokens were transferred
          evidence: {external_kv_transfer: 529.0, local_compute: 0.0}
          finding: {}
          seconds: 0.21
    pairs:
      description: By prefill and decode rank, C(status), C(prompt_tokens), C(external_kv_transfer), C(milliseconds) of the answer.
      type: dict
      sample: {prefill-0: {decode-0: {status: passed, prompt_tokens: 264, external_kv_transfer: 264.0, milliseconds: 95.1}}}
    ttft_ms:
      description: >-
        Milliseconds; C(stream), first streamed text at the client; C(whole_answer), the non-streamed answer; C(engine), time to first
        token as measured by the engine.
      type: dict
      sample: {stream: 61.4, whole_answer: 155.0, engine: 48.2}
    transfer_ms:
      description: Milliseconds of each KV transfer in the logs; filled by the verdict.
      type: list
      elements: float
      sample: []
    requests:
      description: The answers whose transfer lines must be in decode's log, by C(id) and C(hop).
      type: list
      elements: dict
      sample: [{id: cmpl-0f3c, hop: prefill-0 -> decode-0}]
    served_by:
      description: The engines that finished requests through the entry.
      type: list
      elements: str
      sample: [decode-0, prefill-0]
    summary:
      description: The report as lines of text.
      type: list
      elements: str
      sample: ["VERIFIED: tiny at http://127.0.0.1:8000 (disaggregated, release cpu-0.32.0)"]
    model:
      description: The requested model name.
      type: str
      sample: tiny
    entry:
      description: The URL of the entry.
      type: str
      sample: http://127.0.0.1:8000
    mode:
      description: The mode of the plan.
      type: str
      sample: disaggregated
    release:
      description: The release of the plan.
      type: str
      sample: cpu-0.32.0
    check_mode:
      description: Whether nothing was sent.
      type: bool
      sample: false
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.tools.text import visible
from ..module_utils.verify.gate import check_mode_report, join, verify
from ..module_utils.verify.plan import PlanError, argument_spec, read_plan
from ..module_utils.verify.probe import Keys, Limits

ARGUMENTS = {
    "verify": {"type": "dict", "required": True, "options": argument_spec()},
    "engine_api_key": {"type": "str", "no_log": True},
    "entry_api_key": {"type": "str", "no_log": True},
    "connect_timeout": {"type": "float", "default": 60},
    "request_timeout": {"type": "float", "default": 300},
    "settle_timeout": {"type": "float", "default": 15},
    "joining": {"type": "list", "elements": "str", "default": []},
    "peers": {"type": "list", "elements": "str", "default": []},
    "fail": {"type": "bool", "default": True},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    try:
        plan = read_plan(params["verify"])
    except PlanError as error:
        module.fail_json(msg=visible(f"The plan's section verify cannot be used: {error}."), problems=error.problems)
    if module.check_mode:
        module.exit_json(changed=False, report=check_mode_report(plan))
    keys = Keys(params["engine_api_key"] or "", params["entry_api_key"] or "")
    limits = Limits(params["connect_timeout"], params["request_timeout"], params["settle_timeout"])
    joining = params["joining"]
    report = join(plan, keys, limits, joining, params["peers"]) if joining else verify(plan, keys, limits)
    if params["fail"] and not report["verified"]:
        text = "{} must not join: the proof failed, so it gets no requests. ".format(", ".join(sorted(joining)))
        module.fail_json(msg=(text if joining else "Not verified. ") + " | ".join(report["failures"]), report=report)
    module.exit_json(changed=False, report=report)


if __name__ == "__main__":
    main()
