# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of TCP connections between hosts: one finding for what one firewall blocks."""

from __future__ import annotations

import collections
import typing as t

from ..description.findings import Finding, spans
from ..plan.rules.base import Rules
from .connections import Target, entry
from .observed import Observed, Record, computed_once, place
from .reach import splits

RULES = Rules()
Path = tuple[str, str]  # source host, target host


class Tried(t.NamedTuple):
    """The connections from one host to another: number tried, and the reason of each failed one."""

    count: int
    failed: dict[Target, str]

    @property
    def dead(self) -> bool:
        """Whether all of them failed."""
        return len(self.failed) == self.count


@computed_once
def connections(case: Observed) -> dict[Path, Tried]:
    """The tested connections by pair of hosts.

    A refused connection counts as failed only where a listener ran: without one, the host's kernel refuses, so packets pass.
    """
    found: dict[Path, Tried] = {}
    listening = {host["name"]: _listening(host["name"], facts) for host, facts in case.gathered("tcp")}
    wanted = case.connections
    for host, facts in case.gathered("tcp"):
        targets = wanted.get(host["name"], {})
        by_port = {(name, item.port): item for name, items in targets.items() for item in items}
        for answer in facts.get("answers") or []:
            target = by_port.get((answer["name"], answer["port"]))
            if target is None:  # its own port
                continue
            tried = found.get((host["name"], target.host)) or Tried(0, {})
            reason = _failure(answer, target.port in listening.get(target.host, ()))
            if reason:
                tried.failed[target] = reason
            found[host["name"], target.host] = tried._replace(count=tried.count + 1)
    return found


def _listening(name: str, facts: Record) -> frozenset[int]:
    """Ports of the host's listener; none if the host itself cannot connect to it, because it ended too early."""
    own = [answer["state"] for answer in facts.get("answers") or [] if answer["name"] == name]
    return frozenset(facts.get("listening") or []) if own and set(own) == {"open"} else frozenset()


def _failure(answer: Record, listener: bool) -> str:
    if answer["state"] == "open" or (answer["state"] == "refused" and not listener):
        return ""
    return f"{answer['reason']}, although the host listens" if answer["state"] == "refused" else str(answer["reason"])


def tcp_coverage(case: Observed) -> str:
    """The number of planned connections that were tested; empty if the plan has none between hosts."""
    total = case.wanted_connections
    tried = sum(item.count for item in connections(case).values())
    return f"{tried} of {total} TCP connections between hosts were tested" if total else ""


@RULES.rule(
    "PORT-BLOCKED",
    "Open the planned ports between the hosts: the plan lists them in hosts[].firewall. Check firewalld, iptables or nftables "
    "of the target first, then security groups and routes between the hosts.",
    "knowledge_failures, host, driver and network: N11",
)
def blocked(case: Observed) -> t.Iterator[Finding]:
    """A host cannot connect to planned ports of another host.

    Services that start do not reach each other: requests time out, or KV cache is not transferred.
    """
    severity = "warning" if _opened_by_deploy(case) else ""
    tried = {path: item for path, item in connections(case).items() if not set(path) & case.lost}
    left = {path: item for path, item in tried.items() if item.failed}
    named = set()
    for name, paths, text in _whole_hosts(tried):
        named.add(name)
        mine = {path: left.pop(path) for path in paths if path in left}
        if mine:
            yield Finding.at(name, _example(mine), f"{text}: {_counts(mine)}", severity=severity)
    for name, paths, text in _islands({path: item for path, item in tried.items() if not set(path) & named}):
        mine = {path: left.pop(path) for path in paths}
        yield Finding.at(name, _example(mine), f"{text}: {_counts(mine)}", severity=severity)
    alike: dict[tuple[str, tuple[int, ...]], list[Path]] = {}
    for path, item in left.items():
        alike.setdefault((path[1], _ports(item)), []).append(path)
    for path, item in list(left.items()):
        if path not in left:
            continue  # named together with an earlier one
        back = path[::-1]
        both = {path: left.pop(path)}
        if item.dead and back in left and left[back].dead:
            both[back] = left.pop(back)
            problem = f"nothing passes between it and {path[1]}: {_counts(both)}"
            yield Finding.at(path[0], _example(both), problem, severity=severity)
            continue
        both.update((other, left.pop(other)) for other in alike[path[1], _ports(item)] if other in left)
        sources = ", ".join(sorted({source for source, _target in both}))
        ports = f"ports {spans(_ports(item), ', ')} ({', '.join(sorted({t_.purpose for t_ in item.failed}))})"
        problem = f"{sources} cannot connect to {ports}: {_counts(both)}"
        yield Finding.at(path[1], _example(both), problem, severity=severity)


