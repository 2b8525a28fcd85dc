# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement beside what runs: instances of the deployed plan keep their names, hosts, devices and ports.

Without this a new host whose name sorts first, or the removal of a broken host, would move a whole pool. An instance is kept if
its pool has the same shape and all of its hosts and devices are still in the inventory; a host that is too small for this
shape does not change it. Fewer instances: those with
the highest numbers go. New instances get the lowest free numbers and, host by host, what the others leave. To plan with
the result as the deployed placement gives the same result.
"""

from __future__ import annotations

import json
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.tools.how_many import how_many
from ..description.findings import Finding
from ..description.values import natural
from ..description.variables import Description, Host, Pool
from ..engines.registry import engine
from .placement import (
    FULL,
    Instance,
    Shape,
    devices_of,
    group_of,
    group_problem,
    hosts_of,
    place,
    processes_on,
    shape_of,
    sharing,
    usable,
)
from .service import Service
from .store_hosts import ETCD, MASTERS

SINGLE = ("router", "mooncake_master", "memcache_meta")  # kinds of services of which a deployment has one
SEVERAL = {MASTERS: "mooncake_master", ETCD: "etcd"}  # kinds by their key, of a highly available store
Record = t.Mapping[str, t.Any]
Row = tuple[Host, ...]
UNTRUSTED = "untrusted placement.json"  # what playbooks/shared/places.yml prints in place of such a file
MOST_CHARACTERS = 4 * 1024**2  # 8,500 instances have about 1 million
MOST_INSTANCES, MOST_ON_HOST, MOST_NAME = (
    65535,
    255,
    253,
)  # number of an instance; device or slot; characters of a host's name
MOST_MEMBERS = 9  # masters, and members of etcd
AGAIN = "or plan all instances again with inference_keep_placement: false, which moves running ones."


def placement_record(instances: t.Iterable[Instance], services: t.Iterable[Service]) -> dict[str, t.Any]:
    """The plan's ``placement``: ``{instances: [{kind, number, slot, hosts: [[name, devices], ...]}], router, ...}``.

    The latter are the hosts of SINGLE, empty if the deployment has no such service. ``routers``: hosts of the routers behind the first, if there
    are several. ``posted: true`` if the router has its engines added at run time: it stays so with one instance of each pool, as another command
    line would restart it, which no client survives. With several masters of the store, ``masters`` and ``etcd`` are their hosts and those of
    etcd's members, by number.
    """
    services = list(services)
    single = {service.kind: service.host for service in reversed(services)}  # of several routers the first
    routers = [service.host for service in services if service.kind == "router"][1:]
    several = {key: [service.host for service in services if service.kind == kind] for key, kind in SEVERAL.items()}
    posted = any(service.members and service.members.more for service in services)
    return {
        "instances": [
            {
                "kind": instance.kind,
                "number": instance.number,
                "slot": instance.slot,
                "hosts": [[name, list(devices)] for name, devices in _by_host(instance).items()],
            }
            for instance in instances
        ],
        **{kind: single.get(kind, "") for kind in SINGLE},
        **({"routers": routers} if routers else {}),
        **({"posted": True} if posted else {}),
        **({key: names for key, names in several.items() if names} if len(several[MASTERS]) > 1 else {}),
    }


def _by_host(instance: Instance) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for process in instance.processes:
        found[process.host.name] = found.get(process.host.name, ()) + process.devices
    return found


def place_beside(
    description: Description, hosts: t.Mapping[str, Host], deployed: Record
) -> tuple[list[Instance], list[Finding]]:
    """Place every instance of every pool, keeping the instances of ``deployed`` (a ``placement_record``) that can be kept."""
    pools = description.pools.present()
    shapes: dict[str, Shape] = {}
    kept: dict[str, list[Instance]] = {}
    for name, pool in pools.items():
        members = hosts_of(group_of(name, pool), hosts)
        candidates = _shapes(description, pool, name, members, deployed)
        found = [_kept(description, name, pool, shape, deployed) for shape in candidates]
        shapes[name], kept[name] = max(zip(candidates, found, strict=True), key=lambda each: len(each[1]))
    if not any(kept.values()):
        return place(description, hosts)
    taken: dict[str, set[int]] = {}
    for instance in (instance for found in kept.values() for instance in found):
        _take(taken, instance)
    for name, pool in pools.items():
        _keep_begun(kept[name], _kept(description, name, pool, shapes[name], deployed.get("begun", {})), taken)
    instances: list[Instance] = []
    findings: list[Finding] = []
    for name, pool in pools.items():
        problem, found = group_problem(name, pool, shapes[name], hosts), kept[name]
        numbers = {instance.number for instance in found}
        while not problem and len(found) < pool.instances:
            number = next(free for free in range(pool.instances) if free not in numbers)
            free_place = _free_place(description, name, found, taken, shapes)
            if free_place is None:
                problem = _no_place(name, pool, number, len(found))
                break
            slot, devices = free_place
            instance = _instance(name, pool, shapes[name], number, slot, devices)
            found.append(instance)
            numbers.add(number)
            _take(taken, instance)
        instances += sorted(found, key=lambda instance: instance.number)
        findings += [problem] if problem else []
    return instances, findings


def _shapes(
    description: Description, pool: Pool, name: str, members: list[Host], deployed: Record
) -> t.Sequence[Shape]:
    """How the pool may lie on its hosts: as in a first deployment, else as it is deployed, where that keeps more instances.

    The smallest host decides on how many hosts an instance lies. One that is smaller than the others, because it is new or lost a device, would
    move them all, and so would the end of the smallest one. So hosts that are smaller than what a deployed instance has on one host are left
    out, and an instance takes no more of a host. Hosts of unequal size keep the ranks that they have.
    """
    rows = [item["hosts"] for item in deployed.get("instances", ()) if item["kind"] == name]
    share = max((len(devices) for hosts in rows for _host, devices in hosts), default=0)
    large = [host for host in members if len(usable(host, pool)) >= share]
    found = [shape_of(description, pool, members)]
    found += [shape_of(description, pool, large)] if len(large) < len(members) else []
    roomy = share and share < min((len(usable(host, pool)) for host in large), default=0)
    found += [shape_of(description, pool, large, share)] if roomy else []
    here = {host.name: host for host in members}
    if (
        len(rows) == pool.instances == 1
        and not pool.hosts_per_instance
        and {host for host, _devices in rows[0]} <= set(here)
    ):
        ranks = tuple(len(devices) // pool.rank_devices for _host, devices in rows[0])
        used = tuple(here[host] for host, _devices in rows[0])
        if sum(ranks) == pool.data_parallel_size and len(set(ranks)) > 1 and 0 not in ranks:
            found.append(Shape(used, len(used), 1, 1, {host.name: 0 for host in used}, ranks))
    return found


def _take(taken: dict[str, set[int]], instance: Instance) -> None:
    for name, devices in _by_host(instance).items():
        taken.setdefault(name, set()).update(devices)


def _kept(description: Description, name: str, pool: Pool, shape: Shape, deployed: Record) -> list[Instance]:
    """The pool's deployed instances that can stay, at most as many as are planned."""
    members = {host.name: host for host in shape.members}
    found: list[Instance] = []
    if shape.broken:
        return found
    for record in sorted(deployed.get("instances", ()), key=lambda item: int(item["number"])):
        names = [str(host) for host, _devices in record["hosts"]]
        if record["kind"] != name or not set(names) <= set(members) or len(found) >= pool.instances:
            continue
        devices = {members[host]: tuple(map(int, numbers)) for host, numbers in record["hosts"]}
        if _fits(description, pool, shape, devices) and not _crowded(pool, found, names):
            found.append(_instance(name, pool, shape, int(record["number"]), int(record["slot"]), devices))
    return found


