# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook prepare for an engine on NPUs: all software of the plan is installed at the paths that the planned services use.

CANN's packages and the wheels are simulated; the playbook, the plan, pip and the roles are real.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE
from ansible_collections.ascend.inference.tests.simulator import wheels
from ansible_collections.ascend.inference.tests.simulator.cann import packages

RELEASE, CANN = "0.23.0", "9.1.0"
CONFIG = {"architectures": ["X"], "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "head_dim": 16}


def inventory(tmp_path):
    """One host with a KV store and without a router, whose packages would have to be downloaded."""
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "inference_release": RELEASE,
        "inference_runtime": "systemd",
        "inference_hardware": "a3",
        "inference_engine_install": "site",
        "inference_interface": "lo",
        "inference_root": str(tmp_path / "root"),
        "inference_cann_path": str(tmp_path / "Ascend"),
        "inference_model": {"path": str(tmp_path / "model"), "name": "x"},
        "inference_kv_transfer": "store",
        "inference_store": {"segment_size": "1GB"},
        "inference_router": {"flavour": "none"},
        "inference_pools": {"colocated": {"tensor_parallel_size": 8}},
        "cann_source": str(tmp_path / "packages"),
        "cann_unverified": True,
        "cann_download_directory": str(tmp_path / "cache"),
        "cann_free_mib": 1,
        **wheels.offline(tmp_path / "wheels"),
    }
    host = {"ansible_host": "127.0.0.1"}
    groups = {"colocated": {"hosts": {"here": host}}, "mooncake_master": {"hosts": {"here": None}}}
    place = tmp_path / "inventory.yml"
    place.write_text(json.dumps({"all": {"vars": variables, "children": groups}}))
    return place


@pytest.mark.long  # molecule/install runs the same playbook on a systemd host, twice
def test_everything_the_plan_names_is_there_and_stays(tmp_path):
    packages.build_all(tmp_path / "packages", CANN, "a3")
    wheels.stack(tmp_path / "wheels", RELEASE, chip="A3")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text(json.dumps(CONFIG))
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_NOCOLOR": "1",
        "ASCEND_SIMULATOR_ROOT": str(tmp_path / "root-of-cann"),
        "HOME": str(tmp_path),
        "PIP_CONFIG_FILE": "/dev/null",
    }
    # The host check is skipped: this machine has no NPU, and the check has separate tests.
    argv = [str(PROGRAM), "-i", str(inventory(tmp_path)), "-e", "__inference_checked=true", "ascend.inference.prepare"]
    for changed in (True, False):
        done = subprocess.run(argv, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr
        recap = next(line for line in done.stdout.splitlines() if line.startswith("here "))
        assert ("changed=0" not in recap) is changed, done.stdout[-6000:]
    venv = tmp_path / f"root/venvs/vllm_ascend-{RELEASE}"
    for program in ("python", "vllm"):
        assert (venv / "bin" / program).exists()
    assert (tmp_path / f"Ascend/cann-{CANN}/{platform.machine()}-linux").exists()
    assert not os.path.lexists(tmp_path / "root/venvs/current-inference")  # the link is updated when the services start
    lock = (venv / "requirements.lock").read_text()
    assert "torch==2.10.0" in lock and "2.10.0.post4" in lock
