# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A callback that notes the stages of a run, and kills the controller with its process group where one begins.

A stage is ``PLAY | ROLE | TASK`` of a task that starts. INTERRUPT_STAGES is the file of notes, INTERRUPT_STAGE the stage at which to kill, when it
begins for the INTERRUPT_TIME-th time (the first by default). INTERRUPT_SIGNAL is another signal than SIGKILL: SIGSTOP holds the run there.
"""

from __future__ import annotations

import os
import signal

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: stages
type: aggregate
short_description: Note the stages of a run, and kill it at one
description: For tests of interrupted runs.
"""


class CallbackModule(CallbackBase):
    """Notes plays and tasks."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "stages"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        super().__init__()
        self.play = ""
        self.left = int(os.environ.get("INTERRUPT_TIME", "1"))
        os.environ["INTERRUPT_CONTROLLER"] = str(os.getpgid(0))  # modules on this machine inherit it

    def v2_playbook_on_play_start(self, play):
        self.play = play.get_name()

    def v2_playbook_on_task_start(self, task, is_conditional):
        role = task._role.get_name().rsplit(".", 1)[-1] if task._role else ""
        stage = f"{self.play} | {role} | {task.name}"
        with open(os.environ["INTERRUPT_STAGES"], "a", encoding="utf-8") as notes:
            notes.write(stage + "\n")
        self.left -= stage == os.environ.get("INTERRUPT_STAGE")
        if not self.left:
            self.left = -1  # a run that was held goes on
            os.killpg(os.getpgid(0), signal.Signals[os.environ.get("INTERRUPT_SIGNAL", "SIGKILL")])
