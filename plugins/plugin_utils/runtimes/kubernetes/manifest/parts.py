# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Helper functions of the pod rules."""

from __future__ import annotations

import typing as t

from ....description.findings import Finding, nearest
from .walk import SILENT, violation


def listed(value: t.Any) -> list[t.Any]:
    """The value if it is a list, else an empty list (another rule reports the wrong type)."""
    return list(value) if isinstance(value, (list, tuple)) else []


def mapped(value: t.Any) -> list[t.Mapping[str, t.Any]]:
    """The mappings of a list; items of other types become empty mappings, so that indexes stay correct."""
    return [item if isinstance(item, t.Mapping) else {} for item in listed(value)]


def chosen(owner: t.Mapping[str, t.Any], key: str, known: t.Sequence[str], path: str) -> t.Iterator[Finding]:
    """``owner[key]``, if it is set, must be one of the known values."""
    word = owner.get(key)
    if isinstance(word, str) and word and word not in known:
        fix = f"{nearest(word, known)}Allowed: {', '.join(known)}."
        yield violation(f"{path}.{key}", "K8S-CHOICE", "this value is not supported", fix, word, SILENT)


def count(owner: t.Mapping[str, t.Any], key: str, least: int, path: str) -> t.Iterator[Finding]:
    """``owner[key]``, if it is set, must be a number of at least ``least``."""
    value = owner.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and value < least:
        yield violation(f"{path}.{key}", "K8S-RANGE", f"must be at least {least}", "", value, SILENT)


def port(owner: t.Mapping[str, t.Any], key: str, path: str, least: int = 1) -> t.Iterator[Finding]:
    """``owner[key]``, if it is a number, must be a TCP port."""
    value = owner.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and not least <= value <= 65535:
        message = f"a port must be a number from {least} to 65535"
        yield violation(f"{path}.{key}", "POD-PORT", message, "Choose a port in that range.", value, SILENT)
