# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An environment with the hubs' own clients in the versions that the role model installs, for all tests."""

from __future__ import annotations

import hashlib
import pathlib
import subprocess
import sys
import venv

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pins() -> list[str]:
    """The requirements of the role."""
    known = yaml.safe_load((ROOT / "roles/model/vars/main.yml").read_text())
    return [pin for kind in known["__model_clients"].values() for pin in kind]


def python() -> pathlib.Path:
    """The interpreter of the environment, which is made once."""
    name = hashlib.sha256(repr((pins(), sys.version)).encode()).hexdigest()[:12]
    folder = ROOT / ".cache/venvs" / f"hubs-{name}"
    program, done = folder / "bin/python", folder / "done"
    if not done.exists():
        venv.create(folder, clear=True, with_pip=True)
        argv = [str(program), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins()]
        subprocess.run(argv, check=True)
        done.touch()
    return program
