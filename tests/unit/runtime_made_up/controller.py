# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A runtime that nobody needs: plain processes, known by their process ids. The seam's test installs it."""

from __future__ import annotations

from ..description.findings import Finding
from ..plan.rules.base import Rules
from .base import Runtime

RULES = Rules()


class Processes(Runtime):
    """A process for each service."""

    name = "processes"
    reserves_ports = False
    lifts_limits = False
    packages = {"Debian": ("procps",), "RedHat": ("procps-ng",)}
    packages_variable = "processes_packages"

    def unit(self, deployment, service):
        return f"pid.{deployment}.{service}"

    def log_of(self, unit, path):
        return {"kind": "processes", "unit": unit}

    def settings(self, context):
        return {"folder": context.folder("run")}

    def rules(self):
        return RULES

    def section(self, context, services, hosts):
        return {"processes": {"count": len(services)}}


RUNTIME = Processes()


@RULES.rule("PROCESSES-NAME", "Choose another name.", "the test of the seam")
def name(case):
    """The deployment is called wrong.

    Nobody would find its processes.
    """
    if case.context.runtime is RUNTIME and case.context.description.deployment == "wrong":
        yield Finding.at("inference_deployment", "wrong", "it is called wrong")
