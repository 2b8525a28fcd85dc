# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsers of other npu-smi outputs: ``info -m``, ``-l``, ``-v`` and the ``-t`` queries. Pure: text in, dicts out.

Formats: hicann/driver@ef377e9 npucli/src and outputs of drivers 23.0 to 25.5. Keys become snake_case with the unit
(``HBM Usage Rate(%)`` -> ``hbm_usage_rate_percent``); additional keys of newer drivers are returned unchanged.
"""

from __future__ import annotations

import re

from ..tools.text import ParseError, content, count, is_null, key_value_blocks, snake_case, value

_TOPOLOGY_LABEL = re.compile(r"(?:NPU|Phy-ID)(0|[1-9]\d*)\Z")
_TOPOLOGY_LINK = re.compile(r"X|SYS|PHB|PIX|PXB|HCCS|HCCS_SW|XLink|XLink_SW|SIO|UB|NA")
_CHIP_NAME = re.compile(r"(?:[A-Za-z]\S*(?: \S+)?|\S+)\Z")  # "12 Ascend 910B4" would be a shifted column
_MEASURES = re.compile(
    r"_(?:percent|mib|watts|celsius|mhz|volts|pages|count)\Z|\A(?:npu|chip|slot)_id\Z"
)  # not vdie_id
_NEVER_NEGATIVE = re.compile(r"_(?:percent|mib|watts|mhz|volts|pages|count|size|index)\Z|\Asdid\Z|\Asuper_pod_id\Z")
_CPUS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\Z")


def parse_version(text):
    """``npu-smi -v`` -> the tool's version string."""
    lines = content(text)
    match = re.match(r"npu-smi version:\s*(\S+)\Z", lines[0][1]) if len(lines) == 1 else None
    if not match:
        raise ParseError("expected 'npu-smi version: ...'", text)
    return match.group(1)


def parse_list(text):
    """``npu-smi info -l`` -> list of dicts with ``npu_id`` and the other keys of each NPU's block (``chip_count``, serial)."""
    blocks = [_typed(block, text) for block in key_value_blocks(text)]
    npus = [block for block in blocks if "npu_id" in block]
    if not npus:
        raise ParseError("expected blocks with an NPU ID", text)
    if len({npu["npu_id"] for npu in npus}) != len(npus):
        raise ParseError("an NPU is listed twice: the text contains several outputs", text)
    return npus


def parse_mapping(text):
    """``npu-smi info -m`` -> list of dicts ``npu_id, chip_id, chip_logic_id, chip_phy_id, slot_id, chip_name`` (null if absent).

    Mcu rows are skipped. The chip name is the last column and may contain a space.
    """
    lines = content(text)
    titles = [snake_case(title) for title in re.split(r"\t+|\s{2,}", lines[0][1])] if lines else []
    if titles[:1] != ["npu_id"] or titles[-1:] != ["chip_name"]:
        raise ParseError("expected a header from 'NPU ID' to 'Chip Name'", text)
    chips = []
    for line_number, line in lines[1:]:
        columns = line.split(None, len(titles) - 1)
        if len(columns) != len(titles) or not _CHIP_NAME.match(columns[-1]):
            raise ParseError(f"expected {len(titles)} columns", text, line_number)
        if columns[-1].lower() == "mcu":
            continue
        chip = dict.fromkeys(("npu_id", "chip_id", "chip_logic_id", "chip_phy_id", "slot_id"))
        ids = ["NA" if column == "-1" else column for column in columns[:-1]]  # -1 is an unusable NPU
        chip.update((title, count(token, text, line_number)) for title, token in zip(titles, ids))
        chip["chip_name"] = columns[-1]
        chips.append(chip)
    if not chips:
        raise ParseError("the mapping lists no chip", text)
    return chips


