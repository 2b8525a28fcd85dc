# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads `inference_entry` and says what cannot work, all of it at once. What is not built yet is refused, never ignored."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..description.findings import Finding, SettingsError, nearest
from ..description.loader import Reader
from ..plan.render.client_paths import LISTED, PATH, refused_path
from ..plan.routers.registry import FLAVOURS
from ..plan.service import is_network
from .pair import MOST, impossible_pair
from .settings import Deployment, Entry, Model

WHY = "Nothing was written, so clients reach what they reached before."
LATER = "It would be accepted, and nothing would keep it."
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
MODEL = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,254}"
)  # as engines and hubs write names; no blank, quote or escape
LIMITS = ("requests_per_minute", "concurrent", "tokens_per_day", "tokens_per_month")
PRICES = ("prompt", "completion", "cached")
MOST_SHARE = 256  # HAProxy's largest weight


def read_entry(raw: t.Any, hosts: t.Mapping[str, str], routed: bool = True) -> Entry:
    """The settings. ``hosts``: addresses by the names of the inventory group entry. Raises PlanError with all errors.

    With ``routed`` false routers may be missing, as they are before plans were read.
    """
    reader = Reader()
    entry = t.cast(Entry, reader.record(Entry, raw, "inference_entry"))
    found = list(_of_hosts(hosts))
    if not routed:
        entry = dataclasses.replace(
            entry, deployments={**dict.fromkeys(_named(entry), Deployment()), **entry.deployments}
        )
    if entry.state == "present":
        parts = (_of_door, _of_paths, _of_deployments, _of_models, _of_teams)
        found += [finding for part in parts for finding in part(entry)]
        found += [_finding(*wrong) for wrong in impossible_pair(entry, hosts)]
        found += _of_blanks(raw)
        found += _of_routers(entry) if routed else ()
    paths = [finding.path for finding in reader.findings]
    told = {*paths, *(path.partition("[")[0] for path in paths)}  # a list with a wrong item was read as empty
    findings = [*reader.findings, *(finding for finding in found if finding.path not in told)]
    if findings:
        raise SettingsError(findings)
    return entry


def _finding(path: str, problem: str, fix: str, why: str = WHY, rule: str = "ENTRY-SETTING") -> Finding:
    return Finding(f"inference_entry{path}", rule, problem, fix, why=why)


def _later(path: str, problem: str, fix: str) -> Finding:
    return _finding(path, f"not supported yet: {problem}", fix, LATER, "ENTRY-LATER")


def _of_hosts(hosts: t.Mapping[str, str]) -> t.Iterator[Finding]:
    if not hosts:
        problem = "the inventory group entry has no host, so nothing would serve the entry"
        yield _finding("", problem, "Add one host to the group entry, or two.")
    if len(hosts) > MOST:
        problem = f"the inventory group entry has {len(hosts)} hosts, and counts of limits are shared by two"
        yield _later("", problem, "Leave one or two hosts in the group entry.")


def _of_door(entry: Entry) -> t.Iterator[Finding]:
    if not entry.address:
        yield _finding(".address", "no address is set", "Write the address of the host that clients use.")
    files = {"certificate": entry.certificate, "certificate_key": entry.certificate_key}
    given = [name for name, path in files.items() if path]
    if entry.plain_http and given:
        problem = f"plain_http is true, and {given[0]} is set"
        yield _finding(".plain_http", problem, "Remove plain_http to serve HTTPS, or remove both files.")
    for name in files:
        if name not in given and not entry.plain_http:
            problem = f"{name} is not set, so keys of clients would cross the network in clear text"
            yield _finding(f".{name}", problem, "Name the file, or set plain_http: true for a network that you trust.")
    if entry.arriving_mib < entry.body_mib:
        problem = f"{entry.arriving_mib} is less than body_mib, so the largest request would never have room"
        yield _finding(".arriving_mib", problem, f"Write {entry.body_mib} at least, or reduce body_mib.")
    for number, network in enumerate(entry.monitoring):
        if not is_network(network):
            problem = f"'{network}' is no address and no network"
            yield _finding(f".monitoring[{number}]", problem, "Write such as 192.0.2.50 or 192.0.2.0/24.")
    ports = {"port": entry.port, "status_port": entry.status_port, "peer_port": entry.peer_port}
    taken: dict[int, str] = {}
    for name, port in ports.items():
        first = taken.setdefault(port, name)
        if first != name:
            yield _finding(f".{name}", f"{port} is {first}, too", "Choose another port.")


