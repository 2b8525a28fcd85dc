#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_drain
short_description: Wait until engines that get no new requests have finished
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the counters of engines that were removed from the router (see M(ascend.inference.router_members)) until they have no request
    running or waiting, and prefill holds no KV cache that decode has yet to fetch.
  - What prefill holds for a decode engine that has ended is fetched by nobody. With O(downstream) it is not waited for.
  - The health page of vLLM does not tell this - it answers 200 while new requests already fail.
  - After O(timeout) the module warns and succeeds; an engine with C(--shutdown-timeout) waits for the rest when it is stopped.
attributes:
  check_mode:
    details: Does not wait.
  diff_mode:
    support: N/A
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  engines:
    description: The engines that leave.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      kind:
        description: The pool of the engine.
        type: str
        required: true
      url:
        description: URL of the engine's API, without a path.
        type: str
        required: true
  upstream:
    description: URLs of the other prefill engines, if a decode engine leaves. A router may have chosen it for requests that are still there.
    type: list
    elements: str
    default: []
  downstream:
    description:
      - URLs of all decode engines, also of those that leave, if a prefill engine leaves. Once none of them has a request waiting, nobody fetches what
        is still held.
      - Without them all that is held is waited for.
    type: list
    elements: str
    default: []
  timeout:
    description: Most seconds to wait.
    type: int
    default: 300
  within:
    description:
      - Seconds after which this call answers, though engines are busy and O(timeout) has not passed, so that its caller can say what is waited for.
        It goes on with another call that has RV(begun) as O(begun).
      - V(0) means after O(timeout).
    type: int
    default: 0
  begun:
    description: RV(begun) of the call before, on the same host with the same engines.
    type: dict
    default: {}
  settle:
    description: Seconds for which the engines must have been idle.
    type: int
    default: 2
"""

EXAMPLES = r"""
- name: Wait until an engine has finished
  ascend.inference.service_drain:
    engines:
      - name: decode-1
        kind: decode
        url: http://10.0.0.3:7300
    upstream: [http://10.0.0.1:7100]
"""

RETURN = r"""
seconds:
  description: Seconds waited.
  returned: success
  type: float
  sample: 4.5
busy:
  description: What each engine still had to do after O(timeout), or after O(within).
  returned: success
  type: dict
  sample: {"decode-1": "2 requests running"}
begun:
  description: Where the next call goes on; empty if the wait has ended.
  returned: success
  type: dict
  sample: {"began": 8123.5, "idle_since": null, "due": {}, "fetched": {}}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.router.drain import Drained, Engine, drain, fix_of

ENGINE = {
    "name": {"type": "str", "required": True},
    "kind": {"type": "str", "required": True},
    "url": {"type": "str", "required": True},
}
ARGUMENTS = {
    "engines": {"type": "list", "elements": "dict", "required": True, "options": ENGINE},
    "upstream": {"type": "list", "elements": "str", "default": []},
    "downstream": {"type": "list", "elements": "str", "default": []},
    "timeout": {"type": "int", "default": 300},
    "within": {"type": "int", "default": 0},
    "begun": {"type": "dict", "default": {}},
    "settle": {"type": "int", "default": 2},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    engines = [Engine(engine["name"], engine["kind"], engine["url"].rstrip("/")) for engine in params["engines"]]
    done = Drained(0.0, {})
    if not module.check_mode:
        given = {name: params[name] for name in ("downstream", "within", "begun")}
        done = drain(engines, params["upstream"], params["timeout"], params["settle"], **given)
    for name in sorted(done.busy if not done.begun else ()):
        left = done.busy[name]
        module.warn(f"{name} has {left} after {params['timeout']} s, and is stopped now: {fix_of(left)}")
    module.exit_json(changed=False, **done._asdict())


if __name__ == "__main__":
    main()
