# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM-Ascend's proxies for encoders with disaggregated or colocated engines."""

from __future__ import annotations

import typing as t

from ..deployment import Context
from ..service import Service
from .base import ANSWERED, CALLED_BACK, COLOCATED, DISAGGREGATED, EITHER, Flags, Flavour, Place, url

ENCODERS = frozenset({"encode"})


def _layerwise(context: Context) -> bool:
    return bool(context.description.pools.prefill) and context.p2p in CALLED_BACK | EITHER


def _urls(flavour: Flavour, place: Place) -> Flags:
    """Lists of URLs, separated by commas; colocated engines are only in the decode list."""
    colocated = place.answering("colocated")
    return {
        "host": place.address,
        "port": place.port,
        "encode-servers-urls": _joined(place.answering("encode")),
        "prefill-servers-urls": "disable" if colocated else _joined(place.answering("prefill")),
        "decode-servers-urls": _joined(colocated or place.answering("decode")),
    }


def _joined(engines: t.Iterable[Service]) -> str:
    return ",".join(url(engine) for engine in engines)


EPD = Flavour(
    name="epd",
    pools=(ENCODERS | COLOCATED, ENCODERS | DISAGGREGATED),
    connectors=ANSWERED | EITHER,
    preferred=lambda context: bool(context.description.pools.encode) and not _layerwise(context),
    flags=_urls,
    health_path="/health",
    admin=("/start_profile", "/stop_profile"),
    sends_key=lambda place: False,  # 0.18.0 to 0.30.0rc2: only /start_profile and /stop_profile are sent with a key
)

EPD_LAYERWISE = Flavour(
    name="epd_layerwise",
    pools=(ENCODERS | DISAGGREGATED | COLOCATED, ENCODERS | DISAGGREGATED, ENCODERS | COLOCATED),
    connectors=CALLED_BACK | EITHER,
    preferred=lambda context: bool(context.description.pools.encode) and _layerwise(context),
    pairs={"encoder": "encode", "prefiller": "prefill", "decoder": "decode", "pd": "colocated"},
    admin=("/v1/metaserver", "/start_profile", "/stop_profile"),
    called_back=True,
)
