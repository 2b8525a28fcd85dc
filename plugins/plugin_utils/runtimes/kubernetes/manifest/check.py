# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks one manifest without a server: Kthena's kinds, names, and templates whose pods would never be created.

What a server's dry run reports, such as fields deep inside a template, is left to it.
"""

from __future__ import annotations

import typing as t

from .....module_utils.kubernetes.kinds import KINDS
from ....description.findings import Finding, nearest
from . import kthena_shapes
from .pods import pod_spec
from .serving_rules import model_serving
from .walk import SILENT, is_dns1035, is_subdomain, mapping, mappings, violation, walk

TEMPLATES = {  # fields that lead to the specification of a pod
    "Pod": (("spec",),),
    "Deployment": (("spec", "template", "spec"),),
    "LeaderWorkerSet": (
        ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec"),
        ("spec", "leaderWorkerTemplate", "workerTemplate", "spec"),
    ),
}
# Besides their names they are left to the server.
LEFT = ("ConfigMap", "Service", "PodDisruptionBudget", "NetworkPolicy", "PodMonitor", "AutoscalingPolicy")
LONGEST_STATEFUL_SET = 63 - len("-") - 10
KNOWN = sorted(f"{KINDS[kind][0]} {kind}" for kind in (*TEMPLATES, *LEFT, *kthena_shapes.SHAPES))


def check_manifest(manifest: t.Any, kthena_version: str = "v1.0.0") -> list[Finding]:
    """All violations in one manifest, in a stable order; empty if none is found.

    ``manifest`` is plain data of a kind in ``KNOWN``, such as ModelServing or Deployment;
    ``kthena_version`` is v0.4.0, v1.0.0 or main. A kind or version that is not known is a finding itself.
    """
    if not isinstance(manifest, t.Mapping):
        return [violation("manifest", "K8S-TYPE", "expected a mapping", value=manifest)]
    if kthena_version not in kthena_shapes.VERSIONS:
        fix = f"{nearest(kthena_version, kthena_shapes.VERSIONS)}Known: {', '.join(kthena_shapes.VERSIONS)}."
        return [violation("kthena_version", "KTHENA-VERSION", "unknown version", fix, kthena_version)]
    kind, full = str(manifest.get("kind")), f"{manifest.get('apiVersion')} {manifest.get('kind')}"
    if full not in KNOWN:
        return [violation("manifest", "K8S-KIND", "unknown kind", f"Known: {', '.join(KNOWN)}.", full)]
    name = mapping(manifest.get("metadata")).get("name")
    path = f"{kind}/{name or ''}"
    found = list(_name(name, kind == "Service", f"{path}.metadata.name"))
    if kind in kthena_shapes.SHAPES:
        found += walk(kthena_shapes.SHAPES[kind](kthena_version), manifest, path)
    if kind == "ModelServing":
        found += model_serving(manifest, kthena_version, path)
    elif kind == "ModelRoute":
        found += _route(mapping(manifest.get("spec")), kthena_version, f"{path}.spec")
    elif kind == "LeaderWorkerSet":
        found += _group_names(str(name or ""), mapping(manifest.get("spec")), f"{path}.metadata.name")
    for steps in TEMPLATES.get(kind, ()):
        found += _template(manifest, steps, path)
    return sorted(set(found))


def _name(name: t.Any, is_service: bool, path: str) -> t.Iterator[Finding]:
    source = "Kubernetes' object names"
    if not name:
        yield violation(path, "K8S-NAME", "the object has no name", "Set a name.", source=source)
    elif is_service and not is_dns1035(str(name)):
        fix = "Use at most 63 lower-case letters, digits and '-', beginning with a letter."
        yield violation(path, "K8S-NAME", "is not a DNS label (RFC 1035)", fix, name, source)
    elif not is_subdomain(str(name)):
        fix = "Use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit."
        yield violation(path, "K8S-NAME", "is not a DNS subdomain (RFC 1123)", fix, name, source)


def _group_names(name: str, spec: t.Mapping[str, t.Any], path: str) -> t.Iterator[Finding]:
    """Workers of a group are a StatefulSet, whose pods have a label of its name and a hash of 10 characters (kubernetes issue 64023)."""
    groups = spec.get("replicas", 1)
    workers = f"{name}-{max(0, groups - 1)}" if isinstance(groups, int) else name
    if len(workers) > LONGEST_STATEFUL_SET:
        message = (
            f"its last group is named {workers}, with {len(workers)} characters; the maximum is {LONGEST_STATEFUL_SET}"
        )
        yield violation(path, "K8S-NAME", message, "Choose a shorter inference_deployment.", name, SILENT)


def _template(manifest: t.Any, steps: t.Sequence[str], path: str) -> t.Iterator[Finding]:
    """A pod's specification, ``steps`` below the manifest; templates may have none for the leader."""
    value = manifest
    for step in steps:
        value = mapping(value).get(step)
    if value is None and "leaderTemplate" not in steps:
        place = ".".join((path, *steps))
        yield violation(place, "K8S-REQUIRED", "the pod's specification is missing", "Set it.")
    elif value is not None:
        yield from pod_spec(value, ".".join((path, *steps)))


def _route(spec: t.Mapping[str, t.Any], version: str, path: str) -> t.Iterator[Finding]:
    """A route must have a model, and on Kthena's main branch exactly one kind of target."""
    source = "the CRD's CEL rule"
    if not spec.get("modelName") and not spec.get("loraAdapters"):
        message = "neither modelName nor loraAdapters is set"
        yield violation(f"{path}.modelName", "KTHENA-ROUTE", message, "Set modelName.", source=source)
    for index, rule in enumerate(mappings(spec.get("rules")) if version == "main" else ()):
        for number, target in enumerate(mappings(rule.get("targetModels"))):
            if bool(target.get("modelServerName")) == bool(target.get("externalModelProviderName")):
                message = "exactly one of modelServerName and externalModelProviderName must be set"
                place = f"{path}.rules[{index}].targetModels[{number}]"
                yield violation(place, "KTHENA-ROUTE", message, "Keep one of them.", source=source)
