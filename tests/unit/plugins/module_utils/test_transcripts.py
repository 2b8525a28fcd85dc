# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same answer, as terminals, collectors, editors and the driver's libraries hand it on; and two answers in one text."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.hccn.measures import parse_link_stat, parse_optical
from ansible_collections.ascend.inference.plugins.module_utils.hccn.settings import parse_ip, parse_lldp, parse_tls
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi.queries import (
    parse_health,
    parse_list,
    parse_pairs,
    parse_topology,
)
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi.table import parse_info
from ansible_collections.ascend.inference.plugins.module_utils.tools.errors import answer
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Output
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import ParseError, chatter
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils import test_npu_smi_table as tables
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.test_hccn_tool import ANSWERS as HCCN_ANSWERS
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.test_npu_smi import ANSWERS as NPU_SMI_ANSWERS


def fields(text):
    """What the table says, without what was said around it."""
    return {key: value for key, value in parse_info(text).items() if key != "warnings"}


CASES = {
    name: (parse, text) for name, (parse, text, _whole) in list(HCCN_ANSWERS.items()) + list(NPU_SMI_ANSWERS.items())
}
CASES.update((name, (fields, case[0])) for name, case in tables.TABLES.items())

LIBRARY = "DrvMngGetConsoleLogLevel failed. (ret=4)"


