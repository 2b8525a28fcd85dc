# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_verify
short_description: Prove that a deployed inference service really serves
version_added: 0.1.0
description:
  - Asks a running service in an ordered gate, from its parts to the whole, and reports what each step showed.
    An HTTP 200 of the router proves nothing, so the gate looks at the engines' own counters and compares texts.
  - C(master) is the pool's master - ready, with all clients and all capacity.
    C(engines) - each one healthy and serving the planned model.
    C(alone) - each one asked directly gives the same text at temperature 0.
    C(entry) and C(stream) - a request through the entry gets a whole answer with the text that a prefill engine computes alone.
    C(transfer) - by its own counters decode had the prompt's KV from outside and did not compute it.
    C(pairs) - every prefill engine with every decode engine.
    C(pool) - what one instance stored, another one used.
    C(negative) - a prompt longer than the model allows gets an error, not an empty 200.
  - Each prompt opens with a random code and is longer than two KV blocks, so that no prefix cache can answer for a transfer.
    The reference text is asked for afterwards and of a prefill engine, since decode's cache by then holds the KV it was sent.
  - Logs are read by M(ascend.inference.service_log) on their own hosts and joined by the filter
    P(ascend.inference.verify_verdict#filter). Without them the step C(logs) is skipped, and a release without counters cannot be verified.
    The role P(ascend.inference.verify#role) does all of it.
  - Only refused connections are tried again. A wrong text or a missing transfer is final.
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ansible.builtin.action_common_attributes
attributes:
  check_mode:
    support: full
    details: Nothing is sent; each step says whom it would ask.
  diff_mode:
    support: none
  platform:
    platforms: posix
options:
  verify:
    description:
      - What has to be proved, and where to ask. The section C(verify) of the plan that P(ascend.inference.launch_plan#filter) makes.
      - An unknown key, a missing one or a wrong type is refused; all of them are named together.
    type: dict
    required: true
    suboptions:
      mode:
        description: >-
          V(disaggregated), with prefill and decode engines; V(pool), colocated engines that share a store;
          V(disaggregated+pool), both; or V(colocated), engines by themselves.
        type: str
        choices: [disaggregated, pool, disaggregated+pool, colocated]
        required: true
      model:
        description: The name that every engine serves.
        type: str
        required: true
      entry:
        description: Where users ask.
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
            description: The router's flavour, V(external) for one that is not of the plan, or V(direct) when the entry is an engine itself.
            type: str
            required: true
          api_key:
            description: Name of the secret that the entry asks of its clients. For the role; this module takes O(entry_api_key).
            type: str
            default: ""
          ca_path:
            description: CA certificates to check an https entry with, on the host that runs the module.
            type: str
            default: ""
          validate_certs:
            description: Whether to check the certificate of an https entry.
            type: bool
            default: true
          log: &log
            description: Where the service logs; see M(ascend.inference.service_log).
            type: dict
            default: {}
            suboptions:
              kind:
                description:
                  - How to read it, V(file), V(journald), V(docker) or V(none); a runtime of hosts may have a kind of its own.
                type: str
                default: none
              path:
                description: The file, with O(verify.entry.log.kind=file).
                type: str
                default: ""
              unit:
                description: The systemd unit, or the container, whose log it is.
                type: str
                default: ""
      prefill:
        description: The prefill engines, one entry for each API server.
        type: list
        elements: dict
        default: []
        suboptions: &engine
          name:
            description: Name of the service; hops and pairs are named by it.
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
            description: How many ranks mount a segment; V(0) is not compared.
            type: int
            default: 0
          capacity_bytes:
            description: Sum of their segments; V(0) is not compared.
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
      engine_api_key:
        description: Name of the secret that the engines ask for. For the role; this module takes O(engine_api_key).
        type: str
        default: ""
      transfer:
        description: How KV moves from prefill to decode.
        type: dict
        default: {}
        suboptions:
          protocol:
            description: >-
              With V(prefill_answers) prefill returns C(kv_transfer_params) that decode is given, so every pair can be chosen by hand.
              With V(bootstrap) and V(layerwise) pairs are met by repeated requests through the entry; those not met are named in a warning.
            type: str
            choices: [prefill_answers, bootstrap, layerwise, none]
            default: none
          listeners_per_prefill:
            description: How many ranks of a prefill engine open a KV port; V(0) is not compared.
            type: int
            default: 0
          lines_per_request:
            description: How many transfer lines one request leaves in decode's log (one for each rank).
            type: int
            default: 1
      release:
        description: What the engines' release shows.
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
            description: Fixed parts of log lines. An empty one is not looked for.
            type: dict
            default: {}
            suboptions:
              transferred:
                description: What decode logs when it has pulled a request's KV, such as V(KV cache transfer for request).
                type: str
                default: ""
              delayed:
                description: What prefill logs when it holds KV for decode, such as V(Delaying free of).
                type: str
                default: ""
              listening:
                description: What each rank of prefill logs when its KV port is open.
                type: str
                default: ""
          known_limits:
            description: >-
              What is known to be wrong with the release and is a warning, then. V(empty_200), the proxy answers an empty 200 where the engine
              answered an error.
            type: list
            elements: str
            default: []
      block_size:
        description: Tokens in a KV block.
        type: int
        required: true
      min_prompt_tokens:
        description: Shortest prompt; it has two blocks and one token at least.
        type: int
        default: 0
      max_tokens:
        description: How many tokens each probe asks for.
        type: int
        default: 16
      match:
        description: >-
          V(exact), or V(prefix:N) when the first N tokens decide. Engines with quantised weights and unlike tensor parallelism add up in
          another order, and after some tokens a near tie falls the other way although the KV is right.
        type: str
        default: exact
      max_pairs:
        description: How many pairs at most are tried by hand; diagonals first, so that every engine is in one.
        type: int
        default: 256
  engine_api_key:
    description: API key of the engines.
    type: str
  entry_api_key:
    description: API key that the entry asks of its clients.
    type: str
  connect_timeout:
    description: How long a refused connection (or an HTTP 503 of a health page) is tried again, in seconds from the start.
    type: float
    default: 60
  request_timeout:
    description: How long one answer may take, in seconds. The first one between two engines opens their links and may be slow.
    type: float
    default: 300
  settle_timeout:
    description: How long to wait for counters that follow the answer, in seconds.
    type: float
    default: 15
  fail:
    description: Whether to fail when the service is not verified. The role says V(false), fetches the logs first and fails then.
    type: bool
    default: true
seealso:
  - module: ascend.inference.service_log
"""

EXAMPLES = r"""
- name: Prove that the service of this plan works
  ascend.inference.service_verify:
    verify: "{{ inference_plan.verify }}"
    engine_api_key: "{{ inference_secrets.api_key | default(omit) }}"

- name: One prefill and one decode engine behind a router, by hand
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
  description: What was seen.
  returned: always
  type: dict
  contains:
    verified:
      description: Whether nothing failed, and something proved the KV transfer where there has to be one.
      type: bool
      sample: true
    findings:
      description: >-
        What is wrong, one entry for each broken hop - C(id), C(path) (the hop), C(problem), C(why) (the usual cause), C(fix), C(severity),
        C(value), C(source).
      type: list
      elements: dict
      sample:
        - id: VERIFY-DEAD
          path: prefill-1
          problem: "its /health does not answer: Connection refused"
          why: The process is not running or listens elsewhere.
          fix: Read the last lines of its log; they say why.
          severity: error
          value: ""
          source: ""
    failures:
      description: The findings, one line each.
      type: list
      elements: str
      sample: []
    warnings:
      description: What is not as it should be and does no harm to the proof.
      type: list
      elements: str
      sample: []
    steps:
      description: >-
        One record for each step, or for each broken hop of it - C(step), C(status) (passed, failed, skipped), C(hop), C(message), C(evidence),
        C(finding) (as in RV(report.findings), empty where it did not fail), C(seconds).
      type: list
      elements: dict
      sample:
        - step: transfer
          status: passed
          hop: prefill-0 -> decode-0
          message: 529 of 529 prompt tokens came from outside
          evidence: {external_kv_transfer: 529.0, local_compute: 0.0}
          finding: {}
          seconds: 0.21
    pairs:
      description: By prefill and decode engine, C(status), C(prompt_tokens), C(external_kv_transfer), C(milliseconds) of the answer.
      type: dict
      sample: {prefill-0: {decode-0: {status: passed, prompt_tokens: 264, external_kv_transfer: 264.0, milliseconds: 95.1}}}
    ttft_ms:
      description: >-
        Milliseconds; C(stream), first streamed text at the client; C(whole_answer), the answer that was not streamed; C(engine), time to first
        token as the engine counted it.
      type: dict
      sample: {stream: 61.4, whole_answer: 155.0, engine: 48.2}
    transfer_ms:
      description: Milliseconds of each KV transfer that the logs tell; filled by the verdict.
      type: list
      elements: float
      sample: []
    requests:
      description: The answers whose transfer lines decode's log has to show, by C(id) and C(hop).
      type: list
      elements: dict
      sample: [{id: cmpl-0f3c, hop: prefill-0 -> decode-0}]
    served_by:
      description: The engines that ended requests while the entry was asked.
      type: list
      elements: str
      sample: [decode-0, prefill-0]
    summary:
      description: The report in lines that a person reads.
      type: list
      elements: str
      sample: ["VERIFIED: tiny at http://127.0.0.1:8000 (disaggregated, release cpu-0.32.0)"]
    model:
      description: The served name that was asked for.
      type: str
      sample: tiny
    entry:
      description: The URL that was asked.
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

from ..module_utils.verify.gate import rehearse, verify
from ..module_utils.verify.plan import PlanError, argument_spec, read_plan
from ..module_utils.verify.probe import Keys, Limits

ARGUMENTS = {
    "verify": {"type": "dict", "required": True, "options": argument_spec()},
    "engine_api_key": {"type": "str", "no_log": True},
    "entry_api_key": {"type": "str", "no_log": True},
    "connect_timeout": {"type": "float", "default": 60},
    "request_timeout": {"type": "float", "default": 300},
    "settle_timeout": {"type": "float", "default": 15},
    "fail": {"type": "bool", "default": True},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    said = module.params
    try:
        plan = read_plan(said["verify"])
    except PlanError as error:
        module.fail_json(msg=f"The plan's section verify cannot be used: {error}.", problems=error.problems)
    if module.check_mode:
        module.exit_json(changed=False, report=rehearse(plan))
    keys = Keys(said["engine_api_key"] or "", said["entry_api_key"] or "")
    limits = Limits(said["connect_timeout"], said["request_timeout"], said["settle_timeout"])
    report = verify(plan, keys, limits)
    if said["fail"] and not report["verified"]:
        module.fail_json(msg="Not verified. " + " | ".join(report["failures"]), report=report)
    module.exit_json(changed=False, report=report)


if __name__ == "__main__":
    main()
