# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where instances lie on hosts of many shapes, at first and beside those that run: a digest for each layout, in test_layouts.txt.

Layouts count through numbers of hosts, devices, sizes and connectors, so that odd and unequal ones are among them. ``plans`` counts the plans of a
layout; ``kept`` are those beside its own deployment, with an instance more, an instance less, and a host less.
"""

from __future__ import annotations

import copy

import pytest
from ansible_collections.ascend.inference.tests.unit.digests import expect
from ansible_collections.ascend.inference.tests.unit.inventories.sections import outcome

TRANSFERS = ("mooncake", "mooncake+store", "mooncake", "mooncake_layerwise")
PLACES = ("services", "hosts", "placement")


def of(numbers, index, factor):
    return numbers[index * factor // 7 % len(numbers)]


def layout(index):
    """Words and an inventory by number."""
    devices = [of((8, 16, 9), index, 7), of((8, 16, 10), index, 11), of((16, 8, 2), index, 13)]
    count = 2 + index % 4
    shared = index % 3 == 0
    inventory = {
        f"n{number}": {
            "groups": ["prefill", "decode"] if shared else ["prefill" if number <= (count + 1) // 2 else "decode"],
            "variables": {
                "ansible_host": f"10.2.0.{number}",
                "inference_devices": devices[number % 3],
                "inference_interface": "e0",
            },
        }
        for number in range(1, count + 1)
    }
    pools = {
        kind: {
            "instances": of((1, 2, 1, 3), index + shift, 9),
            "data_parallel_size": of((1, 2, 4, 2, 3, 6), index + shift, 17),
            "tensor_parallel_size": of((1, 2, 2), index, 19),
            "load_balancing": of(("internal", "external", "internal"), index + shift, 23),
        }
        for kind, shift in (("prefill", 0), ("decode", 3))
    }
    if index % 8 == 1:
        pools["decode"]["instances_per_host"] = 1
    if index % 17 == 2:
        pools["prefill"]["hosts_per_instance"] = 2
    if index % 6 == 4:
        pools["decode"]["device_offset"] = 1
    words = {
        "inference_release": of(("0.23.0", "0.18.0", "0.23.0"), index, 29),
        "inference_hardware": of(("a3", "a2"), index, 31),
        "inference_model": {"path": "/models/moe", "name": "moe", "moe": "true"},
        "inference_kv_transfer": of(TRANSFERS, index, 37),
        "inference_pools": pools,
    }
    return words, inventory


def places(plan):
    """What a layout decides of each service, and the hosts."""
    keys = ("name", "host", "address", "instance", "rank", "devices", "ports", "unit")
    services = [{key: service.get(key) for key in keys} for service in plan["services"]]
    return {"services": services, "hosts": plan["hosts"], "placement": plan["placement"]}


@pytest.mark.parametrize("index", range(90))
def test_a_layout(index):
    words, inventory = layout(index)
    plan, findings = outcome(words, inventory)
    if plan is None:
        expect(__file__, f"{index:02}", {"refused": findings, "plans": 0})
        return
    found, kept = {"plans": 1, **places(plan)}, []
    for change in (more, less, without_a_host):
        other = copy.deepcopy((words, inventory))
        change(*other)
        beside, findings = outcome(*other, deployed=turned(plan["placement"]) if change is less else plan["placement"])
        kept.append([findings, places(beside) if beside else None])
        found["plans"] += beside is not None
    expect(__file__, f"{index:02}", {**found, "kept": kept})


def turned(record):
    """A placement in which each instance has the place of the next one of its pool, so that one instance less leaves a gap."""
    rows = copy.deepcopy(record["instances"])
    for kind in ("prefill", "decode"):
        mine = [row for row in rows if row["kind"] == kind]
        places_ = [(row["slot"], row["hosts"]) for row in mine]
        for row, (slot, hosts) in zip(mine, [*places_[1:], *places_[:1]], strict=True):
            row.update(slot=slot, hosts=hosts)
    return {**record, "instances": rows}


def more(words, inventory):
    words["inference_pools"]["decode"]["instances"] += 1
    words["inference_pools"]["prefill"]["instances"] += 1
    inventory["n9"] = {**next(iter(inventory.values())), "groups": ["prefill", "decode"]}


def less(words, inventory):
    words["inference_pools"]["prefill"]["instances"] = max(1, words["inference_pools"]["prefill"]["instances"] - 1)
    words["inference_pools"]["decode"].update(instances=1)


def without_a_host(words, inventory):
    del inventory["n1"]
