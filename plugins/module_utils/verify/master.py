# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step master: the master of the store serves, and has the clients and the capacity of the plan. Of several masters one leads."""

from __future__ import annotations

from ..tools.http_client import Reply, Target
from .answers import excerpt
from .faults import Problem
from .leader import serves
from .metrics import Samples
from .plan import Service
from .probe import Probe
from .ready import silence
from .records import Record, failed, passed


def masters_of(probe: Probe) -> tuple[Service, ...]:
    """All masters of the store, of which the plan has several only with high availability."""
    store = probe.plan.store
    return store.masters or (Service(store.name, store.host, store.master_url, store.log),)


def leader_target(probe: Probe) -> Target:
    """The master that serves; step master finds it."""
    return Target(probe.leader_url or probe.plan.store.master_url)


def check_master(probe: Probe) -> list[Record]:
    """Check health, then clients and capacity. Also sets leader_url."""
    store, masters = probe.plan.store, masters_of(probe)
    replies = _healths(probe, masters)
    broken = _unfit(masters, replies)
    if broken:
        return broken
    leader = next(master for master, reply in zip(masters, replies) if serves(reply.body))
    probe.leader_url = leader.url
    target = leader_target(probe)
    samples = probe.settle(lambda: probe.metrics(target) or {}, lambda read: not _short(probe, read))
    missing = _short(probe, samples)
    if missing:
        return [failed("master", leader.name, problem, clients=_clients(samples)) for problem in missing]
    clients, capacity = _clients(samples), samples.get("master_total_capacity_bytes")
    if store.clients and clients is not None and clients > store.clients:
        text = "{0} has {1:.0f} clients, expected {2}: a foreign client, or one of a process that has just exited"
        probe.warnings.append(text.format(leader.name, clients, store.clients))
    message = "ready, {} clients, {} bytes".format(*("?" if v is None else f"{v:.0f}" for v in (clients, capacity)))
    others = [master.name for master in masters if master is not leader]
    if others:
        message += f"; {leader.name} leads, {', '.join(others)} can take over"
    return [passed("master", leader.name, message, clients=clients, capacity_bytes=capacity)]


def _healths(probe: Probe, masters: tuple[Service, ...]) -> list[Reply]:
    """The answers of all masters, in their order. An election takes some seconds."""

    def ask_all() -> list[Reply]:
        return [probe.get(Target(master.url), "/health") for master in masters]

    if len(masters) == 1:
        return ask_all()
    return probe.settle(ask_all, lambda replies: not _unfit(masters, replies))


def _unfit(masters: tuple[Service, ...], replies: list[Reply]) -> list[Record]:
    """Why the masters cannot be used; empty if one serves and all others answer."""
    answers = [reply.status == 200 and not reply.error for reply in replies]
    broken = [
        failed("master", master.name, silence("/health", reply))
        for master, reply, answered in zip(masters, replies, answers)
        if not answered
    ]
    leaders = [
        master.name for master, reply, answered in zip(masters, replies, answers) if answered and serves(reply.body)
    ]
    waiting = [(master, reply) for master, reply, answered in zip(masters, replies, answers) if answered]
    if len(leaders) > 1:
        broken += [
            failed("master", name, Problem(f"{' and '.join(leaders)} serve at once", "two_leaders")) for name in leaders
        ]
    elif waiting and not leaders:
        fault = "master_standby" if len(masters) == 1 else "no_leader"
        message = "its /health reports that it is not serving: "
        broken += [
            failed("master", master.name, Problem(message + excerpt(reply.body), fault)) for master, reply in waiting
        ]
    return broken


def _clients(samples: Samples) -> float | None:
    return samples.get("master_active_clients")


def _short(probe: Probe, samples: Samples) -> list[Problem]:
    """Clients or capacity below the plan. A missing counter is treated as zero."""
    store = probe.plan.store
    short = []
    for name, wanted, unit, fault in (
        ("master_active_clients", store.clients, "clients", "master_clients"),
        ("master_total_capacity_bytes", store.capacity_bytes, "bytes of capacity", "master_capacity"),
    ):
        found = samples.get(name, 0.0)
        if wanted and found < wanted:
            short.append(Problem(f"it has {found:.0f} {unit}, expected {wanted}", fault))
    return short
