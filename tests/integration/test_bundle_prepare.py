# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks bundle and prepare: a host in a network namespace without a route is prepared from a bundle, and then has nothing to do.

CANN's packages, the wheels of the engine and the image are simulated; playbooks, plan, pip, uv, skopeo, registry and Docker are real. What the
bundle was made from is gone before the host is prepared. uv and ansible-core come from the package index of this machine.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import platform
import shutil
import subprocess
import threading

import pytest
from ansible_collections.ascend.inference.tests.integration import test_bundle_images as images
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE
from ansible_collections.ascend.inference.tests.integration.test_bundle import HERE, OFFLINE
from ansible_collections.ascend.inference.tests.integration.test_prepare import CANN, CONFIG, RELEASE, inventory
from ansible_collections.ascend.inference.tests.simulator import wheels
from ansible_collections.ascend.inference.tests.simulator.cann import packages

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        subprocess.run([*OFFLINE, "true"], check=False, capture_output=True).returncode != 0,
        reason="this user cannot make a network namespace",
    ),
]
registry, image = images.registry, images.image


def play(folder, book, *within, **variables):
    """Run a playbook of the collection on the inventory of a folder."""
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
        "ANSIBLE_HOME": str(folder.parent / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
        "ASCEND_SIMULATOR_ROOT": str(folder / "root-of-cann"),
        "HOME": str(folder),
        **variables.pop("environment", {}),
    }
    given = json.dumps(
        {"__inference_checked": True, **variables}
    )  # this machine has no NPU, and the check has separate tests
    argv = [*within, str(PROGRAM), "-i", str(folder / "inventory.yml"), "-e", given, f"ascend.inference.{book}"]
    return subprocess.run(
        argv, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def prepared(folder, **variables):
    """Prepare the host twice without a route; whether the first run changed it, and the second did not."""
    changes = []
    for _run in range(2):
        done = play(folder, "prepare", *OFFLINE, inference_bundle=str(folder / "bundle"), **variables)
        assert done.returncode == 0, done.stdout[-6000:]
        recap = next(line for line in done.stdout.splitlines() if line.startswith("here "))
        changes.append("changed=0" not in recap)
    return changes


def served(folder):
    """A server of the files of a folder; each package has a page of links, as an index has."""
    for file in [path for path in folder.iterdir() if path.is_file()]:
        place = folder / "simple" / file.name.partition("-")[0].replace("_", "-").lower()
        place.mkdir(parents=True, exist_ok=True)
        file.rename(place / file.name)
    for place in (folder / "simple").iterdir():
        links = "".join(f'<a href="{file.name}">{file.name}</a>\n' for file in sorted(place.iterdir()))
        (place / "index.html").write_text(links)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_an_npu_host_without_a_route(tmp_path):
    packages.build_all(tmp_path / "packages", CANN, "a3")
    wheels.stack(tmp_path / "wheels", RELEASE, chip="A3")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text(json.dumps(CONFIG))
    server = served(tmp_path / "wheels")
    place = inventory(tmp_path)
    data = json.loads(place.read_text())
    known = data["all"]["vars"]
    for role in ("mooncake", "torch_npu", "vllm_ascend"):
        del known[f"{role}_find_links"], known[f"{role}_offline"]
        known[f"{role}_index_url"] = f"http://127.0.0.1:{server.server_port}/simple"
        known[f"{role}_extra_index_urls"] = []
    known["inference_bundle_platform"] = HERE
    known["vllm_ascend_no_binary"] = []  # the index has a wheel of vLLM without a device, as a site's own index
    place.write_text(json.dumps(data))
    made = play(tmp_path, "bundle", inference_bundle_path=str(tmp_path / "bundle"))
    assert made.returncode == 0, made.stdout[-6000:]
    server.shutdown()
    server.server_close()
    for source in ("wheels", "packages"):
        shutil.rmtree(tmp_path / source)
    assert prepared(tmp_path, inference_bundle_directory=str(tmp_path / "copied")) == [True, False]
    venv = tmp_path / f"root/venvs/vllm_ascend-{RELEASE}"
    asked = [str(venv / "bin/python"), "-c", "import torch, torch_npu, vllm, vllm_ascend; print(vllm.__file__)"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert found.returncode == 0 and str(venv) in found.stdout, found.stderr
    assert (tmp_path / f"Ascend/cann-{CANN}/{platform.machine()}-linux").exists()


@pytest.mark.skipif(not images.answers(), reason="no Docker engine, skopeo and docker-registry here")
def test_a_docker_host_without_a_route(registry, image, tmp_path):
    name, id_ = image
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text(json.dumps(CONFIG))
    place = inventory(tmp_path)
    data = json.loads(place.read_text())
    data["all"]["vars"].update(
        inference_runtime="docker",
        inference_image=name,
        inference_bundle_platform={"machine": HERE["machine"]},
        container_runtime_record=str(tmp_path / "record/images.json"),
    )
    place.write_text(json.dumps(data))
    settings = {"HOME": os.environ["HOME"]}  # of skopeo
    made = play(tmp_path, "bundle", inference_bundle_path=str(tmp_path / "bundle"), environment=settings)
    assert made.returncode == 0, made.stdout[-6000:]
    registry[1].kill()
    registry[1].wait()
    assert prepared(tmp_path, inference_bundle_directory=str(tmp_path / "copied")) == [True, False]
    assert images.docker("image", "inspect", "--format={{.Id}}", name) == id_
