# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module for Kubernetes objects returns, for one and for several."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.applied import (
    api_message,
    applied,
    names,
    pending_rollout,
)

SERVICE = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"clusterIP": "10.1.1.1"}}
TARGETS = {"kind": "ConfigMap", "metadata": {"name": "c"}}


def test_objects_of_a_kind_from_one_call_and_from_several():
    together = {"results": [{"result": {"results": [{"result": TARGETS}, {"result": SERVICE}]}}]}
    apart = {"results": [{"result": TARGETS}, {"result": SERVICE}]}
    assert applied(together, "Service") == applied(apart, "Service") == [SERVICE]
    assert applied(apart, "Deployment") == []
    assert applied({"results": [], "skipped": True}, "Service") == []


def test_names_for_a_label():
    assert names([TARGETS, SERVICE]) == "ConfigMap/c, Service/s"


@pytest.mark.parametrize(
    ("status", "lacks"),
    [
        (None, ["unseen"]),
        ({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, ["unseen"]),
        (
            {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 2},
            ["replicas is 3 of 2"],
        ),
        ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, []),
    ],
)
def test_a_deployment_is_done_when_its_controller_says_so_of_this_generation(status, lacks):
    one = {"kind": "Deployment", "metadata": {"name": "d", "generation": 2}, "spec": {"replicas": 2}}
    assert pending_rollout([dict(one, status=status)] if status else [one]) == lacks
    assert pending_rollout([]) == ["unseen"]


def test_the_servers_sentence():
    answer = '{"kind":"Status","status":"Failure","message":"pods \\"a\\" is forbidden: no","reason":"Forbidden"}'
    assert api_message(f"Failed to create object: {answer}") == 'pods "a" is forbidden: no'
    assert api_message("Failed to create object: no route to host") == "Failed to create object: no route to host"
