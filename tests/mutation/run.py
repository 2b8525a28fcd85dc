# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutants: small mistakes in product code, one at a time, and whether a unit test notices each.

Usage, in a copy of the checkout that may be changed: python tests/mutation/run.py [--folder NAME] [--count 40] [--seed 1] [--seconds 60]
[--write SCORES.yml] [--records FOLDER]

``--records`` keeps what became of each mutant, so that a larger sample goes on where a smaller one ended.
A complete run takes days, so a sample is drawn. Prints each mutant that no test notices, and the score of each folder with the interval in which
that of all its mutants is. Fails if a score is below the aim or if a survivor has no reason in ``scores.yml``, which ``--write`` writes again;
reasons are kept.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
import typing as t

import yaml
from ansible_collections.ascend.inference.tests.mutation.judge import Judge
from ansible_collections.ascend.inference.tests.mutation.near_tests import Graph
from ansible_collections.ascend.inference.tests.mutation.sample import FOLDERS, SEED, Mutant, interval, sample

HERE = pathlib.Path(__file__).resolve().parent
AIMS = {"planner": 85, "rules": 85, "renderers": 85, "verify": 85}  # percent
SINCE = "missing test, written since"  # how the reason of a survivor begins that a test notices now
HEAD = """# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Small mistakes in product code that unit tests notice: a sample of each folder, drawn by a seed; written by tests/mutation/run.py. Each survivor
# has a reason: missing test (and the one that was written since), equivalent (nobody can see a difference), elsewhere (another part of the
# tests sees it), accepted (and why). ``percent`` is what the tests noticed before anybody had read the survivors; CONTRIBUTING.md says how to
# read the others. ``earlier`` has samples of other seeds.
# yamllint disable rule:line-length rule:indentation
---
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", action="append", choices=list(FOLDERS))
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--records", type=pathlib.Path)
    options = parser.parse_args()
    root = pathlib.Path.cwd()
    path = HERE / "scores.yml"
    known = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {"folders": {}}
    reasons = {
        (one["file"], one["before"], one["after"]): one["reason"]
        for folder in known["folders"].values()
        for one in folder["survivors"]
    }
    records = options.records or pathlib.Path(tempfile.mkdtemp())
    records.mkdir(parents=True, exist_ok=True)
    journal = Journal(records / "outcomes.jsonl")
    judge = Judge(root, records, options.seconds, Graph(root))
    scores, failures = {}, []
    for folder in options.folder or FOLDERS:
        outcomes = tried(judge, journal, folder, options)
        scores[folder] = score(outcomes, reasons)
        print(f"{folder}: {scores[folder]['noticed']} of {scores[folder]['mutants']} noticed", flush=True)
        if scores[folder]["percent"] < AIMS.get(folder, 0):
            failures.append(f"{folder}: {scores[folder]['percent']} % are noticed, the aim is {AIMS[folder]} %")
        failures += [
            f"{one['file']}: no reason for: {one['after']}" for one in scores[folder]["survivors"] if not one["reason"]
        ]
    if options.write:
        record = {"seed": options.seed, "seconds": options.seconds, "folders": {**known["folders"], **scores}}
        text = yaml.safe_dump({**record, "earlier": known.get("earlier", {})}, sort_keys=False, width=1000)
        options.write.write_text(HEAD + text, encoding="utf-8")
    print("\n".join(failures))
    return 1 if failures else 0


class Journal:
    """What became of each mutant, one in a line of a file."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
        self.known: dict[tuple[str, str, str], str] = {tuple(row[:3]): row[3] for row in rows}

    def of(self, mutant: Mutant) -> str | None:
        """The test that noticed it, empty if none did; None if it was not judged."""
        return self.known.get((mutant.path, mutant.before, mutant.after))

    def forget(self, tests: t.Container[str]) -> None:
        """Judge again what these tests have noticed."""
        self.known = {key: test for key, test in self.known.items() if test not in tests}

    def add(self, mutant: Mutant, test: str) -> None:
        self.known[mutant.path, mutant.before, mutant.after] = test
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([mutant.path, mutant.before, mutant.after, test]) + "\n")


def tried(judge: Judge, journal: Journal, folder: str, options: argparse.Namespace) -> list[tuple[Mutant, str]]:
    """The mutants of a folder, each with the test that notices it."""
    drawn = sample(judge.root, folder, options.count, options.seed)
    while True:
        for number, mutant in enumerate(drawn):
            if journal.of(mutant) is None:
                test = judge.judged(mutant)
                journal.add(mutant, test)
                print(f"{folder} {number + 1} {mutant.path}:{mutant.place.line} {test or 'SURVIVED'}", flush=True)
                if not test:
                    print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)
        outcomes = [(mutant, journal.of(mutant) or "") for mutant in drawn]
        unreliable = judge.unreliable(test for _mutant, test in outcomes)
        if not unreliable:
            return outcomes
        print(f"{folder}: these fail without a mutant: {', '.join(sorted(unreliable))}", flush=True)
        journal.forget(unreliable)


def score(outcomes: list[tuple[Mutant, str]], reasons: t.Mapping[t.Any, str]) -> dict[str, t.Any]:
    """The record of a folder."""
    noticed = sum(bool(test) for _mutant, test in outcomes)
    low, high = interval(noticed, len(outcomes))
    survivors = [mutant for mutant, test in outcomes if not test]
    why = [reasons.get((one.path, one.before, one.after), "") for one in survivors]
    since = sum(reason.startswith(SINCE) for reason in why)
    return {
        "mutants": len(outcomes),
        "noticed": noticed,
        "percent": round(100 * noticed / len(outcomes)),
        "percent_with_tests_written_since": round(100 * (noticed + since) / len(outcomes)),
        "interval": f"{low} to {high} % of all mutants of the folder, with 95 % confidence",
        "survivors": [
            {
                "file": one.path,
                "before": one.before,
                "after": one.after,
                "reason": reason,
            }
            for one, reason in zip(survivors, why, strict=True)
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
