# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every value of the published guides is in the plans as docs/published says, and what does a step exists."""

from __future__ import annotations

import copy
import functools
import importlib.util
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.filter.advise import services_filter as engine_counters
from ansible_collections.ascend.inference.plugins.filter.drill import runs_filter as drill_runs
from ansible_collections.ascend.inference.plugins.filter.monitoring import files_filter as monitoring_files
from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.log_causes import CAUSES
from ansible_collections.ascend.inference.plugins.module_utils.verify.records import STEPS
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.description import variables as topology
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import RULES as HOST_RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.fabric_settings import fabric_settings
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.metric_names import of_vllm
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes import playbooks
from ansible_collections.ascend.inference.tests.unit.docs.published_places import places, values_at
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import INVENTORIES, plan_of

ROOT = Path(__file__).resolve().parents[3]
COMMAND = "python docs/published_page.py --write"


def generator():
    spec = importlib.util.spec_from_file_location("published_page", ROOT / "docs" / "published_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGE = generator()
GUIDES = PAGE.guides()
REFERENCES = {reference for data in GUIDES.values() for row in data["rows"] for reference in row.get("by", ())}
WORDS = {"line", "name", "value", "at", "in", "by", "ours", "verdict", "why"}
ALL_FILTERS = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "plugins/filter").glob("*.py"))
CHECKS_OF_KUBERNETES = (ROOT / "plugins/module_utils/kubernetes/preflight.py").read_text(encoding="utf-8")


def with_variables(inventory, folder=INVENTORIES):
    """The plan of an inventory, with the variables that the inventory sets for all hosts as ``inventory``."""
    text = (folder / inventory / "group_vars" / "all.yml").read_text(encoding="utf-8")
    return {**plan_of(inventory, folder), "inventory": yaml.safe_load(text)}


@functools.lru_cache
def planned(inventory):
    return with_variables(inventory)


def inventories_of(guide, row):
    every = GUIDES[guide]["inventories"]
    return [every[row["in"]]] if "in" in row else list(every.values())


def differences(guide, plan_of_inventory):
    """Rows of a guide that are not so in the plans, as lines."""
    for number, row in enumerate(GUIDES[guide]["rows"], 1):
        expected = PAGE.text(row.get("ours", row["value"]))
        for inventory in inventories_of(guide, row):
            for place in row.get("at", ()):
                for found in sorted(set(values_at(plan_of_inventory(inventory), place)) - {expected}):
                    yield f"row {number}, {inventory}: {place} is {found}, expected: {expected}"


@pytest.mark.parametrize("guide", GUIDES)
def test_the_plans_have_what_the_rows_say(guide):
    found = list(differences(guide, planned))
    assert found == [], f"correct the inventory, or the row and its reason; {COMMAND}"


def changed_copy(folder, inventory, change):
    """The folder, with a copy of an inventory in which one text is replaced by another."""
    shutil.copytree(ROOT / "inventories" / inventory, folder / inventory)
    for path in folder.rglob("*.yml"):
        path.write_text(path.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("guide", "inventory", "change", "place"),
    [
        (
            "colocated_pool",
            "a2_colocated_pool",
            ("0.95", "0.9"),
            "mooncake-master argv --eviction_high_watermark_ratio",
        ),
        ("llmdatadist_w8a8", "a3_llmdatadist_w8a8", ("5659", "5660"), "decode-0 env VLLM_LLMDD_RPC_PORT"),
        ("mooncake_1p1d", "a3_kthena_1p1d", ("94", "95"), "container prefill resources limits cpu"),
        ("llmdatadist_1p2d", "a2_llmdatadist_1p2d", ("[6, 7]", "[5, 6]"), "decode-1 devices"),
        ("mooncake_1p1d", "a3_mooncake_1p1d", ("model_repair: true", ""), "inventory model_repair"),
        ("llmdatadist_w8a8", "a3_llmdatadist_w8a8", ("tls: false", "tls: true"), "host a3-1 fabric tls"),
    ],
)
def test_a_changed_plan_breaks_a_row(guide, inventory, change, place, tmp_path):
    changed = with_variables(inventory, changed_copy(tmp_path, inventory, change))
    found = list(differences(guide, lambda name: changed if name == inventory else planned(name)))
    assert any(f"{inventory}: {place} is " in line for line in found)


