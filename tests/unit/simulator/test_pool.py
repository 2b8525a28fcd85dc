# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AscendStoreConnector, MooncakeConnectorStoreV1 and MultiConnector on the simulator's own store."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import time

import pytest
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import (
    PATIENCE,
    SIMULATOR,
    ask,
    disaggregated,
    text_of,
)

CACHE = pathlib.Path(__file__).resolve().parents[3] / ".cache" / "upstream"


@contextlib.contextmanager
def master(cluster):
    """A simulated store -> (its address, its process), ended whatever happens: the next test has the same port."""
    address = f"127.0.0.2:{cluster.port()}"
    argv = [sys.executable, "-m", "vllm_ascend.pool", address]
    with subprocess.Popen(argv, cwd=SIMULATOR, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert "simulated Mooncake store" in process.stdout.readline()
            yield address, process
        finally:
            process.kill()


@pytest.fixture
def store(cluster):
    with master(cluster) as (address, _process):
        yield address


def config(cluster, address, **changes):
    """Path of a mooncake.json."""
    content = {
        "local_hostname": "127.0.0.2",
        "metadata_server": "P2PHANDSHAKE",
        "protocol": "ascend",
        "device_name": "",
        "master_server_address": address,
        "global_segment_size": 30 * 2**30,
        "use_ascend_direct": True,
        **changes,
    }
    path = cluster.folder / "mooncake.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def pooled(cluster, number, path, release="0.23.0", rpc=1, connector="AscendStoreConnector", **env):
    key = "lookup_rpc_port" if release > "0.12" else "mooncake_rpc_port"
    kv = {"kv_connector": connector, "kv_role": "kv_both", "kv_connector_extra_config": {key: rpc}}
    environment = {"MOONCAKE_CONFIG_PATH": path, **env}
    host = cluster.host(number, release=release)
    return cluster.start(host, *range(2), kv=kv, flags=["-tp", 2], env=environment)


@pytest.mark.parametrize(
    "release, connector", [("0.11.0", "MooncakeConnectorStoreV1"), ("0.23.0", "AscendStoreConnector")]
)
def test_second_instance_finds_what_the_first_stored(cluster, store, prompt, release, connector):
    path = config(cluster, store)
    first, second = (pooled(cluster, number, path, release, connector=connector).ready() for number in (1, 2))
    answers = [engine.complete(prompt) for engine in (first, second)]
    assert text_of(answers[0]) == text_of(answers[1])
    tokens = answers[0]["usage"]["prompt_tokens"]
    word = "kvpool hit tokens" if release > "0.12" else "mooncake hit tokens"
    assert f"Total tokens {tokens}, {word}: {tokens // 128 * 128}, need to load: {tokens // 128 * 128}" in second.text
    assert f"Storing KV cache for {tokens // 128} out of" in first.text
    if release > "0.12":
        assert second.counter("external_prefix_cache_hits_total") == tokens // 128 * 128
        assert first.counter("external_prefix_cache_hits_total") == 0


def test_hash_seed_unset_means_no_hits(cluster, store, prompt):
    path = config(cluster, store)
    first, second = (pooled(cluster, number, path, PYTHONHASHSEED=None).ready() for number in (1, 2))
    assert text_of(first.complete(prompt)) == text_of(second.complete(prompt))
    assert second.counter("external_prefix_cache_hits_total") == 0


@pytest.mark.parametrize(
    "changes, release, message",
    [
        ({"protocol": "tcp"}, "0.23.0", "does not support protocol 'tcp'"),
        ({"metadata_server": "redis://x"}, "0.23.0", "Initialize mooncake failed"),
        ({"local_hostname": None}, "0.11.0", "Initialize mooncake failed"),
        (
            {"enable_ssd_offload": True, "ssd_offload_path": "ssd"},
            "0.23.0",
            "ssd_offload_path must be an absolute path",
        ),
    ],
)
def test_configuration_file(cluster, changes, release, message):
    connector = "MooncakeConnectorStoreV1"
    assert (
        message
        in pooled(cluster, 1, config(cluster, "127.0.0.2:23699", **changes), release, connector=connector).died()
    )


def test_configuration_file_missing_or_not_json(cluster):
    assert "The environment variable 'MOONCAKE_CONFIG_PATH' is not set." in pooled(cluster, 1, None).died()
    path = config(cluster, "127.0.0.2:23699")
    path.write_text('{"global_segment_size": 1 * 1024, // bytes\n}', encoding="utf-8")
    assert "json.decoder.JSONDecodeError" in pooled(cluster, 1, path).died()


def test_master_down(cluster):
    text = pooled(cluster, 1, config(cluster, "127.0.0.2:23699")).died()
    assert "RuntimeError: Initialize mooncake failed." in text


def test_master_dies_while_serving(cluster, prompt):
    with master(cluster) as (address, process):
        engine = pooled(cluster, 1, config(cluster, address)).ready()
        process.kill()
        process.wait()
        assert engine.complete(prompt)["choices"][0]["text"]
        assert "Remote connection failed in lookup" in engine.text


def test_lookup_socket_is_shared_by_the_host(cluster, store):
    path = config(cluster, store)
    shared = {"VLLM_RPC_BASE_PATH": str(cluster.folder)}
    pooled(cluster, 1, path, rpc=5, **shared).ready()
    assert "addr='ipc://" in pooled(cluster, 2, path, rpc=5, **shared).died()
    pooled(cluster, 3, path, rpc=6, **shared).ready()


def test_dp_rpc_port_in_the_store_clients_pool(cluster, store):
    first = pooled(cluster, 1, config(cluster, store)).ready()
    flags = ["-dp", 2, "-dpl", 1, "-dpa", "127.0.0.2", "-dpp", 12321]
    assert "Mooncake store client" in cluster.start(first.host, 5, flags=flags).died()


@pytest.fixture
def real_store(cluster):
    """A real mooncake_master, and a Python with the real store's client."""
    try:
        python = upstream_proxies.venv(CACHE, "mooncake-venv", ["mooncake-transfer-engine-non-cuda==0.3.13.post1"])
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"Mooncake can't be fetched here: {error}")
    port = cluster.port()
    argv = [str(python.with_name("mooncake_master")), f"--rpc_port={port}", f"--metrics_port={port + 1}"]
    log = open(cluster.folder / "master.log", "w", encoding="utf-8")  # noqa: SIM115 - closed below
    process = subprocess.Popen([*argv, "--rpc_address=127.0.0.1"], stdout=log, stderr=subprocess.STDOUT)
    cluster.python = python
    end = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, log.name
        assert time.monotonic() < end
        try:
            if ask("127.0.0.1", port + 1, "/health")[0] == 200:
                break
        except OSError:
            time.sleep(0.2)
    yield port
    process.terminate()
    process.wait()
    log.close()


