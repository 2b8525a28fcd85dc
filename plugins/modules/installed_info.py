#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: installed_info
short_description: Gather what is installed on a host, in one call
version_added: 0.1.0
description:
  - Gathers in one module execution what the roles of this collection compare with, instead of one execution for each environment,
    library and file.
  - Pass the result to roles later in the same run, as C(ROLE_installed). A role without it gathers by itself.
  - Changes nothing and starts no installed program.
options:
  environments:
    description: Virtual environments, or folders of them, whose complete layers are returned.
    type: list
    elements: path
    default: []
  models:
    description: Folders of models whose configuration is returned.
    type: list
    elements: path
    default: []
  files:
    description: Files that may exist.
    type: list
    elements: path
    default: []
  cann:
    description: Folders below which CANN may be installed.
    type: list
    elements: path
    default: []
  account:
    description: The user of units, and the group of the NPU driver. Without it they are not gathered.
    type: dict
    suboptions:
      user:
        description: Name of the user.
        type: str
        required: true
      driver_group:
        description: Name of the group. Empty means the one that the driver's installer recorded, or that the device files have.
        type: str
        default: ""
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.cann_package
  - module: ascend.inference.python_venv
  - module: ascend.inference.check_info
"""

EXAMPLES = r"""
- name: Gather what is installed
  ascend.inference.installed_info:
    environments: [/opt/ascend-inference/venvs]
    models: [/models/DeepSeek-R1_w8a8_mtp]
    files: [/usr/sbin/haproxy]
  register: installed

- name: Install the router, unless it is installed
  ansible.builtin.include_role:
    name: ascend.inference.router
  vars:
    router_installed: "{{ installed }}"
"""

RETURN = r"""
environments:
  description: Each environment with the stamps of its complete layers. An environment whose installation was interrupted has none.
  returned: success
  type: dict
  sample: {/opt/ascend-inference/venvs/router: {router: {requirements: [vllm-router==0.1.17], exclude: [], imports: [vllm_router]}}}
chips:
  description: For each environment with a layer C(vllm_ascend) the chip that the package was built for; empty if unknown.
  returned: success
  type: dict
  sample: {/opt/ascend-inference/venvs/vllm_ascend-0.23.0: A3}
libraries:
  description: Names of the shared libraries in the loader's cache.
  returned: success
  type: list
  elements: str
  sample: [libibverbs.so.1]
libc:
  description: Version of the C library.
  returned: success
  type: str
  sample: "2.35"
machine:
  description: The processor's architecture.
  returned: success
  type: str
  sample: aarch64
models:
  description: >-
    Configuration of each model, with the marks of a model that this collection made, and the source that it was fetched from if its files have the
    sizes of the record.
  returned: success
  type: list
  elements: dict
  sample: [{path: /models/ds, exists: true, config: {head_dim: 128}, config_error: "", marks: [], source: ""}]
files:
  description: Each file of O(files), null if it does not exist. C(origin) is the archive that this collection took it from.
  returned: success
  type: dict
  sample: {/usr/sbin/haproxy: {sha256: 0c1f, mode: "0755", owner: root, origin: ""}}
cann:
  description:
    - Each folder of O(cann) with C(installed), the completely installed packages by kind and version, and C(interrupted), the package files
      whose last installation did not end.
  returned: success
  type: dict
  sample: {/usr/local/Ascend: {installed: {toolkit: {"9.1.0": {path: /usr/local/Ascend/cann-9.1.0, arch: aarch64}}, kernels: {}, nnal: {}}, interrupted: []}}
account:
  description: >-
    Names as asked in C(user) and C(group), whether the user exists, its C(home), the driver's group if the host has it, and the number of systemd's
    version, 0 without systemd.
  returned: with O(account)
  type: dict
  sample: {user: ascend-inference, group: "", exists: true, home: /var/lib/x, driver_group: HwHiAiUser, systemd: 252}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.install.account import account
from ..module_utils.install.installed import gather

PATHS = {"type": "list", "elements": "path", "default": []}
ACCOUNT = {
    "type": "dict",
    "options": {"user": {"type": "str", "required": True}, "driver_group": {"type": "str", "default": ""}},
}


def main():
    # type: () -> None
    """Run the module."""
    module = AnsibleModule(
        {"environments": PATHS, "models": PATHS, "files": PATHS, "cann": PATHS, "account": ACCOUNT},
        supports_check_mode=True,
    )
    params = module.params
    found = gather(params["environments"], params["models"], params["files"], params["cann"])
    if params["account"]:
        found["account"] = account(params["account"]["user"], params["account"]["driver_group"])
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
