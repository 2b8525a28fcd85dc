# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of vLLM's options: known to this version, given once, with values of the right type."""

from __future__ import annotations

import functools
import json
import re
import typing as t

from ...description.findings import PLACES_SHOWN, Finding, nearest
from ...description.loader import FALSE, TRUE
from ...description.values import canonical, number, whole
from ...releases import options
from ...releases.version import numbers
from .base import Case, Rules
from .engine_view import DERIVED, EngineView
from .own_record import planned_value

RULES = Rules()
# Options with a JSON value that vLLM's parser does not validate
JSON_FLAGS = {
    "additional-config",
    "hf-overrides",
    "kv-transfer-config",
    "ec-transfer-config",
    "speculative-config",
    "compilation-config",
    "override-generation-config",
    "rope-scaling",
    "mm-processor-kwargs",
    "limit-mm-per-prompt",
    "kv-events-config",
    "profiler-config",
    "default-chat-template-kwargs",
}
# First vLLM that takes JSON only; before, the value may be text: -O3 is compilation-config 3, image=2
JSON_ONLY = {"hf-overrides": (0, 9), "limit-mm-per-prompt": (0, 10), "compilation-config": (0, 12)}
SEVERAL_HOSTS = ("nnodes", "node-rank", "master-addr", "master-port")  # of ranks on several hosts; they come together
SHORT = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}  # names of types that people use
SECRETS = {"api-key", "hf-token", "ssl-keyfile-password"}


def version(case: Case) -> str:
    """Version of the vLLM that parses the options."""
    return case.context.release.vllm


def flags(case: Case) -> t.Iterator[tuple[EngineView, str, tuple[str, ...]]]:
    """Every option of every engine view, with its values."""
    for view in case.engine_views:
        for name, values in view.flags:
            yield view, name, values


def known_flags(case: Case) -> t.Iterator[tuple[EngineView, str, tuple[str, ...], options.Option]]:
    """The flags that this vLLM knows, without dotted keys of JSON flags, each with what it knows of it."""
    for view, name, given in flags(case):
        found = option(case, name)
        if found and "." not in name:
            yield view, name, given, found


def option(case: Case, name: str) -> options.Option | None:
    """The definition of an option in this vLLM, also for its --no- form or a dotted key of a JSON option."""
    known = options.known("vllm", version(case))
    base = name.split(".")[0]
    if base in known:
        return known[base]
    positive = known.get(base[3:]) if base.startswith("no-") else None
    return positive if positive and positive.kind == "bool" else None


@RULES.rule(
    "FLAG-UNKNOWN",
    "Correct or remove the option.",
    "the argument parser of the vLLM that the release pins",
)
def unknown(case: Case) -> t.Iterator[Finding]:
    """vLLM does not know an option.

    vLLM fails to start. An abbreviation works today and may mean another option after an upgrade.
    """
    known = options.known("vllm", version(case))
    for view, name, dummy in flags(case):
        if not known or option(case, name):
            continue
        if options.spans("vllm", name) or name.startswith("no-") and name[3:] in known:
            continue  # FLAG-RELEASE and FLAG-NO-FORM are more specific
        long = options.spelled("vllm", version(case)).get(name)
        longer = [full for full in known if full.startswith(name)]
        hint = nearest(name, known)
        if long:
            hint = f"Write {long}."
        elif longer:
            hint = f"Write it in full: {', '.join(sorted(longer)[:4])}."
        yield Finding.at(view.path(name), "", f"vLLM {version(case)} has no option --{name}", hint)


