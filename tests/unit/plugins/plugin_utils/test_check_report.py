# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check's page: one file, findings first, a coloured cell for each device, the pings as a heat map."""

from __future__ import annotations

import html.parser
import re

from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report import check_report, check_text
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import (
    HOSTS,
    facts,
    npu,
    ping,
    plan,
)


class Cells(html.parser.HTMLParser):
    """Class, title and style of each table cell of a page."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.open = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "td":
            self.cells.append({"class": "", "title": "", "style": "", **dict(attrs)})


def page_of(data, ignored=()):
    found = check_plan(plan(), data, ignored)
    return check_report(plan(), data, found), found


def cells(page, kind):
    return [one for one in Cells(page).cells if one["class"].split()[:1] == [kind]]


def test_a_healthy_cluster_is_green_all_over():
    data = facts()
    ping(data)
    page, dummy = page_of(data)
    assert "Ready to deploy: nothing was found." in page
    assert cells(page, "error") == cells(page, "warning") == []
    assert len(cells(page, "ok")) == 3 * (1 + 4) + 3 * 4 * 2  # hosts with their devices; pings to two other hosts


def test_the_page_is_one_file_and_no_text_of_a_host_becomes_markup():
    data = facts()
    data["n2"]["npu"]["npus"][1]["processes"] = [{"pid": 9, "name": "<script>alert(1)</script>"}]
    page, dummy = page_of(data)
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=|url\(|@import", page)


def test_a_device_s_cell_has_the_worst_colour_and_says_why():
    data = facts()
    npu("n1", 2, health="Critical")(data)
    data["n3"]["npu"]["driver_version"] = "25.5.2"
    page, dummy = page_of(data)
    assert "1 to mend before anything is deployed, 1 to look at." in page
    (error,), (warning,) = cells(page, "error"), cells(page, "warning")
    assert error["title"].splitlines()[0] == "prefill-0"
    assert "reports health Critical" in error["title"]
    assert "driver 25.5.2" in warning["title"]
    assert page.index("<h2>Findings") < page.index("<h2>Hosts") < len(page)


def test_what_was_accepted_is_said_and_colours_nothing():
    data = facts()
    npu("n1", 2, health="Critical")(data)
    page, dummy = page_of(data, ["NPU-HEALTH"])
    assert "Ready to deploy: nothing was found, 1 accepted." in page
    assert cells(page, "error") == []
    assert '<span class="accepted">' in page


def test_a_lost_ping_is_red_a_slow_one_turns_yellow_and_no_column_is_missing():
    data = facts()
    ping(data, ("n1", 3, "10.8.2.13"))
    for name in HOSTS:
        for peers in data[name]["ping"]["matrix"].values():
            for one in peers.values():
                one["average_ms"] = 0.02
    data["n1"]["ping"]["matrix"]["0"]["10.8.3.10"]["average_ms"] = 0.3
    page, dummy = page_of(data)
    (lost,) = [one for one in cells(page, "error") if " to " in one["title"]]
    assert lost["title"] == "n1 device 3 to n2 device 3: no answer"
    (slow,) = [one for one in cells(page, "ok") if one["style"]]
    assert slow["title"] == "n1 device 0 to n3 device 0: 0.30 ms"
    matrix = page[page.index('class="matrix"') :]
    assert {row.count("<td") for row in re.findall(r"<tr>.*?</tr>", matrix) if "<td" in row} == {12}


def test_findings_stand_in_the_order_of_the_devices():
    data = facts()
    data["n2"]["npu"]["npus"][2]["health"] = data["n2"]["npu"]["npus"][3]["health"] = "Alarm"
    data["n2"]["npu"]["npus"].append({"device_id": 10, "health": "Alarm", "processes": []})
    wide = plan(inference_pools={"prefill": {"tensor_parallel_size": 4}, "decode": {"tensor_parallel_size": 4}})
    wide["services"][0]["devices"] = [2, 3, 10]
    paths = [one["path"] for one in check_plan(wide, data) if one["id"] == "NPU-HEALTH"]
    assert paths == ["n2 device 2", "n2 device 3", "n2 device 10"]


def test_the_terminal_gets_the_same_findings():
    data = facts()
    npu("n1", 2, health="Critical")(data)
    dummy, found = page_of(data)
    assert check_text(found).startswith(
        "1. ERROR n1 device 2 = Critical: the device of prefill-0 reports health Critical."
    )
    assert check_text([]) == "Nothing was found: every planned host is as the plan wants it."
