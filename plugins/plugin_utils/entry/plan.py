# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of the entry: routes, teams and limits as a record without secrets, which the program's own folder makes into files."""

from __future__ import annotations

import dataclasses
import math
import typing as t

from .pair import Pair
from .reading import other_model, shares
from .settings import Entry, Model

HEAVIEST = 256


@dataclasses.dataclass(frozen=True)
class Way:
    """A router that answers for a model. ``weight`` 0 to 256; ``spare`` ones serve while no other does."""

    name: str
    address: str
    weight: int
    spare: bool


@dataclasses.dataclass(frozen=True)
class Route:
    """A model's name with its routers; ``keys`` names the deployment whose key they take, ``other`` the model that takes over without them."""

    model: str
    ways: tuple[Way, ...]
    health: str
    keys: str
    other: str


@dataclasses.dataclass(frozen=True)
class Grant:
    """What a team may use. Limits of 0 are none."""

    team: str
    models: tuple[str, ...]
    requests_per_minute: int
    concurrent: int
    tokens_per_day: int
    tokens_per_month: int


@dataclasses.dataclass(frozen=True)
class Front:
    """What differs if the entry is a deployment's own frontend: its one route takes any model, and each key is a team, which its one grant limits.

    ``secrets``: folder of keys, of the engines' key and of the certificate, which its start writes; ``listens``: addresses of clients;
    ``status``: address of its pages; ``headers``: names of clients' headers that reach the routers.
    """

    secrets: str
    listens: tuple[str, ...]
    status: str
    headers: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class EntryPlan:
    """Everything that is decided about an entry."""

    settings: Entry
    routes: tuple[Route, ...]
    grants: tuple[Grant, ...]
    pair: Pair
    front: Front | None = None


def entry_plan(entry: Entry, pair: Pair) -> EntryPlan:
    """The plan of settings that ``read_entry`` returned, for one host."""
    routes = tuple(_route(entry, name, model) for name, model in sorted(entry.models.items()))
    grants = tuple(
        Grant(
            name,
            tuple(sorted(entry.models)) if "all" in team.models else tuple(sorted(set(team.models))),
            team.requests_per_minute,
            team.concurrent,
            team.tokens_per_day,
            team.tokens_per_month,
        )
        for name, team in sorted(entry.teams.items())
    )
    return EntryPlan(entry, routes, grants, pair)


def _route(entry: Entry, name: str, model: Model) -> Route:
    given = shares(model)
    weights = router_weights({each: (share, len(entry.deployments[each].routers)) for each, share in given.items()})
    ways = [
        Way(f"{each}-{number}", address, weights[each], False)
        for each in given
        for number, address in enumerate(entry.deployments[each].routers)
    ]
    other = other_model(entry, model)
    if model.fallback and not other:
        routers = entry.deployments[model.fallback].routers
        ways += [Way(f"{model.fallback}-{number}", address, 1, True) for number, address in enumerate(routers)]
    first = next(iter(given))
    deployment = entry.deployments[first]
    return Route(name, tuple(ways), deployment.health, first if deployment.api_key_file else "", other)


def router_weights(shares_: t.Mapping[str, tuple[int, int]]) -> dict[str, int]:
    """The weight of each router of a deployment, from ``{deployment: (share, number of routers)}``.

    Whole numbers up to 256 in the proportion of share / routers: exact if they fit, else rounded, and never to 0 for a share above 0.
    """
    common = math.lcm(*(count for dummy, count in shares_.values()))
    exact = {name: share * common // count for name, (share, count) in shares_.items()}
    divisor = math.gcd(*exact.values()) or 1
    most = max(exact.values()) // divisor
    if most <= HEAVIEST:
        return {name: weight // divisor for name, weight in exact.items()}
    return {name: max(1, round(weight / divisor * HEAVIEST / most)) if weight else 0 for name, weight in exact.items()}
