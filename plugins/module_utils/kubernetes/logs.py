# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of pods as verification judges them: the same lines, red flags and causes as of services on hosts."""

from __future__ import annotations

import time

from ..tools.runner import MOST_LOG
from ..verify.logs import evidence, split
from ..verify.plan import PlanError, read_plan
from .addresses import pods_by_service
from .errors import KubernetesProblem, Refused
from .names import containers
from .readiness import alive, is_current, kept_pods
from .state import deployed_pods
from .workloads import role_of

MOST = 20000  # lines of a log, as of a container on a host


def logs(cluster, plan, since):
    """``{service: evidence}``, as the module service_log returns it; ``since`` is a time of this machine.

    A service with several pods has the lines of all of them; one that cannot be read hides no lines of the others. Pods of another
    revision are left out.
    """
    try:
        lines = read_plan(plan["verify"]).release.lines
    except PlanError as error:
        raise KubernetesProblem(f"The plan's section verify cannot be used: {error}.") from error
    # The server gets a number of seconds, not a time: its clock may differ from the one of this machine.
    window = {"sinceSeconds": str(max(1, int(time.time() - since) + 1))}
    found, pods = {}, pods_by_service(plan, alive(deployed_pods(cluster, plan)))
    for name in sorted(pods):
        mine = [pod for pod in pods[name] if not _is_old(plan, pod)]
        texts, problem = ([], []), "" if mine else "no pod of this revision runs it"
        for pod in mine:
            for known, query in zip(texts, ({"tailLines": str(MOST)}, window)):
                try:
                    _read(cluster, pod, query, known)
                except KubernetesProblem as error:
                    problem = problem or str(error)
        found[name] = evidence(name, texts[0], texts[1], lines, problem)
    return found


def _is_old(plan, pod):
    role = plan["kubernetes"]["roles"].get(role_of(pod))
    return bool(role) and not is_current(plan, pod) and not kept_pods(plan["kubernetes"], role)


def _read(cluster, pod, query, known):
    """Add a container's lines, and before them those of the container that it replaced, as far as its node still has them.

    Raises ``KubernetesProblem`` for a log that was not read to its end, once what was read is added.
    """
    name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]["name"]
    status = (containers(pod) or [{}])[0]
    query, size = dict(query, limitBytes=str(MOST_LOG)), 0  # the server has no other limit for a window of time
    earlier = [dict(query, previous="true")] if (status.get("lastState") or {}).get("terminated") else []
    for asked in [*earlier, query]:
        try:
            text = cluster.read_log(name, container, asked)
        except Refused as error:
            if error.code == 403 or asked is query:
                raise
            continue
        known.extend(split(text))
        size = max(size, len(text.encode("utf-8")))
    if size >= MOST_LOG:
        raise KubernetesProblem(f"the log of {name} has more than {MOST_LOG // 2**20} MiB")
