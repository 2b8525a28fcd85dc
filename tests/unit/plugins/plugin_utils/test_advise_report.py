# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which side waits, what to try next, and what is not known: from a benchmark and from live metrics."""

from __future__ import annotations

import json
import math
import re
from unittest import mock

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager
from ansible_collections.ascend.inference.plugins.filter.advise import report_filter, services_filter
from ansible_collections.ascend.inference.plugins.filter.launch_plan import launch_plan_filter
from ansible_collections.ascend.inference.plugins.module_utils.bench.driver import COUNTERS
from ansible_collections.ascend.inference.plugins.plugin_utils.advise import report as report_module
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.declaration import possible_sizes, trial_text
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.evidence import NEEDED
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.sizes import Sizes
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.text import advise_text
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.report import bench_report
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import Finding, PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.metrics import of_vllm
from ansible_collections.ascend.inference.tests.unit.ansible_text import as_ansible
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of
from hypothesis import given, settings
from hypothesis import strategies as st

HOSTS = {"prefill": ["a"], "decode": ["b", "c", "d"], "router": ["r"]}
VARIABLES = {
    "inference_release": "0.23.0",
    "inference_hardware": "a3",
    "inference_interface": "eth0",
    "inference_engine_install": "source",
    "inference_devices": 4,
    "inference_model": {"path": "/models/x", "name": "x"},
    "inference_args": {"max-model-len": 8192},
    "inference_pools": {
        "prefill": {"tensor_parallel_size": 4},
        "decode": {"instances": 3, "tensor_parallel_size": 4, "args": {"max-num-seqs": 16}},
    },
}


class Rack:
    """An inventory on disk as Ansible reads it, optionally with a second one after it."""

    def __init__(self, folder, hosts=None, variables=None, after=()):
        (folder / "group_vars").mkdir(parents=True, exist_ok=True)
        groups = HOSTS if hosts is None else hosts
        content = {
            name: {"hosts": {host: {"ansible_host": f"192.0.2.{ord(host)}"} for host in names}}
            for name, names in groups.items()
        }
        (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": content}}))
        # The place that precedes what an inventory sets for its groups.
        (folder / "group_vars" / "all.yml").write_text(yaml.safe_dump({**VARIABLES, **(variables or {})}))
        loader = DataLoader()
        inventory = InventoryManager(loader=loader, sources=[str(folder / "hosts.yml"), *map(str, after)])
        manager = VariableManager(loader=loader, inventory=inventory)
        self.hostvars = {host.name: manager.get_vars(host=host) for host in inventory.get_hosts()}
        self.groups = inventory.get_groups_dict()
        self.controller = {"inventory_hostname": "localhost"}  # has no variables of the deployment
        self.plan = launch_plan_filter(self.controller, self.hostvars, self.groups)

    def advise(self, measured, bench=None, **more):
        """The report and its text."""
        report = report_filter(
            measured, self.plan, bench or {}, self.controller, self.hostvars, self.groups, *more.values()
        )
        return report, "\n".join(advise_text(report))


@pytest.fixture(scope="module")
def rack(tmp_path_factory):
    return Rack(tmp_path_factory.mktemp("rack"))


BUSY_PREFILL = {
    "seconds": 60.0,
    "requests": 600.0,
    "prompt_tokens": 600000.0,
    "generated_tokens": 600.0,
    "queue_seconds": 240.0,
    "prefill_seconds": 59.0,
    "decode_seconds": 0.0,
    "preemptions": 0.0,
}
FREE_PREFILL = {**BUSY_PREFILL, "queue_seconds": 0.6, "prefill_seconds": 12.0}
# 200 requests with 100 tokens each: 2 of 16 places are taken, and 6 ms for each further token.
FREE_DECODE = {
    "seconds": 60.0,
    "requests": 200.0,
    "prompt_tokens": 200000.0,
    "generated_tokens": 20000.0,
    "queue_seconds": 2.0,
    "prefill_seconds": 1.0,
    "decode_seconds": 120.0,
    "preemptions": 0.0,
    "kv_usage": 0.1,
}
FULL_DECODE = {**FREE_DECODE, "queue_seconds": 90.0, "decode_seconds": 940.0, "kv_usage": 0.96}


def window(prefill, decode, **changes):
    engines = {"prefill-0": prefill, **{f"decode-{number}": decode for number in range(3)}}
    return {"services": {**engines, **changes}}


def ids(report, severity="error"):
    return [finding["id"] for finding in report["unknown"] if finding["severity"] == severity]


def test_prefill_waits_and_decode_idles(rack):
    report, text = rack.advise(window(BUSY_PREFILL, FREE_DECODE))
    assert report["outcome"] == "change"
    assert (report["pools"]["prefill"]["state"], report["pools"]["decode"]["state"]) == ("waits", "idles")
    assert report["sizes"]["now"] == {"prefill": 1, "decode": 3}
    assert report["sizes"]["next"] == {"prefill": 3, "decode": 1}
    assert report["sizes"]["devices"] == 16
    assert "prefill limits, decode idles: try 3 prefill and 1 decode" in text
    assert "it computes at most 98% of the time, 4 requests of a rank wait on average" in text
    assert "One instance of decode is left" in text and "One instance of prefill" not in text


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -1.0, 1e308, "many", [], True])
@pytest.mark.parametrize("counter", sorted(NEEDED))
def test_a_counter_that_is_no_number_is_missing_and_not_advice(rack, counter, value):
    """As a report may have it that somebody changed, or a program of another version wrote."""
    report, text = rack.advise(window({**BUSY_PREFILL, counter: value}, FREE_DECODE))
    assert "ADVISE-METRICS" in ids(report, "warning" if counter == "preemptions" else "error")
    assert report["outcome"] == ("change" if counter == "preemptions" else "unknown")
    json.dumps(report, allow_nan=False)
    assert NEEDED[counter] in text and not re.search(r"\b(nan|inf)\b", text)