@RULES.rule(
    "FLAG-RELEASE",
    "Remove the option, or choose a release that has it.",
    "the argument parsers of vLLM 0.9.1 to 0.32.0",
)
def release(case: Case) -> t.Iterator[Finding]:
    """An option is not available in the release's version of vLLM.

    vLLM fails to start: unknown option.
    """
    known, pinned = options.known("vllm", version(case)), numbers(version(case))
    for view, name, dummy in flags(case):
        spans = options.spans("vllm", name.split(".")[0])
        if not known or option(case, name) or not spans:
            continue
        later = [span for span in spans if span.since and numbers(span.since) > pinned]
        change = f"was added in {later[0].since}" if later else f"was removed after {spans[-1].last}"
        problem = f"vLLM {version(case)} of this release has no option --{name}; it {change}"
        moving = "warning" if later and case.context.release.name == "main" else ""
        if name not in SEVERAL_HOSTS or view.user_value(name):
            yield Finding.at(view.path(name), "", problem, severity=moving)
        elif name == SEVERAL_HOSTS[0]:
            hosts = view.instance.nodes_per_rank
            problem = f"one rank of {view.kind} needs {hosts} hosts, so it needs --{name}, which vLLM {version(case)} does not have; it {change}"
            fix = "Choose sizes whose rank fits on one host."
            yield Finding.at(
                f"{view.pool_path}.tensor_parallel_size", view.instance.pool.tensor_parallel_size, problem, fix, moving
            )


@RULES.rule(
    "FLAG-NO-FORM",
    "Set null instead of false to omit the option.",
    "the argument parser of the vLLM that the release pins",
)
def no_form(case: Case) -> t.Iterator[Finding]:
    """An option without a --no- form is set to false.

    vLLM fails to start: unknown option.
    """
    known = options.known("vllm", version(case))
    for view, name, dummy in flags(case):
        positive = known.get(name[3:]) if name.startswith("no-") and name not in known else None
        if positive and positive.kind != "bool":
            problem = f"vLLM {version(case)} has no option --{name}, so --{name[3:]} cannot be false"
            yield Finding.at(view.path(name[3:]), False, problem)


@RULES.rule("FLAG-DUPLICATE", "Keep one of them.", "argparse: the last value wins")
def duplicate(case: Case) -> t.Iterator[Finding]:
    """An option is given more than once.

    Only the last value takes effect, which is not visible in the inventory.
    """
    for view in case.engine_views:
        for path, mapping in view.layers("args"):
            seen: dict[str, str] = {}
            for key in mapping:
                name = canonical(key)
                name = name[3:] if name.startswith("no-") else name
                other = seen.setdefault(name, key)
                if other != key:
                    yield Finding.at(f"{path}.{key}", mapping[key], f"'{key}' and '{other}' are the same option")
        given: dict[str, int] = {}
        for name, dummy in view.flags:
            bare = name[3:] if name.startswith("no-") and option(case, name) else name.split(".")[0]
            given[bare] = given.get(bare, 0) + 1
        for name in given:
            both = view.table.keys() & {name, f"no-{name}"}
            dotted = any(flag.startswith(f"{name}.") for flag in view.table)
            if given[name] > 1 and (len(both) > 1 or dotted and both):
                forms = [flag for flag in view.table if flag in both or flag.startswith(f"{name}.")]
                problem = f"the command line would contain both {' and '.join(f'--{flag}' for flag in forms)}"
                yield Finding.at(view.path(name), "", problem)


@RULES.rule(
    "FLAG-VALUE",
    "Set a value of the right type, or remove the option.",
    "the argument parser of the vLLM that the release pins",
)
def values(case: Case) -> t.Iterator[Finding]:
    """An option has a value of the wrong type.

    vLLM rejects the value and the engine fails to start.
    """
    for view, name, given, found in known_flags(case):
        expected = _expected(found, given) or (_no_adapter(given) if name == "lora-modules" else "")
        if expected:
            yield Finding.at(view.path(name), " ".join(given), f"--{name} takes {expected}", _meant(found, given))


def _meant(found: options.Option, given: tuple[str, ...]) -> str:
    """What a value of the wrong type probably stands for, as it is written; empty if that is not known."""
    text = "".join(given).strip().lower()
    if found.kind in ("flag", "bool"):
        return f"Write {str(text in TRUE).lower()} without quotes." if text in TRUE | FALSE else "Write true or false."
    if not given:
        return "" if found.kind.endswith("+") else "true is no value of it."
    return f"Write {text}." if len(given) == 1 and text != given[0] and not _expected(found, (text,)) else ""