def parse_pairs(text, npu_id=None, expect="", chip_id=None):
    """A ``-t`` output (board, usages, common, memory, ...) -> dict of typed values; the MCU's block becomes the key ``mcu``.

    With ``npu_id`` the output must not be for another NPU. ``chip_id`` selects that chip's part of an output for several chips,
    which must include it. Without it, two chips in one output are a ParseError.
    ``expect`` is a pattern that one of the keys must match, because help texts contain colons, too.
    """
    pairs = {}
    for block in _about_chip([_typed(block, text) for block in key_value_blocks(text)], chip_id, text):
        if str(block.get("chip_name", "")).lower() == "mcu":
            pairs["mcu"] = {key: token for key, token in block.items() if key != "chip_name"}
            continue
        again = sorted(set(block) & set(pairs))
        if again:
            raise ParseError(f"{again[0]} is given twice: the output is for several chips", text)
        pairs.update(block)
    _same_npu(pairs, npu_id, text)
    if not any(re.search(expect, key) for key in pairs):
        raise ParseError(f"expected a key like {expect}", text)
    return pairs


def _about_chip(blocks, chip_id, text):
    """``blocks`` without those about other chips than ``chip_id`` (None: all); the NPU's own keys are kept."""
    named = [block["chip_id"] for block in blocks if "chip_id" in block]
    if chip_id is None or not named:
        return blocks
    if chip_id not in named:
        raise ParseError(f"queried chip {chip_id}, but the output is for chip {', '.join(map(str, named))}", text)
    shared = ("npu_id", "chip_count")
    return [
        block if block.get("chip_id", chip_id) == chip_id else {key: block[key] for key in shared if key in block}
        for block in blocks
    ]


def _typed(block, text):
    record = {}
    for key, token, line in block:
        name = snake_case(key)
        record[name] = (
            token if name.endswith("version") and value(token) is not None else value(token)
        )  # 25.2 is not a number there
        if isinstance(record[name], str) and _MEASURES.search(name) and re.match(r"[-+]?\.?\d", record[name]):
            raise ParseError(f"{token!r} is not a number", text, line)
        if isinstance(record[name], (int, float)) and record[name] < 0 and _NEVER_NEGATIVE.search(name):
            raise ParseError(f"{key} cannot be {token}", text, line)
    return record


def _same_npu(pairs, npu_id, text):
    if npu_id is not None and pairs.get("npu_id", npu_id) != npu_id:
        raise ParseError(f"queried NPU {npu_id}, but the output is for NPU {pairs['npu_id']}", text)


def parse_health(text, npu_id=None, chip_id=None):
    """``-t health`` of one chip -> dict(status, error_codes, messages): codes as upper-case hex strings.

    ``npu_id`` and ``chip_id`` as in :func:`parse_pairs`.
    """
    pairs = {}
    blocks = [{snake_case(key): token for key, token, _line in block} for block in key_value_blocks(text)]
    for block in blocks:
        block.update((key, value(block[key])) for key in ("npu_id", "chip_id") if key in block)
    for block in _about_chip(blocks, chip_id, text):
        if {"health_status", "health"} & set(block) & set(pairs):
            raise ParseError("a second health: the output is for several chips", text)
        pairs.update(block)
    _same_npu(pairs, npu_id, text)
    status = pairs.get("health_status", pairs.get("health"))
    if not status or not re.match(r"[A-Za-z]+\Z", status):
        raise ParseError("expected 'Health Status' or 'Health'", text)
    codes = [] if is_null(pairs.get("error_code", "NA")) else pairs["error_code"].split()
    for code in codes:
        if not re.match(r"(?:0x)?[0-9A-Fa-f]{4,}\Z", code):
            raise ParseError(f"{code!r} is not an error code", text)
    messages = [line for line in pairs.get("error_information", "NA").splitlines() if not is_null(line)]
    return dict(status=status, error_codes=[code.upper() for code in codes], messages=messages)


