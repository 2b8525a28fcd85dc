# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which measurements are made, and what their report says."""

from __future__ import annotations

import copy
import random
import re

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.filter.bench import runs_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.bench import curves
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.page import CURVES, STAGES, bench_page
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.report import bench_report
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.text import bench_text
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of

SMOKE = {"profile": "smoke"}
AISBENCH = {"driver": "aisbench", "program": "/opt/aisbench/bin/ais_bench"}


@pytest.fixture(scope="module")
def plan():
    return plan_of("a3_2p1d")


def option(run, name):
    return run["argv"][run["argv"].index(name) + 1]


def test_a_warm_up_comes_first_and_each_measurement_has_other_prompts(plan):
    found = bench_runs(plan, {"profile": "throughput", "loads": [2, 8], "input": 100, "output": 20})
    runs = found["runs"]
    assert [(run["load"], run["repeat"]) for run in runs] == [
        (0, 0),
        *((load, n) for load in (2, 8) for n in (1, 2, 3)),
    ]
    seeds = [option(run, "--seed") for run in runs]
    assert len(set(seeds)) == len(seeds)
    assert option(runs[1], "--num-prompts") == "64"
    assert (option(runs[4], "--max-concurrency"), option(runs[4], "--random-input-len")) == ("8", "100")
    assert found["devices"] == sum(len(service["devices"]) for service in plan["services"])
    engines = [engine for kind in ("colocated", "prefill", "decode") for engine in plan["verify"].get(kind, ())]
    assert sorted(found["options"]["engines"], key=str) == sorted(
        ({key: engine[key] for key in ("name", "url")} for engine in engines), key=str
    )


def test_the_load_goes_through_the_entry_with_the_tokenizer_of_the_model(plan):
    run = bench_runs(plan, SMOKE)["runs"][1]
    assert option(run, "--base-url") == plan["verify"]["entry"]["url"]
    assert option(run, "--model") == plan["model"]["path"]
    assert option(run, "--served-model-name") == plan["model"]["name"]
    assert option(run, "--temperature") == "0"


def test_prompts_of_a_trace_are_the_same_in_another_process_and_other_ones_in_another_measurement(plan):
    """vLLM makes the tokens of a block from Python's hash of a text, which differs between processes unless it is fixed."""

    def seeds(**settings):
        found = bench_runs(plan, {"profile": "trace", "trace": "/srv/trace.jsonl", "repeats": 3, **settings})["runs"]
        return [word for run in found if run["repeat"] for word in run["argv"] if word.startswith("PYTHONHASHSEED=")]

    assert len(set(seeds())) == 3 and seeds() == seeds() != seeds(seed=9)
    run = bench_runs(plan, {"profile": "trace", "trace": "/srv/trace.jsonl", "cores": "0-3"})["runs"][1]
    assert run["argv"][:4] == ["env", "PYTHONHASHSEED=2", "taskset", "--cpu-list"]


def test_it_runs_in_the_environment_of_an_engine(plan):
    found = bench_runs(plan, SMOKE)
    service = next(item for item in plan["services"] if item["name"] == found["service"])
    assert found["host"] == service["host"]
    assert found["runs"][1]["argv"][:3] == [service["argv"][0], "bench", "serve"]
    assert found["options"]["directory"] == service["scratch_directory"]
    assert found["options"]["user"] == plan["user"]
    pinned = bench_runs(plan, {**SMOKE, "cores": "0-3,8"})
    assert pinned["runs"][1]["argv"][:3] == ["taskset", "--cpu-list", "0-3,8"]


def test_aisbench_gets_its_own_configuration_and_nothing_of_the_engine(plan):
    found = bench_runs(plan, {**AISBENCH, "profile": "throughput", "loads": [4], "cores": "0-3"})
    run = found["runs"][1]
    assert run["argv"] == ["taskset", "--cpu-list", "0-3", "/opt/aisbench/bin/ais_bench"]
    (model,), (dataset,) = run["config"]["models"], run["config"]["datasets"]
    assert (model["url"], model["path"]) == (plan["verify"]["entry"]["url"], plan["model"]["path"])
    assert (model["model"], model["batch_size"], model["max_out_len"]) == (plan["model"]["name"], 4, 1500)
    assert (model["retry"], model["stream"], "api_key" in model) == (1, True, False), (
        "a second try would hide a failure"
    )
    assert model["generation_kwargs"] == {"temperature": 0, "ignore_eos": True}
    assert dataset["type"] == "ais_bench.benchmark.datasets.custom.CustomDataset"
    size = {"count": 64, "tokens": 3500, "prefix": 0, "prefixes": 8}
    assert run["config"]["prompts"] == {"model": plan["model"]["path"], **size, "seed": 4002}
    seeds = [run["config"]["prompts"]["seed"] for run in found["runs"]]
    assert len(set(seeds)) == len(seeds), "other prompts in each measurement"
    assert found["options"]["environment"] == {"HF_HUB_OFFLINE": "1"} and found["options"]["source"] == []
    prefixed = bench_runs(plan, {**AISBENCH, "profile": "long_prefix"})["runs"][1]["config"]["prompts"]
    assert (prefixed["tokens"], prefixed["prefix"], prefixed["prefixes"]) == (512, 8192, 8)
    assert all(run["config"] == {} for run in bench_runs(plan, SMOKE)["runs"])
    warm_up = found["runs"][0]["config"]
    assert 1 <= warm_up["models"][0]["batch_size"] <= warm_up["prompts"]["count"]


