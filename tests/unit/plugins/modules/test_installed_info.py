# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module installed_info: stamps, chips, models and files in one call, and only what is complete."""

from __future__ import annotations

import json
import os
import pwd
import tracemalloc

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import runner

WISH = {"requirements": ["x==1"], "exclude": [], "imports": ["x"]}


@pytest.fixture
def venvs(tmp_path):
    """A folder with one environment of two layers, and one whose installation broke off."""
    for name, layers in (("whole", ("router", "vllm_ascend")), ("half", ("router", "installing"))):
        stamps = tmp_path / "venvs" / name / ".ascend-inference"
        stamps.mkdir(parents=True)
        for layer in layers:
            (stamps / (layer if layer == "installing" else layer + ".json")).write_text(json.dumps(WISH))
    return tmp_path / "venvs"


def build_info(venv, text, python="python3.11"):
    folder = venv / "lib" / python / "site-packages" / "vllm_ascend"
    folder.mkdir(parents=True)
    (folder / "_build_info.py").write_text(text)


def test_complete_layers_of_all_environments_in_a_folder(venvs, run_module):
    found = run_module("installed_info", environments=[str(venvs), str(venvs / "whole"), "/nowhere"])
    assert not found["failed"] and not found["changed"]
    assert found["environments"] == {
        str(venvs / "whole"): {"router": WISH, "vllm_ascend": WISH},
        str(venvs / "half"): {},
    }


@pytest.mark.parametrize(
    ("text", "chip"),
    [
        ("# generated\n__device_type__ = 'A3'\n", "A3"),
        ('__device_type__ = "_310P"\n', "_310P"),
        ("__device_type__ = compute()\n", ""),
        ("", ""),
    ],
)
def test_the_chip_is_read_without_importing_the_package(venvs, run_module, text, chip):
    build_info(venvs / "whole", text)
    assert run_module("installed_info", environments=[str(venvs)])["chips"] == {str(venvs / "whole"): chip}


@pytest.mark.parametrize(("other", "chip"), [("A3", "A3"), ("A2", "")])
def test_the_chip_of_two_different_builds_is_unknown(venvs, run_module, other, chip):
    build_info(venvs / "whole", "__device_type__ = 'A3'\n")
    build_info(venvs / "whole", f"__device_type__ = '{other}'\n", "python3.12")
    assert run_module("installed_info", environments=[str(venvs)])["chips"] == {str(venvs / "whole"): chip}


def test_models_with_the_marks_of_our_own(tmp_path, run_module):
    (tmp_path / "config.json").write_text('{"hidden_size": 64, "other": 1}')
    (tmp_path / ".ascend-inference-tiny-1").touch()
    here, nowhere = run_module("installed_info", models=[str(tmp_path), "/nowhere"])["models"]
    assert here["exists"] and here["config"] == {"hidden_size": 64} and not here["config_error"]
    assert here["marks"] == [".ascend-inference-tiny-1"]
    assert not nowhere["exists"] and nowhere["config"] == {} and nowhere["marks"] == []


def test_files_with_their_origin_and_missing_ones(tmp_path, run_module):
    script = tmp_path / "proxy.py"
    script.write_text("x")
    script.chmod(0o640)
    (tmp_path / "proxy.py.origin").write_text("vllm-ascend 0.23.0 examples/proxy.py\n")
    found = run_module("installed_info", files=[str(script), "/nowhere"])["files"]
    assert found["/nowhere"] is None
    assert found[str(script)]["origin"] == "vllm-ascend 0.23.0 examples/proxy.py"
    assert found[str(script)]["mode"] == "0640" and len(found[str(script)]["sha256"]) == 64


def test_the_host_itself(run_module):
    found = run_module("installed_info")
    assert found["machine"] == os.uname().machine
    assert any(name.startswith("libc.so") for name in found["libraries"])
    assert found["libc"].split(".")[0] == "2"


@pytest.mark.parametrize(
    ("printed", "version"), [("systemd 252 (252.39-1)\n+PAM +AUDIT\n", 252), ("", 0), ("not systemd 3\n", 0), (None, 0)]
)
def test_what_units_need_to_know(tmp_path, run_module, monkeypatch, printed, version):
    if printed is not None:
        program = tmp_path / "systemctl"
        program.write_text(f"#!/bin/sh\n/usr/bin/printf '%s' '{printed}'\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(runner, "PLACES", ())
    me = pwd.getpwuid(os.getuid()).pw_name
    found = run_module("installed_info", account={"user": me, "driver_group": "no-such-group"})["account"]
    assert found == {
        "user": me,
        "group": "no-such-group",
        "exists": True,
        "home": os.path.expanduser(f"~{me}"),
        "driver_group": "",
        "systemd": version,
    }
    assert run_module("installed_info", account={"user": "nobody-like-this"})["account"]["exists"] is False
    assert "account" not in run_module("installed_info")


def test_packages_of_cann_and_interrupted_ones(tmp_path, run_module):
    info = tmp_path / "cann-9.1.0" / f"{os.uname().machine}-linux" / "ascend_toolkit_install.info"
    info.parent.mkdir(parents=True)
    info.write_text("version=9.1.0\narch=x\n")
    (tmp_path / ".Ascend-cann-nnal_9.1.0_linux-x.run.installing").touch()
    found = run_module("installed_info", cann=[str(tmp_path), "/nowhere"])["cann"]
    assert found[str(tmp_path)]["interrupted"] == ["Ascend-cann-nnal_9.1.0_linux-x.run"]
    assert list(found[str(tmp_path)]["installed"]["toolkit"]) == ["9.1.0"]
    assert found["/nowhere"] == {"installed": {"toolkit": {}, "kernels": {}, "nnal": {}}, "interrupted": []}


def test_a_pipe_in_place_of_a_file_does_not_hold_up_the_run(tmp_path, venvs, run_module):
    os.mkfifo(tmp_path / "key.pem")
    build_info(venvs / "whole", "")
    info = next((venvs / "whole").rglob("_build_info.py"))
    info.unlink()
    os.mkfifo(info)
    found = run_module("installed_info", files=[str(tmp_path / "key.pem")], environments=[str(venvs)])
    assert found["files"] == {str(tmp_path / "key.pem"): None} and set(found["chips"].values()) == {""}


def test_a_large_file_is_not_held_in_memory(tmp_path, run_module):
    with (tmp_path / "key.pem").open("wb") as stream:
        stream.truncate(300 * 2**20)
    tracemalloc.start()
    try:
        found = run_module("installed_info", files=[str(tmp_path / "key.pem")])
        assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
    finally:
        tracemalloc.stop()
    assert found["files"][str(tmp_path / "key.pem")]["mode"] == "0644"
