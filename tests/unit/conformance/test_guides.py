# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployments in pages and files of the CI, on made-up ones, and the recipes that are compiled from them."""

from __future__ import annotations

import os

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.tests.conformance import guides_ci, guides_pages, make_recipes
from ansible_collections.ascend.inference.tests.conformance.guides_text import blocks, script
from ansible_collections.ascend.inference.tests.conformance.read_entry import read_entry
from ansible_collections.ascend.inference.tests.conformance.recipe_names import model_word

FIRST, NEWEST = make_recipes.SHELF
TOLD = '"kv_connector_extra_config": {"prefill": {"dp_size": 2, "tp_size": 8}, "decode": {"dp_size": 32, "tp_size": 1}}'
RANKS = "--data-parallel-size $3 --data-parallel-rank $4 --data-parallel-address $5 --tensor-parallel-size $7"


def serve(role, sequences, model="/models/GLM-5-w8a8", more=RANKS):
    kv = f'{{"kv_connector": "MooncakeConnectorV1", "kv_role": "{role}", "kv_port": "30000", {TOLD}}}'
    return f"""# it's the node's own address
export HCCL_IF_IP=$local_ip
export HCCL_BUFFSIZE=256
export ASCEND_RT_VISIBLE_DEVICES=$1
vllm serve {model} --host 0.0.0.0 --port $2 {more} \\
  --enable-expert-parallel --max-model-len 8192 --max-num-seqs {sequences} \\
  --kv-transfer-config '{kv}' > log 2>&1 &"""


def launch(dp, tp, local, start=0):
    return f"python launch_online_dp.py --dp-size {dp} --tp-size {tp} --dp-size-local {local} --dp-rank-start {start}"


def block(text, indent=""):
    return "".join(f"{indent}{line}\n" for line in ("```shell", *text.splitlines(), "```"))


PAIR = (
    "# GLM-5\n\n## 5 Deployment\n\n### 5.2 Prefill-Decode Disaggregation\n\nOn Atlas 800 A3.\n\n"
    f"{block(serve('kv_producer', 4))}\n{block(serve('kv_consumer', 28))}\n"
    f"{block(chr(10).join((launch(2, 8, 2), launch(2, 8, 2), launch(32, 1, 16), launch(32, 1, 16, 16))))}"
)
MIXED = (
    '\n### 5.1 Single-Node Deployment\n\n=== "A2 series"\n\n'
    + block(
        'model_path="xxxx"  # GLM-5-w4a8 model path\nvllm serve $model_path --tensor-parallel-size 8 --max-num-seqs 9',
        "    ",
    )
    + '\n=== "A3 series"\n\n'
    + block("vllm serve /models/GLM-5-w8a8 --data-parallel-size 2 --tensor-parallel-size 8 --max-num-seqs 7", "    ")
)


def of_page(tmp_path, text, page="models/GLM5.md"):
    path = tmp_path / guides_pages.PAGES / page
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return [read_entry(entry) for entry in guides_pages.entries(tmp_path, NEWEST) if entry["roles"]]


def sizes(found, kind):
    return [(item.instance, item.rank, item.host, item.sizes["tensor_parallel_size"]) for item in found.of(kind)]


def test_a_page_with_templates_and_launchers(tmp_path):
    (found,) = of_page(tmp_path, PAIR)
    assert (found.hardware, found.release, found.devices_per_host, len(found.hosts)) == ("a3", NEWEST, 16, 4)
    assert sizes(found, "prefill") == [
        (0, 0, "node00", 8),
        (0, 1, "node00", 8),
        (1, 0, "node01", 8),
        (1, 1, "node01", 8),
    ]
    decode = found.of("decode")
    assert len(decode) == 32 and {item.instance for item in decode} == {0} and decode[16].host == "node03"
    assert decode[0].args["max-num-seqs"] == "28" and "2>&1" not in str(decode[0].args)
    assert decode[3].env["HCCL_BUFFSIZE"] == "256" and decode[3].devices == (3,)