def test_aisbench_measures_the_rounds_of_a_pool():
    """A, B, A, and A at the other instance: the procedure of the guide."""
    plan = plan_of("a2_colocated_pool")
    found = bench_runs(plan, {**AISBENCH, "profile": "pool", "repeats": 1})
    rounds = found["runs"][1:]
    sent = [(run["round"], run["engine"], run["config"]["prompts"]["seed"], run["evict"]) for run in rounds]
    a = rounds[0]["config"]["prompts"]["seed"]
    assert sent == [
        ("cold", "colocated-0", a, ""),
        ("evict", "colocated-0", a + 500_000, "colocated-0"),
        ("own memory", "colocated-0", a, ""),
        ("other instance", "colocated-1", a, ""),
    ]
    urls = {engine["name"]: engine["url"] for engine in plan["verify"]["colocated"]}
    assert all(run["config"]["models"][0]["url"] == urls[run["engine"]] for run in rounds)
    assert found["options"]["container"] == "", "its program is one of the host, also if engines are containers"
    few = bench_runs(plan, {**AISBENCH, "profile": "pool", "repeats": 1, "evict": 40})["runs"][2]
    assert (few["config"]["prompts"]["count"], few["evict"]) == (40, "")


def test_aisbench_sends_a_file_of_which_each_measurement_has_other_prompts(plan):
    settings = {**AISBENCH, "profile": "latency", "loads": [2], "prompts": 10, "repeats": 2}
    runs = bench_runs(plan, {**settings, "data": "/srv/gsm8k"})["runs"]
    datasets = [run["config"]["datasets"][0] for run in runs]
    warm_up = runs[0]["config"]["prompts"]["count"]
    assert {each["type"] for each in datasets} == {"ais_bench.benchmark.datasets.gsm8k.GSM8KDataset"}
    assert [each["reader_cfg"]["test_range"] for each in datasets] == [
        f"[0:{warm_up}]",
        f"[{warm_up}:{warm_up + 10}]",
        f"[{warm_up + 10}:{warm_up + 20}]",
    ]
    assert runs[2]["config"]["prompts"] == {"file": "/srv/gsm8k", "count": 10, "needed": warm_up + 20}
    lines = bench_runs(plan, {**settings, "data": "/srv/p.jsonl"})["runs"][0]["config"]["datasets"][0]
    assert lines["type"].endswith(".custom.CustomDataset")


def test_aisbench_sends_a_rate_evenly_or_at_random(plan):
    for arrival, burstiness in (("constant", 0), ("poisson", 1)):
        runs = bench_runs(plan, {**AISBENCH, "profile": "latency", "rates": [2], "arrival": arrival})["runs"]
        assert runs[1]["config"]["models"][0]["traffic_cfg"] == {"burstiness": burstiness}


@pytest.mark.parametrize(
    ("vllm", "settings", "problem"),
    [
        ("0.9.0", {"profile": "smoke"}, "has no vllm bench serve with --save-detailed"),
        ("0.9.1", {"profile": "smoke"}, ""),
        ("0.10.0", {"profile": "long_prefix"}, "has no data set prefix_repetition, which came with 0.10.1"),
        ("0.10.1.1", {"profile": "long_prefix"}, ""),
        ("0.22.1", {"profile": "trace", "trace": "/t.jsonl"}, "has no data set timed_trace, which came with 0.23"),
        ("0.23.0", {"profile": "trace", "trace": "/t.jsonl"}, ""),
        ("0.11.0rc3", {"profile": "latency"}, ""),
    ],
)
def test_only_what_an_older_client_lacks_is_refused(plan, vllm, settings, problem):
    older = copy.deepcopy(plan)
    older["release_facts"]["vllm"] = vllm
    if not problem:
        assert bench_runs(older, settings)["runs"]
        return
    with pytest.raises(PlanError) as refused:
        bench_runs(older, settings)
    (finding,) = refused.value.findings
    assert problem in finding.problem and vllm in finding.problem


@pytest.mark.parametrize(
    ("vllm", "option", "temperature"),
    [("0.9.1", "--endpoint-type", False), ("0.10.0", "--backend", True), ("x", "--backend", True)],
)
def test_an_older_client_has_another_name_for_the_backend(plan, vllm, option, temperature):
    older = copy.deepcopy(plan)
    older["release_facts"]["vllm"] = vllm
    argv = bench_runs(older, SMOKE)["runs"][0]["argv"]
    assert argv[argv.index(option) + 1] == "openai" and len({"--backend", "--endpoint-type"} & set(argv)) == 1
    assert ("--temperature" in argv) == temperature, "0.9.1 ends with it, and sends 0 without it"