# What a row or a finding says that a release does not count -> part of the names of such counters. tests/parsers compares the names with the programs.
UNCOUNTED = {
    "does not count the tokens that it loaded": "prompt_tokens_by_source",
    "has no counters of it": "_xfer_",
    "has no transfer counters": "_xfer_",
}


def test_a_release_lacks_the_counters_that_a_row_says_it_lacks():
    said = [
        (guide, row["why"], counter)
        for guide in GUIDES
        for row in GUIDES[guide]["rows"]
        for text, counter in UNCOUNTED.items()
        if text in row.get("why", "")
    ]
    assert {guide for guide, _why, _counter in said} == {"colocated_pool", "llmdatadist_1p2d"}
    for guide, why, counter in said:
        for inventory in GUIDES[guide]["inventories"].values():
            names = of_vllm(planned(inventory)["release_facts"]["vllm"])
            assert names and not any(counter in name for name in names), (guide, why)


def test_bench_names_the_first_vllm_that_counts_what_was_loaded():
    """As its fix of BENCH-POOL-UNKNOWN and the guides say."""
    counter = "vllm:prompt_tokens_by_source_total"
    assert counter in of_vllm("0.16.0") and counter not in of_vllm("0.15.1")
    assert "Use a release with vLLM 0.16 or newer." in (ROOT / "plugins/plugin_utils/bench/report.py").read_text(
        encoding="utf-8"
    )


# Words that join two options, values or commands in a name: each of them needs its own verdict.
LUMPED = re.compile(r", | and [-A-Z/]|; ")
WHOLE = {  # names of rows about one thing
    "TTFT1, nothing in a cache",
    "TTFT2, hit in the own host's memory",
    "TTFT3, hit in the other host's memory",
    "data set B, which evicts A from the NPUs' memory",
}


@pytest.mark.parametrize("guide", GUIDES)
def test_a_row_is_about_one_thing(guide):
    found = {str(row["name"]) for row in GUIDES[guide]["rows"] if LUMPED.search(str(row["name"]))}
    assert found - WHOLE == set()


@pytest.mark.parametrize("guide", GUIDES)
def test_rows_are_complete(guide):
    assert [
        f"{number} {row['name']}: {text}" for number, row in enumerate(GUIDES[guide]["rows"], 1) for text in gaps(row)
    ] == []


@pytest.mark.parametrize(
    "row",
    [
        {"value": 1, "at": ["plan release"], "ours": 2},
        {"value": 1, "by": ["role cann"], "verdict": "better"},
        {"value": 1, "by": ["role cann"], "verdict": "worse", "why": "for a good reason"},
        {"value": 1, "ours": 2, "by": ["role cann"], "why": "for a good reason"},
        {"value": 1},
        {"value": 1, "at": ["plan release"], "whi": "a key that is not known"},
    ],
)
def test_a_gap_is_found(row):
    assert list(gaps({"name": "a", **row})) != []


def gaps(row):
    """What a row lacks, as texts."""
    verdict = PAGE.verdict(row)
    if set(row) - WORDS:
        yield f"unknown keys {sorted(set(row) - WORDS)}"
    if verdict not in PAGE.VERDICTS:
        yield f"unknown verdict {verdict}"
    if not (row.get("at") or row.get("by") or verdict == "not planned"):
        yield "it names neither a place nor what does it"
    differs = "ours" in row and PAGE.text(row["ours"]) != PAGE.text(row["value"])
    if (differs or verdict != "same") and len(row.get("why", "")) < 9:
        yield "a value that differs needs a reason"
    if "ours" in row and not row.get("at"):
        yield "a value of the plan needs its place"


def defined_variables():
    """Variables of the inventory, of a run, and of roles."""
    named = [topology.PREFIX + name for name in (*topology.RUN_VARIABLES, *topology.HOST_VARIABLES)]
    return {*named, *(topology.PREFIX + name for name in topology.Description.__dataclass_fields__)}


