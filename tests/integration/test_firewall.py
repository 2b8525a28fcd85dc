# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module and role firewall on a real kernel: two network namespaces, one with the host and one with a peer and an outsider."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.tests.integration import _playbook

HOST, PEER, OUTSIDER = "10.99.0.1", "10.99.0.2", "10.99.0.3"
CLUSTER, RANDOM, METRICS, CLIENT, OTHER, SPARED = 7100, 20500, 9003, 8443, 2222, 20022
RULES = [
    {"ports": "7100-7115", "from": "cluster"},
    {"ports": "20000-36000", "from": "cluster"},
    {"ports": "9003", "from": "monitoring"},
    {"ports": "8443", "from": "client"},
]
TABLE = ["nft", "list", "table", "inet", "ascend_inference_sample_1"]
LISTEN = """
import socket, sys, time
held = [socket.create_server(("0.0.0.0", int(port))) for port in sys.argv[1:]]
print("ready", flush=True)
time.sleep(600)
"""
CONNECT = """
import socket, sys
found = []
for port in sys.argv[3:]:
    try:
        socket.create_connection((sys.argv[2], int(port)), 2, (sys.argv[1], 0)).close()
        found.append(int(port))
    except OSError:
        pass
print(found)
"""
TALK = """
import socket, sys
held = socket.create_connection((sys.argv[1], int(sys.argv[2])), 2, (sys.argv[3], 0))
print("open", flush=True)
sys.stdin.readline()
held.sendall(b"x")
held.close()
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")


def run(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout


@pytest.fixture
def namespaces():
    """Names of two namespaces that are connected, with programs listening in the first one."""
    host, peer = (f"ai-{os.getpid()}-{name}" for name in ("host", "peer"))
    with contextlib.ExitStack() as opened:
        for name in (host, peer):
            run("ip", "netns", "add", name)
            opened.callback(run, "ip", "netns", "delete", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", host, "link", "add", "v0", "type", "veth", "peer", "name", "v0", "netns", peer)
        for name, addresses in ((host, [HOST]), (peer, [PEER, OUTSIDER])):
            for address in addresses:
                run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "v0")
            run("ip", "-n", name, "link", "set", "v0", "up")
        argv = [*within(host), sys.executable, "-c", LISTEN]
        argv += map(str, (CLUSTER, RANDOM, METRICS, CLIENT, OTHER, SPARED))
        listening = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        opened.callback(listening.wait)
        opened.callback(listening.kill)
        assert listening.stdout.readline() == "ready\n"
        # The first packets over a new link may be lost, and are sent again after a second.
        for address in (PEER, OUTSIDER):
            assert any(OTHER in reached(peer, address) for _attempt in range(10)), address
        yield host, peer


def within(namespace):
    return ["ip", "netns", "exec", namespace]


def reached(namespace, source, address=HOST):
    """The ports that answer an address."""
    ports = map(str, (CLUSTER, RANDOM, METRICS, CLIENT, OTHER, SPARED))
    return json.loads(run(*within(namespace), sys.executable, "-c", CONNECT, source, address, *ports))


@pytest.fixture
def firewall(namespaces, tmp_path):
    """Run the module within the host's namespace -> its result."""

    def start(**given):
        arguments = {
            "deployment": "sample-1",
            "backend": "nftables",
            "rules": RULES,
            "sources": {"cluster": [HOST, PEER], "client": []},
            "spared": [SPARED],
            "directory": str(tmp_path / "firewall"),
            "units": str(tmp_path),
            "firewalld": str(tmp_path / "firewalld"),
            "_ansible_check_mode": False,
            "_ansible_remote_tmp": str(tmp_path),
            **given,
        }
        module = "ansible_collections.ascend.inference.plugins.modules.firewall"
        argv = [*within(namespaces[0]), sys.executable, "-m", module]
        done = subprocess.run(
            argv, input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}), capture_output=True, text=True, check=False
        )
        return json.loads(done.stdout)

    return start


def test_only_the_named_addresses_reach_the_ports(namespaces, firewall):
    host, peer = namespaces
    everything = [CLUSTER, RANDOM, METRICS, CLIENT, OTHER, SPARED]
    assert reached(peer, OUTSIDER) == everything
    planned = firewall(_ansible_check_mode=True)
    assert planned["changed"] and reached(peer, OUTSIDER) == everything

    done = firewall()
    assert done["changed"] and done["filtered"] == "7100-7115, 9003, 20000-20021, 20023-36000", done
    assert reached(peer, OUTSIDER) == [CLIENT, OTHER, SPARED]
    assert reached(peer, PEER) == everything
    assert reached(host, HOST) == everything, "the host itself"
    assert not firewall()["changed"]

    firewall(sources={"cluster": [HOST, PEER], "client": [PEER], "monitoring": [OUTSIDER]})
    assert reached(peer, OUTSIDER) == [METRICS, OTHER, SPARED]
    assert reached(peer, PEER) == everything