def test_requests_of_a_rate_do_not_wait_for_answers(plan):
    found = bench_runs(plan, {"profile": "latency", "rates": [0.5, 8], "repeats": 1})
    slow, fast = [run for run in found["runs"] if run["repeat"]]
    assert (slow["load"], slow["rate"], fast["rate"], slow["label"]) == (0, 0.5, 8.0, "rate 0.5/s, measurement 1 of 1")
    for run, rate, prompts in ((slow, "0.5", "32"), (fast, "8", "32")):
        argv = run["argv"]
        assert argv[argv.index("--request-rate") + 1] == rate and argv[argv.index("--num-prompts") + 1] == prompts
        assert "--max-concurrency" not in argv and "--burstiness" not in argv
    seeds = {run["argv"][run["argv"].index("--seed") + 1] for run in found["runs"]}
    assert len(seeds) == 3, "other prompts in each run"


def test_a_rate_lasts_a_minute_and_may_be_even(plan):
    found = bench_runs(plan, {"profile": "throughput", "rates": [8], "arrival": "constant"})
    argv = found["runs"][-1]["argv"]
    assert argv[argv.index("--num-prompts") + 1] == "480" and int(argv[argv.index("--burstiness") + 1]) > 1000
    assert all(run["rate"] == 8.0 or not run["repeat"] for run in found["runs"]), (
        "the loads of the profile are replaced"
    )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"rates": [0]}, "are no rates"),
        ({"rates": ["fast"]}, "are no rates"),
        ({"rates": [True]}, "are no rates"),
        ({"rates": [1], "loads": [1]}, "both loads and rates are set"),
        ({"rates": [1], "profile": "pool"}, "has arrivals of its own"),
        ({"arrival": "constant"}, "arrival is set, and no rates"),
        ({"at_once": 4}, "at_once is set, and no rates"),
        ({"at_once": 4, "loads": [2]}, "at_once is set, and no rates"),
    ],
)
def test_rates_that_cannot_be_sent_are_refused(plan, settings, problem):
    with pytest.raises(PlanError, match=problem):
        bench_runs(plan, settings)


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        (SMOKE, "4"),
        ({**SMOKE, "at_once": 2}, "2"),
        ({**SMOKE, "rates": [8]}, None),
        ({"rates": [8]}, None),
        ({"rates": [8], "at_once": 3}, "3"),
    ],
)
def test_a_rate_may_have_a_limit_of_requests_at_a_time(plan, settings, most):
    argv = bench_runs(plan, settings)["runs"][1]["argv"]
    assert "--request-rate" in argv
    assert (argv[argv.index("--max-concurrency") + 1] if "--max-concurrency" in argv else None) == most
    run = bench_runs(plan, {**AISBENCH, **settings})["runs"][1]
    (model,) = run["config"]["models"]
    assert model["batch_size"] == int(most or run["config"]["prompts"]["count"]) and model["request_rate"]


@pytest.mark.parametrize(("vllm", "option"), [("0.9.1", "--endpoint-type"), ("0.13.0", "--backend")])
def test_chats_are_sent_to_their_own_path(plan, vllm, option):
    older = copy.deepcopy(plan)
    older["release_facts"]["vllm"] = vllm
    for run in bench_runs(older, {**SMOKE, "chat": True})["runs"]:
        argv = run["argv"]
        assert argv[argv.index(option) + 1] == "openai-chat"
        assert argv[argv.index("--endpoint") + 1] == "/v1/chat/completions"
    (model,) = bench_runs(plan, {**AISBENCH, **SMOKE, "chat": True})["runs"][1]["config"]["models"]
    assert model["type"] == "ais_bench.benchmark.models.VLLMCustomAPIChat" and model["stream"]


def test_chats_and_requests_that_wait_are_compared_with_their_like_and_named(plan):
    def of(**settings):
        bench = bench_runs(plan, {"profile": "latency", "rates": [2], "repeats": 3, "slo": {"ttft": 9}, **settings})
        result = {
            "figures": {**FIGURES, "request_throughput": 2.0, "request_goodput": 1.9},
            "engines": {"decode-0-0": {"requests": 8.0}},
        }
        return bench, [result] * 4

    plain = bench_report(plan, *of(), None)
    older = {**plain, "settings": {k: v for k, v in plain["settings"].items() if k not in ("chat", "at_once")}}
    assert bench_report(plan, *of(), older)["comparison"] and "as chats" not in bench_text(plain)[2]
    for name, value, said in (("chat", True, " as chats"), ("at_once", 4, ", at most 4 at a time")):
        found = bench_report(plan, *of(**{name: value}), older)
        assert not found["comparison"] and f"another {name}" in found["findings"][0]["problem"]
        assert said in bench_text(found)[2] and said in bench_page(found)
        assert (found["capacity"] is None) == (name == "at_once"), "what waits in the client breaks no limit"


def test_a_report_names_rates_and_keeps_them_apart(plan):
    bench = bench_runs(plan, {"profile": "latency", "rates": [2, 4], "repeats": 1})
    results = [
        {"figures": {**FIGURES, "ttft_p50": value}, "engines": {"decode-0-0": {"requests": 8.0}}}
        for value in (1.0, 50.0, 80.0)
    ]
    found = bench_report(plan, bench, results, None)
    assert [(load["title"], load["rate"], load["median"]["ttft_p50"]) for load in found["loads"]] == [
        ("2/s", 2.0, 50.0),
        ("4/s", 4.0, 80.0),
    ]
    assert "requests that arrive in a second" in bench_page(found)


