# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetch upstream's proxy scripts: they are in every source distribution of vllm-ascend, which is downloaded but not built.

``fetch("0.23.0.post1", cache)`` returns the folder with ``load_balance_proxy_server_example.py``, the layerwise one and that of colocated engines;
``python(cache)`` an interpreter that can run them.  Downloaded files are not part of this collection.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import re
import subprocess
import sys
import tarfile

FOLDERS = (
    "examples/disaggregated_prefill_v1/",
    "examples/disaggregate_prefill_v1/",  # up to 0.9.x
    "examples/external_online_dp/",
)
NEEDS = ["fastapi<0.124", "httpx", "uvicorn"]
BACKEND = '''
import os, re


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Answer pip's question about names and versions from the distribution's own PKG-INFO."""
    text = open("PKG-INFO", encoding="utf-8").read()
    name, version = (re.search(rf"^{field}: (.*)$", text, re.M)[1].strip() for field in ("Name", "Version"))
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    os.mkdir(os.path.join(metadata_directory, folder))
    with open(os.path.join(metadata_directory, folder, "METADATA"), "w", encoding="utf-8") as file:
        file.write(text)
    return folder


def build_wheel(*args, **kwargs):
    raise SystemExit("nothing is built here")
'''
LOGGER = '''
import logging


def init_logger(name):
    """What the scripts import from vLLM."""
    logging.basicConfig(level=logging.INFO)
    return logging.getLogger(name)
'''


def _write(path, text):
    """Write a file unless it has this text: another process may be reading it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _alone(cache, name):
    """A lock for one process at a time; parallel tests share the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Unreachable(Exception):
    """The package index is unreachable, or does not have the package; the text is pip's."""


def _pip(python, *arguments, **environment):
    """Run pip; raises Unreachable if the index fails, CalledProcessError otherwise."""
    argv = [str(python), "-m", "pip", *arguments]
    done = subprocess.run(argv, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode and re.search(r"No matching distribution|onnection|timed out|resolve", done.stderr):
        raise Unreachable(done.stderr[-500:])
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr[-1000:]}")


def fetch(version, cache):
    """Folder of the scripts of a vllm-ascend version; Unreachable if the package index cannot be reached."""
    cache = pathlib.Path(cache)
    scripts = cache / f"vllm-ascend-{version}"
    with _alone(cache, scripts.name):
        if not scripts.is_dir():
            _fetch(version, cache, scripts)
    return scripts


def _fetch(version, cache, scripts):
    stub = cache / "build-stub"
    _write(stub / "setuptools" / "__init__.py", "")
    _write(stub / "setuptools" / "build_meta.py", BACKEND)
    options = ["download", "--quiet", "--no-deps", "--no-binary", "vllm-ascend", "--no-build-isolation", "--use-pep517"]
    _pip(python(cache), *options, "--dest", str(cache), f"vllm-ascend=={version}", PYTHONPATH=str(stub.resolve()))
    archive = cache / f"vllm_ascend-{version}.tar.gz"
    fresh = cache / f"{scripts.name}.{os.getpid()}"
    fresh.mkdir()
    with tarfile.open(archive) as files:
        for member in files:
            if member.isfile() and member.name.endswith(".py") and any(folder in member.name for folder in FOLDERS):
                _write(fresh / os.path.basename(member.name), files.extractfile(member).read().decode())
    archive.unlink()
    fresh.rename(scripts)


def venv(cache, name, needs):
    """Path of the Python of a virtual environment with some packages; Unreachable as above."""
    folder = pathlib.Path(cache).resolve() / name
    with _alone(folder.parent, name):
        if not (folder / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
            _pip(folder / "bin" / "python", "install", "--quiet", *needs)
            (folder / "ready").touch()
    return folder / "bin" / "python"


def python(cache):
    """Path of a Python with the imports of the scripts; Unreachable as above."""
    cache = pathlib.Path(cache).resolve()
    _write(cache / "vllm-stub" / "vllm" / "__init__.py", "")
    _write(cache / "vllm-stub" / "vllm" / "logger.py", LOGGER)
    return venv(cache, "proxy-venv", NEEDS)


def command(version, cache, script, host, port, prefill, decode, *more):
    """(argv, environment) of a proxy; ``prefill`` and ``decode`` are lists of (address, port)."""
    argv = [str(python(cache)), str(fetch(version, cache) / script), "--host", host, "--port", str(port)]
    for name, servers in (("prefiller", prefill), ("decoder", decode)):
        argv += [f"--{name}-hosts", *(address for address, _port in servers)]
        argv += [f"--{name}-ports", *(str(number) for _address, number in servers)]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(cache) / "vllm-stub")}
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        environment.pop(name, None)
        environment.pop(name.upper(), None)
    return argv + list(more), environment
