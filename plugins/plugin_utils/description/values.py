# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that users, files and engines write as text: whole numbers, numbers, sizes, JSON (None where the text is none of them); names."""

from __future__ import annotations

import functools
import json
import re
import typing as t

SHORT = {"k": 1000, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?")


def whole(text: str) -> int | None:
    """A whole number, also in vLLM's short forms 32k (1000) and 32K (1024)."""
    digits, factor = str(text), 1
    if digits[-1:] in SHORT:
        digits, factor = digits[:-1], SHORT[digits[-1]]
        if digits != digits.strip():
            return None  # "40 G", which vLLM refuses
    try:
        return int(float(digits) * factor) if factor > 1 else int(digits)
    except ValueError:
        return None


def number(text: str) -> float | None:
    """A number as Python's float reads it."""
    try:
        return float(text)
    except ValueError:
        return None


def listed(raw: t.Any) -> list[str]:
    """Names that a run variable lists: a list, or a text such as one of ``-e name=A,B``."""
    each = raw.split(",") if isinstance(raw, str) else raw or []
    return [name for name in (str(item).strip() for item in each) if name]


def size(raw: t.Any) -> int | None:
    """A size in bytes, as Mooncake reads it: 1073741824, '30GB', '512mb'."""
    found = SIZE.fullmatch(str(raw).strip().lower())
    if not found:
        return None
    return int(float(found.group(1)) * 2 ** {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[found.group(2)])


def natural(name: str) -> tuple[t.Any, ...]:
    """Sort key that puts node2 before node10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name))


def canonical(key: str) -> str:
    """The canonical name of an option: ``--max_num_seqs``, ``max_num_seqs`` and ``max-num-seqs`` are ``max-num-seqs``.

    The part after a dot is a key inside a configuration, whose spelling vLLM's parser does not change, so
    ``attention_config.indexer_kv_dtype`` is ``attention-config.indexer_kv_dtype``.
    """
    head, dot, tail = str(key).lstrip("-").partition(".")
    return head.replace("_", "-") + dot + tail


def merged(base: t.Mapping[str, t.Any], over: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """``over`` on top of ``base``: mappings merge, a null removes a key, everything else is replaced."""
    result = dict(base)
    for key, value in over.items():
        if isinstance(value, t.Mapping) and isinstance(result.get(key), t.Mapping):
            result[key] = merged(result[key], value)
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


@functools.lru_cache(maxsize=4096)
def read_json(text: str) -> t.Any:
    """The value of a JSON text."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def built_in(value: t.Any) -> t.Any:
    """The value in Python's own types, for what writes no other ones, such as yaml.dump.

    Texts of ansible-core before 2.19 are of a type of their own, also behind str().
    """
    return json.loads(json.dumps(value))
