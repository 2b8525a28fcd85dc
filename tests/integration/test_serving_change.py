# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks deploy and restart while the service serves: engines come, change and go, and no request is lost.

The playbook, the role, supervisord and vllm-router are real; engines are simulated, and nothing is checked or installed. A simulated engine
ends at once when it is stopped, so each request that it still has fails.
"""

from __future__ import annotations

import contextlib
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
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, free_range
from ansible_collections.ascend.inference.tests.simulator import load, pd_cluster, upstream_proxies

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "upstream"
PORT = free_range(
    160
)  # 100 for the engines and routers of this file and test_halves, then those of test_balanced_change
URL = f"http://127.0.0.1:{PORT}"
NOTHING = [{"name": "Nothing", "hosts": "{{ [] }}", "gather_facts": False, "tasks": []}]


class Service:
    """A deployment below one folder. ``router``: settings besides its ports; ``python``: that of an environment with the router's packages."""

    def __init__(self, folder, python, **router):
        self.folder, self.root = folder, folder / "root"
        book = folder / "ansible_collections/ascend/inference"
        for name in ("plugins", "playbooks"):
            shutil.copytree(ROOT / name, book / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("service", "firewall", "verify"):
            shutil.copytree(ROOT / "roles" / name, book / "roles" / name)
        for name in ("check_body", "kubernetes_body", "prepare_body"):
            (book / f"playbooks/shared/{name}.yml").write_text(yaml.safe_dump(NOTHING), encoding="utf-8")
        self.variables = {
            "inference_engine": "vllm_cpu",
            "inference_runtime": "supervisor",
            "inference_root": str(self.root),
            "inference_model": {"path": str(folder / "model"), "name": "tiny"},
            "inference_router": {"port": PORT, "metrics_port": PORT + 1, **router},
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
        self.plant("")

    def _programs(self, python):
        """Programs of the plan: simulated engines, the real router, the real supervisord."""
        plan = launch_plan(
            {**self.variables, "inference_pools": self.pools(2, 2)},
            {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "127.0.0.1"}}},
        )
        programs = {service["kind"]: pathlib.Path(service["argv"][0]) for service in plan["services"]}
        for script in map(pathlib.Path, plan["software"]["router"]["files"]):
            script.parent.mkdir(parents=True, exist_ok=True)
            source = upstream_proxies.fetch(plan["software"]["router"]["source_release"], CACHE) / script.name
            script.write_text(upstream_proxies.LOGGER if script.name == "logger.py" else source.read_text())
        engine = ROOT / "tests/simulator/engine_program.py"
        planted = f'case "$*" in *"$(cat {self.folder}/when)"*) SIMULATED_FAULTS="$(cat {self.folder}/faults)";; esac'
        faults = f"{planted}\nexport SIMULATED_FAULTS"
        self._script(programs["decode"], f'{faults}\nexec {sys.executable} {engine} "$@"')
        self._script(programs["router"].with_name("vllm-router"), f'exec {python.with_name("vllm-router")} "$@"')
        self._script(programs["router"].with_name("python"), f'exec {python} "$@"')

    @staticmethod
    def _script(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    @staticmethod
    def pools(prefill, decode):
        return {
            "prefill": {"instances": prefill, "ports": {"api": PORT + 10, "bootstrap": PORT + 20}},
            "decode": {"instances": decode, "ports": {"api": PORT + 30}},
        }

    def deploy(self, prefill, decode, fails=False, **variables):
        return self.play("deploy", fails, inference_pools=self.pools(prefill, decode), **variables)

    def play(self, playbook, fails=False, killed_at="", options=(), **variables):
        """Its output in one line; ``killed_at``: the task of the role service in play Deploy at whose start the controller is killed.

        PLAY | ROLE | TASK | NUMBER is a task of another play, where it starts for the NUMBERth time.
        """
        given = {**self.variables, "inference_pools": self.pools(2, 2), **variables}
        argv = [str(PROGRAM), "-i", "hosts.yml", "-e", json.dumps(given), f"ascend.inference.{playbook}", *options]
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": f"{self.folder}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PIPELINING": "1",
        }
        if killed_at:
            here = pathlib.Path(__file__).parent
            environment["ANSIBLE_CALLBACK_PLUGINS"] = f"{here / 'interrupt'}:{here.parent / 'callbacks'}"
            environment["ANSIBLE_CALLBACKS_ENABLED"] = "stages,built_once"
            environment["INTERRUPT_STAGES"] = str(self.folder / "stages")
            stage, whole, number = killed_at.rpartition(" | ") if killed_at.count(" | ") == 3 else (killed_at, "", "1")
            environment["INTERRUPT_STAGE"] = stage if whole else f"Deploy | service | {stage}"
            environment["INTERRUPT_TIME"] = number
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )
        assert not killed_at or done.returncode == -9, done.stdout[-6000:]
        assert (done.returncode != 0) == fails, done.stdout[-6000:] + done.stderr[-2000:]
        return " ".join(done.stdout.replace("\\n", " ").split())

    def plant(self, faults, when=""):
        """Faults of the engines that start from now on with ``when`` in their command line."""
        (self.folder / "faults").write_text(faults, encoding="utf-8")
        (self.folder / "when").write_text(when, encoding="utf-8")

    def written(self):
        """{file: content} of the services."""
        files = (self.root / "deployments/inference/services").rglob("*.sh")
        return {path: path.read_bytes() for path in files}

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


