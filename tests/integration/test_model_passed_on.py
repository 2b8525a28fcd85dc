# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role model on three hosts with addresses, folders and processes of their own: one fetches, the others get the model from hosts that have it."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.tests.integration import _hosts
from ansible_collections.ascend.inference.tests.integration._hub import Fault, Hub, digest, tiny_model
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

    def run(self, source, *options, also=None, **variables):
        """Run the role on all hosts; with the variables ``also`` for a second model."""
        role = {"ansible.builtin.include_role": {"name": "ascend.inference.model"}}
        tasks = [{"name": "Role", **role}, *([{"name": "Role again", "vars": also, **role}] if also else [])]
        given = {"model_path": f"{self.place}/models/m", "model_source": source, **variables}
        if also:  # -e would hold for both models
            tasks[0]["vars"] = {name: given.pop(name) for name in ("model_path", "model_source")}
        book = [{"hosts": "all", "gather_facts": False, "name": "Test", "tasks": tasks}]
        (self.folder / "book.yml").write_text(json.dumps(book))
        (self.folder / "inventory.json").write_text(json.dumps({"all": {"hosts": self.hosts}}))
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
    """Its record is right, and a byte of the file is not: who takes it compares with what the controller has, and two of them leave it."""
    files = tiny_model()
    with Hub(files) as hub:
        assert cluster.run(f"{hub.address}/web", "--limit", "n1").code == 0
        shard = cluster.own["n1"] / "models/m" / SECOND
        shard.write_bytes(bytes(len(shard.read_bytes())))
        done = cluster.run(f"{hub.address}/web", "--limit", "n1,n2")
        assert done.code != 0 and f"{SECOND} has another content" in done.text, done.output
        assert not (cluster.own["n2"] / "models/m").exists()
        done = cluster.run(f"{hub.address}/web")
        assert done.code != 0 and "n2, n3 got other files" in done.text and "n2 fetches" in done.text, done.output
        assert cluster.files("n2") == cluster.files("n3") == files and hub.fetched(SECOND) == 2


def test_another_content_than_model_digest_costs_the_host_that_brought_it(cluster):
    files = tiny_model()
    rows = [{"name": name, "size": len(content), "sha256": digest(content)} for name, content in files.items()]
    with Hub(files) as hub:
        assert cluster.run(f"{hub.address}/web", "--limit", "n3", model_digest=listing.digest(rows)).code == 0
    with Hub({**files, SECOND: bytes(len(files[SECOND]))}) as hub:
        done = cluster.run(f"{hub.address}/web", "--limit", "n1,n2", model_digest=listing.digest(rows))
    assert done.code != 0 and hub.fetched(SECOND) == 2 and done.text.count("and model_digest is") >= 2, done.output


def test_a_fetch_that_fails_leaves_no_model_and_is_gone_on_with(cluster):
    files = tiny_model()
    with Hub(files, faults={SECOND: Fault(status=403, times=1)}) as hub:
        done = cluster.run(f"{hub.address}/web", model_fetch_host="n1")
        assert done.code != 0 and "403" in done.text and "set the token" in done.text, done.output
        assert not any((cluster.own[name] / "models/m").exists() for name in cluster.own)
        done = cluster.run(f"{hub.address}/web")
        assert done.code == 0 and all(cluster.files(name) == files for name in cluster.own), done.output
        assert hub.fetched(FIRST) == 1


def test_where_the_first_host_fails_another_one_fetches(cluster):
    files = tiny_model()
    with Hub(files, faults={SECOND: Fault(status=403, times=1)}) as hub:
        done = cluster.run(f"{hub.address}/web")
        assert done.code != 0 and "n1" in done.text and "403" in done.text, done.output
        assert cluster.files("n2") == cluster.files("n3") == files, done.output
        assert not (cluster.own["n1"] / "models/m").exists() and hub.fetched(SECOND) == 2


