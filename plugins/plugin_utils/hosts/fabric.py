# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the network between NPUs: links, addresses, TLS.

An A3 has two planes: HCCS (virtual NICs, inside a super pod) and RoCE (ports with cables). The plan selects the one that
carries KV. Findings of the other one are remarks.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
import typing as t

from ...module_utils.tools.how_many import how_many
from ..description.findings import Finding
from ..plan.rules.base import Rules
from .completeness import known_details
from .observed import Observed, Record, fabric_address, majority, place, plane

RULES = Rules()
FAILURES = "knowledge_failures, host, driver and network:"
# Queries whose failure is an error, and those whose failure is a warning, as is that of one that other devices answer; all others are
# remarks.
DECISIVE = {"roce": ("link", "ip", "tls"), "hccs": ("vnic",), "host": ("ip",)}
HELPFUL = {"roce": ("net_health", "gateway", "netdetect"), "hccs": ("tls",), "host": ()}
OPTIONAL = ("fec",)  # not every product and driver has these queries
REMARK = "remark"


def used(case: Observed, host: Record, on: str, severity: str = "") -> str:
    """The severity of a finding on a plane: a remark if the plan does not use the plane on this host."""
    return severity if plane(case.plan, host) == on else REMARK


@RULES.rule(
    "HCCN-HUNG",
    "Check the chip with npu-smi info -t health; reset or replace it, or plan without it (inference_devices).",
    FAILURES + " N3",
)
def hung(case: Observed) -> t.Iterator[Finding]:
    """hccn_tool timed out for a device.

    Tools and engines hang on a chip that has dropped off the bus.
    """
    for host, device, record in case.each_link():
        if record.get("hung"):
            yield Finding.at(
                place(host, device),
                record["hung"],
                "hccn_tool timed out for the device and was stopped",
            )


@RULES.rule(
    "HCCN-ANSWER", "Run the same command manually as root; another process may hold the tool's lock.", "hccn_tool"
)
def unanswered(case: Observed) -> t.Iterator[Finding]:
    """An hccn_tool query failed for a device.

    The state of the device's network is not known.
    """
    for host, device, record in case.each_link():
        errors = {} if record.get("hung") else record.get("errors") or {}
        errors = {query: error for query, error in errors.items() if query not in OPTIONAL}
        on = plane(case.plan, host)
        by_severity: dict[str, list[str]] = {}
        for query in sorted(errors):
            helpful = query in HELPFUL[on] or (on == "roce" and query in known_details(case))
            severity = "error" if query in DECISIVE[on] else "warning" if helpful else REMARK
            by_severity.setdefault(severity, []).append(query)
        for severity, queries in by_severity.items():
            problem = f"hccn_tool fails for {', '.join(queries)}: {errors[queries[0]]}"
            yield Finding.at(place(host, device), "", problem, severity=severity)


@RULES.rule(
    "LINK-DOWN",
    "Check cable, optical module and switch port; hccn_tool -i DEVICE -lldp -g names the port.",
    FAILURES + " N3",
)
def link_down(case: Observed) -> t.Iterator[Finding]:
    """The RoCE port of a planned device has no link.

    Without a link nothing is transferred over RoCE.
    """
    for host, device, record in case.each_link():
        if record.get("link") is not None and str(record["link"]).lower() != "up":
            port = _switch_port(record)
            problem = f"the device's RoCE link is {record['link']}" + (f"; it is cabled to {port}" if port else "")
            yield Finding.at(place(host, device), record["link"], problem, severity=used(case, host, "roce"))


def _switch_port(record: Record) -> str:
    lldp = record.get("lldp") or {}
    return " ".join(str(lldp[key]) for key in ("system_name", "port") if lldp.get(key))


@RULES.rule(
    "VNIC-DOWN",
    "Check the super pod's HCCS switches and the driver; hccn_tool -i DEVICE -vnic -g shows the state.",
    FAILURES + " N6",
)
def vnic_down(case: Observed) -> t.Iterator[Finding]:
    """The virtual NIC of a planned device is down.

    On the HCCS plane KV is transferred through the virtual NIC.
    """
    for host, device, record in case.each_link():
        state = (record.get("vnic") or {}).get("link")
        if state is not None and str(state).lower() != "up":
            problem = f"the device's virtual NIC is {state}"
            yield Finding.at(place(host, device), state, problem, severity=used(case, host, "hccs"))


