# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of CANN's packages by version, hardware and machine (vendor's download pages; kernels are ops from 8.5 on)."""

from __future__ import annotations

import typing as t

from ...module_utils.host.ascend_software import package_of
from ...module_utils.install.cann import missing
from .version import numbers

KERNELS = {
    "a2": "Ascend-cann-kernels-910b",
    "a3": "Atlas-A3-cann-kernels",
    "910a": "Ascend-cann-kernels-910",
    "310p": "Ascend-cann-kernels-310p",
}
OPS = {"a2": "910b", "a3": "A3", "910a": "910", "310p": "310p", "950": "950"}


def cann_packages(version: str, hardware: str, arch: str) -> list[str]:
    """File names of toolkit, kernels or ops, and NNAL, in the order of installation.

    ``ValueError`` for hardware that CANN has no such package for.
    """
    ops = numbers(version)[:2] >= (8, 5)
    known = OPS if ops else KERNELS
    if hardware not in known:
        raise ValueError(f"CANN {version} has no kernels for hardware {hardware!r}; known: {', '.join(sorted(known))}")
    kernels = f"Ascend-cann-{OPS[hardware]}-ops" if ops else KERNELS[hardware]
    tail = f"_{version}_linux-{arch}.run"
    return [f"Ascend-cann-toolkit{tail}", f"{kernels}{tail}", f"Ascend-cann-nnal{tail}"]


def missing_packages(names: list[str], found: t.Mapping[str, t.Any]) -> list[str]:
    """The package files that a host lacks. ``found`` is its state (``module_utils/install/cann.py``); if it is empty, all are missing."""
    return [item.name for item in missing(map(package_of, names), found)] if found else names
