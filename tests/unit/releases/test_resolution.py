# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first-class releases resolve: against PyPI, and an index of stand-ins for what PyPI does not have."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import venv
from ansible_collections.ascend.inference.plugins.module_utils.install.resolution import Resolver, Unresolved, name_of
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import Builder, run_command
from ansible_collections.ascend.inference.plugins.plugin_utils.engines.registry import DEFAULT
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.package_indexes import INDEXES, metadata
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.requirements_data import REQUIREMENTS
from ansible_collections.ascend.inference.tests.releases.compare import FIRST_CLASS
from ansible_collections.ascend.inference.tests.unit.releases.stand_ins import index, served

TREE = pathlib.Path(venv.__file__).absolute().parents[6]
# Versions that torchvision has for a torch, for the stand-ins (torchvision's README)
VISION = {"2.5.1": "0.20.1", "2.7.1": "0.22.1", "2.8.0": "0.23.0", "2.9.0": "0.24.0", "2.10.0": "0.25.0"}
MACHINES = ("aarch64", "x86_64")
SHORT = [(DEFAULT.release, "3.11", "x86_64")]  # lacks the most on PyPI
LONG = [
    (name, python, machine)
    for name in FIRST_CLASS
    for python in dict.fromkeys(("3.11", RELEASES[name].python))
    for machine in MACHINES
    if (name, python, machine) not in SHORT
]


def pypi_answers(uv):
    """Whether the index that uv searches by default has an answer."""
    argv = [uv, "pip", "compile", "--quiet", "-"]
    return not subprocess.run(argv, input="packaging\n", text=True, capture_output=True, check=False).returncode


@pytest.fixture(scope="session")
def uv():
    """Path of uv, from PyPI; tests that need it are skipped without PyPI."""
    with tempfile.TemporaryDirectory() as folder:
        program = Builder("", sys.executable, f"{folder}/tools").uv()
        if not program or not pypi_answers(program):
            pytest.skip("PyPI does not answer")
        yield program


@pytest.fixture(scope="session")
def indexes(tmp_path_factory):
    """The release data's indexes with other addresses, which have what PyPI lacks."""
    folder = tmp_path_factory.mktemp("indexes")
    torch = {}
    for version, vision in VISION.items():
        torch.update({f"torch=={version}+cpu": "", f"torchaudio=={version}+cpu": f"torch=={version}"})
        torch[f"torchvision=={vision}+cpu"] = f"torch=={version}"
    index(folder / "0", torch)
    index(folder / "1", {"triton-ascend==3.2.1": "", "triton-ascend==3.2.2": ""})
    with served(folder) as (address, _asked):
        yield {f"{address}/{number}": names for number, names in enumerate(INDEXES.values())}


def wanted(name):
    """What prepare installs into the engine's environment."""
    release = RELEASES[name]
    pins = [f"torch=={release.torch}", f"torch-npu=={release.torch_npu_pin or release.torch_npu}"]
    requirements = [f"vllm=={release.vllm}", f"vllm-ascend=={name}", "numpy", "pyyaml", "setuptools", *pins]
    return {"requirements": requirements, "no_binary": ["vllm"], "overrides": list(release.overrides)}


def resolved(uv, indexes, tmp_path, name, python, machine, **more):
    target = ["--python-platform", f"{machine}-manylinux_2_35", "--python-version", python]
    known = metadata(RELEASES[name].vllm, name, not RELEASES[name].wheel_hardware)
    wish = {**wanted(name), **more}
    return Resolver(uv, run_command, str(tmp_path), target, {"PIP_FIND_LINKS": ""}).resolve(wish, indexes, known)


def check(uv, indexes, tmp_path, name, python, machine):
    packages, sources = resolved(uv, indexes, tmp_path, name, python, machine)
    release = RELEASES[name]
    assert packages["vllm"] == release.vllm and packages["vllm-ascend"] == name
    assert packages["torch"] == release.torch + ("+cpu" if machine == "x86_64" else "")
    assert {"torch", "torchvision"} <= set(sources) if machine == "x86_64" else "torch" not in sources
    assert "torch-npu" not in sources  # PyPI has it
    return sources


@pytest.mark.parametrize("name, python, machine", SHORT)
def test_the_default_release_resolves(uv, indexes, tmp_path, name, python, machine):
    assert "triton-ascend" in check(uv, indexes, tmp_path, name, python, machine)


