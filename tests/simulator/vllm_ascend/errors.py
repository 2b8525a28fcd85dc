# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the simulated engine ends."""

from __future__ import annotations


class Died(Exception):
    """The engine can't start or go on; the text is what the real one prints, ``code`` its exit status."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


class EngineDead(Exception):
    """A request broke the engine core: the whole instance ends, as the real one does."""


class LoadFailed(Exception):
    """The KV of a request could not be fetched (the text names why)."""
