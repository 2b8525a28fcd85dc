# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host leaves its groups under load and another one takes its place: the instances of this host move, nobody else restarts, no request is lost.

Three hosts on this machine: each sees a folder of its own as the deployment's root, and its own processes, in namespaces that its "sudo" enters, and
has an address of its own in a network namespace that the test and all that it starts live in. The playbook, the role, supervisord and vllm-router are real;
engines are simulated, and nothing is checked or installed. A simulated engine ends at once when it is stopped, so each request that it has fails.
"""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisord import Supervisord
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import vllm_router
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.supervisor import VERSION
from ansible_collections.ascend.inference.tests.integration._hosts import ADDRESSES, host, network, possible
from ansible_collections.ascend.inference.tests.integration.test_serving_change import (
    CACHE,
    PORT,
    Service,
    nothing_lost,
)
from ansible_collections.ascend.inference.tests.simulator import load, pd_cluster, upstream_proxies

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not possible(), reason="this user cannot make namespaces"),
]
URL = f"http://{ADDRESSES['n1']}:{PORT}"


class Rack(Service):
    """A deployment on three hosts."""

    def __init__(self, folder, python, opened):
        super().__init__(folder, python)
        for name in ADDRESSES:
            shutil.copytree(self.root, self.of(name), symlinks=True)
        self.ends = {name: opened.enter_context(contextlib.ExitStack()) for name in ADDRESSES}
        self.hosts = {name: host(self.ends[name], folder, name, self.of(name), self.root) for name in ADDRESSES}
        self.serve("n1", "n2")

    def serve(self, *names):
        """The inventory from now on. A host that left the pools stays in it, so that its services are removed."""
        groups = {pool: {"hosts": dict.fromkeys(names)} for pool in ("prefill", "decode")}
        inventory = {"all": {"hosts": self.hosts, "children": groups}}
        (self.folder / "hosts.yml").write_text(yaml.safe_dump(inventory), encoding="utf-8")

    def of(self, host):
        """What this host sees as the deployment's root."""
        return self.folder / f"root-{host}"

    def lose(self, host):
        """End all processes of a host at once."""
        self.ends[host].close()

    def running(self, host):
        """{service: process id on this host}."""
        socket = self.of(host) / "deployments/inference/run/supervisor.sock"
        if not socket.exists():
            return {}
        rows = Supervisord(str(socket)).processes()
        return {name.replace("inference-", ""): state["pid"] for name, state in rows.items()}


@pytest.fixture
def rack(monkeypatch):
    monkeypatch.setenv("ANSIBLE_BECOME_ALLOW_SAME_USER", "1")
    try:
        python = upstream_proxies.venv(CACHE, "vllm-router-venv", [vllm_router.FLAVOUR.package.requirement])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"the package can't be fetched here: {error}")
    with contextlib.ExitStack() as opened:
        # No index answers in the namespace, and pip's own file wins over the environment.
        home = pathlib.Path(opened.enter_context(tempfile.TemporaryDirectory()))
        argv = [python, "-m", "pip", "download", "--quiet", "--dest", home / "wheels", f"supervisor=={VERSION}"]
        subprocess.run(argv, check=True)
        (home / ".config/pip").mkdir(parents=True)
        settings = f"[global]\nno-index = true\nfind-links = {home}/wheels\n"
        (home / ".config/pip/pip.conf").write_text(settings, encoding="utf-8")
        monkeypatch.setenv("HOME", str(home))
        for name in ("PIP_FIND_LINKS", "XDG_CONFIG_HOME"):
            monkeypatch.delenv(name, raising=False)
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="swap-"))  # the path of a socket must be short
        opened.enter_context(network())
        yield Rack(pathlib.Path(folder), python, opened)


def members():
    rows = json.loads(pd_cluster.call(URL, "/workers")[1])["workers"]
    return sorted((row["worker_type"], row["url"].split("/")[2].partition(":")[0]) for row in rows)


