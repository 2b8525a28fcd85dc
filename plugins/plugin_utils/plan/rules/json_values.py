# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of what is inside vLLM's JSON flags and of names that vLLM looks up: keys, kinds of values, registered names."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding, nearest
from ...description.values import read_json
from ...releases import values as data
from .base import Case, Rules
from .engine_view import KV, EngineView

RULES = Rules()
# What vLLM-Ascend takes on top of vLLM: register_model_loader, its indexer and cache
OF_ASCEND = {
    "quantization": {"ascend"},
    "load-format": {"netloader", "rfork"},
    "attention-config.indexer_kv_dtype": {"int8", "int4", "bfloat16"},
    "kv-cache-dtype": {"int8", "int4", "bfloat16", "float16"},
}
REGISTERED = (
    "all2all-backend",
    "config-format",
    "data-parallel-backend",
    "distributed-executor-backend",
    "kv-cache-dtype",
    "load-format",
    "quantization",
    "reasoning-parser",
    "tokenizer-mode",
    "tool-call-parser",
)
PLUGINS = {"reasoning-parser": "reasoning-parser-plugin", "tool-call-parser": "tool-parser-plugin"}
IN_ANY_CASE = {"compilation-config.cudagraph_mode"}  # CUDAGraphMode[value.upper()]
TRUTH = {"true", "false", "yes", "no", "on", "off", "0", "1", "y", "n", "t", "f"}  # pydantic, in its lax mode
Problem = tuple[str, t.Any, str, str]  # path, value, what is wrong, nearest


def judged(found: data.Known, path: str, value: t.Any) -> t.Iterator[Problem]:
    """Unknown keys ('key'), and values of the wrong kind ('value'), inside a mapping at a path."""
    keys = found.below(path)
    if not keys or not isinstance(value, dict):
        return
    for key, inner in value.items():
        place = f"{path}.{key}" if path else str(key)
        if str(key) not in keys:
            yield place, inner, "key", nearest(str(key), keys)
            continue
        expected = wrong(found, place, inner)
        if expected:
            yield place, inner, expected, nearest(str(inner), found.choices.get(place, ()))
        else:
            yield from judged(found, place, inner)


def wrong(found: data.Known, path: str, value: t.Any) -> str:
    """What is expected in the place of a value; empty where it fits or nothing is known."""
    choices = found.choices.get(path)
    if value is None or value == "" and choices:
        return ""
    if choices:
        text = str(value).upper() if path in IN_ANY_CASE else str(value)
        if isinstance(value, (dict, list)) or text not in choices | OF_ASCEND.get(path, set()):
            return f"one of {', '.join(sorted(choices))}"
        return ""
    kind = found.keys.get(path, "")
    switch = isinstance(value, bool) and path.rpartition(".")[2].startswith("enable_")  # true is 1 for pydantic
    fits = {
        "bool": lambda: isinstance(value, bool) or str(value).lower() in TRUTH,
        "int": lambda: switch or not isinstance(value, bool) and bool(re.fullmatch(r"-?\d+(\.0+)?", str(value))),
        "float": lambda: not isinstance(value, bool) and _is_number(value),
        "str": lambda: isinstance(value, str),
        "ints": lambda: isinstance(value, list) and all(_is_whole(item) for item in value),
    }
    named = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text", "ints": "a list"}
    return "" if kind not in fits or fits[kind]() else named[kind] + (" of whole numbers" if kind == "ints" else "")


