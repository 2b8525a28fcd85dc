# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks of one life of a deployment with the ansible-core of this environment; `.ci/parts/cores.sh` runs them with the ends of the range.

The host is the simulated one of the integration tests: planner, roles, modules, supervisord and verification are real. What each playbook does in
detail is the subject of other tests, which run with one ansible-core.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys
import tempfile

import pytest
import yaml
from ansible_collections.ascend.inference.tests.integration._deployment import Deployment

CHANGED = {"inference_args": {"max-model-len": 2048}, "inference_allow_pause": True}
KTHENA = pathlib.Path(__file__).resolve().parents[2] / "inventories/a3_kthena_1p1d/hosts.yml"


@pytest.fixture(scope="module")
def deployment():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="core"))  # short, because of the path of a socket
    made = Deployment(folder, packages_too=False, python=os.environ.get("CORES_HOST_PYTHON", sys.executable))
    made.provide()
    yield made
    made.stop()
    shutil.rmtree(folder)


def played(deployment, playbook, **variables):
    """A run that ended well, and did nothing that a later ansible-core refuses."""
    run = deployment.play(playbook, **variables)
    assert run.code == 0, run.output[-6000:]
    assert "DEPRECATION WARNING" not in run.output, run.output[:2000]
    return run


def test_plan(deployment):
    assert "colocated-0" in played(deployment, "plan").output


def test_check(deployment):
    played(deployment, "check")


def test_check_refuses_a_host_whose_python_is_too_old(deployment, monkeypatch):
    old = os.environ.get("CORES_OLD_PYTHON")
    if not old:
        pytest.skip("this machine has no Python that is too old for this ansible-core")
    inventory = deployment.folder / "old.yml"
    inventory.write_text(deployment.inventory.read_text().replace(json.dumps(deployment.python), json.dumps(old)))
    monkeypatch.setattr(deployment, "inventory", inventory)
    run = deployment.play("check")
    assert run.code == 2
    assert "the host's Python is too old: ansible-core" in " ".join(run.output.split())


def test_deploy(deployment):
    assert played(deployment, "deploy").changed > 0
    assert deployment.processes()


def test_deploy_again_changes_nothing(deployment):
    assert played(deployment, "deploy").changed == 0


def test_a_changed_deploy(deployment):
    before = deployment.processes()
    assert played(deployment, "deploy", **CHANGED).changed > 0
    assert not set(before) & set(deployment.processes())


def test_verify(deployment):
    assert "VERIFIED" in played(deployment, "verify", **CHANGED).output


def test_status(deployment):
    assert "running" in played(deployment, "status", **CHANGED).output


def test_monitoring(deployment):
    place = deployment.folder / "monitoring"
    played(deployment, "monitoring", inference_monitoring={"directory": str(place)}, **CHANGED)
    rules = next(place.rglob("ascend-inference-*.yml"))
    assert yaml.safe_load(rules.read_text(encoding="utf-8"))["groups"]


def test_manifests_of_kubernetes(deployment, monkeypatch):
    monkeypatch.setattr(deployment, "inventory", KTHENA)
    manifests = deployment.folder / "manifests.yml"
    played(deployment, "deploy", inference_plan_only=True, inference_manifests_file=str(manifests))
    kinds = [item["kind"] for item in yaml.safe_load_all(manifests.read_text(encoding="utf-8"))]
    assert "ModelServing" in kinds


def test_remove(deployment):
    played(deployment, "remove", **CHANGED)
    assert not deployment.processes()
    assert not deployment.directory.exists()
