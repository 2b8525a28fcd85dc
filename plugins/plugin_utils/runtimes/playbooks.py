# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which playbooks do nothing with a runtime, and what does the same there. Those that are not named here serve every runtime.

Without a refusal they would end with exit status 0, as after a success.
"""

from __future__ import annotations

import typing as t

OWN_HOSTS = (
    "describe the nodes in an inventory of their own, with the runtime systemd, docker or supervisor, and run it there"
)
IN_CLUSTER = {
    "acceptance": "run check, site and verify",
    "advise": "compare the metrics of the pods, which inference_kubernetes.pod_monitor lets the Prometheus of the cluster read",
    "compare": "run site with each of the topologies, and bench after each, the second time with inference_bench_compare",
    "drill": "run kubectl -n {namespace} delete pod NAME while clients send requests, then status and verify",
    "fabric": OWN_HOSTS,
    "models": "copy the model to the nodes, or to the volume that inference_kubernetes names",
    "monitoring": "let Prometheus find the pods; inference_kubernetes.pod_monitor does that for its operator",
    "rollback": "run kubernetes_rollback",
    "tune": OWN_HOSTS,
    "upgrade": "run site, which rolls out the new release, and kubernetes_rollback if it does not work",
    "watchdog": "nothing is needed: the liveness probes of the pods find such engines, see inference_kubernetes.stalled_after",
}
ON_HOSTS = {
    "kubernetes": "run site, or deploy",
    "kubernetes_remove": "run remove",
    "kubernetes_rollback": "run rollback",
    "kubernetes_verified": "run verify",
}


def instead(facts: t.Mapping[str, t.Any], playbook: str, namespace: str) -> str:
    """Why a playbook is refused, with what to use instead; empty if it serves the runtime with these ``facts``, or none is known."""
    cluster = bool(facts.get("in_cluster"))
    other = (IN_CLUSTER if cluster else ON_HOSTS).get(playbook, "") if facts else ""
    if not other:
        return ""
    where, reached = ("in pods of a cluster", "hosts of the inventory") if cluster else ("on hosts", "a cluster")
    return (
        f"{playbook} has nothing to do here: with this inference_runtime the services run {where}, and this playbook reaches only {reached}. "
        f"Nothing was changed. Fix: {other.format(namespace=namespace)}"
    )
