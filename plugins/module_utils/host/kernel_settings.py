# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment's kernel settings: its file below sysctl.d, the kernel's current values, and the shared list of reserved ports.

Everything is read and compared first; ``apply`` then writes the differences.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile

from ..files.changes import backup_suffix
from .reserved_ports import KEY, in_file, parse, spell

OWN = "60-ascend-inference-*.conf"
UNION = "99-z-ascend-inference-reserved-ports.conf"  # sorted after 99-sysctl.conf, a link to /etc/sysctl.conf
MARK = "# Written by ascend.inference"
OWN_HEAD = MARK + ": the kernel settings of one deployment. Do not edit.\n"
# What earlier versions wrote: these two settings alone.
OLD = re.compile(r"(?:(?:net\.ipv4\.ip_local_reserved_ports|vm\.max_map_count)=[0-9,-]+\n)+")
HEAD = MARK + ": the reserved ports of all files, because only the last file takes effect. Do not edit.\n"


class Settings:
    """The settings of one deployment (name to value), compared with files and kernel. Raises ``ValueError`` for invalid ports."""

    def __init__(self, directory, others, kernel, deployment, settings):
        self.kernel = kernel
        own, union = (os.path.join(directory, name) for name in (OWN.replace("*", deployment), UNION))
        self.files = [own, union]
        self.before = {path: read(path) for path in self.files}
        requested = parse(settings.get(KEY, ""))
        reserved, live = in_files(directory, others, own) | requested, parse(read(self.live_path(KEY)))
        left = [path for path in glob.glob(os.path.join(directory, OWN)) if path != own]
        wanted = reserved if left or settings else set()
        self.ports = spell(live | wanted)
        lines = "".join(f"{name}={value}\n" for name, value in settings.items())
        self.after = {
            own: OWN_HEAD + lines if lines else "",
            union: f"{HEAD}{KEY} = {spell(wanted)}\n" if wanted else "",
        }
        # Files of others: they stay if nothing is written there, else they are renamed.
        self.foreign = [path for path in self.files if self.before[path] and not is_ours(self.before[path])]
        self.after.update((path, self.before[path]) for path in self.foreign if not self.after[path])
        self.saved = {path: path + backup_suffix() for path in self.foreign if self.after[path] != self.before[path]}
        self.live = {KEY: (spell(live), self.ports)} if wanted - live else {}
        for name, value in settings.items():
            found = value if name == KEY else " ".join(read(self.live_path(name)).split())
            if found != value:
                self.live[name] = (found, value)

    def live_path(self, name):
        """Path of a setting below ``kernel``."""
        return os.path.join(self.kernel, *name.split("."))

    @property
    def kept(self):
        """Files of others that stay."""
        return [path for path in self.foreign if path not in self.saved]

    @property
    def changed(self):
        """Whether a file or a current value differs from the wanted one."""
        return self.before != self.after or bool(self.live)

    @property
    def difference(self):
        """Changes of files and of the kernel's values, in the format of Ansible's ``diff``."""
        files = [
            {"before": self.before[path], "after": self.after[path], "before_header": path, "after_header": path}
            for path in self.files
            if self.before[path] != self.after[path]
        ]
        pairs = [(f"{name} = {found}\n", f"{name} = {value}\n") for name, (found, value) in self.live.items()]
        return files + [
            {"before": before, "after": after, "before_header": "live", "after_header": "live"}
            for before, after in pairs
        ]

    def apply(self):
        """Write the files and the kernel's values."""
        for path in self.files:
            if path in self.saved:
                os.rename(path, self.saved[path])
            if self.before[path] != self.after[path]:
                write(path, self.after[path])
        for name, (_found, value) in self.live.items():
            with open(self.live_path(name), "w") as stream:
                stream.write(value + "\n")


def is_ours(text):
    """Whether this collection wrote the text of a file."""
    return text.startswith(MARK) or bool(OLD.fullmatch(text))


def read(path):
    """A file's text; empty if it does not exist."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def in_files(directory, others, own):
    """The reserved ports of all files except the union and the deployment's file."""
    found = [path for place in [directory, *others] for path in glob.glob(os.path.join(place, "*.conf"))]
    found = [path for path in [*found, *others] if os.path.isfile(path) and path != own]
    ports = set()
    for path in found:
        if os.path.basename(path) == UNION:
            continue
        try:
            ports |= in_file(read(path))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    return ports


def write(path, text):
    """Replace a file atomically, or remove it if the text is empty."""
    if not text:
        os.unlink(path)
        return
    handle, fresh = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".ascend-inference-")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    os.chmod(fresh, 0o644)
    os.rename(fresh, path)
