# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What flags and values mean, so that two spellings of one meaning compare equal. Nothing here knows an entry."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.releases import options
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES

# Sizes and addresses that follow from the topology: never passed on, but compared.
DERIVED = frozenset(
    {
        "data-parallel-address",
        "data-parallel-rank",
        "data-parallel-rpc-port",
        "data-parallel-size",
        "data-parallel-size-local",
        "data-parallel-start-rank",
        "decode-context-parallel-size",
        "ec-transfer-config",
        "enable-expert-parallel",
        "headless",
        "host",
        "kv-transfer-config",
        "master-addr",
        "master-port",
        "nnodes",
        "node-rank",
        "pipeline-parallel-size",
        "port",
        "prefill-context-parallel-size",
        "served-model-name",
        "tensor-parallel-size",
    }
)
SIZES = {
    "data_parallel_size": "data-parallel-size",
    "tensor_parallel_size": "tensor-parallel-size",
    "pipeline_parallel_size": "pipeline-parallel-size",
    "prefill_context_parallel_size": "prefill-context-parallel-size",
    "decode_context_parallel_size": "decode-context-parallel-size",
}
SHORT = dict(options.spelled("vllm", RELEASES["main"].vllm))
API_ONLY = ("api-server-count", "host", "port")
ONE = (
    "tensor-parallel-size",
    "pipeline-parallel-size",
    "prefill-context-parallel-size",
    "decode-context-parallel-size",
)


def flags(raw: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Flags by their plain name: ``--max-num_seqs`` is ``max-num-seqs``, ``-tp`` is ``tensor-parallel-size``, ``--no-x`` is
    ``x: False``; a value that is JSON is what it means."""
    found: dict[str, t.Any] = {}
    for key, value in raw.items():
        name, dot, rest = key.lstrip("-").partition(".")
        name = SHORT.get(name, name) if not key.startswith("--") else name
        name = name.replace("_", "-") + dot + rest
        truth = truth_of(value)
        if name.startswith("no-") and isinstance(truth, bool):
            name, value = name[3:], not truth
        found[name] = parsed(value) if isinstance(value, str) else value
    return found


def truth_of(value: t.Any) -> t.Any:
    """A boolean where the value is one or spells one."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value


def from_argv(argv: t.Sequence[str]) -> dict[str, t.Any]:
    """The flags of a command line; JSON is parsed, a flag's further words make a list."""
    found: dict[str, t.Any] = {}
    name = ""
    for word in argv:
        if re.match(r"--[a-z]|-[a-zA-Z]", word):
            name, dummy, value = word.partition("=")
            found[name] = parsed(value) if value else True
        elif name:
            value = parsed(word)
            if found[name] is True:
                found[name] = value
            elif isinstance(found[name], list):
                found[name].append(value)
            else:
                found[name] = [found[name], value]
    return flags(found)


def parsed(word: str) -> t.Any:
    """A word as the JSON object or array that it is, else the word."""
    if word[:1] in "{[":
        try:
            return json.loads(word)
        except ValueError:
            return word
    return word


def plain(value: t.Any) -> t.Any:
    """A value in which numbers and words that spell the same compare equal."""
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return repr(int(number)) if number.is_integer() else repr(number)


def canonical(args: t.Mapping[str, t.Any], model: str) -> dict[str, t.Any]:
    """Flags without those that say what vLLM does anyway, so that stating a default makes no difference."""
    found = {name: plain(value) for name, value in args.items()}
    size = found.get("data-parallel-size", "1")
    if size == "1":
        found = {name: value for name, value in found.items() if not name.startswith("data-parallel-")}
    elif found.get("data-parallel-start-rank") == "0":
        del found["data-parallel-start-rank"]
    if found.get("data-parallel-size-local") == size:
        del found["data-parallel-size-local"]
    for name in ONE:
        if found.get(name) == "1":
            del found[name]
    if found.get("served-model-name") in (model, [model]):
        del found["served-model-name"]
    if found.get("enable-expert-parallel") == "false":
        del found["enable-expert-parallel"]
    if found.get("headless") == "true":
        found = {name: value for name, value in found.items() if name not in API_ONLY}
    return found


def expanded(text: str, variables: t.Mapping[str, t.Any]) -> str:
    """Shell variables of a text replaced by what the source sets them to; unknown ones stay."""

    def value(match: re.Match[str]) -> str:
        name, default = match.group(1) or match.group(3), match.group(2)
        if name in variables and f"${name}" not in str(variables[name]) and f"{{{name}" not in str(variables[name]):
            return str(variables[name])
        return default if default is not None else match.group(0)

    for dummy in range(4):
        after = re.sub(r"\$\{(\w+)(?::-([^}]*))?\}|\$(\w+)", value, text)
        if after == text:
            break
        text = after
    return text


def everywhere(value: t.Any, variables: t.Mapping[str, t.Any]) -> t.Any:
    """``expanded`` in every text of nested data."""
    if isinstance(value, dict):
        return {key: everywhere(value[key], variables) for key in value}
    if isinstance(value, list):
        return [everywhere(item, variables) for item in value]
    return expanded(value, variables) if isinstance(value, str) else value
