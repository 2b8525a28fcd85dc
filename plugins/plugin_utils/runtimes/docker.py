# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker containers on the hosts."""

from __future__ import annotations

import typing as t

from .base import Runtime


class Docker(Runtime):
    """A container for each service, marked with the deployment's label."""

    name = "docker"
    contained = True
    engines = ("vllm_ascend",)  # there is no image of the CPU engine

    def log_of(self, unit: str, path: str) -> dict[str, str]:
        return {"kind": "docker", "unit": unit}

    def settings(self, deployment: str, directory: str) -> dict[str, t.Any]:
        return {"deployment": deployment}


RUNTIME = Docker()
