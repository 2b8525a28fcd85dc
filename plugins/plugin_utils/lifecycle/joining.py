# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines have to be proven before the running routers get them."""

from __future__ import annotations

import typing as t

Plan = t.Mapping[str, t.Any]


def joining_engines(
    plan: Plan, engines: t.Sequence[Plan], members: t.Iterable[Plan], down: t.Container[str]
) -> dict[str, list[str]]:
    """``{joining, peers}``: names of engines to prove, and of all that a router will have; both empty if no router of the plan runs.

    ``engines`` with name and url; ``members``: the result of router_members in check mode of each host with a router; ``down``: services that
    did not run before.
    """
    routers = [service["name"] for service in plan["services"] if service["kind"] == "router"]
    if all(name in down for name in routers):
        return {"joining": [], "peers": []}
    return engines_to_prove(engines, members)


def engines_to_prove(engines: t.Iterable[Plan], members: t.Iterable[Plan]) -> dict[str, list[str]]:
    """``{joining, peers}`` as `joining_engines`, of what the routers answered."""
    engines = list(engines)
    added, after = set(), set()
    for result in members:
        added.update(result.get("added") or ())
        for urls in (result.get("after") or {}).values():
            after.update(urls)
    return {
        "joining": [engine["name"] for engine in engines if engine["url"] in added],
        "peers": [engine["name"] for engine in engines if engine["url"] in after],
    }
