# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole plan as text that a person reads in a review: each changed value is a changed line.

The first service of a kind and the first host are complete. The second and the last show what differs from it (``+`` and
``-``), which is how names, ports, ranks and devices count on; those between them are only counted.
Facts of the release are left out: they are compared with the release's own sources elsewhere.
"""

from __future__ import annotations

import json
import typing as t

import yaml

HEAD = "# SPDX-License-Identifier: GPL-3.0-or-later\n# Written by test_plans.py, which names the command.\n"
LEFT_OUT = ("release_facts", "digest", "revision", "groups", "plan_version")
RUNS_WITH = ("name", "kind", "devices", "argv", "env", "ports", "source", "start", "stop", "health", "files")
Data = t.Mapping[str, t.Any]


def services_text(plan: Data) -> str:
    """What the first service of each kind runs with, and the findings: what a recipe decides."""
    first = {service["kind"]: service for service in reversed(plan["services"])}
    services = [{name: service[name] for name in RUNS_WITH} for service in first.values()]
    return plan_text({"release": plan["release"], "findings": plan["findings"], "services": services})


def plan_text(plan: Data) -> str:
    """The plan as lines of YAML, without what repeats."""
    shown = {name: value for name, value in plan.items() if name not in (*LEFT_OUT, "services")}
    shown["findings"] = [f"{finding['id']} {finding['path']}: {finding['problem']}" for finding in plan["findings"]]
    shown["services"] = _beside_first([_readable(service) for service in plan["services"]], lambda item: item["kind"])
    return HEAD + yaml.safe_dump(
        _plain(_without_repetition(shown)), sort_keys=True, width=150, allow_unicode=True, default_flow_style=None
    )


def _readable(service: Data) -> dict[str, t.Any]:
    """A service without its digest, with one line for each argument and each property of a JSON value."""
    found = {name: value for name, value in service.items() if name != "digest"}
    found["argv"] = _arguments(service["argv"])
    found["files"] = {file["path"]: {**file, "content": file["content"].splitlines()} for file in service["files"]}
    return found


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


def _beside_first(items: t.Sequence[Data], kind_of: t.Callable[[Data], str]) -> dict[str, t.Any]:
    kinds: dict[str, list[Data]] = {}
    for item in items:
        kinds.setdefault(kind_of(item), []).append(item)
    return {kind: _series(members) for kind, members in kinds.items()}


def _series(members: t.Sequence[Data]) -> list[t.Any]:
    others = [members[1], members[-1]] if len(members) > 2 else list(members[1:])
    count = [f"{len(members)} in all"] if len(members) > 3 else []
    return [members[0], *(_difference(members[0], item) for item in others), *count]


def _without_repetition(section: t.Any) -> t.Any:
    """A section in which each long list shows its first entry, and what differs in the second and the last."""
    if isinstance(section, dict):
        return {name: _without_repetition(value) for name, value in section.items()}
    if isinstance(section, list) and all(isinstance(item, dict) for item in section):
        return _series(section) if section else []
    return section


def _difference(first: t.Any, other: t.Any) -> t.Any:
    if isinstance(first, dict) and isinstance(other, dict):
        gone = [f"- {key}" for key in first if key not in other]
        found = {key: _difference(first.get(key), value) for key, value in other.items() if first.get(key) != value}
        return {**found, **({"gone": gone} if gone else {})}
    if isinstance(first, list) and isinstance(other, list):
        return [f"+ {_word(item)}" for item in other if item not in first] + [
            f"- {_word(item)}" for item in first if item not in other
        ]
    return other


def _word(item: t.Any) -> str:
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True)


def _plain(value: t.Any) -> t.Any:
    """Copies without shared parts, for which YAML would write anchors."""
    return json.loads(json.dumps(value))
