# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Passwords in URLs, such as that of a package index which asks for one."""

from __future__ import annotations

import re
from urllib.parse import unquote

IN_URL = re.compile(r"https?://([^/@:\s]*):?([^/@\s]*)@")


def passwords(value):
    """The passwords in all URLs of a text, list or dict; a user without password is a token.

    >>> sorted(passwords(["https://me:s3cret@mirror.example/simple", "https://t0ken@mirror.example/simple"]))
    ['s3cret', 't0ken']
    """
    if isinstance(value, dict):
        return {found for item in value.values() for found in passwords(item)}
    if isinstance(value, (list, tuple)):
        return {found for item in value for found in passwords(item)}
    if not isinstance(value, str):
        return set()
    found = {password or user for user, password in IN_URL.findall(value)} - {""}
    return found | {unquote(text) for text in found}


def hide_passwords(module):
    """Let Ansible replace the passwords in the module's options wherever they occur in its result."""
    module.no_log_values.update(passwords(module.params))
