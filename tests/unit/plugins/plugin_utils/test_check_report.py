# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check's page and text: one file, the picture first, findings grouped and linked, nothing told by colour alone."""

from __future__ import annotations

import pathlib
import re

import pytest
from ansible_collections.ascend.inference.plugins.filter.check_plan import check_plan_filter
from ansible_collections.ascend.inference.plugins.filter.check_report import report_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_page import check_report
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_text import check_text
from ansible_collections.ascend.inference.plugins.plugin_utils.pages import render
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import (
    HOSTS,
    facts,
    lose,
    npu,
    plan,
)

STYLE = (pathlib.Path(render.__file__).parent / "style.css").read_text(encoding="utf-8")
RUN = {"date": "2026-11-21 23:00 UTC", "command": "ascend.inference.check"}


@pytest.mark.parametrize("ignore", ["NO-SUCH,NONE", "NO-SUCH, NONE", ["NO-SUCH", "NONE"]])
def test_ids_to_ignore_are_a_list_or_a_text_with_commas(ignore):
    found = [item["value"] for item in check_plan_filter(plan(), facts(), ignore) if item["id"] == "CHECK-IGNORE"]
    assert found == ["NO-SUCH", "NONE"]


def page_of(data, ignored=(), options=None):
    found = check_plan(plan(), data, ignored, options)
    return check_report(plan(), data, found, options, RUN), found


def cells(page, state):
    """Cells of the device grid in a state: (label, where a link leads)."""
    grid = page[page.index("<h2>Devices") : page.index("<h2>", page.index("<h2>Devices") + 4)]
    found = re.findall(rf'<(?:a|span) class="cell {state}"(?: href="#(\w+)")?[^>]*><b>(.*?)</b>', grid)
    return [(label, target) for target, label in found]


def test_a_healthy_cluster_is_green_all_over():
    page, found = page_of(facts())
    assert found == []
    assert "Ready to deploy, no findings." in page
    assert cells(page, "error") == cells(page, "warning") == []
    assert len(cells(page, "ok")) == 3 * (1 + 4)
    assert "8 of 8 pairs of devices were pinged" in page and "3 of 3 answered" in page
    assert RUN["date"] in page and RUN["command"] in page


def test_the_page_is_one_file_and_no_text_of_a_host_becomes_markup():
    data = facts()
    data["n2"]["npu"]["npus"][1]["processes"] = [{"pid": 9, "name": "<script>alert(1)</script>"}]
    page, _found = page_of(data)
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert not re.search(r'src=|href="[^#]|url\(|@import', page)


def marked(value, mark):
    """The value with a mark at the end of each text."""
    if isinstance(value, dict):
        return {key: marked(item, mark) for key, item in value.items()}
    if isinstance(value, list):
        return [marked(item, mark) for item in value]
    return value + mark if isinstance(value, str) else value


def texts(value, path=()):
    """The path of each text of the facts; of a list only the last entry, as all have the same form."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[-1:] if isinstance(value, list) else ()
    for key, item in items:
        if isinstance(item, str):
            yield (*path, key)
        else:
            yield from texts(item, (*path, key))


def changed(value, path, mark):
    """A copy in which one text ends with a mark."""
    if not path:
        return value + mark
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], mark)
    return copy


MARK = "'\"><script>alert(1)</script>\x1b[2J\x07"


@pytest.mark.parametrize("host", ["n1", "n3"])
def test_markup_in_any_text_of_a_host_is_shown_as_text(host):
    """Each text alone, as one that is no number any more can hide what stands beside it; then all together."""
    data = facts()
    paths = list(texts(data[host], (host,)))
    assert len(paths) > 20
    for found in [*(changed(data, path, MARK) for path in paths), {**data, host: marked(data[host], MARK)}]:
        page = report_filter(plan(), found, check_plan_filter(plan(), found), run=RUN)
        assert "<script" not in page and "\x1b" not in page and "\x07" not in page
    assert """http-equiv="Content-Security-Policy" content="default-src 'none';""" in page


def test_a_device_s_cell_is_marked_and_leads_to_its_finding():
    data = facts()
    npu("n1", 2, health="Critical")(data)
    data["n3"]["npu"]["driver_version"] = "25.5.2"
    page, _found = page_of(data)
    assert "Not ready to deploy: 1 error, 1 warning." in page
    ((device, target),) = cells(page, "error")
    assert device == "2" and f'<article id="{target}"' in page
    article = page[page.index(f'id="{target}"') :].split("</article>")[0]
    assert "npu-smi reports health Critical" in article and "n1 device 2" in article and "Fix:" in article
    assert [label for label, _target in cells(page, "warning")] == ["n3"]
    assert page.index("<h2>Devices") < page.index("<h2>Findings") < page.index("<h2>Reachability")
    assert "25.5.2 !" in page


