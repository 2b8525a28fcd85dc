# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook check asks each host of an entry, and the findings of an entry before it is there: of its files on the controller, and of its hosts.

Questions, and what of the settings judges the answers, are computed before any host is asked.
"""

from __future__ import annotations

import typing as t

from ..description.findings import Finding, finding_lines
from ..description.values import natural
from ..hosts.check_plan import SEVERITIES
from ..hosts.readable import judged
from ..hosts.report_text import verdict
from ..plan.rules.base import judge
from . import haproxy
from .checks import RULES as OF_HOSTS
from .checks import Answers
from .checks_of_files import RULES as OF_FILES
from .checks_of_files import Files
from .made import entry_service
from .pair import pair_of
from .reading import read_entry, ways
from .settings import Entry
from .twin import entry_twin

Findings = list[dict[str, str]]


def files_checked(
    settings: t.Any,
    hosts: t.Mapping[str, str],
    texts: t.Mapping[str, str],
    paths: t.Mapping[str, str],
    now: float,
    ignored: t.Sequence[str] = (),
) -> Findings:
    """Findings of the files on the controller, see Files. Raises PlanError."""
    case = Files(read_entry(settings, hosts), texts, paths, now)
    return [finding.as_dict() for finding in judge(case, OF_FILES, ignored)]


def entry_checked(
    questions: t.Mapping[str, t.Any],
    facts: t.Mapping[str, t.Mapping[str, t.Any]],
    files: Findings,
    ignored: t.Sequence[str] = (),
) -> dict[str, t.Any]:
    """``{lines, findings, errors}``. ``facts``: results of the module entry_check_info; ``files``: what ``files_checked`` returned."""

    def of_hosts(known: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[Finding]:
        return judge(Answers(questions, known), OF_HOSTS, ignored)

    found = judged(of_hosts, facts, lambda _host, problem: {"failed": True, "msg": problem})
    found += [Finding.from_dict(each) for each in files]
    found.sort(key=lambda finding: (SEVERITIES.index(finding.severity), natural(finding.path), finding))
    findings = [finding.as_dict() for finding in found]
    head = f"The entry on {', '.join(facts) or 'no host'}: {verdict(findings)}."
    errors = sum(finding.severity == "error" for finding in found)
    return {"lines": [head, *finding_lines(found, severity=True)], "findings": findings, "errors": errors}


def entry_questions(
    settings: t.Any, hosts: t.Mapping[str, str], limited: t.Sequence[str]
) -> dict[str, dict[str, t.Any]]:
    """By the names of ``hosts``: ``options`` of the module entry_check_info without keys and time, and what judges them. No secret. Raises PlanError.

    Nothing of an entry that is to be removed. ``limited``: hosts that are asked. Two hosts meet only if both of them are.
    """
    entry = read_entry(settings, hosts)
    if entry.state == "absent":
        return {}
    common = {
        "two": len(hosts) > 1,
        "tls": not entry.plain_http,
        "usage": entry.usage,
        "periods": any(team.tokens_per_day or team.tokens_per_month for team in entry.teams.values()),
        "arriving_mib": entry.arriving_mib,
        "models": _models(entry),
    }
    files = entry_twin(settings, hosts)["files"]
    return {host: {**common, "options": _options(entry, settings, hosts, host, limited, files)} for host in hosts}


def _options(
    entry: Entry,
    settings: t.Any,
    hosts: t.Mapping[str, str],
    host: str,
    limited: t.Sequence[str],
    files: list[dict[str, str]],
) -> dict[str, t.Any]:
    service, pair = entry_service(settings, hosts, host), pair_of(hosts, host)
    section = service["kept"]["virtual_address"]
    kept = {
        "deployment": service["kept"]["deployment"],
        "address": section.get("virtual", ""),
        "own": pair.own.address,
        **{key: section.get(key, "") for key in ("variable", "interface", "program")},
        **{key: each[key] for each in section.get("hosts", []) for key in ("configuration", "script")},
    }
    meets = bool(pair.other) and set(hosts) <= set(limited)
    return {
        "program": haproxy.PROGRAM,
        "package": haproxy.PACKAGE,
        "files": files,
        "listens": service["listens"],
        "configuration": service["configuration"],
        "routers": _routers(entry),
        "address": entry.address,
        "kept": kept if section else {},
        "pair": {"own": pair.own.address, "other": pair.other.address, "port": entry.peer_port}
        if meets and pair.other
        else {},
    }


def _routers(entry: Entry) -> list[dict[str, str]]:
    """Each router once, as the entry asks it."""
    found = {
        (address, each.health, each.api_key_file): None
        for each in entry.deployments.values()
        for address in each.routers
    }
    return [{"address": address, "health": health, "key": key} for address, health, key in found]


def _models(entry: Entry) -> dict[str, list[str]]:
    """The models that may be answered by a router, by its address."""
    found: dict[str, list[str]] = {}
    for name, model in sorted(entry.models.items()):
        for each in ways(model):
            for address in entry.deployments[each].routers if each in entry.deployments else ():
                found.setdefault(address, []).append(name)
    return found


def entry_engine_keys(settings: t.Any, hosts: t.Mapping[str, str], texts: t.Mapping[str, str]) -> dict[str, str]:
    """Keys of engines by the names that the questions have for them. Values are secret. Raises PlanError."""
    entry = read_entry(settings, hosts)
    paths = {each.api_key_file for each in entry.deployments.values()} - {""}
    return {path: texts[path].strip() for path in sorted(paths)}
