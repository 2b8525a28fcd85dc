# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only function of vLLM that the proxies call."""

from __future__ import annotations

import logging


def init_logger(name):
    """A logger that prints from INFO on."""
    logging.basicConfig(level=logging.INFO)
    return logging.getLogger(name)
