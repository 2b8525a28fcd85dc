# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""LLMDataDistCMgrConnector: the rank table decides."""

from __future__ import annotations

import json
import socket

import pytest
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import ASK_PREFILL, ask, disaggregated, text_of

PORT = "VLLM_ASCEND_LLMDD_RPC_PORT"
TABLE = "DISAGGREGATED_PREFILL_RANK_TABLE_PATH"


def table_of(hosts, sides=((0, 1), (4, 5))):
    """A right table: prefill on the first host's NPUs, decode on the second's."""
    lists, cluster = [], 0
    for host, numbers in zip(hosts, sides, strict=True):
        entries = []
        for number in numbers:
            cluster += 1
            ip = host.state["devices"][number]["ip"][0]
            entry = {"server_id": host.address, "device_id": str(number), "device_ip": ip, "cluster_id": str(cluster)}
            entries.append(entry)
        lists.append(entries)
    return {
        "version": "1.2",
        "server_count": "2",
        "prefill_device_list": lists[0],
        "decode_device_list": lists[1],
        "status": "completed",
    }


class Setup:
    def __init__(self, cluster, **facts):
        self.cluster = cluster
        self.hosts = [cluster.host(number, release="0.11.0", **facts) for number in (1, 2)]
        self.table = table_of(self.hosts)
        self.path = cluster.folder / "ranktable.json"

    def pair(self):
        self.path.write_text(json.dumps(self.table), encoding="utf-8")
        env = {TABLE: self.path}
        return self.cluster.pair(
            *self.hosts,
            connector="LLMDataDistCMgrConnector",
            tensor=(2, 2),
            env=env,
            kv_producer_env={PORT: self.cluster.port()},
            kv_consumer_env={PORT: self.cluster.port()},
        )

    def dies(self, **changes):
        kv = {"kv_connector": "LLMDataDistCMgrConnector", "kv_role": "kv_producer", **changes.pop("kv", {})}
        self.path.write_text(changes.pop("text", json.dumps(self.table)), encoding="utf-8")
        env = {TABLE: self.path, PORT: 23690, **changes.pop("env", {})}
        devices = changes.pop("devices", (0, 1))
        return self.cluster.start(self.hosts[0], *devices, kv=kv, env=env, flags=["-tp", 2]).died()


@pytest.fixture
def setup(cluster):
    return Setup(cluster)


def test_linked_and_pulled(setup, prompt):
    prefill, decode = setup.pair()
    params, status, answer = disaggregated(prefill, decode, prompt)
    assert status == 200
    assert text_of(answer) == text_of(prefill.complete(prompt))
    assert params["remote_tp_size"] == "2" and "remote_request_id" not in params
    assert decode.text.count("Linking success, comm id: pd_comm_10.20.2.1") == 2
    assert "Try pull blocks from remote server" in decode.text
    assert prefill.counter("kv_cache_usage_perc") == 0


def test_table_not_given(setup):
    assert f"Please set path of rank_table to env variable {TABLE}" in setup.dies(env={TABLE: None})


def test_table_not_json(setup):
    assert "JSONDecodeError" in setup.dies(text="{,}")


@pytest.mark.parametrize("change", ["address", "devices", "count"])
def test_own_line_not_in_the_table(setup, change):
    devices = (0, 1)
    if change == "address":
        setup.table["prefill_device_list"][0]["server_id"] = "10.0.0.1"
    elif change == "devices":
        devices = (2, 3)
    else:
        setup.table["prefill_device_list"].pop()
    assert "Can't read the target server_id 127.0.0.2 and device_rank" in setup.dies(devices=devices)


def test_role_must_be_one_of_two(setup):
    assert "Receive unexpected kv role" in setup.dies(kv={"kv_role": "kv_both"})


def wrong_cluster_ids(table):
    table["decode_device_list"][0]["cluster_id"] = "1"


def wrong_order(table):
    table["decode_device_list"].reverse()


def wrong_address(table):
    table["decode_device_list"][0]["device_ip"] = "10.77.0.1"


@pytest.mark.parametrize("spoil", [wrong_cluster_ids, wrong_order, wrong_address])
def test_wrong_table_fails_the_link_and_the_request_hangs(setup, prompt, spoil):
    spoil(setup.table)
    prefill, decode = setup.pair()
    body = {"prompt": prompt, "max_tokens": 1, "kv_transfer_params": ASK_PREFILL}
    params = json.loads(prefill.ask("/v1/completions", body)[1])["kv_transfer_params"]
    with pytest.raises(socket.timeout):
        ask(decode.address, decode.port, "/v1/completions", {"prompt": prompt, "kv_transfer_params": params}, timeout=2)
    assert "Linking failed, comm id: pd_comm_" in decode.text


def test_tls_differs(setup, prompt):
    prefill, decode = setup.pair()
    setup.hosts[1].set_device(5, tls=True)
    with pytest.raises(socket.timeout):
        body = {"prompt": prompt, "max_tokens": 1, "kv_transfer_params": ASK_PREFILL}
        params = json.loads(prefill.ask("/v1/completions", body)[1])["kv_transfer_params"]
        ask(decode.address, decode.port, "/v1/completions", {"prompt": prompt, "kv_transfer_params": params}, timeout=2)
    assert "status: 103900" in decode.text


def test_super_pod_needs_super_device_ids(cluster, prompt):
    setup = Setup(cluster, generation="a3")
    for side in ("prefill", "decode"):
        for number, entry in enumerate(setup.table[f"{side}_device_list"]):
            entry.update(super_pod_id="0", super_device_id=str(1000 + number))
    prefill, decode = setup.pair()
    assert disaggregated(prefill, decode, prompt)[1] == 200


def test_default_ports_of_prefill_and_decode_clash_on_one_host(setup):
    setup.hosts[1] = setup.hosts[0]
    setup.table = table_of(setup.hosts)
    setup.path.write_text(json.dumps(setup.table), encoding="utf-8")
    kv = {"kv_connector": "LLMDataDistCMgrConnector", "kv_role": "kv_producer"}
    env = {TABLE: setup.path, PORT: 23690}
    setup.cluster.start(setup.hosts[0], 0, 1, kv=kv, env=env, flags=["-tp", 2]).ready()
    second = setup.cluster.start(setup.hosts[0], 4, 5, kv={**kv, "kv_role": "kv_consumer"}, env=env, flags=["-tp", 2])
    assert "Address already in use (addr='tcp://0.0.0.0:23690')" in second.died()
