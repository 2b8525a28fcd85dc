# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which architectures a release loads: lookups over the collected registries of vLLM and vLLM-Ascend."""

from __future__ import annotations

import functools

from . import values
from .release import ORDER, RELEASES


@functools.cache
def architectures(release: str) -> frozenset[str]:
    """Names in ``architectures`` of config.json that a release loads; empty if nothing was collected of it."""
    found = RELEASES.get(release)
    of_vllm = values.of_vllm(found.vllm).choices.get("architecture", set()) if found else set()
    return frozenset({*of_vllm, *(found.architectures if found else ())}) if of_vllm else frozenset()


def releases_of(architecture: str) -> str:
    """The releases that load an architecture: ``from 0.26.0rc1 on``, ``from 0.9.1 to 0.11.0``; empty if none does."""
    known = [name for name in ORDER if name != "main" and architectures(name)]
    has = [name for name in known if architecture in architectures(name)]
    if not has:
        return ""
    return f"from {has[0]} on" if has[-1] == known[-1] else f"from {has[0]} to {has[-1]}"
