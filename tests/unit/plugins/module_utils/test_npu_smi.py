# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""npu-smi's other answers. The texts have the shape of published ones, with values of their own."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi import devices, gather
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi import queries as npu_smi
from ansible_collections.ascend.inference.plugins.module_utils.tools.errors import ToolError
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import ParseError

TOPOLOGY = (
    "\t   NPU0       NPU3       CPU Affinity\nNPU0       X          HCCS       0-23,96-119\nNPU3       HCCS       X          24-47\n\n"
    "Legend:\n\n  X    = Self\n  HCCS = Connection traversing HCCS.\n"
)
DIES = "           Phy-ID8    Phy-ID9\nPhy-ID8    X          SIO\nPhy-ID9    SIO        X\n\nLegend:\n\n  X    = Self\n"
MAPPING = (
    "\tNPU ID                         Chip ID                        Chip Logic ID                  Chip Name                     \n"
    "\t2                              0                              0                              Ascend 910B2\n"
    "\t2                              1                              -                              MCU                           \n"
)

ANSWERS = {
    "950 spod-info in a pod": (
        npu_smi.parse_superpod,
        "\tSuper Pod Size                 : 1024\n\tSuper Pod ID                   : 3\n"
        "\tChassis ID                     : 12\n\tSuper Pod Type                 : 1\n",
        {"sdid": None, "super_pod_size": 1024, "super_pod_id": 3, "server_index": None},
    ),
    "950 board for a plain user": (
        npu_smi.parse_pairs,
        "\tNPU ID                         : 2\n\tFirmware Version               : NOT SUPPORT\n",
        {"npu_id": 2, "firmware_version": None},
    ),
    "950 -v": (npu_smi.parse_version, "npu-smi version: 26.1.0\n", "26.1.0"),
    "25.0 -l, two NPUs": (
        npu_smi.parse_list,
        "\tTotal Count                    : 2\n\n\tNPU ID                         : 3\n\tChip Count                     : 1\n\n"
        "\tNPU ID                         : 7\n\tChip Count                     : 1\n",
        [{"npu_id": 3, "chip_count": 1}, {"npu_id": 7, "chip_count": 1}],
    ),
    "25.0 -m of an A2, Mcu row, blank in the name": (
        npu_smi.parse_mapping,
        MAPPING,
        [
            {
                "npu_id": 2,
                "chip_id": 0,
                "chip_logic_id": 0,
                "chip_phy_id": None,
                "slot_id": None,
                "chip_name": "Ascend 910B2",
            }
        ],
    ),
    "25.5 -m of an A3, leading blanks, an unusable NPU": (
        npu_smi.parse_mapping,
        "    NPU ID       Chip ID     Chip Logic ID    Chip Phy-ID    Chip Name\n    1    1    3    3    Ascend910\n"
        "    -1    0    -    -    Ascend910\n",
        [
            {
                "npu_id": 1,
                "chip_id": 1,
                "chip_logic_id": 3,
                "chip_phy_id": 3,
                "slot_id": None,
                "chip_name": "Ascend910",
            },
            {
                "npu_id": None,
                "chip_id": 0,
                "chip_logic_id": None,
                "chip_phy_id": None,
                "slot_id": None,
                "chip_name": "Ascend910",
            },
        ],
    ),
    "23.0 -t common with the MCU's own block": (
        npu_smi.parse_pairs,
        "        NPU ID                         : 4\n        Chip Count                     : 1\n\n"
        "        Chip ID                        : 0\n        Aicore Freq(MHZ)               : 1650\n"
        "        Temperature(C)                 : 47\n        NPU Real-time Power(W)         : 95.1\n\n"
        "        Chip Name                      : mcu\n        Temperature(C)                 : 36\n",
        {
            "npu_id": 4,
            "chip_count": 1,
            "chip_id": 0,
            "aicore_freq_mhz": 1650,
            "temperature_celsius": 47,
            "npu_real_time_power_watts": 95.1,
            "mcu": {"temperature_celsius": 36},
        },
    ),
    "23.0 -t board, hex and bus stay words": (
        npu_smi.parse_pairs,
        "\tNPU ID                         : 1\n\tFirmware Version               : 7.3.0.1\n\tBoard ID : 0x30\n\tPCB ID : NA\n"
        "\tPCIe Bus Info                  : 0000:81:00.0\n",
        {
            "npu_id": 1,
            "firmware_version": "7.3.0.1",
            "board_id": "0x30",
            "pcb_id": None,
            "pcie_bus_info": "0000:81:00.0",
        },
    ),
    "23.0 -t board -c, a die's id of digits only": (
        npu_smi.parse_pairs,
        "\tNPU ID                         : 1\n\tNDie ID                        : 37216594 20401011 4E10C8D4\n"
        "\tFirmware Version               : 7.3\n",
        {"npu_id": 1, "ndie_id": "37216594 20401011 4E10C8D4", "firmware_version": "7.3"},
    ),
    "23.0 -t health, three codes, messages with empty keys": (
        npu_smi.parse_health,
        "\tHealth Status                  : Alarm\n\tError Code                     : 80E01801 a4025021\n"
        "\tError Information              : first fault\n\n\t                               : node type=x, state=lost\n\n",
        {
            "status": "Alarm",
            "error_codes": ["80E01801", "A4025021"],
            "messages": ["first fault", "node type=x, state=lost"],
        },
    ),
    "950 -t health, no codes": (
        npu_smi.parse_health,
        "        NPU ID : 0\n        Health                         : OK\n        Error Code : NA\n        Error Information : NA\n",
        {"status": "OK", "error_codes": [], "messages": []},
    ),
    "A3 spod-info": (
        npu_smi.parse_superpod,
        "\tSDID                           : 50724867\n\tSuper Pod Size                 : 384\n\tSuper Pod ID                   : 2\n"
        "\tServer Index                   : 12\n",
        {"sdid": 50724867, "super_pod_size": 384, "super_pod_id": 2, "server_index": 12},
    ),
    "24.1 topology of an A2": (
        npu_smi.parse_topology,
        TOPOLOGY,
        {
            "matrix": {"0": {"0": "X", "3": "HCCS"}, "3": {"0": "HCCS", "3": "X"}},
            "cpu_affinity": {"0": "0-23,96-119", "3": "24-47"},
        },
    ),
    "A3 topology in a container, no CPU column": (
        npu_smi.parse_topology,
        DIES,
        {"matrix": {"8": {"8": "X", "9": "SIO"}, "9": {"8": "SIO", "9": "X"}}, "cpu_affinity": {}},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answer(name):
    parse, text, expected = ANSWERS[name]
    assert parse(text) == expected


NOT_SUPPORTED = "This device does not support querying this.\n"
BAD = {
    "version": (npu_smi.parse_version, "npu-smi 25.0\n"),
    "list without NPU": (npu_smi.parse_list, "\tTotal Count : 0\n"),
    "list not supported": (npu_smi.parse_list, NOT_SUPPORTED),
    "mapping without rows": (npu_smi.parse_mapping, MAPPING.splitlines()[0]),
    "mapping, blank in an id": (npu_smi.parse_mapping, MAPPING.replace("2                              0", "2 1 0", 1)),
    "mapping, letter in an id": (npu_smi.parse_mapping, MAPPING.replace("\t2   ", "\tz   ", 1)),
    "pairs not supported": (npu_smi.parse_pairs, NOT_SUPPORTED),
    "pairs, a table": (npu_smi.parse_pairs, "| npu-smi 25.0   Version: 25.0 |\n"),
    "pairs, two chips": (npu_smi.parse_pairs, "\tChip ID : 0\n\tHBM(MB) : 1\n\n\tChip ID : 1\n\tHBM(MB) : 2\n"),
    "pairs, blank in a number": (npu_smi.parse_pairs, "\tHBM Capacity(MB) : 65 536\n"),
    "pairs, a comma in a number": (npu_smi.parse_pairs, "\tTemperature(C) : 41,5\n"),
    "pairs, a number with its unit": (npu_smi.parse_pairs, "\tNPU Real-time Power(W) : 71.7W\n"),
    "pairs, an exponent": (npu_smi.parse_pairs, "\tAicore Usage Rate(%) : 1e2\n"),
    "superpod, odd size": (
        npu_smi.parse_superpod,
        "\tSDID : 5\n\tSuper Pod Size : 3 84\n\tSuper Pod ID : 1\n\tServer Index : 0\n",
    ),
    "health of two chips": (npu_smi.parse_health, "\tChip ID : 0\n\tHealth : OK\n\n\tChip ID : 1\n\tHealth : Alarm\n"),
    "health without status": (npu_smi.parse_health, "\tError Code : NA\n"),
    "health, odd code": (npu_smi.parse_health, "\tHealth : OK\n\tError Code : what\n"),
    "superpod without SDID": (npu_smi.parse_superpod, "\tSuper Pod ID : 1\n\tServer Index : 1\n"),
    "superpod, damaged SDID": (npu_smi.parse_superpod, "\tSDID : 16 777216\n\tSuper Pod ID : 1\n\tServer Index : 1\n"),
    "topology not supported": (npu_smi.parse_topology, NOT_SUPPORTED),
    "topology, a row is missing": (npu_smi.parse_topology, DIES.replace("Phy-ID9    SIO        X\n", "")),
    "topology, a cell is missing": (npu_smi.parse_topology, DIES.replace("Phy-ID9    SIO        X", "Phy-ID9    SIO")),
    "topology, not symmetric": (npu_smi.parse_topology, DIES.replace("Phy-ID9    SIO", "Phy-ID9    SYS")),
    "topology, unknown link": (npu_smi.parse_topology, DIES.replace("SIO", "S10")),
    "empty": (npu_smi.parse_pairs, "\n"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_understood_is_an_error(name):
    parse, text = BAD[name]
    with pytest.raises(ParseError):
        parse(text)


def test_an_answer_about_another_npu_is_an_error():
    with pytest.raises(ParseError, match="queried NPU 3, but the output is for NPU 4"):
        npu_smi.parse_pairs("\tNPU ID : 4\n\tBoard ID : 0x1\n", 3)
    with pytest.raises(ParseError, match="for NPU 4"):
        npu_smi.parse_health("\tNPU ID : 4\n\tHealth : OK\n", 3)
    with pytest.raises(ParseError, match="a key like"):
        npu_smi.parse_pairs("Usage: npu-smi info\n", 3, "capacity")


def test_sdid_bits():
    sdid = (12 << 22) | (6 << 18) | (1 << 16) | 13
    record = {"sdid": sdid, "server_index": 12, "super_pod_id": 0}
    assert npu_smi.sdid_parts(sdid) == {"server_index": 12, "chip": 6, "die": 1, "device": 13}
    assert npu_smi.sdid_errors(record, 13) == []
    assert "device 13, but it belongs to device 12" in npu_smi.sdid_errors(record, 12)[0]
    assert "server_index" in npu_smi.sdid_errors(dict(record, server_index=11), 13)[0]


@pytest.mark.parametrize(
    "line", ["HBM Capacity(MB) : -65536", "Aicore Usage Rate(%) : -4", "Aicore Freq(MHZ) : -1", "Aicore Count : -24"]
)
def test_a_sign_before_what_cannot_be_negative_is_damage(line):
    with pytest.raises(ParseError, match="cannot be -"):
        npu_smi.parse_pairs(f"NPU ID : 1\n{line}\n", 1)
    assert npu_smi.parse_pairs("NPU ID : 1\nNPU Temperature (C) : -5\n", 1)["npu_temperature_celsius"] == -5


def test_a_super_pod_s_size_has_no_sign():
    text = "SDID : 4259841\nSuper Pod Size : {}\nSuper Pod ID : 0\nServer Index : 1\n"
    assert npu_smi.parse_superpod(text.format(384))["super_pod_size"] == 384
    with pytest.raises(ParseError):
        npu_smi.parse_superpod(text.format(-384))


COMMON = """
\tNPU ID                         : 3
\tChip Count                     : 2

\tChip ID                        : 0
\tAicore Usage Rate(%)           : 11
\tTemperature(C)                 : 41
\tNPU Real-time Power(W)         : 172.4

\tChip ID                        : 1
\tAicore Usage Rate(%)           : 12
\tTemperature(C)                 : 43
\tNPU Real-time Power(W)         : NA

\tChip Name                      : mcu
\tTemperature(C)                 : 36
"""
USAGES = """
\tNPU ID                         : 3
\tChip Count                     : 2

\tHBM Capacity(MB)               : 65536
\tAicore Usage Rate(%)           : 11
\tChip ID                        : 0

\tHBM Capacity(MB)               : 65535
\tAicore Usage Rate(%)           : 12
\tChip ID                        : 1
"""


def without_empty_lines(text):
    return "".join(line + "\n" for line in text.splitlines() if line)


@pytest.mark.parametrize("dress", [str, without_empty_lines])
@pytest.mark.parametrize("chip, aicore, temperature, capacity", [(0, 11, 41, 65536), (1, 12, 43, 65535)])
def test_one_chip_s_part_of_an_answer_about_two(dress, chip, aicore, temperature, capacity):
    common = npu_smi.parse_pairs(dress(COMMON), 3, "aicore", chip)
    assert (common["npu_id"], common["chip_count"], common["chip_id"]) == (3, 2, chip)
    assert (common["aicore_usage_rate_percent"], common["temperature_celsius"]) == (aicore, temperature)
    assert common["mcu"] == {"temperature_celsius": 36}
    usages = npu_smi.parse_pairs(dress(USAGES), 3, "_rate_percent", chip)
    assert (usages["chip_id"], usages["aicore_usage_rate_percent"], usages["hbm_capacity_mib"]) == (
        chip,
        aicore,
        capacity,
    )
    health = "\tNPU ID : 3\n\tChip Count : 2\n\n\tChip ID : 0\n\tHealth : OK\n\n\tChip ID : 1\n\tHealth : Alarm\n"
    assert npu_smi.parse_health(dress(health), 3, chip)["status"] == ("OK", "Alarm")[chip]


@pytest.mark.parametrize("text", [COMMON, USAGES])
def test_an_answer_about_other_chips_is_an_error(text):
    with pytest.raises(ParseError, match="queried chip 2"):
        npu_smi.parse_pairs(text, 3, "", 2)
    with pytest.raises(ParseError, match="several chips"):
        npu_smi.parse_pairs(text)


def test_the_mcu_s_temperature_is_never_the_chip_s():
    one_chip = COMMON.replace("\tChip Count                     : 2\n", "")
    text = without_empty_lines(one_chip.partition("\tChip ID                        : 1")[0])
    common = npu_smi.parse_pairs(text + "\tChip Name : Mcu\n\tTemperature(C) : 36\n")
    assert (common["temperature_celsius"], common["mcu"]) == (41, {"temperature_celsius": 36})


@pytest.mark.parametrize(
    ("silent", "asked"),
    [
        ({0, 1, 2, 3, 4, 5}, [0, 1]),
        ({1, 2}, [0, 1, 2]),
        ({0, 2, 4}, [0, 1, 2, 3, 4, 5]),
        ({4, 5}, [0, 1, 2, 3, 4, 5]),
        (set(), [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_query_that_hangs_costs_the_time_of_two_chips_and_not_of_all(silent, asked):
    """Each unanswered question takes a whole timeout; one chip that is silent says nothing about the others."""
    seen = []

    def ask(npu):
        seen.append(npu["device_id"])
        if npu["device_id"] in silent:
            raise ToolError(f"chip {npu['device_id']} is silent")
        return []

    chips = [{"npu_id": number // 2, "chip_id": number % 2, "device_id": number} for number in range(6)]
    result = {"npus": chips, "warnings": []}
    gather._ask_chips(result, "ecc", ask, ["ecc"], False, None)
    assert seen == asked
    unknown = 6 - len(set(asked) - silent)
    more = f" (and {unknown - 1} more)" if unknown > 1 else ""
    assert result["warnings"] == ([f"ecc: chip {min(silent)} is silent{more}"] if silent else [])


@pytest.mark.parametrize(
    ("nodes", "rows", "found"),
    [
        ([9, 8], [], [8, 9]),
        ([], [(0, 4), (0, 5)], [4, 5]),
        ([], [(1, None), (0, None)], [0, 1]),  # an A2
        ([], [(0, 4), (1, None)], None),  # a lost chip: its NPU's id would name another device
        ([], [(None, None)], None),
    ],
)
def test_devices_of_a_host_come_from_dev_or_else_from_one_column_of_the_table(
    monkeypatch, tmp_path, nodes, rows, found
):
    named = []
    table = {"npus": [{"npu_id": npu, "device_id": device} for npu, device in rows]}
    monkeypatch.setattr(devices, "davinci_devices", lambda: sorted(nodes))
    monkeypatch.setattr(devices, "find_executable", lambda name, given: named.append((name, given)) or "npu-smi")
    monkeypatch.setattr(devices, "answer", lambda tool, arguments, parse: (table, []))
    beside = tmp_path / "npu-smi"
    hccn_tool = devices.Tool(str(tmp_path / "hccn_tool"), 7)
    if found is None:
        with pytest.raises(ToolError, match="chips without an id"):
            devices.find_devices(hccn_tool)
        return
    assert devices.find_devices(hccn_tool) == found
    beside.write_text("")
    assert devices.find_devices(hccn_tool) == found
    assert named == ([] if nodes else [("npu-smi", None), ("npu-smi", str(beside))])