@RULES.rule(
    "NET-HEALTH",
    "Check that the detection address responds; inference_fabric.netdetect and inference_fabric.gateway change it (playbook fabric).",
    FAILURES + " N3",
)
def net_health(case: Observed) -> t.Iterator[Finding]:
    """The network check of a device fails.

    The chip reports that its detection address does not respond.
    """
    for host, device, record in case.each_link():
        if record.get("healthy") is False and str(record.get("link") or "up").lower() == "up":
            problem = f"the device's network check reports {record.get('net_health')}"
            if record.get("netdetect"):
                problem += f" for the detection address {record['netdetect']}"
            severity = used(case, host, "roce")
            yield Finding.at(place(host, device), record.get("net_health"), problem, severity=severity)


@RULES.rule("NPU-ADDRESS", "Set inference_fabric.addresses and run the playbook fabric.", FAILURES + " N3")
def no_address(case: Observed) -> t.Iterator[Finding]:
    """A planned device has no address on the plane that carries KV.

    Other devices cannot reach it.
    """
    for host, device, record in case.each_link():
        on = plane(case.plan, host)
        query = "vnic" if on == "hccs" else "ip"
        known = query in record and query not in (record.get("errors") or {})
        if known and not fabric_address(record, on):
            yield Finding.at(
                place(host, device), "", f"the device has no {query} address (hccn_tool -i {device} -{query} -g)"
            )


@RULES.rule("NPU-ADDRESS-TWICE", "Correct inference_fabric.addresses and run the playbook fabric.", FAILURES + " N3")
def address_twice(case: Observed) -> t.Iterator[Finding]:
    """Two devices have the same address.

    Transfers reach the wrong device, or none.
    """
    owners: dict[str, list[str]] = {}
    for host, device, record in case.each_link():
        address = fabric_address(record, plane(case.plan, host))
        if address:
            owners.setdefault(address, []).append(place(host, device))
    same_hosts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for address, places in owners.items():
        for other in places[1:]:
            pair = (places[0].rsplit(" device ", 1)[0], other.rsplit(" device ", 1)[0])
            same_hosts.setdefault(pair, []).append((other, address))
    for (first, second), found in same_hosts.items():
        count = len(case.planned_devices(second))
        if first != second and count > 1 and len(found) == count:
            problem = (
                f"all {count} devices have the addresses of {first}'s devices: both names may refer to one machine"
            )
            yield Finding.at(
                second, found[0][1], problem, "Compare ansible_host of the two; remove one from the inventory."
            )
            continue
        for other, address in found:
            yield Finding.at(other, address, f"{owners[address][0]} has the same address {address}")


@RULES.rule(
    "HCCN-STALE",
    "Set inference_fabric.addresses and run the playbook fabric, or apply the file (hccn_tool -i DEVICE -cfg recovery) and restart.",
    "https://github.com/vllm-project/vllm-ascend/pull/16847",
)
def stale(case: Observed) -> t.Iterator[Finding]:
    """The active address of a device differs from /etc/hccn.conf.

    Engines read the file and advertise an address that no device has.
    """
    for host, facts in case.gathered("hccn"):
        planned = case.planned_devices(host["name"])
        for entry in facts.get("stale") or []:
            device = int(entry["device_id"])
            if device in planned:
                live, wanted = entry.get("live"), entry.get("expected") or entry.get("file")
                problem = f"the active address is {live}, /etc/hccn.conf has {wanted}"
                yield Finding.at(place(host, device), live, problem, severity=used(case, host, "roce"))


@RULES.rule(
    "TLS-DIFFERS",
    "Set inference_fabric.tls: false and run the playbook fabric, which switches TLS off on all devices.",
    "https://github.com/vllm-project/vllm-ascend/issues/10224",
)
def tls_differs(case: Observed) -> t.Iterator[Finding]:
    """The TLS switch of a device differs from that of the others.

    Devices with and without TLS cannot connect: transfers fail with status 103900.
    """
    seen = [(host, device, record.get("tls_enabled")) for host, device, record in case.each_link()]
    known = [entry for entry in seen if entry[2] is not None]
    usual = sum(value is False for _host, _device, value in known) * 2 < len(known)
    if len({value for _host, _device, value in known}) > 1:
        for host, device, value in known:
            if value != usual:
                problem = f"TLS is {_on_off(value)} here and {_on_off(usual)} on most of the {len(known)} devices"
                yield Finding.at(place(host, device), _on_off(value), problem, severity=used(case, host, "roce", ""))


