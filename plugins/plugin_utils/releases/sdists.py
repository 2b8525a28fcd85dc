# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Source distributions of the packages that hosts build, by digest."""

from __future__ import annotations

from .sdists_data import SDISTS


def sdists(vllm: str, vllm_ascend: str) -> dict[str, str]:
    """``{vllm==0.23.0: SHA-256, vllm-ascend==0.23.0: ...}``; a version that published no source distribution is missing."""
    asked = {f"vllm|{vllm}", f"vllm-ascend|{vllm_ascend}"}
    rows = [line.rpartition("|") for line in SDISTS.split()]
    return {place.replace("|", "=="): digest for place, _bar, digest in rows if place in asked}