def exists(reference):
    """Whether what a row refers to exists."""
    kind, name, *detail = reference.split()
    known = {
        "check": lambda: name in {rule.id for rule in HOST_RULES} or f'"{name}"' in CHECKS_OF_KUBERNETES,
        "rule": lambda: name in {rule.id for rule in RULES},
        "cause": lambda: name in {cause.id for cause in CAUSES},
        "step": lambda: name in STEPS,
        "variable": lambda: name in defined_variables(),
        "page": (ROOT / "docs/docsite/rst" / f"{name}.rst").is_file,
        "filter": lambda: f'"{name}":' in ALL_FILTERS,
        "playbook": lambda: (ROOT / "playbooks" / f"{name}.yml").is_file() and set(detail) <= defined_variables(),
    }
    if kind == "role":
        arguments = ROOT / "roles" / name / "meta" / "argument_specs.yml"
        options = yaml.safe_load(arguments.read_text(encoding="utf-8"))["argument_specs"]["main"]["options"]
        return set(detail) <= set(options)
    if kind == "module":
        module = (ROOT / "plugins/modules" / f"{name}.py").read_text(encoding="utf-8")
        return all(
            re.search(rf"\b{word}\b", module.split("EXAMPLES")[0] + module.split("RETURN")[1]) for word in detail
        )
    return known[kind]()


@pytest.mark.parametrize("reference", sorted(REFERENCES))
def test_what_does_a_step_exists(reference):
    assert exists(reference)


@pytest.mark.parametrize(
    "reference", ["check NO-SUCH", "step entri", "variable inference_modell", "page guide", "playbook benches"]
)
def test_what_does_not_exist_is_found(reference):
    assert not exists(reference)


def fabric_asked(plan):
    """What the playbook fabric says of the plan's settings. That no device was read yet is no refusal of the plan."""
    findings = [each for each in fabric_settings(plan["hosts"], {}, {})["findings"] if each["id"] != "FABRIC-FACTS"]
    if findings:
        raise AnsibleFilterError(str(findings))


# What a playbook asks the plan before its first task on a host; it raises for a refusal. compare has two stages of bench.
ASKED = {
    "advise": lambda plan, settings: engine_counters(plan),
    "bench": bench_runs,
    "compare": bench_runs,
    "drill": lambda plan, settings: drill_runs(
        plan, {"faults": [{"kind": "decode", "action": "jitter"}], "without_spare": True}, plan["deployment"]
    ),
    "fabric": lambda plan, settings: fabric_asked(plan),
    "monitoring": lambda plan, settings: monitoring_files(plan, {}),
}
LOADS = {"colocated_pool": {"profile": "pool"}, "llmdatadist_w8a8": {"profile": "smoke"}}  # of the guides


def refusal(playbook, plan, settings):
    """Why a playbook does nothing with a plan; empty if it goes on to the hosts."""
    text = playbooks.instead(plan["runtime_facts"], playbook, plan["deployment"])
    if plan["runtime_facts"]["in_cluster"]:  # the program is the user's, as the row's page says
        settings = {**settings, "program": "/opt/client/bin/vllm"}
    try:
        ASKED.get(playbook, lambda *given: None)(plan, settings)
    except (AnsibleFilterError, PlanError) as error:
        return text or str(error)
    return text


PLAYED = sorted(
    {
        (guide, inventory, reference.split()[1])
        for guide, data in GUIDES.items()
        for row in data["rows"]
        for reference in row.get("by", ())
        if reference.startswith("playbook ")
        for inventory in inventories_of(guide, row)
    }
)


@pytest.mark.parametrize(("guide", "inventory", "playbook"), PLAYED)
def test_a_playbook_that_a_row_names_serves_its_inventory(guide, inventory, playbook):
    assert refusal(playbook, planned(inventory), LOADS.get(guide, {})) == ""