def _opened_by_deploy(case: Observed) -> bool:
    """Whether deploy opens the ports itself: a policy of firewalld does. A table of nftables cannot accept what another one drops."""
    given = case.plan.get("firewall") or {}
    return given.get("state") == "present" and given.get("backend") in ("auto", "firewalld")


def _whole_hosts(tried: t.Mapping[Path, Tried]) -> t.Iterator[tuple[str, list[Path], str]]:
    """Hosts of which every connection to at least two others failed: towards it, from it, or both."""
    done: set[Path] = set()
    ends: tuple[dict[str, list[Path]], dict[str, list[Path]]] = ({}, {})  # by source, by target
    for path in tried:
        for side in (0, 1):
            ends[side].setdefault(path[side], []).append(path)
    for sides, text in (
        ((0, 1), "no connection from or to another host passes"),
        ((1,), "no other host can connect to it"),
        ((0,), "it cannot connect to any other host"),
    ):
        for name in sorted(set().union(*(ends[side] for side in sides))):
            parts = [ends[side].get(name, []) for side in sides]
            paths = [path for part in parts for path in part]
            others = {end for path in paths for end in path if end != name}
            if len(others) > 1 and all(parts) and all(tried[path].dead for path in paths):
                if not set(paths) <= done:
                    yield name, paths, text
                done.update(paths)


def _islands(tried: t.Mapping[Path, Tried]) -> t.Iterator[tuple[str, list[Path], str]]:
    """Groups of at least two hosts each, between which no connection passes."""
    dead = {path for path, item in tried.items() if item.dead}
    for names, across, text in splits(tried, dead, least=2):
        yield names, sorted(across), text


def _ports(item: Tried) -> tuple[int, ...]:
    return tuple(sorted(target.port for target in item.failed))


def _counts(items: t.Mapping[Path, Tried]) -> str:
    """Such as ``14 of 14 connections failed (12 no answer in 3 s, 2 connection refused)``."""
    failed = [reason for item in items.values() for reason in item.failed.values()]
    total = sum(item.count for item in items.values())
    reasons = collections.Counter(failed).most_common()
    shown = ", ".join(f"{count} {reason}" if len(reasons) > 1 else reason for reason, count in reasons[:3])
    return f"{len(failed)} of {total} connections failed ({shown})"


def _example(items: t.Mapping[Path, Tried]) -> str:
    path, item = next(iter(items.items()))
    target = min(item.failed)
    return f"{path[0]} to {target.address} port {target.port}, {target.purpose}"


@RULES.rule(
    "PORTS-UNTESTED",
    "Run the check again, or accept the finding. With host_check_tcp: none no connection is tested.",
    "this collection: missing facts are not treated as healthy",
    "warning",
)
def untested(case: Observed) -> t.Iterator[Finding]:
    """Connections between hosts that the plan needs were not tested.

    A firewall may block them.
    """
    tried = connections(case)
    for source, targets in case.connections.items():
        missing = [name for name in targets if (source, name) not in tried and not {source, name} & case.silent]
        missing = [name for name in missing if not _only_running(case, targets[name])]
        failed = ((case.facts.get(source) or {}).get("tcp") or {}).get("error")
        if missing and not failed:
            yield Finding.at(source, ", ".join(missing[:8]), f"no connection to {len(missing)} other hosts was tested")
    for host, facts in case.gathered("tcp"):
        if facts.get("listening") and not _listening(host["name"], facts):
            problem = "the temporary listener did not run: ports that reject connections look like closed ones"
            yield Finding.at(place(host), len(facts["listening"]), problem, severity="remark")


def _only_running(case: Observed, targets: t.Sequence[Target]) -> bool:
    """Whether all the ports are in use already and are not disturbed."""
    held = {socket["port"] for socket in case.part({"name": targets[0].host}, "host").get("listening") or []}
    return all(target.port in held for target in targets)


@RULES.rule(
    "CONTROLLER-ROUTER",
    "Open the port for clients, or check from a machine that clients use. Verification runs on the hosts and does not need it.",
    "knowledge_failures, host, driver and network: N11",
    "warning",
)
def controller(case: Observed) -> t.Iterator[Finding]:
    """The controller cannot connect to the port that clients use.

    Clients in the controller's network may not reach the service.
    """
    target = entry(case.plan)
    answers = [answer for host in case.hosts() for answer in case.part(host, "controller").get("answers") or []]
    for answer in answers:
        if target is None or target.host in case.lost:
            continue
        listener = any(
            host["name"] == target.host and target.port in _listening(target.host, facts)
            for host, facts in case.gathered("tcp")
        )
        reason = _failure(answer, listener)
        if reason:
            problem = (
                f"the controller cannot connect to {target.address} port {target.port} ({target.purpose}): {reason}"
            )
            listed = ((case.plan.get("firewall") or {}).get("sources") or {}).get("client")  # only these may connect
            yield Finding.at(target.host, answer["state"], problem, severity="remark" if listed else "")
