# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role model on three hosts with addresses, folders and processes of their own: one fetches, the others get the model from hosts that have it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.tests.integration import _hosts
from ansible_collections.ascend.inference.tests.integration._hub import Fault, Hub, tiny_model
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE, Run

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
pytestmark = [pytest.mark.long, pytest.mark.skipif(not _hosts.possible(), reason="this user cannot make namespaces")]


class Cluster:
    """The three hosts, each with its folder at ``place``."""

    def __init__(self, folder, opened):
        self.folder, self.place = folder, folder / "disk"
        self.place.mkdir()
        self.own = {name: folder / f"of-{name}" for name in _hosts.ADDRESSES}
        for each in self.own.values():
            each.mkdir()
        self.hosts = {name: _hosts.host(opened, folder, name, self.own[name], self.place) for name in self.own}

    def run(self, source, *options, **variables):
        """Run the role on all hosts."""
        tasks = [{"name": "Role", "ansible.builtin.include_role": {"name": "ascend.inference.model"}}]
        book = [{"hosts": "all", "gather_facts": False, "name": "Test", "tasks": tasks}]
        (self.folder / "book.yml").write_text(json.dumps(book))
        (self.folder / "inventory.json").write_text(json.dumps({"all": {"hosts": self.hosts}}))
        given = {"model_path": f"{self.place}/models/m", "model_source": source, **variables}
        environment = {
            **os.environ,
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "ANSIBLE_PIPELINING": "1",
        }
        environment["ANSIBLE_COLLECTIONS_PATH"] = f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}"
        environment["ANSIBLE_BECOME_ALLOW_SAME_USER"] = "1"
        argv = [
            str(PROGRAM),
            "-i",
            str(self.folder / "inventory.json"),
            "-e",
            json.dumps(given),
            *options,
            str(self.folder / "book.yml"),
        ]
        with (self.folder / "output").open("w+") as output:
            done = subprocess.run(
                argv, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False, timeout=400
            )
            output.seek(0)
            return Run(done.returncode, output.read())

    def files(self, name):
        """What a host has at the model's path."""
        folder = self.own[name] / "models/m"
        return {each: (folder / each).read_bytes() for each in listing.names_in(str(folder)) - {listing.RECORD}}


@pytest.fixture
def cluster(tmp_path):
    tmp_path.chmod(0o755)
    for above in tmp_path.parents[:2]:
        above.chmod(0o755)  # the user nobody hands out the model
    with _hosts.network(), contextlib.ExitStack() as opened:
        yield Cluster(tmp_path, opened)


def test_one_host_fetches_and_the_others_get_it_from_hosts(cluster):
    files = tiny_model(1_000_000)
    with Hub(files, token="t0ken") as hub:
        done = cluster.run(f"{hub.address}/web", model_token="t0ken")
        assert done.code == 0, done.output
        assert all(cluster.files(name) == files for name in cluster.own), done.output
        assert hub.fetched(FIRST) == hub.fetched(SECOND) == 1
        assert "n1 fetches" in done.text and "t0ken" not in done.output
        assert not [
            each.name for name in cluster.own for each in (cluster.own[name] / "models").iterdir() if each.name != "m"
        ]
        done = cluster.run(f"{hub.address}/web", model_token="t0ken")
        assert done.code == 0 and done.changed == 0 and hub.fetched(FIRST) == 1, done.output
        shard = cluster.own["n3"] / "models/m" / SECOND
        shard.write_bytes(shard.read_bytes()[:-1])
        done = cluster.run(f"{hub.address}/web", model_token="t0ken")
        assert done.code != 0 and f"{SECOND} has" in done.text and "n3" in done.text, done.output


def test_a_host_with_a_damaged_file_gives_it_to_nobody(cluster):
    """Its record is right, and a byte of the file is not: who takes it compares with what the controller has."""
    files = tiny_model()
    with Hub(files) as hub:
        assert cluster.run(f"{hub.address}/web", "--limit", "n1").code == 0
        shard = cluster.own["n1"] / "models/m" / SECOND
        shard.write_bytes(bytes(len(shard.read_bytes())))
        done = cluster.run(f"{hub.address}/web")
        assert done.code != 0 and f"{SECOND} has another content" in done.text, done.output
        assert not (cluster.own["n2"] / "models/m").exists() and not (cluster.own["n3"] / "models/m").exists()


def test_a_fetch_that_fails_leaves_no_model_and_is_gone_on_with(cluster):
    files = tiny_model()
    with Hub(files, faults={SECOND: Fault(status=403, times=1)}) as hub:
        done = cluster.run(f"{hub.address}/web")
        assert done.code != 0 and "403" in done.text and "set the token" in done.text, done.output
        assert not any((cluster.own[name] / "models/m").exists() for name in cluster.own)
        done = cluster.run(f"{hub.address}/web")
        assert done.code == 0 and all(cluster.files(name) == files for name in cluster.own), done.output
        assert hub.fetched(FIRST) == 1