@pytest.mark.parametrize(
    ("inventory", "playbook", "settings"),
    [
        ("a3_kthena_1p1d", "compare", {}),
        ("a3_kthena_1p1d", "bench", {"host": "n1"}),
        ("a3_llmdatadist_w8a8", "bench", {"profile": "long_prefix"}),
        ("a3_llmdatadist_w8a8", "bench", {"profile": "pool"}),
    ],
)
def test_a_playbook_that_is_refused_is_found(inventory, playbook, settings):
    assert refusal(playbook, planned(inventory), settings) != ""


@pytest.mark.parametrize(
    ("inventory", "bench", "option", "load"),
    [
        (
            "a2_colocated_pool",
            {"profile": "throughput", "input": 1024, "output": 10, "prompts": 100, "loads": [25]},
            "--max-concurrency",
            (25, 100, 1024, 10),
        ),
        ("a3_llmdatadist_w8a8", {"profile": "smoke"}, "--request-rate", (4, 10, 10, 100)),
    ],
)
def test_the_loads_of_the_guides_are_sent_to_their_own_releases(inventory, bench, option, load):
    """The rows of the benchmarks say so, with both programs."""
    driver = {"driver": "aisbench", "program": "/opt/aisbench/bin/ais_bench"}
    config = bench_runs(planned(inventory), {**bench, **driver})["runs"][-1]["config"]
    (model,), prompts = config["models"], config["prompts"]
    pace = model["request_rate"] or model["batch_size"]
    sent = pace, prompts["count"], prompts["tokens"], model["max_out_len"]
    assert sent == load
    argv = bench_runs(planned(inventory), bench)["runs"][-1]["argv"]
    assert "--request-rate" not in argv or argv[argv.index("--max-concurrency") + 1] == "4", "the guide has both"
    options = (option, "--num-prompts", "--random-input-len", "--random-output-len")
    assert tuple(int(argv[argv.index(option) + 1]) for option in options) == load


def test_each_guide_has_its_inventories_and_names_the_page():
    folders = {folder for data in GUIDES.values() for folder in data["inventories"].values()}
    page = "docs/docsite/rst/published_values.rst"
    named = {
        path.parent.parent.name
        for path in (ROOT / "inventories").glob("*/group_vars/all.yml")
        if page in path.read_text(encoding="utf-8")
    }
    assert folders == named


def unlisted(guide, plan):
    """Options, variables of the environment and of mooncake.json that a plan has and no row of its guide, as texts."""
    rows = GUIDES[guide]["rows"]
    named = " ".join(str(row["name"]) + " ".join(row.get("at", ())) for row in rows)
    services = plan["services"]
    flags = {word.split("=")[0] for service in services for word in service["argv"] if word.startswith("--")}
    given = {f"env {name}" for service in services for name in service.get("env") or ()}
    for file in (file for service in services for file in service["files"]):
        if file["path"].endswith("/mooncake.json"):
            given |= {f"file mooncake.json {name}" for name in json.loads(file["content"])}
    places = {place.partition(" ")[2] for row in rows for place in row.get("at", ())}
    return sorted(flag for flag in flags if flag not in named) + sorted(given - places)


@pytest.mark.parametrize("guide", GUIDES)
def test_everything_that_an_inventory_gives_a_process_is_in_the_table(guide):
    """Also what the planner adds: options, variables of the environment and of mooncake.json."""
    for inventory in GUIDES[guide]["inventories"].values():
        assert unlisted(guide, planned(inventory)) == [], inventory


def shown(guide, inventory):
    """The places of a guide's rows for an inventory, each of one service."""
    rows = [row for row in GUIDES[guide]["rows"] if inventory in inventories_of(guide, row)]
    for place in (place for row in rows for place in row.get("at", ())):
        subjects, _space, rest = place.partition(" ")
        yield from (f"{subject} {rest}" for subject in subjects.split(","))


@pytest.mark.parametrize(
    ("guide", "inventory"), [(guide, name) for guide in GUIDES for name in GUIDES[guide]["inventories"].values()]
)
def test_each_value_of_each_container_pod_and_environment_has_a_row(guide, inventory):
    """What is named for one engine may change for another."""
    assert sorted({*places(planned(inventory))} - {*shown(guide, inventory)}) == []


