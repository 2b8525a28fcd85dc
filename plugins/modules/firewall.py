#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: firewall
short_description: Allow access to a deployment's ports only for the addresses that need it
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - With C(nftables) writes one table C(inet ascend_inference_DEPLOYMENT) and a unit that loads it at boot. The table only closes ports. Ports
    that another table of the host closes stay closed.
  - With C(firewalld) writes one policy and its address sets. The policy opens and closes the ports, and is evaluated before the zones.
    C(firewalld) is reloaded, which ends its settings that are not permanent.
  - Only the given ports are filtered, and only for new TCP connections. Ports of C(sshd) are never filtered. Tables, zones and files of the
    site are not changed.
  - What the kernel or C(firewalld) has is read back, so a table that somebody changed or deleted is repaired.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  deployment:
    description: Name of the deployment.
    type: str
    required: true
  state:
    description: Whether the ports are filtered. With V(absent) everything that this module made for the deployment is removed.
    type: str
    choices: [present, absent]
    default: present
  backend:
    description: The program that filters. With V(auto) it is C(firewalld) if it is running, else C(nftables).
    type: str
    choices: [auto, nftables, firewalld]
    default: auto
  rules:
    description:
      - The ports, as the plan lists them in C(hosts[].firewall). Each has C(ports) such as V(7100-7115) and C(from), which is V(cluster),
        V(monitoring) or V(client).
    type: list
    elements: dict
    default: []
  sources:
    description:
      - Addresses and networks by the names of C(from). The ports of V(monitoring) and V(client) are open to V(cluster) as well; those of
        V(client) to everyone if the list is empty.
    type: dict
    default: {}
  spared:
    description: Ports that are not filtered although they are in the ranges of O(rules), in addition to those of C(sshd).
    type: list
    elements: int
    default: []
  directory:
    description: Folder of the tables' files.
    type: path
    default: /etc/ascend-inference/firewall
  units:
    description: Folder of units.
    type: path
    default: /etc/systemd/system
  firewalld:
    description: Folder of C(firewalld)'s permanent settings.
    type: path
    default: /etc/firewalld
"""

EXAMPLES = r"""
- name: Allow only the hosts of the deployment to connect to the engines
  ascend.inference.firewall:
    deployment: inference
    rules:
      - {ports: 7100-7115, from: cluster}
      - {ports: "8443", from: client}
    sources:
      cluster: [10.0.0.11, 10.0.0.12]

- name: Remove the filter
  ascend.inference.firewall:
    deployment: inference
    state: absent
"""

RETURN = r"""
backend:
  description: The program that filters; empty if the state is V(absent).
  returned: success
  type: str
  sample: nftables
missing:
  description: The program that has to be installed first. Nothing was changed if there is one.
  returned: success
  type: str
  sample: ""
filtered:
  description: The ports that are closed to addresses that are not named.
  returned: success
  type: str
  sample: 7100-7115, 20000-36000
"""

import glob
import json
import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.firewall.backends import Files, Firewalld, FirewallError, Host, Nftables
from ..module_utils.firewall.policy import Policy, conflicts, spell, ssh_ports
from ..module_utils.host.kernel_settings import read
from ..module_utils.tools.runner import execute
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "deployment": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "backend": {"type": "str", "choices": ["auto", "nftables", "firewalld"], "default": "auto"},
    "rules": {"type": "list", "elements": "dict", "default": []},
    "sources": {"type": "dict", "default": {}},
    "spared": {"type": "list", "elements": "int", "default": []},
    "directory": {"type": "path", "default": "/etc/ascend-inference/firewall"},
    "units": {"type": "path", "default": "/etc/systemd/system"},
    "firewalld": {"type": "path", "default": "/etc/firewalld"},
}
TIMEOUT = 60  # seconds of one command; a reload of firewalld with Docker takes some
PROGRAMS = {"nftables": "nft", "firewalld": "firewall-cmd"}


def run(argv):
    """Run a command of the host -> (rc, stdout, stderr)."""
    done = execute(argv, TIMEOUT, dict(os.environ, LC_ALL="C"))
    if done.timed_out:
        raise FirewallError(f"{' '.join(argv)} did not end within {TIMEOUT} s")
    return done.rc, done.stdout, done.stderr


def sshd_ports():
    """The ports of the host's sshd."""
    return ssh_ports(read(path) for path in ["/etc/ssh/sshd_config", *glob.glob("/etc/ssh/sshd_config.d/*.conf")])


def policy_of(params):
    """The policy, or None if nothing may be left."""
    if params["state"] == "absent":
        return None
    return Policy(params["rules"], params["sources"], params["spared"] + sshd_ports())


def others(directory, deployment):
    """The records of the host's other deployments by name."""
    found = {}
    for path in glob.glob(os.path.join(directory, "*.json")):
        name = os.path.basename(path)[: -len(".json")]
        if name != deployment:
            found[name] = json.loads(read(path))
    return found


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    host = Host(
        run,
        lambda name: module.get_bin_path(name) or "",
        params["directory"],
        params["units"],
        params["firewalld"],
        os.path.isdir("/run/systemd/system"),
    )
    try:
        policy = policy_of(params)
        chosen = backend_of(host, params["backend"]) if policy else ""
        result = {"backend": chosen, "missing": "", "filtered": spell(policy.filtered) if policy else ""}
        if chosen and not host.find(PROGRAMS[chosen]):
            result["missing"] = PROGRAMS[chosen]
            module.exit_json(changed=True, **result)
        apply(module, host, policy, chosen, result)
    except (FirewallError, ValueError, OSError) as error:
        module.fail_json(msg=f"Firewall: {visible(str(error))}")


def is_record(text):
    """Whether a text is a record as this module writes it."""
    try:
        return sorted(json.loads(text)) == ["peers", "ports"]
    except (ValueError, TypeError):
        return False


def backend_of(host, wanted):
    """The program that filters."""
    if wanted != "auto":
        return wanted
    program = host.find("firewall-cmd")
    return "firewalld" if program and host.run([program, "--state"])[0] == 0 else "nftables"


def apply(module, host, policy, chosen, result):
    """Compare, and change what differs."""
    deployment, directory = module.params["deployment"], module.params["directory"]
    if policy:
        found = conflicts(policy.record(), others(directory, deployment))
        if found:
            raise FirewallError("; ".join(found))
    record = json.dumps(policy.record()) + "\n" if policy else ""
    note = Files({os.path.join(directory, deployment + ".json"): record}, lambda _path, text: is_record(text))
    backends = [
        Nftables(host, deployment, policy if chosen == "nftables" else None, bool(note.proven)),
        Firewalld(host, deployment, policy if chosen == "firewalld" else None),
    ]
    for backend in backends:
        backend.check()
    differing = [backend for backend in backends if backend.changed]
    changed = bool(differing or note.differing)
    if changed and not module.check_mode:
        note.apply()
        for backend in differing:
            backend.apply()
    if policy and chosen == "nftables" and not host.systemd:
        module.warn("systemd is not running here: the filter of the deployment's ports does not survive a boot")
    kept = [path for files in [note, *(backend.files for backend in backends)] for path in files.kept]
    if kept:
        module.warn(f"Not removed, because this collection did not write it: {', '.join(kept)}")
    diff = note.diff() + [entry for backend in backends for entry in backend.diff()]
    module.exit_json(changed=changed, diff=diff, **result)


if __name__ == "__main__":
    main()
