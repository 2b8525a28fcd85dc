# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM-Ascend's proxies for colocated engines in containers: images contain them, but not the packaged router."""

from __future__ import annotations

from ..deployment import Context
from .base import COLOCATED, Flavour


def _contained(name: str, context: Context) -> bool:
    pools = context.description.pools
    return context.contained and not (pools.prefill or pools.encode) and name in context.release.proxies


DP = Flavour(
    name="dp",
    pools=(COLOCATED,),
    preferred=lambda context: _contained("dp", context),
    pairs={"dp": "colocated"},
)

HYBRID = Flavour(
    name="hybrid",
    pools=(COLOCATED,),
    preferred=lambda context: _contained("hybrid", context),
    pairs={"server": "colocated"},
)
