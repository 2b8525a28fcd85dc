# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is judged: plans of the tests' families in each release, and of every inventory of the collection."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import typing as t
from pathlib import Path

from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import FAMILIES, family

ROOT = Path(__file__).resolve().parents[2]
FIRST_CLASS = ("0.23.0", "0.18.0")
# Words that a deployment may have on top: every form in which a value reaches a command line
MORE = {
    "inference_args.no-enable-prefix-caching": True,
    "inference_args.additional-config": {"ascend_scheduler_config": {"enabled": False}},
    "inference_args.gpu-memory-utilization": 0.9,
    "inference_args.speculative-config": '{"num_speculative_tokens": 1, "method": "deepseek_mtp"}',
}
# Keys of configurations as flags of their own; vLLM builds the configuration of them and refuses a key that it lacks
DOTTED = {"compilation_config.cudagraph_capture_sizes": [1, 2], "compilation-config.cudagraph_mode": "FULL_DECODE_ONLY"}
DOTTED_SINCE = (0, 18)


def releases(choice: str) -> list[str]:
    """The releases of a choice: first-class, all (that a CPU build of their vLLM exists for), or one name."""
    if choice == "first-class":
        return list(FIRST_CLASS)
    if choice == "all":
        return [name for name in RELEASES if _vllm(name) >= (0, 9, 1) and name != "main"]
    return [choice]


def _vllm(name: str) -> tuple[int, ...]:
    return tuple(RELEASES[name].vllm_version)


def plans(release: str) -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    """Every family that the release can run, with and without more arguments."""
    for name, (words, dummy) in FAMILIES.items():
        cpu = words.get("inference_engine") == "vllm_cpu"
        if cpu != release.startswith("cpu-"):
            continue
        for label, changes in ((name, {}), (f"{name}+", MORE if not cpu else {})):
            changed, inventory = family(name, {**changes, "inference_release": release})
            if changes and _vllm(release) >= DOTTED_SINCE:
                changed["inference_args"] = {**changed.get("inference_args", {}), **DOTTED}
            try:
                yield label, launch_plan(changed, inventory)
            except PlanError:
                continue  # the release lacks the family's connector, or the like


def inventories() -> t.Iterator[tuple[str, dict[str, t.Any]]]:
    """The plan of every inventory that the collection ships, made by the playbook as its users make it."""
    env = {**os.environ, "ANSIBLE_NOCOLOR": "1"}
    for folder in sorted(path for path in (ROOT / "inventories").glob("*") if path.is_dir()):
        with tempfile.TemporaryDirectory() as scratch:
            plan = Path(scratch) / "plan.json"
            command = [
                "ansible-playbook",
                "-i",
                str(folder),
                "ascend.inference.plan",
                "-e",
                f"inference_plan_file={plan}",
            ]
            done = subprocess.run(command, text=True, capture_output=True, check=False, env=env)
            if done.returncode:
                raise SystemExit(f"{folder.name} cannot be planned:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
            yield folder.name, json.loads(plan.read_text(encoding="utf-8"))
