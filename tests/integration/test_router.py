# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role router: the proxy's file from a source tree and from an image, with a real engine if one is available."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import uuid

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install.installed import gather
from ansible_collections.ascend.inference.tests.integration._playbook import play
from ansible_collections.ascend.inference.tests.simulator import wheels

MEMBER = "examples/external_online_dp/dp_load_balance_proxy_server.py"
docker = pytest.mark.skipif(
    not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode,
    reason="no Docker engine answers here",
)


@pytest.fixture
def variables(tmp_path):
    """Variables, a source tree, and simulated modules that the proxy imports."""
    for name in ("fastapi", "httpx", "uvicorn"):
        wheels.wheel(tmp_path / "wheels", name, "0.1", (), wheels.module(name, "0.1"))
    script = tmp_path / "tree" / MEMBER
    script.parent.mkdir(parents=True)
    script.write_text("print('one')\n")
    return {
        "router_venv": str(tmp_path / "venv"),
        "router_interpreter": str(tmp_path / "venv/bin/python"),
        "router_flavour": "dp",
        "router_requirements": ["fastapi", "httpx", "uvicorn"],
        "router_imports": ["fastapi", "httpx", "uvicorn"],
        "router_index_url": f"file://{tmp_path}/no-index",
        "router_find_links": [str(tmp_path / "wheels")],
        "router_script": str(tmp_path / "venv/share/proxy" / os.path.basename(MEMBER)),
        "router_script_member": MEMBER,
    }


def again(tmp_path, variables, text):
    """Run the role twice: the second run changes nothing, and the file equals its source."""
    done = play(tmp_path, "router", **variables)
    assert done.code == 0, done.output
    with open(variables["router_script"], encoding="utf-8") as stream:
        assert stream.read() == text
    done = play(tmp_path, "router", **variables)
    assert (done.code, done.changed) == (0, 0), done.output


@pytest.mark.long  # molecule/install and mooncake_1p1d install the proxy from a tree
def test_from_a_tree(tmp_path, variables):
    variables.update(router_script_origin="tree", router_script_tree=str(tmp_path / "tree"))
    script = pathlib.Path(variables["router_script"])
    logger = script.parent / "vllm/logger.py"
    variables["router_script_logger"] = str(logger)
    again(tmp_path, variables, "print('one')\n")
    known = gather([], [], [str(script), str(logger)], [])
    logger.chmod(0o600)
    done = play(tmp_path, "router", **variables, router_installed=known)
    assert (done.code, done.changed) == (0, 0), "the files that the facts name are not read again"
    known = gather([], [], [str(script), str(logger)], [])
    done = play(tmp_path, "router", **variables, router_installed=known)
    assert (done.code, done.changed) == (0, 1), done.output


@docker
def test_from_an_image(tmp_path, variables):
    image = f"localhost/ascend-inference-test:{uuid.uuid4().hex[:8]}"
    tar = subprocess.run(["tar", "-C", str(tmp_path / "tree"), "-c", "."], capture_output=True, check=True).stdout
    subprocess.run(["docker", "import", "-", image], input=tar, capture_output=True, check=True)
    try:
        variables.update(router_script_origin="image", router_script_image=image, router_script_image_path="")
        again(tmp_path, variables, "print('one')\n")
    finally:
        subprocess.run(["docker", "rmi", image], capture_output=True, check=False)
    left = subprocess.run(["docker", "ps", "-aq", "--filter", f"ancestor={image}"], capture_output=True, check=True)
    assert left.stdout == b""