def _keep_begun(found: list[Instance], begun: t.Iterable[Instance], taken: dict[str, set[int]]) -> None:
    """Add the instances where a killed run has placed them, unless that is the number, slot or device of a deployed one."""
    for instance in begun:
        names = {process.host.name for process in instance.processes}
        beside = [each for each in found if names & set(_by_host(each))]
        free = not any(taken.get(host, set()) & set(devices) for host, devices in _by_host(instance).items())
        same = instance.number in {each.number for each in found} or instance.slot in {each.slot for each in beside}
        if free and not same and len(found) < instance.pool.instances and not _crowded(instance.pool, found, names):
            found.append(instance)
            _take(taken, instance)


def _fits(description: Description, pool: Pool, shape: Shape, devices: t.Mapping[Host, tuple[int, ...]]) -> bool:
    """Whether the pool's instances still have this shape, and the hosts these devices."""
    if len(devices) != shape.span or (shape.ranks and tuple(devices) != shape.members):
        return False
    if not engine(description.engine).npus:
        return not any(devices.values())
    return all(
        len(numbers) == shape.share(pool, host) and set(numbers) <= set(usable(host, pool))
        for host, numbers in devices.items()
    )


def _crowded(pool: Pool, found: t.Iterable[Instance], names: t.Collection[str]) -> bool:
    """Whether the hosts already have as many instances as the user allows."""
    if not pool.instances_per_host:
        return False
    here = sum(any(process.host.name in names for process in instance.processes) for instance in found)
    return here >= pool.instances_per_host


