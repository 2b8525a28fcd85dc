# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.tests.unit.rehearsal.likeness import blocks, differences, same
from hypothesis import given
from hypothesis import strategies as st

OTHER = """\
--- Deploy: n1 n2
n1,n2: ok: Write the files
    ascend.inference.service_files
        name: "services"
        owner: "root"
        phase: "changing"
n1,n2: ok: Lock the deployment
n1: changed: Start the services
n1: changed: Start the services
n1: ok: Unlock the deployment
""".splitlines()


def changed(before, after):
    return [after if line == before else line for line in OTHER]


def test_what_is_the_same_is_one_line():
    assert differences(blocks(OTHER), blocks(OTHER)) == ["= to the end"]


@pytest.mark.parametrize(
    ("own", "lines"),
    [
        (
            changed('        owner: "root"', '        owner: "admin"'),
            [
                "= to --- Deploy: n1 n2",
                "- to n1,n2: ok: Write the files",
                "~ n1,n2: ok: Write the files",
                '        owner: "admin"',
                "= to the end",
            ],
        ),
        (
            changed("n1,n2: ok: Write the files", "n1: ok: Write the files"),  # on other hosts
            ["= to --- Deploy: n1 n2", "- to n1,n2: ok: Write the files", "~ n1: ok: Write the files", "= to the end"],
        ),
        (
            [*OTHER[:9], "n2: failed: Say why", OTHER[9]],  # between heads that are there twice
            ["=2 to n1: changed: Start the services", "n2: failed: Say why", "= to the end"],
        ),
        (OTHER[:-1], ["=2 to n1: changed: Start the services", "- to the end"]),
    ],
    ids=["an argument", "hosts", "one more", "one less"],
)
def test_only_what_differs_is_written(own, lines):
    assert differences(blocks(OTHER), blocks(own)) == lines
    assert [line for block in same(blocks(OTHER), lines) for line in block] == own


HEADS = st.sampled_from(["n1: ok: A", "n2: ok: A", "n1,n2: failed: A", "n1: ok: B", "--- P: n1", "ok: C"])
LINES = st.sampled_from(["    m.n.o", "        a: 1", "        a: 2", "        b: 1", "    f = 1", "    f = 2"])
TEXTS = st.lists(st.builds(lambda head, below: [head, *below], HEADS, st.lists(LINES, max_size=6)), max_size=9)


@given(TEXTS, TEXTS)
def test_a_text_comes_back_whatever_it_is_compared_with(other, own):
    assert same(other, differences(other, own)) == own


def test_what_the_other_case_lost_is_said():
    with pytest.raises(ValueError, match="has no 'n1: ok: Unlock the deployment' there"):
        same(blocks(OTHER[:-1]), ["= to n1: ok: Unlock the deployment"])
    with pytest.raises(ValueError, match="has no task for '~ n1: ok: Stop'"):
        same(blocks(OTHER), ["~ n1: ok: Stop"])
