# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a controller without internet needs: ansible-core and the collections of this run, and a script that installs both."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import tarfile
import typing as t

import yaml

from .contents import Environment
from .platform import Platform

OWN = "ascend.inference"
LOCK = "controller.txt"
SCRIPT = "install.sh"
SERVER = "serve.py"  # for a host of each rack
INSTALL = r"""#!/bin/sh
# Installs Ansible and the collections of this bundle into a new folder, without a network: sh install.sh FOLDER
set -eu
target=${1:?usage: sh install.sh FOLDER}
case $target in /*) ;; *) target=$PWD/$target ;; esac
cd "$(dirname "$0")"
python=${PYTHON:-pythonVERSION}
command -v "$python" >/dev/null || { echo "$python is missing. Fix: install it, or set PYTHON to a Python VERSION" >&2; exit 1; }
[ ! -e "$target" ] || { echo "$target exists. Fix: name a new folder" >&2; exit 1; }
sha256sum --check --quiet SHA256SUMS
"$python" -m venv "$target"
mkdir "$target/files"
ln -s "$PWD"/blobs/*/*.whl "$target/files"
PIP_CONFIG_FILE=/dev/null "$target/bin/python" -m pip install --quiet --disable-pip-version-check --no-index \
    --find-links "$target/files" --require-hashes --requirement "locks/PLATFORM/controller.txt"
rm -r "$target/files"
mkdir "$target/collections"
for name in COLLECTIONS; do
    tar -xzf blobs/*/"$name" -C "$target/collections"
done
echo "Installed. Use it: export PATH=$target/bin:\$PATH ANSIBLE_COLLECTIONS_PATH=$target/collections"
"""


def environment(platform: Platform, version: str) -> Environment:
    """The Python environment of the controller: ``version`` of ansible-core."""
    options = {"path": "controller", "layer": "base", "requirements": [f"ansible-core=={version}"]}
    return Environment("controller", platform, options, LOCK, controller=True)


def collections(names: t.Iterable[str], folder: str) -> tuple[list[str], list[str]]:
    """(archives of collections and of those that they require, names of those that are not installed but sources)."""
    archives, unpacked, waiting, seen = [], [], list(names), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            path = next(iter(importlib.import_module(f"ansible_collections.{name}").__path__))
        except ImportError:
            unpacked.append(name)
            continue
        try:
            waiting += manifest_of(path)["dependencies"]
            archives.append(packed(path, folder))
        except OSError:
            unpacked.append(name)
            waiting += sources_of(path).get("dependencies") or []
    return sorted(archives), sorted(unpacked)


def sources_of(path: str) -> dict[str, t.Any]:
    """The galaxy.yml of a collection's sources; empty if it cannot be read."""
    try:
        with open(os.path.join(path, "galaxy.yml"), encoding="utf-8") as stream:
            return dict(yaml.safe_load(stream))
    except (OSError, ValueError, yaml.YAMLError):
        return {}


def manifest_of(path: str) -> dict[str, t.Any]:
    """What an installed collection says of itself; OSError for sources."""
    with open(os.path.join(path, "MANIFEST.json"), encoding="utf-8") as stream:
        found: dict[str, t.Any] = json.load(stream)["collection_info"]
    return found


def packed(path: str, folder: str) -> str:
    """An installed collection as an archive below ansible_collections/; its path in ``folder``. OSError without a MANIFEST.json.

    Not the format of ansible-galaxy: the package ansible installs collections without their tests, and ansible-galaxy wants all files.
    """
    info = manifest_of(path)
    archive = os.path.join(folder, f"{info['namespace']}-{info['name']}-{info['version']}.tar.gz")
    with gzip.GzipFile(archive, "wb", mtime=0) as stream, tarfile.open(fileobj=stream, mode="w") as opened:
        for parent, folders, names in os.walk(path):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            for name in sorted(names):
                place = os.path.join(parent, name)
                inside = os.path.join(
                    "ansible_collections", info["namespace"], info["name"], os.path.relpath(place, path)
                )
                opened.add(place, arcname=inside, recursive=False, filter=_plain)
    return archive


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member without time and owner, so that the archive's contents depend on those of the collection only."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def script(platform: Platform, archives: t.Iterable[str]) -> str:
    """The text of the script that installs the controller's part of a bundle."""
    values = {"VERSION": platform.python, "PLATFORM": platform.name, "COLLECTIONS": " ".join(sorted(archives))}
    text = INSTALL
    for name, value in values.items():
        text = text.replace(name, value)
    return text
