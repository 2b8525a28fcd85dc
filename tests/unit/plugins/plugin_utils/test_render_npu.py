# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What vLLM-Ascend needs, by hardware, link, release, connector and runtime."""

from __future__ import annotations

import json
import posixpath

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

INVENTORY = {
    "n1": {"groups": ["prefill"], "variables": {"ansible_host": "10.0.0.1", "inference_interface": "bond0"}},
    "n2": {"groups": ["decode"], "variables": {"ansible_host": "10.0.0.2", "inference_interface": "bond0"}},
}
POOLS = {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 8}}


def inference_variables(**changes):
    return {
        "inference_release": "0.23.0",
        "inference_hardware": "a3",
        "inference_model": {"path": "/models/moe", "name": "moe"},
        "inference_pools": POOLS,
        **{f"inference_{key}": value for key, value in changes.items()},
    }


def services(inventory=None, **changes):
    return {
        service["name"]: service
        for service in launch_plan(inference_variables(**changes), inventory or INVENTORY)["services"]
    }


def kv(service):
    return json.loads(service["argv"][service["argv"].index("--kv-transfer-config") + 1])


def file_of(service, name):
    return next(file["content"] for file in service["files"] if file["path"].endswith(name))


@pytest.mark.parametrize(
    ("changes", "present", "absent"),
    [
        ({}, {"ACL_OP_INIT_MODE": "1", "ASCEND_TRANSFER_TIMEOUT": "10000"}, ["HCCL_INTRA_ROCE_ENABLE", "VLLM_USE_V1"]),
        ({"link": "roce"}, {"HCCL_INTRA_ROCE_ENABLE": "1", "HCCL_RDMA_TIMEOUT": "17"}, ["ACL_OP_INIT_MODE"]),
        ({"hardware": "a2"}, {"HCCL_RDMA_TIMEOUT": "17"}, ["ACL_OP_INIT_MODE", "HCCL_INTRA_ROCE_ENABLE"]),
        ({"hardware": "a2", "kv_transfer": "mooncake+store"}, {"HCCL_INTRA_ROCE_ENABLE": "1"}, []),
        ({"kv_transfer": "mooncake+store"}, {"ASCEND_ENABLE_USE_FABRIC_MEM": "1"}, ["ASCEND_BUFFER_POOL"]),
        (
            {"kv_transfer": "mooncake+store", "link": "roce", "release": "0.22.1rc1"},
            {"ASCEND_BUFFER_POOL": "0:0"},
            ["ASCEND_ENABLE_USE_FABRIC_MEM"],
        ),
        ({"kv_transfer": "mooncake+store", "link": "roce"}, {"HCCL_INTRA_ROCE_ENABLE": "1"}, ["ASCEND_BUFFER_POOL"]),
        (
            {"kv_transfer": "mooncake+store", "hardware": "a2"},
            {"HCCL_INTRA_ROCE_ENABLE": "1"},
            ["ASCEND_BUFFER_POOL"],
        ),
        (
            {"kv_transfer": "mooncake+store", "hardware": "a2", "release": "0.24.0rc1"},
            {"ASCEND_BUFFER_POOL": "4:8"},
            [],
        ),
        (
            {"kv_transfer": "mooncake+store", "release": "0.18.0"},
            {"ASCEND_BUFFER_POOL": "4:8"},
            ["ASCEND_AUTO_CONNECT"],
        ),
        (
            {"kv_transfer": "mooncake+store", "env": {"ASCEND_USE_ASYNC_TRANSFER": 1}},
            {"ASCEND_USE_ASYNC_TRANSFER": "1"},
            ["ASCEND_ENABLE_USE_FABRIC_MEM", "ASCEND_BUFFER_POOL"],
        ),
        ({"release": "0.11.0"}, {"VLLM_USE_V1": "1"}, []),
        ({"env": {"OMP_NUM_THREADS": 3}}, {"OMP_NUM_THREADS": "3"}, []),
        ({"kv_hold_timeout": 900}, {"VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT": "900"}, []),
        ({"kv_hold_timeout": 900, "release": "0.13.0"}, {"VLLM_NIXL_ABORT_REQUEST_TIMEOUT": "900"}, []),
    ],
)
def test_environment(changes, present, absent):
    env = services(**changes)["prefill-0"]["env"]
    assert {name: env.get(name) for name in present} == present
    assert not set(absent) & set(env)


