# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A release as its configuration code needs it: vLLM's package, vLLM-Ascend's sources, and stand-ins before them.

vLLM is the CPU build that tests/parsers installs, whose compiled part is not needed; vLLM-Ascend is the package of its
source distribution, which is not built.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import tarfile
import tempfile
import typing as t

import environments
from ansible_collections.ascend.inference.plugins.module_utils.install import sdist
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import run_command
from ansible_collections.ascend.inference.plugins.module_utils.rehearsal import programs, stand_ins
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES

# A server of eight or sixteen NPUs, whatever this machine is; packages that it has and this machine has not
SERVER = {"devices": 16, "device_mib": 64 << 10, "host_mib": 1 << 20, "pretend": True}
PACKAGE = re.compile(r"[^/]+/(vllm_ascend(\.egg-info)?/.*)$")
# Imported by vLLM's model classes, and not by its parser
MORE = ("compressed-tensors", "ijson", "llvmlite", "loguru", "numba", "pycountry", "torchvision<0.29")


def sources(release: str) -> pathlib.Path:
    """The package of a release, unpacked once out of its source distribution, beside metadata of its vLLM."""
    folder = environments.CACHE / f"judged-{release}"

    def make() -> None:
        python = str(environments.base() / "bin" / "python")
        with tempfile.TemporaryDirectory() as work:
            wish = {"package": "vllm-ascend", "version": release, "python": python}
            with tarfile.open(sdist.download(wish, work, run_command)) as archive:
                members = [item for item in archive.getmembers() if item.isfile() and PACKAGE.match(item.name)]
                for member in members:
                    member.name = member.name.split("/", 1)[1]
                archive.extractall(folder, members=members, filter="data")
        version = RELEASES[release].vllm
        metadata = folder / f"vllm-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n", encoding="utf-8")

    return environments.once(folder, make)


def more() -> pathlib.Path:
    """Packages that model classes import."""
    folder = environments.CACHE / "judged-more-2"

    def make() -> None:
        environments.install(*MORE, target=folder)
        # The compiled part is of another torch and not loaded; this module wants its operators
        (folder / "torchvision" / "_meta_registrations.py").write_text("", encoding="utf-8")

    return environments.once(folder, make)


def answers(release: str, hardware: str, cases: t.Iterable[dict[str, t.Any]]) -> list[dict[str, str]]:
    """What a release's configuration code says to each command, in order."""
    python, env = environments.vllm(RELEASES[release].vllm)
    state, program = environments.CACHE / "judged-state", environments.CACHE / "judge"
    for folder in (state, program):
        folder.mkdir(exist_ok=True)
    for name, text in programs.texts(True).items():
        (program / name).write_text(text, encoding="utf-8")
    folders = (program, sources(release), env["PYTHONPATH"], environments.transformers_5(), more())
    env = {
        **env,
        "PYTHONPATH": ":".join(map(str, folders)),
        stand_ins.VARIABLE: json.dumps({**SERVER, "hardware": hardware}),
        "VLLM_LOGGING_LEVEL": "CRITICAL",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CACHE_ROOT": str(state),
        "HF_HUB_OFFLINE": "1",
        "HOME": str(state),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        [python, program / programs.PROGRAM],
        input=lines,
        text=True,
        capture_output=True,
        check=False,
        env=env,
        cwd=state,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(found) != lines.count("\n"):
        raise SystemExit(f"the configuration code of {release} cannot be run:\n{done.stderr[-3000:]}")
    return sorted(found, key=lambda answer: answer["index"])
