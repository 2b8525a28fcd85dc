#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sdist_file
short_description: Extract one file from a package's source distribution
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Downloads the source distribution of a package with C(pip) and extracts one of its files. Nothing is built, and no code of
    the package is run; C(pip) would otherwise run its setup script to read the metadata.
  - If O(dest) is from the same version it is not changed, and nothing is downloaded.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  package:
    description: Name of the package.
    type: str
    required: true
  version:
    description: Version of the package.
    type: str
    required: true
  member:
    description: Path of the file inside the source distribution, without its first folder.
    type: str
    required: true
  dest:
    description: Destination path. Its folder must exist.
    type: path
    required: true
  sha256:
    description: The expected SHA-256 of the file. If it differs nothing is written.
    type: str
    default: ""
  python:
    description: Interpreter that has C(pip).
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Fetch the release's load-balance proxy
  ascend.inference.sdist_file:
    package: vllm-ascend
    version: 0.23.0
    member: examples/disaggregated_prefill_v1/load_balance_proxy_server_example.py
    dest: /opt/ascend-inference/venvs/router/share/proxy/load_balance_proxy_server_example.py
    python: /opt/ascend-inference/venvs/router/bin/python
"""

RETURN = r"""
sha256:
  description: SHA-256 of the file; empty in check mode if it was not fetched.
  returned: success
  type: str
  sample: 5a2e
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.install.sdist import SdistError, fetch, present
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "package": {"type": "str", "required": True},
    "version": {"type": "str", "required": True},
    "member": {"type": "str", "required": True},
    "dest": {"type": "path", "required": True},
    "sha256": {"type": "str", "default": ""},
    "python": {"type": "path", "required": True},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    origin = "{package} {version} {member}".format(**params)
    found, sha256 = present(params["dest"], origin)
    difference = {
        "before": found + "\n",
        "after": origin + "\n",
        "before_header": params["dest"],
        "after_header": origin,
    }
    if found == origin and params["sha256"] in ("", sha256):
        module.exit_json(changed=False, sha256=sha256)
    if not module.check_mode:
        try:
            sha256 = fetch(params, origin)
        except (SdistError, OSError) as error:
            module.fail_json(msg=visible(str(error)))
    module.exit_json(changed=True, sha256=sha256, diff=difference)


if __name__ == "__main__":
    main()
