# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an engine's container ends: by its progress, and after its last requests.

A busy one that does not answer in time lives, one that computes nothing does not. Nodes run the program ``stalled.py`` for both. Its ConfigMap
can change and has a fixed name, so another version of the program is no other template and replaces no engine.
"""

from __future__ import annotations

import pathlib
import shlex

from ...plan.deployment import Context
from ...plan.service import Service
from ...releases.metric_names import of_vllm
from . import stalled
from .names import Manifest, manifest, object_name
from .services import WORKSPACE

PART, FILE = "probe", "stalled.py"
FOLDER = f"{WORKSPACE}/{PART}"  # as a whole: a single file that is mounted would stay as it was at the start
RUNNING, WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
HELD = "vllm:kv_cache_usage_perc"  # prefill: blocks of requests that it has answered, until decode has fetched them
WORK = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:iteration_tokens_total_count")
PERIOD = 30  # seconds, of the probe and for it
FAILURES = 3  # in a row
LEAVING = (
    10  # seconds until no router knows the pod any more: the endpoints of its Service, caches of the DNS, the forwarder
)


def _words(context: Context, service: Service, port: int) -> list[str]:
    """The program's command line; empty if this release has no counters of work."""
    known = of_vllm(context.release.vllm)
    if RUNNING not in known:
        return []
    settings = context.description.kubernetes
    after = max(PERIOD, settings.stalled_after - (FAILURES - 1) * PERIOD)
    words = ["python3", "-IS", f"{FOLDER}/{FILE}", "--port", str(port), "--model", context.served_name]
    words += ["--after", str(after), "--running", RUNNING]
    for name in WORK:
        words += ["--work", name] if name in known else []
    return words


def watched(context: Context, service: Service, entry: Service) -> Manifest:
    """The container's probe, and what it does before it ends; ``entry`` is the instance's process with the API.

    Of the probe only the program's own verdict counts: one that cannot run, in an image without python3 for example, ends no engine.
    """
    settings, found = context.description.kubernetes, {}
    words = _words(context, service, entry.port("api").first)
    if words and service.health and settings.stalled_after:
        command = ["/bin/bash", "-c", f"{shlex.join(words)}; [ $? -ne {stalled.STALLED} ]"]
        times = {"periodSeconds": PERIOD, "timeoutSeconds": PERIOD, "failureThreshold": FAILURES}
        found["livenessProbe"] = {"exec": {"command": command}, **times}
    most = _most(context, service)
    if most:
        known = of_vllm(context.release.vllm)
        left = [name for name in (WAITING, *[HELD] * (service.kind == "prefill")) if name in known]
        more = [word for name in left for word in ("--pending", name)]
        program = [shlex.join([*words, "--leave", str(most), *more])] if words else []
        command = ["/bin/bash", "-c", "; ".join([f"sleep {LEAVING}", *program])]
        found["lifecycle"] = {"preStop": {"exec": {"command": command}}}
    return found


def _most(context: Context, service: Service) -> int:
    """Most seconds for the last requests: fewer where the user has given the pod less than these and the engine's end need."""
    settings = context.description.kubernetes
    given = settings.of_role(service.kind).spec.get("terminationGracePeriodSeconds")
    left = given - LEAVING - service.stop.timeout if isinstance(given, int) else settings.drain_timeout
    return max(0, min(left, settings.drain_timeout))


def leaving(context: Context, service: Service) -> int:
    """Most seconds until a container that ends gets its signal."""
    most = _most(context, service)
    return LEAVING + most if most else 0


def mounted(context: Context) -> tuple[list[Manifest], list[Manifest]]:
    """Where the program is in a container, and the volume of its pod with it; nothing if nobody runs it."""
    if not program(context):
        return [], []
    return [{"name": PART, "mountPath": FOLDER}], [{"name": PART, "configMap": {"name": object_name(context, PART)}}]


def program(context: Context) -> list[Manifest]:
    """The ConfigMap with the program; none if nobody runs it."""
    settings = context.description.kubernetes
    if RUNNING not in of_vllm(context.release.vllm) or not (settings.stalled_after or settings.drain_timeout):
        return []
    text = pathlib.Path(stalled.__file__).read_text(encoding="utf-8")
    return [manifest(context, "ConfigMap", PART, data={FILE: text})]
