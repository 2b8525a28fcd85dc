# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned service of the probe: its place, its keys, and its code, which runs without this collection."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import status_plan
from ansible_collections.ascend.inference.plugins.module_utils.status.services import Host
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.watchdog import watched
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_page import plan_page
from ansible_collections.ascend.inference.plugins.plugin_utils.views.program_code import code_files, code_folders
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import service_states
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_tree import files, folders
from ansible_collections.ascend.inference.plugins.plugin_utils.views.status_table import status_report, status_table
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster

ENABLED = {"inference_probe": {"enabled": True}}
PLAIN = {
    "inference_model": {"path": "/models/x"},
    "inference_pools": {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 8}},
    "inference_hardware": "a3",
}


def planned(**variables):
    hosts = {
        f"node{number}": {
            "groups": [group],
            "variables": {"ansible_host": f"10.0.0.{number}", "inference_interface": "eth0"},
        }
        for number, group in ((1, "prefill"), (2, "decode"))
    }
    return launch_plan({**PLAIN, **variables}, hosts)


def probe_of(plan):
    return next((service for service in plan["services"] if service["kind"] == "probe"), None)


def test_without_the_variable_nothing_is_planned():
    assert probe_of(planned()) is None
    assert probe_of(planned(inference_probe={"interval": 10})) is None


def test_it_runs_on_the_host_of_the_entry_and_starts_last():
    plan = planned(**ENABLED)
    service = probe_of(plan)
    assert service["host"] == plan["verify"]["entry"]["host"]
    assert service["start"]["stage"] == max(item["start"]["stage"] for item in plan["services"])
    assert service["health"]["url"] == "http://10.0.0.1:8013/health"
    settings = json.loads(service["files"][0]["content"])
    assert settings["verify"]["entry"]["url"] == plan["verify"]["entry"]["url"]
    assert settings["interval"] == 60
    assert [row["for"] for row in plan["hosts"][0]["firewall"] if row["ports"] == "8013"] == ["probe metrics"]


def test_the_page_of_the_plan_does_not_take_it_for_a_store():
    assert "KV store" not in plan_page(planned(**ENABLED))


def test_keys_are_names_in_the_plan_and_never_values():
    secrets = {"api_key": "engines-value", "client_keys": "clients-value second"}
    router = {"frontend": "haproxy", "certificate": "/etc/ssl/x.pem", "certificate_key": "/etc/ssl/x.key"}
    service = probe_of(planned(**ENABLED, inference_secrets=secrets, inference_router=router))
    assert service["secret_env"] == {"PROBE_ENGINE_KEY": "api_key", "PROBE_CLIENT_KEY": "client_keys"}
    assert "-value" not in json.dumps(service)


def test_a_container_may_write_the_textfiles_only():
    wanted = {"enabled": True, "textfile_directory": "/srv/textfiles"}
    service = probe_of(planned(inference_probe=wanted, inference_runtime="docker"))
    assert service["argv"][0] == "python3"
    assert service["container"]["devices"] == []
    writable = [mount for mount in service["container"]["mounts"] if not mount.endswith(":ro")]
    assert writable == [
        "/srv/textfiles:/srv/textfiles",
        f"{service['scratch_directory']}:{service['scratch_directory']}",
    ]


def test_its_code_is_written_and_a_change_of_it_restarts_the_service():
    plan = planned(**ENABLED)
    service = probe_of(plan)
    paths = {file["path"] for file in code_files(service)}
    assert f"{service['code_directory']}/ascend_inference_probe/probe/program.py" in paths
    assert paths < {file["path"] for file in files([service])}
    assert paths < set(service_states(plan, [service])[0]["newer"])
    made = [folder["path"] for folder in folders(plan, [service]) if not folder["service_owned"]]
    assert {str(pathlib.PurePosixPath(path).parent) for path in paths} < set(made)
    assert made.index(code_folders(service)[0]) < made.index(code_folders(service)[-1])
    other = next(item for item in plan["services"] if item["kind"] == "router")
    assert code_files(other) == code_folders(other) == []