@pytest.mark.long
@pytest.mark.parametrize("name, python, machine", LONG)
def test_every_first_class_release_resolves(uv, indexes, tmp_path, name, python, machine):
    check(uv, indexes, tmp_path, name, python, machine)


def test_without_the_own_indexes_the_missing_package_is_named(uv, tmp_path):
    with pytest.raises(Unresolved, match=r"triton-ascend==3.2.2 is unavailable from PyPI"):
        resolved(uv, {}, tmp_path, "0.23.0", "3.11", "aarch64")


def test_without_the_override_a_release_contradicts_its_vllm(uv, indexes, tmp_path):
    with pytest.raises(Unresolved, match=r"(?s)conflict with each other.*opencv-python-headless"):
        resolved(uv, indexes, tmp_path, "0.18.0", "3.11", "aarch64", overrides=[])


def test_an_index_with_a_password_is_asked_and_the_password_is_in_no_file(uv, tmp_path):
    index(tmp_path / "private", {"ascend-inference-private==1.0": ""})
    (tmp_path / "work").mkdir()
    wish = {"requirements": ["ascend-inference-private==1.0"]}
    with served(tmp_path / "private", login="me:s3c@ret") as (address, _asked):
        url = address.replace("//", "//me:s3c%40ret@")
        resolver = Resolver(uv, run_command, str(tmp_path / "work"), ["--python", sys.executable], {"UV_NO_CACHE": "1"})
        packages, sources = resolver.resolve(wish, {url: ["ascend-inference-private"]}, {})
        lock = resolver.locked(wish, sources, {})
    assert packages == {"ascend-inference-private": "1.0"} and f"{address}/ascend-inference-private/" in lock
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file() and "s3c" in path.read_text()]


def test_requirements_are_known_of_all_first_class_releases():
    for name in FIRST_CLASS:
        release = RELEASES[name]
        needs = metadata(release.vllm, name, True)
        assert all(needs.values()), name
        pins = dict(line.split("==") for line in needs[f"vllm-ascend=={name}"] if "==" in line)
        assert pins.get("torch", release.torch) == release.torch  # 0.9.1 has a lower bound only
        assert pins.get("torch-npu", release.torch_npu) == (release.torch_npu_pin or release.torch_npu)
        names = {name_of(line) for line in needs[f"vllm=={release.vllm}"]}
        assert "transformers" in names and "torch" not in names  # those of a build without a device
        for override in release.overrides:
            assert override in needs[f"vllm-ascend=={name}"]
    assert len(REQUIREMENTS) == len(FIRST_CLASS) + len({RELEASES[name].vllm for name in FIRST_CLASS})


def test_the_module_names_what_a_host_cannot_get(uv, tmp_path):
    """Run as Ansible runs it, with an index that has nothing but one package."""
    index(tmp_path / "simple", {"present==1.0": ""})
    with served(tmp_path / "simple") as (address, _asked):
        common = {"index_url": address, "advice": "ask the site."}
        environments = [
            {"path": "/nowhere/a", "requirements": ["present==1.0"], **common},
            {"path": "/nowhere/b", "requirements": ["present==2.0"], **common},
            {"path": "/nowhere/c", "layer": "x", "requirements": ["absent==1.0"], **common},
        ]
        tools = pathlib.Path(uv).parents[1]
        given = {"ANSIBLE_MODULE_ARGS": {"environments": environments, "tools": str(tools)}}
        module = "ansible_collections.ascend.inference.plugins.modules.python_packages_info"
        argv = [sys.executable, "-m", module, json.dumps(given)]
        done = subprocess.run(argv, check=False, capture_output=True, text=True, cwd=TREE, env=own_index_only())
    assert done.stdout, done.stderr
    result = json.loads(done.stdout)
    assert result["failed"] and result["resolved"] == [
        {"path": "/nowhere/a", "packages": {"present": "1.0"}, "indexes": {}}
    ]
    assert result["problems"][0].startswith(f"/nowhere/b, layer base: present==2.0 is unavailable from {address}.")
    assert result["problems"][1].startswith(f"/nowhere/c, layer x: absent is unavailable from {address}.")
    assert "nothing was changed" in result["msg"] and "Fix: ask the site." in result["msg"]


def own_index_only():
    """An environment for which pip has no configuration."""
    return {
        "PATH": "/usr/bin:/bin",
        "PIP_CONFIG_FILE": "/dev/null",
        "HOME": "/nonexistent",
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(TREE),
    }
