# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the host that an engine in a container is given: they are mounted, or a finding names them."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.paths import mounts, seen
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_render_npu import (
    INVENTORY,
    POOLS,
    inference_variables,
)

WORK = "/opt/ascend-inference/deployments/inference/services/prefill-0/work"


def container(**changes):
    made = launch_plan(inference_variables(runtime="docker", **changes), INVENTORY)
    return next(service["container"] for service in made["services"] if service["name"] == "prefill-0")


def pool(**args):
    return {"prefill": {**POOLS["prefill"], "args": args}, "decode": POOLS["decode"]}


@pytest.mark.parametrize(
    ("changes", "mounted"),
    [
        ({"args": {"chat-template": "/srv/t/qwen.jinja"}}, ["/srv/t/qwen.jinja:/srv/t/qwen.jinja:ro"]),
        ({"args": {"chat-template": "{{ messages }}"}}, []),
        (
            {"args": {"enable-lora": True, "lora-modules": ["a=/srv/l/a", "b=/srv/l/b"]}},
            ["/srv/l/a:/srv/l/a:ro", "/srv/l/b:/srv/l/b:ro"],
        ),
        (
            {"args": {"enable-lora": True, "lora-modules": '{"name": "a", "path": "/srv/l/a"}'}},
            ["/srv/l/a:/srv/l/a:ro"],
        ),
        ({"args": {"enable-lora": True, "lora-modules": ["a=owner/adapter"]}}, []),
        ({"args": {"speculative-config": {"model": "/srv/d", "num_speculative_tokens": 1}}}, ["/srv/d:/srv/d:ro"]),
        ({"args": {"speculative-config": {"method": "ngram", "num_speculative_tokens": 1}}}, []),
        ({"args": {"speculative-config": {"model": "owner/draft", "num_speculative_tokens": 1}}}, []),
        ({"args": {"tokenizer": "/srv/tokenizer"}}, ["/srv/tokenizer:/srv/tokenizer:ro"]),
        ({"args": {"tokenizer": "owner/name"}}, []),
        ({"args": {"tool-parser-plugin": "/srv/p.py"}}, ["/srv/p.py:/srv/p.py:ro"]),
        ({"args": {"reasoning-parser-plugin": "/srv/p.py"}}, ["/srv/p.py:/srv/p.py:ro"]),
        ({"args": {"hf-config-path": "/srv/config"}}, ["/srv/config:/srv/config:ro"]),
        ({"args": {"generation-config": "vllm"}}, []),
        ({"args": {"download-dir": "/srv/download"}}, ["/srv/download:/srv/download"]),
        ({"env": {"LMCACHE_CONFIG_FILE": "/srv/lmcache.yaml"}}, ["/srv/lmcache.yaml:/srv/lmcache.yaml:ro"]),
        ({"args": {"tokenizer": "/models/moe/tokenizer"}}, []),
        ({"args": {"chat-template": "/models/moe.jinja"}}, ["/models/moe.jinja:/models/moe.jinja:ro"]),
        ({"args": {"chat-template": "/vllm-workspace/vllm/examples/tool.jinja"}}, []),
        ({"args": {"chat-template": "/tmp/t.jinja"}}, ["/tmp/t.jinja:/tmp/t.jinja:ro"]),
        ({"args": {"chat-template": "/run/t/t.jinja"}}, ["/run/t/t.jinja:/run/t/t.jinja:ro"]),
        ({"args": {"tokenizer": "/srv/x"}, "container": {"mounts": ["/data:/srv"]}}, []),
        ({"args": {"tokenizer": "/srv/x", "chat-template": "/srv/x/t.jinja"}}, ["/srv/x:/srv/x:ro"]),
    ],
)
def test_files_outside_of_the_model_are_mounted(changes, mounted):
    assert container(**changes)["mounts_of_paths"] == mounted


def test_a_pool_gets_its_own():
    made = launch_plan(inference_variables(runtime="docker", pools=pool(**{"hf-config-path": "/srv/t"})), INVENTORY)
    found = {service["name"]: service["container"].get("mounts_of_paths") for service in made["services"]}
    assert found == {"prefill-0": ["/srv/t:/srv/t:ro"], "decode-0": [], "router": None}


def test_the_own_folder_of_a_service_is_mounted_anyway():
    env = {"HF_HOME": f"{WORK}/hub"}
    assert container(pools={**POOLS, "prefill": {**POOLS["prefill"], "env": env}})["mounts_of_paths"] == []
    with pytest.raises(PlanError, match="has files and secrets of all services"):
        container(env=env)  # decode gets that of prefill as well


EXPERTS = [
    ({"eplb_config": {"expert_map_path": "/srv/map.json"}}, ["/srv/map.json:/srv/map.json:ro"]),
    ({"eplb_config": {"expert_map_record_path": "/srv/maps/new.json"}}, ["/srv/maps:/srv/maps"]),
    ({"expert_map_path": "/srv/map.json"}, ["/srv/map.json:/srv/map.json:ro"]),
]


@pytest.mark.parametrize(("config", "mounted"), EXPERTS)
def test_maps_of_experts(config, mounted):
    assert mounts(seen(["--additional-config", json.dumps(config)], {}), []) == mounted


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (["--speculative-config.model", "/srv/d"], ["/srv/d"]),
        (["--additional-config.eplb_config", '{"expert_map_path": "/srv/m"}'], ["/srv/m"]),
        (["--additional-config.eplb_config.expert_map_path", "/srv/m"], ["/srv/m"]),
        (["--additional-config", "{bad"], []),
        (["--additional-config", "[1]"], []),
        (["--lora-modules", "{bad", "a", '[{"path": "/srv/a"}, 1]'], ["/srv/a"]),
        (["--tokenizer"], []),
        (["--kv-transfer-config", '{"kv_connector_extra_config": {"UCM_CONFIG_FILE": "/srv/u"}}'], ["/srv/u"]),
        (
            [
                "--kv-transfer-config",
                '{"kv_connector_extra_config": {"connectors": [{"kv_connector_extra_config": {"UCM_CONFIG_FILE": "/srv/u"}}, 1]}}',
            ],
            ["/srv/u"],
        ),
    ],
)
def test_paths_are_found_in_every_spelling(argv, found):
    assert [item.path for item in seen(["vllm", "serve", "/m", *argv], {})] == found


def test_the_wider_mount_stays():
    argv = [
        "--tokenizer",
        "/srv/a",
        "--hf-config-path",
        "/srv/a/b",
        "--download-dir",
        "/srv/a/c",
        "--config",
        "/srv/ab",
    ]
    assert mounts(seen(argv, {}), []) == ["/srv/a:/srv/a:ro", "/srv/a/c:/srv/a/c", "/srv/ab:/srv/ab:ro"]
    written = ["--tokenizer", "/srv/a/b", "--download-dir", "/srv/a"]
    assert mounts(seen(written, {}), []) == ["/srv/a:/srv/a"]
