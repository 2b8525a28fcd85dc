# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service's user who swaps what is in its folders while root works there: no other file is read, changed or given away.

The attack runs all the time in a process of its own, and each step of root meets another state of it. As root the attacker is another user.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import subprocess
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench import aisbench
from ansible_collections.ascend.inference.plugins.module_utils.files import tree
from ansible_collections.ascend.inference.plugins.module_utils.router import away
from ansible_collections.ascend.inference.plugins.module_utils.runtime import decisions
from ansible_collections.ascend.inference.plugins.module_utils.support import gather
from ansible_collections.ascend.inference.plugins.module_utils.support.redact import Redactor
from ansible_collections.ascend.inference.tests.unit.plugins.modules.test_service_files import call, sample

OTHER = 65534
PYTHON = "/usr/bin/python3"  # the one that runs the tests may be in a folder of root
SECONDS = 4
SECRET = "planted-line-of-root"
NAMES = (
    "router.away",
    "engine-0.digest",
    "engine-0.log",
    "engine-0.log.1",
    "-rf",
    "ascend",
    "bench-1",
    "\x1b[2J",
    "a\nb",
)
ATTACK = """
import contextlib, os, random, sys, time
victim, *folders = sys.argv[1:]
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(OTHER)
    os.setuid(OTHER)
names = NAMES
random.seed(int(os.environ["SEED"]))

def deep(path):
    os.makedirs(path + "/log/debug/plog", exist_ok=True)
    with open(path + "/log/debug/plog/plog-1.log", "w") as stream:
        stream.write("ERROR own line\\\\n")

def sparse(path):
    with open(path, "wb") as stream:
        stream.truncate(2**40)

actions = [
    lambda path: os.symlink(victim, path),
    lambda path: os.symlink(victim + "/secret", path),
    lambda path: os.symlink("/nothing/here", path),
    lambda path: os.link(victim + "/open", path),
    os.mkfifo,
    os.mkdir,
    deep,
    sparse,
    lambda path: open(path, "w").close(),
]
while True:
    time.sleep(0.001)  # or root removes many thousands of files
    path = os.path.join(random.choice(folders), random.choice(names))
    with contextlib.suppress(OSError):
        os.rename(path, path + str(random.random()))
    with contextlib.suppress(OSError):
        random.choice(actions)(path)
    inner = os.path.join(path, "log")
    with contextlib.suppress(OSError):
        os.rename(inner, inner + str(random.random())) if random.random() < 0.3 else None
        os.symlink(victim, inner)
"""


@pytest.fixture
def base(tmp_path):
    return tmp_path / "deployments" / "sample"


@pytest.fixture
def victim(tmp_path):
    """A folder of root with a file that nobody else can read, one that everybody can write, and what looks like a log."""
    folder = tmp_path / "victim"
    (folder / "log/debug/plog").mkdir(parents=True)
    (folder / "debug/plog").mkdir(parents=True)
    for name in ("secret", "debug/plog/plog-1.log", "log/debug/plog/plog-1.log", "router.away", "engine-0.digest"):
        (folder / name).write_text(SECRET)
        (folder / name).chmod(0o600)
    (folder / "open").write_text(SECRET)
    (folder / "open").chmod(0o666)
    return folder


def state(folder):
    """{path: (mode, owner, content)} of all below a folder."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        text = path.read_text() if stat.S_ISREG(status.st_mode) else ""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_uid, status.st_gid, text)
    return found


@contextlib.contextmanager
def attacked(victim, folders, seed):
    """The attack goes on within the context."""
    code = ATTACK.replace("NAMES", repr(NAMES)).replace("OTHER", str(OTHER))
    argv = [PYTHON, "-S", "-c", code, str(victim), *map(str, folders)]
    with subprocess.Popen(argv, env={"SEED": str(seed)}, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            alive = process.poll() is None
            process.kill()
            assert alive, process.stderr.read()


def read_by_root(base, home):
    """What modules read in folders of the user, as text."""
    run, logs = base / "run", base / "logs"
    found = [
        decisions.running_digest({"digest_file": str(run / "engine-0.digest")}),
        *away.read(str(run / "router.away")),
    ]
    log = {"kind": "file", "path": str(logs / "engine-0.log"), "unit": ""}
    parts = [gather.service_part({"name": "engine-0", "log": log}, 0, 2**16, Redactor(), None)]
    parts += gather.plog_parts([str(home / "ascend/log")], 0, 2**16, Redactor())
    return "".join([*found, *(part.text for part in parts)])


def written_by_root(base, home):
    """What modules write, remove and give away there. An error of the system is an answer; nothing else is."""
    away_list, work = str(base / "run/router.away"), base / "services/engine-0/work"
    for step in (
        lambda: away.note(away_list, {"http://10.0.0.1:7100"}),
        lambda: away.clear(away_list, {"http://10.0.0.1:7100"}),
        lambda: aisbench.prepare(
            str(work / "bench-1"),
            {"models": [{}], "datasets": [{}], "prompts": {"file": "/srv/p.jsonl"}},
            "a key of the API",
        ),
        lambda: aisbench.remove(str(work / "bench-1")),
        lambda: tree.remove_folder(str(base), str(work), True),
        lambda: call(base, **wanted(base)),
    ):
        with contextlib.suppress(OSError, tree.TreeError):
            step()


def wanted(base):
    options = sample(base)
    options["folders"].append({"path": base / "run", "service_owned": True})
    return {**options, "service_owner": "nobody"} if os.geteuid() == 0 else options


def open_to_the_attacker(tmp_path):
    """The folders above, which pytest closes."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o011)


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_swapped_meanwhile_leads_root_nowhere_else(base, victim, tmp_path, seed):
    open_to_the_attacker(tmp_path)
    call(base, **wanted(base))
    home = tmp_path / "cache" / "home"
    home.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chown(str(home), OTHER, OTHER)
    before, texts = state(victim), []
    folders = [base / "run", base / "logs", base / "services/engine-0/work", home]
    with attacked(victim, folders, seed):
        end, rounds = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            texts.append(read_by_root(base, home))
            written_by_root(base, home)
            rounds += 1
    assert rounds > 0 and state(victim) == before
    if os.geteuid() == 0:
        assert SECRET not in "".join(texts)
    assert (base / "services/engine-0/run.sh").read_text() == "one\n"


def test_removal_of_swapped_folders_leads_nowhere_else(base, victim, tmp_path, run_module):
    open_to_the_attacker(tmp_path)
    before, folders = state(victim), [base / "run", base / "logs", base / "services/engine-0/work"]
    for seed in range(3):
        call(base, **wanted(base))
        with attacked(victim, folders, seed):
            time.sleep(0.2)
            for _attempt in range(3):
                run_module("service_files", directory=str(base), name="plan", state="absent")
    run_module("service_files", directory=str(base), name="plan", state="absent")
    assert state(victim) == before and not pathlib.Path(base).exists()
