# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Agreement of two computations of one prompt, token by token with log-probabilities.

Engines that sum in another order (other batch, other tensor parallelism) may decide a near tie differently. Where the
reference itself gives both tokens almost the same probability, another token is no difference; what follows it is not
comparable. Other weights differ also where nothing is tied, and in the probability of equal tokens.
"""

from __future__ import annotations

from typing import Iterable, NamedTuple

from .answers import Token, excerpt


class Agreement(NamedTuple):
    """Compared tokens: equal ones, near ties, different ones, and the mean difference of the equal ones' log-probabilities (nats).

    example: the first difference as text.
    """

    equal: int = 0
    ties: int = 0
    different: int = 0
    difference: float = 0.0
    example: str = ""

    @property
    def percent(self) -> float:
        """Equal tokens of those that are not near ties; 100 if there are none."""
        decided = self.equal + self.different
        return 100.0 * self.equal / decided if decided else 100.0


def agreement(reference: tuple[Token, ...], other: tuple[Token, ...], near_tie: float) -> Agreement:
    """Compare tokens up to the first difference or near tie. near_tie: in nats."""
    gaps = []
    for wanted, found in zip(reference, other):
        if wanted.text == found.text:
            gaps.append(abs(wanted.logprob - found.logprob))
            continue
        mean = _mean(gaps)
        if _gap(wanted, found.text) <= near_tie:
            return Agreement(len(gaps), 1, 0, mean)
        example = f"token {len(gaps) + 1} is {excerpt(found.text, 20)!r} and not {excerpt(wanted.text, 20)!r}"
        return Agreement(len(gaps), 0, 1, mean, example)
    return Agreement(len(gaps), 0, 0, _mean(gaps))


def together(parts: Iterable[Agreement]) -> Agreement:
    """The agreement over several prompts."""
    parts = list(parts)
    equal = sum(part.equal for part in parts)
    difference = sum(part.difference * part.equal for part in parts) / equal if equal else 0.0
    example = next((part.example for part in parts if part.example), "")
    return Agreement(
        equal, sum(part.ties for part in parts), sum(part.different for part in parts), difference, example
    )


def tied(reference: tuple[Token, ...], text: str, near_tie: float) -> bool:
    """Whether a text, of which only characters are known, leaves the reference at a near tie."""
    for token in reference:
        if text.startswith(token.text):
            text = text[len(token.text) :]
            continue
        others = [name for name in token.top if name and name != token.text and text.startswith(name)]
        return any(_gap(token, name) <= near_tie for name in others)
    return False


def _gap(token: Token, other: str) -> float:
    """By how much the reference prefers its token to another one (nats); infinite if it does not list that one."""
    return token.logprob - token.top[other] if other in token.top else float("inf")


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
