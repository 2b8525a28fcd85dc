# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of ModelServing from CEL in its CRD and from Kthena's webhook, for what a description can set (v0.4.0, v1.0.0, main)."""

from __future__ import annotations

import re
import typing as t

from ....description.findings import Finding
from .formats import is_dns1035
from .walk import mapping, mappings, violation

WEBHOOK = "Kthena's validating webhook for ModelServing"
SHARES, PERCENT = ("partition", "maxUnavailable"), re.compile("0*(100|[0-9]{1,2})%")
DNS1035 = "Use lower-case letters, digits and '-', beginning with a letter."


def model_serving(value: t.Mapping[str, t.Any], path: str, version: str) -> t.Iterator[Finding]:
    """All violations beyond the structural schema, in a version of Kthena."""
    spec = mapping(value.get("spec"))
    template = mapping(spec.get("template"))
    roles = mappings(template.get("roles"))
    place = f"{path}.spec.template.roles"
    yield from _names(str(mapping(value.get("metadata")).get("name", "")), spec, roles, path)
    rollout = mapping(spec.get("rolloutStrategy")).get("type")
    if (rollout, spec.get("recoveryPolicy")) == ("RoleRollingUpdate", "ServingGroupRecreate"):
        message = "RoleRollingUpdate is not compatible with recoveryPolicy ServingGroupRecreate"
        fix = "Set recoveryPolicy to RoleRecreate: a change of one role then does not affect the pods of others."
        yield violation(f"{path}.spec.rolloutStrategy.type", "KTHENA-ROLLOUT", message, fix, rollout, WEBHOOK)
    is_for_roles = rollout == "RoleRollingUpdate"
    update = mapping(mapping(spec.get("rolloutStrategy")).get("rollingUpdateConfiguration"))
    foreign: t.Collection[str] = SHARES if is_for_roles and version != "v0.4.0" else ()
    yield from _shares(update, spec.get("replicas"), f"{path}.spec.rolloutStrategy.rollingUpdateConfiguration", foreign)
    for index, role in enumerate(roles):
        foreign = () if is_for_roles else SHARES if version == "v1.0.0" else ("partition",)  # main ignores the other
        yield from _shares(role, role.get("replicas"), f"{place}[{index}]", foreign, is_role=True)
        yield from _templates(role, f"{place}[{index}]")
    yield from _gang(template, roles, f"{path}.spec.template.gangPolicy.minRoleReplicas")


def _whole(value: t.Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _names(
    name: str, spec: t.Mapping[str, t.Any], roles: list[t.Mapping[str, t.Any]], path: str
) -> t.Iterator[Finding]:
    """Role names must be unique DNS labels, and generated names of pods not too long."""
    seen: set[str] = set()
    for index, role in enumerate(roles):
        place, word = f"{path}.spec.template.roles[{index}].name", role.get("name")
        if not isinstance(word, str):
            continue
        if word in seen:
            yield violation(place, "K8S-TWIN", "another role has this name", "Rename it.", word, "the CRD's CEL rule")
        seen.add(word)
        if not is_dns1035(word):
            message = "the role's name is not a DNS label (RFC 1035)"
            yield violation(place, "KTHENA-NAME", message, DNS1035, word, WEBHOOK)
        groups, replicas, workers = spec.get("replicas"), role.get("replicas"), role.get("workerReplicas")
        pod = f"{name}-{_whole(groups, 1)}-{word}-{_whole(replicas, 1)}-{_whole(workers, 0)}"
        if len(pod) > 63:
            message = f"the names of its pods would have {len(pod)} characters ({pod}); the maximum is 63"
            yield violation(f"{path}.metadata.name", "KTHENA-NAME", message, "Shorten it.", name, WEBHOOK)


def _shares(
    part: t.Mapping[str, t.Any], replicas: t.Any, path: str, foreign: t.Collection[str], is_role: bool = False
) -> t.Iterator[Finding]:
    """Numbers, or percentages, of an update; ``foreign`` are the fields that belong to the other type of rollout."""
    for key in SHARES:
        value, whole, message = part.get(key), _whole(replicas, 1), ""
        is_text = isinstance(value, str)
        if value is not None and key in foreign:
            message = "is not a setting of this type of rolloutStrategy"
        elif is_text and not PERCENT.fullmatch(value):
            message = "is no percentage from 0% to 100%"
        elif is_text or _whole(value, -1) >= 0:
            count = int(value[:-1]) * whole // 100 if is_text else value
            if key == "maxUnavailable" and (count == 0 or (is_role and count > whole)):
                message = (
                    f"means {count} of {whole}, so no update would begin" if not count else f"is more than {whole}"
                )
        elif _whole(value, 0) < 0:
            message = "must not be negative"
        if message:
            fix = (
                "Remove it, or set the other type."
                if key in foreign
                else "Write a number, or a percentage such as 50%."
            )
            yield violation(f"{path}.{key}", "KTHENA-ROLLOUT", message, fix, value, WEBHOOK)


def _templates(role: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    if _whole(role.get("workerReplicas"), 0) > 0 and not role.get("workerTemplate"):
        message, fix = "is required when workerReplicas is greater than 0", "Set the template of the workers' pods."
        yield violation(f"{path}.workerTemplate", "KTHENA-WORKER", message, fix, source=WEBHOOK)


def _gang(template: t.Mapping[str, t.Any], roles: list[t.Mapping[str, t.Any]], path: str) -> t.Iterator[Finding]:
    least = mapping(mapping(template.get("gangPolicy")).get("minRoleReplicas"))
    known = {str(role.get("name")): _whole(role.get("replicas"), 1) for role in roles}
    for name in least:
        if name not in known:
            hint = f"Roles: {', '.join(sorted(known))}."
            yield violation(f"{path}[{name}]", "KTHENA-GANG", "no role has this name", hint, least[name], WEBHOOK)
        elif not 0 <= _whole(least[name], 0) <= known[name]:
            message = f"the role has {known[name]} replicas; must be 0 to {known[name]}"
            yield violation(f"{path}[{name}]", "KTHENA-GANG", message, "Lower it.", least[name], WEBHOOK)
