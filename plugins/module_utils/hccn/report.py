# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of the module ``hccn_info``: the state of devices, compared with the file and the plan."""

from __future__ import annotations

import ipaddress

from .conf import read_hccn_conf, stale_addresses
from .gather import RetryingTool, read_devices
from .settings import HEALTHY


def report(tool, devices, queries, workers, conf_path, expected=None):
    """-> dict(devices, hccn_conf, stale, serial, warnings); ``expected`` (device to address) is checked first: ValueError."""
    expected = expected_addresses(expected)
    retrying_tool = RetryingTool(tool)
    answers = read_devices(retrying_tool, devices, queries, workers)
    conf, warnings = read_hccn_conf(conf_path)
    known = None if not conf and warnings else conf
    entries = [_entry(device, answers[device], warnings) for device in devices]
    if queries and entries and all(len(entry["errors"]) == len(queries) for entry in entries):
        warnings.insert(0, f"All queries of all devices failed. The first error: {entries[0]['errors'][queries[0]]}")
    live = {
        entry["device_id"]: (entry["ip"] or {}).get("address")
        for entry in entries
        if "ip" in entry and "ip" not in entry["errors"]
    }
    return dict(
        devices=entries,
        hccn_conf={str(device): keys for device, keys in sorted(conf.items())},
        stale=stale_addresses(live, known, expected),
        serial=retrying_tool.serial,
        warnings=list(dict.fromkeys(warnings)),  # a library's warning is in each output
    )


def expected_addresses(expected):
    """Option ``expected`` (keys may be strings) as {int: address}; raises ValueError with all invalid entries."""
    wrong, addresses = [], {}
    for device, address in (expected or {}).items():
        try:
            addresses[int(device)] = str(ipaddress.ip_address(str(address)))
        except ValueError:
            wrong.append(f"{device}: {address}")
    if wrong:
        raise ValueError(f"expected: device id to IP address, as in '0: 10.20.0.10'; these are not: {', '.join(wrong)}")
    return addresses


def _entry(device, answer, warnings):
    values, entry = answer["values"], dict(device_id=device, errors=answer["errors"])
    entry.update((name, value) for name, value in values.items() if name not in ("ip", "tls"))
    if "net_health" in values:
        entry["healthy"] = None if values["net_health"] is None else values["net_health"] in HEALTHY
    if "tls" in values:
        tls = values["tls"] or {}
        entry.update(tls_enabled=tls.get("enabled"), tls_certificates=tls.get("certificates", []))
    if "ip" in values:
        entry["ip"] = _first_pair(device, values["ip"], warnings)
    if answer["hung"]:
        entry["hung"] = answer["hung"]
    warnings += answer["warnings"]
    return entry


def _first_pair(device, pairs, warnings):
    if not pairs or pairs[0]["address"] is None:
        return None
    if len(pairs) == 1:
        return pairs[0]
    warnings.append(f"device {device} has {len(pairs)} addresses (a bonded port?): the first one is used")
    return dict(pairs[0], all=pairs)
