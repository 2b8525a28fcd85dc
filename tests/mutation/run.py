# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutants: small mistakes in product code, one at a time, and whether a unit test notices each.

Usage, in a copy of the checkout that may be changed: python tests/mutation/run.py [--folder NAME] [--count 40] [--seed 1] [--seconds 60]
[--write SCORES.yml]

A complete run takes days, so a sample is drawn. Prints each mutant that no test notices, and the score of each folder with the interval in which
that of all its mutants is. Fails if a score is below the aim or if a survivor has no reason in ``scores.yml``, which ``--write`` writes again;
reasons are kept.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import typing as t

import yaml
from ansible_collections.ascend.inference.tests.mutation.judge import Judge
from ansible_collections.ascend.inference.tests.mutation.sample import FOLDERS, SEED, Mutant, interval, sample

HERE = pathlib.Path(__file__).resolve().parent
AIMS = {"planner": 85, "rules": 85, "renderers": 85, "verify": 85}  # percent
HEAD = """# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Small mistakes in product code that unit tests notice: a sample of each folder, drawn by a seed; written by tests/mutation/run.py. Each survivor
# has a reason: missing test (and the one that was written since), equivalent (nobody can see a difference), elsewhere (another part of the
# tests sees it), accepted (and why).
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
    options = parser.parse_args()
    root = pathlib.Path.cwd()
    path = HERE / "scores.yml"
    known = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {"folders": {}}
    reasons = {
        (one["file"], one["before"], one["after"]): one["reason"]
        for folder in known["folders"].values()
        for one in folder["survivors"]
    }
    judge = Judge(root, pathlib.Path(tempfile.mkdtemp()), options.seconds)
    scores, failures = {}, []
    for folder in options.folder or FOLDERS:
        outcomes = tried(judge, folder, options)
        scores[folder] = score(outcomes, reasons)
        print(f"{folder}: {scores[folder]['noticed']} of {scores[folder]['mutants']} noticed", flush=True)
        if scores[folder]["percent"] < AIMS.get(folder, 0):
            failures.append(f"{folder}: {scores[folder]['percent']} % are noticed, the aim is {AIMS[folder]} %")
        failures += [
            f"{one['file']}: no reason for: {one['after']}" for one in scores[folder]["survivors"] if not one["reason"]
        ]
    if options.write:
        text = yaml.safe_dump(
            {"seed": options.seed, "folders": {**known["folders"], **scores}}, sort_keys=False, width=1000
        )
        options.write.write_text(HEAD + text, encoding="utf-8")
    print("\n".join(failures))
    return 1 if failures else 0


def tried(judge: Judge, folder: str, options: argparse.Namespace) -> list[tuple[Mutant, str]]:
    """The mutants of a folder, each with the test that notices it."""
    outcomes = []
    for number, mutant in enumerate(sample(judge.root, folder, options.count, options.seed)):
        test = judge.judged(mutant)
        outcomes.append((mutant, test))
        print(f"{folder} {number + 1} {mutant.path}:{mutant.place.line} {test or 'SURVIVED'}", flush=True)
        if not test:
            print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)
    return outcomes


def score(outcomes: list[tuple[Mutant, str]], reasons: t.Mapping[t.Any, str]) -> dict[str, t.Any]:
    """The record of a folder."""
    noticed = sum(bool(test) for _mutant, test in outcomes)
    low, high = interval(noticed, len(outcomes))
    survivors = [mutant for mutant, test in outcomes if not test]
    return {
        "mutants": len(outcomes),
        "noticed": noticed,
        "percent": round(100 * noticed / len(outcomes)),
        "interval": f"{low} to {high} % of all mutants of the folder, with 95 % confidence",
        "survivors": [
            {
                "file": one.path,
                "before": one.before,
                "after": one.after,
                "reason": reasons.get((one.path, one.before, one.after), ""),
            }
            for one in survivors
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
