# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is installed on a host, read from stamps and files; no installed program is started. Runs on Python 3.7."""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import pwd
import re
import stat

from ..files import listing
from ..host.model_facts import read_config
from ..tools import foreign_file
from ..tools.runner import ToolMissing, find_executable, run
from . import cann
from .sdist import origin_path
from .venv import STAMPS, read_stamp

TIMEOUT = 30
CHIP = re.compile(r"^__device_type__\s*=\s*(['\"])(.*?)\1\s*$", re.MULTILINE)
MARK = ".ascend-inference-"
PART = 1024 * 1024  # bytes of a file that are in memory at once


def environments(paths):
    # type: (t.Iterable[str]) -> t.Dict[str, t.Dict[str, t.Any]]
    """``{environment: {layer: stamp}}`` of each path and of the folders in it; an incomplete environment has no layers."""
    found = {}
    for path in paths:
        for folder in [path.rstrip("/"), *glob.glob(os.path.join(glob.escape(path), "*"))]:
            names = [os.path.basename(name) for name in glob.glob(os.path.join(glob.escape(folder), STAMPS, "*.json"))]
            layers = {name[: -len(".json")]: read_stamp(folder, name[: -len(".json")]) for name in names}
            if layers:
                found[folder] = {name: stamp for name, stamp in layers.items() if stamp is not None}
    return found


def chip(environment):
    # type: (str) -> str
    """The chip that an environment's vllm-ascend was built for, from its ``_build_info.py``; empty if unknown."""
    pattern = os.path.join(
        glob.escape(environment), "lib*", "python3*", "site-packages", "vllm_ascend", "_build_info.py"
    )
    texts = {text for text in map(_text, glob.glob(pattern)) if text}
    found = CHIP.search(texts.pop()) if len(texts) == 1 else None
    return found.group(2) if found else ""


def libraries():
    # type: () -> t.List[str]
    """Names of the shared libraries in the loader's cache, from ``ldconfig -p``; empty without that program."""
    try:
        output = run([find_executable("ldconfig", "/sbin/ldconfig"), "-p"], TIMEOUT)
    except ToolMissing:
        return []
    return sorted({line.split()[0] for line in output.stdout.splitlines() if "=>" in line})


def model(path):
    # type: (str) -> t.Dict[str, t.Any]
    """``{path, exists, config, config_error, marks, source}``; ``marks`` are the names of the files that this collection leaves in models that it made.

    ``source`` is where it fetched the model from, as long as all files have the sizes of its record; else empty.
    """
    if not os.path.isdir(path):
        return {"path": path, "exists": False, "config": {}, "config_error": "", "marks": [], "source": ""}
    config, error = read_config(os.path.join(path, "config.json"))
    marks = sorted(name for name in os.listdir(path) if name.startswith(MARK))
    record = listing.read(path)
    source = record["source"] if record and not listing.differences(path, record["files"]) else ""
    return {"path": path, "exists": True, "config": config, "config_error": error, "marks": marks, "source": source}


def file(path):
    # type: (str) -> t.Optional[t.Dict[str, str]]
    """``{sha256, mode, owner, origin}`` of a file, None if it does not exist; ``origin`` is the archive that the collection took it from."""
    try:
        with foreign_file.opened(path, follow=True) as stream:
            status, content = os.fstat(stream.fileno()), hashlib.sha256()
            for part in iter(lambda: stream.read(PART), b""):
                content.update(part)
    except OSError:
        return None
    try:
        owner = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = str(status.st_uid)
    return {
        "sha256": content.hexdigest(),
        "mode": f"{stat.S_IMODE(status.st_mode):04o}",
        "owner": owner,
        "origin": _text(origin_path(path)).strip(),
    }


def gather(venvs, models, files, cann_roots):
    # type: (t.List[str], t.List[str], t.List[str], t.List[str]) -> t.Dict[str, t.Any]
    """The result of the module installed_info."""
    layers = environments(venvs)
    return {
        "environments": layers,
        "chips": {path: chip(path) for path in layers if "vllm_ascend" in layers[path]},
        "libraries": libraries(),
        "libc": platform.libc_ver()[1],
        "machine": platform.machine(),
        "models": [model(path) for path in models],
        "files": {path: file(path) for path in files},
        "cann": {root: cann.state(root, platform.machine()) for root in cann_roots},
    }


def _text(path):
    # type: (str) -> str
    try:
        with foreign_file.opened(path, follow=True) as stream:
            return stream.read(foreign_file.MOST).decode("utf-8", "replace")
    except OSError:
        return ""
