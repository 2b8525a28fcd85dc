# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the instances of a pool lie on the hosts of its group: hosts of an instance, of a rank, and unequal shares."""

from __future__ import annotations

import types

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan import placement


def pool(ranks=1, size=1, instances=1, hosts=None):
    return types.SimpleNamespace(
        data_parallel_size=ranks,
        rank_devices=size,
        devices_per_instance=ranks * size,
        instances=instances,
        hosts_per_instance=hosts,
        devices=None,
        device_offset=1,
    )


def shape(wanted, *capacities, monkeypatch, engine="vllm-ascend"):
    monkeypatch.setattr(placement, "engine", lambda name: types.SimpleNamespace(npus=name != "vllm-cpu"))
    members = [
        types.SimpleNamespace(name=f"n{number}", devices=tuple(range(count + 1)))
        for number, count in enumerate(capacities)
    ]
    return placement.shape_of(types.SimpleNamespace(engine=engine), wanted, members)


@pytest.mark.parametrize(
    ("wanted", "capacities", "expected"),
    [
        (pool(1, 8), [8, 8], (1, 1, 2)),
        (pool(1, 16), [8, 8, 8], (2, 2, 1)),
        (pool(1, 16), [8], (2, 2, 0)),
        (pool(1, 17), [8, 8, 8], (0, 0, 0)),  # cannot be divided equally
        (pool(2, 16), [8, 8, 8, 8], (0, 0, 0)),  # only one rank may span hosts
        (pool(4, 4), [8, 8, 8], (2, 1, 1)),
        (pool(4, 4), [16, 16], (1, 1, 2)),
        (pool(4, 4), [8, 16], (2, 1, 1)),  # the smallest host counts
        (pool(2, 8), [8, 8], (2, 1, 1)),
        (pool(6, 4), [8, 8, 8], (3, 1, 1)),
        (pool(3, 4), [8, 8, 8], (3, 1, 1)),  # two ranks fit, but three hosts share equally
        (pool(4, 4, hosts=4), [8, 8, 8, 8], (4, 1, 1)),
        (pool(1, 16, hosts=4), [8, 8, 8, 8], (4, 4, 1)),
        (pool(1, 16, hosts=3), [8, 8, 8], (0, 0, 0)),
        (pool(3, 2, hosts=2), [8, 8], (0, 0, 0)),
        (pool(1, 8), [], (0, 0, 0)),
    ],
)
def test_hosts_of_an_instance_and_of_a_rank(wanted, capacities, expected, monkeypatch):
    found = shape(wanted, *capacities, monkeypatch=monkeypatch)
    assert (found.span, found.nodes, found.rows) == expected and found.ranks == ()
    span = expected[0]
    assert found.row_of == ({f"n{index}": index // span for index in range(len(capacities))} if span else {})
    assert not span or {found.share(wanted, host) for host in found.members} == {wanted.devices_per_instance // span}
    assert len(found.members) == len(capacities) and found.broken is (expected[2] == 0)


@pytest.mark.parametrize(
    ("wanted", "capacities", "ranks"),
    [
        (pool(5, 2), [4, 6], (2, 3)),
        (pool(5, 2), [6, 4, 8], (3, 2)),
        (pool(7, 2), [4, 6, 9], (2, 3, 2)),
        (pool(7, 2), [4, 6], ()),
        (pool(5, 2, instances=2), [4, 6], ()),
        (pool(5, 2), [4, 6, 1], ()),
        (pool(5, 2), [4, 4], ()),
        (pool(5, 2), [6, 6], (3, 2)),  # equal hosts, and no number of ranks that they share equally
        (pool(31), [16, 16], (16, 15)),
        (pool(31), [16, 16, 16], (16, 15)),
        (pool(5, 2), [6], ()),
        (pool(5, 2, hosts=2), [4, 6], ()),
    ],
)
def test_hosts_share_a_single_instance_unequally(wanted, capacities, ranks, monkeypatch):
    found = shape(wanted, *capacities, monkeypatch=monkeypatch)
    assert found.ranks == ranks and found.broken is (not ranks)
    if ranks:
        assert (found.span, found.nodes, found.rows) == (len(ranks), 1, 1)
        assert found.row_of == {f"n{index}": 0 for index in range(len(ranks))} and len(found.members) == len(ranks)
        assert [found.share(wanted, host) for host in found.members] == [wanted.rank_devices * rank for rank in ranks]


def test_engines_on_cpus_take_one_host_unless_told_otherwise(monkeypatch):
    for hosts, expected in ((None, (1, 1, 3)), (2, (2, 1, 1)), (4, (4, 1, 0))):
        found = shape(pool(5, 2, hosts=hosts), 4, 6, 0, monkeypatch=monkeypatch, engine="vllm-cpu")
        assert (found.span, found.nodes, found.rows, found.ranks) == (*expected, ())
