# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of values that a narrower scope hides everywhere: of the deployment by every pool, of a pool by each of its hosts."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ...description.values import canonical
from .arguments import SECRETS
from .base import Case, Rules

RULES = Rules()
Layers = t.Sequence[tuple[str, t.Mapping[str, t.Any]]]


@RULES.rule(
    "VALUE-HIDDEN",
    "Remove it, or remove the value that hides it.",
    "design of the planner: options of a host precede those of its pool, and these precede those of the deployment",
    "warning",
)
def hidden(case: Case) -> t.Iterator[Finding]:
    """Every pool, or every host of a pool, has a value of its own for this setting.

    The value is used nowhere, although it looks as if it were in effect.
    """
    used: set[str] = set()
    unused: dict[str, tuple[t.Any, dict[str, None]]] = {}
    for view in case.engine_views:
        for place, value, by in (*_places(view.layers("args")), *_places(view.layers("env"))):
            if by:
                unused.setdefault(place, (value, {}))[1][by] = None
            else:
                used.add(place)
    for place, (value, by) in unused.items():
        if place not in used:
            yield Finding.at(place, _shown(place, value), f"the engines take it from {', '.join(sorted(by))}")
    yield from _transfer(case)


def _transfer(case: Case) -> t.Iterator[Finding]:
    """The same of inference_kv_transfer, which each pool that answers requests may replace."""
    wide, pools = case.context.description.kv_transfer, dict(case.context.description.pools.present())
    pools.pop("encode", None)
    own = {f"inference_pools.{name}.kv_transfer": pool.kv_transfer for name, pool in pools.items()}
    if wide and own and all(own.values()) and wide not in own.values():
        yield Finding.at("inference_kv_transfer", wide, f"the engines take it from {', '.join(sorted(own))}")


def _places(layers: Layers) -> t.Iterator[tuple[str, t.Any, str]]:
    """Place and value of each setting, and the place of another value that precedes it, if there is one."""
    seen: dict[str, tuple[str, t.Any]] = {}
    for path, mapping in layers:
        here: dict[str, tuple[str, t.Any]] = {}
        for key, value in mapping.items():
            name, place = canonical(key), f"{path}.{key}"
            by, over = seen.get(name, (place, value))
            yield place, value, "" if _within(value, over) else by
            here[name] = (place, value)
        seen = {**here, **seen}


def _within(value: t.Any, over: t.Any) -> bool:
    """Whether a value is in effect although another one precedes it: an equal one, or a mapping that has all of it."""
    if isinstance(value, dict) and isinstance(over, dict):
        return all(key in over and _within(value[key], over[key]) for key in value)
    return str(value) == str(over)


def _shown(place: str, value: t.Any) -> t.Any:
    """The value; none of a variable or option that may hold a secret."""
    secret = canonical(place.rpartition(".")[2]) in SECRETS
    return "" if secret or ".env." in place or place.startswith("inference_env.") else value
