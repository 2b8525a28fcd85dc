# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates Kthena's validating webhook for ModelServings, after the source of v1.0.0 and main (pkg/model-serving-controller/webhook)."""

from __future__ import annotations

import re

from fake_store import Refused

NAME = "validate-workload-ai-v1alpha1-modelserving.volcano.sh"
LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
PERCENT = re.compile(r"(100|[0-9]{1,2})%")


def admit(thing):
    """Refused in the words of a server, with all that is wrong; a webhook's answer without a code is 400."""
    found = list(problems(thing["metadata"]["name"], thing["spec"]))
    if found:
        text = "".join(f"\n  - {problem}" for problem in found)
        raise Refused(400, "", f'admission webhook "{NAME}" denied the request: validation failed:{text}')


def problems(name, spec):
    """validateModelServing, in its order."""
    roles, rollout = spec["template"].get("roles") or [], spec.get("rolloutStrategy") or {}
    for role in roles:
        longest = (
            f"{name}-{spec.get('replicas', 1)}-{role['name']}-{role.get('replicas', 1)}-{role.get('workerReplicas', 0)}"
        )
        if len(longest) > 63 or not LABEL.fullmatch(longest):
            yield f'metadata.name: Invalid value: "{name}": invalid name: {longest}'
    for number, role in enumerate(roles):
        path = f"spec.template.roles[{number}]"
        if len(role["name"]) > 63 or not LABEL.fullmatch(role["name"]):
            yield f'{path}.name: Invalid value: "{role["name"]}": role name must be a valid DNS-1035 label'
        for part in ("entryTemplate", "workerTemplate"):
            for place, box in enumerate((role.get(part) or {}).get("spec", {}).get("containers", [])):
                if " " in box.get("image", ""):
                    where = f"{path}.{part}.spec.containers[{place}].image"
                    yield f"{where}: Invalid value: invalid container image reference: image cannot contain spaces"
        if role.get("replicas", 1) < 0:
            yield f"{path}.replicas: Invalid value: role replicas must be a non-negative integer"
        if role.get("workerReplicas", 0) > 0 and "workerTemplate" not in role:
            yield f"{path}.workerTemplate: Required value: workerTemplate is required when workerReplicas is greater than 0"
    if not roles:
        yield "spec.template.roles: Invalid value: roles must be specified"
    yield from _rollout(spec, rollout, roles)
    counts = {role["name"]: role.get("replicas", 1) for role in roles}
    for role, least in ((spec["template"].get("gangPolicy") or {}).get("minRoleReplicas") or {}).items():
        path = f"spec.template.gangPolicy.minRoleReplicas[{role}]"
        if role not in counts:
            yield f'{path}: Invalid value: "{role}": role {role} does not exist in template.roles'
        elif least > counts[role]:
            yield f"{path}: Invalid value: minRoleReplicas ({least}) for role {role} cannot exceed replicas ({counts[role]})"
        elif least < 0:
            yield f"{path}: Invalid value: minRoleReplicas for role {role} must be non-negative"


def _rollout(spec, rollout, roles):
    """validateRollingUpdateConfiguration, validateMaxUnavailableForRoles, validateRecoveryPolicyAndRolloutStrategy."""
    kind, config = rollout.get("type", "ServingGroupRollingUpdate"), rollout.get("rollingUpdateConfiguration")
    by_role, path = kind == "RoleRollingUpdate", "spec.rolloutStrategy.rollingUpdateConfiguration"
    if config is not None and by_role:
        yield f"{path}: Forbidden: rollingUpdateConfiguration is only valid when rolloutStrategy.type is ServingGroupRollingUpdate"
    elif config is not None:
        yield from _number(config.get("maxUnavailable"), f"{path}.maxUnavailable", spec.get("replicas", 1))
        yield from _number(config.get("partition"), f"{path}.partition")
    for number, role in enumerate(roles):
        for key in ("partition", "maxUnavailable"):
            where = f"spec.template.roles[{number}].{key}"
            if key in role and not by_role:
                yield f"{where}: Forbidden: {key} is only valid when rolloutStrategy.type is RoleRollingUpdate"
            count = role.get("replicas", 1) if key == "maxUnavailable" else None
            yield from _number(role.get(key), where, count)
            if count is not None and isinstance(role.get(key), int) and role[key] > count:
                yield f"{where}: Invalid value: maxUnavailable cannot be greater than replicas ({count})"
    if spec.get("recoveryPolicy", "RoleRecreate") == "ServingGroupRecreate" and by_role:
        yield "spec.rolloutStrategy.type: Invalid value: incompatible recoveryPolicy and rolloutStrategy.type after applying defaults"


def _number(value, where, whole=None):
    """validateIntOrPercent; of ``whole`` it may not be nothing."""
    if isinstance(value, str) and not PERCENT.fullmatch(value):
        yield f"{where}: Invalid value: a valid percent string must be a numeric string followed by an ending '%'"
    elif isinstance(value, int) and value < 0:
        yield f"{where}: Invalid value: must be a non-negative integer"
    elif value is not None and whole and _part(value, whole) == 0:
        yield f"{where}: Invalid value: maxUnavailable cannot be 0"


def _part(value, whole):
    return value if isinstance(value, int) else int(value[:-1]) * whole // 100
