# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each recipe is planned, those of other sources than upstream's as these document; what the user sets wins; the plan says what came from where.

``make releases`` compares the plans of the compiled ones with the guides that they are of.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest
import yaml
from ansible_collections.ascend.inference.docs import recipes_page
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import DEVICES
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes import catalogue, catalogue_data, shelf
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.catalogue import RECIPES
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_table import plan_table
from ansible_collections.ascend.inference.plugins.plugin_utils.views.recipe_fit import hosts_of_pools
from ansible_collections.ascend.inference.tests.conformance import make_recipes
from ansible_collections.ascend.inference.tests.conformance.facts import SOME_ADDRESS, from_facts, to_facts
from ansible_collections.ascend.inference.tests.conformance.translate import translate

ROOT = pathlib.Path(__file__).resolve().parents[3]
ENTRIES = {
    entry["recipe"]: entry
    for entry in json.loads((ROOT / "tests/conformance/recipes.json").read_text(encoding="utf-8"))
}
OF_A_KIND = sorted(  # the first recipe of each connector and combination of pools
    {
        (
            tuple(RECIPES[name]["variables"]["inference_pools"]),
            RECIPES[name]["variables"].get("inference_kv_transfer"),
        ): name
        for name in sorted(RECIPES, reverse=True)
    }.values()
)


def described(name, **more):
    """A few words of a user, and an inventory with as many hosts as the recipe needs."""
    recipe = RECIPES[name]
    devices = DEVICES[recipe["hardware"]]
    own = {
        "inference_recipe": name,
        "inference_model": {"path": f"/models/{recipe['model']}", "name": "served"},
        "inference_engine_install": "site",
        "inference_interface": "eth0",
        "inference_router": {"flavour": "none"},
    }
    inventory = {}
    pools = hosts_of_pools(recipe, devices)
    for kind, count in pools.items():
        for number in range(count):
            groups = list(pools) if recipe["hosts"] == 1 else [kind]
            inventory[f"{kind}{number}"] = {
                "groups": groups,
                "variables": {"ansible_host": f"10.20.0.{len(inventory) + 1}", "inference_devices": devices},
            }
    return {**own, **more}, inventory


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_recipe_of_another_source_is_reproduced(name):
    documented = from_facts(ENTRIES[name])
    found = make_recipes.recipe(from_facts(ENTRIES[name]), RECIPES[name]["release"], ENTRIES[name]["source"])
    assert found == RECIPES[name]
    assert make_recipes.added(found, documented) == []


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_is_planned(name):
    plan = launch_plan(*described(name))
    assert plan["recipe"]["name"] == name and plan["recipe"]["replaced"] == []


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_an_inventory_with_the_variables_of_a_recipe_runs_the_same(name):
    words, inventory = described(name)
    copied = {**words, **yaml.safe_load("\n".join(shelf.yaml_lines(name, RECIPES[name])))}
    del copied["inference_recipe"]
    assert launch_plan(copied, inventory)["services"] == launch_plan(words, inventory)["services"]


def test_there_are_recipes_of_the_families_that_people_deploy():
    found = shelf.families()
    wanted = {
        "deepseek-v4",
        "deepseek-v4.1",
        "glm-5",
        "glm-5.2",
        "glm-5.3",
        "kimi-k2.6",
        "kimi-k3",
        "minimax-m3",
        "qwen3.5",
    }
    assert wanted <= {name for name in found if found[name]["a3"]["pd"] and found[name]["a3"]["mixed"]}
    assert {"deepseek-v4", "glm-5", "glm-5.2", "glm-5.3"} <= {name for name in found if found[name]["a2"]["pd"]}
    for recipe in RECIPES.values():
        assert {"model", "hardware", "hosts", "release", "source", "notes", "variables"} == set(recipe)
        assert ":" in recipe["source"]
    assert sorted(make_recipes.KEPT) == sorted(ENTRIES) and set(ENTRIES) <= set(RECIPES)


def test_the_shelf_is_of_the_default_and_the_newest_release():
    """A newer release of the table needs its guides: make releases ARGS=--write."""
    names = [line.split()[0] for line in catalogue_data.SHELF.split("\n") if line]
    assert tuple(names) == make_recipes.SHELF
    newest = f"vllm-ascend {make_recipes.SHELF[-1]}: "
    assert sum(recipe["source"].startswith(newest) for recipe in RECIPES.values()) > 50


def test_lines_of_a_recipe_are_what_it_is():
    assert catalogue.read(catalogue.write(RECIPES)) == RECIPES
    assert catalogue.write(RECIPES) == catalogue_data.RECIPES.lstrip("\n")
    quoted = {**next(iter(RECIPES.values())), "notes": ['the source\'s "two  words" are left out']}
    assert catalogue.read(catalogue.write({"quoted": quoted})) == {"quoted": quoted}


