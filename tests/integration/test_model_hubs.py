# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that bring a model, with the hubs' own clients and a stand-in of each hub on loopback."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.tests.integration import _hub_clients
from ansible_collections.ascend.inference.tests.integration._hub import COMMIT, Fault, Hub, tiny_model
from ansible_collections.ascend.inference.tests.integration._playbook import TREE

FIRST, SECOND = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
HUBS = ["huggingface", "modelscope", "web"]
LONG = pytest.mark.long
ELSEWHERE = ["/etc/cron.d/m", "a/../../m", "config.json", ".ascend-inference-model.json", "config.json/x"]
RUN = "import sys, runpy; sys.path[:0] = [{tree!r}, {ansible!r}]; runpy.run_module({name!r}, run_name='__main__')"


def source(hub, kind, revision="v1"):
    return f"{hub.address}/web" if kind == "web" else f"{kind}:o/m@{revision}"


def started(name, arguments, home):
    """A module with the interpreter of the hubs' clients, as Ansible starts it, but without its archive."""
    import ansible

    name = f"ansible_collections.ascend.inference.plugins.modules.{name}"
    program = RUN.format(tree=str(TREE), ansible=str(pathlib.Path(ansible.__file__).parents[1]), name=name)
    text = json.dumps(
        {"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_remote_tmp": str(home), "_ansible_keep_remote_files": False}}
    )
    environment = {**os.environ, "HOME": str(home), "MODELSCOPE_DOWNLOAD_RETRY_TIMES": "3"}
    argv = [str(_hub_clients.python()), "-c", program, text]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def module(name, home, **arguments):
    output, errors = started(name, arguments, home).communicate(timeout=120)
    lines = [line for line in output.splitlines() if line.startswith("{")]
    assert lines, output + errors
    return json.loads(lines[-1])


def deliver(tmp_path, hub, kind, token="", revision="v1"):
    """List and fetch; the answers of both modules."""
    access = {"source": source(hub, kind, revision), "token": token, "endpoint": "" if kind == "web" else hub.address}
    listed = module("model_listing", tmp_path, **access)
    if listed.get("failed"):
        return listed, {}
    path = str(tmp_path / "models/m")
    given = {"path": path, "files": listed["files"], "revision": listed["revision"], **access}
    return listed, module("model_delivery", tmp_path, **given)


def whole(tmp_path, files):
    folder = tmp_path / "models/m"
    return {name: (folder / name).read_bytes() for name in listing.names_in(str(folder)) - {listing.RECORD}} == files


@pytest.mark.parametrize("kind", HUBS)
def test_a_model_comes_whole_with_its_digests(tmp_path, kind):
    files = tiny_model()
    with Hub(files, token="t0ken") as hub:
        listed, done = deliver(tmp_path, hub, kind, "t0ken")
        assert done.get("changed"), (listed, done)
        assert listed["model"]["config"]["hidden_size"] == 64 and listed["model"]["tokenizer"] and not listed["pinned"]
        assert whole(tmp_path, files) and not (tmp_path / "models/m.unpacking").exists()
        assert not hub.leaked and hub.fetched(FIRST) == hub.fetched(SECOND) == 1
        record = listing.read(str(tmp_path / "models/m"))
        assert record["revision"] == {"huggingface": COMMIT, "modelscope": "v1", "web": ""}[kind]
        assert record == done["record"] and listing.differences(str(tmp_path / "models/m"), record["files"], True) == []
        assert not deliver(tmp_path, hub, kind, "t0ken")[1]["changed"] and hub.fetched(FIRST) == 1


@LONG
@pytest.mark.parametrize("kind", HUBS)
def test_a_cut_connection_is_gone_on_with(tmp_path, kind):
    files = tiny_model()
    with Hub(files, faults={FIRST: Fault(cut=100_000)}) as hub:
        assert deliver(tmp_path, hub, kind)[1].get("changed") and whole(tmp_path, files)
        assert hub.fetched(FIRST) == 2 and hub.fetched(SECOND) == 1


@LONG
@pytest.mark.parametrize("kind", HUBS)
def test_a_damaged_shard_is_never_a_model_and_the_next_run_goes_on(tmp_path, kind):
    files = tiny_model()
    wrong = bytes(len(files[SECOND]))
    with Hub(files, faults={SECOND: Fault(content=wrong, times=9)}) as hub:
        done = deliver(tmp_path, hub, kind)[1]
        assert done["failed"] and SECOND in done["msg"] and "Fix:" in done["msg"]
        assert not (tmp_path / "models/m").exists()
        hub.faults.clear()
        assert deliver(tmp_path, hub, kind)[1]["changed"] and whole(tmp_path, files)
        assert hub.fetched(FIRST) == 1


