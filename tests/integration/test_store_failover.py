# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned masters and etcd of a store, all real: the leader is killed, and another master serves with the keys that were stored.

The hosts of the plan are loopback addresses of this machine; each master and member listens on its own only.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill.masters import Seen, follow, look
from ansible_collections.ascend.inference.plugins.module_utils.runtime.wait import answers
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Target, ask
from ansible_collections.ascend.inference.plugins.module_utils.verify.metrics import read_metrics
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.report import drill_report
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.runs import drill_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.store_ha import PROGRAM
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import CPU
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM as PLAYBOOK
from ansible_collections.ascend.inference.tests.integration._playbook import TREE
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies

CACHE = pathlib.Path(__file__).resolve().parents[2] / ".cache" / "upstream"
KEYS = 200
FAILOVER = 15  # seconds
HOSTS = {
    f"h{number}": {
        "groups": ["colocated"],
        "variables": {"inference_address": f"127.0.0.{number}", "ansible_connection": "local"},
    }
    for number in (1, 2, 3)
}


def install():
    """Install etcd if it is missing (needs root), without the member that the package starts."""
    if not os.path.exists(PROGRAM):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            pytest.skip("needs etcd, or root to install it")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        subprocess.run(["apt-get", "install", "-y", "-q", "etcd-server"], check=True, env=environment)


@pytest.fixture(scope="module")
def python():
    install()
    try:
        return upstream_proxies.venv(CACHE, "mooncake-venv", [f"{CPU.mooncake_package}=={CPU.mooncake}"])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")


