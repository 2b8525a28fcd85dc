# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole plan as text that a person reads in a review: each changed value is a changed line.

Of services of a kind, and of other lists, the first is complete. The second and the last show what differs from it (``+`` and ``-``), which is how
names, ports, ranks and devices count on; those between them are only counted. Of the engines one kind is complete, and the others are shown beside
it; a plan may be shown beside another one. ``NAME``, ``ADDRESS`` and ``DIRECTORY`` are those of the service, so that what differs has another meaning.
Facts of the release are left out: they are compared with the release's own sources elsewhere. So are the scripts in ConfigMaps, whose names have a
hash of them: services show what they run with. So are programs that are the same in every plan.
"""

from __future__ import annotations

import json
import re
import typing as t

import yaml

HEAD = "# SPDX-License-Identifier: GPL-3.0-or-later\n# Written by test_plans.py, which names the command.\n"
LEFT_OUT = ("release_facts", "digest", "revision", "groups", "plan_version")
RUNS_WITH = ("name", "kind", "address", "devices", "argv", "env", "ports", "source", "start", "stop", "health", "files")
ENGINES = ("colocated", "decode", "prefill", "encode")
FIRST, SECOND, LAST, COUNT = "first", "second", "last", "in all"
Data = t.Mapping[str, t.Any]


def plan_text(plan: Data, other: Data | None = None, name: str = "") -> str:
    """The plan as lines of YAML, without what repeats, and without what the other plan, which has a name, has as well."""
    shown = _whole(plan)
    if other is None:
        return _text(shown)
    return _text({"beside": name, **_difference(_whole(other), shown)})


def services_text(plan: Data, other: Data, name: str) -> str:
    """What the first service of each kind runs with, beside the other plan's, and the findings: what a recipe decides."""
    return _text({"beside": name, **_difference(_deciding(other), _deciding(plan))})


def _whole(plan: Data) -> dict[str, t.Any]:
    shown = {name: _without_repetition(value) for name, value in plan.items() if name not in (*LEFT_OUT, "services")}
    shown["findings"] = [f"{finding['id']} {finding['path']}: {finding['problem']}" for finding in plan["findings"]]
    objects = [{name: each[name] for name in each if name != "data"} for each in plan.get("objects", ())]
    shown.update({"objects": _without_repetition(objects)} if objects else {})
    kinds: dict[str, list[Data]] = {}
    for service in plan["services"]:
        kinds.setdefault(service["kind"], []).append(_readable(service, plan["directory"]))
    engine = next((kind for kind in ENGINES if kind in kinds), "")
    shown["services"] = {kind: _series(members) for kind, members in kinds.items()}
    for kind in set(ENGINES) & set(kinds) - {engine}:
        others = shown["services"][kind]
        others[f"{FIRST}, beside {engine}"] = _difference(kinds[engine][0], others.pop(FIRST))
    return _plain(shown)


def _deciding(plan: Data) -> dict[str, t.Any]:
    first = {service["kind"]: service for service in reversed(plan["services"])}
    services = [{name: service[name] for name in RUNS_WITH} for service in first.values()]
    return _whole({**{name: plan[name] for name in ("release", "findings", "directory")}, "services": services})


def _text(shown: Data) -> str:
    return HEAD + yaml.safe_dump(shown, sort_keys=True, width=150, allow_unicode=True, default_flow_style=None)


def _lines_of(file: Data) -> list[str]:
    return ["as the collection has it"] if file["path"].endswith(".lua") else file["content"].splitlines()


def _readable(service: Data, directory: str) -> dict[str, t.Any]:
    """A service without its digest, with one line for each argument and each property of a JSON value."""
    found = {name: value for name, value in service.items() if name not in ("digest", "name", "kind")}
    found["argv"] = _arguments(service["argv"])
    files = {file["path"]: {**file, "content": _lines_of(file)} for file in service["files"]}
    found["files"] = {path: {name: file[name] for name in file if name != "path"} for path, file in files.items()}
    text = json.dumps(found).replace(directory, "DIRECTORY")
    for own in ("name", "address"):
        if service[own]:
            text = re.sub(rf"(?<![\w.]){re.escape(service[own])}(?![\w-]|\.\d)", own.upper(), text)
    return {"name": service["name"], "kind": service["kind"], **json.loads(text)}


def _arguments(argv: t.Sequence[str]) -> list[str]:
    lines: list[str] = []
    for word in argv:
        if word.startswith("-") or not lines:
            lines.append(word)
        elif word.startswith("{"):
            lines += [f"{lines[-1].split(' ')[0]} {line}" for line in _leaves(json.loads(word))]
        else:
            lines[-1] += f" {word}"
    return lines


def _leaves(value: t.Any, path: str = "") -> list[str]:
    if isinstance(value, dict) and value:
        return [line for key in value for line in _leaves(value[key], f"{path}.{key}" if path else str(key))]
    return [f"{path}: {json.dumps(value)}"]


def _series(members: t.Sequence[Data]) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {FIRST: members[0]}
    if len(members) > 1:
        found[SECOND] = _difference(members[0], members[1])
    if len(members) > 2:
        found[LAST] = _difference(members[0], members[-1])
    return {**found, COUNT: len(members)} if len(members) > 3 else found


def _without_repetition(section: t.Any) -> t.Any:
    """A section in which each long list shows its first entry, and what differs in the second and the last."""
    if isinstance(section, dict):
        return {name: _without_repetition(value) for name, value in section.items()}
    if isinstance(section, list) and all(isinstance(item, dict) for item in section):
        return _series(section) if section else {}
    return section


def _difference(first: t.Any, other: t.Any) -> t.Any:
    if isinstance(first, dict) and isinstance(other, dict):
        gone = [f"- {key}" for key in first if key not in other]
        changed = {key: value for key, value in other.items() if first.get(key) != value}
        found = {
            key: value if _is_difference(key) else _difference(first.get(key), value) for key, value in changed.items()
        }
        return {**found, **({"gone": gone} if gone else {})}
    if isinstance(first, list) and isinstance(other, list):
        new = [f"+ {_word(item)}" for item in other if item not in first]
        lines = new + [f"- {_word(item)}" for item in first if item not in other]
        in_order = [item for item in other if item in first] == [item for item in first if item in other]
        return lines if in_order and len(lines) < len(other) else other
    return other


def _is_difference(key: str) -> bool:
    """Whether the value of a key says already what differs: it is shown as it is."""
    return key in (SECOND, LAST) or key.startswith(f"{FIRST}, ")


def _word(item: t.Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True)


def _plain(value: t.Any) -> t.Any:
    """Copies without shared parts, for which YAML would write anchors."""
    return json.loads(json.dumps(value))