def test_a_rate_that_arrives_in_another_way_is_not_compared(plan):
    def measured_at(arrival):
        bench = bench_runs(plan, {"profile": "latency", "rates": [2], "repeats": 1, "arrival": arrival})
        result = {"figures": FIGURES, "engines": {"decode-0-0": {"requests": 8.0}}}
        return bench, [result, result]

    old = bench_report(plan, *measured_at("poisson"), None)
    assert bench_report(plan, *measured_at("poisson"), old)["comparison"]
    found = bench_report(plan, *measured_at("constant"), old)
    assert found["comparison"] == [] and "another arrival" in found["findings"][0]["problem"]


def test_reports_of_different_programs_are_not_compared(plan):
    old = report(plan, [50.0] * 3)
    settings = {name: value for name, value in old["settings"].items() if name != "driver"}
    assert report(plan, [50.0] * 3, old={**old, "settings": settings})["comparison"], "an older report is of vLLM"
    found = report(plan, [50.0] * 3, old={**old, "settings": {**settings, "driver": "aisbench"}})
    assert not found["comparison"] and not found["passed"]
    assert "BENCH-COMPARE" in [item["id"] for item in found["findings"] if "another driver" in item["problem"]]


def test_a_report_names_aisbench(plan):
    found = report(plan, [50.0])
    settings = {**found["settings"], "driver": "aisbench"}
    found = {**found, "settings": settings}
    assert "by AISBench" in bench_text(found)[2] and "by AISBench" in bench_page(found)
    assert "AISBench" not in bench_text(report(plan, [50.0]))[2]


def test_in_a_container_the_program_of_the_image_runs():
    found = bench_runs(plan_of("a3_mooncake_1p1d"), SMOKE)
    assert (
        found["options"]["container"] == "inference-prefill-0" or found["options"]["container"] == "inference-decode-0"
    )
    assert found["options"]["user"] == "" and found["options"]["runtime"] == "docker"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"profile": "smok"}, "smoke"),
        ({"profil": "smoke"}, "unknown key 'profil'"),
        ({"profile": "trace"}, "no file is given"),
        ({"trace": "/x.jsonl"}, "reads no file"),
        ({"profile": "trace", "trace": "x.jsonl"}, "x.jsonl is no absolute path"),
        ({"driver": "aisbench"}, "its program is not known"),
        ({**AISBENCH, "program": "ais_bench"}, "ais_bench"),
        ({"program": "/usr/bin/ais_bench"}, "whose program is known"),
        ({**AISBENCH, "profile": "trace", "trace": "/x.jsonl"}, "sends traces with driver: vllm only"),
        ({"data": "/srv/p.jsonl"}, "sends no file with driver: vllm"),
        ({**AISBENCH, "data": "p.jsonl"}, "p.jsonl is no absolute path"),
        ({**AISBENCH, "data": "/srv/p.jsonl", "input": 10}, "data has prompts of its own"),
        ({**AISBENCH, "data": "/srv/p.jsonl", "profile": "pool"}, "data has prompts of its own"),
        ({**AISBENCH, "slo": {"ttft": 100}}, "does not count good requests"),
        ({"loads": [0]}, "are no loads"),
        ({"host": "nowhere"}, "nowhere runs no engine"),
        ({"input": 500000}, "max-model-len of"),
        ({"cores": "0; reboot"}, "numbers and ranges"),
        ({"slo": {"ttft": "fast"}}, "inference_bench.slo.ttft"),
    ],
)
def test_settings_that_cannot_work_are_refused(plan, settings, text):
    with pytest.raises(PlanError) as refused:
        bench_runs(plan, settings)
    assert text in str(refused.value)


@pytest.mark.parametrize(("prompts", "number"), [(0, 10**9), (50, 50)])
def test_a_trace_is_sent_to_its_end_unless_a_number_is_wanted(plan, prompts, number):
    """vllm bench serve takes the first 1000 requests of a trace if nothing is said."""
    runs = bench_runs(plan, {"profile": "trace", "trace": "/data/t.jsonl", "prompts": prompts})["runs"]
    argv = runs[1]["argv"]
    assert argv[argv.index("--num-prompts") + 1] == str(number) and "--ignore-eos" not in argv
    assert "--ignore-eos" in runs[0]["argv"] and "--max-concurrency" in runs[0]["argv"], "the warm-up ends"


CLIENT = {**SMOKE, "program": "/opt/client/bin/vllm", "tokenizer": "/srv/tokenizer"}