class Store:
    """The services of a plan as processes of this machine."""

    def __init__(self, folder, python, **ha):
        self.folder, self.python, self.processes = folder, python, {}
        self.plan = launch_plan(
            {
                "inference_engine": "vllm_cpu",
                "inference_runtime": "supervisor",
                "inference_root": str(folder),
                "inference_rules_ignore": ["SUPERVISOR-SOCKET", "SOCKET-PATH"],
                "inference_model": {"path": "/models/tiny", "name": "tiny"},
                "inference_kv_transfer": "store",
                "inference_pools": {"colocated": {"instances": 3}},
                "inference_store": {"ha": {"etcd_client_port": 24910, "etcd_peer_port": 24911, **ha}},
                "inference_mooncake_master": {"port": 24920, "metrics_port": 24930},
            },
            HOSTS,
        )
        self.metrics = {master["name"]: master["url"] for master in self.plan["verify"]["store"]["masters"]}

    def of(self, kind):
        return [service for service in self.plan["services"] if service["kind"] == kind]

    def start(self, service):
        """Start a service as planned, except for the path of its program."""
        argv, name, url = list(service["argv"]), service["name"], service["health"]["url"]
        if service["kind"] == "mooncake_master":
            argv[0] = str(self.python.parent / "mooncake_master")
            self.metrics[name] = url[: -len("/health")]
        pathlib.Path(service["scratch_directory"]).mkdir(parents=True, exist_ok=True)
        with open(self.folder / f"{name}.log", "a") as log:
            self.processes[name] = subprocess.Popen(
                argv,
                env={"PATH": os.environ["PATH"], **service["env"]},
                cwd=service["scratch_directory"],
                stdout=log,
                stderr=log,
            )
        return url

    def up(self):
        """Start etcd, then the masters, and wait until one leads."""
        members = [self.start(service) for service in self.of("etcd")]
        self.wait(lambda: all(map(answers, members)))
        for service in self.of("mooncake_master"):
            self.start(service)
        self.wait(lambda: look(self.metrics).leader)

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "\n".join(self.logs())
            gone = [name for name, process in self.processes.items() if process.poll() is not None]
            assert not gone, "\n".join(self.logs())
            time.sleep(0.2)

    def logs(self):
        return [f"--- {path.name}\n{path.read_text()[-3000:]}" for path in sorted(self.folder.glob("*.log"))]

    def client(self):
        """A store client with the configuration and environment of an engine."""
        engine = self.of("colocated")[0]
        (file,) = [file for file in engine["files"] if file["path"].endswith("mooncake.json")]
        path = self.folder / "mooncake.json"
        path.write_text(file["content"])
        environment = {
            **os.environ,
            **{key: engine["env"][key] for key in ("MC_STORE_CLUSTER_ID", "MOONCAKE_CONFIG_PATH")},
        }
        with open(self.folder / "client.log", "a") as log:
            self.processes["client"] = subprocess.Popen(
                [
                    str(self.python),
                    str(pathlib.Path(__file__).with_name("_store.py")),
                    str(path),
                    "127.0.0.1",
                    str(KEYS),
                ],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.answer() == {"setup": 0}, "\n".join(self.logs())

    def answer(self):
        for line in self.processes["client"].stdout:  # the library prints there as well
            if line.startswith("{"):
                return json.loads(line)
        raise AssertionError("\n".join(self.logs()))

    def followed(self):
        """Whether a standby has read all keys from the OpLog. The leader writes in batches: what it stored in its last second may be lost."""
        if "--enable_oplog" not in " ".join(self.of("mooncake_master")[0]["argv"]):
            return True
        pages = [ask(Target(url), "/metrics", None, 5).body for url in self.metrics.values()]
        return any(read_metrics(page).get("ha_oplog_applied_sequence_id", 0) >= KEYS for page in pages)

    def ask(self, word):
        process = self.processes["client"]
        process.stdin.write(word + "\n")
        process.stdin.flush()
        return self.answer()

    def kill(self, name):
        self.processes.pop(name).send_signal(signal.SIGKILL)

    def stop(self):
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()


@pytest.fixture
def store(tmp_path, python, request):
    made = Store(tmp_path, python, **getattr(request, "param", {}))
    try:
        made.up()
        yield made
    finally:
        made.stop()


def failover(store):
    """Keys that are still right after the death of the leader, and what the failover took."""
    store.client()
    assert store.ask("put") == {"failed": 0} and store.ask("read") == {"right": KEYS}
    store.wait(lambda: look(store.metrics).stored_keys == KEYS)
    store.wait(store.followed)
    before = look(store.metrics)
    assert before.clients == 1
    store.kill(before.leader)
    figures = follow(store.metrics, before, 60)
    print(figures)
    assert figures["leader"] not in ("", before.leader)
    assert figures["leaderless"] <= FAILOVER and figures["clients_after"] <= FAILOVER
    assert store.ask("one")["got"] == "x"
    return store.ask("read")["right"], figures


def test_keys_survive_the_death_of_the_leader(store):
    right, figures = failover(store)
    assert (right, figures["clients"]) == (KEYS, 1)
    assert figures["stored_keys"] >= KEYS


@pytest.mark.long
@pytest.mark.parametrize("store", [{"oplog": False}], indirect=True)
def test_without_an_oplog_they_do_not(store):
    right, _figures = failover(store)
    assert right == 0


@pytest.mark.long
def test_a_member_of_etcd_may_die_and_the_leader_stays(store):
    store.client()
    assert store.ask("put") == {"failed": 0}
    leader = look(store.metrics).leader
    store.kill("etcd-0")
    time.sleep(12)  # more than two leases
    assert look(store.metrics).leader == leader
    assert store.ask("read") == {"right": KEYS} and store.ask("one")["got"] == "x"
    store.kill(leader)
    assert follow(store.metrics, Seen(leader, 1), 60)["leaderless"] <= FAILOVER
    assert store.ask("read") == {"right": KEYS}


# The steps of playbooks/shared/fault.yml that concern the leader; the fault itself is a kill here, because nothing restarts the master.
DRILL = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"
  tasks:
    - ansible.builtin.include_tasks: {leader}
    - ansible.builtin.command: kill -9 {{{{ pids[__inference_hit.services[0].name] }}}}
    - ansible.builtin.async_status:
        jid: "{{{{ __inference_following.ansible_job_id }}}}"
      register: __inference_store
      until: __inference_store.finished
      retries: 60
      delay: 1
    - ansible.builtin.copy:
        content: "{{{{ {{'hit': __inference_hit, 'store': __inference_store}} | to_json }}}}"
        dest: {result}
        mode: "0600"
"""


@pytest.mark.long
def test_a_drill_measures_the_failover(store, tmp_path):
    store.client()
    assert store.ask("put") == {"failed": 0}
    leader = look(store.metrics).leader
    drill = drill_runs(store.plan, {"faults": [{"kind": "mooncake_master"}]}, store.plan["deployment"])
    result, book, given = tmp_path / "result.json", tmp_path / "drill.yml", tmp_path / "given.json"
    shared = pathlib.Path(TREE) / "ansible_collections/ascend/inference/playbooks/shared/leader.yml"
    book.write_text(DRILL.format(leader=shared, result=result))
    pids = {name: process.pid for name, process in store.processes.items()}
    given.write_text(json.dumps({"inference_fault": drill["faults"][0], "pids": pids}))
    done = subprocess.run(
        [str(PLAYBOOK), "-i", "localhost,", "-e", f"@{given}", str(book)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(result.read_text())
    assert [item["name"] for item in found["hit"]["services"]] == [leader]
    figures = found["store"]
    assert (figures["before"]["leader"], figures["before"]["stored_keys"]) == (leader, KEYS)
    assert figures["leaderless"] <= FAILOVER and figures["stored_keys"] >= KEYS
    report = drill_report(store.plan, drill, [{"store": figures}])
    assert {finding["id"] for finding in report["faults"][0]["findings"]} == {"DRILL-UNMADE"}  # there was no load
