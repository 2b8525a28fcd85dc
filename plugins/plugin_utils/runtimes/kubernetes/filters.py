# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the role kthena, by name."""

from __future__ import annotations

import importlib.util
import typing as t

from ...description.findings import Finding, finding_lines
from . import applied as calls
from . import state
from .manifest_text import manifests


def has_collection(name: str) -> bool:
    """Whether a collection is installed on the controller."""
    try:
        return importlib.util.find_spec(f"ansible_collections.{name}") is not None
    except ModuleNotFoundError:
        return False


def as_text(check: t.Callable[..., list[Finding]]) -> t.Callable[..., str]:
    """A check whose findings are printed as all findings are; an empty text if there is none."""
    return lambda *arguments: "\n".join(finding_lines(check(*arguments))).lstrip()


FILTERS: dict[str, t.Callable[..., t.Any]] = {
    "_kthena_applied": calls.applied,
    "_kthena_crd_version": state.crd_version,
    "_kthena_diagnosis": state.diagnosis,
    "_kthena_foreign": as_text(state.foreign),
    "_kthena_digest": state.plan_digest,
    "_kthena_has_collection": has_collection,
    "kthena_manifests": manifests,
    "_kthena_names": calls.names,
    "_kthena_node_shortage": as_text(state.node_shortage),
    "_kthena_objects": state.staged,
    "_kthena_pods_lack": state.pending_pods,
    "_kthena_remember": state.record_verified,
    "_kthena_remembered": state.rollback_plan,
    "_kthena_resolve": state.resolved,
    "_kthena_role_pods": state.pods_of_roles,
    "_kthena_rollout_lacks": calls.pending_rollout,
    "_kthena_said": calls.api_message,
    "_kthena_stale": state.stale,
    "_kthena_waits_for": state.pending_serving,
}