def brought(folder, files):
    """A model that somebody copied there."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for above in [folder, *folder.parents[:2]]:
        above.chmod(0o755)


def test_a_host_that_has_it_hands_it_to_the_others_and_keeps_its_own(cluster):
    files = tiny_model()
    brought(cluster.own["n3"] / "models/m", files)
    done = cluster.run("hosts:n3")
    assert done.code == 0, done.output
    assert all(cluster.files(name) == files for name in cluster.own), done.output
    assert not (cluster.own["n3"] / "models/m" / listing.RECORD).exists()  # what somebody brought is not ours to remove
    assert all(listing.read(str(cluster.own[name] / "models/m"))["source"] == "hosts:n3" for name in ("n1", "n2"))
    done = cluster.run("hosts:n3")
    assert done.code == 0 and done.changed == 0, done.output


def test_the_controller_hands_it_out(cluster):
    files = tiny_model()
    brought(cluster.folder / "brought/m", files)
    more = {"model_origin": f"{cluster.folder}/brought/m", "model_origin_address": "127.0.0.1"}
    done = cluster.run("hosts:localhost", **more)
    assert done.code == 0 and all(cluster.files(name) == files for name in cluster.own), done.output
    assert [each.name for each in (cluster.folder / "brought").iterdir()] == ["m"]
    assert listing.names_in(str(cluster.folder / "brought/m")) == set(files)


def test_a_host_that_dies_while_it_passes_files_on(cluster):
    """The server of n1 is killed in the first round. n2 goes on in the next one, with what it has."""
    files, killed = tiny_model(6_000_000), []
    with Hub(files) as hub:
        assert cluster.run(f"{hub.address}/web", "--limit", "n1").code == 0

        def kill():
            server, part = cluster.own["n1"] / "models/m.sharing/server.json", cluster.own["n2"] / "models/m.unpacking"
            while not (
                server.exists() and any(each.stat().st_size > 1_000_000 for each in part.glob("content/*.safetensors*"))
            ):
                time.sleep(0.05)
            inside = re.search(
                r"--target=(\d+)", pathlib.Path(cluster.hosts["n1"]["ansible_become_exe"]).read_text()
            ).group(1)
            pid = str(json.loads(server.read_text())["pid"])
            argv = ["nsenter", f"--target={inside}", "--mount", "--pid", "kill", f"-{signal.SIGKILL:d}", pid]
            killed.append(subprocess.run(argv, check=False).returncode)

        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        done = cluster.run(f"{hub.address}/web", model_rate=3)
        assert killed == [0], done.output
        assert done.code == 0 and all(cluster.files(name) == files for name in cluster.own), done.output
        assert hub.fetched(FIRST) == hub.fetched(SECOND) == 1


def test_a_folder_that_the_server_may_not_read_is_named(cluster):
    files = tiny_model()
    brought(cluster.own["n3"] / "models/m", files)
    (cluster.own["n3"] / "models/m").chmod(0o700)
    done = cluster.run("hosts:n3")
    assert done.code != 0 and "n3: the user nobody" in done.text and "chmod -R o+rX" in done.text, done.output


def test_two_models_of_which_one_host_has_the_second(cluster):
    """What is known of the first one must not be taken for the second."""
    files = tiny_model()
    with Hub(files) as hub, Hub({**files, "tokenizer.json": b'{"other": 1}'}) as other:
        second = {"model_path": f"{cluster.place}/models/second", "model_source": f"{other.address}/web"}
        done = cluster.run(second["model_source"], "--limit", "n1", model_path=second["model_path"])
        assert done.code == 0, done.output
        done = cluster.run(f"{hub.address}/web", also=second)
        assert done.code == 0, done.output
        for name in cluster.own:
            assert cluster.files(name) == files
            assert (cluster.own[name] / "models/second/tokenizer.json").read_bytes() == b'{"other": 1}'
        assert hub.fetched(FIRST) == other.fetched(FIRST) == 1


class Counted(http.server.SimpleHTTPRequestHandler):
    """A server of the rack for one folder."""

    def log_message(self, *unused):
        pass


def test_the_controller_fetches_for_hosts_that_reach_no_hub(cluster):
    files = tiny_model()
    with Hub(files, token="t0ken") as hub:
        more = {
            "model_fetch_host": "localhost",
            "model_origin": f"{cluster.folder}/fetched/m",
            "model_origin_address": "127.0.0.1",
        }
        done = cluster.run(f"{hub.address}/web", model_token="t0ken", **more)
        assert done.code == 0 and all(cluster.files(name) == files for name in cluster.own), done.output
        assert hub.fetched(FIRST) == hub.fetched(SECOND) == 1 and "t0ken" not in done.output
        assert listing.read(f"{cluster.folder}/fetched/m")["source"] == f"{hub.address}/web"
        done = cluster.run(f"{hub.address}/web", model_token="t0ken", **more)
        assert done.code == 0 and done.changed == 0 and hub.fetched(FIRST) == 1, done.output


def test_another_model_in_the_controllers_folder_is_not_handed_out_as_the_wanted_one(cluster):
    """The source of the inventory has moved on, and the controller's folder has what an earlier run fetched."""
    files = tiny_model()
    more = {
        "model_fetch_host": "localhost",
        "model_origin": f"{cluster.folder}/fetched/m",
        "model_origin_address": "127.0.0.1",
    }
    with Hub(files) as hub:
        assert cluster.run(f"{hub.address}/web", "--limit", "n1,n2", **more).code == 0
    for name in ("n1", "n2"):
        shutil.rmtree(cluster.own[name] / "models/m")
    with Hub({**files, SECOND: bytes(len(files[SECOND]))}) as hub:
        done = cluster.run(f"{hub.address}/web", "--limit", "n1,n2", **more)
    assert done.code != 0 and "exists, and it is not replaced" in done.text, done.output
    assert not any((cluster.own[name] / "models/m").exists() for name in cluster.own)


