#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module support_archive."""

from __future__ import annotations

DOCUMENTATION = r"""
module: support_archive
short_description: Write gathered logs of all hosts into one archive
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads what M(ascend.inference.support_logs) returned on each host, from a folder with one JSON file for each host, and writes one compressed tar
    archive of mode 0600. A host without a file is named in the archive's C(summary.json) and in RV(missing).
  - Runs on the controller.
attributes:
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  source:
    description: The folder with files C(HOST.json).
    type: path
    required: true
  path:
    description: The archive. An existing one is replaced.
    type: path
    required: true
  deployment:
    description: Name of the deployment, and of the folder in the archive.
    type: str
    required: true
  hosts:
    description: All hosts that belong into the archive.
    type: list
    elements: str
    required: true
  secrets:
    description: Values that are left out of all logs. Parts between spaces count as values. Hosts left out their own ones before.
    type: list
    elements: str
    default: []
  facts:
    description: More facts for C(summary.json), without secrets.
    type: dict
    default: {}
seealso:
  - module: ascend.inference.support_logs
"""

EXAMPLES = r"""
- name: Write the archive
  ascend.inference.support_archive:
    source: "{{ gathered_folder.path }}"
    path: inference-logs.tar.gz
    deployment: inference
    hosts: [node0, node1]
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The archive.
  returned: success
  type: str
  sample: inference-logs.tar.gz
bytes:
  description: Its size; 0 in check mode.
  returned: success
  type: int
  sample: 40960
missing:
  description: Hosts without logs.
  returned: success
  type: list
  elements: str
  sample: []
text:
  description: What the archive has, for people.
  returned: success
  type: str
  sample: "inference-logs.tar.gz has 4 logs of 2 hosts, 40 KiB."
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.support.archive import read_hosts, summary_of, text_of, write
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "source": {"type": "path", "required": True},
    "path": {"type": "path", "required": True},
    "deployment": {"type": "str", "required": True},
    "hosts": {"type": "list", "elements": "str", "required": True},
    "secrets": {"type": "list", "elements": "str", "default": [], "no_log": True},
    "facts": {"type": "dict", "default": {}},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    try:
        found = read_hosts(params["source"], params["hosts"], params["secrets"])
        summary = summary_of(params["deployment"], params["hosts"], found, params["facts"])
        size = 0 if module.check_mode else write(params["path"], params["deployment"], found, summary)
    except OSError as error:
        module.fail_json(msg=visible(f"The archive {params['path']} cannot be written: {error}"))
    text = visible(text_of(params["path"], size, summary))
    module.exit_json(changed=True, path=params["path"], bytes=size, missing=summary["missing"], text=text)


if __name__ == "__main__":
    main()
