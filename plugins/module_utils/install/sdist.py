# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Source distributions, fetched with pip and not built."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tarfile
import tempfile

from .venv import run_command, tail, write_atomically

# pip queries a source distribution's build backend for metadata even for a download. This backend answers
# from PKG-INFO, which every source distribution carries, and refuses to build.
BACKEND = """
import email
import os


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    with open("PKG-INFO", encoding="utf-8") as stream:
        text = stream.read()
    facts = email.message_from_string(text)
    folder = facts["Name"].replace("-", "_") + "-" + facts["Version"] + ".dist-info"
    os.mkdir(os.path.join(metadata_directory, folder))
    with open(os.path.join(metadata_directory, folder, "METADATA"), "w", encoding="utf-8") as stream:
        stream.write(text)
    return folder


def build_wheel(*args, **kwargs):
    raise SystemExit("this backend does not build")
"""


class SdistError(Exception):
    """The file could not be fetched; the text is the reason."""


def origin_path(dest):
    """File next to ``dest`` that records its origin."""
    return dest + ".origin"


def present(dest, origin):
    """Origin and SHA-256 of the file ``dest``; empty strings if it does not exist."""
    try:
        with open(origin_path(dest)) as stream:
            found = stream.read().strip()
        with open(dest, "rb") as stream:
            return found, hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return "", ""


def fetch(wish, origin, run=run_command):
    """Fetch and copy; ``wish`` has package, version, member, dest, sha256 and python. Returns the SHA-256."""
    folder = tempfile.mkdtemp()
    try:
        text = extract(download(wish, folder, run), wish["member"])
    finally:
        shutil.rmtree(folder)
    sha256 = hashlib.sha256(text).hexdigest()
    if wish["sha256"] and sha256 != wish["sha256"]:
        raise SdistError(f"{origin} has SHA-256 {sha256}, expected {wish['sha256']}. Nothing was written.")
    write_atomically(wish["dest"], text.decode("utf-8"))
    write_atomically(origin_path(wish["dest"]), origin + "\n")
    return sha256


def download(wish, folder, run):
    """Path of the downloaded archive."""
    backend = os.path.join(folder, "backend", "setuptools")
    os.makedirs(backend)
    write_atomically(os.path.join(backend, "__init__.py"), "")
    write_atomically(os.path.join(backend, "build_meta.py"), BACKEND)
    argv = [wish["python"], "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--use-pep517"]
    argv += ["--no-binary", wish["package"], "--dest", folder, f"{wish['package']}=={wish['version']}"]
    code, output = run(argv, {"PYTHONPATH": os.path.dirname(backend)})
    archives = glob.glob(os.path.join(folder, "*.tar.gz"))
    if code or not archives:
        raise SdistError(f"fetching {wish['package']} {wish['version']} failed:\n{tail(output)}")
    return archives[0]


def extract(archive, member):
    """Content of one file of the archive."""
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2]: name for name in opened.getnames()}
        stream = opened.extractfile(names[member]) if member in names else None
        if stream is None:
            raise SdistError(f"{os.path.basename(archive)} has no file {member}")
        return stream.read()