def parse_superpod(text):
    """``-t spod-info`` -> dict(sdid, super_pod_size, super_pod_id, server_index), all ints.

    A 950 has no SDID, and in a pod a chassis instead of the server index: these are None there.
    """
    pairs = parse_pairs(text)
    record = {key: pairs.get(key) for key in ("sdid", "super_pod_size", "super_pod_id", "server_index")}
    for key in ("super_pod_id",) if "super_pod_type" in pairs else ("sdid", "super_pod_id", "server_index"):
        if not isinstance(record[key], int) or record[key] < 0:
            raise ParseError(f"expected a number for {key}", text)
    for key in record:
        if isinstance(record[key], (str, float)):
            raise ParseError(f"{key} is {record[key]!r}, not a number", text)
    return record


def sdid_parts(sdid):
    """An SDID's own bits: server index 31-22, chip 21-18, die 17-16, device 15-0 (A3 DCMI guide, agrees with real values)."""
    return dict(server_index=sdid >> 22, chip=sdid >> 18 & 0xF, die=sdid >> 16 & 0x3, device=sdid & 0xFFFF)


def sdid_errors(record, device_id=None):
    """Contradictions in a super pod record (of :func:`parse_superpod`): a list of sentences."""
    if record["sdid"] is None:
        return []
    parts = sdid_parts(record["sdid"])
    expected = dict(server_index=record["server_index"], device=parts["chip"] * 2 + parts["die"])
    if device_id is not None:
        expected["device"] = device_id
    problems = [
        f"its bits encode {key} {parts[key]}, but it belongs to {key} {expected[key]}"
        for key in sorted(expected)
        if parts[key] != expected[key]
    ]
    if record["sdid"] >> 32:
        problems.append("it has more than 32 bits")
    return [f"SDID {record['sdid']}: {problem}" for problem in problems]


def parse_topology(text):
    """``-t topo`` -> dict(matrix={id: {id: link}}, cpu_affinity={id: cpus}); ids are strings (NPU id, on A3 the physical id)."""
    lines = [(number, line.split()) for number, line in content(text)]
    labels = _topology_labels(lines[0][1] if lines else [], text)
    matrix, affinity = {}, {}
    for line_number, columns in lines[1 : len(labels) + 1]:
        own, links, cpus = columns[0], columns[1 : len(labels) + 1], columns[len(labels) + 1 :]
        if own != labels[len(matrix)] or len(links) != len(labels) or len(cpus) > 1:
            raise ParseError(f"expected the row of {labels[len(matrix)]} with {len(labels)} links", text, line_number)
        strange = [link for link in links if not _TOPOLOGY_LINK.fullmatch(link)]
        if strange or (cpus and not _CPUS.match(cpus[0]) and not is_null(cpus[0])):
            raise ParseError(f"unknown link {(strange or cpus)[0]!r}", text, line_number)
        key = _TOPOLOGY_LABEL.match(own).group(1)
        matrix[key] = dict(zip((_TOPOLOGY_LABEL.match(label).group(1) for label in labels), links))
        if cpus:
            affinity[key] = value(cpus[0]) if is_null(cpus[0]) else cpus[0]
    _square(matrix, labels, text)
    again = [line_number for line_number, columns in lines[len(labels) + 1 :] if _TOPOLOGY_LABEL.match(columns[0])]
    if again:
        raise ParseError("more rows than NPUs: the text contains several outputs", text, again[0])
    return dict(matrix=matrix, cpu_affinity=affinity)


def _topology_labels(columns, text):
    labels = columns[:-2] if columns[-2:] == ["CPU", "Affinity"] else columns
    if not labels or not all(_TOPOLOGY_LABEL.match(label) for label in labels) or len(set(labels)) != len(labels):
        raise ParseError("expected a header of NPU0 NPU1 ... or Phy-ID0 Phy-ID1 ...", text)
    return labels


def _square(matrix, labels, text):
    if len(matrix) != len(labels):
        raise ParseError(f"expected {len(labels)} rows, found {len(matrix)}", text)
    for source, links in matrix.items():
        for other, link in links.items():
            if (link == "X") != (source == other) or matrix[other][source] != link:
                raise ParseError(f"the links between {source} and {other} contradict each other", text)