def test_what_somebody_changed_is_repaired(namespaces, firewall):
    host, peer = namespaces
    firewall()
    changes = [
        ["flush", "ruleset"],
        ["add", "element", "inet", "ascend_inference_sample_1", "cluster_ip", "{", OUTSIDER, "}"],
        ["insert", "rule", "inet", "ascend_inference_sample_1", "input", "accept"],
    ]
    for change in changes:
        run(*within(host), "nft", *change)
        assert CLUSTER in reached(peer, OUTSIDER), change
        assert firewall()["changed"], change
        assert CLUSTER not in reached(peer, OUTSIDER), change


def test_other_tables_stay_and_nothing_of_ours_does(namespaces, firewall, tmp_path):
    host, peer = namespaces
    run(*within(host), "nft", "add table inet site; add chain inet site c; add rule inet site c tcp dport 1 drop")
    site = run(*within(host), "nft", "list", "table", "inet", "site")
    firewall()
    assert firewall(state="absent", rules=[], sources={})["changed"]
    assert run(*within(host), "nft", "list", "ruleset") == site
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not firewall(state="absent")["changed"]
    assert CLUSTER in reached(peer, OUTSIDER)


def test_what_others_made_with_our_names_stays(namespaces, firewall, tmp_path):
    host, _peer = namespaces
    run(*within(host), "nft", "add table inet ascend_inference_sample_1")
    (tmp_path / "firewall").mkdir()
    names = ("firewall/sample-1.nft", "firewall/sample-1.json", "ascend-inference-firewall-sample-1.service")
    for name in names:
        (tmp_path / name).write_text("of the site\n")
    done = firewall(state="absent")
    assert not done["changed"] and not done.get("failed"), done
    assert "ascend_inference_sample_1" in run(*within(host), "nft", "list", "ruleset")
    assert [(tmp_path / name).read_text() for name in names] == ["of the site\n"] * 3
    assert all(name in str(done["warnings"]) for name in names)


def test_the_capability_of_the_unit_is_enough_to_load_the_table(namespaces, firewall, tmp_path):
    host, _peer = namespaces
    firewall()
    before = run(*within(host), *TABLE)
    confined = ["setpriv", "--bounding-set=-all,+net_admin", "--inh-caps=-all", "--no-new-privs"]
    run(*within(host), *confined, "nft", "-f", str(tmp_path / "firewall/sample-1.nft"))
    assert run(*within(host), *TABLE) == before


def test_a_connection_that_exists_goes_on(namespaces, firewall):
    """As the one over which Ansible works, if its port is in a planned range."""
    host, peer = namespaces
    argv = [*within(peer), sys.executable, "-c", TALK, HOST, str(CLUSTER), OUTSIDER]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as held:
        assert held.stdout.readline() == "open\n"
        firewall()
        counted = run(*within(host), *TABLE)
        held.communicate("go\n", timeout=10)
    assert "counter packets 0 bytes 0 drop" in counted
    assert "counter packets 0 bytes 0 drop" in run(*within(host), *TABLE)


def test_two_deployments_that_would_close_each_others_ports_are_refused(firewall):
    firewall()
    done = firewall(deployment="other", sources={"cluster": [HOST, OUTSIDER]})
    assert done.get("failed") and "deployment sample-1 filters the same ports" in done["msg"], done
    assert f"{PEER}/32, {OUTSIDER}/32" in done["msg"]
    assert firewall(deployment="other", sources={"cluster": [HOST, PEER]})["changed"]


def test_role_filters_and_removes(namespaces, tmp_path, monkeypatch):
    host, peer = namespaces
    plan = {
        "deployment": "sample-1",
        "hosts": [{"name": "localhost", "firewall": RULES}],
        "firewall": {
            "state": "present",
            "backend": "nftables",
            "sources": {"cluster": [HOST, PEER]},
            "spared": [],
        },
    }
    module_defaults = {"directory": str(tmp_path / "firewall"), "units": str(tmp_path)}
    first = _playbook.play(
        tmp_path,
        "firewall",
        facts=False,
        within=within(host),
        defaults={"ascend.inference.firewall": module_defaults},
        firewall_plan=plan,
    )
    assert first.code == 0 and first.changed == 1, first.output
    assert reached(peer, OUTSIDER) == [CLIENT, OTHER]