def amid(text, line):
    lines = text.split("\n")
    return "\n".join(lines[: len(lines) // 2] + [line] + lines[len(lines) // 2 :])


DRESSES = {
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "line ends of a recorded terminal": lambda text: text.replace("\n", "\r\r\n"),
    "blanks at the ends": lambda text: text.replace("\n", "  \t\n"),
    "no last line end": lambda text: text.rstrip("\n"),
    "indented": lambda text: re.sub("(?m)^(?=.)", "    ", text),
    "empty lines around": lambda text: "\n\n" + text + "\n\n",
    "byte order mark": lambda text: "\ufeff" + text,
    "zero bytes of a console log": lambda text: text + "\0\0",
    "colours": lambda text: re.sub(r"\b(OK|UP|DOWN|Alarm|Warning)\b", "\x1b[1;31m\\1\x1b[0m", text),
    "coloured lines": lambda text: re.sub("(?m)^(.+)$", "\x1b[0m\\1\x1b[K", text),
    "prompt of root": lambda text: "[root@node-3 ~]# npu-smi info\n" + text + "[root@node-3 ~]# \n",
    "prompt of a user": lambda text: "(NPU) [HwHiAiUser@node-3 ~]$ sudo hccn_tool -i 3 -ip -g\n" + text,
    "prompt with a colon": lambda text: "root@node-3:/opt# npu-smi info -t usages -i 3 -c 0\n" + text,
    "command of a collector": lambda text: "/usr/local/Ascend/driver/tools/hccn_tool -i 3 -ip -g\n" + text,
    "date": lambda text: "Sat Nov 21 08:30:12 UTC 2026\n" + text,
    "the driver's library before": lambda text: LIBRARY + "\n" + text,
    "the driver's library amid": lambda text: amid(text, LIBRARY),
    "the tool's logging before": lambda text: '[WARNING] "/var/log/x" is not a directory, logs may be lost.\n' + text,
    "the tool's warning behind": lambda text: text + "[WARNING]The driver package may be incomplete.\n",
}


@pytest.mark.parametrize("dress", sorted(DRESSES))
def test_a_dress_changes_nothing(dress):
    changed = 0
    for name, (parse, text) in CASES.items():
        dressed = DRESSES[dress](text)
        changed += dressed != text
        assert parse(dressed) == parse(text), name
    assert changed > 5


def test_chatter_alone_is_no_answer():
    for name, (parse, _text) in CASES.items():
        with pytest.raises(ParseError):
            parse(f"{LIBRARY}\n[WARNING] something\n[root@node-3 ~]# npu-smi info\n")
        assert name


def test_the_table_says_what_else_was_printed():
    text = amid(LIBRARY + "\n" + tables.A3, "[WARNING]The driver package may be incomplete.")
    assert parse_info(text)["warnings"][:2] == [LIBRARY, "[WARNING]The driver package may be incomplete."]


def test_every_other_answer_passes_it_on_as_a_warning():
    output = Output(["hccn_tool"], 0, f"{LIBRARY}\nipaddr:10.9.3.4\nnetmask:255.255.240.0\n", "", False)
    pairs, notes = answer(lambda _args, _stdin: output, ["-i", "3", "-ip", "-g"], parse_ip)
    assert pairs == [{"address": "10.9.3.4", "netmask": "255.255.240.0"}] and notes == [LIBRARY]


@pytest.mark.parametrize(
    "line",
    [
        "hccn_tool is busy, please try again.",
        "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]",
        "npu-smi: error while loading shared libraries: libx.so: cannot open shared object file",
        "Enter [ hccn_tool -h ] for more details.",
        "| npu-smi 25.5.0                   Version: 25.5.0    |",
        "npu-smi version: 25.5.0",
        "[devid 3]    Sun Nov  1 10:13:51 2026    LINK UP",
        "Error Code                     : NA",
    ],
)
def test_answers_and_errors_are_no_chatter(line):
    assert chatter(line) == []


def test_a_date_is_no_key():
    assert parse_pairs("Sat Nov 21 08:30:12 UTC 2026\n\tNPU ID     : 3\n") == {"npu_id": 3}


TWICE = [
    (parse_info, tables.A2),
    (parse_info, tables.A2.replace("| 2 ", "| 1 ").replace("| 6 ", "| 3 ").replace("NPU 6", "NPU 3")),
    (parse_link_stat, HCCN_ANSWERS["link_stat, newer"][1]),
    (parse_list, NPU_SMI_ANSWERS["25.0 -l, two NPUs"][1]),
    (parse_lldp, HCCN_ANSWERS["lldp with empty lines"][1]),
    (parse_topology, "\t   NPU0 NPU1\nNPU0 X HCCS\nNPU1 HCCS X\nLegend:\n  X = Self\n"),
    (parse_health, "\tHealth Status                  : OK\n\tError Code                     : NA\n"),
]


@pytest.mark.parametrize(
    "parse, text", TWICE, ids=[f"{number} {case[0].__name__}" for number, case in enumerate(TWICE)]
)
def test_two_answers_in_one_text_are_an_error(parse, text):
    parse(text)
    first = tables.A2 if parse is parse_info else text
    with pytest.raises(ParseError, match="second|twice|several"):
        parse(first + text)


def test_addresses_of_many_devices_are_an_error():
    text = "".join(f"ipaddr:10.9.3.{host}\nnetmask:255.255.240.0\n" for host in range(4, 8))
    with pytest.raises(ParseError, match="several outputs"):
        parse_ip(text)


def test_a_950_s_link_history_twice_is_an_error():
    table = (
        "+-----+------+------+-------------+--------------------------+\n"
        "| NPU | UDie | Port | Link_Status | Time_Stamp               |\n"
        "+-----+------+------+-------------+--------------------------+\n"
        "| 2   | 1    | 5    | LINK_UP     | Mon Mar  2 11:12:13 2026 |\n"
        "+-----+------+------+-------------+--------------------------+\n"
    )
    assert parse_link_stat("link up count : 1\n" + table)["records"][0]["link"] == "up"
    with pytest.raises(ParseError, match="second header"):
        parse_link_stat("link up count : 1\n" + table + table)


def test_dots_for_lines_left_out_are_passed_over():
    optical = parse_optical("optical info:\npresent              : present\n...\nTx Power0            : 1.2034 mW\n…\n")
    assert optical == {"present": True, "tx_power0_milliwatts": 1.2034}


@pytest.mark.parametrize("dots", ["...", "......", "…", "... ..."])
def test_dots_lose_nothing_that_is_there(dots):
    tls = "dev_id:0, tls switch[0](0:disable, 1:enable), tls alarm time threshold[60]days\n"
    assert parse_tls(tls + dots + "\n") == parse_tls(tls)
    assert parse_pairs(f"\tNPU ID     : 3\n\t{dots}\n\tBoard ID   : 0x1a\n") == {"npu_id": 3, "board_id": "0x1a"}
    with pytest.raises(ParseError):
        parse_pairs(dots)


@pytest.mark.parametrize("word", ["NA", "", "maybe"])
def test_an_optical_module_is_there_or_not(word):
    with pytest.raises(ParseError, match="present"):
        parse_optical(f"optical info:\npresent              : {word}\ntemperature          : 41 C\n")


def test_a_damaged_measure_of_an_optical_module_is_an_error():
    with pytest.raises(ParseError, match="number"):
        parse_optical("optical info:\npresent              : present\ntemperature          : 4 7 C\n")