@pytest.mark.parametrize("value", [math.nan, -0.5, "full"])
def test_a_reading_of_the_kv_cache_that_is_no_share_says_nothing(rack, value):
    assert rack.advise(window(BUSY_PREFILL, {**FREE_DECODE, "kv_usage": value}))[0]["outcome"] == "change"


@pytest.mark.parametrize(
    "report",
    [
        {"loads": 5},
        {"loads": [{"load": 1}]},
        {"loads": [5], "settings": {}},
        {"loads": [{"load": None, "engines": {}}], "settings": {"profile": "throughput"}},
        {"loads": [{"load": 1}], "settings": None},
        None,
        [1],
        {"services": {"prefill-0": 5, "decode-0": "x"}},
    ],
)
def test_a_damaged_file_is_named_and_gives_no_advice(rack, report):
    found, text = rack.advise({"format": 2, **report} if report and "loads" in report else report)
    assert found["outcome"] == "unknown" and {"ADVISE-REPORT", "ADVISE-COUNTERS"} & set(ids(found)), text


def test_the_names_of_metrics_are_those_of_vllm():
    for version in ("0.13.0", "0.18.0", "0.23.0", "0.32.0"):
        assert set(NEEDED.values()) - of_vllm(version) == set()
    assert {name: COUNTERS[name] for name in NEEDED} == NEEDED


def test_the_rates_are_those_of_one_instance(rack):
    pools = rack.advise(window(BUSY_PREFILL, FREE_DECODE))[0]["pools"]
    assert pools["prefill"]["rates"] == {"requests": 10.0, "prompt": 10000.0, "output": 10.0}
    assert pools["decode"]["rates"]["output"] == pytest.approx(20000 / 60)
    assert pools["decode"]["tpot_ms"] == pytest.approx(1000 * 120 / 19800)
    assert pools["decode"]["limits"] == pytest.approx({"places": 2 / 16, "kv_cache": 0.1})
    assert pools["prefill"]["queue_ms"] == pytest.approx(400.0)


def test_decode_is_full_and_prefill_has_no_instance_to_give(rack):
    report, text = rack.advise(window(FREE_PREFILL, FULL_DECODE))
    assert (report["outcome"], report["declaration"]) == ("keep", None)
    assert report["pools"]["decode"]["state"] == "waits"
    assert report["verdict"].endswith(
        "decode limits, and no sizes with more instances of it fit into these NPUs and hosts"
    )
    assert "98% of its places" in text


