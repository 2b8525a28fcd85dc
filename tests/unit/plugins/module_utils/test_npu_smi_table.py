# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of npu-smi info. The texts have the shape of published ones, with values of their own."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi import columns
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi.table import FIELDS, parse_info
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import ParseError
from ansible_collections.ascend.inference.plugins.modules import npu_info

A2 = """
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.rc2                 Version: 24.1.rc2.b040                                        |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 2     910B2               | OK            | 96.4        41                16   / 32            |
| 0                         | 0000:81:00.0  | 12          0    / 0          58213/ 65536         |
+===========================+===============+====================================================+
| 6     910B2               | Alarm         | 91.0        40                0    / 0             |
| 0                         | 0000:41:00.0  | 0           0    / 0          3391 / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 2       0                 | 24017         | VLLMWorker_TP            | 54882                   |
| 2       0                 | 24019         |                          | 61                      |
+===========================+===============+====================================================+
| No running processes found in NPU 6                                                            |
+===========================+===============+====================================================+
"""
A3 = """
+------------------------------------------------------------------------------------------------+
| npu-smi 25.5.0                   Version: 25.5.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 5     Ascend910           | OK            | 171.3       44                0    / 0             |
| 0     10                  | 0000:8A:00.0  | 0           0    / 0          3120 / 65536         |
+------------------------------------------------------------------------------------------------+
| 5     Ascend910           | Warning       | -           46                0    / 0             |
| 1     11                  | 0000:8C:00.0  | 7           0    / 0          61877/ 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 5       1                 | 881           |                          | 58690                   |
+===========================+===============+====================================================+
"""
WIDE = """
+------------------------------------------------------------------------------------------------------------------+
| npu-smi 26.0.rc2                 Version: 26.0.rc2                                                               |
+---------------------------+---------------+----------------------------------------------------------------------+
| NPU   Name                | Health        | Power(W)             Temp(C)                 Hugepages-Usage(page)   |
| Chip                      | Bus-Id        | AICore(%)            Memory-Usage(MB)        HBM-Usage(MB)           |
+===========================+===============+======================================================================+
| 1     910B4               | OK            | 83.2                 34                      0    / 0                |
| 0                         | 0000:C2:00.0  | 0                    0    / 0                2790 / 32768            |
+===========================+===============+======================================================================+
+---------------------------+---------------+----------------------------------------------------------------------+
| NPU     Chip              | Process id    | Process name       | Process memory(MB)    | Process id in container |
+===========================+===============+======================================================================+
| 1       0                 | 5117          | python3            | 182                   | NA                      |
| 1       0                 | 5120          | python3            | 97                    | 44                      |
+===========================+===============+======================================================================+
"""
DUO = """
+--------------------------------------------------------------------------------------------------------+
| npu-smi 25.0.1                                   Version: 25.0.1                                       |
+-------------------------------+-----------------+------------------------------------------------------+
| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |
| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |
+===============================+=================+======================================================+
| 32      310P3                 | OK              | NA           47                8200  / 8200          |
| 0       0                     | 0000:02:00.0    | 0            18211/ 44280                            |
+-------------------------------+-----------------+------------------------------------------------------+
| 32      310P3                 | OK              | NA           45                0     / 0             |
| 1       1                     | 0000:02:00.0    | 0            1502 / 43690                            |
+===============================+=================+======================================================+
| 32768   310P3                 | OK              | NA           49                0     / 0             |
| 0       2                     | NA              | 0            1499 / 44280                            |
+===============================+=================+======================================================+
"""
FIRST = """
+------------------------------------------------------------------------------------------------+
| npu-smi 23.0.3                   Version: 23.0.2                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 3     910PremiumA         | OK            | 70.1        39                900  / 1024          |
| 0                         | 0000:02:00.0  | 100         4410 / 15137      30698/ 32768         |
+===========================+===============+====================================================+
"""
NINE = """
+-------------------------------------------------------------------------------------------------+
| npu-smi 26.1.0                          Version: 26.1.0                                         |
+---------------------------+---------------+-----------------------------------------------------+
| NPU ID | Name             | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |
|        |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)         |
+========+==================+===============+=====================================================+
| 4      | 950DT            | OK            | 210.9       58                0     / 0             |
|        |                  | 0000:92:00.0  | 3           0    / 0          4512  / 131072        |
+========+==================+===============+=====================================================+
+---------------------------+---------------+-----------------------------------------------------+
| NPU ID                    | Process id    | Process name             | Process memory(MB)       |
+===========================+===============+=====================================================+
| 4                         | 77            | train                    | 4001                     |
+===========================+===============+=====================================================+
"""

