# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All npu-smi queries of the module ``npu_info``, in sequence: the tool does not support parallel calls."""

from __future__ import annotations

import time

from ..tools.errors import ToolError, answer
from .queries import parse_health, parse_pairs, parse_superpod, parse_topology, sdid_errors
from .table import parse_info

PARTS = ("table", "board", "health", "usages", "common", "memory", "ecc", "topology", "superpod")
SUPERPOD = ("super_pod_id", "super_pod_size", "sdid", "server_index")
GIVE_UP = 2  # consecutive failures of a query before the other chips are skipped: each may cost a whole timeout

# part: (npu-smi's type, whether queried per chip, key in the record, parser)
_QUERIES = {
    "board": ("board", False, "board", lambda text, npu, _chip: parse_pairs(text, npu, "version|board_id")),
    "health": ("health", True, "health_report", parse_health),
    "usages": ("usages", True, "usages", lambda text, npu, chip: parse_pairs(text, npu, "_rate_percent", chip)),
    "common": ("common", True, "common", lambda text, npu, chip: parse_pairs(text, npu, "temperature|aicore", chip)),
    "ecc": ("ecc", True, "ecc", lambda text, npu, chip: parse_pairs(text, npu, "ecc|bit|isolated", chip)),
    "memory": ("memory", True, "memory", lambda text, npu, chip: parse_pairs(text, npu, "capacity", chip)),
}


def gather(tool, parts=None, extra=(), devices=None):
    """The module's result for ``parts`` (None: the table, and on A3 the super pod) as a dict; ToolError if a part fails completely.

    ``extra`` parts are queried as well; if all chips fail it is only a warning. Only chips with an id in ``devices`` are queried
    (None: all), so that a dead one among the others costs neither time nor the answers of these.
    """
    requested = set(parts or ["table"])
    result = dict(npus=[], npu_smi_version=None, driver_version=None, generation=None, warnings=[])
    if requested - {"topology"}:
        table, warnings = answer(tool, ["info"], parse_info)
        result.update(table)
        result["warnings"] = table["warnings"] + warnings
    for part in PARTS:
        if (part in requested or part in extra) and part in _QUERIES:
            _ask_chips(result, part, _plain(tool, part), [_QUERIES[part][2]], part in requested, devices)
    if "superpod" in requested or (parts is None and result["generation"] == "a3"):
        _ask_chips(result, "superpod", _superpod(tool), SUPERPOD, parts is not None, devices)
    if "topology" in requested:
        result["topology"], warnings = answer(tool, ["info", "-t", "topo"], parse_topology)
        result["warnings"] += warnings
    result["warnings"] = list(dict.fromkeys(result["warnings"]))  # a library's warning is in each output
    return result


def read_ecc_growth(tool, result, seconds, since, sleep=time.sleep):
    """Read memory errors of chips that have some again, ``seconds`` after ``since`` (time.monotonic()) or later.

    Adds ``ecc_growth`` to their records: ``{seconds, counters}``, with the counters that grew and by how much.
    """
    again = [npu for npu in result["npus"] if _errors(npu.get("ecc"))]
    if again:
        sleep(max(0.0, since + seconds - time.monotonic()))
    passed = round(time.monotonic() - since, 1)
    for npu in again:
        first, second = npu["ecc"], dict(npu)
        try:
            _plain(tool, "ecc")(second)
        except ToolError:
            continue
        grown = {name: value - (first.get(name) or 0) for name, value in _errors(second["ecc"]).items()}
        npu["ecc_growth"] = dict(seconds=passed, counters={name: more for name, more in grown.items() if more > 0})


def _errors(ecc):
    return {
        name: value
        for name, value in (ecc or {}).items()
        if name[-3:] != "_id" and isinstance(value, int) and value > 0
    }


def _plain(tool, part):
    kind, per_chip, key, parse = _QUERIES[part]

    def ask(npu):
        npu[key], warnings = answer(
            tool, _args(kind, npu, per_chip), lambda text: parse(text, npu["npu_id"], npu["chip_id"])
        )
        return warnings

    return ask


def _args(kind, npu, per_chip=True):
    args = ["info", "-t", kind, "-i", str(npu["npu_id"])]
    if per_chip and npu["chip_id"] is not None:  # a 950 has no chips and refuses -c
        args += ["-c", str(npu["chip_id"])]
    return args


def _superpod(tool):
    def ask(npu):
        record, notes = answer(tool, _args("spod-info", npu), parse_superpod)
        npu.update(record)
        where = f"NPU {npu['npu_id']} chip {npu['chip_id']}: "
        return notes + [where + text for text in sdid_errors(record, npu["device_id"])]

    return ask


def _chosen(npus, devices):
    """The chips of ``devices`` (None: all) by physical id; tables without one (A2) count devices as NPUs."""
    key = "device_id" if any(npu["device_id"] is not None for npu in npus) else "npu_id"
    return [npu for npu in npus if devices is None or npu[key] in devices]


def _ask_chips(result, part, ask, keys, required, devices):
    """Query ``keys`` of each chip of ``devices`` (null on failure, and for other chips).

    Failures become one warning, or a ToolError if the part was requested and all chips fail.
    """
    failures, in_a_row, answered = [], 0, 0
    for npu in result["npus"]:
        npu.update(dict.fromkeys(keys))
    for npu in _chosen(result["npus"], devices):
        if npu["npu_id"] is None or in_a_row >= GIVE_UP:
            failures.append(f"NPU {npu['npu_id']} chip {npu['chip_id']} was skipped")
            continue
        try:
            result["warnings"] += ask(npu)
            answered, in_a_row = answered + 1, 0
        except ToolError as error:
            failures.append(str(error))
            in_a_row += 1
    if failures and required and not answered:
        raise ToolError(f"{part}: {failures[0]}")
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        result["warnings"].append(f"{part}: {failures[0]}{more}")