def _no_adapter(given: tuple[str, ...]) -> str:
    """What lora-modules takes instead of a text that is neither an adapter nor the begin of JSON; empty if there is none."""
    plain = [text for text in given if text and not text.lstrip().startswith(("{", "["))]
    wrong = next((text for text in plain if "=" not in text or "," in text), "")  # LoRAParserAction
    return f"NAME=PATH or JSON, not '{wrong}'" if wrong else ""


def _expected(found: options.Option, given: tuple[str, ...]) -> str:
    """What an option takes instead of the given values; empty if they are of the right type."""
    kind = found.kind.rstrip("+?")
    if kind in ("flag", "bool"):
        return f"no value, not '{' '.join(given)}'" if given else ""
    if not given:
        return "" if found.kind.endswith("?") else "a value and has none"
    if len(given) > 1 and not found.kind.endswith("+"):
        return f"one value, not {len(given)}"
    for value in given:
        if kind == "int" and not re.fullmatch(r"[-+]?\d+|None", value):
            return f"a whole number, not '{value}'"
        if kind == "size" and whole(value) is None and value not in ("auto", "None"):
            return f"a number such as 32768 or 32k, not '{value}'"
        if kind == "float" and value != "None" and number(value) is None:
            return f"a number, not '{value}'"
    return ""


@RULES.rule(
    "FLAG-CHOICE",
    "Choose one of the values that vLLM accepts.",
    "the argument parser of the vLLM that the release pins",
)
def choices(case: Case) -> t.Iterator[Finding]:
    """An option has a value that vLLM does not accept.

    vLLM rejects the value and the engine fails to start.
    """
    for view, name, given, found in known_flags(case):
        for value in given:
            if found.choices and value not in found.choices:
                problem = f"--{name} takes one of {', '.join(found.choices)}, not '{value}'"
                yield Finding.at(view.path(name), value, problem, nearest(value, found.choices, SHORT))


@RULES.rule(
    "JSON-SYNTAX", "Write it as a YAML mapping: the planner converts it to JSON.", "vLLM: json.loads at start, or never"
)
def json_syntax(case: Case) -> t.Iterator[Finding]:
    """The value of a JSON option is not valid JSON.

    vLLM fails to start or ignores the setting. JSON has double quotes, no comments and no comma before a closing
    bracket.
    """
    for view, name, given in flags(case):
        found = option(case, name)
        wanted = name in JSON_FLAGS or found is not None and found.kind == "json"
        for text in given if "." not in name else ():
            plain = not text.lstrip().startswith(("{", "["))
            if plain and (not wanted or case.context.release.vllm_version < JSON_ONLY.get(name, (0,))):
                continue
            if name == "chat-template" or _exceptional(text):
                continue
            twice: list[str] = []
            try:
                value = json.loads(text, object_pairs_hook=functools.partial(_object, twice))
            except ValueError as error:
                yield Finding.at(view.path(name), text, f"--{name} is not JSON: {error}")
                continue
            if twice:
                yield Finding.at(view.path(name), text, f"the key '{twice[0]}' occurs twice", severity="warning")
            elif (name.endswith("-config") or name in JSON_ONLY) and not isinstance(value, dict):
                problem = f"--{name} takes a JSON mapping, not a {type(value).__name__}"
                yield Finding.at(view.path(name), text, problem)


def _exceptional(text: str) -> bool:
    """Whether a text is a Jinja or f-string template, which starts with a brace and is not JSON."""
    return text.lstrip().startswith(("{{", "{%", "{#"))


