#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_rehearsal
short_description: Let a release judge the commands of its engines before they start
version_added: 0.1.0
description:
  - Passes the commands of engines to the configuration code of the installed release, in its own environment - the argument parser of vLLM, the
    configuration of the engine with the platform of vLLM-Ascend, and the class of the connector. No weights are loaded and no service listens.
  - Stand-ins take the place of the NPU's libraries, so no device is touched, and engines that run are not disturbed.
  - Of commands that differ in a rank, a port or an address only, one is tried. What the release accepted before, with the same software and model,
    is not tried again.
  - Starts no service and changes none.
options:
  engines:
    description: The engines of this host. Without any, nothing is done.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the engine.
        type: str
        required: true
      argv:
        description: What stands after C(vllm serve), the model first.
        type: list
        elements: str
        required: true
      env:
        description: Its environment, without secrets.
        type: dict
        default: {}
      container:
        description: Its container as in the plan. Without one it runs in a virtual environment.
        type: dict
  python:
    description: Python of the engines' virtual environment.
    type: path
    required: true
  newer:
    description: Files that change with the software of the virtual environment.
    type: list
    elements: path
    default: []
  stand_ins:
    description: What the stand-ins answer. Without them none are used, for engines on a CPU.
    type: dict
    suboptions:
      hardware:
        description: The chip as the build of vLLM-Ascend names it.
        type: str
        required: true
      devices:
        description: Number of NPUs of the host.
        type: int
        required: true
      device_mib:
        description: Memory of each, in MiB.
        type: int
        required: true
      host_mib:
        description: Memory of the host in MiB; V(0) for what it has.
        type: int
        default: 0
      pretend:
        description: Whether packages are stood in for that are not installed.
        type: bool
        default: false
  user:
    description: User of the services, as whom the release's code runs. Empty for the connected user. Where it does not exist yet, nobody is used.
    type: str
    default: ""
  directory:
    description: Folder of the deployment, in which it is kept what was accepted.
    type: path
    required: true
  keep:
    description: Whether to keep what was accepted.
    type: bool
    default: false
  timeout:
    description: Most seconds for all engines of the host.
    type: int
    default: 300
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
author:
  - The ascend.inference contributors (@ascend-inference)
"""

EXAMPLES = r"""
- name: Try the settings of an engine
  ascend.inference.engine_rehearsal:
    engines:
      - {name: prefill-0, argv: [/models/qwen, --tensor-parallel-size, "8"]}
    python: /opt/ascend-inference/venvs/vllm_ascend-0.23.0/bin/python
    stand_ins: {hardware: A3, devices: 16, device_mib: 65536}
    user: ascend-inference
    directory: /opt/ascend-inference/deployments/inference
"""

RETURN = r"""
available:
  description: Whether the software is there and can be asked.
  returned: success
  type: bool
  sample: true
reason:
  description: Why it is not available.
  returned: success
  type: str
  sample: ""
refused:
  description: What the release refuses, with its words.
  returned: success
  type: list
  elements: dict
  sample: [{engines: [prefill-0, prefill-1], kind: ValidationError, text: num_attention_heads must be divisible by tensor parallel size (3).}]
unknown:
  description: What could not be judged, such as an error in a stand-in, with its words.
  returned: success
  type: list
  elements: dict
  sample: []
tried:
  description: Number of commands that were tried.
  returned: success
  type: int
  sample: 2
known:
  description: Number of commands that were accepted before.
  returned: success
  type: int
  sample: 0
seconds:
  description: How long it took.
  returned: success
  type: int
  sample: 14
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files.tree import TreeError
from ..module_utils.rehearsal.rehearse import rehearse
from ..module_utils.tools.text import visible

ENGINE = {
    "name": {"type": "str", "required": True},
    "argv": {"type": "list", "elements": "str", "required": True},
    "env": {"type": "dict", "default": {}},
    "container": {"type": "dict"},
}
STAND_INS = {
    "hardware": {"type": "str", "required": True},
    "devices": {"type": "int", "required": True},
    "device_mib": {"type": "int", "required": True},
    "host_mib": {"type": "int", "default": 0},
    "pretend": {"type": "bool", "default": False},
}
ARGUMENTS = {
    "engines": {"type": "list", "elements": "dict", "required": True, "options": ENGINE},
    "python": {"type": "path", "required": True},
    "newer": {"type": "list", "elements": "path", "default": []},
    "stand_ins": {"type": "dict", "options": STAND_INS},
    "user": {"type": "str", "default": ""},
    "directory": {"type": "path", "required": True},
    "keep": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 300},
}


def main():
    """Rehearse, and report what the release says."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    params["engines"] = [
        dict(item, env={str(name): str(value) for name, value in item["env"].items()}) for item in params["engines"]
    ]
    try:
        found = rehearse(params, params["keep"] and not module.check_mode)
    except (OSError, TreeError) as error:  # a rehearsal that fails is no reason to refuse
        reason = visible(f"the rehearsal failed: {error}")
        found = dict(available=False, reason=reason, refused=[], unknown=[], tried=0, known=0, seconds=0)
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
