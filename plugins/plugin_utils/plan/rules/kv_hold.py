# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the time for which prefill holds KV cache that decode has not fetched: it bounds what a decode that dies leaves behind."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from .base import Case, Rules
from .environment import HOLD

RULES = Rules()
SETTING = "inference_kv_hold_timeout"
LEAST = 30  # seconds; a request may wait as long for decode
MOST = 1800  # seconds; the default of all releases is 480
PULL = ("ASCEND_CONNECT_TIMEOUT", "ASCEND_TRANSFER_TIMEOUT")  # milliseconds in which decode gives up


def held(case: Case) -> t.Iterator[tuple[str, int, t.Any]]:
    """(path, seconds, engine) of each prefill engine with a hold timeout that the user set; text is left to other rules."""
    names = (case.context.release.free_timeout_env,) if case.npu else HOLD[-1:]
    for view in case.engine_views:
        for name in names if view.kind == "prefill" else ():
            value = view.env.get(name, "")
            if value.isdecimal() and int(value):
                yield view.env_path(name) if view.sets_env(name) else SETTING, int(value), view


def pull_of(view: t.Any) -> float:
    """Seconds after which decode gives up, by the environment of both sides."""
    return sum(int(view.env[name]) for name in PULL if view.env.get(name, "").isdecimal()) / 1000


@RULES.rule(
    "KV-HOLD-SHORT",
    "Set a longer time, or shorter ASCEND_CONNECT_TIMEOUT and ASCEND_TRANSFER_TIMEOUT.",
    "vllm-ascend mooncake_connector.py: expired blocks are freed, whether decode still reads them or not",
)
def short(case: Case) -> t.Iterator[Finding]:
    """Prefill frees KV cache before decode gives up fetching it.

    The blocks get another request's KV cache while decode reads them: the client gets a wrong text, and no error.
    """
    for path, seconds, view in held(case):
        if seconds <= pull_of(view):
            problem = f"prefill holds KV cache for {seconds} s, and decode tries to fetch it for {pull_of(view):g} s"
            yield Finding.at(path, seconds, problem)


@RULES.rule(
    "HOLD-TIMEOUT",
    "Leave inference_kv_hold_timeout out, or set it to more than a request waits for decode, such as 480.",
    "vllm-ascend envs.py: VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT, default 480",
    "warning",
)
def waiting(case: Case) -> t.Iterator[Finding]:
    """Prefill frees KV blocks before decode has fetched them under load.

    Requests that wait longer get wrong KV cache or fail.
    """
    for path, seconds, view in held(case):
        if pull_of(view) < seconds < LEAST:
            yield Finding.at(path, seconds, f"KV blocks are held for {seconds} seconds only")


@RULES.rule(
    "KV-HOLD-LONG",
    f"Set at most {MOST} s, and limit the requests that wait for decode instead.",
    "vllm-project/vllm-ascend#15802, #13240",
    "warning",
)
def long(case: Case) -> t.Iterator[Finding]:
    """Prefill holds KV cache of a decode that died for more than half an hour.

    Its requests keep their blocks until this time is over. A prefill whose memory is full of them accepts no request, although it is well.
    """
    for path, seconds, _view in held(case):
        if seconds > MOST:
            yield Finding.at(path, seconds, f"KV cache that no decode fetches is held for {seconds} s")
