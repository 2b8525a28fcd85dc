# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conformance: does the planner arrive at what a corpus of documented deployments prints?

Usage: python tests/conformance/run.py [CORPUS] [--entry TEXT] [--verbose], with the collection on PYTHONPATH

Without an argument the corpus is what the environment's CORPUS names (``make conformance CORPUS=FILE``), else the
deployments beside the repository if they are there, else our own cases.

Prints one line for each entry: *reproduced* (at both levels), *refused* or *repaired* (the source contradicts itself),
*different* with the differences, and a total. Then it replays the archives of the shelf (``docs/evidence/``, see
``shelf.py``). Exit code 1 if anything differs that no reason declares. ``--archive FILE`` judges one archive alone.
"""

from __future__ import annotations

import argparse
import collections
import os
import pathlib
import sys
import typing as t

import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.conformance import declared, shelf
from ansible_collections.ascend.inference.tests.conformance.compare import Difference, compare
from ansible_collections.ascend.inference.tests.conformance.documented import Documented
from ansible_collections.ascend.inference.tests.conformance.read_entry import read_entry
from ansible_collections.ascend.inference.tests.conformance.translate import translate

GOOD = ("reproduced", "refused", "repaired", "nothing")
# What a lint rule of severity error says about the source: differences there are the source's mistake.
FACETS = {
    "PARALLEL-MISMATCH": ("kv",),
    "PROXY-ENDPOINTS": ("proxy", "processes"),  # list and engines disagree: the mistake may be on either side
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
        return judged(entry)
    except KeyError as error:
        problem = f"it has no {error}, or none that is known"
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        problem = f"{error} ({type(error).__name__})"
    name = entry.get("id") if isinstance(entry, dict) else str(entry)[:60]
    return Result(str(name), "different", [f"the entry cannot be read: {problem}"], [], True)


def judged(entry: t.Mapping[str, t.Any]) -> Result:
    """The same, for an entry of a known shape."""
    documented = read_entry(entry)
    if not documented.processes:
        return Result(documented.id, "nothing", ["the entry documents no process"], [], False)
    warned = {lint["rule"] for lint in entry.get("lint") or []}
    notes: list[str] = list(documented.notes)
    differences: list[Difference] = []
    refused: dict[str, str] = {}
    for level in ("structure", "pinned"):
        plan, ids = planned(documented, level == "pinned", warned)
        refused.update(ids["refused"])
        notes += [f"{rule} accepted, as the source's own lint warns" for rule in sorted(ids["accepted"])]
        if plan:
            differences += compare(documented, plan, level == "pinned")
    return outcome(documented, refused, sorted(set(differences)), sorted(set(notes)))


def planned(documented: Documented, pinned: bool, warned: set[str]) -> tuple[t.Any, dict[str, dict[str, str]]]:
    """The plan, or the rules that refuse it: id -> what the first complaint says."""
    words, inventory = translate(documented, pinned)
    try:
        return launch_plan(words, inventory), {"refused": {}, "accepted": {}}
    except PlanError as error:
        ids = _said(error)
    if documented.errors or not all(declared.acceptable(warned, item) for item in ids):
        return None, {"refused": ids, "accepted": {}}
    try:
        plan = launch_plan({**words, "inference_rules_ignore": sorted(ids)}, inventory)
    except PlanError as error:
        return None, {"refused": _said(error), "accepted": {}}
    return plan, {"refused": {}, "accepted": ids}


def _said(error: PlanError) -> dict[str, str]:
    return {finding.id: f"{finding.path}: {finding.problem}"[:200] for finding in reversed(error.findings)}


def outcome(documented: Documented, refused: dict[str, str], differences: list[Difference], notes: list[str]) -> Result:
    """The entry's status from what was refused and what differs."""
    open_ = [difference for difference in differences if not difference.reason]
    reasons = collections.Counter(difference.reason for difference in differences if difference.reason)
    notes = notes + ([f"declared: {', '.join(sorted(reasons))}"] if reasons else [])
    if not documented.errors:
        if refused:
            why = [f"refused by {rule}, {refused[rule]}" for rule in sorted(refused)]
            return Result(documented.id, "different", notes + why, open_, True)
        return Result(documented.id, "different" if open_ else "reproduced", notes, open_, True)
    matching = {rule for rule in refused if any(declared.matches(lint, rule) for lint in documented.errors)}
    if matching:
        about = ", ".join(sorted(documented.errors))
        return Result(documented.id, "refused", [f"{', '.join(sorted(refused))} (source: {about})"], [], False)
    facets = {facet for lint in documented.errors for facet in FACETS.get(lint, ())}
    open_ = [item for item in open_ if item.facet not in facets]
    unseen = [lint for lint in documented.errors if lint not in declared.REPAIRS]
    if not refused and not open_ and not unseen:
        notes = [f"{lint}: {declared.REPAIRS[lint]}" for lint in sorted(documented.errors)] + notes
        return Result(documented.id, "repaired", notes, [], False)
    notes = [f"the source's {', '.join(sorted(documented.errors))} is neither refused nor repaired", *notes]
    return Result(documented.id, "different", notes + sorted(refused), open_, False)


