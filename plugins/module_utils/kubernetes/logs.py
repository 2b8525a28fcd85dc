# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of pods as verification judges them: the same lines, red flags and causes as of services on hosts."""

from __future__ import annotations

import time

from ..verify.logs import evidence, split
from ..verify.plan import PlanError, read_plan
from .errors import KubernetesProblem, Refused
from .readiness import alive, is_current
from .state import deployed_pods
from .status import Pods
from .workloads import role_of

MOST = 20000  # lines of a log, as of a container on a host


def logs(cluster, plan, since):
    """``{service: evidence}``, as the module service_log returns it; ``since`` is a time of this machine.

    A service with several pods has the lines of all of them. Pods of another revision are left out.
    """
    try:
        lines = read_plan(plan["verify"]).release.lines
    except PlanError as error:
        raise KubernetesProblem(f"The plan's section verify cannot be used: {error}.") from error
    # The server gets a number of seconds, not a time: its clock may differ from the one of this machine.
    window = {"sinceSeconds": str(max(1, int(time.time() - since) + 1))}
    found, pods = {}, Pods(cluster, plan, alive(deployed_pods(cluster, plan))).pods
    for name in sorted(pods):
        mine = [pod for pod in pods[name] if not _is_old(plan, pod)]
        texts, problem = ([], []), "" if mine else "no pod of this revision runs it"
        try:
            for pod in mine:
                texts[0].extend(_lines(cluster, pod, {"tailLines": str(MOST)}))
                texts[1].extend(_lines(cluster, pod, window))
        except KubernetesProblem as error:
            problem = str(error)
        found[name] = evidence(name, texts[0], texts[1], lines, problem)
    return found


def _is_old(plan, pod):
    return role_of(pod) in plan["kubernetes"]["roles"] and not is_current(plan, pod)


def _lines(cluster, pod, query):
    """A container's lines, and before them those of the container that it replaced, as far as its node still has them."""
    name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]["name"]
    statuses = (pod.get("status") or {}).get("containerStatuses") or [{}]
    found = []
    if (statuses[0].get("lastState") or {}).get("terminated"):
        try:
            found = split(cluster.read_log(name, container, dict(query, previous="true")))
        except Refused as error:
            if error.code == 403:
                raise
    return found + split(cluster.read_log(name, container, query))
