# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routers of deployments from their plans: one that a run has written on the controller, or what the same inventory plans.

No host is asked: who is root on one of them would choose where the engines' keys and all prompts go.
"""

from __future__ import annotations

import json
import os
import typing as t
from urllib.parse import urlsplit

from ...module_utils.status.plan import PLAN_VERSION
from ..description.findings import Finding, SettingsError
from ..description.inventory import GROUP
from ..description.variables import PREFIX
from ..hosts.answered import beside
from ..plan.handover import planned
from ..plan.service import bracketed

NAME, USUAL = PREFIX + "deployment", "inference"
SECRET = "//inference_secrets/"  # in place of a path: the key is that of the deployment's secrets
KINDS = ("balancer", "router")  # the first that a plan has is what clients use
Found = t.Mapping[str, t.Mapping[str, str | list[str]]]


def planned_deployments(settings: t.Any, hostvars: t.Any, groups: t.Any, folder: str) -> dict[str, dict[str, t.Any]]:
    """``{deployment: {routers, api_key_file}}`` of those that models name and whose routers ``settings`` do not list.

    A deployment without ``plan`` is the hosts of this inventory with its name as ``inference_deployment``; if there are none, it is left out, and
    the settings are refused. ``folder``: where relative paths of plans begin. Raises PlanError, also those of the plans.
    """
    found = {}
    for name, given in _unrouted(settings).items():
        path = beside(str(given["plan"]), folder) if given.get("plan") else ""
        if path:
            plan = _stored(name, path)
        else:
            hosts = [host for host in map(str, groups["all"]) if _named(hostvars[host]) == name and host != "localhost"]
            if not hosts:
                continue
            own = {key: hostvars["localhost"][key] for key in hostvars["localhost"] if key != GROUP}
            plan = planned(
                own, hostvars, {group: [each for each in groups[group] if each in hosts] for group in groups}
            )
        key = given.get("api_key_file", "")
        try:
            wanted, routers = _wants_key(plan), _routers(name, plan)
        except (AttributeError, LookupError, StopIteration, TypeError) as error:  # the file was changed by hand
            if not path:
                raise
            raise _unreadable(name, path, repr(error)) from None
        if wanted and not key:
            if path:
                problem = "its engines ask for a key, and a plan has none"
                fix = "Write the key into a file of its own, and name it in api_key_file."
                raise SettingsError([_finding(f"{name}.api_key_file", problem, fix)])
            key = SECRET + name
        found[name] = {"routers": routers, **({"api_key_file": key} if key else {})}
    return found


def with_planned(settings: t.Any, found: Found) -> t.Any:
    """The settings with what ``planned_deployments`` found."""
    if not found:
        return settings
    given = settings.get("deployments") or {}
    filled = {name: {**(given.get(name) or {}), **each} for name, each in found.items()}
    return {**settings, "deployments": {**given, **filled}}


def secret_keys(found: Found, hostvars: t.Any) -> dict[str, str]:
    """``{path: key}`` of keys that are in the secrets of their deployments. Values are secret."""
    names = [name for name, each in found.items() if each.get("api_key_file") == SECRET + name]
    keys = {}
    for host in hostvars if names else ():
        if host != "localhost" and _named(hostvars[host]) in names and PREFIX + "secrets" in hostvars[host]:
            keys[SECRET + _named(hostvars[host])] = str(hostvars[host][PREFIX + "secrets"]["api_key"])
    return keys


def entry_alone(hostvars: t.Any, groups: t.Any) -> bool:
    """Whether no host of the inventory has a variable that describes a deployment."""
    words = [PREFIX + word for word in ("deployment", "model", "pools", "recipe")]
    return not any(word in hostvars[host] for host in groups["all"] for word in words)


def _unrouted(settings: t.Any) -> dict[str, dict[str, t.Any]]:
    """What of the settings is asked of plans. Whatever has another form is left to ``read_entry``, which refuses it."""

    def mapping(value: t.Any) -> dict[str, t.Any]:
        return dict(value) if isinstance(value, t.Mapping) else {}

    settings = mapping(settings)
    if settings.get("state") == "absent":
        return {}  # what is removed needs no routers, and no plan that can be read
    given, models = mapping(settings.get("deployments")), mapping(settings.get("models"))
    names = [*given]
    for model in map(mapping, models.values()):
        names += [model.get("deployment"), *mapping(model.get("deployments")), model.get("fallback")]
    texts = dict.fromkeys(name for name in names if isinstance(name, str) and name)
    wanted = {name: mapping(given.get(name)) for name in texts if name in given or name not in models}
    return {name: each for name, each in wanted.items() if not each.get("routers")}


def _named(variables: t.Any) -> str:
    """The deployment of a host. A host without any variable of a deployment has none."""
    if NAME in variables:
        return str(variables[NAME])
    return USUAL if PREFIX + "model" in variables else ""


def _stored(name: str, path: str) -> dict[str, t.Any]:
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            plan = json.load(file)
        if plan["plan_version"] != PLAN_VERSION:
            raise ValueError(f"its version is {plan['plan_version']}, and this collection reads {PLAN_VERSION}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unreadable(name, path, str(error)) from None
    return dict(plan)


def _unreadable(name: str, path: str, error: str) -> SettingsError:
    fix = "Write it anew: ansible-playbook -i INVENTORY ascend.inference.site -e inference_plan_file=FILE, or list routers."
    return SettingsError([_finding(f"{name}.plan", f"the plan {path} cannot be read: {error}", fix)])


def _wants_key(plan: t.Mapping[str, t.Any]) -> bool:
    """Whether requests to the routers need the engines' key: no router adds it."""
    routers = [service for service in plan["services"] if service["kind"] == "router"]
    return bool(plan["verify"].get("engine_api_key")) and not any(router["secret_env"] for router in routers)


def _routers(name: str, plan: t.Mapping[str, t.Any]) -> list[str]:
    """Addresses with ports of what clients of a deployment use, without its own frontend, whose place the entry takes."""
    entry = plan["verify"]["entry"]
    kinds = [[service for service in plan["services"] if service["kind"] == kind] for kind in KINDS]
    behind = next(filter(None, kinds), [])
    kept = plan.get("virtual_address") or {}
    if entry["kind"] == "frontend" and (plan.get("firewall") or {}).get("state") == "present":
        problem = "its routers are open for its own hosts alone, because it has a frontend and a firewall"
        fix = "Remove inference_router.frontend there, as the entry has TLS and keys itself, and run its playbook site."
        raise SettingsError([_finding(name, problem, fix)])
    if kept and behind:
        return [f"{bracketed(kept['address'])}:{_port(behind[0])}"]
    if behind:
        addresses = {host["name"]: host["address"] for host in plan["hosts"]}
        return [f"{bracketed(addresses[service['host']])}:{_port(service)}" for service in behind]
    url = urlsplit(entry["url"])
    if url.scheme != "http":
        fix = "List routers: the entry reaches them without TLS."
        raise SettingsError([_finding(name, f"clients of its plan use '{entry['url']}'", fix)])
    return [f"{bracketed(url.hostname or '')}:{url.port or 80}"]


def _port(service: t.Mapping[str, t.Any]) -> int:
    return int(next(port["first"] for port in service["ports"] if port["name"] == "api"))


def _finding(path: str, problem: str, fix: str) -> Finding:
    why = "The entry takes the routers from the plan, and nothing was written."
    return Finding(f"inference_entry.deployments.{path}", "ENTRY-SETTING", problem, fix, why=why)
