# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Liveness of an engine by its progress: a busy one that does not answer in time lives, one that computes nothing does not."""

from __future__ import annotations

import dataclasses
import pathlib
import shlex

from ...plan.deployment import Context
from ...plan.service import File, Service
from ...releases.metric_names import of_vllm
from . import stalled
from .names import Manifest
from .services import WORKSPACE

PROGRAM = f"{WORKSPACE}/stalled.py"
RUNNING = "vllm:num_requests_running"
WORK = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:iteration_tokens_total_count")
PERIOD = 30  # seconds, of the probe and for it
FAILURES = 3  # in a row


def _counters(context: Context, service: Service) -> list[str]:
    """The counters of work that this release has; none if its pod has no probe."""
    known = of_vllm(context.release.vllm)
    is_watched = context.description.kubernetes.stalled_after and service.health and RUNNING in known
    return [name for name in WORK if name in known] if is_watched else []


def watched(context: Context, service: Service) -> Service:
    """The engine with the probe's program among its files."""
    if not _counters(context, service):
        return service
    program = File(PROGRAM, pathlib.Path(stalled.__file__).read_text(encoding="utf-8"))
    return dataclasses.replace(service, files=(*service.files, program))


def liveness_probe(context: Context, service: Service) -> Manifest:
    """Only the program's own verdict counts: a probe that cannot run, in an image without python3 for example, ends no engine."""
    counters = _counters(context, service)
    if not counters:
        return {}
    after = max(PERIOD, context.description.kubernetes.stalled_after - (FAILURES - 1) * PERIOD)
    words = ["python3", "-IS", PROGRAM, "--port", str(service.port("api").first), "--model", context.served_name]
    words += ["--after", str(after), "--running", RUNNING]
    for name in counters:
        words += ["--work", name]
    command = ["/bin/bash", "-c", f"{shlex.join(words)}; [ $? -ne {stalled.STALLED} ]"]
    times = {"periodSeconds": PERIOD, "timeoutSeconds": PERIOD, "failureThreshold": FAILURES}
    return {"livenessProbe": {"exec": {"command": command}, **times}}