def _instance(
    name: str, pool: Pool, shape: Shape, number: int, slot: int, devices: t.Mapping[Host, tuple[int, ...]]
) -> Instance:
    processes: list[t.Any] = []
    for host, numbers in devices.items():
        processes += processes_on(pool, shape, host, numbers, processes)
    return Instance(name, pool, number, slot, tuple(processes), shape.nodes)


def _free_place(
    description: Description,
    name: str,
    found: t.Sequence[Instance],
    taken: t.Mapping[str, set[int]],
    shapes: t.Mapping[str, Shape],
) -> tuple[int, dict[Host, tuple[int, ...]]] | None:
    """Slot and devices for one more instance: on the hosts with the fewest of the pool that have room; None if none has."""
    pool, shape = description.pools.present()[name], shapes[name]
    rows = _rows(shape, found)
    load = [sum(any(process.host in row for process in instance.processes) for instance in found) for row in rows]
    order = sorted(range(len(rows)), key=lambda index: (0 if pool.instances_per_host else load[index], index))
    for index in order:
        if pool.instances_per_host and load[index] >= pool.instances_per_host:
            continue
        used = {item.slot for item in found if any(process.host in rows[index] for process in item.processes)}
        slot = next(free for free in range(len(used) + 1) if free not in used)
        devices = {
            host: _free_devices(description, host, name, slot, taken.get(host.name, set()), shapes)
            for host in rows[index]
        }
        complete = {host: numbers for host, numbers in devices.items() if numbers is not None}
        if len(complete) == len(devices):
            return slot, complete
    return None


def _rows(shape: Shape, found: t.Iterable[Instance]) -> list[Row]:
    """Places side by side: the hosts of each kept instance, and the remaining hosts in neighbouring groups."""
    used = {tuple(dict.fromkeys(process.host for process in instance.processes)) for instance in found}
    occupied = {host for row in used for host in row}
    free = [host for host in shape.members if host not in occupied]
    rows = [tuple(free[start : start + shape.span]) for start in range(0, len(free), shape.span)]
    whole = [row for row in rows if len(row) == shape.span]
    return sorted([*used, *whole], key=lambda row: natural(row[0].name))


def _free_devices(
    description: Description, host: Host, name: str, slot: int, taken: set[int], shapes: t.Mapping[str, Shape]
) -> tuple[int, ...] | None:
    """Devices of a host for one instance: those of a first deployment if they are free, else others; None if too few are."""
    if not engine(description.engine).npus:
        return ()
    pool = description.pools.present()[name]
    share = shapes[name].share(pool, host)
    first = devices_of(description, host, name, slot, share, shapes)
    if first is not None and not taken & set(first):
        return first
    present = usable(host, pool)
    here = sharing(description, host)
    blocks = [present[start : start + share] for start in range(0, len(present) - share + 1, share)]
    if len(here) > 1 and here[-1] == name:  # the last pool of a host gets devices from the highest id down
        blocks.reverse()
    whole = next((block for block in blocks if not taken & set(block)), None)
    if whole is not None:
        return whole
    free = [device for device in present if device not in taken]
    return tuple(free[:share]) if len(free) >= share else None


