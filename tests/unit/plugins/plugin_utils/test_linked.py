# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines that are linked are restarted together: by their units, by the playbook restart, and status shows where they were not."""

from __future__ import annotations

import pathlib
import re

import jinja2
import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.linked import linked
from ansible_collections.ascend.inference.plugins.plugin_utils.views.status_table import status_report

UNIT = pathlib.Path(__file__).resolve().parents[4] / "roles/service/templates/systemd/unit.service.j2"
NAMES = ["prefill-0", "decode-0", "router"]


def plan(connector="llmdatadist"):
    engines = [
        {
            "name": name,
            "kind": name.partition("-")[0],
            "host": "h1",
            "unit": f"x-{name}.service",
            "ports": [{"name": "api"}, {"name": connector}],
        }
        for name in NAMES[:2]
    ]
    services = [
        *engines,
        {"name": "router", "kind": "router", "host": "h1", "unit": "x-router.service", "ports": [{"name": "api"}]},
    ]
    more = {"start": {"needs": [], "limits": {}}, "stop": {"signal": "TERM", "timeout": 60}}
    folders = {"scratch_directory": "/d/work", "work_directory": "/d"}
    return {
        "deployment": "x",
        "services": [{**service, **more, **folders} for service in services],
        "runtime_facts": {"in_cluster": False},
    }


@pytest.mark.parametrize(
    ("connector", "names", "expected"),
    [
        ("llmdatadist", ["prefill-0"], ["prefill-0", "decode-0"]),
        ("llmdatadist", ["decode-0", "router"], NAMES),
        ("llmdatadist", ["router"], ["router"]),
        ("llmdatadist", [], NAMES),
        ("kv", ["prefill-0"], ["prefill-0"]),
    ],
)
def test_what_is_restarted_together(connector, names, expected):
    assert linked(plan(connector), names) == expected


def test_a_name_that_no_service_has():
    with pytest.raises(ValueError, match="no service is named decode-9; there are prefill-0, decode-0, router"):
        linked(plan(), ["decode-9", "router"])


def unit(name, version, connector="llmdatadist"):
    """A service's unit as lines."""
    given = {**plan(connector), "root": "/opt/ascend-inference"}
    words = {
        "service_plan": given,
        "__service_here": given["services"],
        "item": {"env": {}, **next(service for service in given["services"] if service["name"] == name)},
        "__service_target": "x.target",
        "__service_user": "u",
        "__service_driver_group": "",
        "__service_systemd_version": str(version),
        "service_systemd_restart_delay": 5,
        "service_systemd_restart_delay_max": 60,
    }
    environment = jinja2.Environment(trim_blocks=True)
    environment.filters["ascend.inference._linked"] = linked
    environment.tests["match"] = lambda text, pattern: bool(re.match(pattern, text))
    return environment.from_string(UNIT.read_text(encoding="utf-8")).render(words).splitlines()


def test_a_unit_is_part_of_those_that_it_is_linked_with():
    assert {"PartOf=x.target", "PartOf=x-decode-0.service"} <= set(unit("prefill-0", 255))
    assert "PartOf=x-prefill-0.service" in unit("decode-0", 255)
    assert [line for line in unit("router", 255) if line.startswith("PartOf=")] == ["PartOf=x.target"]
    assert [line for line in unit("prefill-0", 255, "kv") if line.startswith("PartOf=")] == ["PartOf=x.target"]


@pytest.mark.parametrize(
    ("version", "lines"),
    [
        (249, {"StartLimitIntervalSec=0"}),
        (255, {"StartLimitIntervalSec=0", "RestartSteps=6", "RestartMaxDelaySec=60"}),
    ],
)
def test_restarts_never_end_and_their_pause_grows_where_systemd_can(version, lines):
    found = {
        line for line in unit("prefill-0", version) if line.startswith(("StartLimit", "RestartSteps", "RestartMax"))
    }
    assert found == lines


def report(connector="llmdatadist", **since):
    rows = [
        {
            "service": name,
            "kind": "decode",
            "state": "running",
            "answers": True,
            "restarts": restarts,
            "since": start,
            "findings": [],
        }
        for name, (restarts, start) in since.items()
    ]
    return status_report("x", {"h1": {"services": rows, "plan_digest": "p"}}, plan(connector))["findings"]


def test_status_shows_an_engine_that_was_restarted_alone():
    (text,) = report(**{"prefill-0": (1, 5000.0), "decode-0": (0, 1000.0)})
    assert (
        "prefill-0 ended and was started again, and decode-0 keep links" in text and "ascend.inference.restart" in text
    )
    assert report(**{"prefill-0": (1, 5000.0), "decode-0": (0, 5010.0)}) == []
    assert report(**{"prefill-0": (0, 5000.0), "decode-0": (0, 1000.0)}) == [], "stages start one after the other"
    assert report("kv", **{"prefill-0": (1, 5000.0), "decode-0": (0, 1000.0)}) == []
