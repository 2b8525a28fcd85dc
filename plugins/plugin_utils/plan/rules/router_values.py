# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of values of the router's options."""

from __future__ import annotations

import re
import typing as t

from ...description.findings import Finding
from ..routers.base import AMOUNT
from ..routers.registry import flavour_of
from .base import Case, Rules
from .router import flags, path

RULES = Rules()
WHOLE = (r"\d+", "a whole number from 0 on")
# argparse types of the proxies in vLLM-Ascend's examples, equal in all releases that have the option
SCRIPTS = {
    "max-retries": WHOLE,
    "retry-delay": AMOUNT,
    "max-waiting-retries": WHOLE,
    "waiting-retry-interval": AMOUNT,
    "workers": (r"[1-9]\d*", "a whole number above 0"),
    "log-level": ("DEBUG|INFO|WARNING|ERROR|CRITICAL", "one of DEBUG, INFO, WARNING, ERROR, CRITICAL"),
    "max-request-tokens": WHOLE,
}


@RULES.rule(
    "ROUTER-VALUE",
    "Write a value of this kind.",
    "argparse of the release's proxy script; vllm-router 0.1.17 --help",
)
def value(case: Case) -> t.Iterator[Finding]:
    """An option of the router has a value that it does not take.

    The router ends at start, and no request is answered.
    """
    if not case.named("router"):
        return
    found = flavour_of(case.context)
    for name, given in flags(case).items():
        own = path(case, name)
        if own == "inference_router.flavour":
            continue
        pattern, expected = found.package.takes(name) if found.package else SCRIPTS.get(name, ("", ""))
        for text in given if pattern else ():
            if not re.fullmatch(pattern, text):
                yield Finding.at(own, text, f"--{name} takes {expected}, not '{text}'")


@RULES.rule(
    "ROUTER-EVENTS",
    "Set cache_aware, or name the endpoints of the engines' events in inference_router.args (kv-event-source, or pd-kv-events for prefill).",
    "vllm-router 0.1.17 --help: a policy kv_aware needs an event source for each worker",
)
def events(case: Case) -> t.Iterator[Finding]:
    """The router chooses engines by their KV events, and is connected with none.

    The planner lets no engine publish events. The router starts, takes every cache for empty, and sends requests elsewhere than to the engine
    that has their prefix.
    """
    table = flags(case) if case.named("router") else {}
    for name in ("policy", "prefill-policy", "decode-policy"):
        if "kv_aware" in table.get(name, ()) and not table.keys() & {"kv-event-source", "pd-kv-events"}:
            yield Finding.at(path(case, name), "kv_aware", f"--{name} is kv_aware, and no event source is set")
