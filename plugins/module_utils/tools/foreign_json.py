# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON that a service, a router or a model's author wrote. Its only error is ValueError."""

from __future__ import annotations

import json
import math

from . import foreign_file

MOST = 64 * 2**20  # bytes of a file; the longest real one, an index of weights, has some 10 MiB
DIGITS = 4300  # of a whole number: the limit of Python 3.7.14, 3.8.14, 3.9.14, 3.10.7 and later; earlier ones read 8 MiB of digits for minutes
LARGEST = 1e15  # of a number; a larger one is none that a service counts, and may be more than a float can hold


def _whole(digits):
    if len(digits) > DIGITS:
        raise ValueError(f"a number of more than {DIGITS} digits")
    return int(digits)


_DECODER = json.JSONDecoder(parse_int=_whole)


def loads(text):
    """The value of a text; ValueError also for values that are nested deeper, or numbers that are longer than Python can read."""
    try:
        return _DECODER.decode(text) if isinstance(text, str) else json.loads(text, parse_int=_whole)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def load(path):
    """The value in a file of a model, or of what a link in its place names; OSError also if that is no regular file."""
    return loads(text_of(path))


def text_of(path):
    """The text of such a file. A sparse one may have a size that no memory holds."""
    with foreign_file.opened(path, follow=True) as stream:
        content = stream.read(MOST + 1)
    if len(content) > MOST:
        raise ValueError(f"more than {MOST} bytes")
    return content.decode("utf-8")


def number(value):
    """The value, if it is a number that can be calculated with and printed; else None."""
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if usable and abs(value) <= LARGEST and math.isfinite(value) else None
