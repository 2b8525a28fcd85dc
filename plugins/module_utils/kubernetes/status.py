# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of a deployment's pods, as ``status/services.py`` has it of services on hosts: rows and findings."""

from __future__ import annotations

from ..runtime.base import state as state_record
from ..status.plan import status_plan
from ..status.services import Host
from ..tools.http_client import ask
from .diagnosis import state_of
from .names import (
    COMPONENT,
    is_pod,
    label,
    natural,
    seconds,
)
from .readiness import alive, is_current, is_ready
from .verified import applied_digest
from .workloads import instance_of, is_entry, role_of

OTHER = "another revision"  # instead of a digest: no service has it


def status(cluster, plan, resolved_plan, running, engines):
    """``{services, findings, unreadable, plan_digest, exposure}``, as the module service_status returns them.

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
    return {"services": rows, "findings": findings + problems, **told}


class Pods:
    """Pods as a runtime: its units are the plan's services."""

    def __init__(self, cluster, plan, running):
        self.cluster, self.plan = cluster, plan
        self.pods = {}
        for role in plan["kubernetes"]["roles"]:
            self._instances(role, [pod for pod in running if role_of(pod) == role])
        for service in plan["services"]:
            if is_pod(service["host"]) and service["name"] not in self.pods:
                self.pods[service["name"]] = [pod for pod in running if label(pod, COMPONENT) == service["name"]]

    def _instances(self, role, mine):
        """The pods of a role's services: by group and role id, as addresses are, then entry before workers."""
        groups = {}
        for pod in sorted(mine, key=lambda item: natural(item["metadata"]["name"])):
            place = instance_of(pod)
            groups.setdefault(str(place), (place, []))[1].append(pod)
        found = [pods for dummy, pods in sorted(groups.values(), key=lambda item: item[0])]
        for service in self.plan["services"]:
            if service["kind"] == role and is_pod(service["host"]):
                number, rank = service["instance"], service["rank"]
                pods = found[number] if number < len(found) else []
                ranked = [pod for pod in pods if is_entry(pod) == (rank == 0)]  # the first may just be replaced
                self.pods[service["name"]] = ranked[max(0, rank - 1) :][:1]

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
        containers = (pod.get("status") or {}).get("containerStatuses") or [{}]
        running = (containers[0].get("state") or {}).get("running")
        is_engine = service["kind"] in self.plan["kubernetes"]["roles"]
        digest = OTHER if is_engine and not is_current(self.plan, pod) else service["digest"]
        late = [item for item in pods if not is_ready(item)]
        detail = f"{len(late)} of {len(pods)} pods are not ready: {state_of(late[0])}" if late else ""
        return state_record(
            "running" if running else "waiting",
            up=bool(running),
            since=seconds(running["startedAt"]) if running else None,
            restarts=containers[0].get("restartCount"),
            detail=detail,
            digest=digest,
        )

    def log(self, service, lines):
        """The last lines of a pod's log, or of the container before its restart."""
        for pod in self.pods[service["unit"]][:1]:
            container = ((pod.get("status") or {}).get("containerStatuses") or [{}])[0]
            restarted = bool((container.get("lastState") or {}).get("terminated"))
            text = self.cluster.log(pod["metadata"]["name"], container.get("name", ""), restarted)
            return "\n".join(text.splitlines()[-lines:])
        return ""