def test_the_tries_of_rdma_end_before_the_timeout_of_a_transfer():
    """HCCL tries 7 times, and its default is 20: ASCEND_TRANSFER_TIMEOUT > RDMA_TIMEOUT * 7, as upstream's page of the pool says."""
    env = services(hardware="a2")["prefill-0"]["env"]
    milliseconds = {exponent: 7 * 4.096e-3 * 2**exponent for exponent in (int(env["HCCL_RDMA_TIMEOUT"]), 20)}
    assert milliseconds[17] < int(env["ASCEND_TRANSFER_TIMEOUT"]) < milliseconds[20]


def test_one_interface_and_address_everywhere():
    env = services()["decode-0"]["env"]
    assert {env[name] for name in env if name.endswith("IFNAME")} == {"bond0"}
    assert env["VLLM_HOST_IP"] == env["HCCL_IF_IP"] == "10.0.0.2"


def test_what_extends_itself_is_left_to_the_shell():
    engine = services(env={"LD_LIBRARY_PATH": "/opt/x$y:$LD_LIBRARY_PATH"})["prefill-0"]
    assert "LD_LIBRARY_PATH" not in engine["env"]
    assert 'export LD_LIBRARY_PATH="/opt/x\\$y:${LD_LIBRARY_PATH:-}"' in file_of(engine, "shell.sh")
    assert engine["source"][-1].endswith("/services/prefill-0/shell.sh")


def test_a_proxy_in_a_container_does_not_load_the_npus_libraries():
    assert services(runtime="docker")["router"]["env"]["TORCH_DEVICE_BACKEND_AUTOLOAD"] == "0"
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD" not in services()["router"]["env"]


def test_source_built_mooncake_needs_search_paths_and_a_package_does_not():
    assert "site-packages/mooncake" in file_of(services(release="0.18.0")["prefill-0"], "shell.sh")
    assert "site-packages/mooncake" not in file_of(services(release="0.23.0")["prefill-0"], "shell.sh")


@pytest.mark.parametrize(
    ("word", "release", "name"),
    [
        ("mooncake", "0.23.0", "MooncakeConnectorV1"),
        ("mooncake_hybrid", "0.23.0", "MooncakeHybridConnector"),
        ("mooncake_layerwise", "0.18.0", "MooncakeLayerwiseConnector"),
        ("llmdatadist", "0.11.0", "LLMDataDistCMgrConnector"),
    ],
)
def test_connectors_by_word(word, release, name):
    found = services(kv_transfer=word, release=release)
    assert kv(found["prefill-0"])["kv_connector"] == kv(found["decode-0"])["kv_connector"] == name
    assert [kv(found[item])["kv_role"] for item in ("prefill-0", "decode-0")] == ["kv_producer", "kv_consumer"]
    assert not {"engine_id", "kv_connector_module_path"} & set(kv(found["prefill-0"]))


def test_ascend_direct_is_said_only_where_it_is_read():
    assert kv(services(release="0.11.0")["prefill-0"])["kv_connector_extra_config"]["use_ascend_direct"] is True
    assert "use_ascend_direct" not in kv(services(release="0.13.0")["prefill-0"])["kv_connector_extra_config"]


def test_transfer_and_pool_are_children_with_their_own_roles():
    pools = {
        **POOLS,
        "decode": {**POOLS["decode"], "kv": {"kv_load_failure_policy": "recompute", "store": {"load_async": True}}},
    }
    config = kv(services(kv_transfer="mooncake+store", pools=pools)["decode-0"])
    children = config["kv_connector_extra_config"]["connectors"]
    assert [item["kv_connector"] for item in children] == ["MooncakeConnectorV1", "AscendStoreConnector"]
    assert {item["kv_role"] for item in children} == {"kv_consumer"}
    assert children[1]["kv_connector_extra_config"]["load_async"] is True
    assert config["kv_load_failure_policy"] == "recompute"


def test_the_master_outlives_the_longest_transfer():
    argv = services(kv_transfer="mooncake+store", env={"ASCEND_TRANSFER_TIMEOUT": 33064})["mooncake-master"]["argv"]
    assert "--default_kv_lease_ttl=34064" in argv
    assert not [word for word in argv if word.startswith("--metrics_host")]  # came with a later Mooncake