def test_sizes_without_launchers_are_those_that_the_connector_is_told(tmp_path):
    (found,) = of_page(tmp_path, PAIR.partition(launch(2, 8, 2))[0].rpartition("```shell")[0])
    assert len(found.of("prefill")) == 2 and len(found.of("decode")) == 32 and len(found.hosts) == 3


@pytest.mark.parametrize("colons", [False, True])
def test_tabs_name_hardware_and_models(tmp_path, colons):
    text = PAIR.partition("### 5.2")[0] + MIXED
    if colons:  # as pages of older releases have them
        text = text.replace('=== "A2 series"', "::::{tab-item} A2 series").replace(
            '=== "A3 series"', "::::\n::::{tab-item} A3 series"
        )
        text = text.replace("\n    ", "\n") + "::::\n"
    a2, a3 = of_page(tmp_path, text)
    assert [item.hardware for item in (a2, a3)] == ["a2", "a3"]
    assert a2.processes[0].model == "/models/GLM-5-w4a8", "the comment beside a value that only stands for one names it"
    assert a3.processes[0].sizes["data_parallel_size"] == 2


def test_hardware_that_a_page_names_together_is_taken_where_the_command_fits_a_host(tmp_path):
    text = MIXED.replace("A2 series", "Atlas 800 A2 / Atlas 800 A3").partition('\n=== "A3')[0]
    assert [item.hardware for item in of_page(tmp_path, "# G\n\n## 5 Deployment\n" + text)] == ["a2", "a3"]
    larger = text.replace("--tensor-parallel-size 8", "--tensor-parallel-size 16")
    assert [item.hardware for item in of_page(tmp_path, "# G\n\n## 5 Deployment\n" + larger)] == ["a3"]


def test_nodes_of_one_engine(tmp_path):
    words = "--data-parallel-size 4 --data-parallel-size-local 1 --data-parallel-address $a --tensor-parallel-size 16"
    text = "# G\n\n## 5 Deployment\n\n### 5.1 Deployment on A3\n\n" + block(f"vllm serve /models/G {words}")
    (found,) = of_page(tmp_path, text)
    assert [(item.host, item.headless, item.args.get("data-parallel-start-rank")) for item in found.processes] == [
        ("node00", False, "0"),
        ("node01", True, "1"),
        ("node02", True, "2"),
        ("node03", True, "3"),
    ]
    pipeline = "--nnodes 2 --node-rank 0 --master-addr $a --pipeline-parallel-size 2 --tensor-parallel-size 16"
    (found,) = of_page(tmp_path, text.replace(words, pipeline))
    assert [item.args["node-rank"] for item in found.processes] == ["0", "1"]


def test_several_nodes_share_a_script_and_one_host_has_both(tmp_path):
    text = PAIR.partition(launch(2, 8, 2))[0].rpartition("```shell")[0]
    many = text.replace("On Atlas 800 A3.", "On Atlas 800 A3.\n\n1. Prefill (3 P nodes share the script)")
    (found,) = of_page(tmp_path, many)
    assert len({item.instance for item in found.of("prefill")}) == 3
    small = text.replace("$3", "1").replace("$7", "1").replace(" --data-parallel-rank $4", "")
    one = of_page(tmp_path, small, "features/pd_single_node.md")[0]
    assert len(one.hosts) == 1 and len(one.processes) == 2


def test_a_template_whose_sizes_the_reader_chooses_and_a_page_without_a_model_give_nothing(tmp_path):
    plain = block(f"vllm serve /models/G {RANKS}")
    assert of_page(tmp_path, "# G\n\n## 5 Deployment\n\n### 5.1 Deployment on A3\n\n" + plain) == []
    assert of_page(tmp_path, PAIR.replace("/models/GLM-5-w8a8", "$path"), "features/pd.md") == []
    assert of_page(tmp_path, PAIR.replace("5 Deployment", "9 Performance tuning")) == []