def test_what_the_user_sets_wins_and_the_plan_says_so():
    own = {"decode": {"args": {"max-num-seqs": 7, "seed": None}, "env": {"OMP_NUM_THREADS": "3"}}}
    words, inventory = described("deepseek-r1-w8a8-a3", inference_pools=own)
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
    assert "Recipe deepseek-r1-w8a8-a3" in table and "inference_pools.decode.args.max-num-seqs" in table


def test_an_unknown_recipe_is_refused_with_the_nearest():
    words, inventory = described("qwen3-235b-w8a8-a3")
    with pytest.raises(PlanError, match=r"Did you mean 'qwen3-235b-w8a8-a3'\?.*") as caught:
        launch_plan({**words, "inference_recipe": "qwen3-235b-w8a8"}, inventory)
    assert "RECIPE-UNKNOWN" in {finding.id for finding in caught.value.findings}


def test_a_plan_without_a_recipe_has_no_such_section():
    words, inventory = translate(from_facts(ENTRIES["glm-5-w8a8-a3"]), False)
    assert "recipe" not in launch_plan(words, inventory)


def test_the_facts_hold_nothing_of_the_source_s_machines():
    text = (ROOT / "tests/conformance/recipes.json").read_text(encoding="utf-8")
    assert len(text) < 50_000
    found = re.findall(r"(?<![\d.])\d+\.\d+\.\d+\.\d+|/root|/home|/mnt|/data|vllm serve|argv", text)
    assert set(found) <= {"0.0.0.0", SOME_ADDRESS}


def test_facts_are_a_deployment_in_other_words():
    documented = from_facts(ENTRIES["deepseek-v4-flash-w8a8-a3-pool"])
    assert from_facts(json.loads(json.dumps(to_facts(documented)))) == documented
    documented.processes[1].args["max-num-seqs"] = 999
    del documented.processes[2].env["HCCL_BUFFSIZE"]
    again = from_facts(to_facts(documented))
    assert again == documented and "HCCL_BUFFSIZE" in again.processes[1].env


def test_the_list_names_each_recipe():
    assert set(RECIPES) <= set(shelf.recipe_lines())


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
@pytest.mark.parametrize("name", OF_A_KIND)
def test_what_the_user_sets_for_all_engines_wins_over_every_recipe(name, spelling):
    own = changed(name)
    written = {spelling(key): value for key, value in own["args"].items()}
    words, inventory = described(name, inference_args=written, inference_env=own.get("env", {}))
    plan = accepted(words, inventory)
    kinds = set(RECIPES[name]["variables"]["inference_pools"])
    for part, options in own.items():
        ((key, value),) = options.items()
        assert values_of(plan, part, key) == {kind: {str(value)} for kind in kinds}
        places = {f"inference_pools.{kind}.{part}.{key}" for kind in kinds}
        assert places <= set(plan["recipe"]["replaced"]) and not places & set(plan["recipe"]["brought"])


@pytest.mark.parametrize("spelling", [str, lambda key: f"--{key.replace('-', '_')}"], ids=["plain", "dashes"])
@pytest.mark.parametrize("name", OF_A_KIND)
def test_what_the_user_sets_for_one_pool_wins_over_every_recipe_and_over_all_engines(name, spelling):
    own = changed(name)
    kinds = sorted(RECIPES[name]["variables"]["inference_pools"])
    first, rest = kinds[0], kinds[1:]
    pool = {"args": {spelling(key): value for key, value in own["args"].items()}, "env": own.get("env", {})}
    wide = {"inference_args": dict.fromkeys(own["args"], 768), "inference_env": dict.fromkeys(own.get("env", {}), "7")}
    words, inventory = described(name, inference_pools={first: pool}, **wide)
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
    words, inventory = described("deepseek-r1-w8a8-a3", **own)
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
    words, inventory = described("deepseek-r1-w8a8-a3", inference_args={"no-trust-remote-code": True})
    plan = launch_plan(words, inventory)
    engines = [service for service in plan["services"] if service["kind"] in ("prefill", "decode")]
    assert all(
        "--no-trust-remote-code" in item["argv"] and "--trust-remote-code" not in item["argv"] for item in engines
    )
    assert "inference_pools.decode.args.trust-remote-code" in plan["recipe"]["replaced"]


def test_no_recipe_has_a_file_of_somebody_s_home():
    assert re.findall(r"[^ ]*/(?:root|home)/[^ ]*", json.dumps(RECIPES)) == []
