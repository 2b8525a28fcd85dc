# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step routers: each of several routers serves. Requests through the balancer can all be answered by one of them."""

from __future__ import annotations

from ..tools.http_client import Target
from .answers import excerpt
from .entry import broken_hop, window_after
from .faults import Problem
from .plan import Service
from .probe import Probe
from .records import Record, failed, passed
from .transfer import busy, judge


def check_routers(probe: Probe) -> list[Record]:
    """One request to each router directly, one after the other because the counters of the engines are shared.

    With the engines' key, as the balancer's clients send it; a router that knows the key itself replaces it.
    """
    found = [(router.name, _problem(probe, router)) for router in probe.plan.routers]
    broken = [failed("routers", name, problem) for name, problem in found if problem]
    if broken:
        return broken
    return [passed("routers", "", f"{len(found)} routers answer with the reference text, each alone")]


def _problem(probe: Probe, router: Service) -> Problem | None:
    before, prompt = probe.all_metrics(), probe.new_prompt()
    answer = probe.complete(Target(router.url, probe.keys.engine), prompt)
    whole = [answer] if answer.whole else []
    window = window_after(probe, before, whole)
    if not whole:
        fault = broken_hop(probe, answer, window)[1]
        return Problem(probe.hide(answer.detail), fault)
    served = busy(window, sorted(window.engines))
    engine = probe.reference_engine(served)
    reference = probe.reference(prompt, engine)
    if not reference.whole:
        fault = "unauthorized" if reference.unauthorized else "unready"
        return Problem(f"could not get the reference output of {engine.name}: {probe.hide(reference.detail)}", fault)
    if not probe.same(answer, reference, prompt, engine):
        text = "the answer is {!r}, but {} directly returns {!r}"
        fault = "garbage" if probe.plan.disaggregated else "changed_in_transit"
        return Problem(text.format(excerpt(answer.text, 60), engine.name, excerpt(reference.text, 60)), fault)
    if probe.plan.disaggregated:
        judged = judge(probe.plan, window)
        if judged.problem:
            return judged.problem._replace(text=f"{judged.hop}: {judged.problem.text}")
        probe.requests.append({"id": answer.request_id, "hop": probe.pair_hop()})
    if not served and window.unread:
        text = f"/metrics of {', '.join(window.unread)} cannot be read, so which engine answered is not known"
        return Problem(text, "unread_metrics")
    if not served:
        return Problem("no planned engine received its request", "no_engine_served")
    return None
