# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes where modules write below a folder, and kills the controller and the module before one of these steps.

Python imports this file at its start, from PYTHONPATH. A step is ``MODULE | EVENT | PATH``, with the path below INTERRUPT_ROOT, or only a
name where it is relative to an open folder. INTERRUPT_STEPS is the file of notes, INTERRUPT_STEP the step before which to kill. Programs that
the module started go on, as they do if the kernel kills a module. Modules must not be pipelined, as their name is in the command.
"""

from __future__ import annotations

import os
import re
import signal
import sys

EVENTS = {
    "open",
    "os.link",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "shutil.rmtree",
    "subprocess.Popen",
}
IN_FOLDERS = {
    "open",
    "os.mkdir",
    "os.rename",
    "os.symlink",
}  # the others, relative to a folder, are those of temporary folders
FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT
RANDOM = re.compile(r"(?<=[._])[a-z0-9_]{8}(?=\.ascend|$)|(?<=/tmp)[a-z0-9_]{8}$")  # of tempfile


class Watch:
    """An audit hook in the process of one module."""

    def __init__(self, module):
        self.module, self.root = module, os.environ["INTERRUPT_ROOT"]

    def __call__(self, event, arguments):
        if event not in EVENTS or (event == "open" and not (isinstance(arguments[2], int) and arguments[2] & FLAGS)):
            return
        path = arguments[1] if event in ("os.link", "os.rename", "os.symlink") else arguments[0]
        if not isinstance(path, (str, bytes)):
            return
        path = os.fsdecode(path)
        absolute = os.path.isabs(path)
        if (absolute and not (path + "/").startswith(self.root + "/")) or (not absolute and event not in IN_FOLDERS):
            return
        self.note(f"{self.module} | {event} | {RANDOM.sub('*', path[len(self.root) :] if absolute else path)}")

    def note(self, step):
        with open(os.environ["INTERRUPT_STEPS"], "a", encoding="utf-8") as notes:
            notes.write(step + "\n")
        if step == os.environ.get("INTERRUPT_STEP"):
            os.killpg(int(os.environ["INTERRUPT_CONTROLLER"]), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)


if os.environ.get("INTERRUPT_STEPS"):
    name = re.search(r"/AnsiballZ_(\w+)\.py", " ".join(sys.orig_argv)) if hasattr(sys, "orig_argv") else None
    if name:
        sys.addaudithook(Watch(name.group(1)))
