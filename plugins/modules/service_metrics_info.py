#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: service_metrics_info
short_description: Read what services did in a window of time from their metrics
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the counters of engines, routers and of the store's master at the beginning and at the end of a window, and their states several times between.
  - The playbook C(ascend.inference.advise) judges them. Sends no requests to models and changes nothing.
attributes:
  diff_mode:
    support: N/A
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  services:
    description: The services whose metrics are read.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the service.
        type: str
        required: true
      kind:
        description: What exports the metrics, which is vLLM, vllm-router or mooncake_master.
        type: str
        choices: [engine, router, store]
        required: true
      url:
        description: URL without a path.
        type: str
        required: true
  seconds:
    description: Length of the window.
    type: int
    default: 60
  engine_api_key:
    description: Key of the engines.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Read what two engines do within a minute
  ascend.inference.service_metrics_info:
    services:
      - {name: prefill-0, kind: engine, url: "http://10.0.0.1:7100"}
      - {name: decode-0, kind: engine, url: "http://10.0.0.2:7300"}
    seconds: 60
"""

RETURN = r"""
services:
  description: >-
    For each service C(seconds), what its counters gained in them, and the means of its states (C(running), C(waiting), C(kv_usage) as a
    share of 1, ...); a name that its version lacks is left out. Null for one that did not always answer, or was restarted.
  returned: success
  type: dict
  sample: {"decode-0": {"seconds": 60.1, "requests": 212.0, "generated_tokens": 42400.0, "decode_seconds": 1310.4, "kv_usage": 0.41}}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.bench.window import watch

SERVICE = {
    "name": {"type": "str", "required": True},
    "kind": {"type": "str", "choices": ["engine", "router", "store"], "required": True},
    "url": {"type": "str", "required": True},
}
ARGUMENTS = {
    "services": {"type": "list", "elements": "dict", "required": True, "options": SERVICE},
    "seconds": {"type": "int", "default": 60},
    "engine_api_key": {"type": "str", "default": "", "no_log": True},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    if params["seconds"] < 1:
        module.fail_json(
            msg="seconds is {}, and a window has at least one. Fix: set it to 60".format(params["seconds"])
        )
    found = watch(params["services"], params["engine_api_key"], float(params["seconds"]))
    module.exit_json(changed=False, services=found)


if __name__ == "__main__":
    main()
