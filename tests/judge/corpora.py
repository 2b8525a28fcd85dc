# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The accepted plans that a release is judged by."""

from __future__ import annotations

import functools
import pathlib
import typing as t

import deployments
import random_plans
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.catalogue import RECIPES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.tests.conformance.read_entry import read_entry
from ansible_collections.ascend.inference.tests.conformance.run import read_corpus
from ansible_collections.ascend.inference.tests.conformance.translate import translate
from ansible_collections.ascend.inference.tests.unit.conformance.test_recipes import described
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import FAMILIES, family
from commands import source_of

CASES = pathlib.Path(__file__).resolve().parents[1] / "conformance" / "cases.yaml"
# The made-up models of the unit tests' families, as a model with figures
MODEL = {"path": "/models/Qwen3-235B-A22B-W8A8", "name": "qwen"}
P, D = "inference_pools.prefill", "inference_pools.decode"
# What upstream's guides set beside the families: for one rank, one pool, the hosts of one generation, and other connectors and layouts
LAYOUTS: tuple[tuple[str, str, dict[str, t.Any]], ...] = (
    (
        "p2p",
        "a rank with ports of its own",
        {f"{D}.load_balancing": "external", f"{D}.ranks": {0: {"env": {"HCCL_NPU_SOCKET_PORT_RANGE": "60000-60099"}}}},
    ),
    ("both", "decode without a segment", {f"{D}.store_segment_size": 0}),
    ("newest", "preempted requests keep their cache", {f"{D}.kv_transfer": "mooncake+preempt_offload"}),
    ("p2p", "links of a 950", {"inference_hardware": "950", "inference_devices": 16}),
    (
        "p2p",
        "encoders before colocated engines",
        {
            "inference_kv_transfer": "",
            "inference_pools": {
                "encode": {"tensor_parallel_size": 4, "group": "prefill"},
                "colocated": {"tensor_parallel_size": 8, "group": "decode"},
            },
            "inference_router": {"flavour": "epd_layerwise"},
        },
    ),
)
Named = tuple[str, dict[str, t.Any], dict[str, t.Any]]
Planned = tuple[str, str, dict[str, t.Any]]

inventories = functools.cache(lambda: list(deployments.inventories()))


def descriptions(release: str) -> t.Iterator[Named]:
    """Variables and inventories of the unit tests' families, recipes and documented deployments."""
    for name in sorted(FAMILIES):
        words, inventory = family(name, {"inference_model": dict(MODEL)})
        if words.get("inference_engine", "vllm_ascend") == "vllm_ascend":
            yield f"family {name}", words, inventory
    for name, layout, changes in LAYOUTS:
        yield f"layout {layout}", *family(name, {**changes, "inference_model": dict(MODEL)})
    for name in sorted(RECIPES):
        if RECIPES[name]["release"] not in RELEASES or RECIPES[name]["release"] == release:
            yield f"recipe {name}", *described(name)
    for entry in read_corpus(str(CASES)):
        documented = read_entry(entry)
        if documented.processes:
            yield f"case {documented.id}", *translate(documented, False)


def fixed(release: str) -> t.Iterator[Planned]:
    """Label, hardware and plan of everything that the planner accepts with this release and whose model has figures."""
    for name, plan in inventories():
        if plan["release"] == release:
            yield f"inventory {name}", hardware_of(plan), plan
    for label, words, inventory in descriptions(release):
        model = words["inference_model"]
        if not source_of(model["path"], model.get("name", "")):
            continue
        more = {"inference_release": release}
        if RELEASES[release].image_builds:
            more["inference_engine_install"] = "site"
        try:
            plan = launch_plan({**words, **more}, inventory)
        except PlanError:
            continue  # the release lacks something that the deployment needs
        yield label, hardware_of(plan), plan


def random_ones(release: str, seed: str, count: int) -> t.Iterator[Planned]:
    """The same of random descriptions."""
    for label, plan in random_plans.plans(release, seed, count):
        yield label, hardware_of(plan), plan


def hardware_of(plan: dict[str, t.Any]) -> str:
    """A2 or A3: the hardware whose build of vLLM-Ascend configures the engines."""
    return "A2" if any(host.get("hardware") == "a2" for host in plan["hosts"]) else "A3"