@RULES.rule(
    "TLS-ON",
    "Set inference_fabric.tls: false and run the playbook fabric, which switches TLS off on all devices.",
    "https://docs.vllm.ai/projects/ascend/en/latest/tutorials/features/pd_disaggregation_mooncake_multi_node.html",
    "warning",
)
def tls_on(case: Observed) -> t.Iterator[Finding]:
    """TLS is on for all devices.

    vLLM-Ascend's guides switch it off; with TLS on, transfers fail unless every device has a valid certificate.
    """
    known = [
        (host, device, record) for host, device, record in case.each_link() if record.get("tls_enabled") is not None
    ]
    if known and all(record["tls_enabled"] for _host, _device, record in known):
        for host, device, _record in known:
            severity = used(case, host, "roce", "warning")
            yield Finding.at(place(host, device), "on", "TLS is on for the device's network", severity=severity)


@RULES.rule(
    "TLS-CERTIFICATE",
    "Renew the device's certificate (hccn_tool -i DEVICE -tls), or set inference_fabric.tls: false and run the playbook fabric.",
    "hccn_tool reference, -tls",
)
def certificates(case: Observed) -> t.Iterator[Finding]:
    """TLS is on and a device's certificate has expired or expires soon.

    Devices refuse connections with an expired certificate.
    """
    for host, device, record in case.each_link():
        if not record.get("tls_enabled"):
            continue
        now = float((case.part(host, "host").get("clock") or {}).get("epoch") or 0)
        for certificate in record.get("tls_certificates") or []:
            problem, severity = _ending(certificate, now, case.thresholds.certificate_days)
            if problem:
                name = certificate.get("name") or "certificate"
                severity = used(case, host, "roce", severity)
                yield Finding.at(
                    place(host, device), certificate.get("not_after"), f"the {name} {problem}", severity=severity
                )


