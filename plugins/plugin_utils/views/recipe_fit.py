# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which recipes fit the hosts of an inventory, by their hardware, and by number and memory of their NPUs. No host is contacted."""

from __future__ import annotations

import math
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.tools.how_many import how_many
from ..description.findings import PlanError
from ..description.inventory import GROUP, deployment_variables, inventory_of, members
from ..description.values import natural
from ..description.variables import PREFIX, read_description, read_hosts
from ..hosts.observed import npus_by_device
from ..hosts.plan_memory import read_facts
from ..recipes.catalogue import RECIPES, Recipe
from ..recipes.shelf import lines_of

GIB = 64  # of each NPU of the hosts that the guides for A2 and A3 are for
SPARE = 4  # GiB that a driver may keep of the nominal size
SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "prefill_context_parallel_size")


class Rack(t.NamedTuple):
    """A host with NPUs; ``gib`` of each is 0 where no facts tell it."""

    name: str
    hardware: str
    devices: int
    gib: int


def racks(groups: t.Mapping[str, t.Any], hostvars: t.Mapping[str, t.Any], path: str = "") -> list[Rack]:
    """The hosts of an inventory for engines: those of groups of pools, else all. ``path``: a file of ``check`` with their NPUs' sizes.

    Raises ``PlanError`` for such a file that cannot be read, and for wrong variables of hosts.
    """
    controller = hostvars.get("localhost", {})
    hosts = members(groups, str(controller.get(GROUP, "")))
    engines = {name: found for name, found in hosts.items() if set(found) & set(ENGINE_KINDS)}
    chosen = engines or {name: found for name, found in hosts.items() if name != "localhost"}
    variables = deployment_variables(controller, hostvars, chosen)[0]
    described = read_description(variables)[0]
    hosts_read, wrong = read_hosts(inventory_of(hostvars, chosen), described)
    if wrong:
        raise PlanError(wrong)
    facts = read_facts(path) if path else {}
    found = []
    for host in hosts_read.values():
        sizes = _sizes(facts, host.name)
        told = PREFIX + "devices" in hostvars[host.name] or described.devices
        devices = len(host.devices) if told or not sizes else len(sizes)
        if devices:
            found.append(Rack(host.name, host.hardware, devices, min(sizes, default=0) // 1024))
    return sorted(found, key=lambda rack: natural(rack.name))


def _sizes(facts: t.Mapping[str, t.Any], host: str) -> list[int]:
    """MiB of each NPU of a host; none if it has answered what no such table is."""
    try:
        npus = npus_by_device((facts.get(host) or {}).get("npu") or {})
        return [int(npu.get("hbm_total_mib") or 0) for npu in npus.values()]
    except (AttributeError, TypeError, ValueError, OverflowError):
        return []


def hosts_of_pools(recipe: Recipe, devices: int) -> dict[str, int]:
    """How many hosts with so many NPUs each pool of a recipe needs; empty if one of its ranks needs more NPUs of one host.

    Pools share a host only where those of the source do.
    """
    found, used = {}, 0
    for kind, pool in recipe["variables"]["inference_pools"].items():
        ranks, instances = pool.get("data_parallel_size", 1), pool.get("instances", 1)
        stage = pool.get(SIZES[0], 1) * pool.get(SIZES[2], 1)
        if stage > devices:
            return {}
        rank = stage * pool.get(SIZES[1], 1)
        used += rank * ranks * instances
        of_one = math.ceil(ranks / (devices // rank)) if rank <= devices else ranks * math.ceil(rank / devices)
        found[kind] = instances * of_one if of_one > 1 else math.ceil(instances / (devices // (rank * ranks)))
    return dict.fromkeys(found, 0) | {kind: 1} if recipe["hosts"] == 1 and used <= devices else found


def unfit(recipe: Recipe, hosts: t.Sequence[Rack]) -> str:
    """What a recipe needs that the hosts are not; empty if it fits."""
    hardware = recipe["hardware"].upper()
    same = [rack for rack in hosts if rack.hardware == recipe["hardware"]]
    large = [rack for rack in same if not rack.gib or rack.gib >= GIB - SPARE]
    if not same or not large:
        return (
            f"NPUs of {GIB} GiB; those of {same[0].name} have {same[0].gib}"
            if same
            else f"{hardware} hosts; there are none"
        )
    found = []
    for least in sorted(
        {rack.devices for rack in large}, reverse=True
    ):  # with smaller hosts, too, the division may be another
        usable = sum(1 for rack in large if rack.devices >= least)
        needed = sum(hosts_of_pools(recipe, least).values())
        if 0 < needed <= usable:
            return ""
        found += [
            f"{how_many(needed, hardware + ' host')} with {least} NPUs; there {'is' if usable == 1 else 'are'} {usable}"
        ] * (needed > 0)
    most = max(rack.devices for rack in large)
    return (
        found[0]
        if found
        else f"{hardware} hosts with more than {how_many(most, 'NPU')}: the NPUs of one rank are on one host"
    )


def fit_lines(hosts: t.Sequence[Rack]) -> list[str]:
    """The hosts, the recipes that fit them, and the others by what they need."""
    if not hosts:
        return [
            "The inventory has no host with NPUs, so no recipe can fit. Fix: name it with -i, and set inference_hardware."
        ]
    kinds: dict[tuple[str, int, int], int] = {}
    for rack in hosts:
        kinds[rack[1:]] = kinds.get(rack[1:], 0) + 1
    lines = [
        f"{how_many(count, hardware.upper() + ' host')} with {how_many(devices, 'NPU')} of "
        + (f"{gib} GiB" if gib else f"{GIB} GiB, as no facts say otherwise (inference_model_facts)")
        for (hardware, devices, gib), count in kinds.items()
    ]
    why = {name: unfit(recipe, hosts) for name, recipe in RECIPES.items()}
    fitting = [name for name in why if not why[name]]
    lines += [
        "",
        f"Recipes that fit these hosts, {len(fitting)} of {len(why)}:",
    ]
    for name in fitting:
        lines += lines_of(name, RECIPES[name])
    for reason in sorted({reason for reason in why.values() if reason}, key=natural):
        lines += ["", f"These need {reason}:", f"  {', '.join(name for name in why if why[name] == reason)}"]
    return lines
