# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every wrong wiring that the real engine refuses is refused, in its words."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.ascend.inference.tests.simulator.fake_host import write_model
from ansible_collections.ascend.inference.tests.simulator.vllm_ascend import checks
from ansible_collections.ascend.inference.tests.simulator.vllm_ascend.errors import Died
from ansible_collections.ascend.inference.tests.simulator.vllm_ascend.shape import Shape

pytestmark = (
    pytest.mark.long
)  # of the double alone; what our programs make of refusals is in e2e-faults and integration
KV = {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": 23680}
EXTRA = {"prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}


def kv(**changes):
    return {**KV, "kv_connector_extra_config": EXTRA, **changes}


def refused(cluster, message, host=None, devices=(0,), **how):
    """Start an engine that has to die with the message."""
    text = cluster.start(host or cluster.host(), *devices, **how).died()
    assert message in text
    return text


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--tensor-parallel-sizee", "1"], "vllm serve: error: unrecognized arguments: --tensor-parallel-sizee"),
        (["--tensor-parallel-size", "eight"], "argument --tensor-parallel-size/-tp: invalid int value: 'eight'"),
        (["--dtype", "float99"], "argument --dtype: invalid choice: 'float99'"),
        (["--kv-transfer-config", '{"kv_connector":"X",}'], "argument --kv-transfer-config: Value {"),
        (["--kv-transfer-config", '{"kv_connector":"X","kv_role":"producer"}'], "Unsupported kv_role: producer"),
        (["--kv-transfer-config", '{"kv_connector":"MooncakeConnectorV1"}'], "Please specify kv_role"),
        (["--kv-transfer-config", '{"kv_conector":"X"}'], "Unexpected keyword argument kv_conector"),
        (["--disable-log-requests"], "unrecognized arguments: --disable-log-requests"),
        (["--additional-config", "{bad"], "additional_config should be a dict"),
    ],
)
def test_command_line(cluster, flags, message):
    refused(cluster, message, flags=flags)


def test_a_package_for_another_chip(cluster, tmp_path):
    package = tmp_path / "site" / "vllm_ascend"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "_build_info.py").write_text("__device_type__ = 'A5'\n")
    how = {"kv": kv(), "env": {"PYTHONPATH": str(package.parent)}}
    refused(cluster, "does not match the installed version's device type: A5", **how)
    cluster.start(cluster.host(release="0.11.0"), 0, **how).ready()  # it compares nothing


def test_a_user_without_an_entry_in_passwd(monkeypatch):
    def absent(number):
        raise KeyError(number)

    one = Shape(1, 1, 0, 1, 1, 1, "", 0, False, False)
    two = Shape(1, 1, 0, 2, 1, 1, "", 0, False, False)
    checks.account(two)
    monkeypatch.setattr(checks.pwd, "getpwuid", absent)
    checks.account(one)
    with pytest.raises(Died, match="ra init failed, return.19.[^$]*HcclGetRootInfo.*error code is 19"):
        checks.account(two)


def test_flags_differ_between_releases(cluster):
    host = cluster.host(release="0.13.0")
    cluster.start(host, 0, flags=["--disable-log-requests", "--block-size", "128"]).ready()
    refused(cluster, "argument --block-size: invalid choice", host, [1], flags=["--block-size", "24"])
    refused(cluster, "unrecognized arguments: --shutdown-timeout", host, [1], flags=["--shutdown-timeout", "5"])


@pytest.mark.parametrize(
    "variable, value, message",
    [
        ("LD_LIBRARY_PATH", None, "libascend_hal.so: cannot open shared object file"),
        ("ASCEND_RT_VISIBLE_DEVICES", "8", "error code is 107001"),
        ("VLLM_HOST_IP", "192.0.2.7", "Cannot assign requested address"),
        ("HCCL_IF_IP", "192.0.2.7", "error code is 6"),
        ("GLOO_SOCKET_IFNAME", "eth9", "Unable to find address for: eth9"),
        ("HCCL_SOCKET_IFNAME", "eth9", "error code is 6"),
        ("TP_SOCKET_IFNAME", "lo9", "Unable to find address for: lo9"),
    ],
)
def test_environment(cluster, variable, value, message):
    refused(cluster, message, kv=kv(), env={variable: value})