def test_a_side_without_any_measurable_work_keeps_an_instance(rack):
    report, _text = rack.advise(window({**BUSY_PREFILL, "queue_seconds": 0.0, "prefill_seconds": 0.0}, FULL_DECODE))
    assert report["outcome"] == "keep"
    free = {**FREE_DECODE, "decode_seconds": 0.0, "kv_usage": 0.0}
    assert rack.advise(window(BUSY_PREFILL, free))[0]["sizes"]["next"] == {"prefill": 3, "decode": 1}


def test_decode_is_full_and_gets_an_instance(tmp_path):
    pools = {"prefill": {"instances": 3, "tensor_parallel_size": 4}, "decode": VARIABLES["inference_pools"]["decode"]}
    pools["decode"] = {**pools["decode"], "instances": 1}
    other = Rack(tmp_path, {**HOSTS, "prefill": ["a", "b", "c"], "decode": ["d"]}, {"inference_pools": pools})
    services = {f"prefill-{number}": FREE_PREFILL for number in range(3)}
    decode = {**FULL_DECODE, "requests": 1800.0, "generated_tokens": 180000.0}
    report, _text = other.advise({"services": {**services, "decode-0": decode}})
    # One prefill would be 60 % busy and 3 decode carry 3 times the requests; 2 and 2 carry twice of them, and 1 and 3 only 1.7 times.
    assert (report["sizes"]["next"], report["sizes"]["carried"]) == ({"prefill": 2, "decode": 2}, 2.0)


@pytest.mark.parametrize(
    ("decode", "limit"),
    [({"decode_seconds": 520.0, "kv_usage": 0.2}, {"tpot": 20}), ({"preemptions": 20.0}, {}), ({"kv_usage": 0.95}, {})],
)
def test_each_limit_of_decode_counts(rack, decode, limit):
    report, _text = rack.advise(window(FREE_PREFILL, {**FREE_DECODE, **decode}), {"slo": limit})
    assert report["pools"]["decode"]["state"] == "waits"


def test_preemptions_are_a_limit_of_decode_only_and_lower_no_other_one(rack):
    often = {"preemptions": 60.0}
    report, _text = rack.advise(window({**FREE_PREFILL, **often}, {**FREE_DECODE, **often}))
    busy = {name: pool["busy"] for name, pool in report["pools"].items()}
    assert busy["decode"] == 1.0 and busy["prefill"] < 0.5
    slow, limit = {**FREE_DECODE, **often, "decode_seconds": 940.0}, {"slo": {"tpot": 20}}
    report, _text = rack.advise(window(FREE_PREFILL, slow), limit)
    alone = rack.advise(window(FREE_PREFILL, {**slow, "preemptions": 0.0}), limit)[0]["pools"]["decode"]["busy"]
    assert report["pools"]["decode"]["busy"] == alone > 1.0


def test_a_token_that_is_slow_without_load_asks_for_no_instance(tmp_path):
    pools = {
        "prefill": {"instances": 2, "tensor_parallel_size": 4},
        "decode": {**VARIABLES["inference_pools"]["decode"], "instances": 2},
    }
    other = Rack(tmp_path, {"prefill": ["a", "b"], "decode": ["c", "d"], "router": ["r"]}, {"inference_pools": pools})
    # A request at a time in the whole service: 46 ms for each of 608 further tokens.
    prefill = {**FREE_PREFILL, "requests": 32.0, "queue_seconds": 0.0, "prefill_seconds": 2.5}
    decode = {**FREE_DECODE, "requests": 32.0, "generated_tokens": 640.0, "decode_seconds": 0.046 * 608}
    services = {
        f"{role}-{n}": counters for role, counters in (("prefill", prefill), ("decode", decode)) for n in (0, 1)
    }
    report, text = other.advise({"services": services}, {"slo": {"tpot": 50}})
    assert (report["outcome"], ids(report)) == ("unknown", ["ADVISE-ALONE"])
    assert "a further token takes 46 ms, although a rank decodes 0.5 requests at a time" in text
    assert other.advise({"services": services}, {"slo": {"tpot": 60}})[0]["outcome"] == "keep"


