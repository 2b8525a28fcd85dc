# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The router flavours: a new one needs a record in a file of this folder, and an entry here."""

from __future__ import annotations

import re

from ...description.findings import Finding, nearest
from ...description.loader import WHY
from ...description.variables import Description
from ..deployment import Context
from .base import Flavour
from .colocated import DP, HYBRID
from .encoders import EPD, EPD_LAYERWISE
from .prefill_decode import LAYERWISE, LOAD_BALANCE
from .vllm_router import FLAVOUR as VLLM_ROUTER

NONE = Flavour(name="none", pools=(), preferred=lambda context: True)  # no router

# By name; the planner chooses the first preferred one if the user sets none.
FLAVOURS: dict[str, Flavour] = {
    flavour.name: flavour for flavour in (VLLM_ROUTER, EPD_LAYERWISE, EPD, LAYERWISE, LOAD_BALANCE, DP, HYBRID, NONE)
}


def flavour_of(context: Context) -> Flavour:
    """The router's flavour: inference_router.flavour, else the one for the pools and the connector."""
    chosen = context.description.router.flavour
    if chosen in FLAVOURS:
        return FLAVOURS[chosen]
    return next((flavour for flavour in FLAVOURS.values() if flavour.preferred(context)), NONE)


def unknown_flavour(description: Description) -> list[Finding]:
    """A finding for an unknown flavour."""
    chosen = description.router.flavour
    if not chosen or chosen in FLAVOURS:
        return []
    policy = VLLM_ROUTER.package and re.fullmatch(VLLM_ROUTER.package.takes("policy")[0], chosen)
    near = (
        f"Write it as inference_router.policy, which {VLLM_ROUTER.name} has. " if policy else nearest(chosen, FLAVOURS)
    )
    fix = f"{near}Allowed values: {', '.join(sorted(FLAVOURS))}, or nothing."
    problem = f"'{chosen}' is not an allowed value"
    return [
        Finding(
            "inference_router.flavour",
            "VARIABLE-CHOICE",
            problem,
            fix,
            value=repr(chosen),
            why=WHY["VARIABLE-CHOICE"],
        )
    ]
