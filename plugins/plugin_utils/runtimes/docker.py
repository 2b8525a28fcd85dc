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

SOME_HOSTS = ("/etc/hccn_weak_dict.conf",)  # files of the driver that not every version of it has (the same page)


def _accounts(service: Service, mounted: t.Collection[str]) -> dict[str, str]:
    """Paths of the files, beside the service's others, without those that the user mounts; and the home of the user in them."""
    names = [name for name in ("group", "passwd") if f"/etc/{name}" not in mounted]
    files = {name: posixpath.join(service.work_directory, name) for name in names}
    return {**files, "home": service.scratch_directory}


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
        (Python's getpass, caches below the home). HCCL needs an entry in passwd: it ends with code 19 without one, and the variables do not
        replace it (vLLM-Ascend's page on containers without root, #9490). The host writes both files from the image's.
        """
        found = super().named(context, service)
        as_root = context.description.container.user == "root"
        own = {} if as_root else {"HOME": service.scratch_directory, "LOGNAME": "service"}
        mark = posixpath.join(service.scratch_directory, "started.digest")
        more: dict[str, t.Any] = {"pids_limit": context.description.tasks_max}
        if service.devices:
            own_mounts = {mount.split(":")[1] for mount in context.description.container.mounts if ":" in mount}
            wide = context.hosts[service.host].hardware == "950" and bool(context.release.ub_endpoints)
            some = (*SOME_HOSTS, *((context.release.ub_endpoints,) if wide else ()))
            more["mounts_if_present"] = [f"{path}:{path}:ro" for path in some if path not in own_mounts]
            more.update({} if as_root else {"accounts": _accounts(service, own_mounts)})
        box = {**found.container, **more} if found.container else None
        return dataclasses.replace(found, digest_file=mark, env={**own, **found.env}, container=box)

    def settings(self, context: Context) -> dict[str, t.Any]:
        return {"deployment": context.description.deployment, "records": context.directory}


RUNTIME = Docker()