def test_the_trial_inventory_gives_the_plan_that_was_accepted(rack, tmp_path):
    report, text = rack.advise(window(BUSY_PREFILL, FREE_DECODE))
    trial = tmp_path / "advice.yml"
    trial.write_text(report["declaration"]["inventory"])
    after = Rack(tmp_path / "next", after=[trial]).plan
    engines = {item["name"]: item["host"] for item in after["services"] if item["kind"] in ("prefill", "decode")}
    assert engines == {"prefill-0": "a", "prefill-1": "c", "prefill-2": "d", "decode-0": "b"}
    assert (
        yaml.safe_load(text.split("```")[1].removeprefix("yaml"))["all"]["vars"] == report["declaration"]["variables"]
    )


def test_texts_of_ansible_are_written_as_texts(rack):
    report, _text = rack.advise(window(BUSY_PREFILL, FREE_DECODE))
    declared = report["declaration"]
    variables = {name: {"decode": {"model": "/x"}} for name in declared["variables"]}
    report["declaration"] = as_ansible({"groups": declared["groups"], "variables": variables})
    assert "inference_pools:\n      decode: {model: /x}" in "\n".join(advise_text(report))
    trial = trial_text(report["declaration"], {}, as_ansible({"all": ["a"]}))
    assert yaml.safe_load(trial)["all"]["hosts"] == {"a": {"inference_pools": {"decode": {"model": "/x"}}}}


def test_pools_on_the_same_hosts_change_their_numbers_only(tmp_path):
    pools = {
        "prefill": {"instances": 2, "tensor_parallel_size": 1},
        "decode": {"instances": 6, "tensor_parallel_size": 1, "args": {"max-num-seqs": 16}},
    }
    same = Rack(tmp_path, {**HOSTS, "prefill": ["a", "b"], "decode": ["a", "b"]}, {"inference_pools": pools})
    prefill = {**BUSY_PREFILL, "requests": 600.0}
    services = {**{f"prefill-{n}": prefill for n in range(2)}, **{f"decode-{n}": FREE_DECODE for n in range(6)}}
    report, _text = same.advise({"services": services})
    assert report["declaration"]["groups"] == {}
    wanted = report["sizes"]["next"]
    assert (wanted["prefill"] > 2, wanted["prefill"] + wanted["decode"]) == (True, 8)


def test_instances_of_different_sizes_need_whole_hosts(tmp_path):
    pools = {"prefill": {"instances": 4, "tensor_parallel_size": 2}, "decode": {"data_parallel_size": 3}}
    hosts = {"prefill": ["a", "b"], "decode": ["c"], "router": ["r"]}
    # Of 11 NPUs, 3 decode instances with 3 each fit beside one prefill, but not into hosts of 4.
    found = possible_sizes(Rack(tmp_path, hosts, {"inference_pools": pools}).plan)
    assert found == [Sizes(1, 2), Sizes(2, 2), Sizes(3, 1), Sizes(4, 1)]


def test_a_host_with_free_devices_takes_more_instances(tmp_path):
    pools = {"prefill": {"tensor_parallel_size": 2}, "decode": {"instances": 2, "tensor_parallel_size": 2}}
    hosts = {"prefill": ["a"], "decode": ["b"], "router": ["r"]}
    assert possible_sizes(Rack(tmp_path, hosts, {"inference_pools": pools}).plan) == [Sizes(1, 2), Sizes(2, 1)]


def test_a_balanced_service_stays_as_it_is(rack):
    decode = {**FREE_DECODE, "decode_seconds": 670.0, "kv_usage": 0.6}
    report, text = rack.advise(window(BUSY_PREFILL, decode))
    assert (report["outcome"], report["sizes"]["next"]) == ("keep", None)
    assert "nothing to change: prefill limits, and no other sizes carry 10% more requests" in text
    both = rack.advise(window(BUSY_PREFILL, FULL_DECODE))[0]["verdict"]
    assert both == "nothing to change: both sides are nearly full, so only more NPUs carry more"


