#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: entry_check_info
short_description: Tell what on a host would keep an entry from working
version_added: 0.1.0
description:
  - Gathers what the role P(ascend.inference.entry#role) needs of a host before anything of the entry is installed there. It judges nothing.
  - With a second host it tries for up to eight seconds whether both reach each other, so it has to run on both at the same time.
  - Changes nothing. It sends a question to each router, one datagram to O(address), and packets to the second host.
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  program:
    description: The program of the entry.
    type: path
    default: /usr/sbin/haproxy
  package:
    description: The package of the distribution that has it.
    type: str
    default: haproxy
  files:
    description: Files that the program reads as a test, each with C(path) and C(content), in a folder that is removed again.
    type: list
    elements: dict
    default: []
  listens:
    description: Sockets of the entry, as C(ADDRESS:PORT).
    type: list
    elements: str
    default: []
  configuration:
    description: The file that the entry's own program is started with.
    type: path
    default: ""
  routers:
    description: Routers that are asked, each with C(address), C(health), the path of its health, and C(key), a name of O(engine_keys) or empty.
    type: list
    elements: dict
    default: []
  engine_keys:
    description: Keys of engines by name.
    type: dict
    default: {}
  address:
    description: The clients' address.
    type: str
    default: ""
  kept:
    description: Options of M(ascend.inference.virtual_address) that keep O(address) on this host. Empty where one host has the entry.
    type: dict
    default: {}
  pair:
    description: The hosts' addresses C(own) and C(other), and C(port), by which they share counts. Empty where there is no other host to meet.
    type: dict
    default: {}
  reference:
    description: The controller's time in seconds since 1970. Without it RV(offset) is null.
    type: float
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.entry_info
  - module: ascend.inference.check_info
"""

EXAMPLES = r"""
- name: Ask whether an entry could work here
  ascend.inference.entry_check_info:
    address: 192.0.2.100
    listens: ["192.0.2.100:443"]
    routers: [{address: "192.0.2.11:8000", health: /v1/models, key: ""}]
  register: asked
"""

RETURN = r"""
systemd:
  description: Whether systemd runs.
  returned: success
  type: bool
  sample: true
taken:
  description: Sockets of other programs where the entry listens, or would.
  returned: success
  type: list
  elements: str
  sample: ["0.0.0.0:443 (nginx: master process /usr/sbin/nginx)"]
program:
  description: C(version) of the program, C(features) that it was built with, what it C(refused) of O(files), and the version that apt has C(offered).
  returned: success
  type: dict
  sample: {version: 2.6.12, features: [Lua, OpenSSL], refused: "", offered: ""}
routers:
  description: For each router the C(kind) of its problem and its C(detail). An empty kind means that it answers.
  returned: success
  type: list
  elements: dict
  sample: [{address: "192.0.2.11:8000", kind: refused, detail: "ConnectionRefusedError: [Errno 111] Connection refused"}]
held:
  description: Whether the host has O(address); null if it is no single address.
  returned: success
  type: bool
  sample: false
owner:
  description: Link address of another machine that answers for O(address) in this host's network.
  returned: success
  type: str
  sample: 02:42:0a:60:00:09
links:
  description: Link addresses of this host.
  returned: success
  type: list
  elements: str
  sample: ["02:42:0a:60:00:01"]
kept:
  description: Why keepalived could not keep O(address) here.
  returned: success
  type: str
  sample: ""
capabilities:
  description: Rights that no process of the host can exceed, as a number of bits (C(CapBnd) of process 1).
  returned: success
  type: int
  sample: 2199023255551
memory_mib:
  description: Memory of the host in MiB.
  returned: success
  type: int
  sample: 257000
open_files:
  description: Files that a process may open at most, and all processes together.
  returned: success
  type: list
  elements: int
  sample: [1048576, 9223372036854775807]
meeting:
  description: With O(pair), whether C(vrrp) of the other host arrived, why C(peers) were not reached, C(problem) if VRRP was not tried, when it C(began) and
    C(ended) by the host's clock, and whether keepalived of the entry C(keeps) the address already.
  returned: success
  type: dict
  sample: {vrrp: true, peers: "", problem: "", began: 1796083200.0, ended: 1796083201.2, keeps: false}
offset:
  description: Seconds by which the host's clock is ahead of O(reference).
  returned: success
  type: float
  sample: 0.2
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.entry.before import before


def main():
    options = dict(
        program=dict(type="path", default="/usr/sbin/haproxy"),
        package=dict(type="str", default="haproxy"),
        files=dict(type="list", elements="dict", default=[]),
        listens=dict(type="list", elements="str", default=[]),
        configuration=dict(type="path", default=""),
        routers=dict(type="list", elements="dict", default=[]),
        engine_keys=dict(type="dict", default={}, no_log=True),
        address=dict(type="str", default=""),
        kept=dict(type="dict", default={}),
        pair=dict(type="dict", default={}),
        reference=dict(type="float"),
    )
    module = AnsibleModule(options, supports_check_mode=True)
    module.exit_json(changed=False, **before(module.params))


if __name__ == "__main__":
    main()
