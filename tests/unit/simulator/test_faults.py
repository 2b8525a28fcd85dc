# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrong wirings that start cleanly: the answer is wrong or missing, and something else shows why."""

from __future__ import annotations

import socket

import pytest
from ansible_collections.ascend.inference.tests.simulator.fake_host import write_model
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import ask, disaggregated, text_of

OLD, NEW = "0.18.0", "0.23.0"


def hosts(cluster, release):
    return [cluster.host(number, release=release) for number in (1, 2)]


def garbage(text):
    """A decode on wrong KV repeats one word."""
    words = text.split()
    return len(words) > 2 and len(set(words)) == 1


def assert_garbage(cluster, release, prompt, prefill, decode):
    right = text_of(decode.complete(prompt + " other", 8)), text_of(prefill.complete(prompt, 8))
    _params, status, answer = disaggregated(prefill, decode, prompt)
    assert status == 200
    assert garbage(text_of(answer)) and not garbage(right[0]) and text_of(answer) != right[1]


@pytest.mark.parametrize("release", [OLD, NEW])
@pytest.mark.parametrize("side", [0, 1])
def test_hccn_conf_missing_is_silent_garbage(cluster, prompt, release, side):
    made = hosts(cluster, release)
    made[side].hccn_conf.unlink()
    prefill, decode = cluster.pair(*made)
    assert_garbage(cluster, release, prompt, prefill, decode)
    assert "transfer failed" not in decode.text
    assert "took" in decode.text
    plogs = [path.read_text(encoding="utf-8") for path in made[1].root.glob("ascend/log/debug/plog/*.log")]
    assert any("'device ip' is not set correctly" in text for text in plogs) == (side == 1)


@pytest.mark.parametrize("side", [0, 1])
def test_only_engines_with_the_planted_text_in_their_command_line_garble(cluster, prompt, side):
    made = hosts(cluster, NEW)
    made[side] = cluster.host(side + 1, release=NEW, garbled_with="--max-num-seqs 32")
    prefill, decode = cluster.pair(*made)
    assert text_of(disaggregated(prefill, decode, prompt)[2]) == text_of(prefill.complete(prompt, 8))
    for engine in (prefill, decode):
        engine.stop()
    assert_garbage(cluster, NEW, prompt, *cluster.pair(*made, flags=("--max-num-seqs", 32)))


@pytest.mark.parametrize("fault", [{"tls": True}, {"link": "DOWN"}, {"ip": ["10.9.9.9", "255.255.255.0"]}])
def test_broken_device_link_before_0_20_2_is_garbage_with_a_log_line(cluster, prompt, fault):
    made = hosts(cluster, OLD)
    prefill, decode = cluster.pair(*made)
    made[1].set_device(4, **fault)
    assert_garbage(cluster, OLD, prompt, prefill, decode)
    assert "status: 103900" in decode.text
    assert "Mooncake transfer failed" in decode.text


@pytest.mark.parametrize("policy", ["fail", "recompute"])
def test_tls_of_one_device_differs_in_a_new_release(cluster, prompt, policy):
    made = hosts(cluster, NEW)
    prefill, decode = cluster.pair(*made, kv={"kv_load_failure_policy": policy}, tensor=(2, 2))
    made[0].set_device(1, tls=True)
    _params, status, answer = disaggregated(prefill, decode, prompt)
    assert "status: 103900" in decode.text
    if policy == "fail":
        assert status == 500
        assert "Failing 1 request(s) due to KV load failure" in decode.text
        assert decode.counter("request_success_total", finished_reason="error") == 1
    else:
        assert text_of(answer) == text_of(prefill.complete(prompt, 8))
        assert "Recovered from KV load failure" in decode.text


def test_old_direct_transport_has_to_be_asked_for(cluster, prompt):
    extra = {"prefill": {"tp_size": 1, "dp_size": 1}, "decode": {"tp_size": 1, "dp_size": 1}}
    prefill, decode = cluster.pair(*hosts(cluster, "0.11.0"), kv={"kv_connector_extra_config": extra})
    assert_garbage(cluster, OLD, prompt, prefill, decode)
    assert "status: 103900" in decode.text


def test_another_model_on_the_decoder(cluster, prompt, tmp_path):
    other = write_model(tmp_path / "other", weights="finetuned")
    prefill, decode = cluster.pair(*hosts(cluster, NEW), kv_consumer_model=other)
    assert text_of(prefill.complete(prompt + "x")) != text_of(decode.complete(prompt + "x"))
    assert_garbage(cluster, NEW, prompt, prefill, decode)


def test_model_repairs_do_not_make_another_model(cluster, prompt, tmp_path):
    repaired = write_model(tmp_path / "repaired", head_dim=None, torch_dtype="float16")
    prefill, decode = cluster.pair(*hosts(cluster, NEW), kv_consumer_model=repaired)
    _params, _status, answer = disaggregated(prefill, decode, prompt)
    assert text_of(answer) == text_of(prefill.complete(prompt))


