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
import pathlib
import platform
import shutil
import subprocess
import tarfile
import tempfile
import threading

import pytest
from ansible_collections.ascend.inference.tests.integration import test_bundle_images as images
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE
from ansible_collections.ascend.inference.tests.integration.test_bundle import HERE, OFFLINE
from ansible_collections.ascend.inference.tests.integration.test_mooncake import PROJECT
from ansible_collections.ascend.inference.tests.integration.test_prepare import CANN, CONFIG, RELEASE, inventory
from ansible_collections.ascend.inference.tests.simulator import sources, wheels
from ansible_collections.ascend.inference.tests.simulator.cann import packages

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        subprocess.run([*OFFLINE, "true"], check=False, capture_output=True).returncode != 0,
        reason="this user cannot make a network namespace",
    ),
]
registry, image = images.registry, images.image
MODULES = ("engine.py", "store.py", "__init__.py")


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


def prepared(folder, within=None, **variables):
    """Prepare the host twice without a route; whether the first run changed it, and the second did not."""
    changes = []
    for _run in range(2):
        done = play(folder, "prepare", *(within or OFFLINE), inference_bundle=str(folder / "bundle"), **variables)
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


# A build is installed below /usr/local, which is the machine's own outside of this namespace. The folder is $0.
APART = """
mkdir -p "$0/built" "$0/work" && chmod 755 "$0/built"
mount -t overlay overlay -o lowerdir=/usr/local,upperdir="$0/built",workdir="$0/work" /usr/local && exec "$@"
"""
REQUIREMENTS = {  # of the simulated packages
    "vllm==0.23.0": ["transformers==5.5.4", "fastapi<0.124.0"],
    "vllm-ascend==0.23.0": [
        *(
            "torch==2.10.0",
            "torch-npu==2.10.0.post4",
            "torchvision==0.25.0",
            "torchaudio==2.10.0",
            "triton-ascend==3.2.2",
        ),
        "numpy",
    ],
}
FETCHING = """
include(FetchContent)
set(EXTRA_VERSION 1)
FetchContent_Declare(extra URL SERVER/v${EXTRA_VERSION}.tar.gz)
FetchContent_MakeAvailable(extra)
install(FILES ${extra_SOURCE_DIR}/extra.h DESTINATION include)
"""
LIBRARY = """
cmake_minimum_required(VERSION 3.16)
project(yalantinglibs NONE)
install(FILES CMakeLists.txt DESTINATION include/ylt)
"""


def committed(folder, tag, files):
    """A repository with one commit and a tag."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", tag]):
        subprocess.run(["git", *who, "-C", str(folder), *arguments], check=True)


@pytest.fixture
def folder():
    """A folder that the user who builds can read."""
    with tempfile.TemporaryDirectory() as name:
        pathlib.Path(name).chmod(0o755)
        yield pathlib.Path(name)


@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("git", "cmake", "cc"))), reason="needs root, git, cmake, a compiler"
)
def test_a_host_that_builds_the_engine_and_mooncake_without_a_route(folder):
    packages.build_all(folder / "packages", CANN, "a3")
    wheels.stack(folder / "wheels", RELEASE, without=("vllm", "vllm-ascend", "mooncake-transfer-engine-npu"))
    (folder / "model").mkdir()
    (folder / "model/config.json").write_text(json.dumps(CONFIG))
    version = "0.3.11.post1"
    for name in ("vllm", "vllm-ascend"):
        sources.repository(folder / "git" / name, name, RELEASE, "main")
        subprocess.run(["git", "-C", str(folder / "git" / name), "tag", "v0.23.0"], check=True)
    server = served(folder / "wheels")
    (folder / "extra.h").write_text("int extra;\n")
    with tarfile.open(folder / "wheels/v1.tar.gz", "w:gz") as archive:
        archive.add(folder / "extra.h", "extra-1/extra.h")
    fetching = FETCHING.replace("SERVER", f"http://127.0.0.1:{server.server_port}")
    project = PROJECT.replace("dependencies.done", "CMakeLists.txt") + fetching
    committed(folder / "git/Mooncake", f"v{version}", {"CMakeLists.txt": project, **dict.fromkeys(MODULES, "")})
    committed(folder / "git/ylt", "0.5.6", {"CMakeLists.txt": LIBRARY})
    place = inventory(folder)
    data = json.loads(place.read_text())
    known = data["all"]["vars"]
    for role in ("mooncake", "torch_npu", "vllm_ascend"):
        del known[f"{role}_find_links"], known[f"{role}_offline"]
        known[f"{role}_index_url"] = f"http://127.0.0.1:{server.server_port}/simple"
    known.update(
        torch_npu_extra_index_urls=[],
        vllm_ascend_extra_index_urls=[],
        inference_bundle_platform=HERE,
        inference_engine_install="source",
        vllm_ascend_vllm_repository=f"file://{folder}/git/vllm",
        vllm_ascend_repository=f"file://{folder}/git/vllm-ascend",
        vllm_ascend_system_packages=[],
        vllm_ascend_build_user="",  # Python of the tests may be in a folder of root; test_builds.py builds as another user
        vllm_ascend_device_type="",  # the simulated build makes A2
        mooncake_method="source",
        mooncake_repository=f"file://{folder}/git/Mooncake",
        mooncake_yalantinglibs_repository=f"file://{folder}/git/ylt",
        mooncake_build_user="nobody",
        mooncake_system_packages={},
        mooncake_dependency_packages={},
    )
    place.write_text(json.dumps(data))
    given = {"__vllm_ascend_metadata": REQUIREMENTS, "vllm_ascend_device_type": ""}
    made = play(folder, "bundle", inference_bundle_path=str(folder / "bundle"), **given)
    assert made.returncode == 0, made.stdout[-6000:]
    server.shutdown()
    server.server_close()
    for source in ("wheels", "packages", "git"):
        shutil.rmtree(folder / source)
    within = ["unshare", "--net", "--mount", "sh", "-c", APART, str(folder / "apart")]
    copied = str(folder / "copied")
    assert prepared(folder, within, inference_bundle_directory=copied, **given) == [True, False]
    venv = folder / f"root/venvs/vllm_ascend-{RELEASE}"
    asked = [str(venv / "bin/python"), "-c", "import torch, torch_npu, vllm, vllm_ascend; print(vllm.__file__)"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert found.returncode == 0 and str(venv) in found.stdout, found.stderr
    built = folder / "apart/built"
    assert all((built / name).exists() for name in ("bin/mooncake_master", "include/ylt", "include/extra.h"))
    (folder / "inventory.yml").write_text(
        place.read_text().replace('"mooncake_method"', '"mooncake_ref": "v2", "mooncake_method"')
    )
    done = play(folder, "prepare", inference_bundle=str(folder / "bundle"), **given)
    assert done.returncode != 0 and "git/Mooncake at v2. [bundle_stale]" in done.stdout, done.stdout[-3000:]


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
