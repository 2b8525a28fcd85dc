# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of vLLM's arguments: flags that this vLLM knows, once each, with values of the right kind."""

from __future__ import annotations

import functools
import json
import re
import typing as t

from ...description.findings import nearest
from ...releases import options
from ...releases.version import numbers
from ..render.vllm import canonical
from .base import Case, Found, Rules
from .engine_view import DERIVED, Words, whole

RULES = Rules()
# Flags whose value is JSON although vLLM's parser takes any text, and finds out later or never
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
MAYBE_TEXT = {"hf-overrides", "limit-mm-per-prompt", "compilation-config"}  # older spellings are no JSON: 3, image=2
SECRETS = {"api-key", "hf-token", "ssl-keyfile-password"}


def version(case: Case) -> str:
    """The vLLM whose parser will read the arguments."""
    return case.context.release.vllm


def flags(case: Case) -> t.Iterator[tuple[Words, str, tuple[str, ...]]]:
    """Every flag of every set of words."""
    for words in case.words:
        for name, values in words.flags:
            yield words, name, values


def option(case: Case, name: str) -> options.Option | None:
    """What this vLLM knows of a flag, also in its --no- form or with a dotted key of a JSON flag."""
    known = options.known("vllm", version(case))
    base = name.split(".")[0]
    if base in known:
        return known[base]
    positive = known.get(base[3:]) if base.startswith("no-") else None
    return positive if positive and positive.kind == "bool" else None


@RULES.rule(
    "FLAG-UNKNOWN",
    "Correct or remove the flag.",
    "the argument parser of the vLLM that the release pins",
)
def unknown(case: Case) -> t.Iterator[Found]:
    """vLLM knows every flag; an unknown one ends it at start, an abbreviation means something else after an upgrade."""
    known = options.known("vllm", version(case))
    for words, name, dummy in flags(case):
        if not known or option(case, name):
            continue
        if options.spans("vllm", name) or name.startswith("no-") and name[3:] in known:
            continue  # FLAG-RELEASE and FLAG-NO-FORM say more
        long = options.spelled("vllm", version(case)).get(name)
        whole_names = [one for one in known if one.startswith(name)]
        hint = nearest(name, known)
        if long:
            hint = f"Write {long}."
        elif whole_names:
            hint = f"Write it in full: {', '.join(sorted(whole_names)[:4])}."
        yield Found(words.path(name), message=f"vLLM {version(case)} has no flag --{name}", fix=hint.strip())


@RULES.rule(
    "FLAG-RELEASE", "Remove the flag, or choose a release that has it.", "the argument parsers of vLLM 0.9.1 to 0.32.0"
)
def release(case: Case) -> t.Iterator[Found]:
    """The flag is one of the vLLM that the release pins, not of an earlier or later one."""
    known, at = options.known("vllm", version(case)), numbers(version(case))
    for words, name, dummy in flags(case):
        spans = options.spans("vllm", name.split(".")[0])
        if not known or option(case, name) or not spans:
            continue
        later = [one for one in spans if one.since and numbers(one.since) > at]
        text = f"came with vLLM {later[0].since}" if later else f"went after vLLM {spans[-1].last}"
        text = f"--{name} {text}, and the release pins {version(case)}"
        moving = later and case.context.release.name == "main"
        yield Found(words.path(name), message=text, severity="warning" if moving else "")


@RULES.rule(
    "FLAG-NO-FORM", "Write null to leave the flag out.", "the argument parser of the vLLM that the release pins"
)
def no_form(case: Case) -> t.Iterator[Found]:
    """A flag that is switched off has a --no- form; others are just left out."""
    known = options.known("vllm", version(case))
    for words, name, dummy in flags(case):
        positive = known.get(name[3:]) if name.startswith("no-") and name not in known else None
        if positive and positive.kind != "bool":
            yield Found(words.path(name[3:]), False, f"--{name} does not exist")


