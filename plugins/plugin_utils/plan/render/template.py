# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts of files with places for values."""

from __future__ import annotations

import re
import typing as t

TOKEN = re.compile(r"@[A-Z]+@")


def filled(text: str, values: t.Mapping[str, str]) -> str:
    """A template with every ``@NAME@`` replaced once: values are not searched for names again."""
    return TOKEN.sub(lambda found: values[found.group()[1:-1]], text)