def test_a_cluster_is_measured_from_the_controller():
    found = bench_runs(plan_of("a3_kthena_1p1d"), CLIENT)
    argv, options = found["runs"][1]["argv"], found["options"]
    assert (found["host"], found["service"]) == ("localhost", "the controller")
    assert argv[:5] == ["/opt/client/bin/vllm", "bench", "serve", "--backend", "openai"]
    assert (
        argv[argv.index("--model") + 1] == "/srv/tokenizer" and argv[argv.index("--served-model-name") + 1] == "ds_r1"
    )
    assert argv[argv.index("--base-url") + 1] == "http://deepseek-pd-router.default.svc:8080"
    assert (options["container"], options["source"], options["environment"]) == ("", [], {})
    assert [engine["name"] for engine in options["engines"]] == ["prefill-0", "decode-0"]


def test_aisbench_measures_a_cluster_too():
    setting = {**CLIENT, "driver": "aisbench", "program": "/opt/aisbench/bin/ais_bench"}
    run = bench_runs(plan_of("a3_kthena_1p1d"), setting)["runs"][1]
    assert run["argv"] == ["/opt/aisbench/bin/ais_bench"] and run["config"]["models"][0]["path"] == "/srv/tokenizer"


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ({"program": ""}, "no program of the controller is named"),
        ({"program": "bin/vllm"}, "bin/vllm is no absolute path"),
        ({"program": "", "driver": "aisbench"}, "no program of the controller is named"),
        ({"host": "n1"}, "n1 is no host of the inventory in a cluster"),
    ],
)
def test_what_a_cluster_cannot_measure_is_refused_once(setting, text):
    with pytest.raises(PlanError) as refused:
        bench_runs(plan_of("a3_kthena_1p1d"), {**CLIENT, **setting})
    assert [text in finding.problem for finding in refused.value.findings] == [True]


def test_a_cluster_without_a_known_entry_is_refused():
    plan = plan_of("a3_kthena_1p1d")
    with pytest.raises(PlanError, match="URL for clients is not known"):
        bench_runs({**plan, "verify": {**plan["verify"], "entry": None}}, CLIENT)


def test_a_tokenizer_of_hosts_is_refused(plan):
    with pytest.raises(PlanError, match="it is for Kubernetes"):
        bench_runs(plan, {**SMOKE, "tokenizer": "/srv/tokenizer"})


def test_a_report_of_pods_names_what_was_not_seen():
    plan = plan_of("a3_kthena_1p1d")
    bench = bench_runs(plan, CLIENT)
    results = [{"figures": {**FIGURES, "completed": 10}, "engines": {}, "others": {}} for _run in bench["runs"]]
    found = [item for item in bench_report(plan, bench, results, None)["findings"] if item["id"] == "BENCH-CLUSTER"]
    assert len(found) == 1 and found[0]["severity"] == "remark" and "the logs of the pods" in found[0]["problem"]


FIGURES = {
    "completed": 64,
    "failed": 0,
    "empty": 0,
    "short": 0,
    "first_error": "",
    "ttft_p50": 50.0,
    "output_throughput": 100.0,
}


def measured(plan, values, engines=None, **changes):
    """A report of one load with a result for each of the values of TTFT, and settings that allow it."""
    bench = bench_runs(plan, {"profile": "latency", "loads": [4], "repeats": len(values)})
    engines = {"decode-0-0": {"requests": 8.0}} if engines is None else engines
    result = {"figures": FIGURES, "engines": engines}
    results = [result] + [
        {**result, "figures": {**FIGURES, "ttft_p50": value, "output_throughput": 5000.0 / value, **changes}}
        for value in values
    ]
    return bench, results


def report(plan, values, old=None, engines=None, **changes):
    bench, results = measured(plan, values, engines, **changes)
    return bench_report(plan, bench, results, old)


def ids(found):
    return [finding["id"] for finding in found["findings"]]


def test_medians_with_their_spread(plan):
    found = report(plan, [50.0, 52.0, 51.0])
    (load,) = found["loads"]
    assert [load[part]["ttft_p50"] for part in ("least", "median", "most")] == [50.0, 51.0, 52.0]
    assert (load["completed"], found["passed"], ids(found)) == (192, True, [])
    assert any("51.0 (50.0 to 52.0)" in line for line in bench_text(found))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"failed": 1, "first_error": "HTTP 502"}, "BENCH-FAILED"),
        ({"empty": 2}, "BENCH-EMPTY"),
        ({"short": 1}, "BENCH-SHORT"),
        ({"empty": None}, "BENCH-UNCOUNTED"),
    ],
)
def test_wrong_answers_fail_the_report(plan, changes, rule):
    found = report(plan, [50.0], **changes)
    assert (ids(found), found["passed"]) == ([rule], False)
    assert "FAILED" in bench_text(found)[0]


@pytest.mark.parametrize(
    ("gained", "rule"),
    [({"requests": 0.0}, "BENCH-IDLE"), (None, "BENCH-COUNTERS"), ({"queue_seconds": 1.0}, "BENCH-COUNTERS")],
)
def test_an_engine_without_requests_is_named(plan, gained, rule):
    found = report(plan, [50.0], engines={"decode-0-0": {"requests": 8.0}, "decode-0-1": gained})
    assert (ids(found), found["passed"]) == ([rule], True)
    assert found["findings"][0]["path"] == "decode-0-1"


