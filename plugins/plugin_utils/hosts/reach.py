# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of reachability between devices, and the common cause of failed pairs."""

from __future__ import annotations

import collections
import itertools
import typing as t

from ..description.findings import Finding
from ..description.values import natural
from ..plan.rules.base import Rules
from .observed import Observed, computed_once, place, plane

RULES = Rules()
Pair = tuple[str, str]  # places: source, target
SHOWN = 8  # maximum number of hosts or groups in the name of a split


class Pings(t.NamedTuple):
    """The result of hccn_ping for each pair, and the total number of pairs in the plan."""

    answers: dict[Pair, t.Mapping[str, t.Any]]
    wanted: int


@computed_once
def pings(case: Observed) -> Pings:
    """All answered pings of a case, by place."""
    names, answers = case.names(), {}
    by_sdid = {}
    for host, device, _service, npu in case.each_npu():
        if npu.get("sdid") is not None:
            by_sdid[str(npu["sdid"])] = place(host, device)
    for host, facts in case.gathered("ping"):
        for device, peers in (facts.get("matrix") or {}).items():
            for peer, answer in peers.items():
                answers[place(host, int(device)), names.get(peer) or by_sdid.get(peer) or peer] = answer
        for lost in facts.get("unreachable_pairs") or []:
            peer = str(lost.get("address") or lost.get("sdid"))
            pair = place(host, int(lost["device_id"])), names.get(peer) or by_sdid.get(peer) or peer
            answers[pair] = {**answers.get(pair, {}), "reachable": False, "reason": lost.get("reason")}
    return Pings(answers, case.wanted_pairs)


def coverage(case: Observed) -> str:
    """The number of planned pairs that were pinged; empty if the plan has none."""
    found = pings(case)
    return f"{len(found.answers)} of {found.wanted} pairs of devices were pinged" if found.wanted else ""


@RULES.rule(
    "PINGS-MISSING",
    "Correct the findings of these hosts first, then run the check again.",
    "this collection: missing facts are not treated as healthy",
)
def not_tried(case: Observed) -> t.Iterator[Finding]:
    """Pairs of devices that the plan's transfers use were not pinged.

    A broken path could be among them.
    """
    tried = pings(case).answers
    missing: dict[str, int] = collections.Counter()
    for source, target in case.pairs:
        pair = f"{source[0]} device {source[1]}", f"{target[0]} device {target[1]}"
        if pair not in tried and not _about(pair, case.silent):
            missing[source[0]] += 1
    for host in case.hosts():
        error = ((case.facts.get(host["name"]) or {}).get("ping") or {}).get("error")
        if missing[host["name"]] and not error:
            count = missing[host["name"]]
            yield Finding.at(place(host), count, f"{count} planned pings of this host were not run")


def _about(pair: Pair, places: t.Collection[str]) -> bool:
    """Whether one end of the pair, or its host, is among the places."""
    return any(end in places or end.rsplit(" device ", 1)[0] in places for end in pair)


@RULES.rule(
    "PEER-UNREACHABLE",
    "Check VLAN, gateway and routes of both ends; on A3 the super pod.",
    "knowledge_failures, host, driver and network: N3, N6",
)
def unreachable(case: Observed) -> t.Iterator[Finding]:
    """Devices that exchange KV do not reach each other.

    Transfers between them fail, or requests are computed twice.
    """
    yield from explain(
        case, {pair: ping for pair, ping in pings(case).answers.items() if not _about(pair, case.broken)}
    )


def explain(case: Observed, answers: t.Mapping[Pair, t.Mapping[str, t.Any]]) -> t.Iterator[Finding]:
    """The fewest findings that explain all failed pairs: a device, host, switch, rail, split, else single pairs."""
    failed = {
        pair: str(answer.get("reason") or "no answer")
        for pair, answer in answers.items()
        if not answer.get("reachable")
    }
    left = set(failed)
    kinds = [
        [(path, set(covered), problem) for path, covered, problem in kind]
        for kind in (_candidates(case, answers, set(failed)) if failed else [])
    ]
    by_pair: dict[Pair, list[set[Pair]]] = {}
    for _path, covered, _problem in itertools.chain.from_iterable(kinds):
        for pair in covered:
            by_pair.setdefault(pair, []).append(covered)
    while (best := _best(kinds)) is not None:
        path, covered, problem = best
        pairs = sorted(covered)
        example = f"{pairs[0][0]} to {pairs[0][1]}: {failed[pairs[0]]}"
        yield Finding.at(path, f"{len(pairs)} pings", f"{problem} ({len(pairs)} failed; {example})")
        left -= covered
        for pair in pairs:  # explained: no other candidate covers it
            for others in by_pair[pair]:
                others.discard(pair)
    for source, target in sorted(left):
        back = (target, source)
        if back in left and back < (source, target):
            continue
        problem = f"{target} is not reachable: {failed[source, target]}"
        if back in left:
            problem += f"; {source} is not reachable from there either"
        yield Finding.at(source, target, problem)


Candidate = tuple[str, set[Pair], str]


def _best(candidates: list[list[Candidate]]) -> Candidate | None:
    """The candidate that explains most failures; none of a kind with two candidates for the same pings."""
    best: Candidate | None = None
    for kind in candidates:
        for candidate in sorted(kind, key=lambda item: -len(item[1])):
            if len(candidate[1]) <= (len(best[1]) if best else 1):
                break
            if sum(candidate[1] == other[1] for other in kind) == 1:
                best = candidate
    return best


