# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts on which runs began to change a deployment, and the places that the last of them gave, until a plan is recorded as deployed.

A run that is killed before it has recorded its plan may have started services on a host that no recorded plan names. If the next run has
another inventory, only this file says that something is to be removed there, or where an instance is that this run started: with another host in the
inventory its place would be another one. It is written under the lock, before the first change, on every host.
"""

from __future__ import annotations

import json
import os

from . import tree
from .journal import BEGUN, Folder


def read(base):
    """``{hosts: [names]}`` of the file, the names sorted; empty without a usable file."""
    with Folder(base) as folder:
        return _names(folder)


def note(base, hosts, placement=None):
    """Add the hosts of a run, and note its placement. Nothing without the deployment's folder: a first deployment has no other plan to compare with."""
    with Folder(base) as folder:
        known = _names(folder)
        wanted = sorted(set(known) | set(hosts))
        found = {"hosts": wanted, "placement": placement or folder.read(BEGUN).get("placement") or {}}
        if folder.descriptor is not None and (wanted != known or found != folder.read(BEGUN)):
            content = json.dumps(found).encode("utf-8") + b"\n"  # one line, which playbooks/shared/places.yml prints
            tree.write(folder.descriptor, BEGUN, content, 0o600, -1, -1)


def forget(base):
    """A plan with all hosts is recorded."""
    with Folder(base) as folder:
        if folder.descriptor is not None and tree.look(folder.descriptor, BEGUN) is not None:
            os.unlink(BEGUN, dir_fd=folder.descriptor)


def _names(folder):
    found = folder.read(BEGUN).get("hosts")
    return sorted({name for name in found if isinstance(name, str)}) if isinstance(found, list) else []
