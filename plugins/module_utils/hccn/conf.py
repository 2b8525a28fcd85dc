# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/etc/hccn.conf, which the driver applies at boot: ``key_<physical id>=value``. Pure: text in, records out.

Facts (hicann/driver@ef377e9 network/hccn cfg.c): no blanks round '='; '#' only in the first column; on reading, the first line
of a key wins; editing the file changes no device until ``hccn_tool -cfg recovery`` or a reboot.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import stat

_LINE = re.compile(r"([A-Za-z][\w.]*?)_(0|[1-9]\d?)=(.*)\Z")
_ROUTE = re.compile(r"route_address_([\d.]+)_netmask_([\d.]+)\Z")
REPEATABLE = ("arp", "ip_rule", "ip_route", "IPv6neigh")


def parse_hccn_conf(text):
    """-> (devices, problems): devices maps a device id to its keys as strings; repeatable keys and ``routes`` are lists."""
    devices, problems = {}, []
    for line_number, raw in enumerate(text.splitlines(), 1):
        line = raw.rstrip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if not match:
            problems.append(f"hccn.conf line {line_number} is not key_N=value: {line[:80]!r}")
            continue
        key, device, value = match.group(1), int(match.group(2)), match.group(3)
        entry = devices.setdefault(device, {})
        route = _ROUTE.match(key)
        if route:
            gateway = value[len("gateway_") :] if value.startswith("gateway_") else value
            entry.setdefault("routes", []).append(dict(address=route.group(1), netmask=route.group(2), gateway=gateway))
        elif key in REPEATABLE:
            entry.setdefault(key, []).append(value)
        elif key in entry and entry[key] != value:
            problems.append(
                f"hccn.conf line {line_number}: {key}_{device} is set twice; the first value {entry[key]!r} counts"
            )
        else:
            entry.setdefault(key, value)
    return devices, problems


def read_hccn_conf(path):
    """The parsed file -> (devices, problems); an unreadable file is a problem and no devices."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return parse_hccn_conf(handle.read())
    except OSError as error:
        return {}, [f"{path} cannot be read: {error.strerror}"]


def read_access(path):
    """Who may read the file: dict(mode, owner, group), as in dict(mode="0640", owner="root", group="HwHiAiUser"); {} if there is none.

    ``mode`` is octal text; ids without a name are numbers as text.
    """
    try:
        found = os.stat(path)
    except OSError:
        return {}
    return dict(
        mode=f"{stat.S_IMODE(found.st_mode):04o}",
        owner=_name(pwd.getpwuid, found.st_uid),
        group=_name(grp.getgrgid, found.st_gid),
    )


def _name(lookup, number):
    try:
        return lookup(number)[0]
    except KeyError:
        return str(number)


def stale_addresses(live, conf, expected=None):
    """Devices whose live address differs from the file or from ``expected``: list of dict(device_id, live, file, expected).

    ``live`` maps device id to address (None: none set), ``conf`` is :func:`parse_hccn_conf`'s devices or None if the file is
    unknown, ``expected`` maps device id to address.
    """
    stale = []
    for device in sorted(live):
        wanted = (expected or {}).get(device)
        filed = None if conf is None else conf.get(device, {}).get("address")
        if (conf is not None and live[device] != filed) or (wanted is not None and live[device] != wanted):
            stale.append(dict(device_id=device, live=live[device], file=filed, expected=wanted))
    return stale