@pytest.mark.parametrize(
    "folder, message",
    [
        ("driver/", "libascend_hal.so: cannot open shared object file"),
        ("ascend-toolkit/", "libhccl.so: cannot open shared object file"),
        ("nnal/", "libatb.so: cannot open shared object file"),
        ("usr/local/lib", "ascend_transport.so: cannot open shared object file"),
    ],
)
def test_libraries(cluster, folder, message):
    host = cluster.host(release="0.18.0")
    path = host.environment()["LD_LIBRARY_PATH"].split(":")
    kept = ":".join(item for item in path if f"/{folder}" not in item + "/")
    refused(cluster, message, host, kv=kv(), env={"LD_LIBRARY_PATH": kept})


def test_toolkit_environment_not_sourced(cluster):
    refused(cluster, "Failed to infer device type", env={"ASCEND_HOME_PATH": None, "ASCEND_TOOLKIT_HOME": None})


def test_interface_with_another_address(cluster):
    host = cluster.host()
    host.state["engine"]["interfaces"]["eth1"] = ["127.0.0.77"]
    host.write()
    refused(cluster, "Gloo connectFullMesh failed", host, env={"GLOO_SOCKET_IFNAME": "eth1"})


def test_device_used_twice(cluster):
    host = cluster.host()
    first = cluster.start(host, 0, 1, flags=["-tp", 2]).ready()
    assert host.read()["devices"][1]["processes"][0]["pid"] == first.process.pid
    text = refused(cluster, "is less than desired GPU memory utilization", host, [1])
    assert "16666" in text
    first.stop()
    assert host.read()["devices"][1]["processes"] == []
    cluster.start(host, 1).ready()


def test_more_ranks_than_devices(cluster):
    refused(cluster, "invalid device ordinal", devices=(0, 1), flags=["-tp", 4])


@pytest.mark.parametrize(
    "release, changes, flags, message",
    [
        ("0.18.0", {"head_dim": None}, [], "AttributeError: 'Qwen2Config' object has no attribute 'head_dim'"),
        ("0.23.0", {"quant": "int8"}, [], "NPU out of memory"),
        ("0.23.0", {}, ["--quantization", "ascend"], "Cannot find the config file for ascend"),
        (
            "0.23.0",
            {"quant": "int8", "torch_dtype": "float16"},
            ["--quantization", "ascend"],
            "aclnnQuantMatmulV4 failed, detail: Tensor scale not implemented for DT_FLOAT16",
        ),
    ],
)
def test_model_files(cluster, tmp_path, release, changes, flags, message):
    changes = dict(changes)
    quantized = changes.pop("quant", None)
    model = write_model(tmp_path / "other", **changes)
    if quantized:
        (model / "quant_model_description_int8.json").write_text("{}", encoding="utf-8")
    refused(cluster, message, cluster.host(release=release), model=model, kv=kv(), flags=flags)


def test_model_repairs_help(cluster, tmp_path):
    model = write_model(tmp_path / "other", head_dim=None, torch_dtype="float16")
    (model / "quant_model_description.json").write_text("{}", encoding="utf-8")
    flags = ["--quantization", "ascend", "--dtype", "bfloat16", "--hf-overrides", '{"head_dim": 64}']
    cluster.start(cluster.host(release="0.18.0"), 0, model=model, kv=kv(), flags=flags).ready()


def test_no_model(cluster, tmp_path):
    refused(cluster, "Invalid repository ID or local directory specified", model=tmp_path / "nothing")


@pytest.mark.parametrize(
    "release, config, flags, message",
    [
        ("0.23.0", kv(kv_connector="MooncakeConnector"), [], "Unsupported connector type: MooncakeConnector"),
        ("0.18.0", kv(kv_connector="MooncakeHybridConnector"), [], "Unsupported connector type"),
        ("0.23.0", kv(kv_connector="LLMDataDistCMgrConnector"), [], "Unsupported connector type"),
        (
            "0.23.0",
            kv(kv_connector_module_path="vllm_ascend.distributed.mooncake_connector"),
            [],
            "ModuleNotFoundError: No module named 'vllm_ascend.distributed.mooncake_connector'",
        ),
        (
            "0.23.0",
            kv(),
            ["-tp", "2"],
            "'prefill' config has a conflicting tensor parallel size. Expected 2, but got 1",
        ),
        (
            "0.23.0",
            kv(kv_connector_extra_config={"prefill": {"tp_size": 1}, "decode": {"tp_size": 2}}),
            [],
            "prefill_tp_size: 1 must be greater than or equal to the decode_tp_size: 2",
        ),
        (
            "0.23.0",
            kv(kv_role="kv_both"),
            ["--additional-config", '{"recompute_scheduler_enable": true}'],
            "recompute_scheduler_enable can only be enabled in PD-disaggregated mode",
        ),
    ],
)
def test_connector_configuration(cluster, release, config, flags, message):
    refused(cluster, message, cluster.host(release=release), devices=(0, 1), kv=config, flags=flags)


