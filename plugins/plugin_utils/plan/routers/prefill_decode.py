# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM-Ascend's proxies for prefill and decode: one for each protocol of connectors."""

from __future__ import annotations

import typing as t

from ...releases.release import Release
from ..deployment import Context
from .base import ANSWERED, CALLED_BACK, DISAGGREGATED, EITHER, Flavour, Members, pair_options, split

LISTS = {"prefiller": "prefill", "decoder": "decode"}


def disaggregated(context: Context) -> bool:
    """Whether prefill and decode have connectors of vLLM-Ascend, which its proxies drive, and there are no encoders."""
    pools = context.description.pools
    return bool(pools.prefill and not pools.encode) and not context.engine.connectors


def _members(flavour: Flavour, release: Release, argv: t.Sequence[str]) -> Members | None:
    """From 0.21.0rc1 on, with --workers: before, a removed engine gets requests again. The script splits addresses at colons."""
    options = pair_options(flavour)
    if "workers" not in flavour.options(release) or any(value.count(":") > 1 for value in split(argv, options)[0]):
        return None
    return Members("instances", options)


LOAD_BALANCE = Flavour(
    name="load_balance",
    pools=(DISAGGREGATED,),
    connectors=ANSWERED | EITHER,
    preferred=lambda context: disaggregated(context) and context.p2p not in CALLED_BACK | EITHER,
    pairs=LISTS,
    admin=("/reset_prefix_cache",),
    membership=("/instances/add", "/instances/remove"),
    members=_members,
)

LAYERWISE = Flavour(
    name="layerwise",
    pools=(DISAGGREGATED,),
    connectors=CALLED_BACK | EITHER,
    preferred=lambda context: disaggregated(context) and context.p2p in CALLED_BACK | EITHER,
    pairs=LISTS,
    admin=("/v1/metaserver", "/reset_prefix_cache"),
    called_back=True,
)
