# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parsers against published verbatim output, where a checkout of it lies beside the repository (or at ASCEND_SAMPLES).

The samples themselves are not ours to keep. What each of them says is stated here as figures; files that are not named here are
held against figures taken from their text in another way than the parsers do.
"""

from __future__ import annotations

import glob
import os
import re

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.hccn import conf, measures, settings
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi import queries
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi.table import parse_info
from ansible_collections.ascend.inference.plugins.module_utils.tools import errors
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Output
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import ParseError

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4))
SAMPLES = os.environ.get("ASCEND_SAMPLES") or os.path.join(REPOSITORY, "..", "shared", "samples")
pytestmark = pytest.mark.skipif(not os.path.isdir(SAMPLES), reason="no samples beside the repository")


def found(*patterns):
    paths = [path for pattern in patterns for path in sorted(glob.glob(os.path.join(SAMPLES, pattern)))]
    return [os.path.relpath(path, SAMPLES) for path in paths]


def read(name):
    with open(os.path.join(SAMPLES, name), encoding="utf-8") as handle:
        return handle.read()


# generation, driver, then per record: device (physical or NPU id), health, used and total of HBM (310P: memory)
KNOWN = {
    "npu-smi/a2/info__1.txt": (
        "a2",
        "23.0.rc2",
        [(0, "OK", 4175, 65536), (1, "OK", 4175, 65536), (7, "OK", 4174, 65536)],
    ),
    "npu-smi/a2/info__5.txt": ("a2", "25.5.2", [(5, "OK", 2922, 32768)]),
    "npu-smi/a3/info__3.txt": ("a3", "25.5.1", [(8, "OK", 51255, 65536), (9, "OK", 45292, 65536)]),
    "npu-smi/a3/info-warning__1.txt": (
        "a3",
        None,
        [(0, "OK", 3101, 65536), (1, "Warning", 2887, 65536), (2, "OK", 3101, 65536), (3, "OK", 2887, 65536)],
    ),
    "npu-smi/910a/info-warning__1.txt": ("910a", "23.0.5", [(0, "Warning", 0, 32768), (7, "OK", 0, 32768)]),
    "npu-smi/310p/info__4.txt": (
        "310p",
        "25.2.1",
        [(0, "OK", 19435, 21527), (1, "OK", 1910, 21527), (2, "OK", 19562, 21527), (3, "OK", 1909, 21527)],
    ),
    "npu-smi/310p/info__8.txt": ("310p", "xxx", [(0, "OK", 957, 10810)]),
    "npu-smi/950/info__1.txt": ("950", "x.x.x", [(0, "OK", 4439, 86016)]),
}


@pytest.mark.parametrize("name", found("npu-smi/*/info__*.txt", "npu-smi/*/info-warning__*.txt"))
def test_tables(name):
    text = read(name)
    result = parse_info(text)
    npus = result["npus"]
    rows = [
        line
        for line in text.splitlines()
        if re.search(r"\|\s*(?:[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.\d|NA)\s*\|\s*\d+\s+\d+\s*/", line)
    ]
    assert len(npus) == len(rows) > 0
    assert result["generation"] == name.split("/")[1]
    used = "memory" if result["generation"] == "310p" else "hbm"
    pairs = sorted((npu[used + "_used_mib"], npu[used + "_total_mib"]) for npu in npus)
    assert pairs == sorted(tuple(map(int, re.findall(r"(\d+)\s*/\s*(\d+)", row)[-1])) for row in rows)
    pids = re.findall(r"^\|\s*\d+(?:\s+\d+)?\s*\|\s*(\d+)\s*\|.*\|\s*\d+\s*\|(?:[^|]*\|)?\s*$", text, re.MULTILINE)
    assert sorted(process["pid"] for npu in npus for process in npu["processes"]) == sorted(map(int, pids))
    if name in KNOWN:
        generation, driver, records = KNOWN[name]
        assert (result["generation"], result["driver_version"]) == (generation, driver)
        ids = [npu["npu_id"] if npu["device_id"] is None else npu["device_id"] for npu in npus]
        assert [
            (device, npu["health"], npu[used + "_used_mib"], npu[used + "_total_mib"]) for device, npu in zip(ids, npus)
        ] == records


def test_the_loaded_host_s_processes():
    name = "npu-smi/910a/info__3.txt"
    if name not in found(name):
        pytest.skip("not among the samples")
    result = parse_info(read(name))
    assert (result["npu_smi_version"], result["driver_version"]) == ("23.0.rc3", "23.0.rc2.3")
    assert [npu["processes"][0]["pid"] for npu in result["npus"]] == [
        139667,
        139577,
        139446,
        139372,
        139258,
        139163,
        139126,
        139090,
    ]
    assert {npu["processes"][0]["memory_mib"] for npu in result["npus"]} == {30780, 30782}


@pytest.mark.parametrize("name", found("npu-smi/*/info-t-spod-info*__[0-9]*.txt"))
def test_super_pods(name):
    text = read(name)
    if "does not support" in text:
        assert errors.complaint(Output(["npu-smi"], 0, text, "", False)).kind == "unsupported"
        return
    record = queries.parse_superpod(text)
    assert [record["sdid"], record["super_pod_size"], record["super_pod_id"], record["server_index"]] == list(
        map(int, re.findall(r": (\d+)", text))
    )
    assert queries.sdid_complaints(record) == []


@pytest.mark.parametrize(
    "kind", ["board", "usages", "common", "memory", "ecc", "temp", "power", "volt", "flash", "sensors"]
)
def test_pairs(kind):
    names = found(f"npu-smi/*/info-t-{kind}__*.txt", f"npu-smi/*/info-t-{kind}-[ci]*.txt")
    for name in names:
        text = read(name)
        pairs = queries.parse_pairs(text)
        flat = {**pairs, **pairs.get("mcu", {})}
        numbers = sorted(float(word) for word in re.findall(r" : (-?\d+(?:\.\d+)?)\s*$", text, re.MULTILINE))
        mine = [value for key, value in flat.items() if isinstance(value, (int, float))]
        if "mcu" in pairs:  # its temperature stands beside the chip's
            mine.append(pairs["temperature_celsius"])
        assert sorted(map(float, mine)) == numbers and numbers


@pytest.mark.parametrize("name", found("npu-smi/*/info-t-health*.txt"))
def test_health(name):
    text, report = read(name), None
    report = queries.parse_health(text)
    assert report["status"] in ("OK", "Alarm")
    assert report["error_codes"] == re.findall(r"\b[0-9A-F]{8}\b", text)
    assert (report["status"] == "OK") == (report["messages"] == [])


@pytest.mark.parametrize("name", found("npu-smi/*/info-m__*.txt"))
def test_mappings(name):
    text = read(name)
    chips = queries.parse_mapping(text)
    assert len(chips) == sum("Mcu" not in line for line in text.splitlines()[1:] if line.strip()) > 0
    assert all(
        isinstance(chip["npu_id"], int) and isinstance(chip["chip_id"], int) and chip["chip_name"] for chip in chips
    )


@pytest.mark.parametrize("name", found("npu-smi/*/info-l__*.txt"))
def test_lists(name):
    text = read(name)
    assert [npu["npu_id"] for npu in queries.parse_list(text)] == list(map(int, re.findall(r"NPU ID\s*: (\d+)", text)))


@pytest.mark.parametrize("name", found("npu-smi/*/info-t-topo__*.txt"))
def test_topologies(name):
    text = read(name)
    topology = queries.parse_topology(text)
    size = len(re.findall(r"^(?:NPU|Phy-ID)\d+ +\S*(?:X|SYS|HCCS|SIO|UB)\b", text, re.MULTILINE))
    assert len(topology["matrix"]) == size > 1
    assert all(
        len(links) == size and sum(link == "X" for link in links.values()) == 1 for links in topology["matrix"].values()
    )


@pytest.mark.parametrize("name", found("npu-smi/errors/*.txt", "npu-smi/*/err-*.txt"))
def test_errors_are_explained_and_never_parsed(name):
    text = read(name)
    with pytest.raises(ParseError):
        parse_info(text)
    found_complaint = errors.complaint(Output(["npu-smi", "info"], 0, text, "", False))
    assert found_complaint and found_complaint.kind != "failed"


ONE_LINE = {
    "link": r"link status: (UP|DOWN)",
    "net_health": r"net health status: (.*)",
    "netdetect": r"netdetect \w+: (\S+)",
}


@pytest.mark.parametrize("query", sorted(ONE_LINE))
def test_one_line_answers(query):
    names = found(f"hccn_tool/*/{query}-g__*.txt", f"hccn_tool/950/g-{query}-i*.txt")
    assert names
    for name in names:
        text = read(name)
        word = re.search(ONE_LINE[query], text).group(1)
        assert getattr(settings, f"parse_{query}")(text) == word.lower().replace(" ", "_")


def answers(text, first):
    """Texts of a loop over devices, one by one: echoed commands and empty lines out, a new one at each ``first``."""
    lines = [line for line in text.splitlines() if line.strip() and "hccn_tool" not in line]
    starts = [number for number, line in enumerate(lines) if line.strip().startswith(first)]
    return ["\n".join(lines[start:end]) + "\n" for start, end in zip(starts, starts[1:] + [len(lines)])]


@pytest.mark.parametrize(
    "pattern, first, parse, figures",
    [
        ("hccn_tool/*/ip-g*__*.txt", "ipaddr", settings.parse_ip, lambda got: [got[0]["address"], got[0]["netmask"]]),
        ("hccn_tool/*/gateway-g*__*.txt", "default", settings.parse_gateway, lambda got: [got]),
        (
            "hccn_tool/*/*vnic-*__*.txt",
            "vnic link",
            settings.parse_vnic,
            lambda got: [got["address"], got["netmask"]],
        ),
    ],
)
def test_addresses(pattern, first, parse, figures):
    total = 0
    for name in found(pattern):
        text = read(name)
        words = [word for got in answers(text, first) for word in figures(parse(got))]
        assert words == re.findall(r"\d+\.\d+\.\d+\.\d+", text), name
        total += len(words)
    assert total > 0


def test_unset_addresses():
    for name in found("hccn_tool/*/ip-g-not-set__*.txt", "hccn_tool/*/ip-g-empty__*.txt"):
        text = read(name)
        with pytest.raises(ParseError):
            settings.parse_ip(text)
        if text.strip():
            assert errors.complaint(Output(["hccn_tool"], 13, "", text, False)).kind == "unset"


@pytest.mark.parametrize("name", found("hccn_tool/*/tls-g*__*.txt", "hccn_tool/950/g-tls-i-0__*.txt"))
def test_tls(name):
    text = read(name)
    for device, switch in re.findall(r"dev_id:(\d+), tls switch\[(\d)\]", text):
        tls = settings.parse_tls(text, int(device))
        assert tls["enabled"] is (switch == "1") and tls["alarm_days"] == 60
    assert len(settings.parse_tls(text, 0)["certificates"]) == text.count("] info:")


@pytest.mark.parametrize("name", found("hccn_tool/*/lldp-g*.txt"))
def test_lldp(name):
    text = read(name)
    ports = re.findall(r"Ifname: (\S+)", text)
    if len(ports) == 1:
        assert settings.parse_lldp(text)["port"] == ports[0]
    else:
        assert [settings.parse_lldp(line)["port"] for line in text.splitlines()] == ports


@pytest.mark.parametrize("name", found("hccn_tool/*/ping-g__*.txt", "hccn_tool/950/t-ub_ping*.txt"))
def test_pings(name):
    text = read(name)
    ping = measures.parse_ping(text)
    sent, received = map(int, re.search(r"(\d+) packets transmitted, (\d+) received", text).groups())
    assert (ping["transmitted"], ping["received"]) == (sent, received)
    assert ping["times_ms"] == [float(time) for time in re.findall(r"seq.*time.([\d.]+)ms", text)]


def test_measures():
    for name in found("hccn_tool/*/link_stat-g__*.txt", "hccn_tool/950/g-link_stat*.txt"):
        text = read(name)
        stat = measures.parse_link_stat(text)
        assert [record["link"] for record in stat["records"]] == [
            word.lower() for word in re.findall(r"LINK[ _](UP|DOWN)\b", text)
        ]
        assert stat["link_up_count"] == int(re.search(r"link up count\s*:\s*(\d+)", text).group(1))
    for name in found("hccn_tool/*/stat-g__*.txt", "hccn_tool/950/g-stat-*.txt"):
        text = read(name)
        assert list(measures.parse_stat(text).values()) == list(
            map(int, re.findall(r"^\w+: ?(\d+)$", text, re.MULTILINE))
        )
    for name in found("hccn_tool/910a/optical-g__1.txt"):
        optical = measures.parse_optical(read(name))
        assert (
            optical["vcc_millivolts"] == 3262.9
            and optical["temp_high_thres_celsius"] == 70
            and optical["host_snr_lane0"] is None
        )
    for name in found("hccn_tool/*/route-g__*.txt"):
        text = read(name)
        assert len(settings.parse_route(text)) == len(text.strip().splitlines()) - 2 > 0
    for name in found("hccn_tool/*/tls-s-enable*.txt", "hccn_tool/950/s-tls-i*.txt"):
        assert settings.expect_success(read(name))


@pytest.mark.parametrize("name", found("files/etc_hccn.conf/*.txt"))
def test_hccn_conf(name):
    text = read(name)
    devices, _complaints = conf.parse_hccn_conf(text)
    for device, address in re.findall(r"^address_(\d+)=(\S+)", text, re.MULTILINE):
        assert devices[int(device)]["address"] == address
    assert devices
