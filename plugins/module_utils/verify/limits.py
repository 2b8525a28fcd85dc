# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step negative: an invalid request must fail visibly for the client."""

from __future__ import annotations

from .faults import Problem
from .probe import Probe
from .prompts import new_nonce, prompt_of
from .records import Record, failed, passed, skipped

BEYOND = 64


def check_negative(probe: Probe) -> list[Record]:
    """A prompt longer than max_model_len must be refused (4xx is correct, 5xx hides the reason).

    Proxies up to 0.23.0rc1 answer an empty 200 (vllm-ascend#12166, #13140): with the known limit `empty_200` a warning.
    """
    if not probe.max_model_len:
        return [skipped("negative", "the engines do not report their max_model_len")]
    prompt = prompt_of(new_nonce(), probe.max_model_len + BEYOND)
    answer = probe.complete(probe.entry, prompt)
    seen = {"status": answer.status, "problem": answer.problem, "max_model_len": probe.max_model_len}
    if answer.whole or answer.text:
        message = f"a prompt of more than {probe.max_model_len} tokens was answered"
        return [failed("negative", "entry", Problem(message, "not_refused"), **seen)]
    if answer.problem == "http_error" and answer.status >= 400:
        if answer.status >= 500:
            message = "a too long prompt is answered with HTTP {0}, which does not show that the request is invalid"
            probe.warnings.append(message.format(answer.status))
        return [passed("negative", "entry", f"a too long prompt gets HTTP {answer.status}", **seen)]
    if answer.problem == "empty" and "empty_200" in probe.plan.release.known_limits:
        message = f"a too long prompt gets an empty HTTP 200, a known limit of release {probe.plan.release.name}"
        probe.warnings.append(message + ": clients must check for an empty body")
        return [passed("negative", "entry", message, **seen)]
    message = "a too long prompt got no error but: " + probe.hide(answer.detail)
    return [failed("negative", "entry", Problem(message, "silent_overflow"), **seen)]
