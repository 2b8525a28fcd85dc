#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_settings
short_description: Manage a deployment's kernel settings and the shared list of reserved ports
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Writes the settings of one deployment to a separate file below C(/etc/sysctl.d), so that they also apply after a reboot, and to the
    kernel. Without settings the file is removed; the kernel's values stay until the next boot.
  - The kernel has one list of ports that it does not use for outgoing connections, C(net.ipv4.ip_local_reserved_ports). Of several
    files under C(/etc/sysctl.d) that set it only the last one takes effect at boot, and each write to the kernel replaces the list.
  - For this setting the module combines the ports of all files of the host, the kernel's current list, and the deployment's ports. It
    writes the union to one file that is read last, and to the kernel. It never removes a port from the kernel's list; the next boot
    does. If no file of a deployment is left, the file with the union is removed.
  - A file of these names that this collection did not write is renamed before another one takes its place, and never removed.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  deployment:
    description: Name of the deployment. Its file is C(60-ascend-inference-DEPLOYMENT.conf).
    type: str
    required: true
  settings:
    description: Settings by name, each with its value in the kernel's format. Several numbers of a value are separated by one space.
    type: dict
    default: {}
  directory:
    description: The folder with the deployments' files and the union.
    type: path
    default: /etc/sysctl.d
  others:
    description: Further files and folders with kernel settings.
    type: list
    elements: path
    default: [/usr/lib/sysctl.d, /usr/local/lib/sysctl.d, /run/sysctl.d, /etc/sysctl.conf]
  kernel:
    description: Path of the kernel's settings.
    type: path
    default: /proc/sys
"""

EXAMPLES = r"""
- name: Set what engines need and reserve ports in addition to those of other deployments
  ascend.inference.kernel_settings:
    deployment: inference
    settings:
      vm.max_map_count: "1000000"
      net.ipv4.ip_local_reserved_ports: 36100-36115,60000

- name: Remove the settings of a deployment
  ascend.inference.kernel_settings:
    deployment: inference
"""

RETURN = r"""
ports:
  description: The reserved ports.
  returned: success
  type: str
  sample: 36100-36115,60000
files:
  description: The deployment's file and the file with the union.
  returned: success
  type: list
  elements: str
  sample: [/etc/sysctl.d/60-ascend-inference-inference.conf, /etc/sysctl.d/99-z-ascend-inference-reserved-ports.conf]
saved:
  description: Files of others that were renamed, or in check mode would be, each with its new name.
  returned: success
  type: dict
  sample: {}
kept:
  description: Files of others under these names, which stay because nothing is written there.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.kernel_settings import Settings

ARGUMENTS = {
    "deployment": {"type": "str", "required": True},
    "settings": {"type": "dict", "default": {}},
    "directory": {"type": "path", "default": "/etc/sysctl.d"},
    "others": {
        "type": "list",
        "elements": "path",
        "default": ["/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d", "/etc/sysctl.conf"],
    },
    "kernel": {"type": "path", "default": "/proc/sys"},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    try:
        settings = {str(name): str(value) for name, value in params["settings"].items()}
        state = Settings(params["directory"], params["others"], params["kernel"], params["deployment"], settings)
        if state.changed and not module.check_mode:
            state.apply()
    except (ValueError, OSError) as error:
        module.fail_json(msg=f"Kernel settings: {error}")
    found = {"ports": state.ports, "files": state.files, "saved": state.saved, "kept": state.kept}
    module.exit_json(changed=state.changed, diff=state.difference, **found)


if __name__ == "__main__":
    main()