def _of_paths(entry: Entry) -> t.Iterator[Finding]:
    if not entry.paths:
        yield _finding(".paths", "the list is empty, so each request would be refused", "Name paths, or remove paths.")
    for number, path in enumerate(entry.paths):
        fix = "Name paths of the OpenAI API with a model in a JSON body, such as /v1/embeddings."
        if not PATH.fullmatch(path):
            yield _finding(f".paths[{number}]", f"'{path}' is not a path of letters, digits and . _ -", fix)
        elif path == LISTED:
            yield _finding(f".paths[{number}]", f"the entry itself answers {path}", "Remove it.")
        elif any(refused_path(path, flavour) for flavour in FLAVOURS.values()):
            yield _finding(
                f".paths[{number}]", f"{path} changes a router or an engine, or shows data of other clients", fix
            )
        elif path.startswith("/v1/audio/"):
            yield _later(f".paths[{number}]", f"{path} has its model in a form, not in JSON", fix)


def _of_deployments(entry: Entry) -> t.Iterator[Finding]:
    used = {name for model in entry.models.values() for name in (*shares(model), model.fallback)}
    for name, deployment in entry.deployments.items():
        path = f".deployments.{name}"
        yield from _of_name(path, name, NAME, "letters, digits and . _ -")
        if len(set(deployment.routers)) < len(deployment.routers):
            yield _finding(f"{path}.routers", "an address is written twice", "Write each address once.")
        if name not in used:
            yield _finding(path, "no model uses this deployment", "Name it in a model, or remove it.")


def _of_routers(entry: Entry) -> t.Iterator[Finding]:
    for name, deployment in entry.deployments.items():
        if not deployment.routers:
            problem = f"it has no routers, and no host of this inventory has inference_deployment: {name}"
            fix = "Write routers: [HOST:PORT, ...], or plan: FILE, or use the inventory of the deployment as well (-i)."
            yield _finding(f".deployments.{name}.routers", problem, fix)


def _named(entry: Entry) -> list[str]:
    """Names of deployments in models, of which a fallback may be a model as well."""
    return [name for model in entry.models.values() for name in ways(model) if name not in entry.models]


def _of_models(entry: Entry) -> t.Iterator[Finding]:
    if not entry.models:
        yield _finding(
            ".models", "there is no model, so each request would be refused", "Add MODEL: {deployment: NAME}."
        )
    for name, model in entry.models.items():
        path = f".models.{name}"
        yield from _of_name(path, name, MODEL, "letters, digits and . _ : / @ + -")
        yield from _of_shares(path, model)
        named = {"deployment": [model.deployment], "deployments": list(model.deployments), "fallback": [model.fallback]}
        for key, names in named.items():
            for each in filter(None, names):
                if key == "fallback" and other_model(entry, model):
                    yield from _of_other(f"{path}.fallback", name, entry)
                elif each not in entry.deployments:
                    yield _unknown(f"{path}.{key}", each, entry)
        for kind, price in model.prices.items():
            if kind not in PRICES or type(price) not in (int, float) or price < 0:
                problem = f"{kind}: {price} is no price of tokens of {' or '.join(PRICES)}"
                yield _finding(f"{path}.prices", problem, "Write prices of a million tokens, from 0.")
        if model.fallback and model.fallback in shares(model):
            problem = f"{model.fallback} has a share of the model already"
            yield _finding(f"{path}.fallback", problem, "Name another deployment, or remove fallback.")
        keys = {entry.deployments[each].api_key_file for each in ways(model) if each in entry.deployments}
        paths = {entry.deployments[each].health for each in ways(model) if each in entry.deployments}
        if len(paths) > 1:
            problem = "its deployments are asked by different paths"
            yield _later(path, problem, "Remove health of these deployments, or give all of them the same.")
        if len(keys) > 1:
            problem = "its deployments have engines' keys in different files, and a request carries one"
            yield _later(path, problem, "Give these deployments the same key and the same api_key_file.")


