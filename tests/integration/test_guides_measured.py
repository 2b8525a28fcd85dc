# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook bench sends the load of each published guide to the guide's own inventory, and its report has what the engines counted."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.tests.integration import _guides, _hosts

pytestmark = pytest.mark.skipif(not _hosts.possible(), reason="needs namespaces")
SIZES = "--random-input-len 10 --random-output-len 100"


def measured(guide, **settings):
    """(report, output) of the playbook."""
    path = guide.folder / "bench.json"
    run = guide.play("bench", inference_bench=settings, inference_bench_json=str(path))
    assert run.code == 0, run.output[-6000:]
    return json.loads(path.read_text(encoding="utf-8")), run.output


def test_the_load_of_the_w8a8_guide():
    """Ten requests of 10 and 100 tokens, four a second and four at a time, from vLLM 0.9.1's client, whose option has another name."""
    with _guides.deployed("a3_llmdatadist_w8a8", 16) as guide:
        report, _output = measured(guide, profile="smoke")
        warm_up, command = guide.commands("a3-1")
        assert command.startswith(
            "bench serve --endpoint-type openai --base-url http://192.0.2.163:1025 --endpoint /v1/completions "
        )
        assert (
            f"--model {guide.folder}/model --served-model-name deepseek --trust-remote-code --dataset-name random {SIZES} "
            in command
        )
        assert (
            " --num-prompts 10 --request-rate 4 --max-concurrency 4 --ignore-eos " in command
            and "--temperature" not in command
        )
        assert "--request-rate" not in warm_up
        (load,) = report["loads"]
        assert (load["title"], load["completed"], load["failed"], load["empty"], load["short"]) == ("4/s", 10, 0, 0, 0)
        assert {name: gained["requests"] for name, gained in report["engines"].items()} == {
            "prefill-0": 10,
            "decode-0": 10,
        }
        assert report["passed"] and load["median"]["ttft_p50"] > 0


@pytest.mark.long
def test_the_load_of_the_1p2d_guide():
    """The guide asks for 100 tokens, once; the profile smoke does so ten times, from vLLM 0.10.1's client."""
    with _guides.deployed("a2_llmdatadist_1p2d", 8) as guide:
        report, _output = measured(guide, profile="smoke")
        command = guide.commands("a2-1")[-1]
        assert command.startswith(
            "bench serve --backend openai --base-url http://192.0.2.1:8080 --endpoint /v1/completions "
        )
        assert (
            "--served-model-name qwen3-moe --temperature 0 --trust-remote-code " in command and f" {SIZES} " in command
        )
        (load,) = report["loads"]
        assert (load["completed"], load["failed"], load["empty"], load["short"]) == (10, 0, 0, 0)
        counted = {name: gained["requests"] for name, gained in report["engines"].items()}
        assert counted["prefill-0"] == counted["decode-0"] + counted["decode-1"] == 10 and report["passed"]


@pytest.mark.long
def test_the_load_of_the_pool_guide():
    """A, B, A, and A at the other engine: 100 requests of 1,024 and 10 tokens, 25 at a time, with a real store, from both programs."""
    with _guides.deployed("a2_colocated_pool", 8) as guide:
        report, _output = measured(guide, profile="pool", repeats=1, evict=100)
        sent = guide.commands("a2-1")[1:]  # without the warm-up
        size = " --dataset-name random --random-input-len 1024 --random-output-len 10 "
        assert all(size in line and " --num-prompts 100 --max-concurrency 25 --ignore-eos" in line for line in sent)
        seeds = [line.split("--seed ")[1].split()[0] for line in sent]
        urls = [line.split("--base-url ")[1].split()[0] for line in sent]
        assert seeds[0] == seeds[2] == seeds[3] != seeds[1], "A, B, A, A"
        assert urls == [f"http://192.0.2.{last}:8002" for last in (188, 188, 188, 189)]
        pooled(report)
        config = {"profile": "pool", "repeats": 1, "evict": 100, "driver": "aisbench", "chat": True}
        report, output = measured(guide, **config, program=str(guide.aisbench()))
        pooled(report)
        assert "by AISBench as chats" in output
        models = [
            json.loads(line) for line in (guide.folder / "a2-1/configs").read_text(encoding="utf-8").splitlines()
        ][1:]
        asked = {
            **{
                "type": "ais_bench.benchmark.models.VLLMCustomAPIChat",
                "stream": True,
                "model": "qwen",
                "request_rate": 0,
            },
            **{"max_out_len": 10, "batch_size": 25, "trust_remote_code": False},
            "generation_kwargs": {"temperature": 0, "ignore_eos": True},
        }
        assert all(asked.items() <= model.items() for model in models)
        assert [model["url"] for model in models] == urls


def pooled(report):
    """All answers of the three rounds are whole, and the store gave each block of A."""
    rounds = {load["round"]: load for load in report["loads"]}
    assert sorted(rounds) == ["cold", "other instance", "own memory"] and report["passed"]
    for load in rounds.values():
        assert (load["completed"], load["failed"], load["empty"], load["short"]) == (100, 0, 0, 0)
    assert report["others"]["mooncake-master"]["gained"]["found"] > 0