def default_corpus() -> str:
    """The corpus of the repository, or the one that CORPUS names."""
    return os.environ.get("CORPUS") or str(pathlib.Path(__file__).resolve().parent / "cases.yaml")


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", default=default_corpus(), help="YAML file with documented deployments")
    parser.add_argument("--entry", default="", help="only entries whose id contains this text")
    parser.add_argument("--verbose", action="store_true", help="say of every entry what was declared or accepted")
    parser.add_argument("--archive", type=pathlib.Path, help="judge this archive of an acceptance, and nothing else")
    options = parser.parse_args(arguments)
    if options.archive:
        return show_archives([options.archive])
    try:
        entries = read_corpus(options.corpus)
    except (OSError, UnicodeDecodeError, ValueError, yaml.YAMLError) as error:
        parser.error(f"{options.corpus} is no corpus: {error}")
    results = [judge(entry) for entry in entries if options.entry in identity(entry)]
    for result in results:
        show(result, options.verbose)
    return max(total(results), show_archives(shelf.archives()))


def show_archives(paths: list[pathlib.Path]) -> int:
    """Each archive's row, or all that is wrong with it; the exit code."""
    wrong = 0
    for path in paths:
        row, problems = shelf.judged(path)
        said = "; ".join(problems) or ", ".join(f"{name}: {value}" for name, value in row.items())
        print(f"{'not fit' if problems else 'replayed':<11} {path.name} ({said})")
        wrong |= bool(problems)
    if not paths:
        print("no archive of a real rack is on the shelf")
    return wrong


def read_corpus(path: str) -> list[t.Any]:
    """A corpus' entries; ``ValueError`` where the file is something else."""
    with open(path, encoding="utf-8") as stream:
        corpus = yaml.load(stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    entries = corpus.get("entries") if isinstance(corpus, dict) else None
    if not isinstance(entries, list):
        raise ValueError("a mapping with a list of 'entries' is expected")
    return entries


def identity(entry: t.Any) -> str:
    """An entry's id, or an empty string."""
    return str(entry.get("id", "")) if isinstance(entry, dict) else ""


def show(result: Result, verbose: bool) -> None:
    """One entry, with its differences if it has any."""
    shown = result.status not in ("reproduced",) or verbose
    notes = f" ({'; '.join(result.notes)})" if shown and result.notes else ""
    print(f"{result.status:<11} {result.id}{notes}")
    for difference in result.differences[:20]:
        print(f"              {difference.text()}")
    if len(result.differences) > 20:
        print(f"              and {len(result.differences) - 20} more")


def total(results: list[Result]) -> int:
    """The total, and the exit code."""
    counts = collections.Counter(result.status for result in results)
    consistent = [result for result in results if result.consistent]
    good = sum(item.status == "reproduced" for item in consistent)
    print(", ".join(f"{counts[status]} {status}" for status in (*GOOD[:3], "different", "nothing") if counts[status]))
    if consistent:
        print(f"{good} of {len(consistent)} consistent entries are reproduced ({100 * good / len(consistent):.0f} %)")
    for name, text in declared.REASONS.items():
        print(f"declared {name}: {text}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
