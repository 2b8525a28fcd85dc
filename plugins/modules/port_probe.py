#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: port_probe
short_description: Test TCP connections to planned ports between hosts
version_added: 0.1.0
description:
  - With O(state=listen) a temporary process listens on this host's free ports, with O(state=connect) this host connects to ports of other
    hosts, with O(state=stopped) the process ends. It ends by itself after O(lifetime), or when all O(sources) have connected.
  - A port that is already in use is left alone. Connections send no data and are closed at once.
  - Without a listener, a closed port and a firewall that rejects connections give the same answer.
options:
  state:
    description: What to do.
    type: str
    choices: [listen, connect, stopped]
    default: connect
  directory:
    description: Folder of the deployment. With it the listener is recognised as part of the deployment. Required for V(listen) and V(stopped).
    type: path
  name:
    description:
      - Name of this host, which the listener announces. Required for V(listen) and V(stopped).
      - With V(connect) this host tells each listener by this name that it does not connect again.
    type: str
  address:
    description: Address of this host on which to listen. Required for V(listen).
    type: str
  ports:
    description: Ports on which to listen.
    type: list
    elements: int
    default: []
  sources:
    description: Names of the hosts that connect with their O(name). After the last one the listener ends.
    type: list
    elements: str
    default: []
  lifetime:
    description: Seconds after which the listener ends by itself.
    type: float
    default: 120
  peers:
    description: Hosts to connect to.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the host, which its listener announces.
        type: str
        required: true
      address:
        description: Its address.
        type: str
        required: true
      ports:
        description: The ports to connect to.
        type: list
        elements: int
        required: true
  timeout:
    description: Timeout of one connection, in seconds.
    type: float
    default: 3
  workers:
    description: Number of connections at the same time.
    type: int
    default: 64
attributes:
  check_mode:
    description: Can run in check mode, where it does the same.
    support: full
  diff_mode:
    description: Changes no file, so there is no difference to show.
    support: none
seealso:
  - module: ascend.inference.check_info
  - module: ascend.inference.hccn_ping
author:
  - The ascend.inference contributors (@ascend-inference)
"""

EXAMPLES = r"""
- name: Listen on planned ports for at most two minutes
  ascend.inference.port_probe:
    state: listen
    directory: /opt/ascend-inference/deployments/inference
    name: node1
    address: 10.0.0.1
    ports: [7100, 22000, 22007]

- name: Connect to planned ports of another host
  ascend.inference.port_probe:
    peers:
      - {name: node1, address: 10.0.0.1, ports: [7100, 22000, 22007]}
  register: connections

- name: Stop listening
  ascend.inference.port_probe:
    state: stopped
    directory: /opt/ascend-inference/deployments/inference
    name: node1
"""

RETURN = r"""
listening:
  description: Ports on which the temporary process listens.
  returned: with O(state=listen)
  type: list
  elements: int
  sample: [7100, 22000, 22007]
failed:
  description: Ports that could not be bound, with the reason.
  returned: with O(state=listen)
  type: dict
  sample: {"22000": Address already in use}
answers:
  description:
    - Each connection. C(state) is V(open), V(refused), V(timeout), V(unreachable), V(failed), or V(foreign) if the listener of another
      host answers. C(listener) is true if the temporary process of that host answers.
  returned: with O(state=connect)
  type: list
  elements: dict
  sample: [{name: node1, address: 10.0.0.1, port: 22000, state: timeout, reason: no answer in 3 s, ms: null, listener: false}]
done:
  description: Names of the hosts whose listener knows that this host does not connect again.
  returned: with O(state=connect)
  type: list
  elements: str
  sample: [node2]
stopped:
  description: Process ids of the stopped listeners.
  returned: with O(state=stopped)
  type: list
  elements: int
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.port_probe import connect, finish, listen, stop

PEER = dict(
    name=dict(type="str", required=True),
    address=dict(type="str", required=True),
    ports=dict(type="list", elements="int", required=True),
)
SPEC = dict(
    state=dict(type="str", choices=["listen", "connect", "stopped"], default="connect"),
    directory=dict(type="path"),
    name=dict(type="str"),
    address=dict(type="str"),
    ports=dict(type="list", elements="int", default=[]),
    sources=dict(type="list", elements="str", default=[]),
    lifetime=dict(type="float", default=120),
    peers=dict(type="list", elements="dict", default=[], options=PEER),
    timeout=dict(type="float", default=3),
    workers=dict(type="int", default=64),
)
REQUIRED = [("state", "listen", ("directory", "name", "address")), ("state", "stopped", ("directory", "name"))]


def main():
    module = AnsibleModule(argument_spec=SPEC, required_if=REQUIRED, supports_check_mode=True)
    params = module.params
    wrong = [name for name in ("lifetime", "timeout", "workers") if params[name] <= 0]
    if wrong:
        module.fail_json(msg=f"{', '.join(wrong)}: expected a positive number")
    mark = f"{params['directory']}/services/port-probe-{params['name']}"
    if params["state"] == "connect":
        answers = connect(params["peers"], params["timeout"], params["workers"])
        done = finish(params["name"], answers, params["timeout"], params["workers"]) if params["name"] else []
        module.exit_json(changed=False, answers=answers, done=done)
    if params["state"] == "stopped":
        module.exit_json(changed=False, stopped=stop(mark))
    try:
        found = listen(params["address"], params["ports"], params["name"], mark, params["lifetime"], params["sources"])
    except OSError as error:
        module.fail_json(msg=f"the listener cannot be started: {error}")
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