def test_a_load_that_fills_no_side_changes_nothing(rack):
    # Two of each would carry more, by these figures, of which none is near a limit.
    report, text = rack.advise(window(FREE_PREFILL, {**FREE_DECODE, "decode_seconds": 30.0, "kv_usage": 0.02}))
    assert report["outcome"] == "keep"
    assert "nothing to change: no side limits at this load" in text


def test_a_plan_that_the_planner_refuses_is_not_advised(tmp_path):
    pools = {**VARIABLES["inference_pools"]}
    # The settings of single hosts name hosts of the pool; the ones that move are no longer in it.
    pools["decode"] = {**pools["decode"], "hosts": {"c": {"args": {"seed": 1}}, "d": {"args": {"seed": 1}}}}
    report, text = Rack(tmp_path, variables={"inference_pools": pools}).advise(window(BUSY_PREFILL, FREE_DECODE))
    assert (report["outcome"], report["declaration"]) == ("unknown", None)
    assert "the planner refuses these sizes" in text


NOTHING = {**BUSY_PREFILL, "requests": 0.0, "prompt_tokens": 0.0, "generated_tokens": 0.0, "queue_seconds": 0.0}


@pytest.mark.parametrize(
    ("measured", "name"),
    [
        (window({**NOTHING, "prefill_seconds": 0.0}, {**NOTHING, "prefill_seconds": 0.0}), "ADVISE-LOAD"),
        (window({**BUSY_PREFILL, "requests": 12.0}, {**FREE_DECODE, "requests": 4.0}), "ADVISE-LOAD"),
        (window(BUSY_PREFILL, {**FREE_DECODE, "requests": 100.0}), "ADVISE-SIDES"),
        (window(BUSY_PREFILL, FREE_DECODE, **{"decode-1": None}), "ADVISE-COUNTERS"),
        ({"services": {}}, "ADVISE-COUNTERS"),
        ({}, "ADVISE-COUNTERS"),
        (window(BUSY_PREFILL, {key: FREE_DECODE[key] for key in ("seconds", "requests")}), "ADVISE-METRICS"),
        (window({**BUSY_PREFILL, "prefill_seconds": 10.0}, FREE_DECODE), "ADVISE-HELD"),
        (window(BUSY_PREFILL, {**FREE_DECODE, "tokens_computed": 150000.0}), "ADVISE-COMPUTES"),
        (window({**BUSY_PREFILL, "seconds": 2.0}, {**FREE_DECODE, "seconds": 2.0}), "ADVISE-SHORT"),
    ],
)
def test_without_evidence_there_is_no_advice(rack, measured, name):
    report, text = rack.advise(measured)
    assert (report["outcome"], report["sizes"], report["declaration"]) == ("unknown", None, None)
    assert name in ids(report)
    assert "no advice" in text.splitlines()[0]
    assert "so no sizes are advised" in text


def some(counters):
    """Counters of which two may be missing, zero, larger or absurd; or none at all."""
    names = st.sampled_from([name for name in counters if name != "seconds"])
    changes = st.dictionaries(names, st.sampled_from([None, 0.0, 3.0, 1e12, 1e-9]), max_size=2)

    def changed(factors):
        found = {name: value * (factors.get(name, 1.0) or 0.0) for name, value in counters.items()}
        return {name: value for name, value in found.items() if factors.get(name, 1.0) is not None}

    return st.one_of(st.just(counters), changes.map(changed), st.none())


@given(some(BUSY_PREFILL), some(FREE_DECODE), st.booleans())
@settings(max_examples=200, deadline=None)
def test_whatever_engines_export_there_is_advice_or_a_reason(rack, prefill, decode, limit):
    with mock.patch.object(report_module, "plan_of", return_value=rack.plan):
        report, text = rack.advise(window(prefill, decode), {"slo": {"tpot": 50}} if limit else {})
    assert (report["outcome"] == "unknown") == bool(ids(report))
    assert (report["declaration"] is not None) == (report["outcome"] == "change") == (": try " in text.splitlines()[0])
    known = [figure for pool in report["pools"].values() for figure in pool["rates"].values() if figure is not None]
    assert not any(math.isnan(figure) or math.isinf(figure) for figure in known)