@contextlib.contextmanager
def served():
    """A service in a folder of its own; it is stopped at the end."""
    try:
        python = upstream_proxies.venv(CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with tempfile.TemporaryDirectory(prefix="serve-") as folder:  # the path of supervisord's socket must be short
        made = Service(pathlib.Path(folder), python)
        yield made
        made.stop()


@pytest.fixture
def service():
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(served())


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


def nothing_lost(requests):
    """The report of a load, none of whose requests may have failed, be empty or wrong."""
    report = requests.report(expected)
    print(report)
    assert (report["failed"], report["failures"], report["empty"], report["wrong"]) == ([], 0, 0, 0), report
    return report


def test_no_request_is_lost_when_engines_come_change_and_go(service):
    service.deploy(2, 2)
    begin = service.starts()
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.deploy(2, 3, inference_args={"max-num-seqs": 8})
        changed = service.starts()
        assert [name for name in begin if changed[name] == begin[name]] == ["router"]
        assert len(members()) == 5
        assert output.count("TASK [ascend.inference.service : Prove these engines with each of their peers]") == 3, (
            "new ones, and two steps"
        )

        service.plant("garbage_kv")
        output = service.deploy(2, 4, fails=True, inference_args={"max-num-seqs": 8})
        assert "decode-3 must not join: the proof failed, so it gets no requests." in output, output[-5000:]
        assert "prefill-0 -> decode-3" in output and "decode-0: " not in output, output[-5000:]
        assert len(members()) == 5 and service.starts() == {**changed, "decode-3": service.starts()["decode-3"]}
        service.plant("")

        files = service.written()
        output = service.deploy(2, 2, fails=True, inference_args={"block-size": 64})
        assert (
            "engines before and after this change cannot exchange KV cache" in output
            and "Nothing was changed." in output
        )
        assert service.written() == files

        service.deploy(2, 2, inference_args={"max-num-seqs": 8})
        assert service.starts() == {name: changed[name] for name in begin}, "nothing else was restarted"
        service.play("restart", inference_services=["decode-1"], inference_args={"max-num-seqs": 8})
        assert [name for name, pid in service.starts().items() if pid != changed[name]] == ["decode-1"]
    assert nothing_lost(requests)["answered"] > 50
    assert len(members()) == 4


@pytest.mark.long
def test_services_that_get_the_ports_of_others_start_after_those_have_stopped(service):
    service.deploy(1, 1)
    begin, files = service.starts(), service.written()
    pools = service.pools(1, 1)
    ports = [pools[kind]["ports"] for kind in ("prefill", "decode")]
    ports[0]["api"], ports[1]["api"] = ports[1]["api"], ports[0]["api"]
    output = service.play("deploy", fails=True, inference_pools=pools)
    assert (
        "The plan gives NPUs or ports of decode-0, prefill-0 to decode-0, prefill-0" in output
        and "Nothing was changed." in output
    )
    assert (service.starts(), service.written()) == (begin, files)
    output = service.play("deploy", inference_pools=pools, inference_allow_pause=True)
    assert "Pause: decode-0, prefill-0 stop first" in output
    assert members() == [("decode", 10), ("prefill", 30)]


@pytest.mark.long
def test_no_request_is_lost_when_ports_change_and_pools_swap_them(service):
    """prefill-2 gives its ports to nobody, so it serves until the end, though its host starts others in place of prefill-1 before."""
    service.deploy(3, 2)
    begin, pools = service.starts(), service.pools(3, 2)
    with load.Load(URL, "tiny", clients=2) as requests:
        pools["decode"]["ports"]["api"] = PORT + 60
        output = service.play("deploy", inference_pools=pools)
        assert "Restart without a pause: decode-0. Restart without a pause: decode-1." in output, output[-5000:]
        assert members() == [("decode", 60), ("decode", 76), ("prefill", 10), ("prefill", 26), ("prefill", 42)]

        pools["prefill"]["instances"], pools["decode"]["instances"] = 1, 3
        pools["decode"]["ports"]["api"] = [PORT + 60, PORT + 76, PORT + 26]  # the last one is prefill-1's
        output = service.play("deploy", inference_pools=pools)
        assert "stop before others start, after the last request: prefill-1." in output, output[-5000:]
        assert members() == [("decode", 26), ("decode", 60), ("decode", 76), ("prefill", 10)]
        now = service.starts()
        assert [name for name in begin if now.get(name) == begin[name]] == ["prefill-0", "router"]
    nothing_lost(requests)


@pytest.mark.long
def test_upgrade_and_rollback_lose_no_request(service):
    service.play("site")
    begin = service.starts()
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.play("upgrade", inference_args={"max-num-seqs": 8})
        assert "Mode rolling: no pause. 2 steps;" in output
        upgraded = service.starts()
        assert [name for name in begin if upgraded[name] == begin[name]] == ["router"]

        service.plant("garbage_kv", when="--max-num-seqs 16")
        output = service.play("upgrade", fails=True, inference_args={"max-num-seqs": 16})
        assert "must not join" in output and "was started again and is verified." in output, output[-5000:]
        back = service.starts()
        # All engines restarted one after the other: their files were written twice, so they are newer than the engines.
        assert [name for name in begin if back[name] == upgraded[name]] == ["router"]
        assert len(members()) == 4

        output = service.play(
            "upgrade", fails=True, inference_upgrade_mode="rolling", inference_args={"block-size": 64}
        )
        assert "inference_upgrade_mode is rolling, which is not possible" in output and service.starts() == back

        output = service.play("rollback")
        assert "Mode rolling: no pause. 2 steps;" in output
        assert "--max-num-seqs" not in (service.root / "deployments/inference/services/decode-0/run.sh").read_text()
    nothing_lost(requests)
    assert len(members()) == 4


@pytest.mark.long
def test_a_run_goes_on_after_its_controller_was_killed(service):
    service.deploy(2, 2)
    with load.Load(URL, "tiny", clients=2) as requests:
        for number, decode, task in (
            (4, 2, "Wait for the last requests of decode-0, prefill-0, at most 300 s"),
            (8, 3, "Prove these engines with each of their peers"),
            (8, 2, "Wait for the last requests of engines that left, at most 300 s"),
        ):
            service.deploy(2, decode, fails=True, killed_at=task, inference_args={"max-num-seqs": number})
            service.deploy(2, decode, inference_args={"max-num-seqs": number})
            assert len(members()) == 2 + decode
            scripts = (service.root / "deployments/inference/services").glob("*code-*/run.sh")
            assert all(f"--max-num-seqs {number}" in path.read_text().replace(" \\\n    ", " ") for path in scripts)
        assert len(service.starts()) == 5
    nothing_lost(requests)


@pytest.mark.long
@pytest.mark.parametrize("playbook", ["verify", "restart"])
def test_an_engine_that_a_killed_restart_left_out_is_returned(service, playbook):
    service.deploy(2, 2)
    at = "Restart | service | Wait for the last requests of decode-1, at most 300 s | 1"
    with load.Load(URL, "tiny", clients=2) as requests:
        service.play("restart", fails=True, killed_at=at, inference_services=["decode-1"])
        left = members()
        service.play(playbook, **({"inference_services": ["prefill-1"]} if playbook == "restart" else {}))
        after = members()
    nothing_lost(requests)
    assert (len(left), len(after)) == (3, 4)


@pytest.mark.long
def test_a_router_that_dies_during_a_drain_does_not_get_the_engine_back(service):
    service.deploy(2, 2)
    at = "Restart | service | Restart decode-1 and wait until ready, at most 1800 s | 1"
    service.play("restart", fails=True, killed_at=at, inference_services=["decode-1"])
    left = members()
    killed = service.starts()["router"]
    os.kill(killed, 9)
    assert wait_for(lambda: service.starts()["router"] not in (0, killed) and len(answered()) >= 3)
    time.sleep(3)  # the program that adds engines asks twice a second
    assert members() == left and len(left) == 3
    service.play("verify")
    assert len(members()) == 4
    os.kill(service.starts()["router"], 9)
    assert wait_for(lambda: len(answered()) == 4), "the list is empty again"


def answered():
    """The router's members; none while it does not answer."""
    try:
        return members()
    except (OSError, ValueError, KeyError):
        return []


def wait_for(condition, seconds=60):
    """Whether the condition holds within this time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True
