# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a deployment's status, and the index of its pages."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.pages.index import pages_index
from ansible_collections.ascend.inference.plugins.plugin_utils.views.status_page import status_page
from ansible_collections.ascend.inference.plugins.plugin_utils.views.status_table import status_report
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_plan_page import parsed, planned
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_status_table import result, row

RUN = {"date": "2026-01-01 12:00 UTC", "inventory": ["/srv/racks/a3/hosts.yml"]}


def page_of(*rows, plan=None, **more):
    return status_page(status_report("x", {"n1": result(*rows, **more)}), plan, RUN)


def verdict(page):
    return re.search(r'<p class="verdict (\w+)">(.*?)</p>', page).groups()


def test_a_service_that_works_is_green_and_the_head_says_whose_page_it_is():
    page = page_of(row())
    assert verdict(page) == ("ok", "1 of 1 services run, no findings.")
    assert '<span class="cell ok">running</span>' in page and "2102 of 2751 tokens" in page
    assert "<dt>Date</dt><dd>2026-01-01 12:00 UTC</dd>" in page and "a3/hosts.yml" in page and "/srv" not in page
    parsed(page)


@pytest.mark.parametrize(
    ("change", "state"), [({"state": "exited"}, "exited"), ({"answers": False}, "running, silent")]
)
def test_a_service_that_does_not_is_red_and_its_reason_stands_before_the_table(change, state):
    page = page_of(row(**change, findings=["it is ill"], log=["last words"]))
    assert verdict(page) == ("error", "0 of 1 services run.")
    assert f'<span class="cell error">{state}</span>' in page
    assert page.index("decode-0 on n1: it is ill") < page.index("<h2>Services</h2>") < page.index("last words")


def test_the_picture_of_the_plan_has_the_states():
    plan = planned(prefill=1, decode=1)
    page = page_of(row("prefill-0", state="exited"), row("router"), plan=plan)
    parsed(page)
    found = re.findall(r"<li>([^<]*?)(?: <small>[^<]*</small>)?\s*<span class=\"cell (\w+)\">(.*?)</span>", page)
    assert {(name.strip(), style, state) for name, style, state in found} == {
        ("prefill-0", "error", "exited"),
        ("router", "ok", "running"),
    }
    assert plan["digest"] in page


def test_no_text_of_a_host_becomes_markup():
    bad = "<script>x</script>\x1b[2J"
    page = page_of(row(bad, findings=[bad], log=[bad], version=bad), findings=[bad])
    assert "<script" not in page and "\x1b" not in page
    parsed(page)


def test_the_index_links_what_is_there():
    page = pages_index("qwen", ["plan", "status", "notes"])
    assert re.findall(r'href="(.*?)"', page) == ["status.html", "plan.html"] and "Pages of qwen" in page
