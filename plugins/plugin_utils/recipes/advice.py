# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Advice: what most documented deployments of a model set and a plan does not. It is no rule: none of it is needed to start."""

from __future__ import annotations

import re
import typing as t

from ..releases import options
from ..releases.release import RELEASES
from .practice_data import PRACTICE, SOURCES

FAMILY = re.compile(r"(deepseek-?[vr]\d|qwen\d(?:\.5)?|glm-?\d|kimi-?k\d|minimax-?m\d)")


def family_of(model: str) -> str:
    """The family of a model's name; empty for an unknown one.

    >>> family_of("DeepSeek-V3.1-w8a8-mtp")
    'deepseek-v3'
    """
    found = FAMILY.search(model.lower().replace("_", "-"))
    return re.sub(r"^(deepseek|glm|kimi|minimax)-?", r"\1-", found.group(1)) if found else ""


def advice_lines(plan: t.Mapping[str, t.Any]) -> list[str]:
    """The advice for a plan, as text lines."""
    model = plan["model"]["path"].rstrip("/").rsplit("/", 1)[-1]
    family = family_of(model) or family_of(plan["model"]["name"])
    known = PRACTICE.get(family, {})
    if not known:
        return [f"No advice: fewer than three documented deployments of a model like {model} are known."]
    lines = []
    for kind in dict.fromkeys(service["kind"] for service in plan["services"]):
        deployments, settings = known.get(kind, (0, {}))
        services = [service for service in plan["services"] if service["kind"] == kind]
        missing = [
            (name, *settings[name])
            for name in settings
            if not any(has(service, name) for service in services) and read(plan, name)
        ]
        if missing:
            lines.append(
                f"{kind}: most of {deployments} documented deployments of {family} set this, and the plan does not:"
            )
        for name, count, value, source in missing:
            shown = (
                f"{name}={value}" if name.isupper() else f"--{name}{' ' + value if value not in ('', 'true') else ''}"
            )
            lines.append(f"  {shown} ({count} of {deployments}; {SOURCES[source]})")
    return lines or [f"The plan sets all that most documented deployments of {family} set."]


def read(plan: t.Mapping[str, t.Any], name: str) -> bool:
    """Whether the plan's release reads an environment variable of vLLM-Ascend or knows an argument; true if nothing is known."""
    release = RELEASES.get(plan["release"])
    if name.isupper():
        return not (release and release.environment and name.startswith("VLLM_ASCEND_")) or name in release.environment
    flags = options.known("vllm", plan["release_facts"]["vllm"])
    return not flags or name in flags


def has(service: t.Mapping[str, t.Any], name: str) -> bool:
    """Whether a service sets an environment variable (in capitals) or an argument, also in its negated form."""
    if name.isupper():
        return name in service["env"]
    flags = {str(word).split("=", maxsplit=1)[0] for word in service["argv"]}
    return f"--{name}" in flags or f"--no-{name}" in flags
