# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which master of the store serves. A standby answers HTTP 200 as well, so the status of the answer says nothing."""

from __future__ import annotations

from ..tools import foreign_json


def serves(body: str) -> bool:
    """Whether the answer to /health is that of a serving master: `OK` up to Mooncake 0.3.10.post1, later JSON with service_ready."""
    if body.strip() == "OK":
        return True
    try:
        return foreign_json.loads(body).get("service_ready") is True
    except (ValueError, AttributeError):
        return False