@pytest.mark.parametrize("name", ["ASCEND_TRANSFER_TIMEOUT", "ASCEND_CONNECT_TIMEOUT"])
@pytest.mark.parametrize(
    "place", ["inference_env", "inference_pools.decode.env", "inference_pools.decode.hosts.node3.env"]
)
def test_the_lease_is_longer_than_the_timeout_of_any_engine(place, name):
    """Wherever it is given: for all, for a pool, or for one host."""
    found = launch_plan(*family("both", {f"{place}.{name}": 77000}))["services"]
    (master,) = [service for service in found if service["kind"] == "mooncake_master"]
    assert "--default_kv_lease_ttl=78000" in master["argv"]


def test_decode_loads_from_the_store_if_nothing_else_carries():
    found = services(kv_transfer="store")
    extra = kv(found["decode-0"])["kv_connector_extra_config"]
    assert extra["consumer_is_to_load"] is True
    assert "consumer_is_to_load" not in kv(found["prefill-0"])["kv_connector_extra_config"]
    both = kv(services(kv_transfer="mooncake+store")["decode-0"])["kv_connector_extra_config"]["connectors"]
    assert "consumer_is_to_load" not in both[1]["kv_connector_extra_config"]


def test_memcache_has_a_meta_service_and_a_file_for_each_engine():
    found = services(kv_transfer="mooncake+store", store={"backend": "memcache", "segment_size": "10GB"})
    assert found["memcache-meta"]["start"]["stage"] == 10
    engine = found["decode-0"]
    assert engine["start"]["needs"] == ["memcache-meta"]
    assert "ock.mmc.local_service.dram.size = 10GB\n" in file_of(engine, "mmc-local.conf")
    assert engine["env"]["MMC_LOCAL_CONFIG_PATH"].endswith("/decode-0/mmc-local.conf")
    assert "mooncake-master" not in found


@pytest.mark.parametrize(
    ("hardware", "release", "os", "image"),
    [
        ("a2", "0.18.0", "ubuntu", "v0.18.0"),
        ("a3", "v0.23.0", "openeuler", "v0.23.0-a3-openeuler"),
        ("a2", "0.13.0", "openeuler", "v0.13.0-openeuler"),
        ("950", "0.23.0", "ubuntu", "v0.23.0-a5"),
    ],
)
def test_images(hardware, release, os, image):
    found = services(hardware=hardware, release=release, runtime="docker", container={"os": os})
    assert found["prefill-0"]["container"]["image"] == f"quay.io/ascend/vllm-ascend:{image}"
    assert found["prefill-0"]["argv"][0] == "vllm"
    assert found["router"]["container"]["devices"] == []


def test_containers_get_devices_and_hccn_conf_without_privileges():
    box = services(runtime="docker")["decode-0"]["container"]
    assert {"/dev/davinci0", "/dev/davinci15", "/dev/davinci_manager"} <= set(box["devices"])
    assert "/etc/hccn.conf:/etc/hccn.conf:ro" in box["mounts"]
    assert "privileged" not in box


@pytest.mark.parametrize("name", ["prefill-0", "decode-0", "router", "mooncake-master"])
@pytest.mark.parametrize(("given", "most"), [({}, 65536), ({"tasks_max": 20000}, 20000)])
def test_a_container_cannot_use_up_the_process_ids_of_its_host(name, given, most):
    assert services(runtime="docker", kv_transfer="mooncake+store", **given)[name]["container"]["pids_limit"] == most


@pytest.mark.parametrize("name", ["prefill-0", "decode-0", "router", "mooncake-master"])
def test_a_container_sees_its_own_folder_and_no_other(name):
    found = services(runtime="docker", kv_transfer="mooncake+store")
    box, own = found[name]["container"], found[name]["work_directory"]
    written = [mount for mount in box["mounts"] if not mount.endswith(":ro")]
    assert written == [f"{own}/work:{own}/work"] and f"{own}:{own}:ro" in box["mounts"]
    root = "/opt/ascend-inference"
    assert all(mount.startswith(own) for mount in box["mounts"] if mount.startswith(root))
    assert posixpath.dirname(found[name]["digest_file"]) == found[name]["env"]["HOME"] == f"{own}/work"
    engine = bool(box["devices"])
    assert (box["ipc"], box["read_only"], bool(box["shm_size"])) == (
        ("host", False, True) if engine else ("private", True, False)
    )
    assert (box["user"], box["capabilities"]) == ("service", [])


