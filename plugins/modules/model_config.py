#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_config
short_description: "For your playbooks: check a model's weights and repair its config.json for engines on NPUs"
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Adds keys to C(config.json) that engines on NPUs need. The original file is kept next to it under a
    name with a leading dot, each change is shown as a warning and in the diff, and a complete file is not changed.
  - Checks that all weights of the model's index exist with the stated number of bytes.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  path:
    description: Folder of the model.
    type: path
    required: true
  repairs:
    description:
      - What may be repaired. V(head_dim) is computed from C(hidden_size) and C(num_attention_heads) if it is missing.
        V(torch_dtype) becomes C(bfloat16) if the weights are quantized.
    type: list
    elements: str
    choices: [head_dim, torch_dtype]
    default: []
  weights:
    description: Fail if weights are missing or too short.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Add the keys that engines on NPUs need
  ascend.inference.model_config:
    path: /models/Qwen2.5-7B-Instruct-w8a8
    repairs: [head_dim, torch_dtype]
    weights: true
"""

RETURN = r"""
notices:
  description: A message for each change.
  returned: success
  type: list
  elements: str
  sample: ["head_dim was missing; set to 128 (hidden_size / num_attention_heads)"]
backup:
  description: Path of the backup; empty if nothing was replaced.
  returned: success
  type: str
  sample: /models/qwen/.config.json.before-repair
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import model_config as model
from ..module_utils.install.venv import write_atomically
from ..module_utils.tools import foreign_json
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "repairs": {"type": "list", "elements": "str", "choices": list(model.REPAIRS), "default": []},
    "weights": {"type": "bool", "default": False},
}


def replace(place, before, text):
    """Back up the old file and write the new one with its mode; returns the path of the backup.

    Who made the model, or owns its folder, may have put a link there that names a file of root: none is followed.
    """
    backup, mode = model.backup_path(place), os.stat(place).st_mode & 0o777
    with open(backup, "x", encoding="utf-8", newline="") as stream:
        stream.write(before)
        os.fchmod(stream.fileno(), mode)
    write_atomically(place, text, mode)
    return backup


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params, place = module.params, os.path.join(module.params["path"], "config.json")
    try:
        before = foreign_json.text_of(place)
        missing = model.missing_weights(params["path"]) if params["weights"] else []
        if missing:
            module.fail_json(
                msg=visible("The model in {} is incomplete: {}.".format(params["path"], "; ".join(missing)))
            )
        quantized = model.is_quantized(params["path"])
        config, notices = model.repaired(foreign_json.loads(before), quantized, params["repairs"])
        after = json.dumps(config, indent=2, ensure_ascii=False) + "\n" if notices else before
        backup = replace(place, before, after) if notices and not module.check_mode else ""
    except (OSError, ValueError, AttributeError) as error:
        module.fail_json(msg=visible(f"{place} cannot be read or written: {error}"))
    for notice in notices:
        module.warn(visible(f"{place}: {notice}"))
    difference = {"before": before, "after": after, "before_header": place, "after_header": place}
    module.exit_json(changed=bool(notices), notices=notices, backup=backup, diff=difference)


if __name__ == "__main__":
    main()