def other_model(entry: Entry, model: Model) -> str:
    """The model that takes over; empty if none does, or a deployment."""
    return model.fallback if model.fallback in entry.models and model.fallback not in entry.deployments else ""


def _of_other(path: str, name: str, entry: Entry) -> t.Iterator[Finding]:
    other = entry.models[name].fallback
    if other == name or other_model(entry, entry.models[other]):
        problem = f"{other} {'is the model itself' if other == name else 'has another model as fallback, too'}, and a request falls back once"
        yield _finding(path, problem, "Name a model without such a fallback.")
    if not entry.usage:
        problem = f"usage is false, and without it nothing writes the name {other} into requests"
        yield _finding(path, problem, "Remove usage: false, or name a deployment that serves both names.")


def _unknown(path: str, name: str, entry: Entry) -> Finding:
    fix = f"{nearest(name, entry.deployments)}Add it to inference_entry.deployments, or correct the name."
    problem = f"there is no deployment '{name}', and no host of this inventory has it as inference_deployment"
    return _finding(path, problem, fix)


def _of_shares(path: str, model: Model) -> t.Iterator[Finding]:
    if bool(model.deployment) == bool(model.deployments):
        problem = "both deployment and deployments are set" if model.deployment else "no deployment is named"
        yield _finding(path, problem, "Write deployment: NAME, or deployments: {NAME: SHARE, NAME: SHARE}.")
    for name, share in model.deployments.items():
        if not 0 <= share <= MOST_SHARE:
            problem = f"the share {share} is not a whole number from 0 to {MOST_SHARE}"
            yield _finding(f"{path}.deployments.{name}", problem, "Write shares that add up to 100, for instance.")
    if model.deployments and not any(model.deployments.values()):
        yield _finding(f"{path}.deployments", "all shares are 0, so nothing would answer", "Give one a share.")


def _of_teams(entry: Entry) -> t.Iterator[Finding]:
    if not entry.teams:
        problem = "there is no team, so nobody would have a key"
        yield _finding(".teams", problem, "Add TEAM: {keys_file: FILE}.")
    for name, team in entry.teams.items():
        path = f".teams.{name}"
        yield from _of_name(path, name, NAME, "letters, digits and . _ -")
        for model in team.models:
            if model != "all" and model not in entry.models:
                fix = f"{nearest(model, entry.models)}Correct the name, or write models: all."
                yield _finding(f"{path}.models", f"there is no model '{model}'", fix)
        if not team.keys_file:
            yield _finding(f"{path}.keys_file", "no file of keys is named", "Name a file with a key in each line.")
        if "all" in team.models and len(team.models) > 1:
            yield _finding(f"{path}.models", "all and names are both listed", "Write all, or the names.")
        if not team.models:
            yield _finding(f"{path}.models", "the list is empty", "Name models, write all, or remove the team.")
        for key in ("tokens_per_day", "tokens_per_month"):
            if getattr(team, key) and not entry.usage:
                problem = f"usage is false, so nothing would count the {key} of the team"
                yield _finding(f"{path}.{key}", problem, f"Remove usage: false, or remove {key}.")


def _of_blanks(raw: t.Any) -> t.Iterator[Finding]:
    """A key without a value has its default elsewhere. Here that is a right to all models, or no limit."""
    teams = raw.get("teams") if isinstance(raw, t.Mapping) else None
    for name, team in teams.items() if isinstance(teams, t.Mapping) else ():
        for key in ("models", *LIMITS):
            if isinstance(team, t.Mapping) and key in team and team[key] is None:
                problem = "there is no value behind the colon, which would stand for all models or for no limit"
                yield _finding(f".teams.{name}.{key}", problem, f"Write a value, or remove {key}.")


def _of_name(path: str, name: str, pattern: re.Pattern[str], letters: str) -> t.Iterator[Finding]:
    if not pattern.fullmatch(name):
        problem = "the name has other characters, or is too long"
        yield _finding(path, problem, f"Write a name of {letters} that begins with a letter or digit.")


def shares(model: Model) -> dict[str, int]:
    """The deployments of a model with their shares."""
    return {model.deployment: 1} if model.deployment else dict(model.deployments)


def ways(model: Model) -> tuple[str, ...]:
    """All deployments that may answer for a model, the fallback last."""
    return (*shares(model), *filter(None, [model.fallback]))