def test_dense_model_with_data_parallel_ranks(cluster):
    extra = {"prefill": {"dp_size": 2, "tp_size": 1}, "decode": {"dp_size": 2, "tp_size": 1}}
    message = "conflicting data parallel size. Expected 1, but got 2"
    refused(cluster, message, devices=(0, 1), kv=kv(kv_connector_extra_config=extra), flags=["-dp", 2])


# ports ---------------------------------------------------------------------------------------------------------------


def test_kv_ports_of_two_instances_overlap(cluster):
    host = cluster.host()
    extra = {"prefill": {"tp_size": 2, "dp_size": 1}, "decode": {"tp_size": 2, "dp_size": 1}}
    cluster.start(host, 0, 1, kv=kv(kv_connector_extra_config=extra), flags=["-tp", 2]).ready()
    second = kv(kv_connector_extra_config=extra, kv_port=23681)
    text = refused(cluster, "zmq.error.ZMQError: Address already in use", host, (2, 3), kv=second, flags=["-tp", 2])
    assert "RuntimeError: KV Cache sending/receiving thread failed to start." in text
    assert "addr='tcp://127.0.0.2:23681'" in text


@pytest.mark.parametrize("port, whose", [(24010, "AscendDirect device 0"), (23800, "Transfer Engine rpc")])
def test_kv_port_in_a_pool(cluster, port, whose):
    text = refused(cluster, "KV Cache sending/receiving thread failed to start", kv=kv(kv_port=port))
    assert whose in text


def test_kv_port_in_the_pool_of_another_instance(cluster):
    host = cluster.host()
    decode = kv(kv_role="kv_consumer")
    cluster.start(host, 5, kv=decode).ready()
    assert "AscendDirect device 5" in refused(cluster, "Address already in use", host, kv=kv(kv_port=24555))


def test_old_mooncake_has_wide_pools(cluster):
    host = cluster.host(release="0.13.0", devices=4)
    text = refused(cluster, "Address already in use", host, (3,), kv=kv())
    assert "AscendDirect device 3" in text  # 23000 to 24000, whatever ASCEND_BASE_PORT says


def test_api_port_and_hccl_port_taken(cluster):
    host = cluster.host()
    first = cluster.start(host, 0, 1, flags=["-tp", 2], env={"HCCL_IF_BASE_PORT": 23688}).ready()
    refused(cluster, "OSError: [Errno 98] Address already in use", host, (2,), port=first.port)
    flags = ["-tp", 2]
    refused(
        cluster, "Communication_Error_Bind_IP_Port(EI0019)", host, (2, 3), flags=flags, env={"HCCL_IF_BASE_PORT": 23689}
    )


# data parallel groups -------------------------------------------------------------------------------------------------


def group(cluster, start, port, size=2, model=None, **more):
    host = cluster.host(1 + start)
    flags = ["--data-parallel-size", size, "--data-parallel-size-local", 1, "--data-parallel-address", "127.0.0.2"]
    flags += ["--data-parallel-rpc-port", port]
    if start:
        flags += ["--headless", "--data-parallel-start-rank", start]
    env = {"ASCEND_SIMULATOR_JOIN_TIMEOUT": more.pop("patience", 60)}
    return cluster.start(host, 0, flags=flags + more.pop("flags", []), env=env, port=not start, model=model, **more)


def mixture(cluster):
    return write_model(cluster.folder / "mixture", n_routed_experts=8)


def test_missing_node_times_out(cluster):
    port = cluster.port()
    assert (
        "DistStoreError: Timed out after 2 seconds waiting for clients. 1/2 clients joined"
        in group(cluster, 0, port, patience=1, model=mixture(cluster)).died()
    )
    assert "client socket has timed out after 1000ms" in group(cluster, 1, port, patience=1).died()


def test_two_groups_on_one_rpc_port(cluster):
    port = cluster.port()
    model = mixture(cluster)
    group(cluster, 0, port, model=model)
    group(cluster, 1, port, model=model).ready()
    other = cluster.start(
        cluster.host(), 3, model=model,
        flags=["-dp", 2, "-dpl", 1, "-dpa", "127.0.0.2", "-dpp", port], env={"ASCEND_SIMULATOR_JOIN_TIMEOUT": 5},
    )  # fmt: skip
    assert f"Address already in use (addr='tcp://127.0.0.2:{port}')" in other.died()