def in_a_bundle(cluster, files, source):
    """The model in a folder as the playbook bundle makes it, and what the action says of it."""
    folder = cluster.folder / "bundle/models/m"
    brought(folder, files)
    rows = [{"name": name, "size": len(content), "sha256": digest(content)} for name, content in files.items()]
    (folder / listing.RECORD).write_text(listing.text(source, "v1", rows))
    (folder / listing.RECORD).chmod(0o644)
    return {
        "folder": str(cluster.folder / "bundle"),
        "models": {"m": {"source": source, "revision": "v1", "digest": listing.digest(rows)}},
        "url": "",
    }


def test_hosts_without_internet_get_it_from_a_bundle(cluster):
    """No hub is asked, no client is installed: the controller hands it out, or a server of the rack does."""
    files, named = tiny_model(), "modelscope:o/m@v1"
    bundle = in_a_bundle(cluster, files, named)
    done = cluster.run(named, model_bundle=bundle)
    assert done.code != 0 and "inference_bundle_url" in done.text and "model_origin_address" in done.text, done.output
    done = cluster.run(named, model_bundle=bundle, model_origin_address="127.0.0.1")
    assert done.code == 0 and all(cluster.files(name) == files for name in cluster.own), done.output
    assert all(listing.read(str(cluster.own[name] / "models/m"))["source"] == named for name in cluster.own)
    done = cluster.run(named, model_bundle=bundle)
    assert done.code == 0 and done.changed == 0, done.output
    for name in cluster.own:
        shutil.rmtree(cluster.own[name] / "models/m")
    handler = functools.partial(Counted, directory=str(cluster.folder / "bundle"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as rack:
        threading.Thread(target=rack.serve_forever, daemon=True).start()
        done = cluster.run(named, model_bundle={**bundle, "url": f"http://127.0.0.1:{rack.server_address[1]}"})
        rack.shutdown()
    assert done.code == 0 and all(cluster.files(name) == files for name in cluster.own), done.output


def test_a_bundle_that_was_changed_or_lacks_the_model_gives_nothing(cluster):
    files, named = tiny_model(), "modelscope:o/m@v1"
    bundle = in_a_bundle(cluster, files, named)
    done = cluster.run("modelscope:o/other@v1", model_bundle=bundle)
    assert done.code != 0 and "does not hold modelscope:o/other@v1" in done.text and named in done.text, done.output
    shard = cluster.folder / "bundle/models/m" / SECOND
    content = shard.read_bytes()
    shard.write_bytes(content[:-1])
    done = cluster.run(named, model_bundle=bundle, model_origin_address="127.0.0.1")
    assert done.code != 0 and "is not what this run verified" in done.text, done.output
    shard.write_bytes(bytes(len(content)))  # the same size: who takes it compares
    done = cluster.run(named, model_bundle=bundle, model_origin_address="127.0.0.1")
    assert done.code != 0 and f"{SECOND} has another content" in done.text, done.output
    assert not any((cluster.own[name] / "models/m").exists() for name in cluster.own)
