# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which metrics a version of vLLM has."""

from __future__ import annotations

import functools

from . import metrics_data
from .version import numbers


@functools.cache
def of_vllm(version: str) -> frozenset[str]:
    """The names of one vLLM; nothing before the first collected version."""
    found, wanted = set(), numbers(version)
    for line in metrics_data.VLLM.split():
        name, first, last = [*line.split("|"), "", ""][:3]
        if (not first or numbers(first) <= wanted) and (not last or wanted <= numbers(last)):
            found.add(name)
    return frozenset(found)
