# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does upstream's own configuration code accept what the planner accepts?

    run.py [--releases NAMES] [--plans COUNT] [--random COUNT] [--seed TEXT] [--verbose]

The engines' commands of accepted plans (inventories, families of the unit tests, recipes, documented deployments, random
descriptions) are passed to each release's argument parser, engine configuration, platform and connector class, on a
machine without NPUs. What upstream refuses is red, unless known.yml says why the planner accepts it.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import re
import sys
import time
import typing as t

import corpora
import layout
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import model_figures
from commands import Command, of_plan

HERE = pathlib.Path(__file__).resolve().parent
RELEASES = ("0.23.0.post1", "0.30.0rc2")  # the default and the newest
ALL = ("0.11.0", "0.13.0", "0.18.0", *RELEASES)
WRONG = "--no-such-option"
Refusal = tuple[Command, dict[str, str]]


def known() -> list[dict[str, str]]:
    """Refusals that the planner does not foresee, each with its reason."""
    return yaml.safe_load((HERE / "known.yml").read_text(encoding="utf-8")) or []


def reason(entries: t.Iterable[dict[str, str]], release: str, refusal: Refusal) -> str:
    """The text of the entry that a refusal is known by; empty if none is."""
    command, answer = refusal
    for entry in entries:
        where = entry.get("releases", release).split(",")
        if release in where and entry.get("from", "") in command.label and re.search(entry["says"], answer["text"]):
            return entry["says"]
    return ""


def collect(release: str, options: argparse.Namespace) -> dict[str, list[Command]]:
    """The commands of a release by hardware, each of those once that differ in a rank or an address only."""
    fixed = list(corpora.fixed(release))
    if options.plans:  # of models whose figures the rules use, too
        fixed = [item for item in fixed if item[1] == "A3" and figures(item[2])]
        fixed = fixed[:: max(1, len(fixed) // options.plans)]
    groups: dict[str, dict[tuple[str, ...], Command]] = {}
    for label, hardware, plan in [*fixed, *corpora.random_ones(release, options.seed, options.random)]:
        for command in of_plan(label, plan):
            if options.only in label:
                groups.setdefault(hardware, {}).setdefault(command.shape(), command)
    return {hardware: list(found.values()) for hardware, found in groups.items()}


def figures(plan: dict[str, t.Any]) -> str:
    """Whose figures the rules use for a plan's model; "" for none."""
    return model_figures.of_model(plan["model"]["path"], plan["model"]["name"]).source


def refused(release: str, hardware: str, commands: list[Command]) -> tuple[list[Refusal], str]:
    """The refused commands, and what is wrong with the judge itself."""
    wrong = commands[0]._replace(argv=(*commands[0].argv, WRONG))
    first, *answers = layout.answers(release, hardware, [command.case() for command in (wrong, *commands)])
    problem = "" if WRONG in first["text"] else f"{release} accepts {WRONG}: it judges nothing"
    return [pair for pair in zip(commands, answers, strict=True) if pair[1]["kind"]], problem


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", default=",".join(RELEASES), help="names with commas, or all")
    parser.add_argument(
        "--plans", type=int, default=4, help="plans of A3 for each release, without random ones; 0 for all"
    )
    parser.add_argument("--random", type=int, default=6, help="random plans for each release")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", default="", help="only commands whose label contains this text")
    parser.add_argument("--verbose", action="store_true", help="print the refused commands, and those that are known")
    options = parser.parse_args()
    entries, problems = known(), []
    used: collections.Counter[str] = collections.Counter()
    for release in ALL if options.releases == "all" else options.releases.split(","):
        begin = time.monotonic()
        for hardware, commands in sorted(collect(release, options).items()):
            found, problem = refused(release, hardware, commands) if commands else ([], "")
            problems += [problem] if problem else []
            for refusal in found:
                text = reason(entries, release, refusal)
                used[text] += bool(text)
                line = f"{release} {hardware} {refusal[0].label}: {refusal[1]['kind']}: {refusal[1]['text']}"
                problems += [] if text else [line]
                if options.verbose:
                    print(f"{'known' if text else 'NEW'} {line}\n    {' '.join(refusal[0].argv)}\n    {refusal[0].env}")
            plans = {command.label.rpartition(" ")[0] for command in commands}
            wrong = {command.label.rpartition(" ")[0] for command, _answer in found}
            print(
                f"{release:<14}{hardware:<4}{len(commands):>4} commands of {len(plans)} plans, {len(found)} of {len(wrong)} plans refused, "
                f"{sum(label.startswith('random') for label in wrong)} of them random ones; {time.monotonic() - begin:.0f} s",
                flush=True,
            )
    print("\n".join(problems))
    print(f"{len(problems)} problems, and {sum(used.values())} known refusals")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
