# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every inventory that we ship can be planned, and its plan says what its comment promises."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager
from ansible_collections.ascend.inference.plugins.filter.launch_plan import launch_plan_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.model import RECOMPUTE_HERE
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_table import plan_table

INVENTORIES = pathlib.Path(__file__).resolve().parents[3] / "inventories"
SHIPPED = sorted(path.parent.name for path in INVENTORIES.glob("*/hosts.yml"))
OURS = (
    "a3_2p1d",
    "a3_2p1d_layerwise",
    "a2_colocated_pool",
    "a2_llmdatadist_1p2d",
    "a3_mooncake_1p1d",
    "a3_llmdatadist_w8a8",
)


def plan_of(name, folder=INVENTORIES):
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(folder / name / "hosts.yml")])
    variables = VariableManager(loader=loader, inventory=inventory)
    hostvars = {host.name: variables.get_vars(host=host) for host in inventory.get_hosts()}
    controller = next(iter(hostvars.values()))
    return launch_plan_filter(controller, hostvars, inventory.get_groups_dict())


OF_THIS_MACHINE = {
    "{{ lookup('ansible.builtin.env', 'HOME') }}": "/home/user",
    "{{ inference_root }}": "/home/user/ascend-inference",
    "{{ ansible_playbook_python }}": "/usr/bin/python3",
}


def with_values(name, folder):
    """A folder with a copy of an inventory in which the templates of this machine have example values."""
    shutil.copytree(INVENTORIES / name, folder / name)
    hosts = folder / name / "hosts.yml"
    text = hosts.read_text(encoding="utf-8")
    for template, value in OF_THIS_MACHINE.items():
        text = text.replace(template, value)
    hosts.write_text(text, encoding="utf-8")
    return folder


def service(plan, name):
    return next(item for item in plan["services"] if item["name"] == name)


def flag(planned, name):
    return planned["argv"][planned["argv"].index(name) + 1]


def kv(planned):
    return json.loads(flag(planned, "--kv-transfer-config"))


@pytest.mark.parametrize("name", OURS)
def test_it_plans_and_prints(name):
    plan = plan_of(name)
    assert len(plan_table(plan)) > 3
    assert len(plan_table(plan, "commands")) > 20


@pytest.mark.parametrize("name", SHIPPED)
def test_it_has_no_warning(name, tmp_path):
    folder = with_values(name, tmp_path)
    findings = plan_of(name, folder)["findings"]
    assert [finding["problem"] for finding in findings if finding["severity"] not in ("remark", "accepted")] == []
    assert [finding["id"] for finding in findings if not finding["fix"]] == []  # what is accepted has a reason there


@pytest.mark.parametrize("name", OURS)
def test_it_fits_on_a_screen(name):
    lines = (INVENTORIES / name / "group_vars" / "all.yml").read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith(("#", "---"))]) <= 40


@pytest.mark.parametrize("name", ["a3_2p1d", "a3_2p1d_layerwise", "a3_llmdatadist_w8a8"])
def test_a3_under_systemd_is_built_from_source(name):
    plan = plan_of(name)
    build = plan["software"]["engine"]["builds"]["a3"]
    assert (build["method"], build["soc_version"]) == ("source", "ascend910_9391")
    assert any("SOC_VERSION=ascend910_9391" in line for line in plan_table(plan))


def test_a3_2p1d():
    plan = plan_of("a3_2p1d")
    kinds = [item["kind"] for item in plan["services"]]
    assert (kinds.count("prefill"), kinds.count("decode"), kinds.count("router")) == (2, 32, 1)
    assert kv(service(plan, "decode-0-31"))["kv_connector"] == "MooncakeConnectorV1"
    router = service(plan, "router")["argv"]
    assert len(router[router.index("--decoder-hosts") + 1 : router.index("--decoder-ports")]) == 32


def test_a3_2p1d_layerwise():
    plan = plan_of("a3_2p1d_layerwise")
    assert kv(service(plan, "prefill-0"))["kv_connector"] == "MooncakeLayerwiseConnector"
    assert plan["software"]["router"]["flavour"] == "layerwise"
    assert service(plan, "router")["argv"][3] != "0.0.0.0"


def test_a3_mooncake_1p1d_keeps_the_pools_of_0_3_7_clear():
    plan = plan_of("a3_mooncake_1p1d")
    prefill, decode = service(plan, "prefill-0"), service(plan, "decode-0")
    assert (prefill["devices"], decode["devices"]) == (list(range(8)), list(range(8, 16)))
    assert int(kv(prefill)["kv_port"]) > 36000
    assert [item["ports"][0]["first"] for item in (prefill, decode)] == [7100, 7101]
    assert prefill["container"]["image"] == "quay.io/ascend/vllm-ascend:v0.13.0-a3"
    assert "/etc/hccn.conf:/etc/hccn.conf:ro" in prefill["container"]["mounts"]


