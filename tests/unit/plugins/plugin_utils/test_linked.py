# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines that are linked are restarted together: by their units, by the playbook restart, and by the watch beside each of them."""

from __future__ import annotations

import json
import pathlib
import re

import jinja2
import pytest
from ansible_collections.ascend.inference.plugins.filter.linked import linked as linked_filter
from ansible_collections.ascend.inference.plugins.module_utils.status import services
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import status_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.linked import linked
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import matrix
from ansible_collections.ascend.inference.plugins.plugin_utils.views.program_code import code_files
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import service_states
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_tree import files

UNIT = pathlib.Path(__file__).resolve().parents[4] / "roles/service/templates/systemd/unit.service.j2"
NAMES = ["prefill-0", "decode-0", "router"]


def plan(connector="llmdatadist"):
    engines = [
        {
            "name": name,
            "kind": name.partition("-")[0],
            "instance": 0,
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
    folders = {"scratch_directory": "/d/work", "work_directory": "/d", "scripts": {"run": "/d/run.sh"}}
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


def test_the_processes_of_an_instance_are_restarted_together():
    found = plan("kv")
    found["services"].insert(2, {**found["services"][1], "name": "decode-0-rank1", "host": "h2"})
    found["services"].insert(3, {**found["services"][1], "name": "decode-1", "instance": 1})
    for name in ("decode-0", "decode-0-rank1"):
        assert linked(found, [name]) == ["decode-0", "decode-0-rank1"]
    assert linked(found, ["decode-1"]) == ["decode-1"]


def test_what_is_no_engine_is_restarted_alone():
    found = plan("kv")
    found["services"].append({"name": "frontend", "kind": "frontend", "host": "h1", "instance": 0})
    for name in ("router", "frontend"):
        assert linked(found, [name]) == [name]
    assert linked(found, ["frontend", "router"]) == ["router", "frontend"]


def test_a_name_that_no_service_has():
    text = "^inference_services names a, decode-9, and .* Fix: correct inference_services; the services are prefill-0, decode-0, router$"
    with pytest.raises(ValueError, match=text):
        linked(plan(), ["decode-9", "router", "a"])


def unit(name, version, connector="llmdatadist"):
    """A service's unit as lines."""
    given = {**plan(connector), "root": "/opt/x", "folders": {"caches": "/opt/x/cache", "run": "/opt/x/run"}}
    words = {
        "service_plan": given,
        "__service_here": given["services"],
        "item": {"env": {}, **next(service for service in given["services"] if service["name"] == name)},
        "__service_target": "x.target",
        "__service_user": "u",
        "__service_home": "/h",
        "__service_account": {"driver_group": "", "systemd": str(version)},
        "__service_host": {},
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


LLMDATADIST = {
    "inference_model": {"path": "/models/x"},
    "inference_pools": {"prefill": {"tensor_parallel_size": 8}, "decode": {"instances": 2, "tensor_parallel_size": 8}},
    "inference_hardware": "a2",
    "inference_release": "0.11.0",
    "inference_kv_transfer": "llmdatadist",
}


def planned(**variables):
    hosts = {
        f"node{number}": {
            "groups": [group],
            "variables": {"ansible_host": f"10.0.0.{number}", "inference_interface": "eth0"},
        }
        for number, group in ((1, "prefill"), (2, "decode"), (3, "decode"))
    }
    return {service["name"]: service for service in launch_plan({**LLMDATADIST, **variables}, hosts)["services"]}


def settings_of(service):
    (file,) = service["link_watch"]["files"]
    return json.loads(file["content"])


def test_an_engine_watches_the_engines_of_the_other_side_on_all_hosts():
    planned_services = planned()
    found = {name: settings_of(service) for name, service in planned_services.items() if "link_watch" in service}
    assert {name: set(found[name]["peers"]) for name in found} == {
        "prefill-0": {"decode-0", "decode-1"},
        "decode-0": {"prefill-0"},
        "decode-1": {"prefill-0"},
    }
    assert found["decode-1"]["peers"]["prefill-0"] == found["prefill-0"]["own"] == "http://10.0.0.1:7100"
    assert found["decode-1"]["record"] == planned_services["decode-1"]["link_watch"]["record"]
    assert found["decode-1"]["record"].startswith(planned_services["decode-1"]["scratch_directory"] + "/")


@pytest.mark.parametrize(
    "variables",
    [{"inference_kv_transfer": "mooncake"}, {"inference_release": "0.23.0", "inference_kv_transfer": "mooncake"}],
)
def test_connectors_that_link_again_need_no_watch(variables):
    assert not [name for name, service in planned(**variables).items() if "link_watch" in service]


def test_the_release_data_say_which_connector_does_not_link_again(monkeypatch):
    monkeypatch.setattr(matrix, "LINKS_ONCE", frozenset())
    assert not [name for name, service in planned().items() if "link_watch" in service]


def test_in_containers_the_image_has_the_interpreter():
    service = planned(inference_runtime="docker")["decode-0"]
    assert service["link_watch"]["argv"][0] == "python3"
    path = service["link_watch"]["record"]
    assert f"{service['scratch_directory']}:{service['scratch_directory']}" in service["container"]["mounts"] and path


def test_another_instance_in_the_other_pool_restarts_nothing():
    one = {"inference_pools": {**LLMDATADIST["inference_pools"], "decode": {"tensor_parallel_size": 8}}}
    before, after = planned(**one)["prefill-0"], planned()["prefill-0"]
    assert settings_of(before) != settings_of(after)
    assert before["digest"] == after["digest"]


def test_its_files_are_written_and_another_version_of_its_code_restarts_no_engine():
    service = planned()["decode-0"]
    written = {file["path"] for file in files([service])}
    code = {file["path"] for file in code_files(service)}
    assert f"{service['work_directory']}/code/ascend_inference_links/links/program.py" in code
    assert code < written
    assert service["link_watch"]["files"][0]["path"] in written
    facts = {"contained": True}
    (state,) = service_states({"runtime_facts": facts}, [service])
    assert not code & set(state["newer"])


NOW = 100000.0


def found(tmp_path, text="", since=1000.0, state="running"):
    """Findings of the row of an engine with a record."""
    path = tmp_path / "links.json"
    if text:
        path.write_text(json.dumps(text), encoding="utf-8")
    service = {"name": "decode-0", "links": str(path)}
    return list(services._links(service, {"state": state, "since": since}, NOW))


def test_status_knows_the_links_from_the_record(tmp_path):
    good = {"at": NOW - 5, "met": {"prefill-0": 5.0}, "ended": [], "stale": [], "unknown": []}
    assert found(tmp_path, good) == []
    (text,) = found(tmp_path, {**good, "stale": ["prefill-0"], "ended": [1.0, 2.0]})
    assert "keeps links to processes of prefill-0 that are gone" in text and "ended 2 times" in text
    (text,) = found(tmp_path, {**good, "unknown": ["prefill-0"]})
    assert "cannot see restarts of prefill-0" in text


def test_a_watch_that_does_not_run_is_a_finding(tmp_path):
    (text,) = found(tmp_path)
    assert "has no watch of its links" in text
    (text,) = found(tmp_path, {"at": NOW - 300})
    assert "has no watch of its links" in text
    assert found(tmp_path, {"at": NOW - 300}, since=NOW - 30) == []
    assert found(tmp_path, {"at": NOW - 300}, state="exited") == []
    assert list(services._links({"name": "router", "links": ""}, {"state": "running", "since": 1.0}, NOW)) == []
    assert list(services._links({"name": "router"}, {"state": "running", "since": 1.0}, NOW)) == []


def test_the_plan_of_the_status_names_the_record():
    service = planned()["decode-0"]
    plan = {"services": [service], "software": {"engine": {}}}
    shared = {key: "" for key in ("deployment", "directory", "runtime", "runtime_settings", "digest")}
    assert status_plan({**shared, **plan}, service["host"])["services"][0]["links"] == service["link_watch"]["record"]


@pytest.mark.parametrize("names", ["decode-0,router", "decode-0, router", ["decode-0", "router"]])
def test_names_of_services_are_a_list_or_a_text_with_commas(names):
    assert linked_filter(plan("mooncake"), names) == ["decode-0", "router"]
