# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as text lines: the table, or the exact commands."""

from __future__ import annotations

import itertools
import shlex
import typing as t

from ...module_utils.tools.how_many import how_many
from ..description.findings import CALM, Finding, finding_lines, grouped, spans
from ..plan.rules.all import rules_lines
from ..recipes.advice import advice_lines
from ..releases.artefacts import newer_text

Plan = t.Mapping[str, t.Any]
HEADER = ("SERVICE", "HOST", "DEVICES", "PORTS", "HEALTH")


def plan_table(plan: Plan, show: str = "table", refusal: str = "") -> list[str]:
    """The plan's lines: ``table`` (services, findings), ``commands`` (what runs, with its environment), ``memory`` (only the
    head), ``rules``, or ``advice`` (what documented deployments of the model set and the plan does not).

    ``json`` and ``diff`` show the table too. ``refusal`` is what the newest stable release refuses of the description. Raises ``ValueError`` for other values.
    """
    if show == "rules":
        return rules_lines()
    if show == "advice":
        return advice_lines(plan)
    if show not in ("table", "commands", "diff", "json", "memory"):
        raise ValueError(
            f"inference_plan_show is '{show}'; allowed values: table, advice, commands, diff, json, memory, rules"
        )
    head = [
        f"{plan['deployment']}: {plan['model']['name']}, release {plan['release']}, {plan['engine']} under "
        f"{plan['runtime']}, {count(plan['hosts'], 'host') + ', ' if plan['hosts'] else ''}"
        f"{count(plan['services'], 'service')}"
    ]
    builds = plan["software"]["engine"].get("builds", {})
    head += [build["text"] for dummy, build in sorted(builds.items())]
    head += _newer(plan, refusal) + _recipe(plan) + _entry(plan)
    if show == "memory":  # follows, from the facts of a check
        return head
    body = _commands(plan) if show == "commands" else _table(plan)
    return head + body + _findings(plan)


def _newer(plan: Plan, refusal: str) -> list[str]:
    """A newer stable release than the planned one, with what it needs."""
    builds = sorted(plan["software"]["engine"].get("builds", {}))
    found = newer_text(plan["release"], builds, plan["runtime_facts"]["contained"], refusal) if builds else ""
    return [found] if found else []


def _entry(plan: Plan) -> list[str]:
    url = entry_url(plan)
    return [f"Clients send requests to {url}"] if url else []


def entry_url(plan: Plan) -> str:
    """Where clients send requests; empty in a cluster, which decides it after the plan."""
    entry = plan["verify"].get("entry", {})
    if not entry.get("url") or (entry["kind"] == "direct" and len(plan["verify"]["colocated"]) > 1):
        return ""  # without a router clients choose an engine
    return str(entry["url"])


def _recipe(plan: Plan) -> list[str]:
    """Which recipe was used, and what of it the user replaced."""
    recipe = plan.get("recipe")
    if not recipe:
        return []
    replaced = ", ".join(recipe["replaced"]) or "nothing"
    return [f"Recipe {recipe['name']} ({recipe['source']}); replaced by the inventory: {replaced}"]


def count(things: t.Sized, noun: str, plural: str = "s") -> str:
    """A number with its noun: 1 host, 4 hosts."""
    return how_many(len(things), noun, plural)


def _table(plan: Plan) -> list[str]:
    """One line for each service; the ranks of one instance on one host share a line."""
    same_instance = itertools.groupby(
        plan["services"],
        key=lambda service: (service["start"]["stage"], service["kind"], service["instance"], service["host"]),
    )
    rows = [HEADER] + [_row(list(group)) for dummy, group in same_instance]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]


def _row(services: list[Plan]) -> tuple[str, ...]:
    first, last = services[0], services[-1]
    name = first["name"] if first is last else f"{first['name']} .. {last['name'].rsplit('-', 1)[-1]}"
    ports: dict[str, set[int]] = {}
    for service in services:
        for port in service["ports"]:
            ports.setdefault(port["name"], set()).update(range(port["first"], port["first"] + port["count"]))
    health = first["health"]["url"] if first["health"] else "-"
    devices = {device for service in services for device in service["devices"]}
    shown = ", ".join(f"{kind} {spans(numbers)}" for kind, numbers in ports.items())
    return name, first["host"], spans(devices) or "-", shown or "-", health


def _commands(plan: Plan) -> list[str]:
    """The commands as processes get them; in a cluster the scripts that pods run, which have their addresses from the pod."""
    if plan["runtime_facts"]["in_cluster"]:
        return _scripts(plan)
    lines: list[str] = []
    for service in plan["services"]:
        lines += ["", f"# {service['name']} on {service['host']} ({service['address']})"]
        lines += [f"# reads {path}" for path in service["source"]]
        lines += [f"{name}={shlex.quote(value)} \\" for name, value in service["env"].items()]
        lines += [f"{name}=(secret {secret}) \\" for name, secret in service["secret_env"].items()]
        lines += _broken(service["argv"])
    return lines


def _scripts(plan: Plan) -> list[str]:
    lines: list[str] = []
    for thing in (thing for thing in plan["objects"] if thing["kind"] == "ConfigMap"):
        for name in (name for name in thing["data"] if name.endswith(".sh")):
            lines += [
                "",
                f"# {name} of ConfigMap {thing['metadata']['name']}",
                *thing["data"][name].rstrip().split("\n"),
            ]
    return lines


def _broken(argv: t.Sequence[str]) -> list[str]:
    """A command line with each option on a separate line."""
    lines: list[list[str]] = [[]]
    for argument in argv:
        if argument.startswith("--"):
            lines.append([])
        lines[-1].append(shlex.quote(argument))
    texts = [" ".join(line) for line in lines if line]
    return [text + (" \\" if index < len(texts) - 1 else "") for index, text in enumerate(texts)]


def _findings(plan: Plan) -> list[str]:
    if not plan["findings"]:
        return []
    findings = [Finding.from_dict(data) for data in plan["findings"]]
    findings.sort(key=lambda finding: CALM.get(finding.severity, 0))  # what somebody has to read comes first
    title = count(grouped(findings), "finding")
    if len(grouped(findings)) < len(findings):
        title += f" at {len(findings)} places"
    return ["", f"{title}:", *finding_lines(findings, severity=True)[1:]]
