# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an earlier playbook has to have left on the hosts: the programs of the services (prepare), and their scripts (deploy).

Without a program a service would end at each start, again and again, and without a script nothing would ever answer.
"""

from __future__ import annotations

import posixpath
import typing as t

from ..description.values import natural
from ..hosts.connection import cause

Plan = t.Mapping[str, t.Any]
INSTALLED, DEPLOYED = "installed", "deployed"
LACKS = "lacks "  # begins the lines that hosts print, see playbooks/shared/ready.yml
PREPARE = (
    "{what}: not there, and {names} would end at each start, again and again. Nothing was changed. "
    "Fix: run ascend.inference.prepare, which installs it, or ascend.inference.site, which does all steps."
)
DEPLOY = (
    "{names}: not deployed, so there is nothing to restart or to verify. Nothing was changed. "
    "Fix: run ascend.inference.site, or ascend.inference.deploy if prepare has installed the software."
)

LOST = "{}: {}. The other hosts cannot serve requests without it. Nothing was changed. Fix: {}"


def needed(plan: Plan, host: str, kinds: t.Container[str], names: t.Collection[str] = ()) -> list[str]:
    """Paths that have to exist on a host, of the services with these ``names`` (empty: all). ``kinds``: INSTALLED, DEPLOYED.

    Programs in images are not looked for: the container engine fetches a missing image, or names it.
    """
    found = []
    for service in plan["services"]:
        if service["host"] == host and (not names or service["name"] in names):
            found += [_program(plan, service)] if INSTALLED in kinds else []
            found += [service["scripts"]["run"]] if DEPLOYED in kinds else []
    return sorted({path for path in found if path})


def refusals(plan: Plan, printed: t.Mapping[str, str], lost: t.Mapping[str, str] | None = None) -> list[str]:
    """Why nothing is done, of what each host printed: a line ``lacks PATH`` for each path that is not there.

    ``lost``: hosts that are not reachable, with Ansible's messages.
    """
    if lost:
        return [LOST.format(host, *cause(message)) for host, message in sorted(lost.items())]
    lacking = {
        (host, line[len(LACKS) :].strip())
        for host, text in printed.items()
        for line in text.splitlines()
        if line.startswith(LACKS)
    }
    scripts, programs = [], {}
    for service in plan["services"]:
        if (service["host"], service["scripts"]["run"]) in lacking:
            scripts.append(f"{service['name']} on {service['host']}")
        if (service["host"], _program(plan, service)) in lacking:
            programs.setdefault(f"{_program(plan, service)} on {service['host']}", []).append(service["name"])
    if scripts:
        return [DEPLOY.format(names=", ".join(sorted(scripts, key=natural)))]
    names = sorted((name for found in programs.values() for name in found), key=natural)
    return [PREPARE.format(what=", ".join(sorted(programs, key=natural)), names=", ".join(names))] if programs else []


def _program(plan: Plan, service: t.Mapping[str, t.Any]) -> str:
    """The program that a service starts; empty if it is in an image, or found by its name."""
    program = str(service["argv"][0]) if service["argv"] else ""
    return "" if plan["runtime_facts"]["contained"] or not posixpath.isabs(program) else program
