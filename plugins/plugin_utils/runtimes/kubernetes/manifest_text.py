# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan's objects as YAML, suitable for ``kubectl apply -f -``."""

from __future__ import annotations

import typing as t

import yaml

from ....module_utils.kubernetes.kinds import OPTIONAL
from ....module_utils.kubernetes.manifests import objects, writes_secret
from ....module_utils.kubernetes.names import COMPONENT
from ...description.values import built_in

# Argo CD and Flux would remove the ConfigMaps of the old revision while its pods still run and may restart.
UNPRUNED = {
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "argocd.argoproj.io/sync-options": "Prune=false",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}


class _Dumper(yaml.SafeDumper):
    """Scripts as blocks, and quotes around strings that other YAML parsers read as numbers."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else "'" if _like_a_number(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _like_a_number(value: str) -> bool:
    """PyYAML writes the string 1e5 or 0128 without quotes; kubectl reads both as numbers and the server refuses them."""
    for read in (float, lambda text: int(text, 0)):
        try:
            read(value)
        except ValueError:
            continue
        return True
    return False


_Dumper.add_representer(str, _text)
_Dumper.ignore_aliases = lambda *_unused: True  # type: ignore[method-assign]  # no aliases: each document is independent


def manifests(plan: t.Mapping[str, t.Any]) -> str:
    """The plan's objects as YAML documents, in apply order; each begins with ``---``, and ``...`` ends the last."""
    return "".join(document(item) for item in _written(plan)) + "...\n"


def _written(plan: t.Mapping[str, t.Any]) -> list[t.Any]:
    """The objects for any cluster: one without their kind would refuse a file of optional ones."""
    asked = plan["kubernetes"].get("pod_monitor") == "always"
    return [item for item in objects(plan) if asked or item["kind"] not in OPTIONAL]


def manifest_files(plan: t.Mapping[str, t.Any]) -> dict[str, str]:
    """A file for each object, and the kustomization that lists them: ``{"kustomization.yaml": ...}``.

    Names have no hash, so that a change of a ConfigMap is a change of its file; the object's name has one, and it is not pruned.
    Raises ``ValueError`` if pods need a Secret that the role would write, because a file must not have its values.
    """
    secrets = plan["kubernetes"]["secrets"]
    if writes_secret(plan):
        raise ValueError(
            f"The pods need a Secret with {', '.join(secrets['keys'])}, and its values must not be in files. "
            "Fix: create the Secret elsewhere, and set inference_kubernetes.secrets.existing to its name."
        )
    files = {}
    for item in _written(plan):
        if item.get("immutable"):
            item["metadata"]["annotations"] = dict(UNPRUNED)
        files[f"{item['kind'].lower()}-{item['metadata']['labels'][COMPONENT]}.yaml"] = document(item)
    head = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return {**files, "kustomization.yaml": document({**head, "resources": list(files)})}


def document(item: t.Any) -> str:
    """One of them."""
    return str(yaml.dump(built_in(item), Dumper=_Dumper, sort_keys=False, explicit_start=True, width=1000))
