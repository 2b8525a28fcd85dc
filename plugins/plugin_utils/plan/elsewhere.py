# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a key that a record does not know belongs: another record, the secrets, the environment, or the options of a program."""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

from ..description.fabric import Fabric
from ..description.findings import Finding
from ..description.meaning import KEYS, PLACES, VARIABLES, key_meant
from ..description.tune import Tune
from ..description.values import canonical
from ..description.variables import PREFIX, Description, Pools
from ..releases import options
from .rules.engine_view import DERIVED

POOL = "inference_pools.<pool>"
SECRETS = ("api_key", "client_keys")
# Options that the planner writes from a variable of another name
OPTIONS = {
    "api-key": "inference_secrets.api_key",
    "enable-expert-parallel": f"{POOL}.expert_parallel",
    "host": "inference_address of the host",
    "kv-transfer-config": "inference_kv_transfer",
    "model": "inference_model.path",
    "served-model-name": "inference_model.name",
    **{name: f"{POOL}.{key}" for name, key in DERIVED.items()},
}
MOST = 2  # places of a key; one that stands in more says too little
RECORD = re.compile(r"inference_(?P<name>pools\.\w+|router|mooncake_master)")
ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")


def told_where(findings: t.Iterable[Finding]) -> list[Finding]:
    """The findings; those of an unknown key say where it belongs, if its name has a meaning elsewhere."""
    return [_told(finding) if finding.id == "VARIABLE-UNKNOWN" else finding for finding in findings]


def _told(finding: Finding) -> Finding:
    """An unknown key with its place. Another name of a known key, and a misspelt one that nothing else has, keep their fix."""
    parent, _dot, key = finding.path.rpartition(".")
    name = key if parent else key.removeprefix(PREFIX)
    alike = "Did you mean" in finding.fix
    aliased = alike and (name in VARIABLES if not parent else key_meant(name) in (*KEYS.values(), *PLACES))
    place = "" if aliased or "unknown" not in finding.problem else _place(parent, name, alike)
    return dataclasses.replace(finding, fix=place) if place else finding


def _place(parent: str, name: str, alike: bool) -> str:
    """The fix for a key of a record, whose path is empty for a variable; ``alike``: the record has one that is spelt alike."""
    record = RECORD.fullmatch(parent)
    in_pool = parent.startswith("inference_pools.")
    option, args = canonical(name), f"{parent if record else 'inference'}{'.' if record else '_'}"
    if name in SECRETS:
        return f"Write it as inference_secrets.{name}, which no command line, log or diff shows."
    if option in OPTIONS and (in_pool or not parent):
        source = OPTIONS[option].replace(POOL, parent if in_pool else POOL)
        return f"Set {source} instead, from which the planner writes --{option}, and remove this one."
    if ENVIRONMENT.fullmatch(name) and (record or not parent):
        return f"Write it into the environment: {args}env: {{{name}: VALUE}}."
    own = _options("vllm_router" if "router" in parent else "mooncake_master") if record and not in_pool else set()
    if own & {name, option}:
        return f"It is an option of the program. Write it as {args}args: {{{(own & {name, option}).pop()}: VALUE}}."
    if option in _options("vllm"):
        args = args if in_pool else PREFIX
        return f"It is an option of vLLM. Write it as {args}args: {{{option}: VALUE}}."
    places = [] if alike else [place for place in _places().get(name, ()) if place.rpartition(".")[0] != parent]
    return f"Did you mean {' or '.join(places)}? Move it there, or remove it." if 0 < len(places) <= MOST else ""


def _options(program: str) -> set[str]:
    """The names of a program's options in any version."""
    return {option.name for option in options.options(program)}


@functools.cache
def _places() -> dict[str, list[str]]:
    """The paths of all keys below variables, by the name of the key; those of all pools are one."""
    found: dict[str, list[str]] = {}
    records = [(f"{PREFIX}fabric", Fabric), (f"{PREFIX}tune", Tune), (PREFIX.rstrip("_"), Description)]
    while records:
        path, record = records.pop()
        hints = t.get_type_hints(record)
        for field in dataclasses.fields(record):
            below = f"{PREFIX}{field.name}" if record is Description else f"{path}.{field.name}"
            below = POOL if record is Pools else below
            if record not in (Description, Pools):
                found.setdefault(field.name, []).append(below)
            kinds = [
                kind for kind in (hints[field.name], *t.get_args(hints[field.name])) if dataclasses.is_dataclass(kind)
            ]
            records += [(below, t.cast(type, kind)) for kind in kinds if (below, kind) not in records]
    return {name: sorted(set(paths)) for name, paths in found.items()}
