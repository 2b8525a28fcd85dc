# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The changes of ``hccn_config`` in order. Pure: wanted and current state in, steps or problems out.

Side effects of hccn_tool (hicann/driver@ef377e9 network/hccn): setting an address drops the gateway and the routes outside the new
network, on the device and in hccn.conf; a gateway must lie in the network; an address another device of the host holds is refused
(on A3: the sibling die's), as is 192.168.1.0/24. So: address, then gateway, then what depends on neither; and a device that
needs an address of another device comes after that one.
"""

from __future__ import annotations

import ipaddress
from collections import namedtuple

# what: ip, gateway, netdetect, mtu or tls; value: the new value; args: hccn_tool's arguments
Step = namedtuple("Step", "device what value args")

SETTINGS = ("ip", "gateway", "netdetect", "mtu", "tls")
CONF_KEYS = {"gateway": "gateway", "netdetect": "netdetect", "mtu": "mtu", "tls": "tls_enable"}
RESERVED = ipaddress.ip_network("192.168.1.0/24")


def wanted_state(entry):
    """An entry of the option ``devices`` -> dict of its settings: ip as 'address/netmask', tls as bool, mtu as int."""
    wanted = {}
    if entry.get("ip"):
        wanted["ip"] = f"{entry['ip']}/{entry['netmask']}"
    wanted.update((key, entry[key]) for key in ("gateway", "netdetect", "mtu", "tls") if entry.get(key) is not None)
    return wanted


def problems(entries):
    """All problems of the option ``devices`` itself, before any query: a list of sentences."""
    found, seen, addresses = [], set(), {}
    for entry in entries:
        device = entry["device"]
        if device in seen:
            found.append(f"device {device} is listed twice: merge the two entries")
        seen.add(device)
        if not 0 <= device <= 15:
            found.append(f"device {device}: hccn_tool supports the devices 0 to 15")
        if not wanted_state(entry):
            found.append(f"device {device}: nothing to set; specify ip and netmask, gateway, netdetect, mtu or tls")
        found += [f"device {device}: {complaint}" for complaint in _address_errors(entry)]
        if entry.get("ip") in addresses and entry.get("ip"):
            found.append(f"device {device}: ip {entry['ip']} is given to device {addresses[entry['ip']]}, too")
        addresses[entry.get("ip")] = device
    return found


def _address_errors(entry):
    found = []
    for key in ("ip", "gateway", "netdetect"):
        try:
            ipaddress.IPv4Address(entry.get(key) or "0.0.0.0")
        except ValueError:
            found.append(f"{key} {entry[key]!r} is not an IPv4 address")
    if bool(entry.get("ip")) != bool(entry.get("netmask")):
        found.append("ip and netmask go together, as in 'ip: 10.20.0.10, netmask: 255.255.255.0'")
    if found or not entry.get("ip"):
        return found
    try:
        network = ipaddress.IPv4Network(f"{entry['ip']}/{entry['netmask']}", strict=False)
    except ValueError:
        return [f"netmask {entry['netmask']!r} is not a netmask; write it out, as in 255.255.255.0"]
    if "." not in entry["netmask"] or str(network.netmask) != entry["netmask"]:
        found.append(f"netmask {entry['netmask']!r} is not a netmask; write it out, as in 255.255.255.0")
    if ipaddress.IPv4Address(entry["ip"]) in RESERVED:
        found.append(f"ip {entry['ip']} is in {RESERVED}, which the device reserves for itself: use another network")
    if entry["ip"] in (str(network.network_address), str(network.broadcast_address)) and network.prefixlen < 31:
        found.append(f"ip {entry['ip']} is the network or broadcast address")
    gateway = entry.get("gateway")
    if gateway and ipaddress.IPv4Address(gateway) not in network:
        found.append(f"gateway {gateway} is outside of {network}: the tool refuses it")
    return found


def plan(entries, current, conf, accept_loss=False):
    """-> (steps, problems, lost). Nothing may be changed if there are problems.

    ``current`` maps device to dict(ip, gateway, netdetect, mtu, tls, routes, ips) as read; ``conf`` is parse_hccn_conf's devices.
    ``lost`` are messages about gateways and routes that the change drops with ``accept_loss``.
    """
    steps, found, lost = [], [], []
    for entry in entries:
        device, wanted = entry["device"], wanted_state(entry)
        now, filed = current[device], conf.get(device, {})
        changes = [what for what in SETTINGS if what in wanted and _differs(what, wanted[what], now, filed)]
        if "ip" in changes:
            drops = _dropped(wanted, now)
            (lost if accept_loss else found).extend(f"device {device}: {drop}" for drop in drops)
            if "gateway" in wanted and "gateway" not in changes:
                changes.insert(1, "gateway")  # the tool re-applies it, but may fail to; setting it again does no harm
        elif "gateway" in changes:
            found += _gateway_errors(device, wanted["gateway"], now["ip"])
        steps += [
            Step(device, what, wanted[what], _arguments(what, wanted[what])) for what in SETTINGS if what in changes
        ]
    order, cycles = _order(entries, current, conf)
    steps.sort(key=lambda step: order.index(step.device))
    return steps, found + cycles, lost


def _differs(what, value, now, filed):
    """True if the device or the file differs; a file without mtu or tls_enable means the driver's default."""
    if now[what] != value:
        return True
    if what == "ip":
        return f"{filed.get('address')}/{filed.get('netmask')}" != value
    text = filed.get(CONF_KEYS[what])
    if what in ("mtu", "tls") and text is None:
        return False
    return text != (str(int(value)) if what in ("mtu", "tls") else value)


def _dropped(wanted, now):
    network = ipaddress.IPv4Network(wanted["ip"], strict=False)
    drops = []
    if now["gateway"] and "gateway" not in wanted and ipaddress.IPv4Address(now["gateway"]) not in network:
        drops.append(
            f"the address {wanted['ip']} drops the gateway {now['gateway']}, which is outside of the new network; specify a gateway in {network}"
        )
    for route in now["routes"]:
        outside = route["gateway"] and ipaddress.IPv4Address(route["gateway"]) not in network
        if outside and route["destination"] != "0.0.0.0":
            drops.append(
                f"the address {wanted['ip']} drops the route to {route['destination']}/{route['netmask']} over {route['gateway']}, "
                f"which is outside of the new network; remove the route first"
            )
    return [drop + ", or accept the loss with 'accept_loss: true'" for drop in drops]


def _gateway_errors(device, gateway, ip):
    if not ip:
        return [f"device {device}: a gateway needs an address; specify ip and netmask, too"]
    if ipaddress.IPv4Address(gateway) not in ipaddress.IPv4Network(ip, strict=False):
        return [f"device {device}: gateway {gateway} is outside of the device's network {ip}"]
    return []


def _arguments(what, value):
    if what == "ip":
        address, mask = value.split("/")
        return ["-ip", "-s", "address", address, "netmask", mask]
    return {
        "gateway": ["-gateway", "-s", "gateway", str(value)],
        "netdetect": ["-netdetect", "-s", "address", str(value)],
        "mtu": ["-mtu", "-s", "size", str(value)],
        "tls": ["-tls", "-s", "enable", str(int(value is True))],
    }[what]


def _order(entries, current, conf):
    """Devices in an order in which each address is free when it is needed, and problems about addresses that never become free."""
    wanted = {entry["device"]: entry.get("ip") for entry in entries}
    holder = {filed.get("address"): device for device, filed in conf.items() if device not in current}
    holder.update((state["ip"].split("/")[0], device) for device, state in current.items() if state["ip"])
    found, after = [], {}
    for device in sorted(wanted):
        owner = holder.get(wanted[device], device) if wanted[device] else device
        if owner != device and not wanted.get(owner):
            found.append(
                f"device {device}: ip {wanted[device]} is in use by device {owner} of this host; change that one, too"
            )
        elif owner != device:
            after[device] = owner
    order, left = [], sorted(wanted)
    while left:
        ready = [device for device in left if after.get(device) not in left]
        if not ready:
            ring = ", ".join(f"{device} ({wanted[device]})" for device in left)
            found.append(
                f"devices {ring} exchange their addresses, which the tool refuses: move one to a spare address first"
            )
        order += ready or left
        left = [device for device in left if device not in order]
    return order, found
