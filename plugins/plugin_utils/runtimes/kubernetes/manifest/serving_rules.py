# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of ModelServing from CEL in its CRD and from Kthena's webhook (v0.4.0, v1.0.0, main)."""

from __future__ import annotations

import math
import re
import typing as t

from ....description.findings import Finding
from .names import is_dns1035, metadata
from .parts import mapped
from .pod_rules import pod_spec
from .walk import violation

WEBHOOK = "Kthena's validating webhook for ModelServing"
DNS1035 = "Use lower-case letters, digits and '-', beginning with a letter."


def model_serving(value: t.Mapping[str, t.Any], version: str, path: str) -> t.Iterator[Finding]:
    """All violations beyond the structural schema."""
    spec = value.get("spec")
    if not isinstance(spec, t.Mapping):
        return
    template = spec.get("template") if isinstance(spec.get("template"), t.Mapping) else {}
    roles = mapped(template.get("roles"))
    place = f"{path}.spec.template.roles"
    yield from _replicas(spec, f"{path}.spec")
    yield from _names(value, spec, roles, path)
    yield from _rollout(spec, version, f"{path}.spec")
    for index, role in enumerate(roles):
        yield from _role(spec, role, version, f"{place}[{index}]")
    yield from _gang(template, roles, f"{path}.spec.template.gangPolicy.minRoleReplicas")


def _whole(value: t.Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _replicas(owner: t.Mapping[str, t.Any], path: str, key: str = "replicas") -> t.Iterator[Finding]:
    if _whole(owner.get(key), 1) < 0:
        yield violation(f"{path}.{key}", "KTHENA-REPLICAS", "must not be negative", "", owner[key], WEBHOOK)


def _names(
    value: t.Mapping[str, t.Any], spec: t.Mapping[str, t.Any], roles: list[t.Mapping[str, t.Any]], path: str
) -> t.Iterator[Finding]:
    """Role names must be unique, and generated pod names must be DNS labels that begin with a letter."""
    head = value.get("metadata")
    name = str(head.get("name", "")) if isinstance(head, t.Mapping) else ""
    seen: set[str] = set()
    for index, role in enumerate(roles):
        place, word = f"{path}.spec.template.roles[{index}].name", role.get("name")
        if not isinstance(word, str):
            continue
        if word in seen:
            yield violation(place, "K8S-TWIN", "another role has this name", "Rename it.", word, "the CRD's CEL rule")
        seen.add(word)
        if not is_dns1035(word):
            yield violation(
                place, "KTHENA-NAME", "the role's name is not a DNS label (RFC 1035)", DNS1035, word, WEBHOOK
            )
        pod = "-".join(
            str(item)
            for item in (
                name,
                _whole(spec.get("replicas"), 1),
                word,
                _whole(role.get("replicas"), 1),
                _whole(role.get("workerReplicas"), 0),
            )
        )
        if len(pod) > 63:
            message = f"the names of its pods would have {len(pod)} characters ({pod}); the maximum is 63"
            yield violation(f"{path}.metadata.name", "KTHENA-NAME", message, "Shorten it.", name, WEBHOOK)
        elif is_dns1035(word) and not is_dns1035(pod):
            message = "the names of its pods would not be DNS labels (RFC 1035)"
            yield violation(f"{path}.metadata.name", "KTHENA-NAME", message, DNS1035, name, WEBHOOK)


def _rollout(spec: t.Mapping[str, t.Any], version: str, path: str) -> t.Iterator[Finding]:
    rollout = spec.get("rolloutStrategy") if isinstance(spec.get("rolloutStrategy"), t.Mapping) else {}
    by_role = rollout.get("type") == "RoleRollingUpdate"
    if by_role and spec.get("recoveryPolicy", "RoleRecreate") == "ServingGroupRecreate":
        message = "RoleRollingUpdate is not compatible with recoveryPolicy ServingGroupRecreate"
        fix = "Set recoveryPolicy to RoleRecreate: a change of one role then does not affect the pods of others."
        yield violation(f"{path}.rolloutStrategy.type", "KTHENA-ROLLOUT", message, fix, "RoleRollingUpdate", WEBHOOK)
    settings = rollout.get("rollingUpdateConfiguration")
    if not isinstance(settings, t.Mapping):
        return
    place = f"{path}.rolloutStrategy.rollingUpdateConfiguration"
    if by_role and version != "v0.4.0":
        message = "is valid only for ServingGroupRollingUpdate"
        fix = "Remove it and set maxUnavailable in each role."
        yield violation(place, "KTHENA-ROLLOUT", message, fix, source=WEBHOOK)
        return
    for key in ("maxUnavailable", "partition"):
        if settings.get(key) is not None:
            yield from _share(settings[key], f"{place}.{key}")
    replicas = _whole(spec.get("replicas"), 1)
    if _share_of(settings.get("maxUnavailable", 1), replicas) == 0:
        message = f"is 0 of {replicas} groups"
        yield violation(f"{place}.maxUnavailable", "KTHENA-ROLLOUT", message, "Raise it.", source=WEBHOOK)


def _share(value: t.Any, path: str) -> t.Iterator[Finding]:
    """A count or a percentage."""
    percent = isinstance(value, str) and re.fullmatch(r"[0-9]+%", value) and int(value[:-1]) <= 100
    if not percent and not (isinstance(value, int) and value >= 0):
        message = "expected a number of at least 0 or a percentage up to 100%"
        yield violation(path, "KTHENA-ROLLOUT", message, "E.g. 1 or 25%.", value, WEBHOOK)


def _share_of(value: t.Any, whole: int) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"[0-9]+%", value):
        return math.floor(int(value[:-1]) * whole / 100)
    return value if isinstance(value, int) else None


