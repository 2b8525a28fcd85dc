# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of the playbook fabric: what was and what is, as lines of text."""

from __future__ import annotations

import collections
import typing as t

from ...module_utils.tools.how_many import how_many
from ...module_utils.tools.text import one_line

SHOWN = ("ip", "gateway", "netdetect", "mtu", "tls")
HEADER = ("HOST", "DEVICE", "SETTING", "BEFORE", "AFTER")
Diffs = t.Mapping[str, t.Mapping[str, t.Mapping[str, t.Mapping[str, t.Any]]]]


def fabric_text(diffs: Diffs, promised: bool = False) -> list[str]:
    """A table of the changed settings, and how many devices have each value now.

    ``diffs`` maps a host to the ``diff`` of hccn_config: before and after, each {device: {setting: value}}; a setting of the file has
    the ending ``_in_file``. ``promised``: nothing was changed yet.
    """
    rows = [row for host in diffs for row in _rows(host, diffs[host])]
    lines = _table([HEADER, *rows]) if rows else ["No setting differs."]
    after = collections.defaultdict(collections.Counter)  # type: t.DefaultDict[str, collections.Counter[str]]
    for diff in diffs.values():
        for values in (diff.get("after") or {}).values():
            for key in ("tls", "mtu"):
                if key in values:
                    after[key][_shown(key, values[key])] += 1
            after["ip"]["set" if values.get("ip") else "not set"] += "ip" in values
    for key in sorted(after):
        counted = [f"{value} on {how_many(count, 'device')}" for value, count in sorted(after[key].items()) if count]
        if counted:
            lines.append(f"{key} {'would be' if promised else 'is'} {', '.join(counted)}")
    return lines


def fabric_failures(results: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    """What failed on which host, which hosts have all settings and which none of them, and the ways out; empty if nothing failed.

    ``results`` maps each host, in the order of the change, to the result of hccn_config, whose ``msg`` is the reason of a failure; a host
    behind a failed one was skipped.
    """
    failed = {host: one_line(str(result["msg"])) for host, result in results.items() if "msg" in result}
    if not failed:
        return []
    done = [host for host, result in results.items() if host not in failed and "states" in result]
    left = [host for host in results if host not in failed and host not in done]
    lines = [f"{host}: {problem}" for host, problem in failed.items()]
    lines += [f"All settings are set on {', '.join(done)}."] if done else []
    lines += [f"Nothing was changed on {', '.join(left)}."] if left else []
    if not any("states" in result or result.get("unreachable") for result in results.values()):
        return [*lines, "No host was changed. Fix: correct the reason and run the playbook again"]
    return [
        *lines,
        "The hosts of one deployment differ now, so do not start it. Fix: correct the reason and run the playbook again, which changes only what "
        "differs; or set the old values back on all hosts with -e inference_fabric_rollback=true",
    ]


def _rows(host: str, diff: t.Mapping[str, t.Mapping[str, t.Any]]) -> t.Iterator[tuple[str, ...]]:
    before, after = diff.get("before") or {}, diff.get("after") or {}
    for device in sorted(after, key=int):
        for key in SHOWN:
            for name, label in ((key, key), (f"{key}_in_file", f"{key} in file")):
                old, new = before.get(device, {}).get(name), after[device].get(name)
                if old != new:
                    yield host, device, label, _shown(key, old), _shown(key, new)


def _shown(key: str, value: t.Any) -> str:
    if key == "tls" and value is not None:
        return "on" if value in (True, "1") else "off"
    return "-" if value is None else str(value)


def _table(rows: t.Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
