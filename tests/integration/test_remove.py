# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook remove on this machine: by the deployed plan, also if the inventory has no plan any more; nothing else is touched."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.modules import service_files
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE

INVENTORY = pathlib.Path(__file__).resolve().parents[2] / "inventories/local"
UNKNOWN = {"prefill": {"instances": 1, "args": {"no-such-flag": 1}}, "decode": {"instances": 1}}


def play(folder, name, **variables):
    """Run a playbook of the collection with the inventory ``local`` -> (exit status, output in one line)."""
    paths = [str(TREE), os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")]
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": ":".join(filter(None, paths)),
        "ANSIBLE_HOME": str(folder / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
    }
    given = {"inference_root": str(folder / "root"), **variables}
    argv = [str(PROGRAM), "-i", str(INVENTORY), "-e", json.dumps(given), f"ascend.inference.{name}"]
    done = subprocess.run(argv, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def written(directory, name, **options):
    """What a call of service_files leaves."""
    params = {key: option.get("default") for key, option in service_files.ARGUMENTS.items()}
    folders = [{"mode": "0755", "service_owned": False, **folder} for folder in options.get("folders", [])]
    defaults = {"mode": "0640", "service": "", "service_owned": False, "private": False}
    files = [{**defaults, **file} for file in options.get("files", [])]
    params.update(directory=str(directory), name=name, folders=folders, files=files)
    return service_files.work(params, False)


@pytest.fixture(name="tmp_path")
def short_path():
    """pytest's own folders are too long for supervisord's socket below them."""
    with tempfile.TemporaryDirectory(prefix="remove") as folder:
        yield pathlib.Path(folder)


@pytest.fixture
def deployed(tmp_path):
    """The folder of a deployment whose services do not run, with something of somebody's beside it and in it."""
    code, output = play(tmp_path, "plan", inference_plan_file=str(tmp_path / "plan.json"))
    assert code == 0, output
    directory = tmp_path / "root/deployments/inference"
    script = {"path": f"{directory}/services/run.sh", "content": "#!/bin/sh\n"}
    written(
        directory, "services", folders=[{"path": str(directory)}, {"path": f"{directory}/services"}], files=[script]
    )
    plan = (tmp_path / "plan.json").read_text(encoding="utf-8")
    written(directory, "plan", files=[{"path": f"{directory}/plan.json", "content": plan}])
    (tmp_path / "root/cache/other_team").mkdir(parents=True)
    return directory


def test_the_deployed_plan_is_what_is_removed(deployed, tmp_path):
    right = (deployed / "plan.json").read_text()
    other = {**json.loads(right), "directory": "/srv/other/deployments/inference", "root": "/srv/other"}
    (deployed / "plan.json").write_text(json.dumps(other))
    code, output = play(tmp_path, "remove")
    assert code != 0 and "is about /srv/other/deployments/inference" in output, output
    assert (deployed / "services/run.sh").exists()

    (deployed / "plan.json").write_text(right)
    (deployed / "services/note.txt").write_text("precious")
    code, output = play(tmp_path, "remove", inference_pools=UNKNOWN, inference_remove_caches=True)
    assert code == 0, output
    assert "no plan can be made" in output and "no-such-flag" in output
    assert [path for path in deployed.rglob("*") if path.is_file()] == [deployed / "services/note.txt"]
    assert str(deployed / "services/note.txt") in output
    (deployed / "services/note.txt").unlink()
    (deployed / "services").rmdir()
    deployed.rmdir()
    code, output = play(tmp_path, "remove", inference_remove_caches=True)
    assert code == 0 and "changed=0" in output, output
    assert f"{tmp_path}/root/cache/other_team" in output and (tmp_path / "root/cache/other_team").exists()