def _object(twice: list[str], pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
    keys = [key for key, dummy in pairs]
    twice += [key for key in keys if keys.count(key) > 1][:1]
    return dict(pairs)


@RULES.rule(
    "FLAG-SHELL",
    "Split it into one key per option, and write the final value.",
    "vllm-ascend docs: broken line continuations and stray options",
)
def shell(case: Case) -> t.Iterator[Finding]:
    """The value of an option contains shell syntax.

    The text reaches vLLM unchanged: a backslash, a second option or a $ becomes part of the value.
    """
    for view, name, given in flags(case):
        for value in given:
            text = value.strip()
            if text.startswith(("{", "[")):
                continue
            if (
                text.endswith("\\")
                or re.search(r"\s--[a-z]", text)
                or text.startswith(("'", '"'))
                and text.count(text[0]) % 2
            ):
                yield Finding.at(view.path(name), value, f"'{value}' looks like a fragment of a shell script")
            elif re.search(r"\$[({A-Za-z_]|`", text) and view.user_value(name) and not case.in_pods:
                problem = f"'{value}' is shell syntax, and no shell expands it"
                yield Finding.at(view.path(name), value, problem, severity="warning")
        if re.search(r"[^A-Za-z0-9._-]", name):
            yield Finding.at(view.path(name), "", f"'--{name}' is not a valid option name")


@RULES.rule(
    "FLAG-DERIVED",
    "Remove the option and set the pool's variable.",
    "design of the planner: ports, peers, connectors and the router follow from the same variable",
)
def derived(case: Case) -> t.Iterator[Finding]:
    """An option contradicts the topology.

    Ports, peers and the router are derived from the pool's variables; the engine would start with another value and not
    be reachable.
    """
    for view in case.engine_views:
        for flag in DERIVED:
            written = view.user_value(flag)
            if not written or written[1] is None:
                continue
            found = (
                planned_value(item.service, item.instance, item.process, flag) for item in case.processes_like(view)
            )
            planned = [value for value in dict.fromkeys(found) if value is not None]
            if any(str(written[1]) != value for value in planned):
                known = f"{planned[0]} in this plan"
                if len(planned) > 1:
                    more = ", ..." if len(planned) > PLACES_SHOWN else ""
                    known = f"different for each process of this plan ({len(planned)} values: {', '.join(planned[:PLACES_SHOWN])}{more})"
                problem = f"--{flag} is {known}; it is derived from {view.pool_path}.{DERIVED[flag]}"
                yield Finding.at(written[0], written[1], problem)


@RULES.rule(
    "FLAG-LATE",
    "Move the options of that file into args.",
    "vLLM --config: its options override the planner's and are not checked",
)
def config_file(case: Case) -> t.Iterator[Finding]:
    """Options are read from a file on the host.

    The planner cannot check them, and they override the planned ones.
    """
    for view, name, given in flags(case):
        if name == "config":
            problem = f"vLLM would read more options from {' '.join(given)}"
            yield Finding.at(view.path(name), " ".join(given), problem)


@RULES.rule(
    "SECRET-ARGUMENT",
    "Put it into inference_secrets: it then reaches the process through its environment.",
    "ps(1) shows every user the arguments of a process",
)
def secrets(case: Case) -> t.Iterator[Finding]:
    """A secret is passed on the command line.

    Every user of the host can read the arguments of a process.
    """
    for view, name, dummy in flags(case):
        if name in SECRETS:
            yield Finding.at(view.path(name), "(hidden)", f"--{name} passes a secret on the command line")


@RULES.rule(
    "API-HOST",
    "Remove host, or set 0.0.0.0.",
    "design of the planner: the router and the health check use the host's address",
)
def api_host(case: Case) -> t.Iterator[Finding]:
    """An engine's API listens on an address that the router does not use.

    The engine runs, but every request and health check fails.
    """
    for view in case.engine_views:
        written = view.user_value("host")
        if not written or written[1] is None or str(written[1]) in ("0.0.0.0", "::"):  # compared, nothing is bound
            continue
        value = str(written[1])
        served = (item for item in case.processes_like(view) if item.service.health is not None)
        others = dict.fromkeys(item.process.host.address for item in served if item.process.host.address != value)
        if others:
            addresses = ", ".join([*others][:PLACES_SHOWN]) + (", ..." if len(others) > PLACES_SHOWN else "")
            problem = f"the router connects to {addresses}, where {value} does not listen"
            yield Finding.at(written[0], written[1], problem)
