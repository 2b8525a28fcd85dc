# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conformance: does the planner arrive at what a corpus of documented deployments prints?

Usage: python -m tests.conformance.run CORPUS [--entry TEXT] [--verbose]

Prints one line for each entry: *reproduced* (at both levels), *refused* or *repaired* (the source contradicts itself),
*different* with the differences, and a total. Exit code 1 if anything differs that no reason declares.
"""

from __future__ import annotations

import argparse
import collections
import sys
import typing as t

import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils._planner import launch_plan

from . import declared
from .compare import Difference, compare
from .documented import Documented
from .read_entry import read_entry
from .translate import translate

GOOD = ("reproduced", "refused", "repaired", "nothing")
# What a lint rule of severity error says about the source: differences there are the source's mistake.
FACETS = {
    "PARALLEL-MISMATCH": ("kv",),
    "PROXY-ENDPOINTS": ("proxy",),
    "PROXY-UNKNOWN-FLAG": ("proxy",),
    "SHELL-SYNTAX": ("args",),
}


class Result(t.NamedTuple):
    """What came out for one entry."""

    id: str
    status: str
    notes: list[str]
    differences: list[Difference]
    consistent: bool


def judge(entry: t.Mapping[str, t.Any]) -> Result:
    """Plan one entry at both levels and compare."""
    try:
        documented = read_entry(entry)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        return Result(entry["id"], "different", [f"the entry cannot be read: {error!r}"], [], True)
    if not documented.processes:
        return Result(documented.id, "nothing", ["the entry documents no process"], [], False)
    warned = {lint["rule"] for lint in entry.get("lint") or []}
    notes: list[str] = []
    differences: list[Difference] = []
    refused: set[str] = set()
    for level in ("structure", "pinned"):
        plan, ids = planned(documented, level == "pinned", warned)
        refused |= ids["refused"]
        notes += [f"{rule} accepted, as the source's own lint warns" for rule in sorted(ids["accepted"])]
        if plan:
            differences += compare(documented, plan, level == "pinned")
    return outcome(documented, refused, sorted(set(differences)), sorted(set(notes)))


def planned(documented: Documented, pinned: bool, warned: set[str]) -> tuple[t.Any, dict[str, set[str]]]:
    """The plan, or the ids of the rules that refuse it."""
    words, inventory = translate(documented, pinned)
    try:
        return launch_plan(words, inventory), {"refused": set(), "accepted": set()}
    except PlanError as error:
        ids = {one.id for one in error.complaints}
    if documented.errors or not all(declared.acceptable(warned, one) for one in ids):
        return None, {"refused": ids, "accepted": set()}
    try:
        plan = launch_plan({**words, "inference_rules_ignore": sorted(ids)}, inventory)
    except PlanError as error:
        return None, {"refused": {one.id for one in error.complaints}, "accepted": set()}
    return plan, {"refused": set(), "accepted": ids}


def outcome(documented: Documented, refused: set[str], differences: list[Difference], notes: list[str]) -> Result:
    """The entry's status from what was refused and what differs."""
    open_ = [one for one in differences if not one.reason]
    reasons = collections.Counter(one.reason for one in differences if one.reason)
    notes = notes + ([f"declared: {', '.join(sorted(reasons))}"] if reasons else [])
    if not documented.errors:
        if refused:
            return Result(documented.id, "different", [f"refused by {', '.join(sorted(refused))}"], open_, True)
        return Result(documented.id, "different" if open_ else "reproduced", notes, open_, True)
    matching = {rule for rule in refused if any(declared.matches(lint, rule) for lint in documented.errors)}
    if matching:
        about = ", ".join(sorted(documented.errors))
        return Result(documented.id, "refused", [f"{', '.join(sorted(refused))} (source: {about})"], [], False)
    facets = {facet for lint in documented.errors for facet in FACETS.get(lint, ())}
    open_ = [one for one in open_ if one.facet not in facets]
    unseen = [lint for lint in documented.errors if lint not in declared.REPAIRS]
    if not refused and not open_ and not unseen:
        notes = [f"{lint}: {declared.REPAIRS[lint]}" for lint in sorted(documented.errors)] + notes
        return Result(documented.id, "repaired", notes, [], False)
    notes = [f"the source's {', '.join(sorted(documented.errors))} is neither refused nor repaired", *notes]
    return Result(documented.id, "different", notes + sorted(refused), open_, False)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="YAML file with the documented deployments")
    parser.add_argument("--entry", default="", help="only entries whose id contains this text")
    parser.add_argument("--verbose", action="store_true", help="say of every entry what was declared or accepted")
    options = parser.parse_args(arguments)
    with open(options.corpus, encoding="utf-8") as stream:
        corpus = yaml.load(stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    results = [judge(one) for one in corpus["entries"] if options.entry in one["id"]]
    for one in results:
        show(one, options.verbose)
    return total(results)


def show(result: Result, verbose: bool) -> None:
    """One entry, with its differences if it has any."""
    told = result.status not in ("reproduced",) or verbose
    notes = f" ({'; '.join(result.notes)})" if told and result.notes else ""
    print(f"{result.status:<11} {result.id}{notes}")
    for one in result.differences[:20]:
        print(f"              {one.text()}")
    if len(result.differences) > 20:
        print(f"              and {len(result.differences) - 20} more")


def total(results: list[Result]) -> int:
    """The total, and the exit code."""
    counts = collections.Counter(one.status for one in results)
    consistent = [one for one in results if one.consistent]
    good = sum(one.status == "reproduced" for one in consistent)
    print(", ".join(f"{counts[status]} {status}" for status in (*GOOD[:3], "different", "nothing") if counts[status]))
    if consistent:
        print(f"{good} of {len(consistent)} consistent entries are reproduced ({100 * good / len(consistent):.0f} %)")
    for name, text in declared.REASONS.items():
        print(f"declared {name}: {text}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
