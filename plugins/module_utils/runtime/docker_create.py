# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command that creates the container of a service, and the user as whom it runs. Settings as in ``docker``."""

from __future__ import annotations

import grp
import hashlib
import os
import pwd

from ..tools.driver_group import driver_group
from . import accounts
from .base import RuntimeProblem

LABEL = "ascend.inference."


def creation(service, settings):
    """Arguments of ``docker create`` for a service, without secrets: its script reads them from a file."""
    container = service["container"]
    argv = [
        f"--name={service['unit']}",
        f"--network={container['network']}",
        f"--workdir={container['work_directory']}",
    ]
    argv += [f"--{name}={container[key]}" for name, key in (("ipc", "ipc"), ("shm-size", "shm_size")) if container[key]]
    argv += ["--security-opt=no-new-privileges", "--cap-drop=ALL"]
    argv += [f"--cap-add={name}" for name in container["capabilities"]]
    argv += identity(settings) if container["user"] == "service" else []
    # Temporary files are in memory. exec: compilers write libraries there.
    argv += ["--read-only", "--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777"] if container["read_only"] else []
    argv += [f"--ulimit={name}={value}" for name, value in sorted(container["ulimits"].items())]
    if container.get("pids_limit"):  # missing in plans of older versions, to which a rollback may return
        argv.append("--pids-limit={}".format(container["pids_limit"]))
    argv += [f"--device={path}:{path}:rwm" for path in container["devices"]]
    argv += [f"--volume={mount}" for mount in [*container["mounts"], *_present_here(container)]]
    argv += [_strict(mount) for mount in container.get("mounts_of_paths", ())] + accounts.mounts(container)
    argv += ["--restart=unless-stopped", f"--stop-signal=SIG{service['stop_signal']}"]
    argv += [f"--stop-timeout={service['stop_timeout']}", "--log-driver=json-file"]
    argv += [f"--log-opt=max-size={settings['log_size']}", f"--log-opt=max-file={settings['log_copies']}"]
    labels = (("deployment", settings["deployment"]), ("service", service["name"]), ("digest", service["digest"]))
    argv += [f"--label={LABEL}{name}={value}" for name, value in labels]
    # The service's script replaces the image's entry point: it sources the image's login shell files.
    return [*argv, "--entrypoint=/bin/sh", container["image"], service["script"]]


def _strict(mount):
    """``--mount`` for SOURCE:TARGET[:ro]. Unlike a volume it fails if the source is missing, and makes no folder of its name."""
    source, target, *options = mount.split(":")
    return f"--mount=type=bind,source={source},target={target}" + (",readonly" if options == ["ro"] else "")


def _present_here(container):
    """Mounts of files that not every host has."""
    return [mount for mount in container.get("mounts_if_present", ()) if os.path.exists(mount.partition(":")[0])]


def host_user(name):
    """The entry of the user as whom the containers run; RuntimeProblem without one."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise RuntimeProblem(
            f"there is no user {name} on this host, as which the containers run. Fix: run site or deploy, which create it"
        ) from None


def identity(settings):
    """Options that run the processes as the services' user, with the group of the devices.

    With numeric ids: the image contains neither. A user that does not exist yet (check mode) is passed by name.
    """
    try:
        user = pwd.getpwnam(settings["user"])
    except KeyError:
        return ["--user=" + settings["user"]]
    found = [f"--user={user.pw_uid}:{user.pw_gid}"]
    try:
        return [*found, "--group-add={}".format(grp.getgrnam(driver_group(settings["group"])).gr_gid)]
    except KeyError:  # no driver here
        return found


def fingerprint(argv):
    """A digest of a command."""
    return hashlib.sha256("\0".join(argv).encode("utf-8")).hexdigest()
