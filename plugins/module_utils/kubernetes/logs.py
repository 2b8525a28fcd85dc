# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of pods as verification judges them: the same lines, red flags and causes as of services on hosts."""

from __future__ import annotations

import base64
import json
import time
import zlib

from ..support.gather import LINES, text_part
from ..support.redact import Redactor
from ..tools.runner import MOST_LOG
from ..tools.text import visible
from ..verify.logs import evidence, split
from ..verify.plan import PlanError, read_plan
from .addresses import pods_by_service
from .diagnosis import state_of
from .errors import KubernetesProblem, Refused
from .names import containers, natural
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
        found[name] = evidence(name, texts[0], texts[1], lines, problem, since)
    return found


def support(cluster, plan, minutes, mib, secrets):
    """What ``support_logs`` returns of a host, of all pods of the deployment: each container's log, and that before its last restart."""
    redactor, parts = Redactor(secrets), []
    found = deployed_pods(cluster, plan)
    states = [(pod, item) for pod in found for item in containers(pod, init=True)]
    most = mib * 2**20 // (2 * len(states) or 1)
    window = {"sinceSeconds": str(60 * minutes), "limitBytes": str(MOST_LOG), "tailLines": str(LINES)}
    for pod, item in sorted(states, key=lambda each: natural(each[0]["metadata"]["name"])):
        name = "{}-{}".format(pod["metadata"]["name"], item["name"])
        has_ended = bool((item.get("lastState") or {}).get("terminated"))
        for suffix, query in [("", window)] + [(".previous", dict(window, previous="true"))] * has_ended:
            try:
                text, problem = cluster.read_log(pod["metadata"]["name"], item["name"], query), ""
            except KubernetesProblem as error:
                text, problem = "", f"not read: {error}"
            parts.append(text_part(f"{name}{suffix}.log", text, most, redactor, problem))
    lines = [f"{pod['metadata']['name']}: {state_of(pod)}" for pod in found]
    parts.append(text_part("pods.txt", "\n".join(lines), most, redactor))
    packed = zlib.compress(json.dumps([[part.name, part.text] for part in parts]).encode("utf-8"))
    problem = "" if found else "namespace {} has no pods of {}".format(cluster.namespace, plan["kubernetes"]["name"])
    return {
        "parts": base64.b64encode(packed).decode("ascii"),
        "rows": [dict(part.row(), problem=visible(part.problem)) for part in parts],
        "left_out": redactor.counts,
        "problem": problem,
    }


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
