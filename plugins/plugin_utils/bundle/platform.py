# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The platform of a host, for which a bundle has files: machine, version of Python, version of the C library."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass

from ..description.findings import Finding
from ..releases.version import numbers
from .distribution import distribution_of

with contextlib.suppress(ImportError):  # ansible-core requires it; tests of imports have it not
    from packaging.tags import Tag, compatible_tags, cpython_tags
    from packaging.utils import parse_wheel_filename

MACHINES = ("aarch64", "x86_64")
# What uv accepts as --python-platform MACHINE-manylinux_2_MINOR (uv pip compile --help)
UV_GLIBC = (17, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40)
LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}  # PEP 600
OLDEST = {"x86_64": 5, "aarch64": 17}  # the first glibc 2.MINOR of a manylinux tag (PEP 599, PEP 513)
LEAST = {"python": 7, "glibc": 17}  # minor versions that Ansible manages, and of the oldest wheels (manylinux2014)
VARIABLE = "inference_bundle_platform"
EXAMPLE = "{machine: aarch64, python: '3.11', glibc: '2.35'}"


@dataclass(frozen=True, order=True)
class Platform:
    """``machine`` as uname prints it, ``python`` as '3.11', ``glibc`` as '2.35'."""

    machine: str
    python: str
    glibc: str

    @property
    def name(self) -> str:
        """The name of the platform's folder in a bundle: 'aarch64-python3.11-glibc2.35'."""
        return f"{self.machine}-python{self.python}-glibc{self.glibc}"

    def as_dict(self) -> dict[str, str]:
        """The platform as plain data."""
        return {"machine": self.machine, "python": self.python, "glibc": self.glibc}

    def uv_options(self) -> list[str]:
        """Options of ``uv pip compile`` that evaluate markers and wheels for this platform."""
        minor = max((known for known in UV_GLIBC if known <= numbers(self.glibc)[1]), default=UV_GLIBC[0])
        return ["--python-platform", f"{self.machine}-manylinux_2_{minor}", "--python-version", self.python]

    def tags(self) -> list[Tag]:
        """The tags of wheels that a host of this platform installs, best first."""
        minors = range(numbers(self.glibc)[1], OLDEST[self.machine] - 1, -1)
        platforms = []
        for minor in minors:
            platforms.append(f"manylinux_2_{minor}_{self.machine}")
            platforms += [f"{LEGACY[minor]}_{self.machine}"] if minor in LEGACY else []
        platforms.append(f"linux_{self.machine}")
        version = numbers(self.python)[:2]
        interpreter = "cp{}{}".format(*version)
        own = cpython_tags(version, abis=[interpreter], platforms=platforms)
        return [*own, *compatible_tags(version, interpreter, platforms)]

    def best(self, wheels: t.Iterable[str]) -> str:
        """The file name of the wheel that a host of this platform would take; empty if there is none."""
        ranks = {tag: rank for rank, tag in enumerate(self.tags())}
        found = []
        for name in wheels:
            _name, _version, build, tags = parse_wheel_filename(name)
            fitting = [ranks[tag] for tag in tags if tag in ranks]
            if fitting:
                found.append((min(fitting), tuple(-part for part in build[:1] if isinstance(part, int)), name))
        return min(found)[2] if found else ""

    def serves(self, host: Platform) -> bool:
        """Whether files for this platform work on a host: the same machine and Python, and no older C library."""
        return (self.machine, self.python) == (host.machine, host.python) and numbers(self.glibc) <= numbers(host.glibc)


def platform_of(given: t.Any, host: str, only_machine: bool = False) -> tuple[Platform | None, list[Finding]]:
    """The platform that a host's variable names, or what is wrong with it. ``only_machine``: images need no Python and C library of the host."""

    def finding(problem: str) -> tuple[None, list[Finding]]:
        why = "Hosts are not asked when a bundle is made, and files for another platform cannot be installed."
        fix = f"set {VARIABLE} for the host, its group or all hosts, for instance {EXAMPLE}"
        return None, [Finding(host, "bundle_platform_unknown", problem, fix, "error", str(given or ""), why)]

    keys = ("machine", "python", "glibc")
    if not given:
        return finding(f"{VARIABLE} is not set")
    if not isinstance(given, t.Mapping):
        return finding(f"{VARIABLE} is no mapping")
    values = {key: str(given.get(key, "")) for key in keys}
    wrong = [key for key in given if key not in (*keys, "distribution")]
    if wrong:
        return finding(f"{VARIABLE} has unknown keys: {', '.join(map(str, wrong))}")
    if values["machine"] not in MACHINES:
        return finding(f"machine is {values['machine'] or 'missing'}; known: {', '.join(MACHINES)}")
    for key, major in () if only_machine else (("python", 3), ("glibc", 2)):
        found = numbers(values[key])
        if len(found) != 2 or found[0] != major or values[key] != f"{major}.{found[1]}":
            return finding(f"{key} is {values[key] or 'missing'}; expected {major}.MINOR in quotes")
        if found[1] < LEAST[key]:
            digits = f"{values[key]}0 without quotes is the number {values[key]} in YAML"
            return finding(f"{key} is {values[key]}, which is older than {major}.{LEAST[key]}; {digits}")
    distribution = given.get("distribution", "")
    if distribution and not distribution_of(str(distribution), values["machine"]):
        return finding(
            f"distribution is {distribution}; expected ID and VERSION_ID of /etc/os-release, for instance 'debian 12'"
        )
    return Platform(**values), []
