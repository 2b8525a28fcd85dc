# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a module of this collection may answer: the keys that it documents, in their types, and what each module of Ansible has.

Root of a host writes the answer. Ansible obeys some keys of it: facts become variables, ``add_host`` adds hosts, ``ansible_stats`` is added up,
and texts of warnings, errors and diffs are printed as they are (ansible-core 2.17 to 2.21, ``plugins/strategy/__init__.py``).
"""

from __future__ import annotations

import json
import math
import re
import typing as t

import yaml

from ...module_utils.tools.record import refuse_many
from ...module_utils.tools.text import visible

MOST = 64 * 2**20  # characters of an answer; the logs of one host, packed, are the largest ones
MOST_VALUES = MOST // 16  # in it; the rows of entry_usage_info are some hundred thousand
OF_EACH = {"changed": bool, "failed": bool, "skipped": bool, "msg": object, "exception": object, "diff": object}
OF_EACH |= {"warnings": list, "deprecations": list, "invocation": dict}
SAID = 2**18  # characters that Ansible prints of an answer; more of one host hides what others say
PRINTED = ("msg", "exception", "diff", "warnings", "deprecations")
TYPES: dict[str, t.Any] = {"str": str, "bool": bool, "int": int, "float": (int, float), "list": list, "dict": dict}
TYPES |= {"path": str}
CALLED = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    (int, float): "a number",
    list: "a list",
    dict: "a mapping",
}
RETURNED = re.compile(r'^RETURN = r?"""(.*?)"""', re.MULTILINE | re.DOTALL)
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
START = "This host's answer is not that of the module, and is not used: "
FIX = ". Fix: look at what runs as Python on this host, and who changed it."
OWN = re.compile(
    "inference_|__|ascend_|kthena_|cann_|cleanup_|container_runtime_|entry_|etcd_|firewall_|host_check_|model_|monitoring_|mooncake_|router_"
    "|service_(?!mgr$)|system_packages_|torch_npu_|tune_|verify_|virtual_address_|vllm_"
)  # names of variables of this collection; service_mgr is one of Ansible's own facts


def documented(source: str) -> dict[str, t.Any]:
    """What the text of a module documents below RETURN: ``{key: {type, elements, contains}}``."""
    found = RETURNED.search(source)
    return dict(yaml.load(found.group(1), Loader=LOADER) or {}) if found else {}  # noqa: S506 # a safe one


def facts_of_ours(facts: t.Any) -> list[str]:
    """Names of facts of a host that are those of variables of this collection: no honest host has any."""
    return sorted(name for name in map(str, facts or ()) if OWN.match(name))


def _usable(text: str) -> t.Any:
    """The number of a text of JSON; ValueError if integers, dates and texts cannot be made of it."""
    found = float(text) if re.search("[^-0-9]", text) else int(text)
    if not (math.isfinite(found) if isinstance(found, float) else abs(found) < 2**64):
        raise ValueError("a number that is infinite, none, or too large")
    return found


DECODER = json.JSONDecoder(parse_constant=_usable, parse_float=_usable, parse_int=_usable)


def checked(output: str, keys: t.Mapping[str, t.Any]) -> str:
    """The JSON text that Ansible reads in place of a module's output: only what the module may answer, or a failure that says what is wrong."""
    if len(output) > MOST:
        return refusal(f"it has more than {MOST >> 20} MiB")
    begin = re.search(r"^\{", output, re.MULTILINE)
    if not begin:
        return visible(output)  # Ansible says why
    try:
        refuse_many(output[begin.start() :], MOST_VALUES)
    except ValueError as error:
        return refusal(str(error))
    try:
        answer = DECODER.raw_decode(output, begin.start())[0]
    except (ValueError, RecursionError) as error:
        return (
            visible(output)
            if isinstance(error, json.JSONDecodeError)
            else refusal("it is nested too deeply, or has a number that is infinite, none, or too large")
        )
    kept = {key: item for key, item in answer.items() if key in keys or key in OF_EACH}
    wrong = [
        text
        for key, item in kept.items()
        if not isinstance(item, OF_EACH.get(key, ()))  # port_probe documents another ``failed``
        for text in (deviations(key, item, keys[key]) if key in keys else [f"{key} is not {CALLED[OF_EACH[key]]}"])
    ]
    if wrong:
        return refusal("; ".join(wrong[:3]))
    all_of_it = bool(answer.get("failed"))  # Ansible prints the whole of a failure
    told = {key: shown(item) if all_of_it or key in PRINTED else item for key, item in kept.items()}
    said = {key: told[key] for key in told if all_of_it or key in ("msg", "warnings", "deprecations")}
    if len(json.dumps(said)) > SAID:
        return refusal(f"it says more than {SAID >> 10} KiB, which begin with {str(told.get('msg'))[:500]}")
    text = json.dumps(told, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode(
        "utf-8"
    )  # half a character (a surrogate) ends whatever writes it to a file


def deviations(path: str, item: t.Any, known: t.Mapping[str, t.Any]) -> t.Iterator[str]:
    """Where a value is not of its documented type; what is null is absent."""
    kind = TYPES.get(known.get("type", ""))
    if item is None or kind is None:
        return
    if not isinstance(item, kind) or isinstance(item, bool) and kind is not bool:
        yield f"{path} is not {CALLED[kind]}"
    elif kind is list:
        inner = {"type": known.get("elements"), "contains": known.get("contains")}
        for number, each in enumerate(item):
            yield from deviations(f"{path}[{number}]", each, inner)
    elif kind is dict:
        for key, inner in (known.get("contains") or {}).items():
            if key in item:
                yield from deviations(f"{path}.{key}", item[key], inner)


def shown(value: t.Any) -> t.Any:
    """A value whose texts Ansible prints, with control characters as escapes."""
    if isinstance(value, dict):
        return {visible(key): shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shown(item) for item in value]
    return visible(value) if isinstance(value, str) else value


def refusal(reason: str) -> str:
    """The text of an answer that fails the task on its host."""
    return json.dumps({"failed": True, "changed": False, "msg": START + visible(reason) + FIX})