def test_unknown_figures_are_not_zero(rack):
    report, text = rack.advise(window(BUSY_PREFILL, FREE_DECODE, **{"decode-1": None}))
    decode = report["pools"]["decode"]
    assert (decode["requests"], decode["busy"], decode["waiting"], decode["state"]) == (None, None, None, "unknown")
    assert set(decode["rates"].values()) == {None}
    assert "| decode  | 3         | 4         | ?" in text


def test_how_full_decode_is_has_to_be_known(tmp_path):
    pools = {**VARIABLES["inference_pools"], "decode": {"instances": 3, "tensor_parallel_size": 4}}
    decode = {key: value for key, value in FREE_DECODE.items() if key != "kv_usage"}
    other = Rack(tmp_path, variables={"inference_pools": pools})
    assert ids(other.advise(window(BUSY_PREFILL, decode))[0]) == ["ADVISE-FILL"]
    decode.pop("preemptions")  # that alone forbids nothing
    assert ids(other.advise(window(BUSY_PREFILL, decode))[0]) == ["ADVISE-FILL"]
    assert other.advise(window(BUSY_PREFILL, decode), {"slo": {"tpot": 50}})[0]["outcome"] == "change"


def test_what_is_missing_without_harm_is_named_too(rack):
    report, text = rack.advise(window(BUSY_PREFILL, FREE_DECODE))
    assert set(ids(report, "warning")) == {"ADVISE-ROUTER", "ADVISE-MEMORY"}
    assert "inference_model_facts" in text


def test_uneven_engines_a_full_store_and_a_slow_transfer_are_named(tmp_path):
    store = {"inference_kv_transfer": "mooncake+store", "inference_store": {"segment_size": "4GB"}}
    other = Rack(tmp_path, variables=store)
    few = {**FREE_DECODE, "requests": 20.0}
    slow = {**FREE_DECODE, "queue_seconds": 50.0}
    full = {"seconds": 60.0, "evictions": 7.0, "allocated_bytes": 99.0, "capacity_bytes": 100.0}
    master = next(item["name"] for item in other.plan["services"] if item["kind"] == "mooncake_master")
    measured = window(BUSY_PREFILL, slow, **{"decode-2": few, master: full})
    remarks = " ".join(other.advise(measured)[0]["remarks"])
    assert "decode-2 finished less than half of the mean of decode" in remarks
    assert "evicted 7 times and is 99% full" in remarks
    assert "ms in the queue of decode" in remarks


def test_the_memory_is_that_of_the_advised_sizes(rack, monkeypatch):
    seen = []

    def table(plan, path, ignored):
        seen.append((len([item for item in plan["services"] if item["kind"] == "prefill"]), path, ignored))
        return ["", "POOL  WEIGHTS", "prefill  16.0 GiB"]

    monkeypatch.setattr(report_module, "plan_memory", table)
    report, text = rack.advise(window(BUSY_PREFILL, FREE_DECODE), model_facts="facts.json", ignored=["X"])
    assert seen == [(3, "facts.json", ["X"])]
    assert report["memory"] == ["POOL  WEIGHTS", "prefill  16.0 GiB"]
    assert "ADVISE-MEMORY" not in ids(report, "warning")
    assert "\nprefill  16.0 GiB\n" in text


def test_sizes_that_do_not_fit_into_the_memory_are_not_advised(rack, monkeypatch):
    def table(plan, path, ignored):
        if plan is rack.plan or plan["digest"] == rack.plan["digest"]:
            return ["", "POOL"]
        raise PlanError([Finding("decode", "MODEL-MEMORY", "the weights of one rank take 99 GiB", "Use more devices.")])

    monkeypatch.setattr(report_module, "plan_memory", table)
    report, text = rack.advise(window(BUSY_PREFILL, FREE_DECODE), model_facts="facts.json")
    assert (report["outcome"], report["declaration"]) == ("unknown", None)
    assert "the planner refuses these sizes: decode: the weights of one rank take 99 GiB" in text


