# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each recipe plans what its source documents; what the user sets wins; the plan says what came from where."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.docs import recipes_page
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.apply import recipe_lines
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.catalogue import RECIPES
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_table import plan_table
from ansible_collections.ascend.inference.tests.conformance import make_recipes
from ansible_collections.ascend.inference.tests.conformance.compare import compare
from ansible_collections.ascend.inference.tests.conformance.facts import SOME_ADDRESS, from_facts, to_facts
from ansible_collections.ascend.inference.tests.conformance.translate import translate

ROOT = pathlib.Path(__file__).resolve().parents[3]
ENTRIES = {
    entry["recipe"]: entry
    for entry in json.loads((ROOT / "tests/conformance/recipes.json").read_text(encoding="utf-8"))
}
# Settings of one host of the source, which a recipe leaves out
OF_HOSTS = {"deepseek-r1-w8a8-a3"}


def described(name, **more):
    """A few words of a user and an inventory like the source's hosts, and what the source documents."""
    documented = from_facts(ENTRIES[name])
    words, inventory = translate(documented, False)
    own = {"inference_recipe": name, "inference_model": words["inference_model"], "inference_engine_install": "site"}
    if documented.proxy is None:
        own["inference_router"] = {"flavour": "none"}
    return {**own, **more}, inventory, documented


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_is_reproduced(name):
    words, inventory, documented = described(name)
    plan = launch_plan(words, inventory)
    differences = [item for item in compare(documented, plan, False) if not item.reason]
    if name in OF_HOSTS:
        assert differences and {item.facet for item in differences} <= {"args", "env"}
    else:
        assert differences == []
    assert plan["recipe"]["name"] == name
    assert plan["recipe"]["replaced"] == []


def test_there_are_recipes_of_many_kinds():
    assert len(RECIPES) >= 15
    assert {recipe["hardware"] for recipe in RECIPES.values()} >= {"a2", "a3"}
    for recipe in RECIPES.values():
        assert {"model", "hardware", "hosts", "release", "source", "variables"} == set(recipe)
        assert ":" in recipe["source"]
    assert sorted(RECIPES) == sorted(make_recipes.CHOSEN) == sorted(ENTRIES)


def test_what_the_user_sets_wins_and_the_plan_says_so():
    own = {"decode": {"args": {"max-num-seqs": 7, "seed": None}, "env": {"OMP_NUM_THREADS": "3"}}}
    words, inventory, _documented = described("qwen3-235b-w8a8-a3", inference_pools=own)
    plan = launch_plan(words, inventory)
    decode = next(service for service in plan["services"] if service["kind"] == "decode")
    prefill = next(service for service in plan["services"] if service["kind"] == "prefill")
    assert decode["argv"][decode["argv"].index("--max-num-seqs") + 1] == "7"
    assert "--seed" not in decode["argv"] and "--seed" in prefill["argv"]
    assert decode["env"]["OMP_NUM_THREADS"] == "3" != prefill["env"]["OMP_NUM_THREADS"]
    replaced = set(plan["recipe"]["replaced"])
    assert replaced == {
        "inference_pools.decode.args.max-num-seqs",
        "inference_pools.decode.args.seed",
        "inference_pools.decode.env.OMP_NUM_THREADS",
    }
    assert "inference_pools.prefill.args.max-num-seqs" in plan["recipe"]["brought"]
    table = "\n".join(plan_table(plan))
    assert "Recipe qwen3-235b-w8a8-a3" in table and "inference_pools.decode.args.max-num-seqs" in table


def test_an_unknown_recipe_is_refused_with_the_nearest():
    words, inventory, _documented = described("qwen3-235b-w8a8-a3")
    with pytest.raises(PlanError, match=r"Did you mean 'qwen3-235b-w8a8-a3'\?.*") as caught:
        launch_plan({**words, "inference_recipe": "qwen3-235b-w8a8"}, inventory)
    assert "RECIPE-UNKNOWN" in {finding.id for finding in caught.value.findings}


def test_a_plan_without_a_recipe_has_no_such_section():
    words, inventory = translate(from_facts(ENTRIES["qwen3-235b-w8a8-a3"]), False)
    assert "recipe" not in launch_plan(words, inventory)


def test_the_facts_hold_nothing_of_the_source_s_machines():
    text = (ROOT / "tests/conformance/recipes.json").read_text(encoding="utf-8")
    assert len(text) < 120_000
    found = re.findall(r"(?<![\d.])\d+\.\d+\.\d+\.\d+|/root|/home|/mnt|/data|vllm serve|argv", text)
    assert set(found) <= {"0.0.0.0", SOME_ADDRESS}


def test_facts_are_a_deployment_in_other_words():
    documented = from_facts(ENTRIES["deepseek-v3.1-w8a8-a3"])
    assert from_facts(json.loads(json.dumps(to_facts(documented)))) == documented
    documented.processes[1].args["max-num-seqs"] = 999
    del documented.processes[2].env["HCCL_BUFFSIZE"]
    again = from_facts(to_facts(documented))
    assert again == documented and "HCCL_BUFFSIZE" in again.processes[1].env


def test_the_list_names_each_recipe():
    assert set(RECIPES) <= set(recipe_lines())


def test_the_page_is_in_step():
    script = ROOT / "docs" / "recipes_page.py"
    shown = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    assert shown == recipes_page.PAGE.read_text(encoding="utf-8"), "run: python docs/recipes_page.py --write"


