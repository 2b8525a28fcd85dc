# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings and errors in the words of the release that is played: messages.json has those of the sources of vLLM-Ascend."""

from __future__ import annotations

import json
import pathlib

from .release import key

MESSAGES = pathlib.Path(__file__).with_name("messages.json")


def said(release, begins, *values):
    """The text of a release that begins so (the first of ``begins`` that it has), with these values in order, the last one also for further places.

    Of a release that was not read, that of the nearest older one that was.
    """
    rows = json.loads(MESSAGES.read_text(encoding="utf-8"))["texts"]
    known = sorted({name for row in rows for name in row["releases"]}, key=key)
    own = [name for name in known if key(name) <= key(release)] or known[:1]
    for begin in begins:
        for row in rows:
            if row["text"].startswith(begin) and own[-1] in row["releases"]:
                return filled(row["text"], values)
    raise KeyError(f"{own[-1]} has no message that begins with one of {begins}")


def filled(text, values):
    """The text with the values instead of {}."""
    parts = text.split("{}")
    words = [str(values[min(number, len(values) - 1)]) for number in range(len(parts) - 1)]
    return "".join(part + word for part, word in zip(parts, [*words, ""]))
