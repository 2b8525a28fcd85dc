# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of a deployment's pods, as ``status/services.py`` has it of services on hosts: rows and findings."""

from __future__ import annotations

from ..runtime.base import state as state_record
from ..status.plan import status_plan
from ..status.services import Host
from ..tools.http_client import ask
from ..tools.text import one_line
from .addresses import pods_by_service
from .diagnosis import state_of
from .errors import KubernetesProblem
from .manifests import record_name
from .names import containers, is_pod, natural, seconds
from .readiness import alive, is_current, is_ready
from .verified import applied_digest, last_verified

MOST_TEXT = 64  # characters of what others can write
OTHER = "another revision"  # instead of a digest: no service has it


def status(cluster, plan, resolved_plan, running, engines):
    """``{services, findings, unreadable, plan_digest, unverified, exposure}``, as the module service_status returns them.

    ``running`` are all pods of the deployment; ``resolved_plan`` has their addresses.
    """
    pods = Pods(cluster, plan, alive(running))
    planned = pods.question(resolved_plan)
    deployed, digest = planned if any(engines.values()) else None, applied_digest(engines.values())
    missing = [place for place in engines if not engines[place]]
    findings = [f"the cluster has no {place} in {cluster.namespace}. Fix: run site" for place in missing]
    if deployed and digest != plan["digest"]:
        deployed = dict(planned, services=[dict(item, digest=OTHER) for item in planned["services"]])
    rows, problems = Host(pods, deployed, planned, ask).look()
    told = {"unreadable": False, "plan_digest": digest, "exposure": plan.get("exposure")}
    told["unverified"] = unverified(cluster, plan) if digest == plan["digest"] else {}  # findings name another plan
    return {"services": rows, "findings": findings + problems, **told}


def unverified(cluster, plan):
    """The plan, which is applied, and the last verified one if that is another; {} if it is verified, or the record cannot be read."""
    try:
        last = last_verified(cluster.get("ConfigMap", record_name(plan)))
    except KubernetesProblem:
        return {}
    if last.get("digest") == plan["digest"]:
        return {}
    before = {key: one_line(str(last.get(key, "")))[:MOST_TEXT] for key in ("digest", "release")}
    named = {"digest": plan["digest"], "release": plan["release"], "since": ""}
    return dict(named, verified=dict(before, since="") if last else {})


class Pods:
    """Pods as a runtime: its units are the plan's services."""

    def __init__(self, cluster, plan, running):
        self.cluster, self.plan = cluster, plan
        self.pods = pods_by_service(plan, running)

    def question(self, plan):
        """What ``Host`` asks: all services in pods; the router at the address where it is reached from here."""
        hosts = sorted({service["host"] for service in plan["services"] if is_pod(service["host"])})
        parts = [status_plan(plan, host) for host in hosts]
        services = [dict(item, unit=item["name"]) for part in parts for item in part["services"]]
        entry = (plan.get("verify", {}).get("entry") or {}).get("url", "")
        for item in services:
            if item["kind"] == "router" and entry and item["url"]:
                item["url"] = entry.rstrip("/") + "/" + item["url"].split("/", 3)[3]
        return dict(parts[0], services=sorted(services, key=lambda item: natural(item["name"])))

    def states(self, services):
        """The state of each service that has a pod."""
        found = {item["unit"]: self._state(item, self.pods[item["unit"]]) for item in services}
        return {unit: found[unit] for unit in found if found[unit]}

    def _state(self, service, pods):
        if not pods:
            return None
        pod = next((item for item in pods if is_ready(item)), pods[0])
        container = (containers(pod) or [{}])[0]
        running = (container.get("state") or {}).get("running")
        is_engine = service["kind"] in self.plan["kubernetes"]["roles"]
        digest = OTHER if is_engine and not is_current(self.plan, pod) else service["digest"]
        late = [item for item in pods if not is_ready(item)]
        detail = f"{len(late)} of {len(pods)} pods are not ready: {state_of(late[0])}" if late else ""
        return state_record(
            "running" if running else "waiting",
            up=bool(running),
            since=seconds(running["startedAt"]) if running else None,
            restarts=container.get("restartCount"),
            detail=detail,
            digest=digest,
        )

    def log(self, service, lines):
        """The last lines of a pod's log, or of the container before its restart."""
        for pod in self.pods[service["unit"]][:1]:
            container = (containers(pod) or [{}])[0]
            restarted = bool((container.get("lastState") or {}).get("terminated"))
            text = self.cluster.log(pod["metadata"]["name"], container.get("name", ""), restarted, lines)
            return "\n".join(text.splitlines()[-lines:])
        return ""
