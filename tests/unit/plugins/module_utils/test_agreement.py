# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens of two engines: equal up to the first other one, which is a near tie or a difference, and never both."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.agreement import (
    Agreement,
    agreement,
    tied,
    together,
)
from ansible_collections.ascend.inference.plugins.module_utils.verify.answers import Token

NEAR = 0.5  # nats


def tokens(text, gap=0.0):
    """One token for each character; the reference gives "x" a log-probability that is lower by ``gap``."""
    return tuple(Token(each, -1.0, {each: -1.0, "x": -1.0 - gap}) for each in text)


@pytest.mark.parametrize(
    ("text", "gap", "counts", "percent"),
    [
        ("abc", 0.0, (3, 0, 0), 100.0),
        ("abx", NEAR, (2, 1, 0), 100.0),
        ("abx", NEAR + 0.25, (2, 0, 1), 200 / 3),
        ("xbc", NEAR, (0, 1, 0), 100.0),
        ("xbc", NEAR + 0.25, (0, 0, 1), 0.0),
        ("axx", NEAR + 0.25, (1, 0, 1), 50.0),  # what follows a difference is not comparable
    ],
)
def test_a_token_is_equal_tied_or_different(text, gap, counts, percent):
    found = agreement(tokens("abc", gap), tokens(text), NEAR)
    assert (found.equal, found.ties, found.different) == counts
    assert found.percent == pytest.approx(percent)
    assert bool(found.example) is bool(found.different)


def test_the_difference_is_that_of_equal_tokens():
    reference = (Token("a", -1.0, {}), Token("b", -2.0, {}), Token("c", -1.0, {}))
    other = (Token("a", -1.5, {}), Token("b", -1.0, {}), Token("d", -9.0, {}))
    found = agreement(reference, other, NEAR)
    assert found == Agreement(2, 0, 1, 0.75, "token 3 is 'd' and not 'c'")
    assert agreement(reference, other[:1], NEAR) == Agreement(1, 0, 0, 0.5)
    assert agreement((), other, NEAR) == Agreement()


def test_prompts_count_by_their_tokens():
    parts = [Agreement(1, 1, 0, 0.4), Agreement(3, 0, 1, 0.8, "first"), Agreement(0, 2, 1, 9.0, "second")]
    found = together(iter(parts))
    assert (found.equal, found.ties, found.different, found.example) == (4, 3, 2, "first")
    assert found.difference == pytest.approx(0.7) and found.percent == pytest.approx(200 / 3)
    assert together([]) == Agreement()
    assert together(parts[2:]).difference == 0.0


@pytest.mark.parametrize(
    ("text", "gap", "near"),
    [
        ("abx", NEAR, True),
        ("abxyz", NEAR, True),
        ("abx", NEAR + 0.25, False),
        ("abc", NEAR, False),
        ("abz", 0.0, False),
        ("xbc", NEAR, True),
        ("abcx", NEAR, False),  # the reference says nothing about what follows it
    ],
)
def test_a_text_leaves_the_reference_at_a_near_tie(text, gap, near):
    assert tied(tokens("abc", gap), text, NEAR) is near


def test_an_empty_token_is_no_other_way():
    assert not tied((Token("a", -1.0, {"": -1.0, "a": -1.0}),), "b", NEAR)
