# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hccn_tool, simulated: queries, pings, sets with their side effects on device and hccn.conf, exit statuses and streams."""

from __future__ import annotations

import ipaddress
import os
import re

from simulated_host import asks, complain, network_of, say

DONE = "Cmd executed successfully!\n"
OLD = 25  # earlier drivers print older texts


def answer(host, args):
    if args == ["-a", "-cfg", "recovery"]:
        return _recover_all(host)
    if len(args) < 4 or args[0] != "-i" or not re.match(r"\d{1,2}\Z", args[1]):
        return complain(
            "Get invalid major cmd type. Please check the command.\nEnter [ hccn_tool -h ] for more details.\n", 1
        )
    device = host.device(int(args[1]))
    if int(args[1]) > 15:
        return complain("Get invalid device id.\n", 4)
    if device is None:
        return complain("The device is not exist!\n", 4)
    if args[2] == "-cfg" and args[3] == "recovery":
        return _set(host, device, lambda: _recover(host, host.device(device["id"])))
    if args[3] == "-g" and args[2] in GETS:
        return GETS[args[2]](host, device, args[4:])
    if args[3] == "-s" and args[2] in SETS:
        return _set(host, device, lambda: SETS[args[2]](host, host.device(device["id"]), args[4:]))
    return complain("Get unknown option!\n", 3)


# -- queries


def _link(host, device, args):
    return say(f"link status: {device['link']}\n")


def _net_health(host, device, args):
    health = device["net_health"]
    if health is None:
        health = "Init" if not device["netdetect"] else "Success"
        if device["link"] != "UP":
            health = "Fault"
        elif device["netdetect"] and device["ip"] and host.cut(device["ip"][0], device["netdetect"]):
            health = "Unreachable"
    return say(f"net health status: {health}\n")


def _lldp(host, device, args):
    if not device["lldp"]:
        return complain("Command execute failed!\n", 1)
    port, system = device["lldp"]["port"], device["lldp"]["system_name"]
    return say(
        f"Chassis ID TLV\n\tMAC: 02:00:5e:10:00:{device['id']:02x}\nPort ID TLV\n\tIfname: {port}\nTime to Live TLV\n\t120\n"
        f"System Name TLV\n\t{system}\nSystem Description TLV\n\tSimulated switch\n\nSimulated Software, Version 1\n\n"
        "System Capabilities TLV\n\tEnabled capabilities: Bridge, Router\nEnd of LLDPDU TLV\n"
    )


def _netdetect(host, device, args):
    label = "addr" if int(host.state["driver"].split(".")[0]) > OLD else "address"
    return say(f"netdetect {label}: {device['netdetect'] or '0.0.0.0'}\n")


def _gateway(host, device, args):
    if not device["gateway"]:
        return complain("Get gateway failed, because no gateway was preset there!\n", 2)
    return say(f"default gateway:{device['gateway']}, Iface:eth{device['id']}\n")


def _ip(host, device, args):
    if not device["ip"]:
        return complain("Get ipconf failed, because no ip was preset there!\n", 13)
    return say("ipaddr:{}\nnetmask:{}\n".format(*device["ip"]))


def _vnic(host, device, args):
    vnic = device["vnic"]
    return say(f"vnic link status: {vnic['link']}\nvnic ipaddr: {vnic['address']}\nvnic netmask: {vnic['netmask']}\n")


def _tls(host, device, args):
    preset = "" if int(host.state["driver"].split(".")[0]) < 24 else "tls preconfigured[1](0:non-preset, 1:preset), "
    head = f"dev_id:{device['id']}, tls switch[{int(device['tls'])}](0:disable, 1:enable), {preset}tls alarm time threshold[60]days\n"
    subject = "CN=simulated"
    return say(
        head
        + f"dev_id:{device['id']}, [pub cert] info:\n\t issuer[/{subject}-ca]\n\t start_time[Mon Jan  5 00:00:00 2026 GMT]\n"
        "\t end_time[Sat Jan  5 00:00:00 2036 GMT]\n"
    )


def _optical(host, device, args):
    if not device["optical"]:
        return say("Optical module is not present.\n", 20)
    pairs = [("present", "present"), ("temperature", "44 C"), ("vendor name", "Simulated"), ("Vcc", "3290.10 mV")]
    pairs += [("RxPower High Thres", "3.5481 mW"), ("RxPower Low Thres", "0.1445 mW")]
    pairs += [("Rx Power0", f"{device.get('rx_power', 1.1020):.4f} mW"), ("Host SNR Lane0", "not supported")]
    return say("optical info:\n" + "".join(f"{key:<21}: {value}\n" for key, value in pairs))