def test_blocks_and_scripts():
    (found,) = blocks("# A\n## B {: #b }\ntext\n```bash\ncode\n```\n")
    assert (found.headings, found.before, found.text, found.section) == (["A", "B"], "text", "code", ("B",))
    env, variables, commands = script(
        "A=1\nexport B='x y' C=2\nfor i in 1; do\n\"\nvllm serve m --x '{\"a\":\n 1}' & \n"
    )
    assert (env, variables) == ({"B": "x y", "C": "2"}, {"A": "1"}) and commands == []
    assert script("exec vllm serve m --n $((1 + $4)) | tee log")[2] == [["vllm", "serve", "m", "--n", "0"]]


CI = {
    "model": "Eco/GLM-5-w8a8",
    "num_nodes": 2,
    "npu_per_node": 16,
    "routing": {"type": "disaggregated_prefill", "groups": {"prefiller": [0], "decoder": [1]}},
    "config": [
        {"node_index": node, "dp_size": dp, "dp_size_local": dp, "dp_rank_start": 0, "tp_size": tp, "port_start": 7100}
        for node, dp, tp in ((0, 2, 8), (1, 16, 1))
    ],
    "templates": [
        {
            "node_index": node,
            "envs": {"HCCL_BUFFSIZE": 256, "SERVER_PORT": "${PORT}"},
            "server_cmd_template": [*RANKS.split(), "--port", "$SERVER_PORT", "--kv-transfer-config", kv],
        }
        for node, kv in enumerate(
            f'{{"kv_connector": "MooncakeConnectorV1", "kv_role": "{role}", "kv_port": "30000"}}'
            for role in ("kv_producer", "kv_consumer")
        )
    ],
}
STARTED = {
    **{key: CI[key] for key in ("model", "num_nodes", "npu_per_node")},
    "disaggregated_prefill": {"prefiller_host_index": [0], "decoder_host_index": [1]},
    "deployment": [
        {
            "envs": {"A_B": "1"},
            "server_cmd": f"vllm serve Eco/GLM-5-w8a8 --tensor-parallel-size 16 --max-num-seqs {number}\n",
        }
        for number in (1, 2)
    ],
}


def of_ci(tmp_path, **configs):
    folder = tmp_path / guides_ci.CONFIGS / "GLM"
    folder.mkdir(parents=True, exist_ok=True)
    for name, config in configs.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(config))
    chosen = tmp_path / guides_ci.CHOSEN / "nightly.yaml"
    chosen.parent.mkdir(parents=True, exist_ok=True)
    run = [{"config_file_path": f"{name}.yaml"} for name in configs if name != "unused"]
    chosen.write_text(yaml.safe_dump({"a3-560t": {"multi_node": {"test_config": run}}}))
    return {entry["id"]: read_entry(entry) for entry in guides_ci.entries(tmp_path, NEWEST)}


def test_files_of_the_ci_that_it_runs(tmp_path):
    found = of_ci(tmp_path, ranks=CI, nodes=STARTED, unused=CI, single={**CI, "templates": None, "config": None})
    assert list(found) == ["nodes", "ranks"] and {item.hardware for item in found.values()} == {"a3"}
    assert [len(found["ranks"].of(kind)) for kind in ("prefill", "decode")] == [2, 16]
    assert [item.args["max-num-seqs"] for item in found["nodes"].processes] == ["1", "2"]


@pytest.fixture
def shelf(tmp_path):
    """Folders of both releases: a page in the first, the same and more in the newest."""
    folders = {name: tmp_path / name for name in make_recipes.SHELF}
    for name, folder in folders.items():
        of_page(folder, PAIR)
        (folder / "PKG-INFO").write_text("")
        os.utime(folder / "PKG-INFO", (86400, 86400))
        of_ci(folder, **{"GLM-5-3.5k-1.5k-PD": CI} if name == NEWEST else {})
    of_page(folders[NEWEST], PAIR + MIXED)
    return folders


