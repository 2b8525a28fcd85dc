# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook deploy while the service serves: engines come, change and go, and no request is lost.

The playbook, the role, supervisord and vllm-router are real; engines are simulated, and nothing is checked or installed. A simulated engine
ends at once when it is stopped, so each request that it still has fails.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisord import Supervisord
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import vllm_router
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM
from ansible_collections.ascend.inference.tests.simulator import load, pd_cluster, upstream_proxies

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "upstream"
PORT = 26100
URL = f"http://127.0.0.1:{PORT}"
NOTHING = [{"name": "Nothing", "hosts": "{{ [] }}", "gather_facts": False, "tasks": []}]


class Service:
    """A deployment below one folder."""

    def __init__(self, folder, python):
        self.folder, self.root = folder, folder / "root"
        book = folder / "ansible_collections/ascend/inference"
        for name in ("plugins", "playbooks"):
            shutil.copytree(ROOT / name, book / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("service", "firewall"):
            shutil.copytree(ROOT / "roles" / name, book / "roles" / name)
        for name in ("check", "kubernetes"):
            (book / f"playbooks/{name}.yml").write_text(yaml.safe_dump(NOTHING), encoding="utf-8")
        self.variables = {
            "inference_engine": "vllm_cpu",
            "inference_runtime": "supervisor",
            "inference_root": str(self.root),
            "inference_model": {"path": str(folder / "model"), "name": "tiny"},
            "inference_router": {"port": PORT, "metrics_port": PORT + 1},
        }
        host = {
            "ansible_connection": "local",
            "ansible_host": "127.0.0.1",
            "ansible_python_interpreter": sys.executable,
        }
        groups = {name: {"hosts": {"n1": None}} for name in ("prefill", "decode")}
        inventory = {"all": {"hosts": {"n1": host}, "children": groups}}
        (folder / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")
        self._programs(python)

    def _programs(self, python):
        """Programs of the plan: simulated engines, the real router, the real supervisord."""
        plan = launch_plan(
            {**self.variables, "inference_pools": self.pools(2, 2)},
            {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "127.0.0.1"}}},
        )
        programs = {service["kind"]: pathlib.Path(service["argv"][0]) for service in plan["services"]}
        engine = ROOT / "tests/simulator/engine_program.py"
        self._script(programs["decode"], f'exec {sys.executable} {engine} "$@"')
        self._script(programs["router"], f'exec {python.with_name("vllm-router")} "$@"')
        self._script(programs["router"].with_name("python"), f'exec {python} "$@"')

    @staticmethod
    def _script(path, text):
        path.parent.mkdir(parents=True) if not path.parent.exists() else None
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    @staticmethod
    def pools(prefill, decode):
        return {
            "prefill": {"instances": prefill, "ports": {"api": PORT + 20, "bootstrap": PORT + 90}},
            "decode": {"instances": decode, "ports": {"api": PORT + 160}},
        }

    def deploy(self, prefill, decode, fails=False, **variables):
        given = {**self.variables, "inference_pools": self.pools(prefill, decode), **variables}
        argv = [str(PROGRAM), "-i", "hosts.yml", "-e", json.dumps(given), "ascend.inference.deploy"]
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": f"{self.folder}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
        }
        done = subprocess.run(argv, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == fails, done.stdout[-6000:] + done.stderr[-2000:]
        return done.stdout

    def starts(self):
        """{service: process id}."""
        socket = self.root / "deployments/inference/run/supervisor.sock"
        rows = Supervisord(str(socket)).processes()
        return {name.replace("inference-", ""): state["pid"] for name, state in rows.items()}

    def stop(self):
        pid = self.root / "deployments/inference/run/supervisord.pid"
        if pid.exists():
            number = int(pid.read_text())
            os.kill(number, 15)
            end = time.monotonic() + 60
            while pathlib.Path(f"/proc/{number}").exists() and time.monotonic() < end:
                time.sleep(0.1)


@pytest.fixture
def service():
    try:
        python = upstream_proxies.venv(CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with tempfile.TemporaryDirectory(prefix="serve-") as folder:  # the path of supervisord's socket must be short
        made = Service(pathlib.Path(folder), python)
        yield made
        made.stop()


def expected(prompt, tokens):
    """The text of an engine alone."""
    kv = [pd_cluster.digest("weights", *prompt.split()[: number + 1]) for number in range(len(prompt.split()))]
    return "".join(word for word, _logprob, _top in ALONE.tokens_of(kv, tokens))


class Alone(pd_cluster.Engine):
    """An engine that is only asked for its texts."""

    def __init__(self):
        self.faults, self.weights = set(), "weights"


ALONE = Alone()


def members():
    rows = json.loads(pd_cluster.call(URL, "/workers")[1])["workers"]
    return sorted((row["worker_type"], int(row["url"].rpartition(":")[2]) - PORT) for row in rows)


def test_no_request_is_lost_when_engines_come_change_and_go(service):
    service.deploy(2, 2)
    begin = service.starts()
    with load.Load(URL, "tiny", clients=2) as requests:
        service.deploy(2, 3, inference_args={"max-num-seqs": 8})
        changed = service.starts()
        assert [name for name in begin if changed[name] == begin[name]] == ["router"]
        assert len(members()) == 5
        service.deploy(2, 2, inference_args={"max-num-seqs": 8})
        assert service.starts() == {name: changed[name] for name in begin}, "nothing else was restarted"
    report = requests.report(expected)
    print(report)
    assert (report["failed"], report["failures"], report["empty"], report["wrong"]) == ([], 0, 0, 0), report
    assert report["answered"] > 50
    assert len(members()) == 4
