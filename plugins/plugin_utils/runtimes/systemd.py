# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd units on the hosts, run as a dedicated user."""

from __future__ import annotations

import dataclasses
import typing as t

from .base import Runtime

if t.TYPE_CHECKING:
    from ..plan.deployment import Context
    from ..plan.service import Service

UNITS = "/etc/systemd/system"


class Systemd(Runtime):
    """A unit for each service, and a target for the deployment."""

    name = "systemd"
    needs_root = True
    own_user = True

    def unit(self, deployment: str, service: str) -> str:
        return f"{deployment}-{service}.service"

    def log_of(self, unit: str, path: str) -> dict[str, str]:
        return {"kind": "journald", "unit": unit}

    def named(self, context: Context, service: Service) -> Service:
        """The service as in ``Runtime``; where its delay of restarts cannot grow, its script counts its starts in a file.

        systemd's own limit of tasks is 15% of the host's, of which an engine with many devices may need more. HOME is not the home of the
        services' user, in which a file such as ``.profile`` or ``.ssh/authorized_keys`` would be obeyed: below it go the caches of vLLM, Triton,
        Hugging Face and ModelScope. CANN asks the user database for the home (``LogGetHomeDir`` of its log), so its logs need a variable of
        their own: ASCEND_PROCESS_LOG_PATH (CANN's reference of environment variables). ASCEND_WORK_PATH would also turn on dumps of kernels.
        """
        found = super().named(context, service)
        homes = {"HOME": context.folder("run")}
        if service.devices:
            homes["ASCEND_PROCESS_LOG_PATH"] = context.folder("logs")
        limits = {**found.start.limits, "tasks": context.description.tasks_max}
        return dataclasses.replace(
            found,
            env={**homes, **found.env},
            start=dataclasses.replace(found.start, limits=limits),
            starts_file=f"{context.folder('run')}/{service.name}.starts",
        )

    def settings(self, context: Context) -> dict[str, t.Any]:
        target = f"{context.description.deployment}.target"
        return {"target": target, "target_file": f"{UNITS}/{target}", "directory": UNITS, "drop_ins": UNITS}


RUNTIME = Systemd()
