# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the files with addresses that ``inference_fabric`` names, on the controller, and decide with them."""

from __future__ import annotations

import pathlib
import typing as t

from ..description.findings import Finding
from .fabric_settings import fabric_settings
from .observed import Record


def settings_with_files(hosts: t.Sequence[Record], facts: Record, folder: str) -> dict[str, t.Any]:
    """``fabric_settings``, with the texts of files below ``folder``; a file that cannot be read is a finding instead."""
    paths = {host["fabric"]["addresses_file"] for host in hosts if host.get("fabric")} - {""}
    files, missing = {}, []
    for path in sorted(paths):
        try:
            files[path] = (pathlib.Path(folder) / path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            fix = "Correct inference_fabric.addresses_file."
            missing.append(Finding(path, "FABRIC-VALUE", f"cannot be read: {error}", fix).as_dict())
    found = fabric_settings(hosts, facts, files)
    return {**found, "findings": missing or found["findings"]}