# id = version + where + what: text, generation, versions, then per record the fields that matter
TABLES = {
    "24.1 A2, sparse ids, five digits before the slash, empty process name": (
        A2,
        "a2",
        ("24.1.rc2", "24.1.rc2.b040"),
        [
            dict(
                npu_id=2,
                chip_id=0,
                device_id=None,
                name="910B2",
                health="OK",
                bus_id="0000:81:00.0",
                power_watts=96.4,
                temperature_celsius=41,
                aicore_percent=12,
                memory_used_mib=0,
                memory_total_mib=0,
                hbm_used_mib=58213,
                hbm_total_mib=65536,
                hugepages_used=16,
                hugepages_total=32,
                processes=[
                    dict(pid=24017, name="VLLMWorker_TP", memory_mib=54882, container_pid=None),
                    dict(pid=24019, name="", memory_mib=61, container_pid=None),
                ],
            ),
            dict(npu_id=6, health="Alarm", hbm_used_mib=3391, processes=[]),
        ],
    ),
    "25.5 A3, two dies, power of the first only": (
        A3,
        "a3",
        ("25.5.0", "25.5.0"),
        [
            dict(npu_id=5, chip_id=0, device_id=10, power_watts=171.3, health="OK", processes=[]),
            dict(
                npu_id=5,
                chip_id=1,
                device_id=11,
                power_watts=None,
                health="Warning",
                hbm_used_mib=61877,
                processes=[dict(pid=881, name="", memory_mib=58690, container_pid=None)],
            ),
        ],
    ),
    "26.0 A2, 116 columns, container pids": (
        WIDE,
        "a2",
        ("26.0.rc2", "26.0.rc2"),
        [
            dict(
                npu_id=1,
                power_watts=83.2,
                hbm_used_mib=2790,
                processes=[
                    dict(pid=5117, name="python3", memory_mib=182, container_pid=None),
                    dict(pid=5120, name="python3", memory_mib=97, container_pid=44),
                ],
            )
        ],
    ),
    "25.0 310P duo, no HBM, no power, no bus id": (
        DUO,
        "310p",
        ("25.0.1", "25.0.1"),
        [
            dict(
                npu_id=32,
                chip_id=0,
                device_id=0,
                power_watts=None,
                memory_used_mib=18211,
                hbm_total_mib=None,
                hugepages_used=8200,
            ),
            dict(npu_id=32, chip_id=1, device_id=1, memory_total_mib=43690),
            dict(npu_id=32768, chip_id=0, device_id=2, bus_id=None),
        ],
    ),
    "23.0 first 910, DDR memory, tool and driver differ": (
        FIRST,
        "910a",
        ("23.0.3", "23.0.2"),
        [
            dict(
                npu_id=3,
                name="910PremiumA",
                aicore_percent=100,
                memory_used_mib=4410,
                memory_total_mib=15137,
                hbm_used_mib=30698,
            )
        ],
    ),
    "26.1 950, no chip ids": (
        NINE,
        "950",
        ("26.1.0", "26.1.0"),
        [
            dict(
                npu_id=4,
                chip_id=None,
                name="950DT",
                aicore_percent=3,
                hbm_used_mib=4512,
                hbm_total_mib=131072,
                processes=[dict(pid=77, name="train", memory_mib=4001, container_pid=None)],
            )
        ],
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_table(name):
    text, generation, versions, records = TABLES[name]
    result = parse_info(text)
    assert result["generation"] == generation
    assert (result["npu_smi_version"], result["driver_version"]) == versions
    assert [{field: npu[field] for field in record} for npu, record in zip(result["npus"], records)] == records
    assert len(result["npus"]) == len(records)


@pytest.mark.parametrize("name", ["24.1 A2, sparse ids, five digits before the slash, empty process name"])
def test_tabs_for_blanks_and_indentation_change_nothing(name):
    text = TABLES[name][0]
    tabbed = "\n".join("   " + line.replace("    ", "\t").rstrip() for line in text.splitlines())
    assert parse_info(tabbed)["npus"] == parse_info(text)["npus"]


OLD = """
+------------------------------------------------------------------------------------------------+
| npu-smi 21.0.4                   Version: 21.0.4                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)          Temp(C)                          |
| Chip  Device              | Bus-Id        | AICore(%)         Memory-Usage(MB)  HBM-Usage(MB)  |
+===========================+===============+====================================================+
| 1     910A                | OK            | 68.8              41                               |
| 0     1                   | 0000:81:00.0  | 3                 702  / 15171      12   / 32255   |
+===========================+===============+====================================================+
"""


def test_a_first_910_of_an_old_driver_has_no_huge_pages_and_is_no_310p():
    result = parse_info(OLD)
    (npu,) = result["npus"]
    assert (result["generation"], npu["device_id"], npu["hugepages_total"]) == ("910a", 1, None)
    assert (npu["power_watts"], npu["memory_used_mib"], npu["hbm_used_mib"]) == (68.8, 702, 12)


@pytest.mark.parametrize(
    ("name", "generation"),
    [
        ("910B4-1", "a2"),
        ("910B", "910a"),
        ("910ProB", "910a"),
        ("Ascend910", "910a"),
        ("910_9362", "a3"),
        ("950PR", "950"),
    ],
)
def test_a_name_tells_the_generation_where_the_columns_do_not(name, generation):
    assert parse_info(FIRST.replace("910PremiumA", name.ljust(11)))["generation"] == generation


NULLS = """
+------------------------------------------------------------------------------------------------+
| npu-smi 25.3.1                   Version: 25.3.1                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 3     Ascend910_9391      | N/A           | 0.0         -7                NA   / NA            |
| 0     6                   | N/A           | --          --   / --         -    / -             |
+===========================+===============+====================================================+
| No running processes found in NPU 3                                                            |
+===========================+===============+====================================================+
"""


def test_every_word_for_no_value_is_null():
    (npu,) = parse_info(NULLS)["npus"]
    assert (npu["npu_id"], npu["device_id"], npu["power_watts"], npu["temperature_celsius"]) == (3, 6, 0.0, -7)
    unknown = [field for field, value in npu.items() if value is None]
    assert unknown == [
        "health",
        "bus_id",
        "aicore_percent",
        "memory_used_mib",
        "memory_total_mib",
        "hbm_used_mib",
        "hbm_total_mib",
        "hugepages_used",
        "hugepages_total",
    ]


def test_a_damaged_chip_row_without_bus_id_is_no_first_row():
    row = "| 0       6                     | NA              | 1 2          957   / 10810                           |"
    lines = DUO.splitlines()
    number = next(number for number, line in enumerate(lines) if "| 0000:" in line)
    with pytest.raises(ParseError, match="matches no column layout"):
        parse_info("\n".join([*lines[:number], row, *lines[number + 1 :]]))


@pytest.mark.parametrize("text", [A2, A3, WIDE, DUO])
def test_borders_that_an_author_drew(text):
    crossed = text.replace("---+---", "---|---").replace("===+===", "===|===")
    assert parse_info(crossed)["npus"] == parse_info(text)["npus"] and crossed != text
    cut = "\n".join(line[:-1] if line.startswith("+==") else line for line in text.splitlines())
    assert parse_info(cut)["npus"] == parse_info(text)["npus"]


FIVE = """
+------------------------------------------------------------------------------------------------------------------+
| npu-smi 25.6.rc2                                 Version: 25.6.rc2                                               |
+--------+------------------+---------------+----------------------------------------------------------------------+
| NPU ID | Name             | Health        | Power(W)              Temp(C)                  Hugepages-Usage(page) |
|        |                  | Bus-Id        | NPU Util(%)           Memory-Usage(MB)         HBM-Usage(MB)         |
+========+==================+===============+======================================================================+
| 2      | Ascend950DT      | OK            | 371.4                 47                       0     / 0             |
|        |                  | NA            | 3                     0     / 0                104857/ 131072        |
+===========================+===============+======================================================================+
| 5      | Ascend950DT      | Critical      | 366.0                 52                       0     / 0             |
|        |                  | 0000:71:00.0  | 0                     0     / 0                5021  / 131072        |
+===========================+===============+======================================================================+
"""


def test_a_wide_950_whose_rules_cross_its_columns():
    npus = parse_info(FIVE)["npus"]
    assert [(npu["npu_id"], npu["health"], npu["bus_id"], npu["hbm_used_mib"]) for npu in npus] == [
        (2, "OK", None, 104857),
        (5, "Critical", "0000:71:00.0", 5021),
    ]


@pytest.mark.parametrize("text", [A2, A3, WIDE, DUO, FIVE])
def test_a_text_that_ends_with_a_chip_s_first_row_is_cut_off(text):
    lines = text.splitlines()
    cards = [
        number for number, line in enumerate(lines) if "| OK " in line or "| Critical" in line or "| Alarm" in line
    ]
    for number in cards:
        with pytest.raises(ParseError, match="cut off after this row"):
            parse_info("\n".join(lines[: number + 1]))


def test_line_ends_of_windows_and_words_around_the_table_change_nothing():
    around = "驱动告警\n" + A3 + "[WARNING]The driver package may not be completely installed.\n"
    result = parse_info(around.replace("\n", "\r\n"))
    assert result["npus"] == parse_info(A3)["npus"]
    assert len(result["warnings"]) == 2


def drop(text, *parts):
    """The text without the lines that contain one of the parts."""
    return "\n".join(line for line in text.splitlines() if not any(part in line for part in parts))


def test_missing_card_row_leaves_the_chip_with_its_sibling_s_npu():
    result = parse_info(drop(A3, "| Warning"))
    assert [(npu["npu_id"], npu["chip_id"], npu["health"], npu["hbm_used_mib"]) for npu in result["npus"]] == [
        (5, 0, "OK", 3120),
        (5, 1, None, 61877),
    ]
    assert any("no card row" in warning for warning in result["warnings"])


def test_missing_card_row_of_an_a2_is_named_by_the_process_part():
    result = parse_info(drop(A2, "| Alarm"))
    assert [(npu["npu_id"], npu["health"], npu["hbm_used_mib"]) for npu in result["npus"]] == [
        (2, "OK", 58213),
        (6, None, 3391),
    ]


def test_missing_chip_row_is_a_warning():
    result = parse_info(drop(A2, "3391"))
    assert [(npu["npu_id"], npu["chip_id"], npu["hbm_total_mib"]) for npu in result["npus"]] == [
        (2, 0, 65536),
        (6, None, None),
    ]
    assert any("NPU 6 has no chip row" in warning for warning in result["warnings"])


def test_a_die_s_card_row_is_never_joined_with_the_other_die_s_chip_row():
    result = parse_info(drop(A3, "8A:00.0", "| Warning"))
    assert [(npu["power_watts"], npu["hbm_used_mib"]) for npu in result["npus"]] == [(None, 61877), (171.3, None)]


def test_closing_warning_is_kept_and_harmless():
    closing = "[WARNING]The driver package may not be completely installed. Reinstall."
    result = parse_info(A2 + closing + "\n")
    assert result["warnings"] == [closing]
    assert len(result["npus"]) == 2


@pytest.mark.parametrize("gap", ["Temp(C)           ", "Power(W)    "])
def test_a_column_of_a_newer_tool_is_named_and_changes_nothing_else(gap):
    lines = A2.splitlines()
    start = lines[4].index(gap) + len(gap)
    for number, text in ((4, "Fan(%)  "), (7, "77      "), (10, "NA      ")):
        lines[number] = lines[number][:start] + text + lines[number][start:]
    result = parse_info("\n".join(lines))
    assert result["npus"] == parse_info(A2)["npus"]
    assert "unknown column 'Fan(%)': its values are not evaluated" in result["warnings"]


@pytest.mark.parametrize(
    "text, title",
    [
        # Titles that mark a kind of row
        (A2, "Health"),
        (A2, "Bus-Id"),
        (A2, "Process id"),
        # Titles that mark a generation
        (A3, "Phy-ID"),
        (DUO, "Device"),
        (NINE, "NPU ID"),
        (DUO.replace("310P3", "Chip1"), "Device"),
        # Others
        (A3, "Name"),
        (WIDE, "AICore(%)"),
        (A2, "Hugepages-Usage(page)"),
    ],
)
def test_a_renamed_column_needs_one_line(monkeypatch, text, title):
    new = "~" * len(title)
    renamed = text.replace(title, new)
    assert renamed != text
    with pytest.raises(ParseError):
        parse_info(renamed)
    monkeypatch.setitem(columns.RENAMED, new, title)
    monkeypatch.setattr(columns, "_TITLE", columns.title_pattern())
    assert parse_info(renamed) == parse_info(text)


def test_every_title_is_in_a_text_of_these_tests():
    texts = "\n".join(text for text, *_rest in TABLES.values())
    titles = {*columns.COLUMNS, *columns.RENAMED}
    assert sorted(title for title in titles if title not in texts) == [], "add the table of a tool that prints it"


def test_every_column_is_a_documented_field():
    processes = {"pid", "name", "memory_mib", "container_pid"}  # of a process
    found = {field for fields, _pattern in columns.COLUMNS.values() for field in fields}
    assert sorted(found - {*FIELDS, *processes}) == [], "add it to FIELDS of table.py"
    assert [field for field in FIELDS if f"    {field}:\n" not in npu_info.RETURN] == [], "describe it in npu_info"


def test_a_cell_of_a_newer_tool_may_hold_anything():
    lines = A2.splitlines()
    for number, text in ((4, "Remark"), (5, "Serial"), (7, "see the log"), (8, "1"), (10, ""), (11, "NA")):
        lines[number] += f" {text:<12} |"
    result = parse_info("\n".join(lines))
    assert result["npus"] == parse_info(A2)["npus"]
    new = [warning.split(":")[0] for warning in result["warnings"] if "unknown column" in warning]
    assert new == ["unknown column 'Remark'", "unknown column 'Serial'"]


def test_no_process_part_is_said():
    result = parse_info(FIRST)
    assert any("no process part" in warning for warning in result["warnings"])


def test_rows_without_header_are_told_by_their_shape():
    rows = "\n".join(line for line in A3.splitlines() if line.startswith(("| 5     A", "| 0     1", "| 1     1")))
    result = parse_info(rows)
    assert result["generation"] == "a3"
    assert [(npu["device_id"], npu["hbm_used_mib"]) for npu in result["npus"]] == [(10, 3120), (11, 61877)]


@pytest.mark.parametrize(
    "name, before, after, expected",
    [
        ("unknown column", "Power(W)", "Watts", "unknown column"),
        ("header without its title", "| Health ", "| Status ", "a header has Health, Bus-Id or Process id"),
        ("blank inside a number", "58213/ 65536", "58 213/ 65536", "matches no column layout"),
        ("blank inside an NPU id", "| 6     910B2", "| 6 1   910B2", "matches no column layout"),
        ("leading zero", "3391 / 65536", "0391 / 65536", "matches no column layout"),
        ("letter in a number", "96.4", "9b.4", "matches no column layout"),
        ("no slash", "3391 / 65536", "3391   65536", "matches no column layout"),
        (
            "row cut off",
            "| 2     910B2               | OK            |",
            "| 2     910B2               | OK",
            "matches no column layout",
        ),
        ("line cut off", "3391 / 65536         |", "3391 / 65536", "cut off"),
        ("text between rows", "| 6     910B2", "Segmentation fault\n| 6     910B2", "expected a row"),
        ("chip twice", "| 6     910B2", "| 2     910B2", "listed twice"),
        ("process without pid", "| 24017 ", "|       ", "matches no column layout"),
    ],
)
def test_damage_is_an_error_that_quotes_the_text(name, before, after, expected):
    damaged = A2.replace(before, after, 1)
    assert damaged != A2
    with pytest.raises(ParseError, match=expected) as error:
        parse_info(damaged)
    assert "'" in str(error.value)


@pytest.mark.parametrize("text", ["", "\n\n", "dcmi module initialize failed. ret is -8005\n", A2.partition("| 2 ")[0]])
def test_nothing_is_an_error_never_an_empty_list(text):
    with pytest.raises(ParseError):
        parse_info(text)


def test_doubtful_values_are_warnings():
    result = parse_info(A2.replace("58213/ 65536", "68213/ 65536").replace("| 12   ", "| 112  "))
    assert any("more than hbm_total_mib" in warning for warning in result["warnings"])
    assert any("more than 100" in warning for warning in result["warnings"])
    lost = parse_info(A2.replace("58213/ 65536", "5821/ 65536"))
    assert any("not as wide" in warning for warning in lost["warnings"])
