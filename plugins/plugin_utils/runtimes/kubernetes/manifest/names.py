# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forms of names (RFC 1123, RFC 1035)."""

from __future__ import annotations

import re

WORD = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def is_subdomain(text: str) -> bool:
    """Lower-case labels of letters, digits and hyphens, separated by dots; at most 253 characters."""
    return len(text) <= 253 and re.fullmatch(rf"{WORD}(\.{WORD})*", text) is not None


def is_dns1035(text: str) -> bool:
    """Lower-case letters, digits and hyphens, beginning with a letter; at most 63 characters."""
    return len(text) <= 63 and text[:1].isalpha() and re.fullmatch(WORD, text) is not None
