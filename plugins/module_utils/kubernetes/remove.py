# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Removes a deployment: only what carries its labels, configuration last."""

from __future__ import annotations

from .errors import KubernetesProblem
from .ownership import stale
from .state import State, pods_of

CONFIGURATION = ("Secret", "ConfigMap")


def remove(cluster, plan, timeout, changes):
    """Remove all, and wait for the pods before what they read goes; ``changes`` takes note of what is removed."""
    going = stale(plan, list(State(cluster, plan).live.values()), keep=False)
    _delete(cluster, changes, [item for item in going if item["kind"] not in CONFIGURATION])
    begin = cluster.now()
    while not cluster.check:
        left = pods_of(cluster, plan)
        if not left:
            break
        if cluster.now() - begin >= timeout:
            raise KubernetesProblem(
                "Pods are still there after {} s: {}. ConfigMaps and Secrets were kept for them. "
                "Look at their nodes, and run remove again.".format(
                    timeout, ", ".join(sorted(item["metadata"]["name"] for item in left))
                )
            )
        cluster.sleep(cluster.poll)
    _delete(cluster, changes, [item for item in going if item["kind"] in CONFIGURATION])


def _delete(cluster, changes, things):
    for thing in things:
        cluster.delete(thing)
        changes.add(thing, None)