def test_a_host_is_replaced_without_a_lost_request(rack):
    rack.deploy(2, 2)
    begin = {name: rack.running(name) for name in ADDRESSES}
    assert members() == [(pool, ADDRESSES[name]) for pool in ("decode", "prefill") for name in ("n1", "n2")]
    moved = {"decode-1", "prefill-1"}
    assert set(begin["n2"]) == moved and begin["n3"] == {}
    failure = None
    with load.Load(URL, "tiny", clients=2) as requests:
        rack.serve("n1", "n3")
        try:
            rack.deploy(2, 2)
        except AssertionError as error:
            failure = error
        after = members()
    # What clients saw comes first: whatever else went wrong, a lost request is named.
    assert nothing_lost(requests)["answered"] > 50
    if failure:
        raise failure
    assert after == [(pool, ADDRESSES[name]) for pool in ("decode", "prefill") for name in ("n1", "n3")]
    assert set(rack.running("n3")) == moved
    assert rack.running("n1") == begin["n1"], "nobody else restarted"
    assert rack.running("n2") == {} and not (rack.of("n2") / "deployments/inference/services/decode-1").exists()


def test_a_replacement_that_is_killed_and_undone_leaves_nothing_running(rack):
    rack.deploy(2, 2)
    begin = {name: rack.running(name) for name in ADDRESSES}
    with load.Load(URL, "tiny", clients=2) as requests:
        rack.serve("n1", "n3")
        rack.deploy(2, 2, fails=True, killed_at="Prove these engines with each of their peers")
        started = set(rack.running("n3"))
        rack.serve("n1", "n2")
        rack.deploy(2, 2)
        after = members()
    assert nothing_lost(requests)["answered"] > 50
    assert started == {"decode-1", "prefill-1"}, "else nothing had to be removed"
    assert rack.running("n3") == {} and not (rack.of("n3") / "deployments/inference/services/decode-1").exists()
    assert {name: rack.running(name) for name in ("n1", "n2")} == {name: begin[name] for name in ("n1", "n2")}
    assert after == [(pool, ADDRESSES[name]) for pool in ("decode", "prefill") for name in ("n1", "n2")]


BLOCKS = {"inference_args": {"block-size": 64}}  # another KV cache


def nothing_on_n3(rack):
    """Neither a process nor a file of a service, and the engines of the other hosts behind the router."""
    assert rack.running("n3") == {} and not (rack.of("n3") / "deployments/inference/services").exists()
    assert members() == [(pool, ADDRESSES[name]) for pool in ("decode", "prefill") for name in ("n1", "n2")]
    assert set(rack.running("n2")) == {"decode-1", "prefill-1"}


def stopped_first(output):
    """Processes of n3 would hold NPUs, and look for their peers: they stop before any of the plan starts."""
    order = [
        "Stop the services of n3, which the plan does not have",
        "Start decode-0",
    ]
    assert 0 < output.index(order[0]) < output.index(order[1])


def test_a_way_back_with_a_pause_stops_what_a_killed_replacement_brought(rack):
    """No recorded plan names the new host."""
    rack.play("site")
    rack.serve("n1", "n3")
    killed_at = "Prove these engines with each of their peers"
    rack.deploy(2, 2, fails=True, killed_at=killed_at, inference_allow_pause=True, **BLOCKS)
    assert set(rack.running("n3")) == {"decode-1", "prefill-1"}, "else nothing had to be removed"
    rack.serve("n1", "n2")
    output = rack.play("rollback", fails=True)
    assert (
        "it is not recorded that the last change has ended, so engines may run that cannot exchange KV cache" in output
    ), output[-3000:]
    assert set(rack.running("n3")) == {"decode-1", "prefill-1"} and "Nothing was changed" in output
    output = rack.play("rollback", inference_allow_pause=True)
    assert "Mode recreate: every service stops" in output, output[-3000:]
    stopped_first(output)
    nothing_on_n3(rack)


