# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Pod Security Standard a pod keeps, field by field."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.pod_security import breaches, pod_security

TIGHT = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(box=(), own=(), **fields):
    """A pod that keeps the restricted standard, with changes."""
    return {"containers": [{"name": "c", "securityContext": {**TIGHT, **dict(own)}, **dict(box)}], **fields}


@pytest.mark.parametrize(
    ("spec", "baseline", "restricted"),
    [
        (pod(), [], []),
        (pod(hostNetwork=True), ["hostNetwork"], []),
        (pod(hostPID=True, hostIPC=True), ["hostPID", "hostIPC"], []),
        (pod(volumes=[{"name": "b", "hostPath": {}}, {"name": "a", "hostPath": {}}]), ["hostPath volumes (a, b)"], []),
        (pod(volumes=[{"name": "a", "nfs": {}}, {"name": "b", "secret": {}}]), [], ["volumes of other types (a)"]),
        (pod(securityContext={"sysctls": [{"name": "x"}]}), ["sysctls"], []),
        (pod(own={"privileged": True}), ["privileged containers"], []),
        (pod({"ports": [{"containerPort": 1, "hostPort": 1}]}), ["hostPort"], []),
        (pod(own={"procMount": "Unmasked"}), ["procMount"], []),
        (pod(own={"seccompProfile": {"type": "Unconfined"}}), ["an unconfined seccompProfile"], ["no seccompProfile"]),
        (pod(own={"seccompProfile": None}), [], ["no seccompProfile"]),
        (pod(own={"seccompProfile": None}, securityContext={"seccompProfile": {"type": "Localhost"}}), [], []),
        (pod(own={"allowPrivilegeEscalation": True}), [], ["allowPrivilegeEscalation"]),
        (pod(own={"runAsUser": 0}), [], ["the user root"]),
        (pod(own={"runAsNonRoot": None}), [], ["the user root"]),
        (pod(own={"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}), [], []),
        (pod(own={"capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}), [], ["capabilities that are kept"]),
        (pod(own={"capabilities": {"drop": ["KILL"]}}), [], ["capabilities that are kept"]),
        (
            pod(own={"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN", "IPC_LOCK"]}}),
            ["capabilities IPC_LOCK, SYS_ADMIN"],
            ["capabilities that are kept"],
        ),
        (
            {"containers": [], "initContainers": [{"name": "i"}]},
            [],
            ["allowPrivilegeEscalation", "the user root", "no seccompProfile", "capabilities that are kept"],
        ),
    ],
)
def test_what_a_standard_forbids(spec, baseline, restricted):
    assert breaches(spec) == (baseline, restricted)


@pytest.mark.parametrize("namespace", [None, {"metadata": {}}, {"metadata": {"labels": {"a": "b"}}}])
def test_a_namespace_without_the_label_refuses_nothing(namespace):
    thing = {
        "kind": "Deployment",
        "metadata": {"labels": {}},
        "spec": {"replicas": 1, "template": {"spec": pod(hostNetwork=True)}},
    }
    assert pod_security({"objects": [thing], "kubernetes": {"namespace": "n"}}, namespace) == []
