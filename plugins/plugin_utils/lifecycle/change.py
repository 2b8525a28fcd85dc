# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known before a change: what is planned, what is deployed, and what of both runs."""

from __future__ import annotations

import dataclasses
import functools
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..plan.linked import together
from ..plan.revision import incompatible
from ..plan.routers.base import RESTART
from .before import Key, Plan, Service, elsewhere, instances_of, old_instances

Pending = t.Mapping[str, t.Mapping[str, t.Any]]


@dataclasses.dataclass(frozen=True)
class Change:
    """The arguments of ``steps.steps``, and what follows from them alone."""

    pending: Pending
    plan: Plan
    deployed: Plan
    allow_pause: bool = False
    early: bool = False
    starts_first: bool = True
    unfinished: str = ""
    out: t.Container[str] = ()
    check: bool = False

    @functools.cached_property
    def instances(self) -> dict[Key, set[str]]:
        """Names of the planned services of each instance."""
        return instances_of(self.plan["services"])

    @functools.cached_property
    def down(self) -> set[str]:
        """Names of planned services that do not run."""
        return {name for found in self.pending.values() for name in found.get("down") or ()}

    @functools.cached_property
    def outdated(self) -> set[str]:
        """Names of planned services that have to restart."""
        return {name for found in self.pending.values() for name in found.get("outdated") or ()}

    @functools.cached_property
    def elsewhere(self) -> dict[str, Service]:
        """Deployed services that run, and that the plan does not have there, by name."""
        return elsewhere(self.plan, self.deployed, self.pending)

    @functools.cached_property
    def old(self) -> dict[Key, set[str]]:
        """Names of the services of each instance that serves as deployed, and not as planned."""
        return old_instances(self.plan, self.deployed, self.elsewhere, self.down)

    @functools.cached_property
    def keys_change(self) -> set[str]:
        """Names of the routers and engines that run with other keys than planned.

        What runs decides, and not what this run wrote: an earlier one may have written keys, and a new service has no others.
        """
        return self._between("rekeyed")

    @functools.cached_property
    def keys_mixed(self) -> set[str]:
        """Names of those that run with the planned keys already, if others do not: between them requests are refused."""
        return self._between("keyed") if self.keys_change else set()

    def _between(self, key: str) -> set[str]:
        kinds = {service["name"]: service["kind"] for service in self.plan["services"]}
        names = {name for found in self.pending.values() for name in found.get(key) or ()}
        return {name for name in names if kinds.get(name) in (*ENGINE_KINDS, "router")}

    @functools.cached_property
    def incompatible(self) -> bool:
        """Whether engines before and after the change cannot exchange KV cache."""
        return incompatible(self.plan, self.deployed)

    @functools.cached_property
    def linked(self) -> set[str]:
        """Names of planned engines that have to be restarted together."""
        return together(self.plan)

    @functools.cached_property
    def hosts(self) -> dict[str, str]:
        """The planned host of each service."""
        return {service["name"]: service["host"] for service in self.plan["services"]}

    def named(self, kind: str) -> set[str]:
        """Names of the planned services of a kind."""
        return named(self.plan, kind)

    @functools.cached_property
    def members_can_change(self) -> bool:
        """Whether the routers run, are the deployed ones, and take and give up engines while they run."""
        found = self.plan.get("members") or {}
        same = routers_of(self.plan) == routers_of(self.deployed)
        return bool(found) and found["api"] != RESTART and same and not self.named("router") & self.down


def named(plan: Plan, kind: str) -> set[str]:
    """Names of the services of a kind."""
    return {service["name"] for service in plan["services"] if service["kind"] == kind}


def routers_of(plan: Plan) -> tuple[t.Any, list[str]]:
    """How and where the members of the routers are changed."""
    section = plan.get("members") or {}
    return section.get("api"), [router["url"] for router in (section, *section.get("more", ())) if router]
