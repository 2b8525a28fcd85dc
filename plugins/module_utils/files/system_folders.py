# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders that belong to the operating system or to several users: none of them is the collection's own, or goes into a container.

Source: the Filesystem Hierarchy Standard 3.0. Used on the controller, when the plan is made, and again on hosts.
"""

from __future__ import annotations

import os
import posixpath

# The folder itself and everything below it.
WHOLLY = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/proc",
    "/run",
    "/sbin",
    "/sys",
    "/usr",
)
WITHIN = (
    "/etc/prometheus/",
    "/usr/local/",
)  # below WHOLLY and yet the administrator's; role monitoring writes into the first one
# The folder itself; a folder of its own below it may be the root.
ITSELF = (
    *("/", "/home", "/lost+found", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr/local", "/var"),
    *(
        "/usr/local/" + name
        for name in ("bin", "etc", "games", "include", "lib", "man", "sbin", "share", "src", "Ascend")
    ),
    *("/var/" + name for name in ("backups", "cache", "lib", "local", "log", "mail", "opt", "spool", "tmp")),
)
# Of ITSELF, the folders that hold files of users and services, and not of the system.
DATA = (
    *(
        "/home",
        "/media",
        "/mnt",
        "/opt",
        "/srv",
        "/tmp",
        "/var/cache",
        "/var/local",
        "/var/log",
        "/var/opt",
        "/var/tmp",
    ),
    *(name for name in ITSELF if name.startswith("/usr/local/")),
)
# Folders whose files are secrets of a host, or programs that root runs: the folder itself and everything below it.
SECRET = (
    *("/etc/" + name for name in ("cron.d", "cron.daily", "cron.hourly", "cron.monthly", "cron.weekly")),
    *("/etc/" + name for name in ("kubernetes", "pam.d", "profile.d", "ssh", "sudoers.d", "systemd")),
    *("/etc/" + name for name in ("crontab", "gshadow", "shadow", "sudoers")),
    *("/lib/systemd", "/proc", "/run/systemd", "/usr/lib/systemd", "/var/spool/cron"),
    *("/var/lib/" + name for name in ("containerd", "docker", "etcd", "kubelet")),
)
OWN = (
    "/etc/ascend-inference",
    "/var/lib/ascend-inference",
)  # where this collection keeps keys of entries and what root compares
KEYS = {".aws", ".docker", ".gnupg", ".kube", ".ssh"}  # folders with keys of a user, in whatever home
# Below WHOLLY, where files may be that services only read.
READ_WITHIN = ("/dev/shm/", "/run/media/", "/usr/share/")


def _normal(path):
    """The path without dots and repeated slashes, and without the links of /var to /run."""
    path = "/" + posixpath.normpath(path).strip("/")
    for link, folder in (("/var/run", "/run"), ("/var/lock", "/run/lock")):
        if (path + "/").startswith(link + "/"):
            return folder + path[len(link) :]
    return path


def is_system_folder(path, within=WITHIN):
    """Whether ``path`` (absolute) is a folder that others use as well."""
    path = _normal(path)
    if path in ITSELF:
        return True
    return (path + "/").startswith(tuple(name + "/" for name in WHOLLY)) and not path.startswith(within)


def is_no_data(path):
    """Whether ``path`` is none of the folders of which services may read everything, as a model."""
    return is_system_folder(path, (*WITHIN, *READ_WITHIN)) or is_secret(path) or is_own(path)


def is_secret(path):
    """Whether ``path`` is in a folder with secrets of the host or of a user, or with programs that root runs."""
    path = _normal(path)
    return (path + "/").startswith(tuple(name + "/" for name in SECRET)) or not KEYS.isdisjoint(path.split("/"))


def is_own(path):
    """Whether ``path`` is in a folder that this collection itself has on a host, outside of its root."""
    return (_normal(path) + "/").startswith(tuple(name + "/" for name in OWN))


def holds_the_system(path):
    """Whether ``path`` is a whole folder of the operating system. A folder below one, such as /etc/pki, is none, and one with data of users neither."""
    path = _normal(path)
    return path in WHOLLY or path in ITSELF and path not in DATA or is_secret(path) or is_own(path)


def refusal(root, judge=is_system_folder):
    """Why ``root`` cannot be the collection's root, or its model, on this host, links followed; an empty string if it can."""
    for path in (root, os.path.realpath(root)):
        if judge(path):
            name = root if path == root else f"{root} (a link to {path})"
            return (
                f"{name} is a folder of the system: what the collection makes below it cannot be distinguished from what others "
                "need. Nothing was changed. Fix: set inference_root to a folder of its own, such as /opt/ascend-inference (for the files of "
                "monitoring inference_monitoring.directory, such as /etc/prometheus/ascend-inference)."
            )
    return ""