CHANGES = [
    ("colocated_pool", "a2_colocated_pool", "colocated-1 container shm_size"),
    ("colocated_pool", "a2_colocated_pool", "colocated-1 env HCCL_IF_IP"),
    ("colocated_pool", "a2_colocated_pool", "colocated-0 container user"),
    ("mooncake_1p1d", "a3_mooncake_1p1d", "decode-0 container network"),
    ("mooncake_1p1d", "a3_mooncake_1p1d", "prefill-0 container devices"),
    ("mooncake_1p1d", "a3_mooncake_1p1d", "decode-0 env HCCL_IF_BASE_PORT"),
    ("mooncake_1p1d", "a3_kthena_1p1d", "container decode resources limits memory"),
    ("mooncake_1p1d", "a3_kthena_1p1d", "container decode readinessProbe failureThreshold"),
    ("mooncake_1p1d", "a3_kthena_1p1d", "pod decode volumes hccn-conf hostPath path"),
    ("llmdatadist_1p2d", "a2_llmdatadist_1p2d", "decode-1 container image"),
    ("llmdatadist_w8a8", "a3_llmdatadist_w8a8", "decode-0 env VLLM_HOST_IP"),
]


@pytest.mark.parametrize(("guide", "inventory", "place"), CHANGES)
def test_a_value_that_changes_for_one_engine_breaks_a_row(guide, inventory, place):
    plan = copy.deepcopy(planned(inventory))
    assert place in {*places(plan)}
    give(plan, place)
    found = list(differences(guide, lambda name: plan if name == inventory else planned(name)))
    assert any(f"{place.partition(' ')[2]} is changed, " in line for line in found), found


def give(plan, place):
    """Give a place of a plan the value "changed"."""
    subject, *keys = place.split()
    if subject in ("container", "pod"):
        template = next(thing for thing in plan["objects"] if thing["kind"] == "ModelServing")["spec"]["template"]
        role = next(role for role in template["roles"] if role["name"] == keys[0])
        holder = role["entryTemplate"]["spec"]
        holder, keys = (holder["containers"][0] if subject == "container" else holder), keys[1:]
    else:
        holder = next(service for service in plan["services"] if service["name"] == subject)
    for key in keys[:-1]:
        holder = holder[key] if isinstance(holder, dict) else next(item for item in holder if item["name"] == key)
    holder[keys[-1]] = "changed"


@pytest.mark.parametrize(
    ("guide", "inventory", "change", "found"),
    [
        (
            "mooncake_1p1d",
            "a3_mooncake_1p1d",
            ("{port: 8080}", "{port: 8080, args: {max-retries: 1}}"),
            "--max-retries",
        ),
        (
            "colocated_pool",
            "a2_colocated_pool",
            ("inference_pools:", "inference_env: {VLLM_LOGGING_LEVEL: DEBUG}\ninference_pools:"),
            "env VLLM_LOGGING_LEVEL",
        ),
        (
            "colocated_pool",
            "a2_colocated_pool",
            ("inference_pools:", "inference_router: {flavour: vllm_router}\ninference_pools:"),
            "--worker-urls",
        ),
    ],
)
def test_a_changed_plan_has_something_that_no_row_names(guide, inventory, change, found, tmp_path):
    assert found in unlisted(guide, with_variables(inventory, changed_copy(tmp_path, inventory, change)))


def test_rows_of_what_the_planner_adds_name_it():
    """They have no line of the guide and no name there; without the name of the variable a reader does not know what the value is."""
    for guide, data in GUIDES.items():
        for row in (row for row in data["rows"] if "line" not in row):
            words = [place.split()[-1] for place in row.get("at", ()) if place.split()[1] in ("env", "argv", "file")]
            assert [word for word in words if word not in row["name"]] == [], guide


def test_page_is_in_step():
    assert PAGE.page() == PAGE.PAGE.read_text(encoding="utf-8"), f"run: {COMMAND}"