def _ending(certificate: Record, now: float, least_days: int) -> tuple[str, str]:
    """What is wrong with a certificate's end, and the severity; without a date and a clock, hccn_tool's own state counts."""
    end = _seconds(str(certificate.get("not_after") or ""))
    if end and now:
        days = int((end - now) // 86400)
        if days >= least_days:
            return "", ""
        return (
            (f"expired {how_many(-days, 'day')} ago", "")
            if days < 0
            else (f"expires in {how_many(days, 'day')}", "warning")
        )
    state = certificate.get("expiration")
    if state == "expired":
        return "has expired, according to hccn_tool", ""
    if state == "near_expiration":
        return "expires soon, according to hccn_tool", "warning"
    return ("", "") if state else ("has no date that can be read", "warning")


def _seconds(text: str) -> float:
    """OpenSSL's date (Sat Jan  5 00:00:00 2036 GMT) in seconds since 1970; 0 if it is not a date."""
    try:
        # not strptime: its names of months depend on the locale of the controller
        return float(ssl.cert_time_to_seconds(" ".join(text.split()[1:])))
    except ValueError:
        return 0.0


def _on_off(value: t.Any) -> str:
    return "on" if value else "off"


@RULES.rule(
    "NET-GATEWAY",
    "Set inference_fabric.gateway and inference_fabric.netdetect and run the playbook fabric.",
    FAILURES + " N3",
    "warning",
)
def gateway(case: Observed) -> t.Iterator[Finding]:
    """A RoCE device has no gateway or detection address, or the gateway is in another network.

    Without them the chip cannot check its network or reach devices in other subnets.
    """
    for host, device, record in case.each_link():
        if host["hardware"] != "a2" or record.get("hung"):
            continue
        unknown = record.get("errors") or {}
        names = [
            name for name in ("gateway", "netdetect") if name in record and not record[name] and name not in unknown
        ]
        if names:
            yield Finding.at(place(host, device), ", ".join(names), f"not set: {', '.join(names)}")
        elif outside := _outside(record):
            yield Finding.at(place(host, device), str(record["gateway"]), outside)


def _outside(record: Record) -> str:
    """That the gateway is not in the network of the device's address; empty if it is, or if one of them is unknown."""
    own = record.get("ip") or {}
    try:
        network = ipaddress.ip_interface(f"{own['address']}/{own['netmask']}").network
        inside = ipaddress.ip_address(str(record["gateway"])) in network
    except (KeyError, ValueError):
        return ""
    return "" if inside else f"the gateway {record['gateway']} is not in the device's network {network}"


@RULES.rule(
    "HCCN-CONF",
    "Set inference_fabric.addresses and run the playbook fabric, which writes the file.",
    "https://github.com/vllm-project/vllm-ascend/issues/7711",
)
def no_file(case: Observed) -> t.Iterator[Finding]:
    """/etc/hccn.conf has no address for a planned device.

    Engines read device addresses there; without them KV transfer returns wrong data without an error.
    """
    for host, facts in case.gathered("hccn"):
        if "hccn_conf" not in facts:
            continue
        known = {int(device) for device in facts["hccn_conf"] or {}}
        missing = sorted(set(case.planned_devices(host["name"])) - known)
        if missing and host["hardware"] != "a3":
            yield Finding.at(place(host), missing, f"/etc/hccn.conf has no address for devices {missing}")


@RULES.rule(
    "HCCN-CONF-ACCESS",
    "As root run: chgrp GROUP /etc/hccn.conf && chmod g+r /etc/hccn.conf, where GROUP is the group of the NPU driver.",
    "vLLM-Ascend installation guide: containers mount /etc/hccn.conf; systemd.exec(5) SupplementaryGroups=",
    "warning",
)
def conf_access(case: Observed) -> t.Iterator[Finding]:
    """The user of the services cannot read /etc/hccn.conf.

    Engines do not run as root. They read device addresses there; without them KV transfer fails or returns wrong data.
    """
    for host, facts in case.gathered("hccn"):
        access = facts.get("hccn_conf_access")
        users = service_users(case, host)
        if not access or not users or users == {"root"}:
            continue
        mode = int(access["mode"], 8)
        group = (case.part(host, "host").get("access") or {}).get("group")  # of the driver; services have it
        by_owner = users == {access["owner"]} and mode & 0o400
        by_group = group in (None, access["group"]) and mode & 0o040
        if not (mode & 0o004 or by_owner or by_group):
            have = f"they have the group {group}" if group else "this host has no group of the NPU driver"
            found = f"{access['owner']}:{access['group']}, mode {access['mode']}"
            problem = f"/etc/hccn.conf ({found}) is not readable for the services; {have}"
            yield Finding.at(place(host), access["mode"], problem)


def service_users(case: Observed, host: Record) -> set[str]:
    """Users of a host's engines; "" stands for service_user of the role. Empty for runtimes without a separate user."""
    if not case.plan["runtime_facts"]["own_user"]:
        return set()
    user = case.plan["user"]
    engines = [service for service in case.services(host["name"]) if service["devices"]]
    return {"root" if (service.get("container") or {}).get("user") == "root" else user for service in engines}


@RULES.rule(
    "RAIL-DIFFERS",
    "Set the same value on all devices (inference_fabric.mtu and the prefix lengths of inference_fabric.addresses with the playbook fabric; "
    "the switch port for speed and FEC).",
    FAILURES + " N3",
    "warning",
)
def rail_differs(case: Observed) -> t.Iterator[Finding]:
    """MTU, speed, FEC mode or netmask of a device's port differs from that of the others.

    Large packets are lost if MTUs differ, a slower port slows down its whole group, another FEC mode means another cable or switch
    port setting, and another netmask changes routes.
    """
    for name, label in (("mtu", "MTU"), ("speed", "speed"), ("fec", "FEC mode"), ("netmask", "netmask")):
        values = {}
        for host, device, record in case.each_link():
            value = (record.get("ip") or {}).get("netmask") if name == "netmask" else record.get(name)
            if value is not None and plane(case.plan, host) == "roce":
                values[place(host, device)] = str(value)
        usual = majority(values)
        for where, value in values.items():
            if value != usual:
                yield Finding.at(
                    where, value, f"{label} is {value} here and {usual} on most of the {len(values)} devices"
                )


LANE = re.compile(r"[rt]x_power\d*(?:_milliwatts)?$")


@RULES.rule(
    "OPTICAL",
    "Clean or replace the optical module or the fibre; hccn_tool -i DEVICE -optical -g shows all values.",
    "hccn_tool reference, -optical: the module's own thresholds",
    "warning",
)
def optical(case: Observed) -> t.Iterator[Finding]:
    """The optical module of a device is missing, or its optical power is outside of the module's thresholds.

    A lane with too little power loses packets or drops the link under load.
    """
    for host, device, record in case.each_link():
        found = record.get("optical")
        if not found or plane(case.plan, host) != "roce":
            continue
        if found.get("present") is False:
            if str(record.get("link")).lower() != "up":
                yield Finding.at(place(host, device), "", "no optical module is plugged in")
            continue
        unknown = [key for key, value in found.items() if LANE.match(key) and value is None]
        powers = [value for key, value in found.items() if LANE.match(key) and value is not None]
        if unknown or not powers:
            problem = f"the optical module does not report {', '.join(sorted(unknown)) or 'its optical power'}"
            # a module may have no sensors, as copper cables; one with sensors that states only some of them is damaged
            yield Finding.at(place(host, device), "", problem, severity="" if powers else REMARK)
        for side in ("rx", "tx"):
            low, high = (found.get(f"{side}_power_{edge}_thres_milliwatts") for edge in ("low", "high"))
            lanes = {
                key: value
                for key, value in found.items()
                if key.startswith(f"{side}_power") and "thres" not in key and isinstance(value, (int, float))
            }
            for key, value in sorted(lanes.items()):
                if (low is not None and value < low) or (high is not None and value > high):
                    lane = key[len(side) + 6 : -len("_milliwatts")]
                    problem = (
                        f"{side} power of lane {lane or '0'} is {value} mW, the module's range is {low} to {high} mW"
                    )
                    yield Finding.at(place(host, device), f"{value} mW", problem)


@RULES.rule(
    "LINK-FLAPS",
    "Check cable, optical module and switch port; hccn_tool -i DEVICE -link_stat -g shows when it happened.",
    "hccn_tool reference, -link_stat",
    "warning",
)
def flaps(case: Observed) -> t.Iterator[Finding]:
    """The link of a device goes down while it is checked, or went down repeatedly since the chip started.

    All transfers over the link fail each time.
    """
    for host, device, record in case.each_link():
        downs = (record.get("link_stat") or {}).get("link_down_count") or 0
        if plane(case.plan, host) != "roce":
            continue
        more = grown(record).get("link_downs", 0)
        if more:
            problem = f"the link went down {how_many(more, 'time')} in {record['growth']['seconds']:g} seconds"
            yield Finding.at(place(host, device), downs, problem, severity="error")
        elif downs > case.thresholds.link_downs:
            limit = f"allowed: {case.thresholds.link_downs}, threshold link_downs"
            problem = f"the link went down {how_many(downs, 'time')} since the chip started{_not_now(record)} ({limit})"
            yield Finding.at(place(host, device), downs, problem, severity=_past(record))


def grown(record: Record) -> dict[str, int]:
    """Error counters of a port that grew between two readings, and by how much."""
    return (record.get("growth") or {}).get("counters") or {}


def _not_now(record: Record) -> str:
    return f", but not in the last {record['growth']['seconds']:g} seconds" if record.get("growth") else ""


def _past(record: Record) -> str:
    """The severity of errors that are not seen to go on: a remark; empty (a warning) if there was no second reading."""
    return REMARK if record.get("growth") else ""


COUNTERS = (
    "roce_rx_err_pkt_num",
    "roce_tx_err_pkt_num",
    "crc_error_sum",
    "mac_rx_fcs_err_pkt_num",
    "mac_rx_bad_pkt_num",
)


@RULES.rule(
    "PACKET-ERRORS",
    "Check cable and optical module; watch the counter with hccn_tool -i DEVICE -stat -g under load.",
    "hccn_tool reference, -stat",
    "warning",
)
def packet_errors(case: Observed) -> t.Iterator[Finding]:
    """The port of a device counts damaged packets, or has counted some since the chip started.

    Damaged packets are retransmitted; many of them slow down or break transfers.
    """
    for host, device, record in case.each_link():
        counters, more = record.get("stats") or {}, grown(record)
        now = {name: more[name] for name in COUNTERS if more.get(name, 0) > case.thresholds.error_packets}
        before = {
            name: counters[name] for name in COUNTERS if (counters.get(name) or 0) > case.thresholds.error_packets
        }
        bad = now or before
        if not bad or plane(case.plan, host) != "roce":
            continue
        shown = ", ".join(f"{name} {value}" for name, value in bad.items())
        if now:
            problem = f"damaged packets in {record['growth']['seconds']:g} seconds: {shown}"
            yield Finding.at(place(host, device), shown, problem)
        else:
            problem = f"damaged packets since the chip started{_not_now(record)}: {shown}"
            yield Finding.at(place(host, device), shown, problem, severity=_past(record))
