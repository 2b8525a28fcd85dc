# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the way to pods: the peers that may reach them, and settings of the router that its mode does not read."""

from __future__ import annotations

import ipaddress
import typing as t

from ...description.findings import Finding
from ...description.kubernetes import ClusterRouter
from ...plan.rules.base import Case, Rules
from .manifest.walk import FIELDS, mapping, walk

RULES = Rules()
PLACE = "inference_kubernetes.network"
MODES = {  # of the router -> its settings that only they read
    ("deployment",): (
        "host_network",
        "image",
        "limits",
        "node_port",
        "node_selector",
        "replicas",
        "requests",
        "run_as_root",
        "service_type",
    ),
    ("kthena_router",): ("retries", "timeout"),
    ("kthena_router", "none"): ("url",),
}


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


@RULES.rule(
    "K8S-ROUTER-UNUSED",
    "Remove it, or set the mode that reads it.",
    "design of the runtimes",
    "warning",
)
def settings_of_other_modes(case: Case) -> t.Iterator[Finding]:
    """A setting of inference_kubernetes.router is one of another mode.

    Nothing reads it, so the deployment is not what the setting says.
    """
    router, usual = case.context.description.kubernetes.router, ClusterRouter()
    for modes, names in MODES.items() if case.in_pods else ():
        for name in names if router.mode not in modes else ():
            if getattr(router, name) != getattr(usual, name):
                problem = f"{name} is read with the mode {' or '.join(modes)}, and the mode is {router.mode}"
                yield Finding.at(f"inference_kubernetes.router.{name}", getattr(router, name), problem)
