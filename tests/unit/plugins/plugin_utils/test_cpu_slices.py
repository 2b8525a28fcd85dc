# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Slices of CPUs for the NPUs' interrupts: no CPU twice, on the NPU's NUMA node, enough of them, or a problem."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host.cpu_list import parse_cpus, spell_cpus
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.cpu_slices import LEAST, housekeeping, slices

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given  # (after importorskip)
from hypothesis import strategies as st


def machine(nodes, cores):
    """``nodes`` NUMA nodes of ``cores`` CPUs each, numbered one node after the other."""
    return {node: tuple(range(node * cores, (node + 1) * cores)) for node in range(nodes)}


def all_of(nodes):
    return [cpu for cpus in nodes.values() for cpu in cpus]


def near(nodes, npus):
    """Each NPU is on a node: the first ones on node 0, and so on."""
    share = max(1, len(npus) // len(nodes))
    return {npu: min(index // share, len(nodes) - 1) for index, npu in enumerate(npus)}


@st.composite
def hosts(draw):
    nodes = machine(draw(st.integers(1, 8)), draw(st.integers(1, 96)))
    npus = sorted(draw(st.sets(st.integers(0, 31), min_size=1, max_size=16)))
    kept = draw(st.integers(0, 4))
    allowed = sorted(set(all_of(nodes)) - set(housekeeping(nodes, kept)))
    return nodes, npus, allowed


@given(host=hosts(), generation=st.sampled_from(["a2", "a3", "310p"]), known=st.booleans())
def test_no_cpu_is_given_twice_and_each_npu_has_enough_or_a_problem(host, generation, known):
    nodes, npus, allowed = host
    place = near(nodes, npus)
    affinity = {npu: nodes[place[npu]] for npu in npus} if known else {}
    found = slices(generation, allowed, nodes, npus, affinity, place)
    given_cpus = [cpu for cpus in found.cpus.values() for cpu in cpus]
    assert len(given_cpus) == len(set(given_cpus)) and set(given_cpus) <= set(allowed)
    assert all(len(cpus) >= LEAST and list(cpus) == sorted(cpus) for cpus in found.cpus.values())
    assert set(npus) == set(found.cpus) | set(found.problems)


@given(host=hosts(), generation=st.sampled_from(["a2", "a3", "310p"]), known=st.booleans())
def test_interrupts_are_on_the_npus_node_or_there_is_a_problem(host, generation, known):
    nodes, npus, allowed = host
    place = near(nodes, npus)
    affinity = {npu: nodes[place[npu]] for npu in npus} if known else {}
    found = slices(generation, allowed, nodes, npus, affinity, place)
    owner = {cpu: node for node, cpus in nodes.items() for cpu in cpus}
    for npu, pair in found.interrupts().items():
        assert {owner[cpu] for cpu in pair} == {place[npu]} or npu in found.problems
        assert known is False or generation == "a3" or npu not in found.problems


@given(host=hosts())
def test_a_known_affinity_is_never_left(host):
    nodes, npus, allowed = host
    place = near(nodes, npus)
    found = slices("a2", allowed, nodes, npus, {npu: nodes[place[npu]] for npu in npus}, place)
    assert all(set(cpus) <= set(nodes[place[npu]]) for npu, cpus in found.cpus.items())


@given(st.lists(st.sets(st.integers(0, 40), max_size=30), min_size=1, max_size=6))
def test_affinities_that_overlap_give_no_cpu_twice(near_cpus):
    affinity = dict(enumerate(near_cpus))
    found = slices("a2", range(41), machine(1, 41), affinity, affinity)
    given_cpus = [cpu for cpus in found.cpus.values() for cpu in cpus]
    assert len(given_cpus) == len(set(given_cpus))
    assert not any(near_cpus) or all(set(cpus) <= affinity[npu] for npu, cpus in found.cpus.items())


def test_a_host_with_640_cpus_and_16_npus_has_40_for_each():
    nodes = machine(4, 160)
    found = slices("a3", range(640), nodes, range(16), {}, near(nodes, range(16)))
    assert found.cpus[0] == tuple(range(40)) and found.cpus[15] == tuple(range(600, 640)) and not found.problems
    assert found.interrupts()[1] == (40, 41)


def test_the_remainder_goes_to_the_first_npus_as_in_vllm_ascend():
    found = slices("a3", range(83), machine(1, 83), range(16), {})
    assert [len(found.cpus[npu]) for npu in range(16)] == [6, 6, 6] + [5] * 13


def test_npus_of_one_node_share_its_cpus():
    nodes = machine(4, 48)
    found = slices("a2", range(192), nodes, range(8), {npu: nodes[npu // 2] for npu in range(8)})
    assert found.cpus[0] == tuple(range(24)) and found.cpus[1] == tuple(range(24, 48))
    assert found.cpus[7] == tuple(range(168, 192))


@pytest.mark.parametrize(("generation", "divided"), [("a2", False), ("310p", False), ("a3", True)])
def test_a_known_affinity_counts_but_on_a3(generation, divided):
    """As vLLM-Ascend does: another division would put an interrupt on the CPU of another engine."""
    nodes, npus = machine(2, 20), [0, 1]
    affinity = {0: nodes[1], 1: nodes[0]}
    found = slices(generation, all_of(nodes)[::-1], nodes, npus, affinity).cpus
    assert found == ({0: nodes[0], 1: nodes[1]} if divided else affinity)


def test_housekeeping_takes_the_lowest_cpus_in_whatever_order_they_are_listed():
    assert housekeeping({1: (9, 7, 8), 0: (3, 1)}, 2) == (1, 3, 7, 8)


def test_too_few_cpus_are_a_problem_of_each_npu():
    found = slices("a3", range(79), machine(1, 79), range(16), {})
    assert found.problems == {15: "4 CPUs are left for it, and it needs 5"} and 15 not in found.cpus


def test_a_slice_on_another_node_is_a_problem():
    found = slices("a3", range(20), machine(2, 10), range(2), {}, {0: 1, 1: 1})
    assert found.problems == {0: "its CPUs are on NUMA node 0, and the NPU is on node 1"}
    found = slices("a3", range(1, 20), {0: range(0, 2), 1: range(2, 20)}, range(2), {}, {0: 0})
    assert found.problems == {0: "its CPUs 1 and 2 are on the NUMA nodes 0 and 1"}


def test_a_950_has_no_such_interrupts():
    assert slices("950", range(64), machine(1, 64), range(8), {}).cpus == {}


def test_housekeeping_takes_the_first_cpus_of_each_node():
    nodes = machine(4, 80)
    kept = housekeeping(nodes, 4)
    assert spell_cpus(kept) == "0-3,80-83,160-163,240-243"
    found = slices("a3", set(range(320)) - set(kept), nodes, range(16), {}, near(nodes, range(16)))
    assert {len(cpus) for cpus in found.cpus.values()} == {19} and not found.problems


@given(st.sets(st.integers(0, 1023), max_size=60))
def test_a_list_of_cpus_is_spelt_as_it_is_read(cpus):
    assert set(parse_cpus(spell_cpus(cpus))) == cpus


@pytest.mark.parametrize("text", ["0-", "a", "3-1", "1,,2", "0 1", "99999999"])
def test_other_texts_are_no_lists_of_cpus(text):
    with pytest.raises(ValueError):
        parse_cpus(text)