def test_kv_from_the_wrong_place(cluster, prompt):
    prefill, decode = cluster.pair(*hosts(cluster, NEW))
    wrongs = [{"remote_host": "127.0.0.9"}, {"remote_port": 23699}, {"remote_engine_id": "nobody"}]
    for number, wrong in enumerate(wrongs):
        _params, status, _answer = disaggregated(prefill, decode, f"{number} {prompt}", **wrong)
        assert status == 500
    _params, status, answer = disaggregated(prefill, decode, f"blocks {prompt}", remote_block_ids=[[7, 8, 9, 10, 11]])
    assert status == 200 and garbage(text_of(answer))


def test_same_engine_id_on_both_sides(cluster, prompt):
    prefill, decode = cluster.pair(*hosts(cluster, NEW), kv={"engine_id": "0"})
    assert disaggregated(prefill, decode, prompt)[1] == 500
    assert "Conflict engine id 0 with local engine id 0." in decode.died()


def test_pinned_engine_ids_of_two_prefills_mix_them_up(cluster, prompt):
    """The decoder never forgets where (engine id, kv_port) was, so it reads the other prefill's memory."""
    made = [*hosts(cluster, NEW), cluster.host(3, release=NEW)]
    prefill, decode = cluster.pair(*made[:2])
    kv = {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": cluster.port(), "engine_id": "p"}
    first, second = (cluster.start(host, 2, kv=kv).ready() for host in (made[0], made[2]))
    assert not garbage(text_of(disaggregated(first, decode, prompt)[2]))
    assert garbage(text_of(disaggregated(second, decode, f"b {prompt}")[2]))
    assert prefill.process.poll() is None


def test_killed_prefill(cluster, prompt):
    prefill, decode = cluster.pair(*hosts(cluster, NEW))
    params, status, _answer = disaggregated(prefill, decode, prompt)
    assert status == 200
    prefill.process.kill()
    prefill.process.wait()
    status, _text = decode.ask("/v1/completions", {"prompt": f"x {prompt}", "kv_transfer_params": params})
    assert status == 500
    assert decode.complete(f"y {prompt}")["choices"][0]["text"]


def test_blocks_are_freed_after_the_timeout_and_reused(cluster, prompt):
    timeout = {"VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": "0.5"}
    prefill, decode = cluster.pair(*hosts(cluster, OLD), env=timeout)
    import json
    import time

    from ansible_collections.ascend.inference.tests.unit.simulator.conftest import ASK_PREFILL

    body = {"prompt": prompt, "max_tokens": 1, "kv_transfer_params": ASK_PREFILL}
    params = json.loads(prefill.ask("/v1/completions", body)[1])["kv_transfer_params"]
    assert prefill.counter("kv_cache_usage_perc") > 0
    time.sleep(1)
    assert prefill.counter("kv_cache_usage_perc") == 0
    assert "Force freed request: " in prefill.text
    answer = decode.complete(prompt, 8, kv_transfer_params=params)
    assert garbage(text_of(answer))


def test_decoder_without_parameters_computes_by_itself(cluster, prompt):
    prefill, decode = cluster.pair(*hosts(cluster, NEW))
    answer = decode.complete(prompt)
    tokens = answer["usage"]["prompt_tokens"]
    assert decode.counter("prompt_tokens_by_source_total", source="local_compute") == tokens
    assert decode.counter("external_prefix_cache_queries_total") == 0
    assert text_of(answer) == text_of(prefill.complete(prompt))
    again = decode.complete(prompt)
    assert text_of(again) == text_of(answer)
    assert decode.counter("prompt_tokens_by_source_total", source="local_cache_hit") == tokens // 128 * 128


def test_prefill_without_a_connector_hands_nothing_over(cluster, prompt):
    prefill = cluster.start(cluster.host(), 0).ready()
    assert disaggregated(prefill, prefill, prompt)[0] is None


def test_old_decoder_with_incomplete_parameters_hangs(cluster, prompt):
    prefill, decode = cluster.pair(*hosts(cluster, NEW))
    params, _status, _answer = disaggregated(prefill, decode, prompt)
    del params["remote_request_id"]  # as a prefill before 0.14 would answer
    with pytest.raises(socket.timeout):
        ask(decode.address, decode.port, "/v1/completions", {"prompt": "q", "kv_transfer_params": params}, timeout=2)
    assert "Got invalid KVTransferParams" in decode.text
    assert decode.counter("num_requests_running") in (0, 1)


def test_decoder_asked_by_a_layerwise_proxy_dies(cluster, prompt):
    _prefill, decode = cluster.pair(*hosts(cluster, NEW))
    params = {"do_remote_prefill": True, "do_remote_decode": False, "metaserver": "http://127.0.0.1:1/v1/metaserver"}
    assert decode.ask("/v1/completions", {"prompt": prompt, "kv_transfer_params": params})[0] == 500
    assert "AssertionError: num_external_tokens == 0" in decode.died()


def test_recomputed_answers(cluster, prompt):
    env = {"ASCEND_SIMULATOR_PREEMPT_AFTER": "3"}
    flags = ["--additional-config", '{"recompute_scheduler_enable": true}']
    prefill, decode = cluster.pair(*hosts(cluster, NEW), kv_consumer_env=env, flags=flags)
    # Some of the random prompts end after fewer tokens otherwise.
    _params, _status, answer = disaggregated(prefill, decode, prompt, ignore_eos=True)
    assert answer["choices"][0]["stop_reason"] == "recomputed"
    assert answer["usage"]["completion_tokens"] == 3
