# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks one manifest without a server: the fields of its kind, and what the API server and Kthena's webhook say of their values."""

from __future__ import annotations

import dataclasses
import typing as t

from .....module_utils.kubernetes.kinds import KINDS as API
from ....description.findings import Finding, nearest
from .formats import RULE, is_dns1035, is_subdomain
from .objects import look
from .serving_rules import model_serving
from .walk import KINDS, VERSIONS, mapping, mappings, violation, walk

# Besides their names they are left to the server.
LEFT = ("PodMonitor", "AutoscalingPolicy")
KNOWN = sorted(
    f"{API[kind][0]} {kind}" for kind in (*LEFT, *(kind for kind in KINDS if kind in API and kind != "Secret"))
)
SILENT = "validation of pods; a ModelServing with such a template is accepted, and its pods are never created"
NO_PODS = "The cluster accepts the object and never creates its pods; only the controller's log reports it."
LONGEST_STATEFUL_SET = 63 - len("-") - 10


def check_manifest(manifest: t.Any, kthena_version: str = "v1.0.0") -> list[Finding]:
    """All violations in one manifest, in a stable order; empty if none is found.

    ``manifest`` is plain data of a kind in ``KNOWN``, such as ModelServing or Deployment;
    ``kthena_version`` is v0.4.0, v1.0.0 or main. A kind or version that is not known is a finding itself.
    """
    if not isinstance(manifest, t.Mapping):
        return [violation("manifest", "K8S-TYPE", "expected a mapping", value=manifest)]
    if kthena_version not in VERSIONS:
        fix = f"{nearest(kthena_version, VERSIONS)}Known: {', '.join(VERSIONS)}."
        return [violation("kthena_version", "KTHENA-VERSION", "unknown version", fix, kthena_version)]
    kind, full = str(manifest.get("kind")), f"{manifest.get('apiVersion')} {manifest.get('kind')}"
    if full not in KNOWN:
        return [violation("manifest", "K8S-KIND", "unknown kind", f"Known: {', '.join(KNOWN)}.", full)]
    name = mapping(manifest.get("metadata")).get("name")
    path = f"{kind}/{name or ''}"
    found = list(_name(name, kind == "Service", f"{path}.metadata.name"))
    found += walk(kind, manifest, path, kthena_version, look) if kind in KINDS else ()
    spec = mapping(manifest.get("spec"))
    if kind == "ModelServing":
        found += model_serving(manifest, path, kthena_version)
    elif kind == "ModelRoute" and not spec.get("modelName") and not spec.get("loraAdapters"):
        message, source = "neither modelName nor loraAdapters is set", "the CRD's CEL rule"
        found.append(violation(f"{path}.spec.modelName", "KTHENA-ROUTE", message, "Set modelName.", source=source))
    elif kind == "LeaderWorkerSet":
        found += _group(str(name or ""), spec, path)
    if kind in ("ModelServing", "LeaderWorkerSet"):  # their API does not validate templates
        left = tuple(_left(spec, path))
        found = [
            dataclasses.replace(item, why=NO_PODS, source=SILENT) if item.source == RULE else item
            for item in found
            if item.source != RULE or not any(start in item.path and item.value.endswith(end) for start, end in left)
        ]
    return sorted(set(found))


def _name(name: t.Any, is_service: bool, path: str) -> t.Iterator[Finding]:
    source = "Kubernetes' object names"
    if is_service and not is_dns1035(str(name or "")):
        fix = "Use at most 63 lower-case letters, digits and '-', beginning with a letter."
        yield violation(path, "K8S-NAME", "is not a DNS label (RFC 1035)", fix, name, source)
    elif not is_subdomain(str(name or "")):
        fix = "Use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit."
        yield violation(path, "K8S-NAME", "is not a DNS subdomain (RFC 1123)", fix, name, source)


def _left(spec: t.Mapping[str, t.Any], path: str) -> t.Iterator[tuple[str, str]]:
    """Beginnings of paths and ends of values that are right: templates of no worker, and mounts of what is claimed for each pod."""
    for index, role in enumerate(mappings(mapping(spec.get("template")).get("roles"))):
        if not role.get("workerReplicas"):
            yield f"{path}.spec.template.roles[{index}].workerTemplate.", ""
    for claim in mappings(mapping(spec.get("leaderWorkerTemplate")).get("volumeClaimTemplates")):
        yield "volumeMounts[", repr(mapping(claim.get("metadata")).get("name"))


def _group(name: str, spec: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    """Workers of a group are a StatefulSet, whose pods have a label of its name and a hash of 10 characters (kubernetes issue 64023)."""
    groups, size = spec.get("replicas", 1), mapping(spec.get("leaderWorkerTemplate")).get("size", 1)
    workers = f"{name}-{max(0, groups - 1)}" if isinstance(groups, int) else name
    if len(workers) > LONGEST_STATEFUL_SET:
        message = (
            f"its last group is named {workers}, with {len(workers)} characters; the maximum is {LONGEST_STATEFUL_SET}"
        )
        yield violation(
            f"{path}.metadata.name", "K8S-NAME", message, "Choose a shorter inference_deployment.", name, RULE
        )
    if isinstance(size, int) and size < 1:
        place, source = f"{path}.spec.leaderWorkerTemplate.size", "the webhook of LeaderWorkerSet"
        yield violation(place, "K8S-VALUE", "must be at least 1", value=size, source=source)