@pytest.mark.parametrize("named", [["n1", "n2"], ["n1", "n2", "n3"]])
def test_a_way_back_without_a_pause_removes_what_an_unverified_addition_brought(rack, named):
    """Its engines leave the router and finish first. The inventory may name the new host still."""
    rack.play("site")
    rack.serve("n1", "n2", "n3")
    rack.deploy(3, 3)
    assert set(rack.running("n3")) == {"decode-2", "prefill-2"}
    begin = rack.running("n1")
    rack.serve(*named)
    with load.Load(URL, "tiny", clients=2) as requests:
        output = rack.play("rollback")
    assert "Mode rolling: no pause." in output, output[-3000:]
    nothing_lost(requests)
    nothing_on_n3(rack)
    assert rack.running("n1") == begin
    lock = rack.of("n3") / "deployments/.inference.lock"
    assert not lock.exists() or lock.read_text() == ""


def test_an_upgrade_that_stops_everything_stops_what_an_unverified_addition_brought(rack):
    rack.play("site")
    rack.serve("n1", "n2", "n3")
    rack.deploy(3, 3)
    assert set(rack.running("n3")) == {"decode-2", "prefill-2"}
    rack.serve("n1", "n2")
    output = rack.play("upgrade", inference_upgrade_mode="recreate", **BLOCKS)
    stopped_first(output)
    nothing_on_n3(rack)


@pytest.mark.parametrize("playbook", ["upgrade", "rollback"])
def test_a_host_that_is_lost_while_it_leaves_is_found_by_the_next_run(rack, playbook):
    """The plan without it must not be recorded before its services are gone: nothing else names it."""
    rack.play("site")
    rack.serve("n1", "n2", "n3")
    rack.deploy(3, 3)
    rack.serve("n1", "n2")
    variables = {"inference_args": {"max-num-seqs": 8}} if playbook == "upgrade" else {}
    sudo = rack.folder / "sudo-n3"
    works = sudo.read_text(encoding="utf-8")
    sudo.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    rack.play(playbook, fails=True, **variables)
    assert len(members()) == 4 and set(rack.running("n3")) == {"decode-2", "prefill-2"}
    locks = [rack.of(name) / "deployments/.inference.lock" for name in ("n1", "n2")]
    assert [lock.read_text() if lock.exists() else "" for lock in locks] == ["", ""], "the run has ended"
    begin = rack.running("n1")
    sudo.write_text(works, encoding="utf-8")
    rack.play(playbook, **variables)
    nothing_on_n3(rack)
    assert rack.running("n1") == begin, "it only had to end the change"
    for name in ("n1", "n2"):
        journal = json.loads((rack.of(name) / "deployments/inference/journal.json").read_text())
        assert journal["phase"] == "verified"


def test_a_host_that_is_lost_in_the_middle_of_its_drain_is_replaced(rack):
    """The router no longer has its engines, so only requests that they had are lost; nothing else restarts, and another host takes the place."""
    rack.deploy(2, 2)
    given = {"inference_args": {"max-num-seqs": 8}}
    here, own = [("decode", ADDRESSES["n1"]), ("prefill", ADDRESSES["n1"])], rack.hosts["n2"]["ansible_become_exe"]
    failures = []

    def change():
        try:
            rack.deploy(2, 2, fails=True, **given)
        except AssertionError as error:
            failures.append(error)

    with load.Load(URL, "tiny", clients=2) as requests:
        run = threading.Thread(target=change)
        run.start()
        end = time.monotonic() + 120
        while run.is_alive() and time.monotonic() < end and members() != here:
            time.sleep(0.05)
        lost = time.time()
        pathlib.Path(own).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        rack.lose("n2")
        run.join()
        assert failures == [] and members() == here
    late = [request for request in requests.requests if request.problem and request.begun > lost]
    early = [request for request in requests.requests if request.problem and request.ended < lost]
    assert (late, early) == ([], [])
    begin = rack.running("n1")
    del rack.hosts["n2"]
    rack.serve("n1", "n3")
    with load.Load(URL, "tiny", clients=2) as requests:
        rack.deploy(2, 2, **given)
    nothing_lost(requests)
    assert members() == [(pool, ADDRESSES[name]) for pool in ("decode", "prefill") for name in ("n1", "n3")]
    assert rack.running("n1") == begin, "they had changed before"
