# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For a test: a connection to this machine that is lost as often as the first line of a file says, and slow if the file has a second one."""

from __future__ import annotations

import os
import time

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection.local import Connection as Local

DOCUMENTATION = """
name: unsteady
short_description: Lose a connection
description: For a test.
options:
  place:
    description: The file.
    vars: [{name: unsteady_place}]
    type: str
"""


class Connection(Local):
    """As the connection local."""

    transport = "unsteady"

    def exec_command(self, cmd, in_data=None, sudoable=True):
        """Run, or be lost."""
        place = self.get_option("place")
        with open(place, encoding="utf-8") as source:
            times, *slow = source.read().split("\n")
        if slow and slow[0]:
            time.sleep(float(slow[0]))
        if int(times) > 0:
            with open(place, "w", encoding="utf-8") as target:
                target.write(str(int(times) - 1))
            raise AnsibleConnectionFailure(f"{os.path.basename(place)} does not answer")
        return super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
