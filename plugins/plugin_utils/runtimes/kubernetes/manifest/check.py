# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks one manifest: structure, CEL and webhook rules, and errors that the server accepts but that prevent its pods."""

from __future__ import annotations

import typing as t

from ....description.findings import Finding, nearest
from . import core_shapes, kthena_shapes, routing_rules, serving_rules
from .names import is_label, metadata
from .parts import mapped, port
from .pod_rules import pod_spec
from .walk import violation, walk

SHAPES = {**core_shapes.SHAPES, **kthena_shapes.SHAPES}
CONFIG_MAP_BYTES = 1024 * 1024


def check_manifest(manifest: t.Any, kthena_version: str = "v1.0.0") -> list[Finding]:
    """All violations in one manifest, in a stable order; empty if it is valid.

    ``manifest`` is plain data of a kind in ``SHAPES``, such as ModelServing or Deployment;
    ``kthena_version`` is v0.4.0, v1.0.0 or main. A kind or version that is not known is a finding itself. What depends on
    other objects (quotas, claims, immutable gang policies) are left to the server.
    """
    if not isinstance(manifest, t.Mapping):
        return [violation("manifest", "K8S-TYPE", "expected a mapping", value=manifest)]
    if kthena_version not in kthena_shapes.VERSIONS:
        fix = f"{nearest(kthena_version, kthena_shapes.VERSIONS)}Known: {', '.join(kthena_shapes.VERSIONS)}."
        return [violation("kthena_version", "KTHENA-VERSION", "unknown version", fix, kthena_version)]
    key = (str(manifest.get("apiVersion")), str(manifest.get("kind")))
    if key not in SHAPES:
        known = ", ".join(sorted(f"{version} {kind}" for version, kind in SHAPES))
        return [violation("manifest", "K8S-KIND", "unknown kind", f"Known: {known}.", " ".join(key))]
    head = manifest.get("metadata")
    path = f"{key[1]}/{head.get('name', '') if isinstance(head, t.Mapping) else ''}"
    found = [*walk(SHAPES[key](kthena_version), manifest, path), *metadata(head, f"{path}.metadata")]
    if key in RULES:
        found += RULES[key](manifest, kthena_version, path)
    return sorted(set(found))


def _spec(manifest: t.Mapping[str, t.Any]) -> t.Mapping[str, t.Any]:
    spec = manifest.get("spec")
    return spec if isinstance(spec, t.Mapping) else {}


def _pod(manifest: t.Mapping[str, t.Any], _version: str, path: str) -> t.Iterator[Finding]:
    return pod_spec(_spec(manifest), f"{path}.spec")


def _config_map(manifest: t.Mapping[str, t.Any], _version: str, path: str) -> t.Iterator[Finding]:
    data = manifest.get("data")
    data = data if isinstance(data, t.Mapping) else {}
    size = sum(len(str(key)) + len(str(data[key]).encode()) for key in data)
    if size > CONFIG_MAP_BYTES:
        message = f"has {size} bytes; the maximum of a ConfigMap is {CONFIG_MAP_BYTES}"
        yield violation(f"{path}.data", "K8S-LENGTH", message, "Split it.")
    for key in data:
        if not str(key) or len(str(key)) > 253 or not all(item.isalnum() or item in "-_." for item in str(key)):
            yield violation(f"{path}.data[{key}]", "K8S-NAME", "a key may have only letters, digits, '-', '_' and '.'")


def _service(manifest: t.Mapping[str, t.Any], _version: str, path: str) -> t.Iterator[Finding]:
    head = manifest.get("metadata")
    name = str(head.get("name", "")) if isinstance(head, t.Mapping) else ""
    if name and not (is_label(name) and name[0].isalpha()):
        fix = "Use at most 63 lower-case letters, digits and '-', beginning with a letter."
        yield violation(f"{path}.metadata.name", "K8S-NAME", "is not a DNS label (RFC 1035)", fix, name)
    ports = mapped(_spec(manifest).get("ports"))
    for index, entry in enumerate(ports):
        place = f"{path}.spec.ports[{index}]"
        yield from port(entry, "port", place)
        yield from port(entry, "targetPort", place)
        if len(ports) > 1 and not entry.get("name"):
            yield violation(
                f"{place}.name", "K8S-REQUIRED", "the port has no name, and there are several ports", "Set a name."
            )


def _deployment(manifest: t.Mapping[str, t.Any], _version: str, path: str) -> t.Iterator[Finding]:
    spec = _spec(manifest)
    template = spec.get("template") if isinstance(spec.get("template"), t.Mapping) else {}
    yield from pod_spec(template.get("spec"), f"{path}.spec.template.spec")
    head = template.get("metadata")
    carried = (head.get("labels") if isinstance(head, t.Mapping) else None) or {}
    selector = spec.get("selector")
    wanted = (selector.get("matchLabels") if isinstance(selector, t.Mapping) else None) or {}
    if isinstance(wanted, t.Mapping) and any(carried.get(key) != wanted[key] for key in wanted):
        message = "the template's labels do not match the selector"
        yield violation(f"{path}.spec.selector", "K8S-SELECTOR", message, "Add these labels to the template.")


def _leader_worker_set(manifest: t.Mapping[str, t.Any], _version: str, path: str) -> t.Iterator[Finding]:
    group = _spec(manifest).get("leaderWorkerTemplate")
    for key in ("leaderTemplate", "workerTemplate"):
        template = group.get(key) if isinstance(group, t.Mapping) else None
        if isinstance(template, t.Mapping):
            yield from pod_spec(template.get("spec"), f"{path}.spec.leaderWorkerTemplate.{key}.spec")


RULES: dict[tuple[str, str], t.Callable[[t.Mapping[str, t.Any], str, str], t.Iterator[Finding]]] = {
    ("v1", "Pod"): _pod,
    ("v1", "ConfigMap"): _config_map,
    ("v1", "Service"): _service,
    ("apps/v1", "Deployment"): _deployment,
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): _leader_worker_set,
    (kthena_shapes.WORKLOAD, "ModelServing"): serving_rules.model_serving,
    (kthena_shapes.NETWORKING, "ModelServer"): routing_rules.model_server,
    (kthena_shapes.NETWORKING, "ModelRoute"): routing_rules.model_route,
}