@LONG
@pytest.mark.parametrize("kind", HUBS)
@pytest.mark.parametrize("status", [401, 404, 429])
def test_a_refusal_names_the_fix_and_no_token(tmp_path, kind, status):
    with Hub(tiny_model(), token="right") as hub:
        if status == 401:
            done = deliver(tmp_path, hub, kind, "s3cret-token")[0]
        elif status == 404:
            hub.token = ""
            done = deliver(tmp_path, hub, kind, revision="gone")[0] if kind != "web" else {}
        else:
            hub.token, hub.faults = "", {SECOND: Fault(status=429, times=99)}
            done = deliver(tmp_path, hub, kind)[1]
    if (kind, status) != ("web", 404):
        assert done["failed"] and "Fix:" in done["msg"] and "s3cret" not in json.dumps(done), done
        assert not (tmp_path / "models/m").exists()
    fixes = {401: "set the token", 404: "the revision", 429: ""}
    assert kind == "web" or fixes[status] in done["msg"], done


@pytest.mark.parametrize("kind", HUBS[:2])
@pytest.mark.parametrize("name", ["../m.py", *(pytest.param(name, marks=LONG) for name in ELSEWHERE)])
def test_a_listing_that_leads_elsewhere_is_refused_before_a_file_is_fetched(tmp_path, kind, name):
    with Hub(tiny_model(), extra=[{"name": name}]) as hub:
        listed, done = deliver(tmp_path, hub, kind)
        assert listed["failed"] and "not followed" in listed["msg"] and not done
        assert not [each for each in hub.log if each[1] == "GET"]


@LONG
@pytest.mark.parametrize("kind", HUBS)
def test_a_killed_run_goes_on_with_the_file_that_is_not_whole(tmp_path, kind):
    files = tiny_model(2_000_000)
    with Hub(files, rate=2_000_000) as hub:
        access = {"source": source(hub, kind), "endpoint": "" if kind == "web" else hub.address}
        listed = module("model_listing", tmp_path, **access)
        given = {"path": str(tmp_path / "models/m"), "files": listed["files"], "revision": listed["revision"], **access}
        running = started("model_delivery", given, tmp_path)
        while not hub.fetched(SECOND):
            assert running.poll() is None, running.communicate()
            time.sleep(0.05)
        time.sleep(0.3)
        running.send_signal(signal.SIGKILL)
        running.communicate()
        assert not (tmp_path / "models/m").exists()
        hub.rate = 0
        assert module("model_delivery", tmp_path, **given)["changed"] and whole(tmp_path, files)
        assert hub.fetched(FIRST) == 1 and hub.fetched(SECOND) == 2
        assert not (tmp_path / "models/m.unpacking").exists()


@LONG
def test_a_revision_that_moved_between_two_runs_is_fetched_as_it_is_now(tmp_path):
    files = tiny_model()
    with Hub(files, faults={SECOND: Fault(status=403, times=9)}) as hub:
        assert deliver(tmp_path, hub, "modelscope")[1]["failed"]
        hub.faults.clear()
        moved = dict(files, **{"tokenizer.json": b'{"moved": 1}'})
        hub.files = {name: moved[name] for name in moved if name != "figures/empty.txt"}
        assert deliver(tmp_path, hub, "modelscope")[1]["changed"] and whole(tmp_path, hub.files)


@LONG
def test_links_in_the_folder_beside_the_model_are_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("of root")
    with Hub(tiny_model(), faults={SECOND: Fault(status=403, times=9)}) as hub:
        assert deliver(tmp_path, hub, "web")[1]["failed"]
        (tmp_path / "models/m.unpacking/content" / SECOND).symlink_to(victim)
        (tmp_path / "models/m.unpacking/content/also").symlink_to(tmp_path)
        hub.faults.clear()
        assert deliver(tmp_path, hub, "web")[1]["changed"] and whole(tmp_path, hub.files)
    assert victim.read_text() == "of root"


@pytest.mark.parametrize("kind", [HUBS[0], *(pytest.param(kind, marks=LONG) for kind in HUBS[1:])])
def test_the_fetch_keeps_its_limit(tmp_path, kind):
    """The clients have no option for it, so their connections are slowed down."""
    files = tiny_model(1_000_000)
    with Hub(files) as hub:
        access = {"source": source(hub, kind), "endpoint": "" if kind == "web" else hub.address}
        listed = module("model_listing", tmp_path, **access)
        given = {"path": str(tmp_path / "models/m"), "files": listed["files"], "revision": listed["revision"], **access}
        begin = time.monotonic()
        assert module("model_delivery", tmp_path, rate=500_000, **given)["changed"] and whole(tmp_path, files)
        assert time.monotonic() - begin > 4
