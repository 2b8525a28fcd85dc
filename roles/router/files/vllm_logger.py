# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What upstream's proxies import from vLLM, so that their environment need not have all of vLLM."""

from __future__ import annotations

import logging


def init_logger(name):
    """A logger that writes to stderr."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(asctime)s [%(name)s] %(message)s")
    return logging.getLogger(name)
