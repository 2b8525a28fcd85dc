# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of a verification from the answers of its hosts: each is heard about its own services, and a bad one costs that host only."""

from __future__ import annotations

import typing as t

from ...module_utils.tools.text import one_line
from ...module_utils.verify.logs import services_of
from ...module_utils.verify.plan import PlanError, read_plan
from ...module_utils.verify.verdict import verdict
from ..hosts.readable import WRONG_FORM, judged
from .verify_text import verify_text


def judged_verdict(report: t.Any, verify: t.Any, logs: t.Sequence[t.Any], hosts: t.Sequence[str]) -> dict[str, t.Any]:
    """The report with its ``explanation``. ``hosts`` are those of the first ``logs``.

    Raises ValueError for an invalid section ``verify``, and for a report in a wrong form.
    """
    problems: list[str] = []

    def own(name: str, read: t.Any) -> dict[str, t.Any]:
        here = {service for service, _log in services_of(planned, name)}
        return {service: item for service, item in read.items() if service in here or name not in hosts}

    def judge(found: t.Any) -> dict[str, t.Any]:
        joined = verdict(planned, report, [own(name, each["logs"]) for name, each in found.items()])
        return {**joined, "explanation": [one_line(line) for line in verify_text(joined)]}

    def instead(host: str, problem: str) -> dict[str, t.Any]:
        problems.append(one_line(f"the logs of {host} are not known: {problem}"))
        return {"logs": {}}

    try:
        planned = read_plan(verify)
        names = [*hosts, *map(str, range(len(hosts), len(logs)))]
        joined = judged(judge, {name: {"logs": each} for name, each in zip(names, logs, strict=False)}, instead)
    except PlanError as error:
        raise ValueError(f"The plan's section verify is invalid: {error}.") from error
    except WRONG_FORM as error:
        raise ValueError(
            f"The host that sent the requests answered no report ({type(error).__name__}: {one_line(str(error)[:120])}). "
            "Fix: look at what runs as Python there"
        ) from error
    if not problems:
        return joined
    failed = {"verified": False, "failures": [*joined["failures"], *problems]}
    return {**joined, **failed, "explanation": [*joined["explanation"], *problems]}
