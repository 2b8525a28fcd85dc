# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every HTML page in a real browser, by axe-core: contrast, names, keyboard; on a phone and a desktop, light and dark.

``PICTURES=FOLDER LONG=1 make integration ARGS="-k axe"`` also writes pictures of all pages, to look at.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.page import acceptance_page
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.page import bench_page
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_page import check_report
from ansible_collections.ascend.inference.plugins.plugin_utils.pages.index import WHAT, pages_index
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_page import plan_page
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils import (
    test_bench,
    test_check_plan,
    test_handover_judged,
    test_plan_page,
    test_status_page,
    test_status_table,
)

pytestmark = pytest.mark.long
AXE, PUPPETEER = "axe-core@4.10.3", "puppeteer-core@24.10.0"


def pages():
    """A page of each kind with findings of each severity, as text by name."""
    plan = plan_of("a3_2p1d")
    found = [
        {"id": "X", "severity": severity, "path": "p", "problem": "q", "why": "w", "fix": "f", "value": "v"}
        for severity in ("error", "warning", "remark", "accepted")
    ]
    data = test_check_plan.facts()
    test_check_plan.npu("n1", 2, health="Critical")(data)
    data["n3"]["npu"]["driver_version"] = "25.5.2"
    small = test_check_plan.plan()
    measured = test_bench.report(
        plan, [60.0] * 3, old=test_bench.report(plan, [50.0] * 3), engines={"decode-0-0": test_bench.COUNTED}
    )
    rows = [
        test_status_table.row("prefill-0", state="exited", findings=["ill"], log=["words"]),
        test_status_table.row(),
    ]
    drawn = test_plan_page.planned(prefill=1, decode=1)
    yield (
        "plan",
        plan_page(
            {**plan, "findings": found}, {**test_status_page.RUN, "changes": ["~ decode-0 restarts: argv", "x" * 300]}
        ),
    )
    yield "plan_of_100_hosts", plan_page(test_plan_page.planned(prefill=60, decode=40))
    yield "check", check_report(small, data, check_plan(small, data), run=test_status_page.RUN)
    yield "status", test_status_page.page_of(*rows, plan=drawn)
    yield "bench", bench_page(measured, test_status_page.RUN)
    yield "acceptance", acceptance_page(test_handover_judged.told())
    yield "index", pages_index("qwen", list(WHAT))


def test_axe_finds_nothing_on_any_page(tmp_path):
    files = []
    for name, text in pages():
        files.append(tmp_path / f"{name}.html")
        files[-1].write_text(text, encoding="utf-8")
    install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(tmp_path), AXE, PUPPETEER]
    subprocess.run(install, check=True, timeout=300, env={**os.environ, "PUPPETEER_SKIP_DOWNLOAD": "1"})
    program = pathlib.Path(__file__).parent / "pages" / "axe.js"
    command = ["node", str(program), str(tmp_path / "node_modules"), os.environ.get("PICTURES", ""), *map(str, files)]
    done = subprocess.run(command, check=True, timeout=600, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert len(found) == 4 * len(files) and {name: texts for name, texts in found.items() if texts} == {}
