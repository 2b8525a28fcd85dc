#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: entry_usage_info
short_description: Read what teams have used of an entry
version_added: 0.1.0
description:
  - Adds up the files in which the processes of an entry count requests and tokens, by day, team and model.
  - Changes nothing. Without files there is no usage; without the folder it is not known, which is an error.
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  folder:
    description: The folder of the files.
    type: path
    required: true
  first:
    description: The first day that is read, C(YYYY-MM-DD) in UTC.
    type: str
    required: true
  last:
    description: The last day that is read.
    type: str
    required: true
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.service_metrics_info
"""

EXAMPLES = r"""
- name: Read the usage of a month
  ascend.inference.entry_usage_info:
    folder: /var/lib/ascend-inference-entry
    first: "2026-11-01"
    last: "2026-11-30"
  register: usage
"""

RETURN = r"""
rows:
  description:
    - One for each day, team and model with a request. C(counts) are answered requests, those of them without a usage, tokens of prompts,
      tokens of completions, and cached tokens of prompts.
  returned: success
  type: list
  elements: dict
  sample: [{day: "2026-11-30", team: search, model: qwen3, counts: [12, 0, 5400, 2300, 1024]}]
damaged:
  description: Files with lines that are no counts; these lines are not in O(ignore:rows).
  returned: success
  type: list
  elements: str
  sample: []
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.entry.usage import usage


def main():
    options = dict(folder=dict(type="path", required=True), first=dict(required=True), last=dict(required=True))
    module = AnsibleModule(options, supports_check_mode=True)
    try:
        rows, damaged = usage(**module.params)
    except FileNotFoundError as error:
        module.fail_json(msg=f"This host counts no usage: {error}. Fix: run the playbook entry, with usage: true")
    except OSError as error:
        module.fail_json(msg=f"The usage of the entry cannot be read: {error}. Fix: run the playbook with --become")
    module.exit_json(changed=False, rows=rows, damaged=damaged)


if __name__ == "__main__":
    main()
