# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""site and upgrade, killed at their stages and between the writes of their modules: the next run goes on, and the result is that of a run
without interruption.

Runs are killed one after the other, each at a later place: where a run starts, an earlier one has stopped half-way. The controller is
killed with its process group, and with it the module that is about to write.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import stat
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock
from ansible_collections.ascend.inference.tests.integration._deployment import Deployment

KILLED = -9
OLD, NEW = "0.23.0", "0.24.0rc1"
LOCKED = "Lock the deployment"
# Content that differs between equal deployments: times, ids of runs, what services write.
VOLATILE = {"journal.json": None, "verified.json": None, "before.json": None}


@pytest.fixture
def place():
    """Makes the deployment, in a folder with a short name, because a socket's path must be short."""
    folder, made = pathlib.Path(tempfile.mkdtemp(prefix="kill")), []

    def make(**options):
        made.append(Deployment(folder, **options))
        return made[0]

    yield make
    for deployment in made:
        deployment.stop()
    shutil.rmtree(folder)


@pytest.fixture
def deployment(place):
    return place()


def snapshot(deployment):
    """{path: (mode, content or target)} of everything that root owns in the tree: the deployment's files, and marks of environments."""
    found = {}
    for path in sorted(deployment.root.rglob("*")):
        name = str(path.relative_to(deployment.root))
        if re.match(r"deployments/[^/]+/(logs|run|services/[^/]+/work)/", name) or re.match(
            r"venvs/[^/]+/(?!\.ascend)", name
        ):
            continue
        if re.match(r"(cache|models)/", name) or path.suffix == ".lock":
            continue
        status = path.lstat()
        content = ""
        if stat.S_ISLNK(status.st_mode):
            content = str(path.readlink())
        elif path.is_file() and path.name not in VOLATILE:
            content = path.read_text(encoding="utf-8", errors="replace")
        found[name] = (stat.filemode(status.st_mode), content)
    return found


def leftovers(deployment):
    """Locks of runs, and files that a killed run did not finish."""
    unfinished = [
        path for path in deployment.root.rglob("*") if path.name.endswith((".ascend-inference-new", "installing"))
    ]
    return unfinished + ([deployment.directory] if deployment_lock.holder_of(str(deployment.directory)) else [])


def phase(deployment):
    return json.loads((deployment.directory / "journal.json").read_text())["phase"]


def assert_converged(deployment, run, playbook, **variables):
    """The run succeeded and left nothing behind, and another run changes nothing."""
    assert run.code == 0, run.output[-6000:]
    assert leftovers(deployment) == [] and phase(deployment) == "verified"
    again = deployment.play(playbook, **variables)
    assert (again.code, again.changed) == (0, 0), again.output[-6000:]


def beginnings(run):
    """The first task of each role in each play, from the lock on: {"PLAY | ROLE": stage}."""
    found = {}
    for stage in run.stages:
        play, role, _task = stage.split(" | ", 2)
        found.setdefault(f"{play} | {role}", stage)
    names = list(found)
    begin = next(number for number, name in enumerate(names) if name.startswith(LOCKED))
    return [found[name] for name in names[begin:]]


def test_deploy_goes_on_after_it_was_killed_between_two_files_of_a_service(place):
    """A sample of the long test: neither checks nor installs anything, which takes most of the time of site."""
    deployment = place(packages_too=False)
    deployment.provide()
    run = deployment.play("deploy", step="service_files | os.rename | run.sh", __inference_checked=True)
    assert run.code == KILLED, run.output[-6000:]
    assert deployment_lock.holder_of(str(deployment.directory)) and phase(deployment) == "changing"
    run = deployment.play("deploy", __inference_checked=True)
    assert run.code == 0, run.output[-6000:]
    assert leftovers(deployment) == [] and phase(deployment) == "deployed"
    assert deployment.processes()


@pytest.mark.long
@pytest.mark.parametrize("playbook", ["site", "upgrade"])
def test_any_stage_and_any_write(deployment, playbook):
    """Every stage and every kind of write in turn, and then the files of a run that was not interrupted."""
    first = deployment.play("site")
    assert first.code == 0, first.output[-6000:]
    variables = {}
    if playbook == "upgrade":
        variables = {"inference_release": NEW, "inference_cann_path": str(deployment.folder / "Ascend-new")}
        first = deployment.play("upgrade", **variables)
        assert first.code == 0, first.output[-6000:]
    expected, places = snapshot(deployment), [{"stage": stage} for stage in beginnings(first)]
    places += [{"step": step} for step in dict.fromkeys(first.steps)]
    assert len(places) > 60, places
    reset(deployment, playbook)
    killed = 0
    for place in places:
        run = deployment.play(playbook, **place, **variables)
        assert run.code in (0, KILLED), (place, run.output[-6000:])
        print(place, run.code, flush=True)
        killed += run.code == KILLED
        if run.code == 0:  # what the place was about is done already
            assert leftovers(deployment) == [], place
            reset(deployment, playbook)
    assert killed > 50
    assert_converged(deployment, deployment.play(playbook, **variables), playbook, **variables)
    assert snapshot(deployment) == expected


def sockets(folder, names):
    """Those of supervisord, which nobody can copy."""
    return [name for name in names if pathlib.Path(folder, name).is_socket()]


@pytest.mark.long
def test_upgrade_from_the_lock_on_at_each_place(place):
    """Each place by itself: the deployment is restored from a copy, the run is killed there, and the next one ends as if nothing had happened.

    The new release is there already: how its installation is interrupted is the subject of the test above.
    """
    deployment = place(packages_too=False)
    variables = {"inference_release": NEW, "inference_cann_path": str(deployment.folder / "Ascend-new")}
    deployment.provide()
    deployment.provide(**variables)
    deployment.without("check", "prepare")
    for playbook in ("deploy", "verify"):
        run = deployment.play(playbook)
        assert run.code == 0, run.output[-6000:]
    deployment.stop()
    saved = deployment.folder / "saved"
    shutil.copytree(deployment.root, saved, symlinks=True, ignore=sockets)

    def restore():
        deployment.stop()
        shutil.rmtree(deployment.root)
        shutil.copytree(saved, deployment.root, symlinks=True)

    restore()
    first = deployment.play("upgrade", **variables)
    assert first.code == 0, first.output[-6000:]
    expected, places = snapshot(deployment), [{"stage": stage} for stage in beginnings(first)]
    places += [{"step": step} for step in dict.fromkeys(first.steps)]
    for number, at in enumerate(places):
        restore()
        run = deployment.play("upgrade", **at, **variables)
        assert run.code == KILLED, (at, run.output[-6000:])
        run = deployment.play("upgrade", **variables)
        assert run.code == 0, (at, run.output[-6000:])
        assert leftovers(deployment) == [] and phase(deployment) == "verified", at
        assert snapshot(deployment) == expected, at
        print(f"{number + 1} of {len(places)}: {at}", flush=True)


def reset(deployment, playbook):
    """Back to where the interrupted playbook started, without what it installed."""
    if playbook == "site":
        run = deployment.play("remove", inference_remove_caches=True)
    else:
        run = deployment.play("site", inference_allow_pause=True)
        shutil.rmtree(deployment.root / f"venvs/vllm_ascend-{NEW}", ignore_errors=True)
    assert run.code == 0, run.output[-6000:]