@RULES.rule("FLAG-DUPLICATE", "Keep one of them.", "argparse: the last one wins")
def duplicate(case: Case) -> t.Iterator[Found]:
    """A flag is given once, in one spelling; of two the reader cannot tell which one counts."""
    for words in case.words:
        for path, mapping in words.layers("args"):
            seen: dict[str, str] = {}
            for key in mapping:
                name = canonical(key)
                name = name[3:] if name.startswith("no-") else name
                other = seen.setdefault(name, key)
                if other != key:
                    yield Found(f"{path}.{key}", mapping[key], f"'{other}' is the same flag")
        given: dict[str, int] = {}
        for name, dummy in words.flags:
            bare = name[3:] if name.startswith("no-") and option(case, name) else name.split(".")[0]
            given[bare] = given.get(bare, 0) + 1
        for name in given:
            both = words.table.keys() & {name, f"no-{name}"}
            if given[name] > 1 and (len(both) > 1 or any(one.startswith(f"{name}.") for one in words.table) and both):
                yield Found(words.path(name), message=f"the command line says --{name} more than once")


@RULES.rule(
    "FLAG-VALUE",
    "Write a value of the right kind: true without quotes for a bare flag, a number for a number.",
    "the argument parser of the vLLM that the release pins",
)
def values(case: Case) -> t.Iterator[Found]:
    """A flag's value is of the kind that vLLM wants."""
    for words, name, given in flags(case):
        found = option(case, name)
        if not found or "." in name:
            continue
        problem = _problem(found, given)
        if problem:
            yield Found(words.path(name), " ".join(given), problem)


def _problem(found: options.Option, given: tuple[str, ...]) -> str:
    kind = found.kind.rstrip("+?")
    if kind in ("flag", "bool"):
        return "it takes no value" if given else ""
    if not given:
        return "" if found.kind.endswith("?") else "it needs a value"
    if len(given) > 1 and not found.kind.endswith("+"):
        return "it takes one value"
    if kind == "int" and any(not re.fullmatch(r"[-+]?\d+|None", one) for one in given):
        return "a whole number is expected"
    if kind == "size" and any(whole(one) is None and one not in ("auto", "None") for one in given):
        return "a number such as 32768 or 32k is expected"
    if kind == "float":
        try:
            [float(one) for one in given if one != "None"]
        except ValueError:
            return "a number is expected"
    return ""


@RULES.rule(
    "FLAG-CHOICE", "Choose one of the words that vLLM knows.", "the argument parser of the vLLM that the release pins"
)
def choices(case: Case) -> t.Iterator[Found]:
    """A flag with a fixed set of words gets one of them."""
    for words, name, given in flags(case):
        found = option(case, name)
        for one in given if found and found.choices and "." not in name else ():
            if one not in found.choices:
                text = f"one of {', '.join(found.choices)} is expected"
                yield Found(words.path(name), one, text, nearest(one, found.choices).strip())


@RULES.rule(
    "JSON-SYNTAX", "Write it as a YAML mapping: the planner makes JSON of it.", "vLLM: json.loads at start, or never"
)
def json_syntax(case: Case) -> t.Iterator[Found]:
    """A JSON argument given as text is JSON: double quotes, no comment, no comma before a closing bracket."""
    for words, name, given in flags(case):
        found = option(case, name)
        wanted = name in JSON_FLAGS or found is not None and found.kind == "json"
        for text in given if "." not in name else ():
            if not wanted and not text.lstrip().startswith(("{", "[")) or name in MAYBE_TEXT and text[:1] not in "{[":
                continue
            if name == "chat-template" or _exceptional(text):
                continue
            twice: list[str] = []
            try:
                value = json.loads(text, object_pairs_hook=functools.partial(_object, twice))
            except ValueError as error:
                yield Found(words.path(name), text, f"this is no JSON: {error}")
                continue
            if twice:
                yield Found(words.path(name), text, f"the key '{twice[0]}' stands there twice", severity="warning")
            elif name.endswith("-config") and not isinstance(value, dict):
                yield Found(words.path(name), text, "a mapping is expected")


def _exceptional(text: str) -> bool:
    """Jinja and f-string templates begin with a brace and are no JSON."""
    return text.lstrip().startswith(("{{", "{%", "{#"))


