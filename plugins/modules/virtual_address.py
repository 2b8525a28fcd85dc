#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: virtual_address
short_description: Keep a virtual address on one of two hosts
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Writes a configuration and a unit of C(keepalived), and starts it. With the same on the other host one of both has the address.
  - The distribution's own C(keepalived.service) and C(/etc/keepalived) are neither read nor changed.
  - A changed configuration is read again without giving up the address. Another unit, such as one with another address, restarts it.
  - Needs root and systemd.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  deployment:
    description: Name of the deployment, or of what else has the address.
    type: str
    required: true
  variable:
    description: The variable with the address, which messages name; the interface is C(virtual_interface) beside it, and the number C(virtual_router_id).
    type: str
    default: inference_router.virtual_address
  state:
    description: Whether this host takes part. With V(absent) everything that this module made for the deployment is removed, and so is the address.
    type: str
    choices: [present, absent]
    default: present
  address:
    description: The virtual address with the length of its prefix. Required with O(state=present).
    type: str
  own:
    description: The address of this host, by which its interface is found. Required with O(state=present).
    type: str
  interface:
    description: The interface that gets the address. Default is the one with O(own).
    type: str
    default: ""
  configuration:
    description: Text of C(keepalived)'s configuration, in which C(@INTERFACE@) stands for the interface. Required with O(state=present).
    type: str
  script:
    description: Text of the script that tells whether this host answers. Required with O(state=present).
    type: str
  program:
    description: Path of C(keepalived).
    type: path
    default: /usr/sbin/keepalived
  directory:
    description: Folder of the configurations.
    type: path
    default: /etc/ascend-inference/virtual-address
  units:
    description: Folder of units.
    type: path
    default: /etc/systemd/system
seealso:
  - module: ascend.inference.virtual_address_info
  - module: ascend.inference.firewall
"""

EXAMPLES = r"""
- name: Remove the deployment's virtual address from this host
  ascend.inference.virtual_address:
    deployment: inference
    state: absent
"""

RETURN = r"""
interface:
  description: The interface that gets the address; empty if the state is V(absent).
  returned: success
  type: str
  sample: eth0
missing:
  description: The program that has to be installed first; only in check mode, else the module fails.
  returned: success
  type: str
  sample: ""
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.gather import interfaces
from ..module_utils.host.virtual_address import AddressProblem, Kept, chosen_interface
from ..module_utils.tools.runner import execute
from ..module_utils.tools.text import visible

NEEDED = ["address", "own", "configuration", "script"]
ARGUMENTS = {
    "deployment": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "variable": {"type": "str", "default": "inference_router.virtual_address"},
    "address": {"type": "str"},
    "own": {"type": "str"},
    "interface": {"type": "str", "default": ""},
    "configuration": {"type": "str"},
    "script": {"type": "str"},
    "program": {"type": "path", "default": "/usr/sbin/keepalived"},
    "directory": {"type": "path", "default": "/etc/ascend-inference/virtual-address"},
    "units": {"type": "path", "default": "/etc/systemd/system"},
}
TIMEOUT = 60  # seconds of one command
SYSTEMD = "/run/systemd/system"


def run(argv):
    """Run a command of the host -> (rc, stdout, stderr)."""
    done = execute(argv, TIMEOUT, dict(os.environ, LC_ALL="C"))
    if done.timed_out:
        raise AddressProblem(f"{' '.join(argv)} did not end within {TIMEOUT} s")
    return done.rc, done.stdout, done.stderr


def wanted_of(module):
    """What the host should have, see Kept; None if nothing may be left."""
    params = module.params
    if params["state"] == "absent":
        return None
    if not os.path.isdir(SYSTEMD):
        raise AddressProblem(
            f"systemd does not run on this host, so nothing would start keepalived. Fix: remove {params['variable']}"
        )
    if os.geteuid():
        raise AddressProblem("only root can put an address on an interface. Fix: connect as root, or set become: true")
    beside = f"{params['variable'].rpartition('.')[0]}.virtual_interface"
    interface = chosen_interface(params["own"], interfaces()[0], beside, params["interface"])
    return {
        **{key: params[key] for key in ("configuration", "script", "address", "program")},
        "interface": interface,
        "variable": params["variable"],
        "ip": module.get_bin_path("ip", required=True),
    }


def main():
    module = AnsibleModule(ARGUMENTS, required_if=[("state", "present", NEEDED)], supports_check_mode=True)
    params = module.params
    try:
        wanted = wanted_of(module)
        result = {"interface": wanted["interface"] if wanted else "", "missing": ""}
        if wanted and not os.path.exists(params["program"]):
            if module.check_mode:  # it would have been installed
                module.exit_json(changed=True, interface=result["interface"], missing=params["program"])
            raise AddressProblem(
                f"{params['program']} is missing. Fix: run prepare or site, which installs the package"
            )
        kept = Kept(run, params["deployment"], wanted, params["directory"], params["units"])
        if kept.conflict():
            raise AddressProblem(kept.conflict())
        changed, diff = kept.changed, kept.diff()
        if changed and not module.check_mode:
            kept.apply()
    except (AddressProblem, ValueError, OSError) as error:
        module.fail_json(msg=f"Virtual address: {visible(str(error))}")
    if kept.files.kept:
        module.warn(f"Not removed, because this collection did not write it: {', '.join(kept.files.kept)}")
    module.exit_json(changed=changed, diff=diff, **result)


if __name__ == "__main__":
    main()
