# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The twin of an entry, with which its host proves the settings: the same models, teams, shares and limits, and neither real keys nor real routers."""

from __future__ import annotations

import dataclasses
import hashlib
import posixpath
import ssl
import typing as t

from ...module_utils.entry.twin import PLACE
from . import haproxy
from .pair import pair_of
from .plan import Route, entry_plan
from .reading import read_entry, ways
from .settings import Team

TEAM = "_proof"  # may use all models without a limit; no team has this name
CLIENTS, STATUS, PEER, FIRST = 61001, 61002, 61003, 61100  # stand for free ports of the host
MOST = {"requests_per_minute": 300, "concurrent": 32, "tokens_per_day": 10**9, "tokens_per_month": 10**9}


def entry_twin(settings: t.Any, hosts: t.Mapping[str, str]) -> dict[str, t.Any]:
    """What the module entry_proof needs: files, command and what is expected. Larger limits than MOST are proven with MOST. No secret is in it.

    Raises PlanError.
    """
    entry = read_entry(settings, hosts)
    addresses = list(dict.fromkeys(address for each in entry.deployments.values() for address in each.routers))
    ports = {address: FIRST + number for number, address in enumerate(addresses)}
    twin = dataclasses.replace(
        entry,
        address="127.0.0.1",
        port=CLIENTS,
        status_port=STATUS,
        peer_port=PEER,
        plain_http=True,
        monitoring=(),
        deployments={
            name: dataclasses.replace(each, routers=tuple(f"127.0.0.1:{ports[address]}" for address in each.routers))
            for name, each in entry.deployments.items()
        },
        teams={**{name: _capped(team) for name, team in entry.teams.items()}, TEAM: Team(TEAM)},
    )
    plan = entry_plan(twin, pair_of({"twin": "127.0.0.1"}, "twin"))
    keys = {name: f"engines-of-{name}" for name, each in entry.deployments.items() if each.api_key_file}
    digests = {hashlib.sha256(_key(name).encode()).hexdigest(): name for name in twin.teams}
    files = haproxy.files(plan, PLACE, PLACE, f"{PLACE}/usage", digests, keys)
    return {
        "files": [{"path": posixpath.join(PLACE, name), "content": text} for name, text in sorted(files.items())],
        "argv": haproxy.alone(posixpath.join(PLACE, haproxy.CONFIGURED)),
        "clients": CLIENTS,
        "status": STATUS,
        "routers": {str(port): address for address, port in ports.items()},
        "path": next((path for path in entry.paths if path.endswith("/completions")), entry.paths[0]),
        "usage": entry.usage,
        "team": TEAM,
        "key": _key(TEAM),
        "models": {
            route.model: {
                "ways": _weights(route),
                "spare": [way.address.rpartition(":")[2] for way in route.ways if way.spare],
                "other": route.other,
                "key": keys.get(route.keys, ""),
            }
            for route in plan.routes
        },
        "teams": {
            grant.team: {**dataclasses.asdict(grant), "key": _key(grant.team), "models": list(grant.models)}
            for grant in plan.grants
            if grant.team != TEAM
        },
    }


def entry_checks(
    settings: t.Any, hosts: t.Mapping[str, str], texts: t.Mapping[str, str], held: bool
) -> dict[str, t.Any]:
    """The other options of the module entry_proof; ``engine_keys`` are secret. ``held``: whether clients reach the host. Raises PlanError."""
    entry = read_entry(settings, hosts)
    given = {
        (name, address): entry.deployments[each].api_key_file
        for name, model in sorted(entry.models.items())
        for each in ways(model)
        if each in entry.deployments
        for address in entry.deployments[each].routers
    }
    keys = {path: texts[path].strip() for path in given.values() if path}
    digest = (
        ""
        if entry.plain_http
        else hashlib.sha256(ssl.PEM_cert_to_DER_cert(first_certificate(texts[entry.certificate])))
    )
    return {
        "routers": [{"model": name, "address": address, "key": path} for (name, address), path in given.items()],
        "engine_keys": keys,
        "address": entry.address if held else "",
        "port": entry.port,
        "certificate": digest and digest.hexdigest(),
    }


def _weights(route: Route) -> dict[str, int]:
    """The weight of each router, which may be in several deployments of the model."""
    weights: dict[str, int] = {}
    for way in route.ways:
        if not way.spare and way.weight:
            port = way.address.rpartition(":")[2]
            weights[port] = weights.get(port, 0) + way.weight
    return weights


def first_certificate(text: str) -> str:
    """The first certificate of a chain, which is the one that clients see."""
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    return f"{begin}{text.partition(begin)[2].partition(end)[0]}{end}"


def _capped(team: Team) -> Team:
    return dataclasses.replace(team, **{name: min(getattr(team, name), most) for name, most in MOST.items()})


def _key(team: str) -> str:
    """A client's key at the twin, which is on the host itself for some seconds and has no engine behind it."""
    return f"proof-of-{team}-0123456789"