def _no_place(name: str, pool: Pool, number: int, kept: int) -> Finding:
    return Finding(
        f"inference_pools.{name}.instances",
        "PLACE-CAPACITY",
        f"no host has {how_many(pool.devices_per_instance, 'free device')} for instance {number} beside the {how_many(kept, 'instance')} of this pool "
        "and those of other pools that keep their places",
        f"Plan fewer or smaller instances, add hosts, {AGAIN}",
        value=str(pool.instances),
        why=FULL,
    )


def kept_host(name: str, members: t.Sequence[Host]) -> Host | None:
    """The host that a single service (router, master) has in the deployed plan, if it may still run there."""
    return next((host for host in members if host.name == name), None)


def record_hosts(record: Record) -> dict[str, list[str]]:
    """The hosts of a placement, each with what runs there: ``{n3: [decode-1], n1: [prefill-0, router]}``."""
    found: dict[str, list[str]] = {}
    for instance in record["instances"]:
        for host, _devices in instance["hosts"]:
            found.setdefault(host, []).append(f"{instance['kind']}-{instance['number']}")
    for service in SINGLE:
        if record[service]:
            found.setdefault(record[service], []).append(service)
    for key, kind in SEVERAL.items():
        for host in record.get(key, ()):
            if kind not in found.setdefault(host, []):
                found[host].append(kind)
    for number, host in enumerate(record.get("routers", ()), 1):
        found.setdefault(host, []).append(f"router-{number}")
    return found


def read_text(text: str) -> tuple[dict[str, t.Any] | None, str]:
    """A deployed placement from the text of a host's file, and why it is not used: None and "" if the host has none.

    Somebody else may have written the file. It is used as a whole or not at all, and a record that contradicts itself is not used.
    """
    if not text.strip():
        return None, ""
    if text.startswith(UNTRUSTED):
        return None, "other users than root can write it or its directory, it is no regular file, or it is too large"
    if len(text) > MOST_CHARACTERS:
        return None, f"it has more than {MOST_CHARACTERS} characters"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None, "it is not JSON"
    if value == {}:
        return None, ""  # the deployment has no placement
    record = read_record(value)
    return record, "" if record else "it is not a placement that this collection writes"


def read_record(value: t.Any) -> dict[str, t.Any] | None:
    """A deployed placement as a file of a host has it, or None if it is none; the plan is then made as for a first deployment."""
    try:
        record = {
            "instances": [
                {
                    "kind": ENGINE_KINDS[ENGINE_KINDS.index(item["kind"])],
                    "number": _number(item["number"], MOST_INSTANCES),
                    "slot": _number(item["slot"], MOST_ON_HOST),
                    "hosts": [
                        [_name(host), [_number(device, MOST_ON_HOST) for device in devices]]
                        for host, devices in item["hosts"]
                    ],
                }
                for item in value["instances"]
            ],
            **{kind: _name(value[kind]) if value[kind] != "" else "" for kind in SINGLE},
            **(
                {"routers": [_name(host) for host in _few(value["routers"], MOST_ON_HOST)]}
                if "routers" in value
                else {}
            ),
            **({"posted": True} if value.get("posted") is True else {}),
            **{key: [_name(host) for host in _few(value[key], MOST_MEMBERS)] for key in SEVERAL if key in value},
        }
    except (KeyError, TypeError, ValueError):
        return None
    return None if _contradicts(record["instances"]) else record


def _number(value: t.Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError("not a number of a placement")
    return value


def _few(value: t.Any, most: int) -> list[t.Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError("not a list of a placement")
    return value


def _name(value: t.Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MOST_NAME or not value.isprintable():
        raise ValueError("not a host's name")
    return value


def _contradicts(instances: t.Sequence[Record]) -> bool:
    """Whether two instances have the same name, device, or slot on a host, or one has no host or names a host twice."""
    seen: set[tuple[t.Any, ...]] = set()
    for item in instances:
        facts: list[tuple[t.Any, ...]] = [("number", item["kind"], item["number"])]
        for host, devices in item["hosts"]:
            facts += [("slot", item["kind"], host, item["slot"])]
            facts += [("device", host, device) for device in devices]
        if len(set(facts)) < len(facts) or seen & set(facts) or not item["hosts"]:
            return True
        seen.update(facts)
    return False
