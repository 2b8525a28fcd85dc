# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the planner's command lines accepted by the programs that will read them?

    run.py --releases first-class|all|NAME     every command of every family of deployments, and of the inventories

Engines are judged by the argument parser of the vLLM that the release pins, mooncake_master by its own binary (which is
started), etcd by that of the distribution, vllm-router and the release's proxies by their own reading of the command line. Each judge first has to refuse
a wrong command; one that does not is no judge. Their metrics are compared with those that rules of monitoring read.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import typing as t

import aisbench_client
import bench_client
import deployments
import judges
import metric_names
import spans
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.registry import FLAVOURS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES

CONFIGURED = ("frontend", "balancer")  # HAProxy reads files, which tests/integration gives to them
ENGINES = ("prefill", "decode", "colocated", "encode")
MINE = re.compile(r"--(host|port|data-parallel-(rank|start-rank|address|rpc-port))$")

Commands = dict[tuple[str, ...], str]


def judge_of(plan: dict[str, t.Any], service: dict[str, t.Any]) -> tuple[str, str]:
    """Which judge, and which version of it."""
    release = RELEASES[plan["release"]]
    if service["kind"] in ENGINES:
        return "vllm", release.vllm
    if service["kind"] == "mooncake_master":
        return "mooncake_master", release.mooncake
    if service["kind"] == "etcd":
        return "etcd", "package"
    flavour = plan["software"]["router"]["flavour"]
    package = FLAVOURS[flavour].package
    return (flavour, package.requirement.partition("==")[2]) if package else ("proxy", plan["release"])


def collect(named: t.Iterable[tuple[str, dict[str, t.Any]]], found: dict[tuple[str, str], Commands]) -> None:
    """Sort the plans' commands by judge; those that differ in a rank or an address only are judged once."""
    for label, plan in named:
        seen = set()
        for service in plan["services"]:
            if service["kind"] in CONFIGURED:
                continue
            argv = tuple(service["argv"])
            shape = tuple("" if index and MINE.match(argv[index - 1]) else word for index, word in enumerate(argv))
            if service["kind"] in ("router", "mooncake_master") or (service["kind"], shape) not in seen:
                seen.add((service["kind"], shape))
                found.setdefault(judge_of(plan, service), {}).setdefault(argv, f"{label} {service['name']}")


def judged(judge: str, version: str, commands: Commands) -> list[str]:
    """What is wrong: refused commands, or a judge that accepts anything."""
    wrong = "--no_such_flag=1" if judge == "mooncake_master" else "--no-such-flag"
    lines = list(commands)
    verdicts = getattr(judges, judge)(version, [(*lines[0], wrong), *lines])
    problems = [] if verdicts[0] else [f"{judge} {version} accepts {wrong}: it judges nothing"]
    if len(verdicts) != len(lines) + 1:
        problems.append(f"{judge} {version} answered {len(verdicts)} of {len(lines) + 1} commands")
    for argv, verdict in zip(lines, verdicts[1:], strict=False):
        if verdict:
            problems.append(f"{judge} {version} refuses {commands[argv]}: {verdict}\n    {' '.join(argv)}")
    return problems


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", default="first-class", help="first-class, all, or the name of one")
    parser.add_argument(
        "--only", default="", help="one judge: vllm, mooncake_master, etcd, vllm_router, proxy or aisbench"
    )
    options = parser.parse_args()
    found: dict[tuple[str, str], Commands] = {}
    measured: dict[str, dict[str, t.Any]] = {}  # a plan with a client for each vLLM
    chosen = deployments.releases(options.releases)
    for release in chosen:
        plans = [(f"{release} {label}", plan) for label, plan in deployments.plans(release)]
        collect(plans, found)
        measured.update(
            (RELEASES[release].vllm, plan) for dummy, plan in plans if not plan["runtime_facts"]["in_cluster"]
        )
    shipped = [(label, plan) for label, plan in deployments.inventories() if plan["release"] in chosen]
    collect(shipped, found)
    problems, start = [], time.monotonic()
    for (judge, version), commands in sorted(found.items()):
        if not version or options.only not in ("", judge):
            continue
        wrong = [*judged(judge, version, commands), *metric_names.problems(judge, version)]
        if judge == "vllm" and version in measured:
            wrong += [*bench_client.problems(version, measured[version]), *spans.problems(version)]
        problems += wrong
        print(f"{judge:<16}{version:<14}{len(commands):>4} commands, {len(wrong)} problems", flush=True)
    if measured and options.only in ("", "aisbench"):
        wrong = aisbench_client.problems(next(iter(measured.values())))
        problems += wrong
        print(f"{'aisbench':<16}{aisbench_client.VERSION:<14}{len(wrong):>14} problems", flush=True)
    missing = {"vllm"} - {judge for judge, dummy in found}
    problems += [f"nothing was rendered for {item}" for item in missing]
    print("\n".join(problems))
    print(f"{len(problems)} problems in {time.monotonic() - start:.0f} s; releases: {', '.join(chosen)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