def _candidates(case: Observed, answers: t.Mapping[Pair, t.Any], failed: set[Pair]) -> list[list[Candidate]]:
    """Possible causes by kind, the most specific kind first; all pings of a candidate failed."""
    switches = _switches(case)
    return [
        _ends(answers, failed, lambda end: end, "it"),
        _ends(answers, failed, lambda end: end.rsplit(" device ", 1)[0], "any of its devices"),
        _ends(answers, failed, lambda end: switches.get(end, ""), "any device on this switch"),
        _rails(answers, failed),
        splits(answers, failed),
    ]


def _ends(
    answers: t.Mapping[Pair, t.Any], failed: set[Pair], group: t.Callable[[str], str], what: str
) -> list[Candidate]:
    """Groups of ends of which every ping failed: in both directions, or only towards or only from them."""
    found: list[Candidate] = []
    known: dict[str, list[set[Pair]]] = {}
    texts = {
        (0, 1): f"no other device reaches {what}, nor is reached from there",
        (1,): f"no other device reaches {what}",
        (0,): f"no other device is reached from there, by {what}",
    }
    for sides, text in texts.items():
        tried: dict[str, set[Pair]] = {}
        for pair in answers:
            for side in sides:
                if name := group(pair[side]):
                    tried.setdefault(name, set()).add(pair)
        for name, pairs in tried.items():
            if pairs <= failed and not any(pairs <= covered for covered in known.get(name, [])):
                found.append((name, pairs, text))
                known.setdefault(name, []).append(pairs)
    return found


def _rails(answers: t.Mapping[Pair, t.Any], failed: set[Pair]) -> list[Candidate]:
    """Devices with the same id on all hosts of which no pair works: usually one switch or one plane of it."""
    rails: dict[str, set[Pair]] = {}
    for pair in answers:
        numbers = {end.rsplit(" device ", 1)[-1] for end in pair}
        if len(numbers) == 1:
            rails.setdefault(f"rail {numbers.pop()}", set()).add(pair)
    return [
        (name, pairs, "no ping between devices with this id succeeds")
        for name, pairs in rails.items()
        if pairs <= failed
    ]


def _switches(case: Observed) -> dict[str, str]:
    """Place of each device -> its switch according to LLDP; only for the RoCE plane."""
    return {
        place(host, device): str(record["lldp"]["system_name"])
        for host, device, record in case.each_link()
        if plane(case.plan, host) == "roce" and (record.get("lldp") or {}).get("system_name")
    }


def splits(answers: t.Mapping[Pair, t.Any], failed: set[Pair], least: int = 1) -> list[Candidate]:
    """Groups of hosts that reach each other, without any working pair between groups; none if a group has less than ``least``."""
    parent: dict[str, str] = {}

    def root(host: str) -> str:
        parent.setdefault(host, host)
        while parent[host] != host:
            host = parent[host]
        return host

    hosts = {pair: tuple(end.rsplit(" device ", 1)[0] for end in pair) for pair in answers}
    for pair, ends in hosts.items():
        first, second = (root(end) for end in ends)
        if pair not in failed:
            parent[first] = second
    groups: dict[str, list[str]] = {}
    for host in sorted(parent):
        groups.setdefault(root(host), []).append(host)
    if len(groups) < 2 or min(map(len, groups.values())) < least:
        return []
    across = {pair for pair, ends in hosts.items() if root(ends[0]) != root(ends[1])}
    return [(_named(list(groups.values())), across, "these groups of hosts do not reach each other")]


def _named(groups: list[list[str]]) -> str:
    """Such as ``n3 | n1, n2``, the smallest group first; of many only the first ones."""
    names = [
        ", ".join(sorted(group, key=natural)[:SHOWN])
        + (f" and {len(group) - SHOWN} more" if len(group) > SHOWN else "")
        for group in sorted(groups, key=lambda group: (len(group), group))
    ]
    return " | ".join(names[:SHOWN]) + (f" | {len(names) - SHOWN} more groups" if len(names) > SHOWN else "")


@RULES.rule(
    "PEER-SLOW",
    "Check the path of this pair (switch, cable, congestion) and the error counters of both ports.",
    "thresholds slow_pair_factor and slow_pair_ms of this collection",
    "warning",
)
def slow(case: Observed) -> t.Iterator[Finding]:
    """The ping time of a pair of devices is much longer than that of the others.

    Transfers over this path take longer, and time out under load.
    """
    found = pings(case)
    times = {
        pair: float(ping["average_ms"]) for pair, ping in found.answers.items() if ping.get("average_ms") is not None
    }
    if not times:
        return
    usual = sorted(times.values())[(len(times) - 1) // 2]  # the lower one of two: half of the pairs may be slow
    limit = max(case.thresholds.slow_pair_factor * usual, case.thresholds.slow_pair_ms)
    for (source, target), time in sorted(times.items()):
        if time > limit and found.answers[source, target].get("reachable"):
            yield Finding.at(
                source, target, f"{target} responds in {time:.2f} ms; the median of all pairs is {usual:.2f} ms"
            )
