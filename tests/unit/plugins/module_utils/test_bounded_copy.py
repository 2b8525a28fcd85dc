# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies end: at a size, and when bytes come too slowly to be waited for."""

from __future__ import annotations

import io
import itertools

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.bounded_copy import (
    LEAST,
    WINDOW,
    Endless,
    bounded_copy,
)


class Dripping:
    """Gives ``size`` bytes at a time, without an end; a read of a whole chunk would never return."""

    def __init__(self, size):
        self.size = size

    def read1(self, most):
        return b"x" * min(self.size, most)

    def read(self, most):
        raise AssertionError("waits for ever")


@pytest.mark.parametrize("content", [b"", b"12345"])
def test_what_is_not_too_much_is_copied(content):
    target = io.BytesIO()
    assert bounded_copy(io.BytesIO(content), target, 5) == len(content) and target.getvalue() == content


def test_no_byte_more_than_allowed_is_written():
    target = io.BytesIO()
    with pytest.raises(Endless, match="more than the expected 10 bytes"):
        bounded_copy(Dripping(4), target, 10)
    assert len(target.getvalue()) <= 10


def test_a_source_of_one_byte_a_minute_is_given_up():
    seconds = itertools.count(0, 60)
    with pytest.raises(Endless, match=f"only 10 bytes were sent within {WINDOW} s"):
        bounded_copy(Dripping(1), io.BytesIO(), 2**40, clock=lambda: next(seconds))


def test_a_slow_source_that_goes_on_is_waited_for():
    seconds, source = itertools.count(0, WINDOW), io.BytesIO(b"x" * 5 * LEAST)
    assert bounded_copy(source, io.BytesIO(), 5 * LEAST, clock=lambda: next(seconds)) == 5 * LEAST
