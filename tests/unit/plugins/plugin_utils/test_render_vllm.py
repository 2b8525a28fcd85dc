# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags as vLLM's parser reads them: one form of each name, and keys behind a dot as they are written."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.values import canonical
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.vllm import command_line, merged
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("max_num_seqs", "max-num-seqs"),
        ("--max-num_seqs", "max-num-seqs"),
        ("attention_config.indexer_kv_dtype", "attention-config.indexer_kv_dtype"),
        ("--attention-config.indexer_kv_dtype", "attention-config.indexer_kv_dtype"),
        ("compilation-config.pass_config.fuse_norm", "compilation-config.pass_config.fuse_norm"),
    ],
)
def test_underscores_are_hyphens_up_to_the_first_dot(written, name):
    assert canonical(written) == name


def test_two_spellings_of_a_dotted_flag_are_one():
    assert merged({"attention_config.backend_name": "a"}, {"attention-config.backend_name": "b"}) == {
        "attention-config.backend_name": "b"
    }


@pytest.mark.parametrize(
    ("value", "word"),
    [(True, "true"), (False, "false"), ([1, 2], "[1,2]"), ({"a": 1}, '{"a":1}'), ("int8", "int8"), (3, "3")],
)
def test_a_key_inside_a_configuration_has_one_value(value, word):
    """vLLM takes the word behind a dotted flag as its value, whatever it is: a bare flag would swallow the next one."""
    assert command_line({"compilation-config.some_key": value}) == ["--compilation-config.some_key", word]


def test_a_dotted_flag_reaches_the_command_line_as_it_is_written():
    args = {"compilation_config.cudagraph_mode": "FULL_DECODE_ONLY", "max_num_seqs": 28}
    plan = launch_plan(*family("p2p", {"inference_pools.decode.args": args}))
    argv = next(service["argv"] for service in plan["services"] if service["name"] == "decode-0-0")
    at = argv.index("--compilation-config.cudagraph_mode")
    assert argv[at + 1] == "FULL_DECODE_ONLY"
    assert plan["findings"] == []


def test_prefill_on_cpu_holds_kv_cache_as_long_as_set():
    plan = launch_plan(*family("cpu", {"inference_kv_hold_timeout": 900}))
    name = "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"
    assert {service["env"].get(name) for service in plan["services"] if service["kind"] == "prefill"} == {"900"}
    assert not [service for service in plan["services"] if service["kind"] != "prefill" and name in service["env"]]


@pytest.mark.parametrize(("env", "method"), [({}, "fork"), ({"VLLM_WORKER_MULTIPROC_METHOD": "spawn"}, "spawn")])
def test_an_engine_on_cpu_forks_its_processes_unless_told_otherwise(env, method):
    """`vllm serve` chooses spawn where the environment has no choice, before it loads our plugin."""
    plan = launch_plan(*family("cpu", {"inference_env": env}))
    engines = [service["env"] for service in plan["services"] if service["kind"] in ("prefill", "decode", "colocated")]
    assert engines and {engine["VLLM_WORKER_MULTIPROC_METHOD"] for engine in engines} == {method}


def test_a_list_of_mappings_is_json_each():
    modules = [{"name": "a", "path": "/m/a"}, "b=/m/b"]
    assert command_line({"lora-modules": modules}) == ["--lora-modules", '{"name":"a","path":"/m/a"}', "b=/m/b"]
    words, inventory = family("p2p", {"inference_args.lora-modules": modules, "inference_args.enable-lora": True})
    argv = launch_plan(words, inventory)["services"][0]["argv"]
    assert argv[argv.index("--lora-modules") + 1] == '{"name":"a","path":"/m/a"}'
