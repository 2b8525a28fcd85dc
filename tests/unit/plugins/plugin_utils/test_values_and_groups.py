# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How texts are read as numbers, sizes and JSON, how names are sorted, and which names of groups are nearly alike."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.groups import extended, misspelt, similar
from ansible_collections.ascend.inference.plugins.plugin_utils.description.values import (
    listed,
    natural,
    number,
    read_json,
    size,
    whole,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0", 0),
        ("-1", -1),
        (" 7 ", 7),
        ("4k", 4000),
        ("4K", 4096),
        ("2m", 2 * 10**6),
        ("2M", 2 * 2**20),
        ("3g", 3 * 10**9),
        ("3G", 3 * 2**30),
        ("1.5k", 1500),
        ("25.6k", 25600),
        ("1.5", None),
        ("4t", None),
        ("k", None),
        ("", None),
        ("many", None),
        ("4kk", None),
        ("40 G", None),
    ],
)
def test_whole_numbers_as_vllm_reads_them(text, found):
    assert whole(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (1073741824, 2**30),
        ("30GB", 30 * 2**30),
        ("30 GiB", 30 * 2**30),
        ("512mb", 512 * 2**20),
        ("1k", 1024),
        ("2T", 2 * 2**40),
        ("1.5gb", 3 * 2**29),
        (" 8g ", 8 * 2**30),
        ("0", 0),
        ("7b", 7),
        ("-1GB", None),
        ("GB", None),
        ("1 P", None),
        ("1.GB", None),
        ("1GBs", None),
        ("", None),
        (None, None),
        (True, None),
    ],
)
def test_sizes_as_mooncake_reads_them(text, found):
    assert size(text) == found


@pytest.mark.parametrize(
    "raw, found",
    [
        ("CLOCK", ["CLOCK"]),
        ("CLOCK, CANN-VERSION,", ["CLOCK", "CANN-VERSION"]),
        (["CLOCK", 7], ["CLOCK", "7"]),
        (("CLOCK",), ["CLOCK"]),
        ("", []),
        (None, []),
        ([], []),
    ],
)
def test_names_as_a_list_or_with_commas(raw, found):
    assert listed(raw) == found


def test_numbers_and_json():
    assert [number(text) for text in ("1.5", "-2", "1e3", "x", "")] == [1.5, -2.0, 1000.0, None, None]
    assert [read_json(text) for text in ('{"a": 1}', "[1]", "null", "{", "", "{'a': 1}")] == [
        {"a": 1},
        [1],
        None,
        None,
        None,
        None,
    ]


def test_names_are_in_the_order_of_their_numbers():
    names = ["node10", "node2", "node", "a-2-b", "a-10", "10", "9", "b", "node2b", "node02"]
    assert sorted(names, key=natural) == [
        "9",
        "10",
        "a-2-b",
        "a-10",
        "b",
        "node",
        "node2",
        "node02",
        "node2b",
        "node10",
    ]


@pytest.mark.parametrize(
    ("group", "name", "near"),
    [
        ("prefil", "prefill", True),
        ("Decode", "decode", True),
        ("decoders", "decode", True),
        ("decodes", "decode", True),
        ("encode", "decode", False),  # the group of another pool
        ("ENCODE", "decode", False),
        ("deocde", "decode", True),
        ("prefill", "decode", False),
        ("routers", "router", True),
        ("web", "router", False),
        ("abcd", "abxy", False),  # half of the letters
        ("abcdefgh", "abcdefxy", False),  # three quarters
        ("abcdefgh", "abcdefgxy", True),
        ("abcde", "abcdx", True),  # four of five
        ("DECODES", "decode", True),
        ("decodes", "DECODE", True),
        ("decode", "DECODE", True),
    ],
)
def test_a_misspelt_group(group, name, near):
    assert misspelt(group, name) == near


@pytest.mark.parametrize(
    ("group", "name", "found"),
    [
        ("decode_hosts", "decode", True),
        ("all-decode", "decode", True),
        ("DECODE.a", "decode", True),
        ("my decode", "Decode", True),
        ("decode", "decode", False),
        ("decoders_a", "decode", False),
        ("a_decode_b", "prefill", False),
    ],
)
def test_a_group_with_a_word_more(group, name, found):
    assert extended(group, name) == found


def test_similar_groups_begin_with_misspelt_ones():
    groups = ["of_decode_hosts", "decode", "decodes", "deocde", "prefill", "all_decode_hosts"]
    assert similar("decode", groups) == ["decodes", "deocde", "all_decode_hosts", "of_decode_hosts"]
    assert similar("decode", ["prefill", "decode"]) == []