def test_a_file_that_is_not_of_check_is_an_error(rack):
    with pytest.raises(AnsibleFilterError, match="cannot be read"):
        rack.advise(window(BUSY_PREFILL, FREE_DECODE), model_facts="/nowhere/facts.json")


def bench_of(rack, prefill, decode, **changes):
    """A report of the playbook bench with two loads, of which the higher one has these counters."""
    bench = bench_runs(
        rack.plan,
        {"profile": "throughput", "loads": [1, 32], "repeats": 1, "input": 1000, "output": 100, "slo": {"tpot": 50}},
    )
    figures = {
        "completed": 600,
        "failed": 0,
        "empty": 0,
        "short": 0,
        "first_error": "",
        "duration": 60.0,
        "ttft_p50": 80.0,
    }
    idle = window({**FREE_PREFILL, "requests": 1.0}, {**FREE_DECODE, "requests": 1.0})["services"]
    results = [
        {
            "figures": {**figures, **(changes if run["load"] == 32 else {})},
            "engines": idle if run["load"] != 32 else window(prefill, decode)["services"],
        }
        for run in bench["runs"]
    ]
    return bench_report(rack.plan, bench, results)


def test_a_report_of_bench_is_judged_at_its_highest_load(rack):
    prefill = {key: value for key, value in BUSY_PREFILL.items() if key != "seconds"}
    decode = {key: value for key, value in FREE_DECODE.items() if key not in ("seconds", "kv_usage")}
    report, text = rack.advise(bench_of(rack, prefill, decode))
    assert (report["outcome"], report["sizes"]["next"]) == ("change", {"prefill": 3, "decode": 1})
    assert report["pools"]["decode"]["limits"]["tpot"] == pytest.approx(120 / 19800 * 1000 / 50)
    assert "From load 32 of the benchmark, 1 measurement." in text


def test_a_report_that_shows_something_else_is_refused(rack):
    good = bench_of(rack, BUSY_PREFILL, FREE_DECODE)
    assert ids(rack.advise(bench_of(rack, BUSY_PREFILL, FREE_DECODE, empty=3))[0]) == ["ADVISE-WRONG-ANSWERS"]
    assert ids(rack.advise(bench_of(rack, BUSY_PREFILL, FREE_DECODE, empty=None))[0]) == ["ADVISE-WRONG-ANSWERS"]
    assert ids(rack.advise({**good, "digest": "0" * 64})[0]) == ["ADVISE-OTHER-PLAN"]
    assert ids(rack.advise({**good, "format": 1})[0]) == ["ADVISE-REPORT"]
    assert ids(rack.advise({**good, "settings": {"profile": "pool"}})[0]) == ["ADVISE-REPORT"]
    old = [{key: value for key, value in load.items() if key != "engines"} for load in good["loads"]]
    assert ids(rack.advise({**good, "loads": old})[0]) == ["ADVISE-REPORT"]


def test_one_pool_has_nothing_to_balance(tmp_path):
    colocated = {"inference_pools": {"colocated": {"instances": 2, "tensor_parallel_size": 4}}}
    other = Rack(tmp_path, {"colocated": ["a", "b"], "router": ["r"]}, colocated)
    services = {f"colocated-{number}": {**FREE_DECODE, "queue_seconds": 100.0} for number in range(2)}
    report, text = other.advise({"services": services})
    assert (report["outcome"], report["pools"]["colocated"]["state"]) == ("keep", "waits")
    assert "one pool does both" in text


def test_engines_routers_and_the_store_are_read(tmp_path):
    store = {"inference_kv_transfer": "mooncake+store", "inference_store": {"segment_size": "4GB"}}
    found = services_filter(Rack(tmp_path, variables=store).plan)
    kinds = {item["name"]: item["kind"] for item in found["services"]}
    assert list(kinds.values()).count("engine") == 4
    assert "store" in kinds.values()
    assert found["host"] == "r"
    assert services_filter(plan_of("a2_colocated_pool"))["host"] == "a2-1"  # has no router: clients ask the engines
    with pytest.raises(AnsibleFilterError, match="engines of a cluster"):
        services_filter(plan_of("a3_kthena_1p1d"))