def _role(spec: t.Mapping[str, t.Any], role: t.Mapping[str, t.Any], version: str, path: str) -> t.Iterator[Finding]:
    yield from _replicas(role, path)
    yield from _replicas(role, path, "workerReplicas")
    if _whole(role.get("workerReplicas"), 0) > 0 and not role.get("workerTemplate"):
        message = "is required when workerReplicas is greater than 0"
        yield violation(
            f"{path}.workerTemplate", "KTHENA-WORKER", message, "Set the template of the workers' pods.", source=WEBHOOK
        )
    for key in ("entryTemplate", "workerTemplate"):
        template = role.get(key)
        if isinstance(template, t.Mapping):
            yield from metadata(template.get("metadata"), f"{path}.{key}.metadata", named=False)
            if "spec" not in template:
                message = "the pod's specification is missing"
                yield violation(f"{path}.{key}.spec", "POD-CONTAINER", message, "Set its containers.", source=WEBHOOK)
            yield from pod_spec(template.get("spec"), f"{path}.{key}.spec")
    rollout = spec.get("rolloutStrategy") if isinstance(spec.get("rolloutStrategy"), t.Mapping) else {}
    is_by_role = rollout.get("type") == "RoleRollingUpdate"
    for key in ("maxUnavailable", "partition") if version != "v0.4.0" else ():
        ignored = key == "maxUnavailable" and version == "main"  # its CRD sets it in every role
        if role.get(key) is not None and not is_by_role and not ignored:
            fix = "Set rolloutStrategy.type to RoleRollingUpdate, or remove it."
            message = "is valid only for RoleRollingUpdate"
            yield violation(f"{path}.{key}", "KTHENA-ROLLOUT", message, fix, role[key], WEBHOOK)
    if version != "v0.4.0" and role.get("maxUnavailable") is not None and (is_by_role or version != "main"):
        yield from _unavailable(role, f"{path}.maxUnavailable")
    if version == "main" and role.get("partition") is not None:
        yield from _share(role["partition"], f"{path}.partition")


def _unavailable(role: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    value, replicas = role["maxUnavailable"], _whole(role.get("replicas"), 1)
    yield from _share(value, path)
    share = _share_of(value, replicas)
    if share is not None and not 1 <= share <= replicas:
        message = f"is {share} of the role's {replicas} replicas; must be 1 to {replicas}"
        yield violation(path, "KTHENA-ROLLOUT", message, "", value, WEBHOOK)


def _gang(template: t.Mapping[str, t.Any], roles: list[t.Mapping[str, t.Any]], path: str) -> t.Iterator[Finding]:
    gang = template.get("gangPolicy")
    least = gang.get("minRoleReplicas") if isinstance(gang, t.Mapping) else None
    if not isinstance(least, t.Mapping):
        return
    known = {str(role.get("name")): _whole(role.get("replicas"), 1) for role in roles}
    for name in least:
        place = f"{path}[{name}]"
        if name not in known:
            fix = f"Roles: {', '.join(sorted(known))}."
            yield violation(place, "KTHENA-GANG", "unknown role", fix, name, WEBHOOK)
        elif not 0 <= _whole(least[name], 0) <= known[name]:
            message = f"the role has {known[name]} replicas; must be 0 to {known[name]}"
            yield violation(place, "KTHENA-GANG", message, "Lower it.", least[name], WEBHOOK)
