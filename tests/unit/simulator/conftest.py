# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated hosts and engines for the tests; ports 23000 to 24999 of 127.0.0.2 and up."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import pytest
from ansible_collections.ascend.inference.tests.simulator.fake_host import FakeHost, write_model

SIMULATOR = pathlib.Path(__file__).resolve().parents[2] / "simulator"
VLLM = SIMULATOR / "bin" / "vllm"
if str(SIMULATOR) not in sys.path:
    sys.path.insert(0, str(SIMULATOR))  # the vendor tools' modules lie beside their program, not in a package
PATIENCE = 60  # seconds that anything may take on a busy machine
PLANNED = range(23000, 23680, 40)  # API, kv, HCCL ... of the tests' engines
POOLS = {"MC_MIN_PRC_PORT": 23700, "MC_MAX_PRC_PORT": 23999, "ASCEND_BASE_PORT": 24000}  # what they draw from


class Engine:
    """One running ``vllm serve`` of the simulator."""

    def __init__(self, host, argv, environment, log, python=sys.executable):
        self.host, self.address, self.log = host, host.address, pathlib.Path(log)
        self.port = int(argv[argv.index("--port") + 1]) if "--port" in argv else 0
        with open(self.log, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                [str(VLLM), "serve", *argv],
                env={**environment, "ASCEND_SIMULATOR_PYTHON": str(python)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def text(self):
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, line):
        end = time.monotonic() + PATIENCE
        while line not in self.text:
            assert self.process.poll() is None, f"ended before {line!r}:\n{self.text}"
            assert time.monotonic() < end, f"no {line!r} in time:\n{self.text}"
            time.sleep(0.05)
        return self

    def ready(self):
        return self.wait_for("Application startup complete.")

    def died(self):
        """What it said until it ended with an error."""
        code = self.process.wait(PATIENCE)
        assert code != 0, f"ended well:\n{self.text}"
        return self.text

    def ask(self, path, body=None, headers=None, timeout=PATIENCE):
        """(status, text) of one HTTP request."""
        return ask(self.address, self.port, path, body, headers, timeout)

    def complete(self, prompt, tokens=8, **more):
        """The answer of /v1/completions; asserts 200."""
        status, text = self.ask("/v1/completions", {"prompt": prompt, "max_tokens": tokens, **more})
        assert status == 200, text
        return json.loads(text)

    def counter(self, name, **labels):
        """Sum of a metric's lines that have the labels."""
        total = 0.0
        for line in self.ask("/metrics")[1].splitlines():
            if line.startswith(f"vllm:{name}{{") and all(f'{key}="{value}"' in line for key, value in labels.items()):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)


def ask(address, port, path, body=None, headers=None, timeout=PATIENCE):
    connection = http.client.HTTPConnection(address, port, timeout=timeout)
    with contextlib.closing(connection):
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


class Cluster:
    """Hosts on 127.0.0.x below one folder, and the engines on them."""

    def __init__(self, folder):
        self.folder, self.engines = folder, []
        self.numbers = itertools.cycle(PLANNED)
        self.python = sys.executable
        self.model = write_model(folder / "model")

    def port(self):
        """First of 40 free port numbers."""
        return next(self.numbers)

    def host(self, number=1, **facts):
        return FakeHost(self.folder / f"host{number}", f"127.0.0.{number + 1}", **facts)

    def start(self, host, *devices, flags=(), model=None, kv=None, env=None, port=True):
        """An engine on some NPUs of a host; ``kv`` is its --kv-transfer-config."""
        argv = [str(model or self.model)]
        if port:
            argv += ["--host", host.address, "--port", str(self.port() if port is True else port)]
        if kv:
            argv += ["--kv-transfer-config", json.dumps(kv)]
        environment = host.environment(*devices, **{"HCCL_IF_BASE_PORT": self.port(), **POOLS, **(env or {})})
        log = self.folder / f"engine{len(self.engines)}.log"
        engine = Engine(host, [*argv, *map(str, flags)], environment, log, self.python)
        self.engines.append(engine)
        return engine

    def pair(self, first, second, connector="MooncakeConnectorV1", tensor=(1, 1), **more):
        """A ready prefill on NPU 0.. of one host and a ready decode on NPU 4.. of the other."""
        extra = {
            "use_ascend_direct": True,
            "prefill": {"dp_size": 1, "tp_size": tensor[0]},
            "decode": {"dp_size": 1, "tp_size": tensor[1]},
        }
        made = []
        roles = ((first, "kv_producer", 0, tensor[0]), (second, "kv_consumer", 4, tensor[1]))
        for host, role, device, size in roles:
            kv = {"kv_connector": connector, "kv_role": role, "kv_port": self.port()}
            kv.update({"kv_connector_extra_config": extra, **more.get("kv", {})})
            env = {**more.get("env", {}), **more.get(f"{role}_env", {})}
            flags = ["--tensor-parallel-size", size, *more.get("flags", ())]
            model = more.get(f"{role}_model")
            made.append(self.start(host, *range(device, device + size), kv=kv, flags=flags, env=env, model=model))
        return [engine.ready() for engine in made]

    def close(self):
        for engine in self.engines:
            engine.stop()


ASK_PREFILL = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}


def disaggregated(prefill, decode, prompt, tokens=8, name="probe", ignore_eos=False, **changes):
    """(prefill's kv_transfer_params, status, decode's answer) of a request as the load balance proxy makes it."""
    header = {"X-Request-Id": name}
    first = {"prompt": prompt, "max_tokens": 1, "min_tokens": 1, "kv_transfer_params": ASK_PREFILL}
    status, text = prefill.ask("/v1/completions", first, header)
    assert status == 200, text
    params = json.loads(text)["kv_transfer_params"]
    if params:
        params.update(changes)
    body = {"prompt": prompt, "max_tokens": tokens, "ignore_eos": ignore_eos, "kv_transfer_params": params}
    status, text = decode.ask("/v1/completions", body, header)
    return params, status, json.loads(text) if text else {}


def text_of(answer):
    return answer["choices"][0]["text"]


@pytest.fixture
def cluster():
    """One at a time on a machine, however many run these tests: their ports are the same.

    Its folder has a short name, unlike pytest's, because the path of a socket is limited to 107 characters.
    """
    with open(pathlib.Path(tempfile.gettempdir()) / f"ascend-inference-simulator-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with tempfile.TemporaryDirectory(prefix="sim-") as folder:
            made = Cluster(pathlib.Path(folder))
            try:
                yield made
            finally:
                made.close()


@pytest.fixture
def prompt():
    """More than two blocks, different in each test."""
    nonce = os.urandom(6).hex()
    return f"{nonce} " + " ".join(f"word{number}" for number in range(150))


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "integration: fetches and runs upstream's programs (skipped where they can't be)"
    )
