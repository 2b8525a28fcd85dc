# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbook compare with a stand-in for the stages' ansible-playbook: whatever stage fails, the first topology is deployed again or its loss is said."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE

ROOT = pathlib.Path(__file__).resolve().parents[2]
# SIMULATED: writes the reports that bench writes, and fails where it is told to.
STAGE = """
import json, os, signal, sys, time
folder, fails, *words = sys.argv[1:]
given, values = {}, [words[number + 1] for number, word in enumerate(words) if word == "--extra-vars"]
for value in values:
    given.update(json.loads(value) if value.startswith("{") else {"overlay": value})
name = words[-1].rpartition(".")[2] + ("-other" if "overlay" in given else "")
with open(folder + "/calls", "a") as stream:
    stream.write(name + "\\n")
print("output of", name)
if f"interrupt:{name}" in fails.split(","):
    os.kill(int(open(folder + "/pid").read()), signal.SIGINT)
    time.sleep(60)
if name in fails.split(","):
    sys.exit(2)
if words[-1].endswith("bench"):
    open(given["inference_bench_json"], "w").write(json.dumps({"findings": []}))
    if "overlay" in given:
        json.load(open(given["inference_bench_compare"]))
"""


@pytest.fixture
def compare(tmp_path):
    (tmp_path / "other.yml").write_text("inference_pools: {colocated: {group: all, instances: 2}}\n")
    (tmp_path / "stage.py").write_text(STAGE)

    def run(fails="none", *options):
        values = {
            "__inference_program": [sys.executable, str(tmp_path / "stage.py"), str(tmp_path), fails],
            "inference_root": "/tmp/none",
            "inference_compare_with": str(tmp_path / "other.yml"),
            "inference_compare_folder": str(tmp_path),
        }
        inventory = str(ROOT / "inventories/local")
        argv = [str(PROGRAM), "-i", inventory, "-e", json.dumps(values), *options, "ascend.inference.compare"]
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(TREE)}
        with subprocess.Popen(
            argv, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            (tmp_path / "pid").write_text(str(process.pid))
            output, _errors = process.communicate(timeout=300)
        calls = tmp_path / "calls"
        return process.returncode, output, calls.read_text().split() if calls.is_file() else []

    return run


def test_both_are_measured_and_the_first_one_is_restored(compare, tmp_path):
    code, output, calls = compare()
    assert code == 0, output
    assert calls == ["check-other", "bench", "site-other", "bench-other", "site"]
    assert "Both topologies were measured" in output and "with its first topology again" in output
    logs = sorted(path.name for path in next(tmp_path.glob("compare-*")).glob("*.log"))
    assert logs == ["1-check.log", "2-before.log", "3-deploy.log", "4-after.log", "5-restore.log"]


def test_another_topology_that_cannot_be_deployed_changes_nothing(compare):
    code, output, calls = compare("check-other")
    assert code != 0 and calls == ["check-other"], output
    assert "failed in the stage 'check'" in output and "nothing was deployed" in output


def test_an_interrupted_run_has_said_its_way_back(compare):
    """Ansible runs nothing after an interrupt, so the first topology does not come back by itself."""
    _code, output, calls = compare("interrupt:site-other")
    assert calls == ["check-other", "bench", "site-other"], output
    assert "with its first topology again" not in output
    assert "if this run is interrupted, it stays: run the playbook site with the inventory as it is" in output


def test_a_failed_stage_is_named_and_the_first_one_is_restored(compare):
    code, output, calls = compare("site-other")
    assert code != 0 and calls == ["check-other", "bench", "site-other", "site"], output
    assert "failed in the stage 'deploy'" in output and "with its first topology again" in output


def test_a_service_that_is_not_restored_is_said(compare):
    code, output, calls = compare("bench-other,site")
    assert code != 0 and calls[-1] == "site" and "was NOT restored" in output, output
