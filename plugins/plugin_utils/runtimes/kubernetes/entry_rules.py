# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of the peers that may reach pods."""

from __future__ import annotations

import ipaddress
import typing as t

from ...description.findings import Finding
from ...plan.rules.base import Case, Rules
from .manifest.walk import FIELDS, mapping, walk

RULES = Rules()
PLACE = "inference_kubernetes.network"


@RULES.rule(
    "K8S-PEER",
    "Write peers as in a NetworkPolicy, such as {ipBlock: {cidr: 10.0.0.0/8}} or {podSelector: {matchLabels: {app: web}}}.",
    "NetworkPolicyPeer of networking.k8s.io/v1 and its validation",
)
def peers(case: Case) -> t.Iterator[Finding]:
    """A peer of inference_kubernetes.network is none of a NetworkPolicy.

    The API server refuses the NetworkPolicy, or drops a key that it does not know, so that other pods than the meant ones are let in.
    """
    network = case.context.description.kubernetes.network
    for name in ("clients", "observers") if case.in_pods else ():
        for index, peer in enumerate(getattr(network, name)):
            path = f"{PLACE}.{name}[{index}]"
            wrong = [
                Finding.at(item.path, item.value, item.problem, item.fix) for item in walk(FIELDS["Peer"], peer, path)
            ]
            yield from wrong or _meaning(peer, path)


def _meaning(peer: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    """What the server refuses although each field has its type."""
    given = [key for key in peer if peer[key] is not None]
    if not given:
        yield Finding.at(path, "", f"{path.rpartition('.')[2]} is empty")
    if "ipBlock" in given and len(given) > 1:
        yield Finding.at(path, ", ".join(given), "a peer has either ipBlock or selectors")
    block = mapping(peer.get("ipBlock"))
    networks = {f"ipBlock.except[{index}]": text for index, text in enumerate(block.get("except") or ())}
    for place, text in {**({"ipBlock.cidr": block["cidr"]} if block else {}), **networks}.items():
        if not _is_network(text):
            yield Finding.at(
                f"{path}.{place}", text, f"'{text}' is not a network with the length of its prefix, such as 10.0.0.0/8"
            )


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return text.rpartition("/")[2].isdecimal() and "/" in text