def _link_stat(host, device, args):
    prefix, downs = f"[devid {device['id']}]", _grown(host, device, "link_downs")
    lines = [
        "current time        : Mon Nov  2 10:00:00 2026",
        f"link up count       : {downs + 1}",
        f"link down count     : {downs}",
        "link change records :",
    ]
    lines.append("    Sun Nov  1 09:00:00 2026    LINK UP")
    return say("".join(prefix + line + "\n" for line in lines))


def _stat(host, device, args):
    counters = {
        "mac_tx_mac_pause_num": 0,
        "roce_rx_err_pkt_num": _grown(host, device, "rx_errors"),
        "nic_tx_all_pkg_num": 1000 + device["id"],
    }
    return say("packet statistics:\n" + "".join(f"{name}:{number}\n" for name, number in counters.items()))


def _mac(host, device, args):
    return say(f"mac addr: {device['mac']}\n")


def _mtu(host, device, args):
    return say(f"mtu:{device['mtu']}\n")


def _speed(host, device, args):
    return say("Speed: Unknown!\n" if device["link"] != "UP" else f"Speed: {device['speed']} Mb/s\n")


def _fec(host, device, args):
    mode = device.get("fec", "rs")
    return say(f"fec mode: {mode} FEC mode\n") if mode else complain("Get unknown option!\n", 3)


def _grown(host, device, name):
    """A counter that grows by ``<name>_grow`` with each reading."""
    if device.get(name + "_grow"):
        with host.change():
            current = host.device(device["id"])
            current[name] = current.get(name, 0) + current[name + "_grow"]
    return host.device(device["id"]).get(name, 0)


def _route(host, device, args):
    form = "{:<15} {:<15} {:<15} {:<5} 0      0        0 {}\n"
    text = "Routing table:\nDestination     Gateway         Genmask         Flags Metric Ref    Use Iface\n"
    interface = f"eth{device['id']}"
    if device["gateway"]:
        text += form.format("default", device["gateway"], "0.0.0.0", "UG", interface)
    for route in device["routes"]:
        text += form.format(route["address"], route["gateway"], route["netmask"], "UG", interface)
    if device["ip"]:
        text += form.format(str(network_of(device).network_address), "*", device["ip"][1], "U", interface)
    return say(text + form.format("127.0.0.1", "*", "255.255.255.255", "UH", "lo"))


def _arp(host, device, args):
    return say(
        "arp table:\n"
        + (f"? ({device['gateway']}) at 02:00:5e:00:00:01 [ether]  on eth{device['id']}\n" if device["gateway"] else "")
    )


def _ping(host, device, args):
    if args[:1] != ["address"] or len(args) not in (2, 4):
        return complain("Get invalid parameters!\n", 1)
    alive = host.reaches(device, args[1])
    text = f"device {device['id']} PING {args[1]}\n"
    if alive:
        text += "".join(f"recv seq={number},time={0.05 + number / 1000:.6f}ms\n" for number in range(3))
    text += f"3 packets transmitted, {3 if alive else 0} received, {0 if alive else 100:.2f}% packet loss\n"
    failure = complain("Command execute failed!\n", 1)
    return say(text) if alive else failure._replace(out=text)


def _hccs_ping(host, device, args):
    options = dict(zip(args[::2], args[1::2]))
    if host.state["generation"] not in ("a2", "a3") or not host.state["super_pod"]:
        return say("The command is not supported on this product.\n", 13)
    target, packets = options.get("address", options.get("sdid")), int(options.get("cnt", 3))
    alive = host.reaches_over_hccs(device, target)
    text = f"device {device['id']} PING {target}\n\n"
    for number in range(packets):
        text += "This pkt ping success!\n" if alive else "This pkt check recv msg fail!\n"
        result = "0x0" if alive else "0x1"
        text += f"recv seq {number}, time = {20 + number}.125us, L1 plane check result = {result}\n\n"
    text += (
        f"{packets} packets transmitted, {packets if alive else 0} received, {0 if alive else 100:.2f}% packets loss\n"
    )
    return say(
        text + "max time 22.125us\nmin time 20.125us\naverage time 21.125us\nTP95 time 22.125us\n"
    )  # exit status 0 even if all packets are lost


# -- changes


def _set(host, device, action):
    if not host.behaviour["root"]:
        return complain("permission denied: pls check this cmd run permission.\n", 12)
    if not os.path.exists(host.conf_path):
        return complain("The hccn.conf can't access, please check it.\n", 29)
    with host.change():
        return action() or say(DONE)


