# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Damaged texts: no crash but ParseError, no hang, and no wrong number that isn't at least warned about.

The damage leaves digits alone (a changed digit makes another right text): it deletes, inserts and replaces other characters,
drops, doubles and cuts lines. So every number that a parser still returns has to be the one from the whole text, or null.
"""

from __future__ import annotations

import os
import random
import re
import time

import ascend_cluster
import pytest
import simulated_npu_smi
from ansible_collections.ascend.inference.plugins.module_utils.hccn import conf, measures, settings
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi import queries
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi.table import FIELDS, parse_info
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import ParseError
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.test_hccn_tool import ANSWERS as HCCN_ANSWERS
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.test_npu_smi import ANSWERS as NPU_SMI_ANSWERS
from simulated_host import Host

ROUNDS = int(os.environ.get("ASCEND_FUZZ_ROUNDS", "400"))
JUNK = " \t|/:.-+=\nxXé%()"
LIMIT = 2.0  # seconds for one text of a few kilobytes; far above what it takes, far below a runaway pattern


def damage(text, rng):
    """One to three injuries that change no digit."""
    for _injury in range(rng.randint(1, 3)):
        lines = text.split("\n")
        kind = rng.choice(["delete", "insert", "replace", "drop line", "double line", "cut"])
        places = [index for index, char in enumerate(text) if not char.isdigit()]
        if kind in ("drop line", "double line"):
            number = rng.randrange(len(lines))
            lines[number : number + 1] = [lines[number]] * (0 if kind == "drop line" else 2)
            text = "\n".join(lines)
        elif kind == "cut":
            ends = [0] + [place for place in range(1, len(text)) if not (text[place - 1] + text[place]).isdigit()]
            text = text[: rng.choice(ends)]  # never within a number: its beginning is a number, too
        elif places:
            place = rng.choice(places)
            text = text[:place] + {"delete": ""}.get(kind, rng.choice(JUNK)) + text[place + (kind != "insert") :]
        if not text:
            return text
    return text


def timed(parse, text):
    started = time.process_time()
    try:
        return parse(text)
    except ParseError as error:
        assert str(error)
        return None
    finally:
        assert time.process_time() - started < LIMIT


def tables(tmp_path):
    for generation in ("a2", "a3", "910a", "310p", "950"):
        for driver in ("25.2.0", "26.0.rc1"):
            state = ascend_cluster.host_state(generation, 0, 6, driver=driver)
            state["devices"][1]["processes"] = [{"pid": 4711, "name": "python", "memory": 60123, "container_pid": 9}]
            state["devices"][3]["hbm" if generation != "310p" else "memory"] = [41234, 65536]
            yield simulated_npu_smi.table(Host(ascend_cluster.write(tmp_path, state)))


def test_table(tmp_path):
    rng = random.Random(20261121)
    survivors = 0
    for text in tables(tmp_path):
        whole = parse_info(text)
        right = {(npu["npu_id"], npu["chip_id"]): npu for npu in whole["npus"]}
        for _round in range(ROUNDS):
            damaged = damage(text, rng)
            result = timed(parse_info, damaged)
            if result is None or result["warnings"]:
                continue
            survivors += 1
            assert result["npus"], damaged
            for npu in result["npus"]:
                twin = right[(npu["npu_id"], npu["chip_id"])]
                wrong = {
                    key: npu[key]
                    for key in FIELDS
                    if not isinstance(npu[key], str) and npu[key] not in (None, twin[key])
                }
                assert not wrong, damaged
                for process in npu["processes"]:
                    assert process["pid"] in (None, 4711) and process["memory_mib"] in (None, 60123), damaged
    assert survivors > ROUNDS / 10  # else this test proves nothing


def test_table_with_warnings_has_no_wrong_number_either_unless_the_row_s_width_is_complained_about(tmp_path):
    rng = random.Random(7)
    for text in tables(tmp_path):
        right = {(npu["npu_id"], npu["chip_id"]): npu for npu in parse_info(text)["npus"]}
        for _round in range(ROUNDS // 2):
            damaged = damage(text, rng)
            result = timed(parse_info, damaged)
            if result is None or any("not as wide" in warning or "shape" in warning for warning in result["warnings"]):
                continue
            for npu in result["npus"]:
                if None in (npu["npu_id"], npu["chip_id"]):
                    continue
                twin = right[(npu["npu_id"], npu["chip_id"])]
                assert all(npu[key] in (None, twin[key]) for key in FIELDS if not isinstance(twin[key], str)), damaged


NUMERIC = dict(HCCN_ANSWERS)
NUMERIC.update(NPU_SMI_ANSWERS)


def numbers(value):
    """Every number anywhere in a result, with the path to it."""
    if isinstance(value, dict):
        return {(key, *path): number for key, item in value.items() for path, number in numbers(item).items()}
    if isinstance(value, (list, tuple)):
        return {(index, *path): number for index, item in enumerate(value) for path, number in numbers(item).items()}
    return {(): value} if isinstance(value, (int, float)) and not isinstance(value, bool) else {}


@pytest.mark.parametrize("name", sorted(NUMERIC))
def test_other_answers(name):
    parse, text, whole = NUMERIC[name]
    rng = random.Random(name)
    known, tokens = {}, {float(word) for word in re.findall(r"\d+(?:\.\d+)?", text)}
    for path, number in numbers(whole).items():
        known.setdefault(name_of(path), set()).add(float(number))
    for _round in range(ROUNDS):
        damaged = damage(text, rng)
        result = timed(parse, damaged)
        for path, number in numbers(result).items():
            right = known.get(name_of(path), tokens)
            # "95.1" that lost its point is 951, or 95 and a stray 1: nothing in a line of key and value tells
            without_point = {float(str(item).replace(".", "")) for item in right} | {
                float(str(item).partition(".")[0]) for item in right
            }
            assert float(number) in right | without_point, (damaged, path, number)


def name_of(path):
    """The last key of a path that isn't a place in a list: places shift when something before them is lost."""
    names = [key for key in path if not isinstance(key, int)]
    return names[-1] if names else None


@pytest.mark.parametrize("parse", [parse_info, queries.parse_topology, settings.parse_lldp, measures.parse_hccs_ping])
def test_noise(parse):
    rng = random.Random(3)
    for _round in range(ROUNDS):
        text = "".join(rng.choice("|+-= \n/:.0123456789ANPUhealtOK(%)") for _char in range(rng.randrange(400)))
        timed(parse, text)


def test_hccn_conf_takes_any_text():
    rng = random.Random(5)
    text = "address_0=10.9.3.4\nnetmask_0=255.255.240.0\n# note\nroute_address_1.2.3.0_netmask_255.255.255.0_0=gateway_1.2.4.5\n"
    for _round in range(ROUNDS):
        devices, problems = conf.parse_hccn_conf(damage(text, rng))
        assert isinstance(devices, dict) and all(isinstance(problem, str) for problem in problems)
