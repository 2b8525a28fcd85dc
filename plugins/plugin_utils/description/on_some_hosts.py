# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of the deployment that only some hosts of its pools have: they would silently count for all."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..runtimes.registry import in_cluster
from .findings import Finding, first_names
from .loader import plain
from .values import natural
from .variables import PREFIX

POOLS = PREFIX + "pools"
# About one service, or about the whole deployment wherever they are written: nobody means a host by them.
OF_NO_HOST = frozenset(
    PREFIX + name for name in ("mooncake_master", "probe", "releases", "router", "rules_ignore", "secrets", "verify")
)
OF_POOLS = (PREFIX + "args", PREFIX + "env")  # which a pool and a host of it have as well
WHY = "It is a variable of the whole deployment: all hosts would get the value, those without it as well."

Variables = t.Mapping[str, t.Any]


def on_some_hosts(
    description: Variables, controller: Variables, hostvars: t.Mapping[str, Variables], groups: t.Mapping[str, t.Any]
) -> list[Finding]:
    """A finding for each variable of ``description`` that some hosts set and not all hosts of the pools.

    ``hostvars`` has the deployment's hosts. What the controller has with the same value counts for all; in a cluster the
    inventory has no hosts of pools.
    """
    pools = {pool: [name for name in members if name in hostvars] for pool, members in _pools(description, groups)}
    planned = sorted({name for members in pools.values() for name in members}, key=natural)
    if in_cluster(description.get(PREFIX + "runtime")):
        return []
    found = []
    for key in sorted(set(description) - OF_NO_HOST):
        lacking = [name for name in planned if key not in hostvars[name]]
        having = [name for name in hostvars if key in hostvars[name]] if lacking else []
        if having and not (key in controller and plain(controller[key]) == description[key]):
            problem = f"is set on {first_names(having)}, and not on {first_names(lacking)}"
            found.append(Finding(key, "VARIABLE-SOME-HOSTS", problem, _fix(key, set(having), pools), why=WHY))
    return found


def _pools(description: Variables, groups: t.Mapping[str, t.Any]) -> t.Iterator[tuple[str, list[str]]]:
    """Each pool with the hosts of its group. A recipe may add any pool."""
    given = description.get(POOLS)
    given = given if isinstance(given, t.Mapping) else {}
    for pool in ENGINE_KINDS if PREFIX + "recipe" in description or not given else map(str, given):
        settings = given.get(pool)
        group = settings.get("group") if isinstance(settings, t.Mapping) else None
        yield pool, [str(name) for name in groups.get(str(group or pool), ())]


def _fix(key: str, having: set[str], pools: t.Mapping[str, t.Sequence[str]]) -> str:
    """Where to write it: for the pools that have it on all hosts, for single hosts, or for all."""
    everywhere = (
        "write it where all hosts have it, such as group_vars/all.yml or the variables of a group with all of them"
    )
    if key not in OF_POOLS:
        return (
            f"{everywhere[0].upper()}{everywhere[1:]}. If other hosts belong to another deployment, select this one's with inference_group "
            "(a group that has its hosts only)."
        )
    name, places = key[len(PREFIX) :], []
    for pool, members in pools.items():
        with_it = [host for host in members if host in having]
        whole = len(with_it) == len(members)
        places += (
            [f"{POOLS}.{pool}.{name}"] if with_it and whole else [f"{POOLS}.{pool}.hosts.{h}.{name}" for h in with_it]
        )
    shown = f"{', '.join(places[:3])}{' and so on' if len(places) > 3 else ''}"
    return f"For these hosts only: move it to {shown}. For all: {everywhere}." if places else f"For all: {everywhere}."
