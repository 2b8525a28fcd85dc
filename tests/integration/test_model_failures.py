# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong while a model comes: each ends clearly, nothing is at the path before all of it is right, and the next run goes on."""

from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.tests.integration._certificate import certify
from ansible_collections.ascend.inference.tests.integration._hub import Fault, Hub, tiny_model
from ansible_collections.ascend.inference.tests.integration.test_model_hubs import (
    FIRST,
    HUBS,
    LONG,
    SECOND,
    deliver,
    module,
    source,
    started,
    whole,
)


def listed(tmp_path, hub, kind, **more):
    """The arguments of model_delivery for what the hub lists now."""
    access = {"source": source(hub, kind), "endpoint": "" if kind == "web" else hub.address, **more}
    found = module("model_listing", tmp_path, **access)
    assert not found.get("failed"), found
    return {"path": str(tmp_path / "models/m"), "files": found["files"], "revision": found["revision"], **access}


@LONG
@pytest.mark.parametrize("kind", HUBS[:2])
def test_a_size_that_the_hub_lists_and_does_not_deliver(tmp_path, kind):
    files = tiny_model()
    with Hub(files, sizes={SECOND: len(files[SECOND]) + 5}) as hub:
        done = deliver(tmp_path, hub, kind)[1]
        assert done["failed"] and SECOND in done["msg"] and "Fix:" in done["msg"]
        assert not (tmp_path / "models/m").exists()
        hub.sizes.clear()
        assert deliver(tmp_path, hub, kind)[1]["changed"] and whole(tmp_path, files)
        assert hub.fetched(FIRST) == 1


@LONG
@pytest.mark.parametrize("kind", ["modelscope", "web"])
def test_a_revision_that_moves_while_it_is_fetched(tmp_path, kind):
    """Hugging Face is asked for the commit of the listing. The others have no commit: the digests of the listing decide."""
    files = tiny_model()
    with Hub(files) as hub:
        given = listed(tmp_path, hub, kind)
        hub.files = {**files, SECOND: bytes(len(files[SECOND]))}
        done = module("model_delivery", tmp_path, **given)
        assert done["failed"] and SECOND in done["msg"] and "the revision moved" in done["msg"], done
        assert not (tmp_path / "models/m").exists()
        assert deliver(tmp_path, hub, kind)[1]["changed"] and whole(tmp_path, hub.files)


@LONG
@pytest.mark.parametrize("kind", HUBS)
def test_a_hub_whose_certificate_is_of_an_own_authority(tmp_path, kind):
    pem = tmp_path / "hub.pem"
    pem.write_text("".join(reversed(certify(tmp_path / "authority.pem", also="IP:127.0.0.1,DNS:localhost"))))
    files = tiny_model()
    with Hub(files, certificate=str(pem)) as hub:
        refused = deliver(tmp_path, hub, kind)[0]
        assert refused["failed"] and "certificate" in refused["msg"].lower() and "Fix:" in refused["msg"], refused
        given = listed(tmp_path, hub, kind, authority=str(tmp_path / "authority.pem"))
        assert module("model_delivery", tmp_path, **given)["changed"] and whole(tmp_path, files)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small disk")
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=LONG) for kind in HUBS])
def test_a_disk_that_becomes_full(tmp_path, kind):
    """The space was there when the fetch began, and something else took it."""
    files, disk = tiny_model(3_000_000), pathlib.Path(tempfile.mkdtemp())
    mounted = ["mount", "-t", "tmpfs", "-o", "size=320m", "tmpfs", str(disk)]
    if subprocess.run(mounted, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        with Hub(files, rate=3_000_000) as hub:
            given = {**listed(tmp_path, hub, kind), "path": str(disk / "m")}
            running = started("model_delivery", given, tmp_path)
            while not hub.fetched(FIRST):
                assert running.poll() is None, running.communicate()
                time.sleep(0.05)
            with (disk / "log").open("wb", buffering=0) as other:
                while _written(other):
                    pass
            output = running.communicate(timeout=100)[0]
            done = json.loads([line for line in output.splitlines() if line.startswith("{")][-1])
            assert done["failed"] and not (disk / "m").exists()
            assert "space" in done["msg"].lower() and "Fix:" in done["msg"], done
            (disk / "log").unlink()
            hub.rate = 0
            assert module("model_delivery", tmp_path, **given)["changed"]
            assert {name: (disk / "m" / name).read_bytes() for name in files} == files
            assert listing.names_in(str(disk)) == {"m/" + name for name in {*files, listing.RECORD}}
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
        disk.rmdir()


def _written(stream):
    try:
        return stream.write(bytes(65536))
    except OSError:
        return 0


@LONG
@pytest.mark.parametrize("kind", HUBS)
def test_runs_that_are_killed_at_any_time(tmp_path, kind):
    files, chance = tiny_model(1_500_000), random.Random(45)
    path = tmp_path / "models/m"
    with Hub(files, rate=2_000_000) as hub:
        given, killed = listed(tmp_path, hub, kind), 0
        while not path.exists():
            assert killed < 60, "no run gets anything done"
            running = started("model_delivery", given, tmp_path)
            until = time.monotonic() + chance.uniform(
                0.2, 3.0 + killed
            )  # the client of Hugging Face begins a large file again
            while time.monotonic() < until and running.poll() is None:
                if path.exists():
                    assert whole(tmp_path, files)
                time.sleep(0.01)
            killed += running.poll() is None
            running.send_signal(signal.SIGKILL)
            running.communicate()
        assert whole(tmp_path, files) and listing.read(str(path))
        assert not module("model_delivery", tmp_path, **given)["changed"]
        assert killed


def test_a_folder_of_a_host_is_listed_with_its_digests(tmp_path):
    files, folder = tiny_model(), tmp_path / "brought"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / ".cache/huggingface").mkdir(parents=True)
    (folder / ".cache/huggingface/x.lock").write_text("")
    found = module("model_listing", tmp_path, source=f"folder:{folder}")
    assert {each["name"] for each in found["files"]} == set(files) and found["pinned"]
    assert all(len(each["sha256"]) == 64 for each in found["files"]) and found["model"]["config"]["hidden_size"] == 64
    (folder / "more.safetensors").symlink_to("/etc/passwd")
    refused = module("model_listing", tmp_path, source=f"folder:{folder}")
    assert refused["failed"] and "more.safetensors" in refused["msg"] and "cp -rL" in refused["msg"]
    gone = module("model_listing", tmp_path, source=f"folder:{tmp_path}/none")
    assert gone["failed"] and "set model_origin" in gone["msg"]


def test_a_file_that_a_hub_answers_with_an_error_is_tried_again(tmp_path):
    files = tiny_model()
    with Hub(files, faults={SECOND: Fault(status=503, times=1)}) as hub:
        assert deliver(tmp_path, hub, "web")[1]["changed"] and whole(tmp_path, files)