def test_recipes_are_compiled_from_the_first_release_that_has_the_guide(shelf):
    found = make_recipes.compiled(shelf)
    assert {name: (item["release"], item["hosts"]) for name, item in found.recipes.items()} == {
        "glm-5-w8a8-a3": (FIRST, 4),
        "glm-5-w4a8-a2-mixed": (NEWEST, 1),
        "glm-5-w8a8-a3-mixed": (NEWEST, 1),
        "glm-5-w8a8-a3-3.5k-1.5k": (NEWEST, 2),
    }
    pools = found.recipes["glm-5-w8a8-a3"]["variables"]["inference_pools"]
    assert pools["prefill"]["args"] == {"max-model-len": "8192", "max-num-seqs": "4"}
    assert (pools["prefill"]["instances"], pools["decode"]["data_parallel_size"]) == (2, 32)
    assert found.recipes["glm-5-w8a8-a3"]["variables"]["inference_release"] == FIRST in RELEASES
    assert make_recipes.unread(shelf) == []


def test_what_the_planner_refuses_stands_beside_the_shelf_with_the_reason(shelf):
    wrong = PAIR.replace("--max-num-seqs 4", "--max-num-seqs 4 --no-such-flag 1")
    for folder in shelf.values():
        of_page(folder, wrong)
    found = make_recipes.compiled(shelf)
    assert "glm-5-w8a8-a3" not in found.recipes
    assert found.without[0].startswith(f"{guides_pages.PAGES}/models/GLM5.md|") and "no-such-flag" in found.without[0]


def test_what_a_recipe_leaves_out_is_noted(shelf):
    config = '--additional-config \'{"no_such_key": 1, "enable_cpu_binding": true}\' --max-num-seqs'
    for folder in shelf.values():
        of_page(folder, PAIR.replace("--max-num-seqs", config))
    found = make_recipes.compiled(shelf).recipes["glm-5-w8a8-a3"]
    assert found["variables"]["inference_pools"]["decode"]["args"]["additional-config"] == {"enable_cpu_binding": True}
    assert [note.split(":")[0] for note in found["notes"]] == ["prefill", "decode"] and "no_such_key" in found["notes"][
        0
    ]


def test_an_option_that_names_something_of_the_site_is_left_out_with_a_note(shelf):
    draft = '--speculative-config \'{"method": "eagle3", "model": "your_draft"}\' --max-num-seqs'
    for folder in shelf.values():
        of_page(folder, PAIR.replace("--max-num-seqs", draft))
    found = make_recipes.compiled(shelf).recipes["glm-5-w8a8-a3"]
    assert "speculative-config" not in found["variables"]["inference_pools"]["decode"]["args"]
    assert found["notes"][0] == "prefill: --speculative-config names something of the site; it is left out"


def test_a_guide_with_prefill_and_decode_that_cannot_be_read_is_noticed(shelf):
    path = shelf[NEWEST] / guides_pages.PAGES / "models" / "Other.md"
    path.write_text("kv_producer and kv_consumer in a form that nobody knows")
    assert make_recipes.unread(shelf) == [
        f"{NEWEST}: {guides_pages.PAGES}/models/Other.md has prefill and decode, and no deployment is found in it"
    ]


@pytest.mark.parametrize(
    ("model", "word"),
    [
        ("/models/DeepSeek-V3.1-w8a8-mtp-QuaRot", "deepseek-v3.1-w8a8"),
        ("Eco-Tech/GLM5.2", "glm-5.2"),
        ("MiniMax-M3-w8a8-0626", "minimax-m3-w8a8"),
        ("Qwen3.5-397B-A17B-w8a8-mtp", "qwen3.5-397b-w8a8"),
        ("Kimi-K2.7-Code-w4a8", "kimi-k2.7-code-w4a8"),
    ],
)
def test_a_model_in_a_recipe_s_name(model, word):
    assert model_word(model) == word