def test_wrong_start_rank(cluster):
    port = cluster.port()
    model = mixture(cluster)
    master = group(cluster, 0, port, size=3, model=model)
    group(cluster, 1, port, size=3, model=model)
    third = cluster.start(
        cluster.host(3), 0, port=False, model=model, env={"ASCEND_SIMULATOR_JOIN_TIMEOUT": 60},
        flags=["-dp", 3, "-dpl", 1, "-dpa", "127.0.0.2", "-dpp", port, "--headless", "-dpr", 1],
    )  # fmt: skip
    assert "Message from engine with unexpected data parallel rank: 1" in master.died()
    third.died()


def test_group_over_two_hosts_serves_and_dies_together(cluster, prompt):
    port = cluster.port()
    model = mixture(cluster)
    master = group(cluster, 0, port, model=model)
    member = group(cluster, 1, port, model=model).ready()
    master.ready()
    texts = {json.dumps(master.complete(prompt)["choices"]) for dummy in range(3)}
    assert len(texts) == 1
    member.process.kill()
    member.process.wait()
    assert "EngineDeadError" in master.died()


def test_external_load_balancing(cluster, prompt):
    port, model = cluster.port(), mixture(cluster)
    flags = ["-dp", 2, "-dpa", "127.0.0.2", "-dpp", port, "--data-parallel-rank"]
    first = cluster.start(cluster.host(), 0, model=model, flags=[*flags, 0])
    second = cluster.start(cluster.host(2), 0, model=model, flags=[*flags, 1])
    first.ready(), second.ready()
    assert first.complete(prompt)["choices"] == second.complete(prompt)["choices"]


# the server ------------------------------------------------------------------------------------------------------------


def test_api_key_length_and_name(cluster):
    engine = cluster.start(
        cluster.host(), 0, flags=["--served-model-name", "it", "--max-model-len", "1k"], env={"VLLM_API_KEY": "s3"}
    )
    engine.ready()
    assert engine.ask("/health")[0] == 200
    assert engine.ask("/v1/models")[0] == 401
    key = {"Authorization": "Bearer s3"}
    assert json.loads(engine.ask("/v1/models", headers=key)[1])["data"][0]["id"] == "it"
    status, text = engine.ask("/v1/completions", {"model": "it", "prompt": "a " * 2000}, key)
    assert (status, "maximum context length is 1000 tokens" in text) == (400, True)
    assert engine.ask("/v1/completions", {"model": "that", "prompt": "a"}, key)[0] == 404


def test_stream_is_the_whole_text_in_pieces(cluster, prompt):
    engine = cluster.start(cluster.host(), 0).ready()
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 6}
    whole = json.loads(engine.ask("/v1/chat/completions", body)[1])["choices"][0]["message"]["content"]
    status, text = engine.ask("/v1/chat/completions", {**body, "stream": True})
    events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    assert (status, events[-1]) == (200, "[DONE]")
    assert "".join(json.loads(event)["choices"][0]["delta"]["content"] for event in events[:-1]) == whole


def test_small_and_quick(cluster):
    started = time.monotonic()
    engine = cluster.start(cluster.host(), *range(8), kv=kv(kv_connector_extra_config={}), flags=["-tp", 8]).ready()
    seconds = time.monotonic() - started
    with open(f"/proc/{engine.process.pid}/status", encoding="utf-8") as file:
        kilobytes = int(file.read().split("VmRSS:")[1].split()[0])
    assert kilobytes < 40 * 1024
    assert seconds < 20, "about 0.5 s on an idle machine"


def test_termination_waits_only_when_told(cluster, prompt):
    slow = {"ASCEND_SIMULATOR_TOKEN_SECONDS": "0.05"}
    engine = cluster.start(cluster.host(), 0, flags=["--shutdown-timeout", 30], env=slow).ready()
    import threading

    answers = []
    body = {"prompt": prompt, "max_tokens": 20, "ignore_eos": True}
    asking = threading.Thread(target=lambda: answers.append(engine.ask("/v1/completions", body)[0]))
    asking.start()
    time.sleep(0.5)
    engine.process.terminate()
    asking.join(30)
    assert answers == [200]
    assert engine.process.wait(30) == 0
