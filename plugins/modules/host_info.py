#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Gather the facts of a host that a planned inference service depends on
version_added: 0.1.0
description:
  - Gathers in one call the facts that are checked before a deployment changes a host. It returns listening ports with their owners,
    interfaces and their addresses, memory, huge pages, limits, the clock's state, free disk space and models.
  - Changes nothing.
extends_documentation_fragment:
  - ascend.inference.host_options
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.npu_info
  - module: ascend.inference.hccn_info
"""

EXAMPLES = r"""
- name: Gather the facts of a host and of the planned model
  ascend.inference.host_info:
    models: [/models/DeepSeek-R1_w8a8_mtp]
    disks: [/opt]
  register: host

- name: Show the process that uses the API port
  ansible.builtin.debug:
    msg: "{{ host.listening | selectattr('port', 'eq', 7100) | map(attribute='command') | list }}"
"""

RETURN = r"""
listening:
  description: Listening TCP sockets, by port.
  returned: success
  type: list
  elements: dict
  contains:
    address: {description: The address it is bound to., type: str}
    port: {description: The port., type: int}
    pid: {description: A process with the socket; 0 if it is not visible., type: int}
    command: {description: That process' command line., type: str}
    service: {description: Directory of the service if it is one of this collection's., type: str}
  sample: [{address: 10.0.0.1, port: 7100, pid: 4711, command: vllm serve /models/ds, service: /opt/ascend-inference/deployments/inference/services/prefill-0}]
own_processes:
  description: Processes of this collection's services, children included.
  returned: success
  type: list
  elements: dict
  sample: [{pid: 4711, service: /opt/ascend-inference/deployments/inference/services/prefill-0}]
interfaces:
  description: Interfaces by name, whether they are up, their addresses and MTU. Null if they are unknown.
  returned: success
  type: dict
  sample: {eth0: {up: true, addresses: [10.0.0.1], mtu: 1500}}
memory:
  description: Memory and shared memory (C(/dev/shm)) in MiB, and huge pages as counts.
  returned: success
  type: dict
limits:
  description: Hard limits C(memlock_bytes) and C(nofile) of the connected user; null is unlimited.
  returned: success
  type: dict
sysctl:
  description: Kernel settings that engines depend on.
  returned: success
  type: dict
  sample: {vm.max_map_count: 1000000}
software:
  description: Installed versions of C(driver), C(firmware) and C(cann). Empty if not installed.
  returned: success
  type: dict
user:
  description: Id of the connected user, and whether the owners of all sockets and processes are visible to it.
  returned: success
  type: dict
  sample: {uid: 0, sees_processes: true}
clock:
  description: Seconds since 1970, offset to the controller, whether the clock is synchronised, and the kernel's bound of its error.
  returned: success
  type: dict
  sample: {epoch: 1790000000.0, offset: 0.8, synchronised: true, max_error_ms: 12.5}
disks:
  description:
    - Free space of each path's file system in MiB, its free inodes (null if it creates them as needed), and whether it is mounted C(read_only)
      or with C(noexec).
  returned: success
  type: list
  elements: dict
models:
  description: Facts of each model's folder.
  returned: success
  type: list
  elements: dict
  sample: [{path: /models/ds, exists: true, config: {head_dim: 128}, quantized: true, fingerprint: 0c1f}]
access:
  description:
    - What O(user) cannot use of O(models) and O(disks), as sentences by path. C(exists) tells whether the user exists; if not, an ordinary
      user without groups was tested. C(models) and C(roots) are null if the connected user cannot become O(user).
    - C(group) is the group of the NPU driver that services get; empty if the host has none.
  returned: success
  type: dict
  sample: {user: ascend-inference, group: HwHiAiUser, exists: true, models: {/models/ds: ["/models/ds (owner root, group root, mode 0700)"]}, roots: {/opt: []}}
system:
  description: Kernel, machine, OS, C library, Python, machine id, host name and the addresses that it resolves to, whether systemd runs it, its version,
    and whether SELinux is enforcing.
  returned: success
  type: dict
tools:
  description: Programs for builds that the host has, of C(cmake), C(g++), C(gcc), C(git) and C(make).
  returned: success
  type: list
  elements: str
tuning:
  description: State of the settings that tuning concerns, as M(ascend.inference.tuning_info) returns it.
  returned: success
  type: dict
processors:
  description: Number of processors.
  returned: success
  type: int
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.gather import gather_host
from ..module_utils.tools.text import visible


def main():
    # type: () -> None
    """Gather and answer."""
    module = AnsibleModule(
        argument_spec={
            "models": {"type": "list", "elements": "path", "default": []},
            "every_byte": {"type": "bool", "default": False},
            "reference": {"type": "float"},
            "user": {"type": "str", "default": ""},
            "driver_group": {"type": "str", "default": ""},
            "disks": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )
    wanted = module.params
    places = (wanted[name] for name in ("models", "every_byte", "disks", "reference"))
    found = gather_host(*places, user=wanted["user"], group=wanted["driver_group"])
    for warning in found.pop("warnings"):
        module.warn(visible(warning))
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