def _is_whole(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: t.Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def settings(view: EngineView) -> t.Iterator[tuple[str, str, t.Any]]:
    """Flag, path and value of what is inside JSON flags: whole mappings, and single keys behind a dot."""
    yield from view.dotted
    for flag, given in view.flags:
        if "." not in flag and given and given[0].lstrip().startswith("{") and flag != KV:
            value = read_json(given[0])  # without keys behind dots, which are judged where they are written
            yield flag, flag, value if isinstance(value, dict) else {}


@RULES.rule(
    "JSON-KEY", "Correct or remove the key.", "vllm/config: the class that the flag fills, in the vLLM of the release"
)
def json_key(case: Case) -> t.Iterator[Finding]:
    """A JSON flag has a key that vLLM does not know.

    vLLM ends at start from 0.18 on, and drops the setting before.
    """
    version = case.context.release.vllm
    early = case.context.release.vllm_version < (0, 18)
    for view in case.engine_views:
        for flag, base, value in settings(view):
            for path, inner, problem, near in judged(data.of_vllm(version), base, value):
                if problem == "key":
                    severity = "warning" if early and base != "speculative-config" else ""
                    text = f"vLLM {version} has no key '{path.rpartition('.')[2]}' in {path.rpartition('.')[0]}"
                    yield Finding.at(_at(view, flag, path), inner, text, near, severity)


def _at(view: EngineView, flag: str, path: str) -> str:
    below = path.partition(".")[2]
    return view.path(flag) if "." in flag or not below else f"{view.path(flag)}.{below}"


@RULES.rule("JSON-VALUE", "Write a value of this kind.", "vllm/config: the class that the flag fills")
def json_value(case: Case) -> t.Iterator[Finding]:
    """A key inside a JSON flag has a value that vLLM does not take.

    vLLM ends at start, some minutes after the playbook.
    """
    for view in case.engine_views:
        for flag, base, value in settings(view):
            for path, inner, problem, near in judged(data.of_vllm(case.context.release.vllm), base, value):
                if problem != "key":
                    text = f"{path.partition('.')[2]} takes {problem}, not {inner!r}"
                    yield Finding.at(_at(view, flag, path), inner, text, near)
        sizes = view.mapping("compilation-config").get("cudagraph_capture_sizes")
        small = [size for size in sizes if _is_whole(size) and size < 1] if isinstance(sizes, list) else []
        if small:
            path = view.key_path("compilation-config", "cudagraph_capture_sizes")
            yield Finding.at(path, small, f"{small[0]} in cudagraph_capture_sizes is not a number of tokens")
        tokens = view.speculative_tokens
        if tokens is not None and tokens < 1:
            path = view.key_path("speculative-config", "num_speculative_tokens")
            yield Finding.at(path, tokens, f"num_speculative_tokens is {tokens}")


MEANT = dict.fromkeys(
    ("w8a8", "w4a8", "w4a4", "modelslim"), "ascend"
)  # kinds of weights, and the program that makes them


@RULES.rule(
    "FLAG-REGISTERED",
    "Choose one of the names that this release has.",
    "vLLM's registries of parsers, loaders and executors, in the vLLM of the release; supported_quantization of vllm_ascend/platform.py",
)
def registered(case: Case) -> t.Iterator[Finding]:
    """A flag names something that this vLLM does not have.

    vLLM looks the name up at start and ends.
    """
    version, release = case.context.release.vllm, case.context.release
    choices = {flag: names | OF_ASCEND.get(flag, set()) for flag, names in data.of_vllm(version).choices.items()}
    if case.npu and release.quantization:  # its platform refuses all others, also those of vLLM
        choices["quantization"] = set(release.quantization)
    for view in case.engine_views:
        for flag in REGISTERED:
            value, known = view.value(flag), choices.get(flag, set())
            empty = flag == "quantization" and view.table.get(flag) == ("",)  # a parser without a name is none
            if not (value or empty) or flag not in choices or value in known or PLUGINS.get(flag, "") in view.table:
                continue
            if (
                flag == "distributed-executor-backend"
                and "." in value
                or re.search(r"[\\'\"$`]|\s-", value)
                and value[:1] != "{"
            ):
                continue  # the path of a class; a fragment of a shell script, which FLAG-SHELL reports
            names = sorted(known)
            text = f"vLLM {version} has no {flag} '{value}'"
            if flag == "quantization" and case.npu:
                text = f"vLLM-Ascend {release.name} does not support quantization '{value}'"
            likely = [name for name in names if name.startswith(value[:4].lower())] or names
            more = " and more" if len(likely) > 12 or likely != names else ""
            several = sum(name.startswith(value.lower()) for name in names) > 1  # deepseek: of which generation?
            fix = f"{'' if several else nearest(value, known, MEANT)}It has {', '.join(likely[:12])}{more}."
            yield Finding.at(view.path(flag), value, text, fix)
