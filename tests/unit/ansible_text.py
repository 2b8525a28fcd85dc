# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts as ansible-core before 2.19 gives them to filters: of a type of their own, which libraries that ask for exactly str refuse."""

from __future__ import annotations

import typing as t


def itself(text: str) -> str:
    """The text, still of its own type."""
    return text


class AnsibleText(str):
    """A text of a lookup or of a host's answer."""

    __slots__ = ()
    __str__ = itself


def as_ansible(value: t.Any) -> t.Any:
    """A copy of a value with such texts, keys included."""
    if isinstance(value, dict):
        return {as_ansible(key): as_ansible(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_ansible(item) for item in value]
    return AnsibleText(value) if isinstance(value, str) else value
