# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of vLLM that upstream's proxies import, so that their environment does not need vLLM itself."""

from __future__ import annotations

import logging


def init_logger(name):
    """A logger that writes to stderr."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(asctime)s [%(name)s] %(message)s")
    return logging.getLogger(name)
