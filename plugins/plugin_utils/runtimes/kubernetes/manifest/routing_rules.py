# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of ModelRoute and ModelServer: CEL, Kthena's webhook, and values that kthena-router cannot parse."""

from __future__ import annotations

import re
import typing as t

from ....description.findings import Finding
from .names import labels
from .parts import listed, mapped
from .walk import violation

WEBHOOK = "Kthena's validating webhook for ModelRoute"


def model_route(value: t.Mapping[str, t.Any], version: str, path: str) -> t.Iterator[Finding]:
    """A route must have a model, and each rule a target with traffic."""
    spec = value.get("spec")
    if not isinstance(spec, t.Mapping):
        return
    if not spec.get("modelName") and not spec.get("loraAdapters"):
        message = "neither modelName nor loraAdapters is set"
        yield violation(
            f"{path}.spec.modelName", "KTHENA-ROUTE", message, "Set modelName.", source="the CRD's CEL rule"
        )
    for index, name in enumerate(listed(spec.get("loraAdapters"))):
        if name == "":
            place = f"{path}.spec.loraAdapters[{index}]"
            yield violation(place, "KTHENA-ROUTE", "the name is empty", "Remove it.", source=WEBHOOK)
    for index, rule in enumerate(mapped(spec.get("rules"))):
        yield from _rule(rule, version, f"{path}.spec.rules[{index}]")


def _rule(rule: t.Mapping[str, t.Any], version: str, path: str) -> t.Iterator[Finding]:
    targets, weight = mapped(rule.get("targetModels")), 0
    for index, target in enumerate(targets):
        if version == "main" and bool(target.get("modelServerName")) == bool(target.get("externalModelProviderName")):
            message = "exactly one of modelServerName and externalModelProviderName must be set"
            place = f"{path}.targetModels[{index}]"
            yield violation(place, "KTHENA-ROUTE", message, "Keep one of them.", source="the CRD's CEL rule")
        elif target.get("modelServerName") == "":
            place = f"{path}.targetModels[{index}].modelServerName"
            yield violation(
                place, "KTHENA-ROUTE", "the name is empty", "Set the name of a ModelServer.", source=WEBHOOK
            )
        share = target.get("weight", 100)
        weight += share if isinstance(share, int) else 100
    if targets and weight <= 0:
        message = "the sum of the weights is 0: no target would get traffic"
        yield violation(f"{path}.targetModels", "KTHENA-ROUTE", message, "Set a weight.", source=WEBHOOK)
    match = rule.get("modelMatch")
    if not isinstance(match, t.Mapping):
        return
    headers = match.get("headers") if isinstance(match.get("headers"), t.Mapping) else {}
    patterns = {f"headers[{key}]": headers[key] for key in headers}
    patterns["uri"] = match.get("uri")
    for key, pattern in patterns.items():
        if isinstance(pattern, t.Mapping) and isinstance(pattern.get("regex"), str):
            yield from _regex(pattern["regex"], f"{path}.modelMatch.{key}.regex")


def _regex(pattern: str, path: str) -> t.Iterator[Finding]:
    try:
        re.compile(pattern)
    except re.error as error:
        message = f"is not a regular expression: {error}"
        yield violation(path, "KTHENA-ROUTE", message, "Correct it.", pattern, WEBHOOK)


def model_server(value: t.Mapping[str, t.Any], _version: str, path: str) -> t.Iterator[Finding]:
    """The label selectors of a ModelServer must be valid.

    A missing port or an invalid timeout is not refused: server and webhook accept both (observed on v1.0.0).
    """
    spec = value.get("spec")
    if not isinstance(spec, t.Mapping):
        return
    selector = spec.get("workloadSelector") if isinstance(spec.get("workloadSelector"), t.Mapping) else {}
    place = f"{path}.spec.workloadSelector"
    yield from labels(selector.get("matchLabels"), f"{place}.matchLabels")
    groups = selector.get("pdGroup")
    if isinstance(groups, t.Mapping):
        for key in ("prefillLabels", "decodeLabels"):
            yield from labels(groups.get(key), f"{place}.pdGroup.{key}")