# One option and one variable of each recipe's pools, as a user would change them
def changed(name):
    """The first option and variable that every pool of a recipe sets, with other values: {part: {key: value}}."""
    pools = RECIPES[name]["variables"]["inference_pools"].values()
    option = next(key for key in ("max-model-len", "max-num-seqs") if all(key in pool["args"] for pool in pools))
    own = {"args": {option: 1536}}
    shared = set.intersection(*(set(pool.get("env", {})) for pool in pools)) - {"DYNAMIC_EPLB"}
    if shared:
        own["env"] = {min(shared & {"HCCL_BUFFSIZE"} or shared): "1234"}
    return own


def values_of(plan, part, key):
    """The final values of an option or variable, by kind of engine."""
    found = {}
    for service in plan["services"]:
        if service["kind"] in ("encode", "prefill", "decode", "colocated"):
            argv = service["argv"]
            value = argv[argv.index(f"--{key}") + 1] if part == "args" else service["env"].get(key)
            found.setdefault(service["kind"], set()).add(str(value))
    return found


def accepted(words, inventory):
    """The plan, also if a rule has an objection to the value, which is not what is asked here."""
    try:
        return launch_plan(words, inventory)
    except PlanError as error:
        ids = sorted({finding.id for finding in error.findings})
        return launch_plan({**words, "inference_rules_ignore": ids}, inventory)


@pytest.mark.parametrize("spelling", [str, lambda key: f"--{key.replace('-', '_')}"], ids=["plain", "dashes"])
@pytest.mark.parametrize("name", sorted(RECIPES))
def test_what_the_user_sets_for_all_engines_wins_over_every_recipe(name, spelling):
    own = changed(name)
    written = {spelling(key): value for key, value in own["args"].items()}
    words, inventory, _documented = described(name, inference_args=written, inference_env=own.get("env", {}))
    plan = accepted(words, inventory)
    kinds = set(RECIPES[name]["variables"]["inference_pools"])
    for part, options in own.items():
        ((key, value),) = options.items()
        assert values_of(plan, part, key) == {kind: {str(value)} for kind in kinds}
        places = {f"inference_pools.{kind}.{part}.{key}" for kind in kinds}
        assert places <= set(plan["recipe"]["replaced"]) and not places & set(plan["recipe"]["brought"])


@pytest.mark.parametrize("spelling", [str, lambda key: f"--{key.replace('-', '_')}"], ids=["plain", "dashes"])
@pytest.mark.parametrize("name", sorted(RECIPES))
def test_what_the_user_sets_for_one_pool_wins_over_every_recipe_and_over_all_engines(name, spelling):
    own = changed(name)
    kinds = sorted(RECIPES[name]["variables"]["inference_pools"])
    first, rest = kinds[0], kinds[1:]
    pool = {"args": {spelling(key): value for key, value in own["args"].items()}, "env": own.get("env", {})}
    wide = {"inference_args": dict.fromkeys(own["args"], 768), "inference_env": dict.fromkeys(own.get("env", {}), "7")}
    words, inventory, _documented = described(name, inference_pools={first: pool}, **wide)
    plan = accepted(words, inventory)
    for part, options in own.items():
        ((key, value),) = options.items()
        other = str(next(iter(wide[f"inference_{part}"].values())))
        assert values_of(plan, part, key) == {first: {str(value)}, **{kind: {other} for kind in rest}}
        assert {f"inference_pools.{kind}.{part}.{key}" for kind in kinds} <= set(plan["recipe"]["replaced"])


@pytest.mark.parametrize(
    ("own", "shown"),
    [
        ({"inference_args": {"speculative-config": {"num_speculative_tokens": 3}}}, ("mtp", 3)),
        ({"inference_args": {"speculative_config": {"num_speculative_tokens": 3}}}, ("mtp", 3)),
        ({"inference_args": {"speculative-config.num_speculative_tokens": 3}}, ("mtp", 3)),
        ({"inference_pools": {"decode": {"args": {"speculative_config": {"num_speculative_tokens": 3}}}}}, ("mtp", 3)),
        ({"inference_pools": {"decode": {"args": {"speculative-config.num_speculative_tokens": 3}}}}, ("mtp", 3)),
        ({"inference_args": {"speculative-config": None}}, (None, None)),
    ],
)
def test_a_mapping_of_the_user_keeps_what_the_recipe_has_beside_it(own, shown):
    words, inventory, _documented = described("deepseek-r1-w8a8-a3", **own)
    plan = launch_plan(words, inventory)
    decode = next(service for service in plan["services"] if service["kind"] == "decode")
    found = {}
    for flag, value in zip(decode["argv"], decode["argv"][1:], strict=False):
        if flag == "--speculative-config":
            found = json.loads(value)
        elif flag.startswith("--speculative-config."):
            found[flag.partition(".")[2]] = json.loads(value) if value[0] in "{0123456789" else value
    assert (found.get("method"), found.get("num_speculative_tokens")) == shown
    replaced = plan["recipe"]["replaced"]
    assert "inference_pools.decode.args.speculative-config.num_speculative_tokens" in replaced
    assert ("inference_pools.decode.args.speculative-config.method" in replaced) == (shown[0] is None)


def test_an_option_that_the_recipe_switches_on_is_switched_off_in_its_other_form():
    words, inventory, _documented = described("deepseek-r1-w8a8-a3", inference_args={"no-trust-remote-code": True})
    plan = launch_plan(words, inventory)
    engines = [service for service in plan["services"] if service["kind"] in ("prefill", "decode")]
    assert all(
        "--no-trust-remote-code" in item["argv"] and "--trust-remote-code" not in item["argv"] for item in engines
    )
    assert "inference_pools.decode.args.trust-remote-code" in plan["recipe"]["replaced"]
