# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands for the answer of a host that gave none."""

from __future__ import annotations

import typing as t

Answers = t.Mapping[str, t.Any]
LOST = {"failed": True, "msg": "the connection was lost"}


def answered(results: Answers, places: Answers) -> dict[str, t.Any]:
    """The results by host, of which one that has none was not asked again, or lost while it was. ``places``: what hosts answered before."""
    lost = {host: found for host, found in places.items() if isinstance(found, dict) and found.get("unreachable")}
    return {host: found or lost.get(host, LOST) for host, found in results.items()}
