# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each claim about Kthena's versions is still made where it was, and a comparison without sources or with others is no success."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.ascend.inference.tests.releases.kthena_sources import CLAIMS, problems

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.version} {claim.words}")
def test_the_words_are_there(claim):
    assert claim.words in " ".join((ROOT / claim.file).read_text(encoding="utf-8").split())


def test_sources_decide():
    assert len(problems(lambda version, path: "")) == len(CLAIMS)
    everything = "".join(claim.text for claim in CLAIMS)
    assert len(problems(lambda version, path: everything)) == sum(not claim.there for claim in CLAIMS)
    right = {(claim.version, claim.path): "" for claim in CLAIMS}
    for claim in CLAIMS:
        right[(claim.version, claim.path)] += f"x{claim.text if claim.there else ''}"
    assert problems(lambda version, path: right[(version, path)]) == []
