# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three real members of etcd as planned: the one that leads is found and killed, another one leads; without a majority none does."""

from __future__ import annotations

import subprocess
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill import etcd
from ansible_collections.ascend.inference.plugins.module_utils.drill.masters import follow
from ansible_collections.ascend.inference.tests.integration.test_store_failover import install

PORT = 24950  # and the following ones


@pytest.fixture
def cluster(tmp_path):
    """{name: (process, URL for clients)} of three members that have a leader."""
    install()
    peers = ",".join(f"etcd-{number}=http://127.0.0.1:{PORT + 10 + number}" for number in range(3))
    started = {}
    try:
        for number in range(3):
            client, peer = (f"http://127.0.0.1:{PORT + more + number}" for more in (0, 10))
            argv = ["etcd", "--name", f"etcd-{number}", "--data-dir", str(tmp_path / str(number))]
            argv += ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer]
            argv += [
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                peers,
                "--initial-cluster-state",
                "new",
            ]
            process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            started[f"etcd-{number}"] = (process, client)
        urls = {name: url for name, (_process, url) in started.items()}
        until(lambda: len(etcd.look(urls).serving) == 3 and etcd.look(urls).leader)
        yield started
    finally:
        for process, _url in started.values():
            process.kill()
            process.wait()


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "etcd did not get there"
        time.sleep(0.2)


def test_the_leader_is_killed_and_another_one_leads(cluster):
    urls = {name: url for name, (_process, url) in cluster.items()}
    before = etcd.look(urls)
    assert not etcd.without_majority(urls, before)
    cluster[before.leader][0].kill()
    cluster[before.leader][0].wait()
    found = follow(urls, before, 30, etcd.look)
    assert found["leader"] not in ("", before.leader) and 0 < found["leaderless"] <= 15
    left = etcd.look(urls)
    assert len(left.serving) == 2 and "a majority is 2" in etcd.without_majority(urls, left)
    cluster[left.leader][0].kill()
    cluster[left.leader][0].wait()
    assert follow(urls, left, 10, etcd.look)["leaderless"] is None, "one of three leads nobody"


def test_a_paused_leader_is_replaced(cluster):
    urls = {name: url for name, (_process, url) in cluster.items()}
    before = etcd.look(urls)
    paused = cluster[before.leader][0]
    try:
        paused.send_signal(19)  # SIGSTOP
        found = follow(urls, before, 30, etcd.look)
        assert found["leader"] not in ("", before.leader) and found["leaderless"] <= 15
    finally:
        paused.send_signal(18)
