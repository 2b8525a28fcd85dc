# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable `inference_entry`: one address for several deployments by model name, with keys and limits of teams."""

from __future__ import annotations

from dataclasses import dataclass

from ..description.loader import choice, documented, factory, mapping, number, typed
from ..description.variables import LARGEST_BODY
from ..plan.render.client_paths import GENERATE, LISTED


@dataclass(frozen=True)
class Deployment:
    """The routers of one deployment, and what the entry needs to ask them."""

    routers: tuple[str, ...] = documented(
        "Addresses with ports that clients of the deployment use: of its routers, its balancer or its virtual address. Default: those of its plan.",
        typed("endpoint", ()),
    )
    plan: str = documented(
        "File on the controller with the plan of the deployment, as its playbook site wrote it with inference_plan_file. Default: what this "
        "inventory plans for its hosts with this name as inference_deployment.",
        typed("path"),
    )
    api_key_file: str = documented(
        "File on the controller with the engines' key, which the entry sends in place of the client's. Default: none, or "
        "api_key of inference_secrets if this inventory plans the deployment.",
        typed("path"),
    )
    health: str = documented(
        "Path that is asked each second. Status 500 and above, and silence, take the router out.",
        typed("directory", LISTED),
    )


@dataclass(frozen=True)
class Model:
    """Where requests with this model name go."""

    deployment: str = documented("The only deployment that serves the model.", typed("name"))
    deployments: dict[str, int] = documented(
        "Several deployments with their shares of the requests, such as {old: 95, new: 5}. A share of 0 gets none.",
        mapping(),
    )
    fallback: str = documented(
        "Deployment that gets the requests while no router of the others answers. It has to serve the same model name. Or another model of the entry, "
        "whose name requests then get, and which needs usage.",
        "",
    )
    prices: dict[str, float] = documented(
        "Prices of a million tokens for the playbook usage, such as {prompt: 0.2, completion: 0.8, cached: 0.05}. Without cached, "
        "cached tokens cost as much as others of a prompt. Default: no costs.",
        mapping(),
    )


@dataclass(frozen=True)
class Team:
    """Who has these keys, and what they may use."""

    keys_file: str = documented(
        "File on the controller with a key in each line: the key itself, or sha256: and its digest. It may be a vault.",
        typed("path"),
    )
    models: tuple[str, ...] = documented("Names of the models that the team may use, or all.", ("all",))
    requests_per_minute: int = documented(
        "Requests that the team may send in a minute, with all its keys. 0: no limit.", number(0, 0)
    )
    concurrent: int = documented("Requests of the team at a time. 0: no limit.", number(0, 0))
    tokens_per_day: int = documented(
        "Tokens of prompts and answers that the team may use in a day, UTC. 0: no limit.", number(0, 0, 10**15)
    )
    tokens_per_month: int = documented("As tokens_per_day, in a calendar month.", number(0, 0, 10**15))


@dataclass(frozen=True)
class Entry:
    """What the playbook entry deploys."""

    state: str = documented("absent: the entry is removed.", choice("present", "absent"))
    address: str = documented(
        "Address on which clients reach the entry: that of its host. With two hosts an unused one of their network, which keepalived keeps on one of them.",
        typed("address"),
    )
    virtual_router_id: int = documented(
        "With two hosts: number by which their keepalived know each other. Other virtual addresses of these hosts need another one.",
        number(151, 1, 255),
    )
    virtual_interface: str = documented(
        "With two hosts: interface that gets the address. Default: the one with the address of its host.",
        typed("interface"),
    )
    port: int = documented("Its port.", number(443, 1, 65535))
    status_port: int = documented(
        "Port of the pages /health and /metrics, on the host itself alone. For the addresses of monitoring /metrics is at the host's own address, too.",
        number(8013, 1, 65535),
    )
    monitoring: tuple[str, ...] = documented(
        "Addresses and networks of Prometheus, which may read the metrics. Default: none but the host itself.",
        typed("network", ()),
    )
    peer_port: int = documented(
        "Port by which a changed process takes over the counts of limits, on the host itself, and by which two hosts share them, for the other host alone.",
        number(8014, 1, 65535),
    )
    certificate: str = documented("File on the controller with the certificate and its chain, PEM.", typed("path"))
    certificate_key: str = documented("File on the controller with the key of the certificate.", typed("path"))
    plain_http: bool = documented("Whether clients reach the entry without TLS, for a trusted network.", False)
    deployments: dict[str, Deployment] = documented(
        "Deployments by a name of your choice, or by their inference_deployment. One that this inventory plans may be left out.",
        factory(dict),
    )
    models: dict[str, Model] = documented("Models by the name that requests have.", factory(dict))
    teams: dict[str, Team] = documented("Teams by a name of your choice.", factory(dict))
    usage: bool = documented(
        "Whether requests and tokens are counted by team, model and day. It needs HAProxy 2.5 or later.", True
    )
    verify: bool = documented(
        "Whether the playbook proves on each host what the entry does: routes, refusals, shares, limits and usage, in about ten seconds.",
        True,
    )
    paths: tuple[str, ...] = documented("Paths that clients may request with POST.", typed("directory", GENERATE))
    body_mib: int = documented(
        "Largest request in MiB. The whole of a request is read before its model is known.", number(64, 1, LARGEST_BODY)
    )
    arriving_mib: int = documented(
        "MiB of requests that may be in memory at a time, each from its headers until its answer begins. A request that has no room gets status 503.",
        number(2048, 1, 2**20),
    )
    answer_timeout: int = documented("Timeout in seconds between two parts of an answer.", number(3600, 1, 86400))
    client_timeout: int = documented(
        "Seconds in which a request has to arrive whole, and which may pass between two reads of an answer.",
        number(60, 1, 3600),
    )
