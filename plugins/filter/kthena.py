# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the role kthena: the plan's objects, and what the cluster's answers mean. One line each; see the documents beside."""

from __future__ import annotations

import importlib.util
import typing as t

import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.plugin_utils import _kthena_state as state
from ansible_collections.ascend.inference.plugins.plugin_utils._reader import plain


def _adapted(function: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    def call(*arguments: t.Any) -> t.Any:
        try:
            return function(*(plain(one) for one in arguments))
        except (KeyError, TypeError, ValueError) as error:
            raise AnsibleFilterError(f"{function.__name__}: {error}") from error

    return call


def manifests(plan: t.Mapping[str, t.Any]) -> str:
    """The plan's objects as YAML documents, in apply order."""
    return str(yaml.safe_dump_all(plan["objects"], sort_keys=False, explicit_start=True, width=1000))


def has_collection(name: str) -> bool:
    """Whether a collection is installed on the controller."""
    try:
        return importlib.util.find_spec(f"ansible_collections.{name}") is not None
    except ModuleNotFoundError:
        return False


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {
            "kthena_crd_version": _adapted(state.crd_version),
            "kthena_diagnosis": _adapted(state.diagnosis),
            "kthena_foreign": _adapted(state.foreign),
            "kthena_has_collection": _adapted(has_collection),
            "kthena_manifests": _adapted(manifests),
            "kthena_node_shortage": _adapted(state.node_shortage),
            "kthena_objects": _adapted(state.staged),
            "kthena_pods_lack": _adapted(state.pods_lack),
            "kthena_remember": _adapted(state.remember),
            "kthena_remembered": _adapted(state.remembered),
            "kthena_resolve": _adapted(state.resolved),
            "kthena_role_pods": _adapted(state.pods_of_roles),
            "kthena_stale": _adapted(state.stale),
            "kthena_waits_for": _adapted(state.waits_for),
        }