def _set_ip(host, device, args):
    options = dict(zip(args[::2], args[1::2]))
    try:
        network = ipaddress.ip_network("{address}/{netmask}".format(**options), strict=False)
        address = ipaddress.ip_address(options["address"])
    except (KeyError, ValueError):
        return complain("The ip address you configured is invalid!\n", 6)
    others = [other for other in host.devices if other["id"] != device["id"] and other["ip"]]
    if host.state["generation"] == "a3":
        others = [other for other in others if other["npu"] == device["npu"]]
    if any(other["ip"][0] == options["address"] for other in others) or address in ipaddress.ip_network(
        "192.168.1.0/24"
    ):
        return complain("The ip address configured is conflicted!\n", 7)
    device["ip"] = [options["address"], options["netmask"]]
    for route in [route for route in device["routes"] if ipaddress.ip_address(route["gateway"]) not in network]:
        device["routes"].remove(route)
        host.conf_set(f"route_address_{route['address']}_netmask_{route['netmask']}", device["id"], None)
    if device["gateway"] and ipaddress.ip_address(device["gateway"]) not in network:
        device["gateway"] = None
        host.conf_set("gateway", device["id"], None)
    host.conf_set("address", device["id"], options["address"])
    host.conf_set("netmask", device["id"], options["netmask"])
    return None


def _set_gateway(host, device, args):
    if not device["ip"]:
        return complain("Unable to configure gateway, because ip is not configured!\n", 26)
    if ipaddress.ip_address(args[1]) not in network_of(device):
        return complain("The segment of configured gateway doesn't match that of the configured ip adress!\n", 8)
    device["gateway"] = args[1]
    host.conf_set("gateway", device["id"], args[1])
    return None


def _set_netdetect(host, device, args):
    device["netdetect"] = None if args[1] == "0.0.0.0" else args[1]
    host.conf_set("netdetect", device["id"], args[1])
    return None


def _set_tls(host, device, args):
    if args[0] != "enable" or args[1] not in ("0", "1"):
        return complain("Get invalid parameters!\n", 1)
    device["tls"] = args[1] == "1"
    host.conf_set("tls_enable", device["id"], args[1])
    return None


def _set_mtu(host, device, args):
    if args[0] != "size" or not 68 <= int(args[1]) <= 9702:
        return complain("The mtu you configured is out of range!\n", 13)
    device["mtu"] = int(args[1])
    host.conf_set("mtu", device["id"], args[1])
    return None


def _set_link(host, device, args):
    if args[0] == "down" and not asks("The IPv6 address will be lost, are you sure to continue?(y/n)"):
        return say("User aborts command.\n", 22)
    device["link"] = args[0].upper()
    return None


def _recover(host, device):
    """Apply hccn.conf to the device, as at boot."""
    filed = dict(line.split("=", 1) for line in host.conf_lines() if "=" in line and not line.startswith("#"))
    own = {
        key: filed.get(f"{key}_{device['id']}") for key in ("address", "netmask", "gateway", "netdetect", "tls_enable")
    }
    if own["address"] and own["netmask"]:
        device["ip"] = [own["address"], own["netmask"]]
    device["gateway"] = own["gateway"]
    device["netdetect"] = own["netdetect"]
    if own["tls_enable"]:
        device["tls"] = own["tls_enable"] == "1"


def _recover_all(host):
    ids = [device["id"] for device in host.devices if device["present"]]
    for device_id in ids:
        _set(host, None, lambda device_id=device_id: _recover(host, host.device(device_id)))
    return say("".join(f"dev:{device_id} recovery success\n" for device_id in ids) + DONE)


GETS = {
    "-link": _link,
    "-net_health": _net_health,
    "-lldp": _lldp,
    "-netdetect": _netdetect,
    "-gateway": _gateway,
    "-ip": _ip,
    "-vnic": _vnic,
    "-tls": _tls,
    "-optical": _optical,
    "-link_stat": _link_stat,
    "-stat": _stat,
    "-mac": _mac,
    "-mtu": _mtu,
    "-speed": _speed,
    "-fec": _fec,
    "-route": _route,
    "-arp": _arp,
    "-ping": _ping,
    "-hccs_ping": _hccs_ping,
}
SETS = {
    "-ip": _set_ip,
    "-gateway": _set_gateway,
    "-netdetect": _set_netdetect,
    "-tls": _set_tls,
    "-mtu": _set_mtu,
    "-link": _set_link,
}
