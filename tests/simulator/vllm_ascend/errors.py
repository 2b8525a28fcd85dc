# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fatal errors of the simulated engine."""

from __future__ import annotations


class Died(Exception):
    """The engine cannot start or continue; the text is that of the real engine, ``code`` its exit status."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


class EngineDead(Exception):
    """A request crashed the engine core: the whole instance exits, like the real one."""


class LoadFailed(Exception):
    """The KV of a request could not be fetched (the text is the reason)."""
