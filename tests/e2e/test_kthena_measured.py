# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook bench on Kthena's inventory: a client on the controller sends the guide's kind of request to pods of the fake cluster.

The guide has no benchmark. It sends a chat of a few words with 100 tokens of answer, which the profile smoke does with ``chat``.
"""

from __future__ import annotations

import json
import os
import sys

import pytest
from ansible_collections.ascend.inference.tests.e2e import _kthena as cluster_of

pytestmark = pytest.mark.skipif(
    not cluster_of.has_kubernetes(),
    reason="needs ansible-playbook and the Python library kubernetes in one environment",
)
NODES = [part for number in (1, 2) for part in ("--node", f"node{number}=huawei.com/ascend-1980:16")]
VLLM = cluster_of.ROOT / "tests/simulator/bin/vllm"
PROGRAM = """#!/bin/sh
printf '%s\\n' "$*" >>{folder}/commands
export ASCEND_SIMULATOR_STATE={folder}/client.json ASCEND_SIMULATOR_PYTHON={python}
exec {vllm} "$@"
"""


@pytest.fixture
def cluster(tmp_path):
    """Two nodes of 16 NPUs, and engines where its pods are."""
    network = f"127.{20 + os.getpid() % 200}.{os.getpid() // 200 % 250 + 1}"
    arguments = [*cluster_of.crds(), *NODES, "--pod-network", network]
    started = cluster_of.Fake(tmp_path, *arguments, model="ds_r1")
    yield started
    started.stop()


def client(folder):
    """A program ``vllm`` of the guide's release that records its command line."""
    (folder / "client.json").write_text(json.dumps({"devices": [], "engine": {"release": "0.13.0"}}))
    program = folder / "vllm"
    program.write_text(PROGRAM.format(folder=folder, python=sys.executable, vllm=VLLM))
    program.chmod(0o755)
    (folder / "tokenizer").mkdir()
    return {"program": str(program), "tokenizer": str(folder / "tokenizer")}


def test_chats_of_the_guide_are_measured_through_the_router(cluster):
    cluster.play("kubernetes", secret=False)
    path, bench = cluster.directory / "bench.json", {"profile": "smoke", "chat": True, **client(cluster.directory)}
    output = cluster.play("bench", secret=False, inference_bench=bench, inference_bench_json=str(path))
    warm_up, measured = (cluster.directory / "commands").read_text().splitlines()
    asked = "bench serve --backend openai-chat --base-url http://"
    entry = f":{cluster.node_port} --endpoint /v1/chat/completions --model {bench['tokenizer']} --served-model-name ds_r1 --temperature 0 "
    assert measured.startswith(asked) and entry in measured, measured
    sent = "--num-prompts 10 --request-rate 4 --max-concurrency 4 --ignore-eos"
    assert "--random-input-len 10 --random-output-len 100 " in measured and f" {sent} " in measured, measured
    assert asked in warm_up and "--request-rate" not in warm_up
    report = json.loads(path.read_text())
    (load,) = report["loads"]
    assert (load["title"], load["completed"], load["failed"], load["empty"], load["short"]) == ("4/s", 10, 0, 0, 0)
    assert load["median"]["ttft_p50"] > 0 and load["median"]["tpot_p50"] is not None
    counted = {name: gained["requests"] for name, gained in report["engines"].items()}
    assert counted == {"prefill-0": 10.0, "decode-0": 10.0}, "both roles served each request"
    assert report["passed"] and "BENCH-CLUSTER" in {finding["id"] for finding in report["findings"]}
    assert "100 out, 1 measurements of each load as chats, at most 4 at a time" in output

    (cluster.directory / "client.json").write_text(json.dumps({"devices": [], "engine": {"release": "0.9.1"}}))
    output = " ".join(cluster.play("bench", secret=False, good=False, inference_bench=bench).split())
    assert "required: --endpoint-type" in output.replace("\\n", " "), "the stand-in takes what the release refuses"