def test_a_wide_spread_is_named(plan):
    assert ids(report(plan, [50.0, 60.0])) == ["BENCH-SPREAD", "BENCH-SPREAD"]
    assert ids(report(plan, [50.0, 54.0])) == []


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        ([50, 51, 52], [60, 61, 62], "worse"),
        ([60, 61, 62], [50, 51, 52], "better"),
        ([50, 51, 56], [55, 57, 58], "same"),  # the ranges overlap
        ([50.0, 50.1, 50.0], [51.0, 51.1, 51.0], "same"),  # 2 %
        ([50, 54, 52], [57, 59, 58], "same"),  # the ranges part, by less than their width
        ([50, 54, 52, 53], [57, 59, 58, 57], "worse"),  # the same with more measurements
        ([50, 54, 52, 53, 51], [55, 57, 56, 56, 57], "worse"),
    ],
)
def test_worse_is_only_what_is_beyond_the_spread(plan, before, now, verdict):
    old = report(plan, before)
    found = report(plan, now, old=old)
    row = next(row for row in found["comparison"] if row["figure"] == "ttft_p50")
    assert row["verdict"] == verdict
    assert ("BENCH-REGRESSION" in ids(found)) == (verdict == "worse") == (not found["passed"])


@pytest.mark.parametrize("values", [([50.0], [80.0] * 3), ([50.0] * 3, [80.0, 81.0]), ([50.0], [50.0])])
def test_few_measurements_are_not_judged(plan, values):
    before, now = values
    found = report(plan, now, old=report(plan, before))
    assert {row["verdict"] for row in found["comparison"]} == {"not judged"}
    assert (ids(found), found["passed"]) == (["BENCH-UNJUDGED"], False)


def test_a_load_that_is_worse_is_one_finding_with_all_figures(plan):
    found = report(plan, [80.0] * 3, old=report(plan, [50.0] * 3))
    (finding,) = found["findings"]
    assert (finding["id"], finding["path"]) == ("BENCH-REGRESSION", "load 4")
    assert "ttft_p50 is 80, before 50" in finding["problem"] and "output_throughput is 62.5" in finding["problem"]


def test_small_figures_have_labels_that_can_be_read(plan):
    """With a label for each tenth they lie upon each other."""
    page = bench_page(report(plan, [50.0], request_throughput=1.6))
    (chart,) = [part for part in page.split("<svg")[1:] if "Requests (requests/s)" in part]
    (axis,) = re.findall(
        r'<g class="axis y[^"]*">(.*?)<g class="axis x|<g class="axis y[^"]*">(.*?)<g class="series', chart, re.S
    )
    assert 2 <= "".join(axis).count("<text") <= 10
    assert "1 measurement of each load" in page


def test_a_deployment_is_rarely_worse_than_itself(plan):
    """Measurements of one deployment on a noisy machine: 12 % of standard deviation."""
    draw = random.Random(4)
    worse = 0
    for _number in range(200):
        before, now = ([draw.gauss(50, 6) for _repeat in range(3)] for _report in range(2))
        worse += "BENCH-REGRESSION" in ids(report(plan, now, old=report(plan, before)))
    assert worse <= 4


