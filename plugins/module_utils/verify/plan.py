# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The `verify` section of the plan: what to prove, and the URLs.

The tables below define its structure (keys, types, required keys); docs: the module `service_verify`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..runtime.registry import LOGS
from ..tools.engine_kinds import ANSWERING_KINDS

MODES = ("disaggregated", "pool", "disaggregated+pool", "colocated")
PROTOCOLS = ("prefill_answers", "bootstrap", "layerwise", "none")
LOG_KINDS = (*sorted(LOGS), "none")
KNOWN_LIMITS = ("empty_200",)


class PlanError(ValueError):
    """The section is invalid; `problems` contains all violations, one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Field(NamedTuple):
    """One key: its type, its default (`...` = required), the allowed values (empty: any).

    inner: the keys of a mapping, or of each mapping of a list; None for a list of strings.
    """

    kind: type
    default: Any = ...
    choices: tuple[str, ...] = ()
    inner: Any = None


class Log(NamedTuple):
    kind: str
    path: str
    unit: str


class Engine(NamedTuple):
    """One HTTP API server of an engine; role is prefill, decode or colocated.

    ranks: data-parallel ranks behind it. bootstrap: URL of the registry of vLLM's own Mooncake connector, "" for others.
    """

    name: str
    role: str
    host: str
    url: str
    log: Log
    ranks: int = 1
    bootstrap: str = ""


class Entry(NamedTuple):
    name: str
    host: str
    url: str
    kind: str
    api_key: str
    ca_path: str
    validate_certs: bool
    log: Log
    server_name: str = ""
    refused_paths: tuple[str, ...] = ()


class Service(NamedTuple):
    """A router behind the entry, or a master of the store with the URL of its metrics port."""

    name: str
    host: str
    url: str
    log: Log


class Store(NamedTuple):
    """The store; clients and capacity_bytes 0 = not compared; writers/readers are names of engines; masters: only if there are several."""

    name: str
    host: str
    master_url: str
    clients: int
    capacity_bytes: int
    writers: tuple[str, ...]
    readers: tuple[str, ...]
    log: Log
    masters: tuple[Service, ...] = ()


class Lines(NamedTuple):
    """Fixed parts of log lines, as for `grep -F`; empty = not printed by this release."""

    transferred: str
    delayed: str
    listening: str


class Release(NamedTuple):
    name: str
    has_prompt_tokens_by_source: bool
    lines: Lines
    known_limits: tuple[str, ...]
    has_rank_header: bool = False


class Transfer(NamedTuple):
    """The KV transfer: its protocol, and the expected log lines."""

    protocol: str
    listeners_per_prefill: int
    lines_per_request: int


class VerifyPlan(NamedTuple):
    mode: str
    model: str
    entry: Entry
    engines: tuple[Engine, ...]
    store: Store | None
    transfer: Transfer
    release: Release
    block_size: int
    min_prompt_tokens: int
    max_tokens: int
    match: str
    max_pairs: int
    routers: tuple[Service, ...] = ()
    parsers: tuple[str, ...] = ()
    prompts: int = 3
    near_tie: float = 0.1
    agreement: int = 100
    logprob_difference: float = 0.05
    burst: int = 8
    chunk_tokens: int = 0
    long_prompt_tokens: int = 0
    changed: tuple[str, ...] = ()
    reason: str = ""

    @property
    def disaggregated(self) -> bool:
        return self.mode.startswith("disaggregated")

    def role(self, role: str) -> tuple[Engine, ...]:
        return tuple(engine for engine in self.engines if engine.role == role)

    def engine(self, name: str) -> Engine:
        return next(engine for engine in self.engines if engine.name == name)

    @property
    def compared_tokens(self) -> int:
        """The number of generated tokens that must be equal: all requested ones, or the N of `prefix:N`."""
        return self.max_tokens if self.match == "exact" else min(int(self.match.split(":")[1]), self.max_tokens)


_LOG = {
    "kind": Field(str, "none"),
    "path": Field(str, ""),
    "unit": Field(str, ""),
}
_SERVICE = {"name": Field(str), "host": Field(str, ""), "url": Field(str), "log": Field(dict, {}, inner=_LOG)}
_ENGINE = dict(_SERVICE, ranks=Field(int, 1), bootstrap=Field(str, ""))
_ENTRY = {
    "name": Field(str, "entry"),
    "host": Field(str, ""),
    "url": Field(str),
    "kind": Field(str),
    "api_key": Field(str, ""),
    "ca_path": Field(str, ""),
    "validate_certs": Field(bool, True),
    "server_name": Field(str, ""),
    "refused_paths": Field(list, []),
    "log": Field(dict, {}, inner=_LOG),
}
_STORE = {
    "name": Field(str, "mooncake_master"),
    "host": Field(str, ""),
    "master_url": Field(str),
    "clients": Field(int, 0),
    "capacity_bytes": Field(int, 0),
    "writers": Field(list, []),
    "readers": Field(list, []),
    "log": Field(dict, {}, inner=_LOG),
    "masters": Field(list, [], inner=_SERVICE),
}
_LINES = {"transferred": Field(str, ""), "delayed": Field(str, ""), "listening": Field(str, "")}
_RELEASE = {
    "name": Field(str),
    "has_prompt_tokens_by_source": Field(bool),
    "lines": Field(dict, {}, inner=_LINES),
    "known_limits": Field(list, []),
    "has_rank_header": Field(bool, False),
}
_TRANSFER = {
    "protocol": Field(str, "none", PROTOCOLS),
    "listeners_per_prefill": Field(int, 0),
    "lines_per_request": Field(int, 1),
}
_PLAN = {
    "mode": Field(str, ..., MODES),
    "model": Field(str),
    "entry": Field(dict, inner=_ENTRY),
    "prefill": Field(list, [], inner=_ENGINE),
    "decode": Field(list, [], inner=_ENGINE),
    "colocated": Field(list, [], inner=_ENGINE),
    "store": Field(dict, None, inner=_STORE),
    "engine_api_key": Field(str, ""),  # a secret's name, for the role; the key is passed to the module
    "transfer": Field(dict, {}, inner=_TRANSFER),
    "release": Field(dict, inner=_RELEASE),
    "block_size": Field(int),
    "min_prompt_tokens": Field(int, 0),
    "max_tokens": Field(int, 16),
    "match": Field(str, "exact"),
    "max_pairs": Field(int, 256),
    "routers": Field(list, [], inner=_SERVICE),
    "parsers": Field(list, []),
    "prompts": Field(int, 3),
    "near_tie": Field(float, 0.1),
    "agreement": Field(int, 100),
    "logprob_difference": Field(float, 0.05),
    "burst": Field(int, 8),
    "chunk_tokens": Field(int, 0),
    "long_prompt_tokens": Field(int, 0),
    "changed": Field(list, []),
    "reason": Field(str, ""),
}
PLAIN = (
    "prompts",
    "near_tie",
    "agreement",
    "logprob_difference",
    "burst",
    "chunk_tokens",
    "long_prompt_tokens",
    "reason",
)


def argument_spec(fields: dict[str, Field] | None = None) -> dict[str, Any]:
    """The tables as an argument_spec of AnsibleModule, so that documentation, module and this file agree."""
    spec = {}
    for name, field in (_PLAN if fields is None else fields).items():
        option: dict[str, Any] = {"type": field.kind.__name__}
        if field.default is ...:
            option["required"] = True
        elif field.default is not None:
            option["default"] = field.default
        if field.choices:
            option["choices"] = list(field.choices)
        if field.kind is list:
            option["elements"] = "dict" if field.inner else "str"
        if field.inner:
            option["options"] = argument_spec(field.inner)
        if "key" in name or "tokens" in name:
            option["no_log"] = False  # the name of a secret or a number of tokens, not a secret
        spec[name] = option
    return spec


def read_plan(section: Any) -> VerifyPlan:
    """The section as a record.

    Raises PlanError with all violations: unknown and missing keys, wrong types, values outside of the choices,
    missing engines of the mode, duplicate names, unknown writers and readers.
    """
    problems: list[str] = []
    values = _take(section, "verify", _PLAN, problems)
    if problems and not isinstance(section, dict):
        raise PlanError(problems)
    plan = VerifyPlan(
        mode=values["mode"],
        model=values["model"],
        entry=_entry(values["entry"], problems),
        engines=tuple(e for role in ANSWERING_KINDS for e in _engines(values[role], role, problems)),
        store=None if values["store"] is None else _store(values["store"], problems),
        transfer=Transfer(**_take(values["transfer"], "verify.transfer", _TRANSFER, problems)),
        release=_release(values["release"], problems),
        block_size=values["block_size"],
        min_prompt_tokens=values["min_prompt_tokens"],
        max_tokens=values["max_tokens"],
        match=values["match"],
        max_pairs=values["max_pairs"],
        routers=tuple(Service(**item) for item in _services(values["routers"], "verify.routers", problems)),
        parsers=tuple(values["parsers"]),
        changed=tuple(values["changed"]),
        **{name: values[name] for name in PLAIN},
    )
    if not problems:
        problems.extend(_contradictions(plan))
    if problems:
        raise PlanError(problems)
    return plan


def _take(value: Any, where: str, fields: dict[str, Field], problems: list[str]) -> dict[str, Any]:
    """The mapping with its defaults; invalid values are added to problems and replaced by empty ones."""
    if not isinstance(value, dict):
        problems.append("{} is {!r}, but must be a mapping with: {}".format(where, value, ", ".join(sorted(fields))))
        value = {}
    for key in sorted(set(value) - set(fields)):
        problems.append("{}.{}: unknown key; known: {}".format(where, key, ", ".join(sorted(fields))))
    taken = {}
    for key, field in fields.items():
        taken[key] = _value(value.get(key, field.default), f"{where}.{key}", field, problems)
    return taken


def _value(value: Any, where: str, field: Field, problems: list[str]) -> Any:
    if value is ...:
        problems.append(f"{where} is missing; set a {field.kind.__name__}")
        return field.kind()
    if value is field.default:
        return value
    kinds = (int, float) if field.kind is float else (field.kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and field.kind is not bool):
        problems.append(f"{where} is {value!r}, but must be a {field.kind.__name__}")
        return field.kind()
    if field.choices and value not in field.choices:
        problems.append("{} is {!r}, but must be one of: {}".format(where, value, ", ".join(field.choices)))
    if field.kind in (int, float) and value < 0:
        problems.append(f"{where} is {value}, but must not be negative")
    return value


def _log(value: Any, where: str, problems: list[str]) -> Log:
    log = Log(**_take(value, where, _LOG, problems))
    if log.kind not in LOG_KINDS:
        problems.append(f"{where}.kind is {log.kind!r}; known: {', '.join(LOG_KINDS)}")
    needed = {"file": "path", "none": ""}.get(log.kind, "unit")
    if needed and not getattr(log, needed):
        problems.append(f"{where}.{needed} is missing; a log of kind {log.kind} needs it")
    return log


def _url(value: str, where: str, problems: list[str]) -> str:
    if value and not value.startswith(("http://", "https://")):
        problems.append(f"{where} is {value!r}, but must start with http:// or https://")
    return value.rstrip("/")


def _engines(value: list[Any], role: str, problems: list[str]) -> list[Engine]:
    engines = []
    for number, entry in enumerate(value):
        where = f"verify.{role}[{number}]"
        values = _take(entry, where, _ENGINE, problems)
        values["url"] = _url(values["url"], where + ".url", problems)
        values["log"] = _log(values["log"], where + ".log", problems)
        values["bootstrap"] = _url(values["bootstrap"], where + ".bootstrap", problems)
        if values["ranks"] < 1:
            problems.append(f"{where}.ranks is {values['ranks']}, but an engine has at least one rank")
        engines.append(Engine(role=role, **values))
    return engines


def _entry(value: Any, problems: list[str]) -> Entry:
    values = _take(value, "verify.entry", _ENTRY, problems)
    values["url"] = _url(values["url"], "verify.entry.url", problems)
    values["log"] = _log(values["log"], "verify.entry.log", problems)
    return Entry(**dict(values, refused_paths=tuple(values["refused_paths"])))


def _store(value: Any, problems: list[str]) -> Store:
    values = _take(value, "verify.store", _STORE, problems)
    values["master_url"] = _url(values["master_url"], "verify.store.master_url", problems)
    values["log"] = _log(values["log"], "verify.store.log", problems)
    lists = {key: tuple(values[key]) for key in ("writers", "readers")}
    masters = tuple(Service(**item) for item in _services(values["masters"], "verify.store.masters", problems))
    return Store(**dict(values, masters=masters, **lists))


def _services(value: list[Any], path: str, problems: list[str]) -> list[dict[str, Any]]:
    """The fields of each service of a list."""
    services = []
    for number, entry in enumerate(value):
        where = f"{path}[{number}]"
        values = _take(entry, where, _SERVICE, problems)
        values["url"] = _url(values["url"], where + ".url", problems)
        values["log"] = _log(values["log"], where + ".log", problems)
        services.append(values)
    return services


def _release(value: Any, problems: list[str]) -> Release:
    values = _take(value, "verify.release", _RELEASE, problems)
    values["lines"] = Lines(**_take(values["lines"], "verify.release.lines", _LINES, problems))
    for limit in values["known_limits"]:
        if limit not in KNOWN_LIMITS:
            problems.append("verify.release.known_limits has {!r}; known: {}".format(limit, ", ".join(KNOWN_LIMITS)))
    return Release(**dict(values, known_limits=tuple(values["known_limits"])))


def _contradictions(plan: VerifyPlan) -> list[str]:
    """Violations that concern several keys."""
    problems = []
    others = [router.name for router in plan.routers] + ([plan.store.name] if plan.store else [])
    names = [engine.name for engine in plan.engines] + [plan.entry.name] + others
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.append(f"verify has two services {name!r}; names must be unique")
    for role in ("prefill", "decode") if plan.disaggregated else ("colocated",):
        if not plan.role(role):
            problems.append(f"verify.{role} is empty, but mode {plan.mode} needs at least one engine")
    if "pool" in plan.mode and plan.store is None:
        problems.append(f"verify.store is missing, but mode {plan.mode} uses the store")
    for key in ("writers", "readers") if plan.store else ():
        for name in getattr(plan.store, key):
            if name not in {engine.name for engine in plan.engines}:
                problems.append(f"verify.store.{key} has {name!r}, which is not an engine of this plan")
    if plan.block_size < 1:
        problems.append(
            "verify.block_size is 0, but it determines the prompt's length; set the engines' KV block size in tokens"
        )
    if plan.max_tokens < 2:
        problems.append(f"verify.max_tokens is {plan.max_tokens}; with less than 2 decode generates nothing")
    if plan.agreement > 100:
        problems.append(f"verify.agreement is {plan.agreement}, but it is a percentage")
    number = plan.match.split(":")[1] if plan.match.startswith("prefix:") else ""
    if plan.match != "exact" and not (number.isdigit() and int(number) > 0):
        problems.append(f"verify.match is {plan.match!r}, but must be exact or prefix:N with N tokens")
    return problems
