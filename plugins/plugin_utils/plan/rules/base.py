# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rule is, and how a plan is judged by all of them."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass

from ...description.findings import Finding
from ..deployment import Context
from ..placement import Instance, Process
from ..service import Service
from .engine_view import Words

ENGINES = ("prefill", "decode", "colocated", "encode")


@dataclass(frozen=True)
class Case:
    """What a rule looks at: the placed deployment and its rendered services."""

    context: Context
    services: tuple[Service, ...]

    @functools.cached_property
    def engines(self) -> tuple[tuple[Service, Instance, Process], ...]:
        """Every engine process with its place."""
        places = {
            one.process_name(process): (one, process) for one in self.context.instances for process in one.processes
        }
        return tuple((service, *places[service.name]) for service in self.services if service.kind in ENGINES)

    @functools.cached_property
    def words(self) -> tuple[Words, ...]:
        """One engine process for each set of words that the user gave: a pool's, or a host's in a pool.

        Rules of arguments look at these: a thousand hosts with the same words are judged once.
        """
        found: dict[tuple[str, str], Words] = {}
        for service, instance, process in self.engines:
            own = process.host.name if process.host.name in instance.pool.hosts else ""
            key = (instance.kind, own)
            if key not in found or (found[key].service.health is None and service.health is not None):
                found[key] = Words(self.context.description, service, instance, process)
        return tuple(found.values())

    def of(self, *kinds: str) -> tuple[Words, ...]:
        """The words of some pools."""
        return tuple(one for one in self.words if one.kind in kinds)

    def named(self, kind: str) -> Service | None:
        """The first service of a kind."""
        return next((one for one in self.services if one.kind == kind), None)

    @property
    def npu(self) -> bool:
        """Whether engines run on NPUs."""
        return self.context.description.engine == "vllm_ascend"

    @property
    def in_pods(self) -> bool:
        """Whether Kubernetes runs the engines: their hosts are not known then, and a pod fills in what only it knows."""
        return self.context.description.runtime == "kubernetes"

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode are apart."""
        return bool(self.context.description.pools.prefill and self.context.description.pools.decode)


@dataclass(frozen=True)
class Found:
    """One violation of a rule: where, what stands there, what it is in particular, and a hint for the way out.

    ``severity`` replaces the rule's where a case is milder.
    """

    path: str
    value: t.Any = ""
    message: str = ""
    fix: str = ""
    severity: str = ""


@dataclass(frozen=True)
class Rule:
    """A rule with its reason; ``check`` yields every violation in a case."""

    id: str
    severity: str
    reason: str
    fix: str
    source: str
    check: t.Callable[[Case], t.Iterable[Found]]


def judge(case: Case, rules: t.Iterable[Rule], ignored: t.Collection[str]) -> list[Finding]:
    """Every violation of every rule; an ignored rule's come back with severity ``accepted``."""
    complaints = []
    for rule in rules:
        for one in rule.check(case):
            severity = "accepted" if rule.id in ignored else one.severity or rule.severity
            value = "" if one.value is None or one.value == "" else str(one.value)[:160]
            detail = f"{one.message.rstrip('.')}. " if one.message else ""
            fix = f"{one.fix.rstrip()} " if one.fix else ""
            complaints.append(
                Finding(one.path, rule.id, detail + rule.reason, (fix + rule.fix).strip(), severity, value, rule.source)
            )
    return sorted(set(complaints))


Check = t.Callable[[Case], t.Iterable[Found]]


class Rules(list[Rule]):
    """The rules of one file, in the order in which they are written."""

    def rule(self, id_: str, fix: str, source: str, severity: str = "error") -> t.Callable[[Check], Check]:
        """Make a rule of a check; the first paragraph of the check's docstring is the rule's reason."""

        def decorate(check: Check) -> Check:
            reason = " ".join((check.__doc__ or "").split("\n\n")[0].split())
            self.append(Rule(id_, severity, reason, fix, source, check))
            return check

        return decorate