def test_a_container_reads_the_model_of_its_own_pool():
    pools = {**POOLS, "decode": {**POOLS["decode"], "model": "/models/other"}}
    found, usual = services(runtime="docker", pools=pools), "/models/moe"
    for name, model, others in (("prefill-0", usual, "/models/other"), ("decode-0", "/models/other", usual)):
        assert found[name]["argv"][2] == model
        assert f"{model}:{model}:ro" in found[name]["container"]["mounts"]
        assert f"{others}:{others}:ro" not in found[name]["container"]["mounts"]


def test_llmdatadist_in_containers_reads_the_table_of_all_hosts():
    found = services(runtime="docker", kv_transfer="llmdatadist", release="0.11.0")
    table = found["prefill-0"]["env"]["DISAGGREGATED_PREFILL_RANK_TABLE_PATH"]
    assert f"{table}:{table}:ro" in found["prefill-0"]["container"]["mounts"]
    assert not [mount for mount in found["router"]["container"]["mounts"] if "ranktable" in mount]


def test_systemd_needs_no_container():
    assert services()["prefill-0"]["container"] is None


def test_secrets_are_named_and_never_said():
    plan = launch_plan(inference_variables(secrets={"api_key": "hunter2"}), INVENTORY)
    assert "hunter2" not in json.dumps(plan)
    found = {service["name"]: service for service in plan["services"]}
    assert found["prefill-0"]["secret_env"] == {"VLLM_API_KEY": "api_key"}
    assert found["router"]["secret_env"] == {"OPENAI_API_KEY": "api_key"}


def test_a_secret_of_the_wrong_shape_is_not_printed():
    with pytest.raises(PlanError) as caught:
        launch_plan(inference_variables(secrets="hunter2"), INVENTORY)
    assert "hunter2" not in str(caught.value)


def test_followers_have_no_api_and_no_flags_of_one():
    inventory = {**INVENTORY, "n3": {"groups": ["decode"], "variables": {"ansible_host": "10.0.0.3"}}}
    pools = {**POOLS, "decode": {"data_parallel_size": 32, "args": {"api-server-count": 2}}}
    found = services(inventory, pools=pools)
    assert "--api-server-count" in found["decode-0-0"]["argv"]
    follower = found["decode-0-1"]
    assert "--headless" in follower["argv"]
    assert not {"--api-server-count", "--port", "--host"} & set(follower["argv"])
    assert follower["health"] is None


def test_a_rank_over_two_hosts():
    inventory = {**INVENTORY, "n0": {"groups": ["prefill"], "variables": {"ansible_host": "10.0.0.9"}}}
    pools = {**POOLS, "prefill": {"tensor_parallel_size": 16, "pipeline_parallel_size": 2}}
    found = services(inventory, pools=pools)
    argv = found["prefill-0-1"]["argv"]
    assert argv[argv.index("--nnodes") + 1] == "2"
    assert argv[argv.index("--node-rank") + 1] == "1"
    assert argv[argv.index("--master-addr") + 1] == "10.0.0.9"
    ports = [
        next(port for port in found[name]["ports"] if port["name"] == "kv") for name in ("prefill-0-0", "prefill-0-1")
    ]
    assert ports[1]["first"] == ports[0]["first"] + 16


def test_ports_by_list_by_number_and_by_host():
    inventory = {**INVENTORY, "n3": {"groups": ["decode"], "variables": {"ansible_host": "10.0.0.3"}}}
    pools = {
        "prefill": {"tensor_parallel_size": 8, "instances": 2, "ports": {"api": [8001, 8055], "kv": 31000}},
        "decode": {
            "data_parallel_size": 4,
            "tensor_parallel_size": 8,
            "ports": {"kv": 31500},
            "hosts": {"n3": {"ports": {"kv": 31700}}},
        },
    }
    found = services(inventory, pools=pools)
    assert [found[name]["health"]["url"][-11:-7] for name in ("prefill-0", "prefill-1")] == ["8001", "8055"]
    assert [kv(found[name])["kv_port"] for name in ("prefill-0", "prefill-1")] == ["31000", "31100"]
    assert [kv(found[name])["kv_port"] for name in ("decode-0-0", "decode-0-1")] == ["31500", "31700"]


