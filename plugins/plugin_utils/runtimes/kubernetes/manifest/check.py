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
from .pods import pod_spec
from .serving_rules import model_serving
from .walk import FIELDS, SILENT, VERSIONS, is_dns1035, is_subdomain, mapping, violation, walk

TEMPLATES = {  # fields that lead to the specification of a pod
    "Pod": (("spec",),),
    "Deployment": (("spec", "template", "spec"),),
    "LeaderWorkerSet": (
        ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec"),
        ("spec", "leaderWorkerTemplate", "workerTemplate", "spec"),
    ),
}
# Besides their names they are left to the server.
KTHENA = ("ModelServing", "ModelServer", "ModelRoute")
LEFT = ("ConfigMap", "Service", "PodDisruptionBudget", "NetworkPolicy", "PodMonitor", "AutoscalingPolicy")
LONGEST_STATEFUL_SET = 63 - len("-") - 10
KNOWN = sorted(f"{KINDS[kind][0]} {kind}" for kind in (*TEMPLATES, *LEFT, *KTHENA))


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
    if kind in KTHENA:
        found += walk(FIELDS[kind], manifest, path, kthena_version)
    if kind == "ModelServing":
        found += model_serving(manifest, path)
    elif kind == "ModelRoute":
        spec = mapping(manifest.get("spec"))
        if not spec.get("modelName") and not spec.get("loraAdapters"):
            message, source = "neither modelName nor loraAdapters is set", "the CRD's CEL rule"
            found.append(violation(f"{path}.spec.modelName", "KTHENA-ROUTE", message, "Set modelName.", source=source))
    elif kind == "LeaderWorkerSet":
        found += _group_names(str(name or ""), mapping(manifest.get("spec")), f"{path}.metadata.name")
    for steps in TEMPLATES.get(kind, ()):
        found += _template(manifest, steps, path)
    return sorted(set(found))


def _name(name: t.Any, is_service: bool, path: str) -> t.Iterator[Finding]:
    source = "Kubernetes' object names"
    if is_service and not is_dns1035(str(name or "")):
        fix = "Use at most 63 lower-case letters, digits and '-', beginning with a letter."
        yield violation(path, "K8S-NAME", "is not a DNS label (RFC 1035)", fix, name, source)
    elif not is_subdomain(str(name or "")):
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
    """A pod's specification, ``steps`` below the manifest."""
    value = manifest
    for step in steps:
        value = mapping(value).get(step)
    if value is not None:
        yield from pod_spec(value, ".".join((path, *steps)))
