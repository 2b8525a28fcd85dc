# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parser of the table of ``npu-smi info``. Pure: text in, dicts out, ParseError for unknown formats.

Facts (hicann/driver@ef377e9 npucli/src/npu_info_print*.c; outputs of drivers 22.0 to 26.x): two rows per chip; A3 repeats the card
row for each die; the card row is missing if the health value is unknown, the chip row if the physical id can't be read; NPU ids
are sparse; process names may be empty; a ``[WARNING]`` line may follow the table.
"""

from __future__ import annotations

import re
from collections import namedtuple

from ..tools.tables import box_lines, misaligned
from ..tools.text import ParseError, count, is_null, number
from .columns import CARD, CHIPS, PROCESSES, header_layout, read_row, unknown_titles

HEALTH_VALUES = ("OK", "Warning", "Alarm", "Critical", "UNKNOWN")
FIELDS = [
    "npu_id",
    "chip_id",
    "device_id",
    "name",
    "health",
    "bus_id",
    "power_watts",
    "temperature_celsius",
    "aicore_percent",
    "memory_used_mib",
    "memory_total_mib",
    "hbm_used_mib",
    "hbm_total_mib",
    "hugepages_used",
    "hugepages_total",
]
_WORDS = ("name", "health", "bus_id")
_PAIRS = (
    ("memory_used_mib", "memory_total_mib"),
    ("hbm_used_mib", "hbm_total_mib"),
    ("hugepages_used", "hugepages_total"),
)
_TITLE = re.compile(r"npu-smi\s+(\S+)\s+Version:\s*(\S+)\Z")
_IDLE = re.compile(r"No running processes found in NPU (0|[1-9]\d*)(?:\s+Chip (?:0|[1-9]\d*))?\Z", re.IGNORECASE)

# role: title, card, chip, process, idle; group: rows between two full rules (one NPU), block: between two rules of any kind (one
# chip); values: dict of strings
Row = namedtuple("Row", "role group block line values layout")


def parse_info(text):
    """``npu-smi info`` -> dict(npu_smi_version, driver_version, generation, npus, warnings).

    ``npus`` is sorted by device id, then NPU and chip id; memory in MiB, hugepages in pages, power in W. Unknown values are None.
    ``generation`` is 910a, a2, a3, 310p, 950, or None for a chip that is none of them.
    """
    body, warnings = _trim(box_lines(text), text)
    rows = _rows(body, text)
    _one_whole_table(rows, body, text)
    npus = _join([row for row in rows if row.role in ("card", "chip")], warnings)
    if not npus:
        raise ParseError("the table lists no NPU", text)
    _infer_npu_ids(npus, rows, warnings)
    _refuse_duplicates(npus, text)
    _attach_processes(npus, rows, warnings)
    warnings += _inconsistencies(npus, body) + _new_columns(rows)
    title = next((row.values for row in rows if row.role == "title"), {})
    generation = _generation(npus, rows, warnings)
    for npu in npus:
        del npu["group"]
    return dict(
        npu_smi_version=title.get("tool"),
        driver_version=title.get("driver"),
        generation=generation,
        npus=sorted(npus, key=_place),
        warnings=warnings,
    )


def _place(npu):
    return [(npu[field] is None, npu[field] or 0) for field in ("device_id", "npu_id", "chip_id")]


def _trim(lines, text):
    """The drawn lines, and a warning for each line before or after them. An unknown line among the rows is a ParseError."""
    drawn = [index for index, line in enumerate(lines) if line.kind in ("row", "rule", "soft_rule")]
    if not any(line.kind == "row" for line in lines):
        raise ParseError("expected the table of npu-smi info", text)
    body = lines[drawn[0] : drawn[-1] + 1]
    for line in body:
        if line.kind == "other":
            raise ParseError("expected a row of the table", text, line.number)
    outside = lines[: drawn[0]] + lines[drawn[-1] + 1 :]
    warnings = [line.text for line in lines if line.kind == "chatter" or (line.kind == "other" and line in outside)]
    warnings += [f"line {line.number}: rows were left out ('{line.text}')" for line in lines if line.kind == "gap"]
    return [line for line in body if line.kind != "chatter"], warnings


def _one_whole_table(rows, body, text):
    titles = [row.line for row in rows if row.role == "title"]
    if len(titles) > 1:
        raise ParseError("a second table: the text contains several outputs", text, titles[1])
    if rows and rows[-1].role == "card" and rows[-1].line == body[-1].number:
        raise ParseError("the table is cut off after this row", text, rows[-1].line)


def _rows(body, text):
    """All table rows with their meaning, according to the header rows above; without a header the known layouts are tried."""
    rows, group, block, layouts = [], 0, 0, {}
    for line in body:
        group += line.kind == "rule"
        block += line.kind in ("rule", "soft_rule")
        if line.kind != "row":
            continue
        row = _single_cell(line)
        layout = None if row else header_layout(line.cells, text, line.number)
        if layout:
            layouts[layout.role] = layout
            continue
        rows.append((row or _data_row(line, layouts, text))._replace(group=group, block=block))
    return rows


def _single_cell(line):
    if len(line.cells) != 1:
        return None
    title, idle = _TITLE.match(line.cells[0]), _IDLE.match(line.cells[0])
    if title:
        values = {key: None if is_null(token) else token for key, token in zip(("tool", "driver"), title.groups())}
        return Row("title", None, None, line.number, values, None)
    return Row("idle", None, None, line.number, {"npu_id": int(idle.group(1))}, None) if idle else None


def _data_row(line, layouts, text):
    candidates = list(layouts.values()) if "card" in layouts or "chip" in layouts else [CARD] + list(CHIPS)
    if "process" not in layouts:
        candidates += PROCESSES
    for layout in candidates:
        values = read_row(layout, line.cells)
        if values:
            return Row(layout.role, None, None, line.number, values, layout)
    hint = (
        ""
        if line.cells[0][:1].isdigit()
        else "; a header has Health, Bus-Id or Process id as its second or third title"
    )
    raise ParseError("the row matches no column layout of npu-smi info" + hint, text, line.number)


def _join(rows, warnings):
    """Card and chip rows as records. A row without its partner is kept: the other half is null, with a warning."""
    npus, card = [], None
    for row in rows + [None]:
        if row is not None and row.role == "chip" and card and card.block == row.block:
            npus.append(_record(card, row))
            card = None
            continue
        if card:
            npu_id = card.values["npu_id"]
            warnings.append(f"line {card.line}: NPU {npu_id} has no chip row: npu-smi could not read its chip")
            npus.append(_record(card, None))
            card = None
        if row is not None and row.role == "chip":
            warnings.append(
                f"line {row.line}: the chip has no card row: npu-smi cannot read its health, run npu-smi info -t health"
            )
            npus.append(_record(None, row))
        elif row is not None:
            card = row
    return npus


def _record(card, chip):
    npu = dict.fromkeys(FIELDS)
    for row in (card, chip):
        for field, token in (row.values if row else {}).items():
            convert = number if field in ("power_watts", "temperature_celsius", "aicore_percent") else count
            npu[field] = token if field in _WORDS else convert(token or "NA", "", None)
    for field in _WORDS:
        npu[field] = None if is_null(npu[field] or "") else npu[field]
    npu.update(processes=[], group=(card or chip).group)
    return npu


def _infer_npu_ids(npus, rows, warnings):
    """Set the NPU id of a chip without a card row if it is unambiguous: its sibling die's, or the process part's."""
    for npu in npus:
        ids = {other["npu_id"] for other in npus if other["group"] == npu["group"]} - {None}
        if npu["npu_id"] is None and len(ids) == 1:
            npu["npu_id"] = ids.pop()
    groups = sorted({npu["group"] for npu in npus if npu["npu_id"] is None})
    named = {npu["npu_id"] for npu in npus}
    missing = []
    for row in rows:
        npu_id = int(row.values["npu_id"]) if row.role in ("idle", "process") else None
        if npu_id is not None and npu_id not in named and npu_id not in missing:
            missing.append(npu_id)
    if len(groups) == len(missing):
        for npu in npus:
            if npu["npu_id"] is None:
                npu["npu_id"] = missing[groups.index(npu["group"])]


def _refuse_duplicates(npus, text):
    seen = set()
    for npu in npus:
        key = (npu["npu_id"], npu["chip_id"], npu["device_id"])
        if None not in key[:2] and key[:2] in seen:
            raise ParseError(f"NPU {key[0]} chip {key[1]} is listed twice", text)
        seen.add(key[:2])


def _attach_processes(npus, rows, warnings):
    """Assign each process to its chip; warn where the table does not list processes, which does not mean idle."""
    listed = set()
    for row in rows:
        if row.role == "idle":
            listed.add(row.values["npu_id"])
        if row.role != "process":
            continue
        npu_id, chip_id = int(row.values["npu_id"]), row.values.get("chip_id")
        listed.add(npu_id)
        homes = [
            npu
            for npu in npus
            if npu["npu_id"] == npu_id and (chip_id is None or npu["chip_id"] in (int(chip_id), None))
        ]
        process = {
            field: count(row.values.get(field) or "NA", "", None) for field in ("pid", "memory_mib", "container_pid")
        }
        process["name"] = row.values["name"]
        if homes:
            homes[0]["processes"].append(process)
        else:
            warnings.append(
                f"line {row.line}: process {process['pid']} runs on NPU {npu_id}, which the table does not list"
            )
    _warn_unlisted(npus, listed, warnings)


def _warn_unlisted(npus, listed, warnings):
    silent = sorted({npu["npu_id"] for npu in npus if npu["npu_id"] is not None} - listed)
    if silent and not listed:
        warnings.append("the output has no process part: 'processes' is unknown, not empty")
    elif silent:
        warnings.append(
            f"the process part does not list NPU {', '.join(map(str, silent))}: their 'processes' are unknown"
        )


def _inconsistencies(npus, body):
    found = []
    for npu in npus:
        where = "NPU {npu_id} chip {chip_id}".format(**npu)
        if npu["health"] is not None and npu["health"] not in HEALTH_VALUES:
            found.append(f"{where}: unknown health value {npu['health']!r}")
        for used, total in _PAIRS:
            if npu[used] is not None and npu[total] is not None and npu[used] > npu[total]:
                found.append(f"{where}: {used} {npu[used]} is more than {total} {npu[total]}")
        if (npu["aicore_percent"] or 0) > 100:
            found.append(f"{where}: aicore_percent {npu['aicore_percent']} is more than 100")
    ids = [npu["device_id"] for npu in npus if npu["device_id"] is not None]
    found += [f"device id {device} is listed twice" for device in sorted(set(ids)) if ids.count(device) > 1]
    edited = misaligned(body)
    if edited:
        found.append(
            f"line {', '.join(map(str, edited))}: not as wide as the table's border; characters are missing or added"
        )
    if not any(line.kind == "rule" for line in body):
        found.append("the table has no borders: columns were recognised by header or format, and rows may be missing")
    elif body[-1].kind == "row":
        found.append("the table has no closing border: it may be cut off")
    return found


def _new_columns(rows):
    layouts = [row.layout.titles for row in rows if row.layout]
    new = sorted({title for titles in layouts for title in unknown_titles(titles)})
    return [f"unknown column {title!r}: its values are not evaluated" for title in new]


def _generation(npus, rows, warnings):
    layouts = [row.layout for row in rows if row.role in ("card", "chip")]
    titles = {title for layout in layouts for cell in layout.titles for title in cell}
    found = sorted({_generation_of(npu, titles) for npu in npus}, key=str)
    if len(found) > 1:
        warnings.append(f"the table mixes generations: {', '.join(map(str, found))}")
    if found[0] is None:
        warnings.append(f"chip {npus[0]['name']!r} is none of the generations 910a, a2, a3, 310p, 950")
    return found[0]


def _generation_of(npu, titles):
    name = re.sub(r"\A(?:Ascend|Atlas)\s*", "", npu["name"] or "")
    if re.match(r"910B\d", name):
        return "a2"
    if "NPU ID" in titles or re.match(r"950|910_95", name):
        return "950"
    if "Phy-ID" in titles or re.match(r"910_93|910C", name):
        return "a3"
    if name.startswith("310"):
        return "310p" if name.startswith("310P") else None
    if name.startswith("910") and name != "910B":  # this name is ambiguous; the memory decides
        return "910a"
    if "Device" in titles and "HBM-Usage(MB)" not in titles:
        return "310p"
    # names are removed in published outputs: only the first 910 has its own DDR memory
    return "910a" if npu["memory_total_mib"] else "a2"