def test_a_list_that_is_too_short_is_refused():
    pools = {
        "prefill": {"tensor_parallel_size": 4, "instances": 3, "ports": {"api": [8001, 8002]}},
        "decode": {"tensor_parallel_size": 4},
    }
    with pytest.raises(PlanError) as caught:
        services(pools=pools)
    assert [(finding.id, finding.path) for finding in caught.value.findings] == [
        ("PORT-LIST", "inference_pools.prefill.ports.api")
    ]


def test_three_pools_on_one_host():
    inventory = {"n1": {"groups": ["encode", "prefill", "decode"], "variables": {"ansible_host": "10.0.0.1"}}}
    pools = {"encode": {"instances": 2}, "prefill": {"tensor_parallel_size": 4}, "decode": {"tensor_parallel_size": 2}}
    found = services(inventory, pools=pools, kv_transfer="mooncake_layerwise")
    assert [found[name]["devices"] for name in ("encode-0", "encode-1", "prefill-0", "decode-0")] == [
        [0],
        [1],
        [2, 3, 4, 5],
        [14, 15],
    ]
    assert "--encoder-ports" in found["router"]["argv"]
    assert "--kv-transfer-config" not in found["encode-0"]["argv"]


def test_pools_that_do_not_fit_one_host_name_each_other():
    inventory = {"n1": {"groups": ["prefill", "decode"], "variables": {"inference_devices": 8}}}
    with pytest.raises(PlanError, match="has 8, shared with 8 devices of pool prefill"):
        services(inventory)


@pytest.mark.parametrize(("runtime", "flavour"), [("systemd", "vllm_router"), ("docker", "dp")])
def test_colocated_engines_get_the_proxy_that_is_there(runtime, flavour):
    inventory = {"n1": {"groups": ["colocated"], "variables": {"ansible_host": "10.0.0.1"}}}
    plan = launch_plan(
        inference_variables(runtime=runtime, pools={"colocated": {"instances": 2, "tensor_parallel_size": 8}}),
        inventory,
    )
    assert plan["software"]["router"]["flavour"] == flavour


def test_the_smallest_description_fits_in_twelve_lines():
    text = """
inference_model: {path: /models/moe}
inference_interface: eth0
inference_pools:
  prefill: {tensor_parallel_size: 16}
  decode: {data_parallel_size: 16}
"""
    import yaml

    hosts = {
        name: {**INVENTORY[name], "variables": {"ansible_host": f"10.0.0.{at}"}} for at, name in enumerate(INVENTORY, 1)
    }
    assert len(text.strip().splitlines()) + 2 * 2 <= 12
    assert len(launch_plan(yaml.safe_load(text), hosts)["services"]) == 3


def test_host_settings():
    plan = launch_plan(inference_variables(release="0.13.0", kv_transfer="mooncake+store"), INVENTORY)
    host = plan["hosts"][0]
    assert host["sysctl"]["net.ipv4.ip_local_reserved_ports"].startswith("32768-36000,36100-36107")
    ports = {item["for"]: item for item in host["firewall"]}
    assert ports["ascend_direct"]["ports"] == "20000-36000"
    assert ports["store_client"]["from"] == "cluster"
    assert ports["mooncake-master metrics"]["from"] == "monitoring"
    assert ports["router api"]["from"] == "client"


def test_an_engine_in_a_container_gets_an_entry_of_its_user_and_the_drivers_files():
    found = services(runtime="docker")
    engine, router = found["prefill-0"], found["router"]
    folder = engine["work_directory"]
    files = {"passwd": f"{folder}/passwd", "group": f"{folder}/group", "home": f"{folder}/work"}
    assert engine["container"]["accounts"] == files
    assert engine["container"]["mounts_if_present"] == ["/etc/hccn_weak_dict.conf:/etc/hccn_weak_dict.conf:ro"]
    assert not {"accounts", "mounts_if_present"} & set(router["container"]), "it has no NPUs"
    as_root = services(runtime="docker", container={"user": "root"})["prefill-0"]["container"]
    assert "accounts" not in as_root and as_root["mounts_if_present"]


def test_what_the_user_mounts_there_stays():
    own = ["/srv/passwd:/etc/passwd:ro", "/srv/weak:/etc/hccn_weak_dict.conf:ro"]
    box = services(runtime="docker", container={"mounts": own})["prefill-0"]["container"]
    assert sorted(box["accounts"]) == ["group", "home"] and box["mounts_if_present"] == []
