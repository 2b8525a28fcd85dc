#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: reserved_ports
short_description: Manage the kernel's list of reserved ports for several deployments
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - The kernel has one list of ports that it does not use for outgoing connections, C(net.ipv4.ip_local_reserved_ports). Of several
    files under C(/etc/sysctl.d) that set it only the last one takes effect at boot, and each write to the kernel replaces the list.
  - This module combines the ports of all files of the host, the kernel's current list, and O(ports). It writes the union to one
    file that is read last, and to the kernel. It never removes a port from the kernel's list; the next boot does.
  - If no file of a deployment is left and O(ports) is empty, the file with the union is removed.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
options:
  ports:
    description: Ports to reserve, in the kernel's format. In check mode their file may not exist yet.
    type: str
    default: ""
  directory:
    description: The folder with the deployments' files, C(60-ascend-inference-DEPLOYMENT.conf), and with the union.
    type: path
    default: /etc/sysctl.d
  others:
    description: Further files and folders with kernel settings.
    type: list
    elements: path
    default: [/usr/lib/sysctl.d, /usr/local/lib/sysctl.d, /run/sysctl.d, /etc/sysctl.conf]
  kernel:
    description: Path of the kernel's list.
    type: path
    default: /proc/sys/net/ipv4/ip_local_reserved_ports
"""

EXAMPLES = r"""
- name: Reserve a deployment's ports in addition to those of others
  ascend.inference.reserved_ports:
    ports: 36100-36115,60000

- name: Update the list after a deployment's file was removed
  ascend.inference.reserved_ports:
"""

RETURN = r"""
ports:
  description: The reserved ports.
  returned: success
  type: str
  sample: 36100-36115,60000
file:
  description: The file with the union.
  returned: success
  type: str
  sample: /etc/sysctl.d/99-z-ascend-inference-reserved-ports.conf
"""

import glob
import os
import tempfile

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.reserved_ports import KEY, in_file, parse, spell
from ..module_utils.tools.text import visible

OWN = "60-ascend-inference-*.conf"
UNION = "99-z-ascend-inference-reserved-ports.conf"  # sorted after 99-sysctl.conf, a link to /etc/sysctl.conf
HEAD = "# Written by ascend.inference: the reserved ports of all files, because only the last file takes effect. Do not edit.\n"
ARGUMENTS = {
    "ports": {"type": "str", "default": ""},
    "directory": {"type": "path", "default": "/etc/sysctl.d"},
    "others": {
        "type": "list",
        "elements": "path",
        "default": ["/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d", "/etc/sysctl.conf"],
    },
    "kernel": {"type": "path", "default": "/proc/sys/net/ipv4/ip_local_reserved_ports"},
}


def read(path):
    """A file's text; empty if it does not exist."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def in_files(directory, others):
    """(whether a deployment has a file, the reserved ports of all files but the union)."""
    found = [path for place in [directory, *others] for path in glob.glob(os.path.join(place, "*.conf"))]
    found = [path for path in [*found, *others] if os.path.isfile(path) and os.path.basename(path) != UNION]
    ports = set()
    for path in found:
        try:
            ports |= in_file(read(path))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    return bool(glob.glob(os.path.join(directory, OWN))), ports


def write(path, text):
    """Replace a file atomically, or remove it if the text is empty."""
    if not text:
        os.unlink(path)
        return
    handle, fresh = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".ascend-inference-")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    os.chmod(fresh, 0o644)
    os.rename(fresh, path)


def work(params, check):
    """The module's result."""
    requested, path = parse(params["ports"]), os.path.join(params["directory"], UNION)
    deployed, ports = in_files(params["directory"], params["others"])
    live, before = parse(read(params["kernel"])), read(path)
    wanted = ports | requested if deployed or requested else set()
    after = f"{HEAD}{KEY} = {spell(wanted)}\n" if wanted else ""
    if not check and before != after:
        write(path, after)
    if not check and wanted - live:
        with open(params["kernel"], "w") as stream:
            stream.write(spell(live | wanted) + "\n")
    lines = [f"{text}live: {spell(now)}\n" for text, now in ((before, live), (after, live | wanted))]
    changed = before != after or bool(wanted - live)
    return {
        "changed": changed,
        "ports": spell(live | wanted),
        "file": path,
        "diff": {"before": lines[0], "after": lines[1]},
    }


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(**work(module.params, module.check_mode))
    except (ValueError, OSError) as error:
        module.fail_json(msg=visible(f"Reserved ports: {error}"))


if __name__ == "__main__":
    main()