def test_other_numbers_of_npus_are_compared_per_npu(plan):
    now = report(plan, [50.0] * 3)
    half = {**now["topology"], "pools": {"colocated": 2}, "devices": now["devices"] // 2}
    old = {**now, "topology": half, "devices": half["devices"]}
    found = report(plan, [50.0] * 3, old=old)
    rows = {row["figure"]: row for row in found["comparison"]}
    assert rows["ttft_p50"]["verdict"] == "same"
    # The same rate with twice as many NPUs is half of it for each.
    rate = rows["output_throughput per NPU"]
    assert (rate["before"], rate["now"]) == (100.0 / half["devices"], 100.0 / now["devices"])
    assert (rate["verdict"], ids(found)) == ("worse", ["BENCH-REGRESSION"])
    assert "output_throughput" in {row["figure"] for row in report(plan, [50.0], old=now)["comparison"]}


def test_what_is_compared_is_named(plan):
    now = report(plan, [50.0])
    assert (now["topology"]["pools"], now["topology"]["router"]) == ({"decode": 1, "prefill": 2}, "load_balance")
    assert (now["before"], report(plan, [50.0], old=now)["before"]) == (None, None)
    earlier = {**now["topology"], "router": "vllm_router", "policies": {"policy": "cache_aware"}}
    found = report(plan, [50.0], old={**now, "topology": earlier})
    shown = "1 decode and 2 prefill on 64 NPUs, vllm_router (policy cache_aware) before, 1 decode and 2 prefill on 64 NPUs, load_balance now"
    assert f"Compared: {shown}." in bench_text(found)
    assert shown in bench_page(found)


def test_a_deployment_on_cpus_has_no_npus_in_its_report(plan):
    found = report(plan, [50.0])
    topology = {**found["topology"], "devices": 0}
    text = bench_text({**found, "devices": 0, "topology": topology, "before": {**topology, "router": "vllm_router"}})
    assert "NPUs" not in "\n".join(text) and "1 decode and 2 prefill, vllm_router before" in "\n".join(text)


def test_the_policy_of_the_router_is_in_the_report(plan):
    routed = copy.deepcopy(plan)
    router = next(item for item in routed["services"] if item["kind"] == "router")
    router["argv"] = [*router["argv"], "--decode-policy", "power_of_two"]
    routed["verify"]["entry"]["kind"] = "frontend"  # a frontend in front of it
    assert report(routed, [50.0])["topology"]["router"] == "load_balance"
    assert report(routed, [50.0])["topology"]["policies"] == {"decode-policy": "power_of_two"}


def test_another_load_is_not_compared(plan):
    old = report(plan, [50.0])
    old["settings"]["input"] = 7
    found = report(plan, [80.0], old=old)
    assert (ids(found), found["comparison"]) == (["BENCH-COMPARE"], [])


def test_requests_that_are_good_by_other_limits_are_not_compared(plan):
    old = report(plan, [50.0] * 3, request_goodput=9.0)
    found = report(plan, [50.0] * 3, old={**old, "slo": {**old["slo"], "ttft": 9000}}, request_goodput=2.0)
    assert "request_goodput" not in {row["figure"] for row in found["comparison"]}
    assert (ids(found), found["passed"]) == (["BENCH-SLO"], True)
    assert report(plan, [50.0] * 3, old=old, request_goodput=2.0)["passed"] is False


def test_a_trace_has_a_title_and_no_load(plan):
    bench = bench_runs(plan, {"profile": "trace", "trace": "/data/t.jsonl", "repeats": 3})
    result = {"figures": FIGURES, "engines": {"decode-0-0": {"requests": 8.0}}}
    (load,) = bench_report(plan, bench, [result] * len(bench["runs"]))["loads"]
    assert (load["load"], load["title"]) == (0, "trace")


def test_another_trace_is_another_load(plan):
    old = report(plan, [50.0] * 3)
    found = report(plan, [50.0] * 3, old={**old, "settings": {**old["settings"], "trace": "/data/other.jsonl"}})
    assert (ids(found), found["comparison"], found["passed"]) == (["BENCH-COMPARE"], [], False)


def test_a_figure_that_is_missing_now_is_no_success(plan):
    found = report(plan, [50.0] * 3, old=report(plan, [50.0] * 3), output_throughput=None)
    assert (ids(found), found["passed"]) == (["BENCH-COMPARE"], False)
    assert "output_throughput" in found["findings"][0]["problem"]


def test_a_load_that_was_not_measured_again_is_named(plan):
    old = report(plan, [50.0] * 3)
    more = {**old["loads"][0], "load": 64, "title": "64"}
    found = report(plan, [50.0] * 3, old={**old, "loads": [*old["loads"], more]})
    assert (ids(found), found["passed"]) == (["BENCH-COMPARE"], True)
    assert "64" in found["findings"][0]["problem"] and found["findings"][0]["why"] == "It was not compared."


def test_each_run_has_a_result(plan):
    """Otherwise figures would be those of another load."""
    bench, results = measured(plan, [50.0] * 3)
    for wrong in (results[:-1], [*results, results[-1]]):
        with pytest.raises(ValueError, match="zip"):
            bench_report(plan, bench, wrong)


def test_another_model_is_named(plan):
    old = report(plan, [50.0] * 3)
    found = report(plan, [50.0] * 3, old={**old, "model": "another"})
    assert (ids(found), found["passed"]) == (["BENCH-MODEL"], True)
    assert ids(report(plan, [50.0] * 3, old={name: old[name] for name in old if name != "model"})) == []


def test_reports_without_a_common_load_are_not_compared(plan):
    old = report(plan, [50.0])
    for load in old["loads"]:
        load["title"] = "9"
    found = report(plan, [80.0], old=old)
    assert (ids(found), found["comparison"], found["passed"]) == (["BENCH-COMPARE"], [], False)


COUNTED = {"requests": 8.0, "queue_seconds": 1.0, "prefill_seconds": 2.0, "decode_seconds": 5.0}


def test_no_legend_of_the_page_runs_into_the_next_one():
    """The library gives each a column of 250 pixels, whatever its length (seen in a browser)."""
    names = [name for _counter, name in STAGES] + [name for _t, _a, curves, _l in CURVES for _f, name in curves]
    assert len(names) > 8 and [name for name in names if len(name) > 30] == []


def test_a_trace_is_judged_by_the_smallest_context(plan):
    options = bench_runs(plan, {"profile": "trace", "trace": "/srv/trace.jsonl", "prompts": 9})["options"]
    contexts = [
        int(item["argv"][item["argv"].index("--max-model-len") + 1])
        for item in plan["services"]
        if "--max-model-len" in item["argv"]
    ]
    assert (options["trace"], options["trace_requests"], options["most_tokens"]) == (
        "/srv/trace.jsonl",
        9,
        min(contexts),
    )
    assert "trace" not in bench_runs(plan, {})["options"]


def test_the_page_shows_curves_tables_and_stages_and_loads_nothing(plan):
    old = report(plan, [50.0] * 3)
    page = bench_page(report(plan, [60.0] * 3, old=old, engines={"decode-0-0": COUNTED, "decode-0-1": None}))
    for text in (
        "BENCH-REGRESSION",
        "Time to first token (ms)",
        "Output (tokens/s)",
        "Share of each stage",
        "decode-0-1",
    ):
        assert text in page
    assert page.count("<svg") == 3, "TTFT, output, stages; TPOT and requests were not measured"
    links = re.findall(r"""(?:https?:)?//[^\s"'<]+""", page)
    assert set(links) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert "<script" not in page


def test_the_page_escapes_what_others_wrote(plan):
    page = bench_page(report(plan, [60.0], failed=1, first_error="<script>alert(1)</script>"))
    assert "&lt;script&gt;alert(1)" in page and "<script" not in page


def test_the_limit_is_a_curve_of_its_own(plan):
    found = report(plan, [60.0])
    assert "limit" not in bench_page(found)
    found["slo"]["ttft"] = 200
    assert bench_page(found).count(">limit<") == 1


def test_without_the_library_nothing_is_measured(plan, monkeypatch):
    monkeypatch.setattr(curves, "find_spec", lambda name: None)
    with pytest.raises(AnsibleFilterError, match="pip install pygal"):
        runs_filter(plan, SMOKE, {"inference_bench_html": "page.html"})
    assert runs_filter(plan, SMOKE, {"inference_bench_html": ""})["runs"]


def test_wrong_settings_and_missing_files_are_named_together(plan):
    with pytest.raises(AnsibleFilterError, match=r"(?s)2 errors.*profile.*/none/before.json cannot be read"):
        runs_filter(plan, {"profile": "x"}, {"inference_bench_compare": "/none/before.json"})


POOL = {"profile": "pool"}


@pytest.fixture(scope="module")
def pool_plan():
    plan = plan_of("a2_colocated_pool")
    plan["release_facts"]["vllm"] = "0.18.0"  # that of the inventory has no program that can measure it
    return plan


def test_rounds_of_a_pool_send_the_same_prompts_except_for_the_eviction(pool_plan):
    found = bench_runs(pool_plan, {**POOL, "repeats": 2})
    first, second = (engine["url"] for engine in pool_plan["verify"]["colocated"][:2])
    warm_up, *runs = found["runs"]
    assert option(warm_up, "--base-url") == pool_plan["verify"]["entry"]["url"]
    rounds = [(run["round"], option(run, "--base-url"), run["repeat"]) for run in runs[:4]]
    assert rounds == [("cold", first, 1), ("evict", first, 0), ("own memory", first, 1), ("other instance", second, 1)]
    seeds = [option(run, "--seed") for run in runs]
    assert seeds[0] == seeds[2] == seeds[3] and len(set(seeds)) == 4, "two measurements, each with an eviction"
    assert "--num-prompts" not in runs[1]["argv"] and runs[1]["evict"] == runs[1]["engine"]
    assert found["options"]["prompt_tokens"] == 1024


def test_the_number_of_prompts_that_evict_can_be_set(pool_plan):
    run = bench_runs(pool_plan, {**POOL, "evict": 300})["runs"][2]
    assert (option(run, "--num-prompts"), run["evict"]) == ("300", "")


def test_a_plan_without_a_store_has_no_pool(plan):
    with pytest.raises(PlanError, match="the plan has none"):
        bench_runs(plan, {"profile": "pool"})


def pool_report(pool_plan, ttft, shares):
    """A report of the three rounds with these TTFT and shares of loaded prompt tokens."""
    bench = bench_runs(pool_plan, {**POOL, "repeats": 1, "evict": 9})
    values = dict(zip(("cold", "own memory", "other instance"), zip(ttft, shares, strict=True), strict=True))
    results = []
    for run in bench["runs"]:
        time, share = values.get(run["round"], (1.0, 0.0))
        counted = {"requests": 100.0, "prompt_tokens": 1000.0}
        if share is not None:
            counted["tokens_from_outside"] = 1000.0 * share
        others = {item["name"]: {"refused": 0.0} for item in bench["options"]["others"]}
        results.append(
            {"figures": {**FIGURES, "ttft_p50": time}, "engines": {run["engine"]: counted}, "others": others}
        )
    return bench_report(pool_plan, bench, results)


@pytest.mark.parametrize(
    ("ttft", "shares", "rules"),
    [
        ((2322, 739, 948), (0.0, 0.99, 0.98), []),  # the figures of the guide
        ((2322, 739, 948), (0.0, 0.5, 0.5), []),
        ((2322, 739, 948), (0.0, 0.99, 0.49), ["BENCH-POOL-MISS"]),
        ((2322, 2322, 948), (0.0, 0.99, 0.99), ["BENCH-POOL-SLOW"]),
        ((2322, 739, 948), (0.0, None, 0.99), ["BENCH-POOL-UNKNOWN"]),
    ],
)
def test_what_a_pool_gains(pool_plan, ttft, shares, rules):
    found = pool_report(pool_plan, ttft, shares)
    assert ids(found) == rules
    assert [load["title"] for load in found["loads"]] == ["25 cold", "25 own memory", "25 other instance"]
    assert found["passed"] == ("BENCH-POOL-MISS" not in rules)
    assert any("| loaded |" in line for line in bench_text(found))