@pytest.mark.long  # e2e-local has the real master and the real store
@pytest.mark.integration
def test_real_mooncake_store_over_tcp(cluster, prompt, real_store):
    path = config(cluster, f"127.0.0.1:{real_store}")
    first, second = (pooled(cluster, number, path).ready() for number in (1, 2))
    assert "the real store over TCP" in first.text
    assert text_of(first.complete(prompt)) == text_of(second.complete(prompt))
    assert second.counter("external_prefix_cache_hits_total") >= 256
    metrics = ask("127.0.0.1", real_store + 1, "/metrics")[1]
    assert "master_active_clients 4" in metrics  # one per rank, as verification counts them
    assert "master_key_count 0" not in metrics


def test_p2p_and_pool_together(cluster, store, prompt):
    path = config(cluster, store)
    children = [
        {"kv_connector": "MooncakeConnectorV1"},
        {"kv_connector": "AscendStoreConnector", "kv_connector_extra_config": {"lookup_rpc_port": 3}},
    ]
    hosts = [cluster.host(1), cluster.host(2), cluster.host(3)]
    engines = []
    for host, role in zip(hosts, ("kv_producer", "kv_consumer", "kv_producer"), strict=True):
        port = cluster.port()
        mine = [{**child, "kv_role": role, "kv_port": port} for child in children]
        kv = {"kv_connector": "MultiConnector", "kv_role": role, "kv_connector_extra_config": {"connectors": mine}}
        engines.append(cluster.start(host, 0, kv=kv, env={"MOONCAKE_CONFIG_PATH": path}).ready())
    first, decode, other = engines
    _params, status, answer = disaggregated(first, decode, prompt)
    assert status == 200
    assert text_of(answer) == text_of(other.complete(prompt))
    tokens = answer["usage"]["prompt_tokens"]
    assert decode.counter("prompt_tokens_by_source_total", source="external_kv_transfer") == tokens
    assert other.counter("prompt_tokens_by_source_total", source="external_kv_transfer") == tokens // 128 * 128