def test_commands_of_a_cluster_are_those_that_its_pods_run():
    plan = plan_of("a3_kthena_1p1d")
    printed = "\n".join(plan_table(plan, "commands"))
    scripts = [
        thing["data"][name] for thing in plan["objects"] if thing["kind"] == "ConfigMap" for name in thing["data"]
    ]
    run = [text for text in scripts if "exec " in text and text.startswith("#!/bin/bash")]
    assert len(run) == 3 and all(text.strip() in printed for text in run)
    assert "decode-0.pod" not in printed and '--host "${POD_IP}"' in printed and "kv_connector_module_path" in printed


def test_a2_llmdatadist_1p2d_names_the_rank_table():
    plan = plan_of("a2_llmdatadist_1p2d")
    decode = service(plan, "decode-1")
    path = decode["env"]["DISAGGREGATED_PREFILL_RANK_TABLE_PATH"]
    assert {"path": path, "content": "", "mode": "0640", "from": "rank_table"} in decode["files"]
    assert decode["env"]["VLLM_ASCEND_LLMDD_RPC_PORT"] == "5900"
    assert decode["env"]["VLLM_ASCEND_LLMDD_RPC_IP"] == "192.0.2.3"
    assert decode["env"]["ASCEND_RT_VISIBLE_DEVICES"] == "6,7"
    assert kv(decode) == {
        "kv_buffer_device": "npu",
        "kv_connector": "LLMDataDistCMgrConnector",
        "kv_parallel_size": 1,
        "kv_role": "kv_consumer",
    }


def test_a3_llmdatadist_w8a8_uses_the_names_of_0_9_1():
    decode = service(plan_of("a3_llmdatadist_w8a8"), "decode-0")
    assert decode["env"]["VLLM_LLMDD_RPC_PORT"] == "5659"
    assert "VLLM_ASCEND_LLMDD_RPC_IP" not in decode["env"]  # its connector does not read it
    assert "ACL_OP_INIT_MODE" not in decode["env"]
    assert decode["env"]["VLLM_USE_V1"] == "1"
    assert "/usr/local/Ascend/nnal/atb/set_env.sh" in decode["source"]


@pytest.mark.parametrize("name", ["a3_llmdatadist_w8a8", "a2_llmdatadist_1p2d"])
def test_no_port_is_opened_for_a_transport_that_is_not_used(name):
    opened = [rule["for"] for host in plan_of(name)["hosts"] for rule in host["firewall"]]
    assert [what for what in opened if what in ("transfer_engine", "ascend_direct")] == []
    assert any(what.endswith(" llmdatadist") for what in opened)


def test_a2_colocated_pool_shares_a_store():
    plan = plan_of("a2_colocated_pool")
    engine = service(plan, "colocated-1")
    assert kv(engine)["kv_connector"] == "MooncakeConnectorStoreV1"
    assert kv(engine)["kv_connector_extra_config"]["register_buffer"] is True
    config = json.loads(next(file["content"] for file in engine["files"] if file["path"].endswith("mooncake.json")))
    assert config["global_segment_size"] == 25 << 30
    assert config["local_hostname"] == "192.0.2.189"
    assert engine["env"]["ASCEND_BUFFER_POOL"] == "4:8"
    assert engine["env"]["PYTHONHASHSEED"] == "0"
    assert engine["start"]["needs"] == ["mooncake-master"]


@pytest.mark.parametrize("name", OURS)
def test_the_verification_understands_its_section(name):
    reader = pytest.importorskip("ansible_collections.ascend.inference.plugins.module_utils.verify.plan")
    section = reader.read_plan(plan_of(name)["verify"])
    assert section.engines


@pytest.mark.parametrize(
    ("release", "known"),
    [
        ("0.12.0rc1", ""),
        ("0.13.0", "documents of this release recommend"),
        ("0.18.0", "documents of this release recommend"),
        ("0.23.0", "this release ignores it"),
    ],
)
def test_recompute_on_prefill_is_judged_by_what_upstream_says_of_the_release(release, known):
    wanted = RELEASES[release].recompute_on_prefill
    assert known in RECOMPUTE_HERE.get(wanted, "") and bool(known) == bool(wanted)
