# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sizes that balance two pools: what holds for all loads and sizes."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.sizes import (
    LEAST_GAIN,
    Loads,
    Sizes,
    better_sizes,
    carried,
)
from hypothesis import given
from hypothesis import strategies as st

LOAD = st.floats(0.01, 64, allow_nan=False)
DEVICES = st.sampled_from([1, 2, 4, 8, 16, 32])


def fitting(devices, prefill, decode):
    """All sizes of instances with so many devices each."""
    pairs = ((number, (devices - number * prefill) // decode) for number in range(1, devices // prefill + 1))
    return [Sizes(*pair) for pair in pairs if pair[1] > 0]


@st.composite
def cases(draw):
    """(sizes now, all possible ones with as many devices, devices of an instance of each)."""
    each = Sizes(draw(DEVICES), draw(DEVICES))
    now = Sizes(draw(st.integers(1, 8)), draw(st.integers(1, 8)))
    devices = now.prefill * each.prefill + now.decode * each.decode
    return now, fitting(devices, *each), devices, each


def advised(now, loads, possible):
    return next(iter(better_sizes(now, loads, possible)), now)


@given(cases(), LOAD, LOAD, LOAD)
def test_slower_prefill_never_gets_fewer_instances(case, prefill, more, decode):
    now, possible, _devices, _each = case
    first = advised(now, Loads(prefill, decode), possible)
    slower = advised(now, Loads(prefill + more, decode), possible)
    assert slower.prefill >= first.prefill


@given(cases(), LOAD, LOAD, LOAD)
def test_slower_decode_never_gets_fewer_instances(case, prefill, decode, more):
    now, possible, _devices, _each = case
    first = advised(now, Loads(prefill, decode), possible)
    slower = advised(now, Loads(prefill, decode + more), possible)
    assert slower.decode >= first.decode


@given(cases(), LOAD, LOAD)
def test_no_pool_is_emptied_and_no_device_is_added(case, prefill, decode):
    now, possible, devices, each = case
    found = advised(now, Loads(prefill, decode), possible)
    assert min(found) >= 1
    assert found.prefill * each.prefill + found.decode * each.decode <= devices


@given(cases(), LOAD, LOAD)
def test_what_is_advised_carries_more_than_the_spread_and_most_of_all(case, prefill, decode):
    now, possible, _devices, _each = case
    loads = Loads(prefill, decode)
    found = advised(now, loads, possible)
    best = max(carried(sizes, loads) for sizes in possible)
    assert (carried(found, loads) == best) if found != now else (best <= carried(now, loads) * (1 + LEAST_GAIN))


@given(cases(), st.floats(0.05, 1.5))
def test_balanced_pools_stay_as_they_are(case, share):
    now, possible, _devices, _each = case
    assert better_sizes(now, Loads(now.prefill * share, now.decode * share), possible) == []


@pytest.mark.parametrize(
    ("now", "loads", "wanted"),
    [
        (Sizes(1, 3), Loads(1.0, 0.6), Sizes(2, 2)),  # prefill always computes, decode is a fifth full
        (Sizes(3, 1), Loads(0.6, 1.0), Sizes(2, 2)),
        (Sizes(2, 2), Loads(2.0, 1.9), Sizes(2, 2)),
        (Sizes(2, 2), Loads(1.0, 2.6), Sizes(1, 3)),  # decode exceeds the accepted time per token by 30 %
    ],
)
def test_sizes_of_four_equal_instances(now, loads, wanted):
    assert advised(now, loads, fitting(4, 1, 1)) == wanted


def test_of_equal_sizes_the_smaller_change_is_advised():
    assert advised(Sizes(1, 3), Loads(1, 0.1), [Sizes(4, 1), Sizes(4, 3)]) == Sizes(4, 3)


def test_nothing_follows_from_no_load():
    with pytest.raises(ValueError, match="no loads"):
        better_sizes(Sizes(1, 1), Loads(0.0, 1.0), [Sizes(1, 1)])
