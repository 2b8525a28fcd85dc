# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the drill that began still runs, as far as its load can know.

The load is detached from its connection, which a long fault leaves idle until it is closed: neither its parent nor a session tells that the controller
is gone. The lock of the deployment does, as soon as another run takes it over.
"""

from __future__ import annotations

import time
from typing import Callable

from ..files import deployment_lock

FREE = 2.0  # seconds; a lock without a record may be one that is being written


class Holder:
    """The run that holds the lock now. ``directory``: the deployment's folder; "", or nobody holds its lock: never over."""

    def __init__(self, directory: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.directory, self.clock = directory, clock
        self.run = self._holder()
        self.free_since: float | None = None

    def gone(self) -> bool:
        """Whether another run holds the lock, or nobody for a while."""
        found = self._holder() if self.run else ""
        if found or not self.run:
            self.free_since = None
            return found != self.run
        self.free_since = self.clock() if self.free_since is None else self.free_since
        return self.clock() - self.free_since >= FREE

    def _holder(self) -> str:
        return str(deployment_lock.holder_of(self.directory).get("id", "")) if self.directory else ""
