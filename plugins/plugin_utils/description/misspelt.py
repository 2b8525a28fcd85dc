# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables whose prefix is misspelt or missing. Without it a variable is nobody's business, so it would silently have no effect.

An inventory has variables of others, and a false alarm is worse than silence: only what can hardly be anything else is named.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from .findings import Finding
from .meaning import close
from .variables import HOST_VARIABLES, PREFIX, RUN_VARIABLES, Description

WORD = PREFIX.rstrip("_")
KNOWN = frozenset([*(field.name for field in dataclasses.fields(Description)), *HOST_VARIABLES, *RUN_VARIABLES])
# Names that no other software is likely to have. A plain word such as model, or args, can be anybody's.
OURS_ALONE = frozenset(
    ["allow_pause", "encoder_cache", "keep_placement", "kv_hold_timeout", "kv_transfer", "rules_ignore"]
)
WHY = "The collection reads only variables that begin with inference_, so this one would silently have no effect."
SPLIT = re.compile(r"([^\W_]+)[_-](\w[\w-]*)")


def misspelt(names: t.Iterable[str]) -> list[Finding]:
    """A finding for each name that differs from a known one by one letter of the prefix, or by a dash."""
    found = []
    for name in sorted(names):
        meant = "" if name.startswith(PREFIX) else _meant(name)
        if meant:
            fix = f"Did you mean {PREFIX}{meant}? Correct the name or remove it."
            found.append(Finding(name, "VARIABLE-UNKNOWN", "unknown variable", fix, why=WHY))
    return found


def without_prefix(names: t.Collection[str]) -> list[str]:
    """A warning for each name that is an option without its prefix. Where the option is set too, the name may be a value of it."""
    bare = sorted(name for name in names if name in OURS_ALONE and PREFIX + name not in names)
    return [f"The variable {name} has no effect. Did you mean {PREFIX}{name}?" for name in bare]


def _meant(name: str) -> str:
    """The known name without its prefix that a variable stands for; empty if it may be another's."""
    parts = SPLIT.fullmatch(name)
    if not parts or name.isupper():  # as variables of an environment are
        return ""
    head, tail = parts[1].lower(), parts[2].replace("-", "_")
    if not _one_letter_off(head) or head.startswith(WORD) and head != WORD:  # inferences
        return ""
    return tail if tail in KNOWN else "".join(close(tail, KNOWN, cutoff=0.8))


def _one_letter_off(word: str) -> bool:
    """Whether at most one letter of the prefix is another, missing, too many, or swapped with the next."""
    same = [own == known for own, known in zip(word, WORD, strict=False)]
    at = [*same, False].index(False)
    own, known = word[at:], WORD[at:]
    swapped = own[:2] == known[:2][::-1] and own[2:] == known[2:]
    return own[1:] == known[1:] and len(own) == len(known) or own == known[1:] or own[1:] == known or swapped
