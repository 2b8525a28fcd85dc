# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables whose prefix is misspelt or missing are named; those of others are not."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.misspelt import (
    KNOWN,
    OURS_ALONE,
    misspelt,
    without_prefix,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import planned

# Of Ansible, other collections and roles, servers, clusters, and inventories of people who serve models.
TEXT = """
    ansible_host ansible_user ansible_ssh_private_key_file ansible_python_interpreter ansible_become ansible_facts inventory_hostname
    group_names groups hostvars omit environment vault_api_key vault_inference_key docker_users docker_daemon_options
    docker_registry_mirrors kubernetes_version kube_config k8s_namespace prometheus_targets prometheus_web_listen_address
    node_exporter_version grafana_url nfs_exports ntp_servers chrony_pool firewalld_zones sysctl_settings users ssh_keys timezone http_proxy
    https_proxy no_proxy model models model_path model_name pools pool hosts host args env port ports devices device image images hardware
    address interface memory release version root user runtime engine router store probe verify plan services secrets link group firewall
    container vllm_args vllm_model vllm_version sglang_model llm_model llm_pools mooncake_version mooncake_master etcd_version etcd_peers
    cann_path cann_version driver_version npu_count npu_devices rank_table hccl_port bond_interfaces reference_model reference_args
    conference_pools preference_model interference_model interference_args influence_model inferences_path inferences_model inferencer_args
    inferenced_plan infer_model infer_args infra_model inference infernece inferencemodel INFERENCE_MODEL INFERNCE_MODEL difference_plan
    deference_args infernal_args inferno_model insurance_plan interface_address interface_name interface_devices
    internet_link deployment deployment_name start_timeout stop_timeout drain_timeout tune_profile upgrade_mode bench drill recipe tasks_max
"""
FOREIGN = TEXT.split()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("infernce_args", "args"),
        ("inferense_pools", "pools"),
        ("inferrence_model", "model"),
        ("inferecne_pools", "pools"),
        ("nference_env", "env"),
        ("ifnerence_release", "release"),
        ("inferenc_hardware", "hardware"),
        ("Inference_model", "model"),
        ("Infernce_kv-transfer", "kv_transfer"),
        ("inference-args", "args"),
        ("inference-kv-transfer", "kv_transfer"),
        ("infernce_check_html", "check_html"),
        ("infernce_deplyment", "deployment"),
    ],
)
def test_a_misspelt_prefix_is_an_error(name, meant):
    (finding,) = misspelt(["inference_model", name])
    assert (finding.path, finding.id, finding.severity) == (name, "VARIABLE-UNKNOWN", "error")
    assert finding.fix.startswith(f"Did you mean inference_{meant}? ")


def test_variables_of_others_are_left_alone():
    assert len(set(FOREIGN)) > 120
    assert misspelt(FOREIGN) == []
    assert without_prefix(FOREIGN) == []


def test_known_names_are_not_misspelt():
    assert misspelt(f"inference_{name}" for name in KNOWN) == []
    assert OURS_ALONE <= KNOWN


def test_an_option_without_its_prefix_is_a_warning_unless_it_is_a_value_of_the_option():
    assert without_prefix(["kv_transfer", "model"]) == [
        "The variable kv_transfer has no effect. Did you mean inference_kv_transfer?"
    ]
    assert without_prefix(["kv_transfer", "inference_kv_transfer"]) == []


@pytest.mark.parametrize("of_host", [False, True])
def test_the_planner_refuses_it_wherever_it_is_set(of_host):
    own = {"inference_model": {"path": "/models/m"}, "inference_pools": {"colocated": {}}}
    wrong = {"infernce_args": {"max-model-len": 4096}}
    hostvars = {"n1": {**own, **(wrong if of_host else {})}}
    with pytest.raises(PlanError) as caught:
        planned({} if of_host else wrong, hostvars, {"colocated": ["n1"]})
    assert "infernce_args: unknown variable" in str(caught.value)
    assert "Did you mean inference_args?" in str(caught.value)
