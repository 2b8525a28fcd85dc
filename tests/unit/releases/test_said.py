# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each claim about vLLM-Ascend is still made where it was, and sources that contradict it, or that are not there, are no success."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.ascend.inference.tests.releases.said import CLAIMS, differences

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.words)
def test_the_words_are_there(claim):
    assert claim.words in " ".join((ROOT / claim.file).read_text(encoding="utf-8").split())


def test_sources_decide(tmp_path):
    about = [claim for claim in CLAIMS if claim.since <= (0, 11, 0) < claim.until]
    assert len(list(differences("0.11.0", tmp_path))) == len(about)
    for folder in ("examples/p", "vllm_ascend"):
        (tmp_path / folder).mkdir(parents=True)
    texts = {
        "Dockerfile": "FROM a",
        "examples/p/load_balance_proxy.py": "",
        "vllm_ascend/platform.py": "does not support V0 engine",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert list(differences("0.11.0", tmp_path)) == []
    (tmp_path / "Dockerfile").write_text("RUN apt-get install -y HAPROXY")
    (tmp_path / "vllm_ascend/platform.py").write_text("")
    assert [line.partition(":")[0].rpartition("/")[2] for line in differences("0.11.0", tmp_path)] == [
        "router.py",
        "balancer.py",
        "environment.py",
        "colocated_pool.yml",
    ]
