#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module acceptance_archive."""

from __future__ import annotations

DOCUMENTATION = r"""
module: acceptance_archive
short_description: Write the raw outputs of vendor tools into one archive
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Writes one compressed tar archive of mode 0600 with the outputs of npu-smi and hccn_tool of all hosts, exactly as printed, and further
    documents such as a report.
  - The archive has a folder for each host. Its C(tools.json) names each call with its command line, exit status, time and duration, and the files
    with its outputs.
  - Runs on the controller.
attributes:
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  path:
    description: The archive. An existing one is replaced, see O(backup).
    type: path
    required: true
  deployment:
    description: Name of the deployment, and of the folder in the archive.
    type: str
    required: true
  records:
    description: Host to its records, as RV(ascend.inference.check_info#module:record) returns them. A host without one is in RV(missing).
    type: dict
    required: true
  documents:
    description: Further files of the archive, name to text.
    type: dict
    default: {}
  mask:
    description:
      - Replace addresses and names of hosts and switches, and serial numbers, by pseudonyms. They are the same in the whole archive.
      - Addresses keep their relations, such as a common network. The first and the last part of an IPv4 address stay. Versions, paths and
        the names of the deployment and its services stay as well. Names of other machines, such as a mirror's in a URL, are not found.
    type: bool
    default: false
  backup:
    description: Keep an archive that is replaced beside the new one, with the date in its name.
    type: bool
    default: false
  secrets:
    description: Texts that must not be in the archive. Passwords in URLs of O(documents) are left out as well.
    type: list
    elements: str
    default: []
seealso:
  - module: ascend.inference.check_info
  - module: ascend.inference.hccn_ping
"""

EXAMPLES = r"""
- name: Write the archive
  ascend.inference.acceptance_archive:
    path: inference-acceptance.tar.gz
    deployment: inference
    records: {node0: ["{{ hostvars.node0.gathered.record }}"]}
    mask: true
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The archive.
  returned: success
  type: str
  sample: inference-acceptance.tar.gz
bytes:
  description: Its size; 0 in check mode.
  returned: success
  type: int
  sample: 40960
commands:
  description: Number of recorded calls.
  returned: success
  type: int
  sample: 290
backup_file:
  description: The archive that was replaced; empty if none was kept.
  returned: success
  type: str
  sample: ""
missing:
  description: Hosts without records, or with one in a wrong form.
  returned: success
  type: list
  elements: str
  sample: []
pseudonyms:
  description: Host to its pseudonym, without those in RV(unmasked). Empty without O(mask). They are not in the archive.
  returned: success
  type: dict
  sample: {node0: host-1}
unmasked:
  description: Names of hosts and switches that stay, because they are words of the tools or of the inventory, such as C(store).
  returned: success
  type: list
  elements: str
  sample: []
text:
  description: What the archive has, for people.
  returned: success
  type: str
  sample: "inference-acceptance.tar.gz has 290 outputs of tools of 2 hosts, 40 KiB."
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.support.acceptance import contents, passwords_of, text_of
from ..module_utils.support.archive import write_files
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "deployment": {"type": "str", "required": True},
    "records": {"type": "dict", "required": True},
    "documents": {"type": "dict", "default": {}},
    "mask": {"type": "bool", "default": False},
    "backup": {"type": "bool", "default": False},
    "secrets": {"type": "list", "elements": "str", "default": [], "no_log": True},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    module.no_log_values.update(passwords_of(params["documents"]))
    try:
        files, commands, missing, masker = contents(params)
        kept = module.backup_local(params["path"]) if params["backup"] and not module.check_mode else ""
        size = 0 if module.check_mode else write_files(params["path"], f"{params['deployment']}-acceptance", files)
    except (ValueError, OSError) as error:
        module.fail_json(msg=visible(f"The archive {params['path']} cannot be written: {error}"))
    names = (masker.masked(), sorted(masker.kept)) if masker else ({}, [])
    text = visible(text_of(params["path"], size, commands, missing, *names))
    result = dict(path=params["path"], bytes=size, backup_file=kept, commands=commands, missing=sorted(missing))
    module.exit_json(changed=True, text=text, pseudonyms=names[0], unmasked=names[1], **result)


if __name__ == "__main__":
    main()
