# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults of faults.yaml: each is detected by the listed stage with the listed cause; none passes."""

from __future__ import annotations

import pathlib
import runpy
import tempfile

import pytest
import yaml
from ansible_collections.ascend.inference.tests.e2e._wiring import Deployment
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies

TABLE_FILE = pathlib.Path(__file__).parent / "faults.yaml"
DOCS = TABLE_FILE.parents[2] / "docs"
TABLE = yaml.safe_load(TABLE_FILE.read_text())
FAULTS = {fault["id"]: fault for fault in TABLE["faults"]}


@pytest.fixture
def deployment():
    made = []

    def make(kind):
        made.append(Deployment(pathlib.Path(folder), TABLE["kinds"][kind]))
        return made[0]

    with tempfile.TemporaryDirectory(
        prefix="af-", dir="/tmp"
    ) as folder:  # short, because the path of a socket has a limited length
        yield make
        for item in made:
            item.close()


def noticed(deployment, fault):
    """(stage, its text) of the first stage that detects the fault, in the order of site.yml."""
    if text := deployment.describe(dict(fault.get("variables", {}))):
        return "plan", text
    for name, changes in fault.get("hosts", {}).items():
        deployment.hosts[name].change(**changes)
    if text := deployment.check():
        return "check", text
    for name, changes in fault.get("after_check", {}).items():
        deployment.hosts[name].change(**changes)
    try:
        deployment.start(fault.get("services", {}))
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"upstream's programs can't be fetched here: {error}")
    for name, changes in fault.get("serving", {}).items():
        deployment.hosts[name].change(**changes)
    for name in fault.get("killed", []):
        deployment.kill(name)
    return ("verify", text) if (text := deployment.verify()[0]) else ("", "")


@pytest.mark.parametrize("kind", TABLE["kinds"])
def test_without_a_fault_it_ends_green(deployment, kind):
    stage, text = noticed(deployment(kind), {})
    assert not stage, text


@pytest.mark.parametrize("name", FAULTS)
def test_the_fault_is_noticed(deployment, name):
    fault = FAULTS[name]
    stage, text = noticed(deployment(fault["kind"]), fault)
    assert stage == fault["notices"], text
    for cause in [fault["cause"]] if isinstance(fault["cause"], str) else fault["cause"]:
        assert cause in text


@pytest.mark.parametrize("fault", TABLE["doubtful"], ids=lambda item: item["id"])
def test_the_plan_warns_of_what_may_be_meant(deployment, fault):
    made = deployment(fault["kind"])
    assert not made.describe(dict(fault["variables"]))
    assert [(finding["id"], finding["severity"]) for finding in made.plan["findings"]] == [(fault["cause"], "warning")]


def test_the_guide_shows_this_table():
    tables = runpy.run_path(str(DOCS / "faults_page.py"))["tables"]()
    assert tables in (DOCS / "docsite" / "rst" / "guide_faults.rst").read_text(), "run docs/faults_page.py --write"