@pytest.fixture
def running(tmp_path):
    """The program as a service runs it: its own copy of the code, no other packages, keys in the environment."""
    service = {**probe_of(planned(**ENABLED)), "code_directory": str(tmp_path / "probe/code")}
    for file in code_files(service):
        path = pathlib.Path(file["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"], encoding="utf-8")
    started = []

    def start(cluster, **more):
        port = free_ports(1)[0]
        settings = {"deployment": "x", "verify": cluster.plan(), "address": "127.0.0.1", "port": port, **more}
        path = tmp_path / "probe.json"
        path.write_text(json.dumps(settings), encoding="utf-8")
        environment = {"PYTHONPATH": str(tmp_path / "probe/code"), "PROBE_ENGINE_KEY": cluster.api_key}
        argv = [sys.executable, "-S", *service["argv"][1:3], str(path)]
        process = subprocess.Popen(argv, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return port, process

    yield start
    for process in started:
        process.kill()
        process.wait()


def row_of(port, wanted):
    """The row of `status`, once it is as wanted."""
    health = {"url": f"http://127.0.0.1:{port}/health", "timeout": 60}
    service = {**probe_of(planned(**ENABLED)), "health": health, "host": "n1", "address": "127.0.0.1"}
    service["ports"] = [{"name": "metrics", "first": port, "count": 1}]
    plan = {**planned(), "services": [service]}
    question = status_plan(plan, "n1")
    state = {"state": "running", "since": time.time(), "restarts": 0, "detail": "", "digest": service["digest"]}

    class Runtime:
        def states(self, services):
            return {services[0]["unit"]: state}

        def log(self, service, lines):
            return ""

    end = time.monotonic() + 20
    while True:
        rows, findings = Host(Runtime(), question, question).look()
        assert findings == []
        if wanted(rows[0]) or time.monotonic() > end:
            return rows[0]
        time.sleep(0.2)


def test_the_program_runs_alone_and_status_shows_its_results(tmp_path, running):
    with Cluster(tmp_path, prefill=1, decode=1, api_key="key-of-engines") as cluster:
        port, process = running(cluster, timeout=5, interval=600)
        row = row_of(port, lambda row: row["kv"].get("good") == 2)
    assert row["kv"] == {"good": 2, "failed": 0, "unknown": 0, "paths": 2, "clients": True}
    assert row["findings"] == []
    assert "2 of 2 paths good" in "\n".join(
        status_table(status_report("x", {"n1": {"services": [row], "findings": [], "plan_digest": "p"}}))
    )
    process.terminate()
    assert process.wait(10) == 0


def test_an_empty_200_is_a_finding_of_status(tmp_path, running):
    with Cluster(tmp_path, prefill=1, decode=1, faults={"router-0": ["empty_200"]}) as cluster:
        port, dummy = running(cluster, timeout=5, interval=600)
        row = row_of(port, lambda row: row["kv"].get("failed") == 1)
    (text,) = row["findings"]
    assert "clients: " in text and "empty" in text and "Fix: " in text
    assert row["answers"] and row["kv"]["clients"] is False
    (head, *_rest) = status_table(status_report("x", {"n1": {"services": [row], "findings": [], "plan_digest": "p"}}))
    assert head == "x: clients get no answers, although 1 of 1 services run"


def test_the_watchdog_knows_all_services_of_an_instance():
    pools = {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 8, "data_parallel_size": 2}}
    plan = planned(**ENABLED, inference_pools=pools)
    found = watched(plan)
    assert (found["host"], found["url"]) == ("node1", "http://10.0.0.1:8013")
    services = {name for names in found["engines"].values() for name in names}
    assert services == {item["name"] for item in plan["services"] if item["kind"] in ("prefill", "decode")}
    answering = {item["name"] for item in plan["services"] if item["kind"] in ("prefill", "decode") and item["health"]}
    assert set(found["engines"]) == answering
    assert watched(planned())["host"] == ""
