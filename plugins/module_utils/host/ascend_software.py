# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ascend's software on disk: package files and installed versions. Runs on Python 3.7.

Installed versions are read from the install.info files that the installers write last, never from the existence of a
directory, which a failed installation leaves too. Layouts: up to CANN 8.3 below ``ascend-toolkit/<version>``, from 8.5
on below ``cann-<version>`` (vendor's installation guides 8.2 and 9.0).
"""

from __future__ import annotations

import glob
import os
import re
import typing as t
from collections import namedtuple

Package = namedtuple("Package", "path name kind version arch hardware")
Facts = t.Dict[str, t.Any]

ROOT = "/usr/local/Ascend"  # default of the vendor's installers for driver, firmware and CANN
ORDER = ("cann", "toolkit", "kernels", "nnal")
NAME = re.compile(
    r"^(?:Ascend|Atlas-(?P<series>A3))-cann"
    r"(?:-(?P<kind>toolkit|nnal|kernels)|-(?P<chip>[A-Za-z0-9]+)-ops)?"
    r"(?:-(?P<chip2>910b|910|310p|310b|950))?"
    r"_(?P<version>[^_]+)_linux-(?P<arch>aarch64|x86_64)\.run$"
)
HARDWARE = {"910b": "a2", "a3": "a3", "910": "910a", "310p": "310p", "310b": "310b", "950": "950"}


def package_of(path):
    # type: (str) -> Package
    """A ``.run`` file's package, by its name; kernels are called ops from 8.5 on. Raises ``ValueError`` for other names."""
    found = NAME.match(os.path.basename(path))
    if not found:
        raise ValueError(f"{path} is not the name of a CANN toolkit, kernels, ops or NNAL package")
    chip = found.group("chip") or found.group("chip2") or found.group("series") or ""
    kind = "kernels" if found.group("chip") else found.group("kind") or "cann"
    return Package(
        path, os.path.basename(path), kind, found.group("version"), found.group("arch"), HARDWARE.get(chip.lower(), "")
    )


def parse_info(text):
    # type: (str) -> t.Dict[str, str]
    """``key=value`` or ``key : value`` lines; keys in lower case (install.info and version.info of any package)."""
    found = {}
    for line in text.splitlines():
        match = re.match(r"^\s*([A-Za-z][\w -]*?)\s*[=:]\s*(.*?)\s*$", line)
        if match:
            found.setdefault(match.group(1).lower().replace(" ", "_"), match.group(2).strip('"'))
    return found


def read_info(path):
    # type: (str) -> t.Dict[str, str]
    """The pairs of a file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return parse_info(handle.read())
    except OSError:
        return {}


def installed(root, arch):
    # type: (str, str) -> t.Dict[str, t.Dict[str, Facts]]
    """Installed packages below ``root``: kind -> version -> ``{path, arch}``."""
    found = {"toolkit": {}, "kernels": {}, "nnal": {}}  # type: t.Dict[str, t.Dict[str, Facts]]
    for home in _homes(root):
        _note(found["toolkit"], read_info(os.path.join(home, arch + "-linux", "ascend_toolkit_install.info")), home)
        for name in ("ascend_ops_install.info", "ascend_kernels_install.info"):
            for path in [os.path.join(home, arch + "-linux", name), os.path.join(home, name)]:
                _note(found["kernels"], read_info(path), home)
        info = read_info(os.path.join(home, "opp_kernel", "version.info"))
        if info.get("version_dir"):
            _note(found["kernels"], {"version": info["version_dir"]}, home)
    for home in sorted(glob.glob(os.path.join(root, "nnal", "atb", "*"))):
        info = read_info(os.path.join(home, "version.info"))
        version = info.get("ascend-cann-atb")
        if version:
            found["nnal"][version] = {"path": os.path.join(root, "nnal", "atb"), "arch": info.get("platform", arch)}
    return found


def _homes(root):
    # type: (str) -> t.List[str]
    """Directories of CANN versions, without links to them (latest, cann)."""
    places = glob.glob(os.path.join(root, "ascend-toolkit", "*")) + glob.glob(os.path.join(root, "cann-*"))
    return sorted({os.path.realpath(place) for place in places if os.path.isdir(place)})


def _note(found, info, home):
    # type: (t.Dict[str, Facts], t.Dict[str, str], str) -> None
    if info.get("version"):
        found[info["version"]] = {"path": home, "arch": info.get("arch", "")}


def current(root, arch):
    # type: (str, str) -> str
    """The CANN version that set_env.sh selects, or an empty string."""
    for link in ("cann", os.path.join("ascend-toolkit", "latest")):
        info = read_info(os.path.join(root, link, arch + "-linux", "ascend_toolkit_install.info"))
        if info.get("version"):
            return info["version"]
    return ""


def environment(root):
    # type: (str) -> t.List[str]
    """The shell files that a process must source: the toolkit's, then ATB's."""
    toolkit = [os.path.join(root, "ascend-toolkit", "set_env.sh"), os.path.join(root, "cann", "set_env.sh")]
    found = [path for path in toolkit if os.path.isfile(path)][:1]
    return found + [path for path in [os.path.join(root, "nnal", "atb", "set_env.sh")] if os.path.isfile(path)]


def driver(root=ROOT):
    # type: (str) -> Facts
    """Versions of driver and firmware; empty if not installed. ``package_version`` takes precedence over ``Version``."""
    versions = {}
    for name in ("driver", "firmware"):
        info = read_info(os.path.join(root, name, "version.info"))
        versions[name] = info.get("package_version") or info.get("version") or ""
    return versions