def _object(twice: list[str], pairs: list[tuple[str, t.Any]]) -> dict[str, t.Any]:
    keys = [key for key, dummy in pairs]
    twice += [key for key in keys if keys.count(key) > 1][:1]
    return dict(pairs)


@RULES.rule(
    "FLAG-SHELL",
    "Split it: one flag, one value; write what the shell would have put in its place.",
    "vllm-ascend docs: broken line continuations and stray options",
)
def shell(case: Case) -> t.Iterator[Found]:
    """An argument holds no rest of a shell script: no backslash at the end, no second option, no unclosed quote."""
    for words, name, given in flags(case):
        for one in given:
            text = one.strip()
            if text.startswith(("{", "[")):
                continue
            if (
                text.endswith("\\")
                or re.search(r"\s--[a-z]", text)
                or text.startswith(("'", '"'))
                and text.count(text[0]) % 2
            ):
                yield Found(words.path(name), one, "this is the rest of a shell script")
            elif re.search(r"\$[({A-Za-z_]|`", text) and words.said(name) and not case.in_pods:
                text = "no shell reads this value, so nothing is put in the place of $"
                yield Found(words.path(name), one, text, severity="warning")
        if re.search(r"[^A-Za-z0-9._-]", name):
            yield Found(words.path(name), message=f"'--{name}' is no flag's name")


@RULES.rule(
    "FLAG-DERIVED",
    "Remove the flag and set the pool's own word.",
    "the planner: ports, peers, connectors and the router follow from the same word",
)
def derived(case: Case) -> t.Iterator[Found]:
    """What follows from the topology is not said a second time with another value."""
    for words in case.words:
        for flag in DERIVED:
            said, planned = words.said(flag), _planned(words, flag)
            if said and said[1] is not None and planned is not None and str(said[1]) != planned:
                yield Found(said[0], said[1], f"{words.pool_path}.{DERIVED[flag]} makes it {planned}")


def _planned(words: Words, flag: str) -> str | None:
    """What the topology makes of a flag; None where it leaves it out and does not mind."""
    pool, process, instance = words.instance.pool, words.process, words.instance
    if flag in ("port", "data-parallel-rpc-port"):
        name = {"port": "api"}.get(flag, "dp_rpc")
        ports = [str(one.first) for one in words.service.ports if one.name == name]
        return ports[0] if ports else None
    fixed = {
        "data-parallel-rank": process.first_rank,
        "data-parallel-start-rank": process.first_rank,
        "data-parallel-size-local": process.local_ranks,
        "data-parallel-address": instance.first.host.address,
        "node-rank": process.number,
        "master-addr": instance.first.host.address,
        "headless": words.service.health is None,
    }
    found = fixed[flag] if flag in fixed else getattr(pool, DERIVED[flag], None)
    return None if found is None or flag in ("nnodes", "master-port") else str(found)


@RULES.rule(
    "FLAG-LATE",
    "Write the flags into args themselves.",
    "vLLM --config: its flags come after the planner's and nobody has judged them",
)
def config_file(case: Case) -> t.Iterator[Found]:
    """Flags come from the description, not from a file on the host that the plan cannot see."""
    for words, name, given in flags(case):
        if name == "config":
            yield Found(words.path(name), " ".join(given))


@RULES.rule(
    "SECRET-ARGUMENT",
    "Put it into inference_secrets: it then reaches the process through its environment.",
    "ps(1) shows every user the arguments of a process",
)
def secrets(case: Case) -> t.Iterator[Found]:
    """A secret stands in no command line, where every user of the host can read it."""
    for words, name, dummy in flags(case):
        if name in SECRETS:
            yield Found(words.path(name), "(hidden)")


@RULES.rule(
    "API-HOST",
    "Leave host out, or set 0.0.0.0.",
    "the planner: the router and the health check use the host's address",
)
def api_host(case: Case) -> t.Iterator[Found]:
    """An engine's API listens where the router looks for it."""
    for words in case.words:
        told = words.value("host")
        if words.said("host") and told not in ("0.0.0.0", "::", words.process.host.address):  # compared with, not bound
            yield Found(words.path("host"), told, f"the router uses {words.process.host.address}")
