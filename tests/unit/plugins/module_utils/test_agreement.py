# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens of two engines: equal up to the first other one, which is a near tie or a difference, and never both."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.agreement import agreement
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