def test_what_was_accepted_is_said_and_colours_nothing():
    data = facts()
    npu("n1", 2, health="Critical")(data)
    page, _found = page_of(data, ["NPU-HEALTH"])
    assert "Ready to deploy, no findings, 1 accepted." in page
    assert cells(page, "error") == []
    assert '<span class="cell accepted">' in page


def test_a_host_that_did_not_answer_is_not_green():
    data = facts()
    data["n2"] = {"unreachable": "ssh: connect to host n2 port 22: Connection timed out"}
    page, _found = page_of(data)
    assert len(cells(page, "ok")) == 2 * (1 + 4)
    assert [label for label, _target in cells(page, "error")] == ["n2"]
    assert len(cells(page, "warning")) == 4
    assert "Connection timed out" in page


def test_lost_and_slow_pings_have_marks_and_times():
    data = facts()
    lose(data, ("n2", 3, "10.8.1.13"))
    data["n3"]["ping"]["matrix"]["0"]["10.8.1.10"]["average_ms"] = 0.9
    page, _found = page_of(data)
    matrix = page[page.index('class="matrix"') :].split("</table>")[0]
    assert matrix.count('<td class="error">✗') == 1
    assert matrix.count('<td class="warning">0.9') == 1
    assert matrix.count('<td class="ok">0.02') == 6
    assert {row.count("<td") for row in re.findall(r"<tr><th.*?</tr>", matrix)} == {4}
    assert matrix.count('<th scope="row">') == 8


def test_equal_findings_are_one_entry_with_all_places():
    data = facts()
    for name in HOSTS:
        for device in range(4):
            npu(name, device, health="Alarm")(data)
    page, found = page_of(data)
    assert len(found) == 12
    assert page.count("<article") == 1
    assert "12 devices on 3 hosts" in page
    text = check_text(plan(), data, found)
    assert text.count("[NPU-HEALTH]") == 1 and "12 devices on 3 hosts" in text


def test_findings_stand_in_the_order_of_the_devices():
    data = facts()
    data["n2"]["npu"]["npus"][2]["health"] = data["n2"]["npu"]["npus"][3]["health"] = "Alarm"
    data["n2"]["npu"]["npus"].append({"device_id": 10, "health": "Alarm", "processes": []})
    wide = plan(inference_pools={"prefill": {"tensor_parallel_size": 4}, "decode": {"tensor_parallel_size": 4}})
    wide["services"][0]["devices"] = [2, 3, 10]
    paths = [finding["path"] for finding in check_plan(wide, data) if finding["id"] == "NPU-HEALTH"]
    assert paths == ["n2 device 2", "n2 device 3", "n2 device 10"]


def test_the_terminal_gets_the_verdict_the_coverage_and_the_evidence():
    data = facts()
    npu("n1", 2, health="Critical")(data)
    text = check_text(plan(), data, check_plan(plan(), data))
    assert text.splitlines()[:2] == [
        "inference: not ready to deploy: 1 error, 0 warnings.",
        "3 of 3 planned hosts answered, 8 of 8 pairs of devices were pinged, 26 of 26 TCP connections between hosts were tested.",
    ]
    assert "ERROR n1 device 2 = Critical: npu-smi reports health Critical. [NPU-HEALTH]" in text
    options = {"left_out": ["n3"]}
    del data["n3"]
    limited = check_text(plan(), data, check_plan(plan(), data, (), options), options)
    assert "Excluded by --limit, not checked: n3." in limited and "4 of 8 pairs" in limited


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("state", ["ok", "warning", "error", "idle"])
def test_text_has_contrast(scheme, state):
    colours = re.findall(rf"--{state}: (#\w{{6}}); --{state}-text: (#\w{{6}})", STYLE)[scheme]
    low, high = sorted(luminance(colour) for colour in colours)
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_a_wide_table_is_printed_whole():
    """The page of a handover is signed on paper: a cell that does not wrap ends beyond its edge."""
    printed = STYLE.partition("@media print")[2]
    assert ".plain th, .plain td { white-space: normal; }" in printed and ".scroll { overflow: visible; }" in printed
