# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules, and how all of them are applied to a plan."""

from __future__ import annotations

import dataclasses
import functools
import typing as t
from dataclasses import dataclass

from ....module_utils.tools.engine_kinds import ENGINE_KINDS
from ...description.findings import REASON, Finding
from ...description.variables import PREFIX, Description, Model, Pools
from ..deployment import Context
from ..placement import Instance, Process
from ..service import Service
from .accepted import Accepted, accepted
from .engine_view import EngineView

USUAL = Description(Model(""), Pools())


@dataclass(frozen=True)
class Case:
    """The input of a rule: the placed deployment and its rendered services."""

    context: Context
    services: tuple[Service, ...]
    refusal: t.Callable[[str], str] | None = (
        None  # the first error of this description with another release; empty without one
    )
    empty: tuple[str, ...] = ()  # places of variables that are written without a value
    written: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)  # the variables as the user wrote them

    @functools.cached_property
    def engines(self) -> tuple[tuple[Service, Instance, Process], ...]:
        """Every engine process with its instance and process record."""
        places = {
            instance.process_name(process): (instance, process)
            for instance in self.context.instances
            for process in instance.processes
        }
        return tuple((service, *places[service.name]) for service in self.services if service.kind in ENGINE_KINDS)

    @functools.cached_property
    def engine_views(self) -> tuple[EngineView, ...]:
        """One engine process for each distinct group of settings: a pool's, or a host's in a pool.

        Rules of options use these, so that a thousand hosts with the same settings are checked once.
        """
        found: dict[tuple[str, str, str], EngineView] = {}
        for service, instance, process in self.engines:
            key = _settings_of(instance, process)
            if key not in found or (found[key].service.health is None and service.health is not None):
                found[key] = EngineView(self.context.description, service, instance, process)
        return tuple(found.values())

    @functools.cached_property
    def _alike(self) -> dict[tuple[str, str, str], list[tuple[Service, Instance, Process]]]:
        found: dict[tuple[str, str, str], list[tuple[Service, Instance, Process]]] = {}
        for service, instance, process in self.engines:
            found.setdefault(_settings_of(instance, process), []).append((service, instance, process))
        return found

    def processes_like(self, view: EngineView) -> t.Iterator[EngineView]:
        """A view of every engine process that has the settings of ``view``, itself among them.

        A rule that compares a setting with something of the process (its port, rank, address or interface) judges all of
        them: what fits the first process need not fit the others.
        """
        for service, instance, process in self._alike[_settings_of(view.instance, view.process)]:
            yield EngineView(self.context.description, service, instance, process)

    def of(self, *kinds: str) -> tuple[EngineView, ...]:
        """The engine views of some pools."""
        return tuple(view for view in self.engine_views if view.kind in kinds)

    def named(self, kind: str) -> Service | None:
        """The first service of a kind."""
        return next((service for service in self.services if service.kind == kind), None)

    def sets(self, record: str, name: str) -> bool:
        """Whether the user asks for something by a variable, or by one of ``record`` (``router``, ``kubernetes.router``): also by writing the default.

        An empty value, a zero and auto ask for nothing.
        """
        given: t.Any = self.context.description
        usual: t.Any = USUAL
        word: t.Any = self.written
        for index, part in enumerate([*filter(None, record.split(".")), name]):
            word = word.get(part if index else PREFIX + part) if isinstance(word, t.Mapping) else None
            given, usual = getattr(given, part), getattr(usual, part)
        return given != usual or bool(word and given and given != "auto")

    @property
    def npu(self) -> bool:
        """Whether engines run on NPUs."""
        return self.context.engine.npus

    @property
    def in_pods(self) -> bool:
        """Whether a cluster runs the engines. Their hosts are then unknown, and the pod inserts its address and name."""
        return self.context.runtime.in_cluster

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode are disaggregated."""
        return bool(self.context.description.pools.prefill and self.context.description.pools.decode)


def _settings_of(instance: Instance, process: Process) -> tuple[str, str, str]:
    """The pool, and the host and rank if they have settings of their own there: processes with the same have the same settings of the user."""
    rank, pool = str(process.first_rank), instance.pool
    return (
        instance.kind,
        process.host.name if process.host.name in pool.hosts else "",
        rank if rank in pool.ranks else "",
    )


@dataclass(frozen=True)
class Rule:
    """A rule of plans or of observed hosts; ``check`` yields every violation in a case.

    ``why`` is the consequence of a violation and ``fix`` what to do; ``problem`` is the general form of what is wrong,
    for the rules page: by default the first paragraph of the check's docstring. What is wrong in a
    concrete case is the violation's own ``problem``.
    """

    id: str
    severity: str
    why: str
    fix: str
    source: str
    check: t.Callable[[t.Any], t.Iterable[Finding]]
    problem: str = ""

    def __post_init__(self) -> None:
        if not self.problem:
            object.__setattr__(self, "problem", paragraphs(self.check)[0])

    def as_dict(self) -> dict[str, str]:
        """The rule as plain data: id, severity, problem, why, fix, source."""
        return {
            "id": self.id,
            "severity": self.severity,
            "problem": self.problem,
            "why": self.why,
            "fix": self.fix,
            "source": self.source,
        }


def paragraphs(check: t.Callable[..., t.Any]) -> list[str]:
    """The paragraphs of a check's docstring, each on one line."""
    return [" ".join(part.split()) for part in (check.__doc__ or "").split("\n\n")]


def judge(case: t.Any, rules: t.Iterable[Rule], ignored: t.Iterable[t.Any]) -> list[Finding]:
    """Every violation of every rule.

    ``ignored`` has the entries of inference_rules_ignore; what they accept comes back with severity ``accepted`` and, in
    place of the fix, with the reason that they give.
    """
    entries = [Accepted.read(entry) for entry in ignored]
    findings = set()
    for rule in rules:
        for violation in rule.check(case):
            finding = Finding(
                violation.path,
                rule.id,
                violation.problem or rule.problem,
                f"{violation.fix.rstrip()} {rule.fix}".strip(),
                violation.severity or rule.severity,
                violation.value,
                violation.why or rule.why,
                rule.source,
            )
            entry = accepted(finding, entries)
            if entry:
                fix = f"{REASON}{entry.reason}" if entry.reason else finding.fix
                finding = dataclasses.replace(finding, severity="accepted", fix=fix)
            findings.add(finding)
    return sorted(findings)


Check = t.Callable[[Case], t.Iterable[Finding]]


class Rules(list[Rule]):
    """The rules of one file, in the order in which they are written."""

    def rule(self, id_: str, fix: str, source: str, severity: str = "error") -> t.Callable[[Check], Check]:
        """Register a check as a rule.

        The first paragraph of the check's docstring states the problem in general, the second why it matters. Each
        violation that the check yields states the concrete problem (``Finding.at``).
        """

        def decorate(check: Check) -> Check:
            problem, *why = paragraphs(check)
            if not why:
                raise ValueError(
                    f"rule {id_}: the docstring of {check.__name__} has no second paragraph (why it matters)"
                )
            self.append(Rule(id_, severity, " ".join(why), fix, source, check, problem))
            return check

        return decorate
