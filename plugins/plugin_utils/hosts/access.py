# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of access: what the user of the services can read and write."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from ..plan.rules.base import Rules
from .fabric import service_users
from .observed import Observed, Record, place

RULES = Rules()


@RULES.rule(
    "MODEL-ACCESS",
    "Let that user read the model: chmod -R a+rX on its folder, and a+x on each parent folder.",
    "path_resolution(7): reading a file needs x on each of its folders",
)
def model_access(case: Observed) -> t.Iterator[Finding]:
    """The user of the services cannot read the model.

    The check and the installation run as another user, often root, and do not notice. The engine fails when it loads the model.
    """
    if case.plan["model"].get("source"):
        return
    for host, found in _access(case):
        if found.get("models") is None:
            problem = f"not tested whether {_user(found)} can read the model: only root can become another user"
            yield Finding.at(place(host), "", problem, "Run the check with --become.", "remark")
            continue
        problems = found["models"].get(case.plan["model"]["path"])
        if problems and any(service["health"] is not None for service in case.services(host["name"])):
            yield Finding.at(place(host), problems[0], f"{_user(found)} cannot read {'; '.join(problems)}")


@RULES.rule(
    "ROOT-ACCESS",
    "Give that user access, or set inference_root to a folder that it can use.",
    "path_resolution(7): using a folder needs x on each of its parents",
)
def root_access(case: Observed) -> t.Iterator[Finding]:
    """The user of the services cannot use the root folder of the deployment.

    Its programs, files and logs are there: nothing can be installed, or services do not start.
    """
    for host, found in _access(case):
        problems = (found.get("roots") or {}).get(case.plan["root"])
        if problems:
            needs = "enter" if found.get("user") else "write to"
            problem = f"{_user(found)} cannot {needs} {problems[0]}; {case.plan['root']} is the deployment's root"
            yield Finding.at(place(host), case.plan["root"], problem)


def _access(case: Observed) -> t.Iterator[tuple[Record, Record]]:
    """Hosts with the result of the test, without those whose services run as root."""
    for host, facts in case.gathered("host"):
        if facts.get("access") and service_users(case, host) != {"root"}:
            yield host, facts["access"]


def _user(found: Record) -> str:
    if not found.get("user"):
        return "the connected user"
    return f"the services' user {found['user']}" + ("" if found.get("exists") else ", who does not exist yet,")
