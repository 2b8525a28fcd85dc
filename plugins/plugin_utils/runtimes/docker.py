# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker containers on the hosts."""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from .base import Runtime

if t.TYPE_CHECKING:
    from ..plan.deployment import Context
    from ..plan.service import Service


class Docker(Runtime):
    """A container for each service, marked with the deployment's label."""

    name = "docker"
    contained = True
    own_user = True
    packages = {"Debian": ("docker.io", "python3-requests"), "RedHat": ("docker", "python3-requests")}
    packages_variable = "container_runtime_packages"

    def log_of(self, unit: str, path: str) -> dict[str, str]:
        return {"kind": "docker", "unit": unit}

    def named(self, context: Context, service: Service) -> Service:
        """The service as in ``Runtime``; what it writes is in the one folder of its own that its container may write to.

        An image does not know the services' user: without a home and a name of their own, programs look for both and fail
        (Python's getpass, caches below the home).
        """
        found = super().named(context, service)
        own = (
            {}
            if context.description.container.user == "root"
            else {"HOME": service.scratch_directory, "LOGNAME": "service"}
        )
        mark = posixpath.join(service.scratch_directory, "started.digest")
        most = {"pids_limit": context.description.tasks_max}
        box = {**found.container, **most} if found.container else None
        return dataclasses.replace(found, digest_file=mark, env={**own, **found.env}, container=box)

    def settings(self, context: Context) -> dict[str, t.Any]:
        return {"deployment": context.description.deployment, "records": context.directory}


RUNTIME = Docker()
