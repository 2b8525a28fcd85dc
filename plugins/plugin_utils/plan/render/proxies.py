# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of the proxies that come with vLLM-Ascend's examples, by flavour; flags as the release has them."""

from __future__ import annotations

import typing as t

from ..service import Service

Targets = t.Callable[[str], "list[Service]"]


def health_path(flavour: str) -> str:
    """Where a proxy answers that it lives; none of them looks at its engines."""
    return "/health" if flavour in ("vllm_router", "epd") else "/healthcheck"


def lists_of(flavour: str, address: str, port: int, targets: Targets) -> dict[str, t.Any]:
    """The lists of engines for one flavour.

    ``targets`` gives the services of a kind that have an API. Lists of hosts and ports are positional pairs.
    """
    common: dict[str, t.Any] = {"host": address, "port": port}
    if flavour == "epd":
        return {**common, **_urls(targets)}
    pairs = {
        "load_balance": (("prefiller", "prefill"), ("decoder", "decode")),
        "layerwise": (("prefiller", "prefill"), ("decoder", "decode")),
        "epd_layerwise": (("encoder", "encode"), ("prefiller", "prefill"), ("decoder", "decode"), ("pd", "colocated")),
        "dp": (("dp", "colocated"),),
        "hybrid": (("server", "colocated"),),
    }.get(flavour, ())
    for name, kind in pairs:
        found = targets(kind)
        if found:
            common[f"{name}-hosts"] = [one.address for one in found]
            common[f"{name}-ports"] = [one.port("api").first for one in found]
    return common


def _urls(targets: Targets) -> dict[str, str]:
    """The encoder proxy's lists; engines that do prefill and decode together stand in the decode list alone."""
    together = targets("colocated")
    decode = together or targets("decode")
    return {
        "encode-servers-urls": _joined(targets("encode")),
        "prefill-servers-urls": "disable" if together else _joined(targets("prefill")),
        "decode-servers-urls": _joined(decode),
    }


def _joined(services: t.Sequence[Service]) -> str:
    return ",".join(f"http://{one.address}:{one.port('api').first}" for one in services)
