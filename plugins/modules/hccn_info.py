#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: hccn_info
short_description: "For your playbooks: gather the network state of a host's Ascend NPUs with hccn_tool"
version_added: 0.1.0
description:
  - Queries link, health, switch port, addresses and TLS of every device of the host with C(hccn_tool) in one call.
  - The devices are queried concurrently. While the tool is busy the module waits and retries. If the tool allows only one call
    at a time, the module falls back to that.
  - A failed device has its messages in C(errors). The other devices are still returned.
  - Compares the active addresses with C(/etc/hccn.conf), because they can differ after an edit or a failed recovery.
  - Supports A2, A3 and the first 910. The hccn_tool of a 950 has a different syntax and is refused.
extends_documentation_fragment:
  - ascend.inference.vendor_tool
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  devices:
    description:
      - Physical ids of the devices to query, N of C(/dev/davinciN).
      - By default all devices of C(/dev/davinci*), else of npu-smi.
    type: list
    elements: int
  gather:
    description:
      - Queries for each device. Each query is one call of the tool.
    type: list
    elements: str
    choices: [link, net_health, lldp, netdetect, gateway, ip, vnic, tls, optical, link_stat, stats, mac, mtu, speed, fec, route, arp]
    default: [link, net_health, lldp, netdetect, gateway, ip, vnic, tls]
  workers:
    description:
      - Number of devices that are queried at the same time.
    type: int
    default: 16
  hccn_conf:
    description:
      - The file from which the driver sets the addresses at boot.
    type: path
    default: /etc/hccn.conf
  expected:
    description:
      - Device id to address, as planned. A device with another address is in RV(stale).
    type: dict
seealso:
  - module: ascend.inference.hccn_config
  - module: ascend.inference.hccn_ping
  - module: ascend.inference.npu_info
author:
  - The ascend.inference contributors (@ascend-inference)
"""

EXAMPLES = r"""
- name: Gather the state of the NPU network
  ascend.inference.hccn_info:
  register: hccn

- name: Stop if a link is down, a network unhealthy or TLS on
  ansible.builtin.assert:
    that:
      - hccn.devices | rejectattr('link', 'eq', 'up') | length == 0
      - hccn.devices | rejectattr('healthy') | length == 0
      - hccn.devices | selectattr('tls_enabled') | length == 0

- name: Compare four devices with the plan, and gather the state of their optical modules
  ascend.inference.hccn_info:
    devices: [0, 1, 2, 3]
    gather: [ip, optical]
    expected: {0: 10.20.0.10, 1: 10.20.0.11, 2: 10.20.0.12, 3: 10.20.0.13}
"""

RETURN = r"""
devices:
  description: One entry per device, sorted by id. A key is present if its query was requested, and null if nothing is set or the query failed.
  returned: success
  type: list
  elements: dict
  contains:
    device_id:
      description: Physical id.
      type: int
    errors:
      description: Query to message for each query that failed. Empty if all succeeded.
      type: dict
    hung:
      description: The message of the query that timed out. Later queries of the device were skipped.
      type: str
      returned: when a query timed out
    link:
      description: C(up) or C(down).
      type: str
    net_health:
      description: The tool's value in snake_case, such as C(success), C(init), C(fault), C(socket_fail) or C(unreachable).
      type: str
    healthy:
      description: Whether RV(devices[].net_health) is C(success) or C(init) (no detection address is set). Null if it is unknown.
      type: bool
    lldp:
      description: The connected switch port with the keys C(port), C(port_type) and C(system_name).
      type: dict
    netdetect:
      description: The address that the health check pings.
      type: str
    gateway:
      description: Default gateway.
      type: str
    ip:
      description: C(address) and C(netmask) of the RoCE port. A bonded port has all of its pairs in C(all).
      type: dict
    vnic:
      description: C(link), C(address) and C(netmask) of the virtual NIC, which an A3 uses on the HCCS plane.
      type: dict
    tls_enabled:
      description: Whether TLS is switched on. It must be the same on all devices of a cluster.
      type: bool
    tls_certificates:
      description: The certificates with C(name), C(subject), C(issuer), C(not_before), C(not_after) and C(expiration).
      type: list
      elements: dict
    optical:
      description: The optical module. C(present), and values with their unit in the key, such as C(rx_power0_milliwatts).
      type: dict
    link_stat:
      description: C(current_time), C(link_up_count), C(link_down_count) and C(records) (newest first) of the link.
      type: dict
    stats:
      description: Packet counters.
      type: dict
    mac:
      description: MAC address.
      type: str
    mtu:
      description: MTU in bytes.
      type: int
    speed:
      description: Speed in Mb/s.
      type: int
    fec:
      description: Mode of forward error correction in lower case, or V(none). Not every product has this query.
      type: str
    route:
      description: Routes with C(destination), C(netmask), C(gateway), C(flags) and C(interface).
      type: list
      elements: dict
    arp:
      description: Lines of the ARP table as printed.
      type: list
      elements: str
  sample:
    - {device_id: 0, errors: {}, link: up, net_health: success, healthy: true, netdetect: 10.20.0.1, gateway: 10.20.0.1,
       lldp: {port: "400GE1/0/1:1", port_type: ifname, system_name: leaf-1}, ip: {address: 10.20.0.10, netmask: 255.255.255.0},
       vnic: {link: up, address: 192.168.2.199, netmask: 255.255.255.0}, tls_enabled: false, tls_certificates: []}
hccn_conf:
  description: The parsed file. Device id (as string) to keys such as C(address), C(netmask), C(gateway), C(netdetect), C(tls_enable).
  returned: success
  type: dict
  sample: {"0": {address: 10.20.0.10, netmask: 255.255.255.0, gateway: 10.20.0.1}}
stale:
  description:
    - Devices whose active address differs from the file or from O(expected). Needs V(ip) in O(gather).
    - A device whose address could not be read is not listed; see its C(errors).
  returned: success
  type: list
  elements: dict
  sample: [{device_id: 3, live: 10.20.0.24, file: 10.20.0.14, expected: null}]
serial:
  description: Whether the tool refused concurrent calls, so that the module fell back to one at a time.
  returned: success
  type: bool
warnings:
  description: Problems of the output or of the file.
  returned: when there are any
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.hccn.gather import BASIC, QUERIES
from ..module_utils.hccn.report import report
from ..module_utils.npu_smi.devices import find_devices
from ..module_utils.tools.errors import ToolError
from ..module_utils.tools.runner import ToolMissing, tool_of
from ..module_utils.tools.text import visible


def main():
    module = AnsibleModule(
        argument_spec=dict(
            executable=dict(type="path"),
            timeout=dict(type="float", default=30),
            devices=dict(type="list", elements="int"),
            gather=dict(type="list", elements="str", choices=list(QUERIES), default=list(BASIC)),
            workers=dict(type="int", default=16),
            hccn_conf=dict(type="path", default="/etc/hccn.conf"),
            expected=dict(type="dict"),
        ),
        supports_check_mode=True,
    )
    params = module.params
    try:
        tool = tool_of(module, "hccn_tool")
        devices = find_devices(tool) if params["devices"] is None else sorted(set(params["devices"]))
        result = report(tool, devices, params["gather"], params["workers"], params["hccn_conf"], params["expected"])
    except (ToolMissing, ToolError, ValueError) as error:
        module.fail_json(msg=visible(str(error)))
    for warning in result.pop("warnings"):
        module.warn(visible(warning))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
