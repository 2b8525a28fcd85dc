# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SIMULATED ``vllm serve`` of a plan for the CPU engine: the engine of pd_cluster as a program, with the counters that a drain reads.

SIGTERM ends it at once, so that every request under way fails. SIMULATED_FAULTS: faults of pd_cluster, separated by spaces; and ``slow``: each
request takes a second longer; ``late``: it starts as late as an engine that loads its weights.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pd_cluster

SECONDS = float(os.environ.get("SIMULATED_REQUEST_SECONDS", "0.3"))  # of a request at decode; prefill takes a third
LATE = 35.0  # seconds


class Engine(pd_cluster.Engine):
    """One engine on the planned address; ``role`` from its --kv-transfer-config."""

    def __init__(self, name, role, directory, model, address, faults=()):
        self.address = address
        cluster = types.SimpleNamespace(
            directory=directory,
            model=model,
            data_parallel=1,
            ranks=1,
            max_model_len=4096,
            block_size=8,
            api_key=os.environ.get("VLLM_API_KEY", ""),
            tokenize=True,
            rank_header=True,
            bootstrap=False,
            store=None,
        )
        super().__init__(name, role, cluster, faults)

    def complete(self, body, *given, **named):
        time.sleep((SECONDS if self.role == "decode" else SECONDS / 3) + ("slow" in self.faults))
        return super().complete(body, *given, **named)

    def metrics(self):
        with self.lock:
            held = len(self.held)
        return super().metrics() + f'vllm:kv_cache_usage_perc{{engine="0"}} {held / 1000}\n'


class Registry(pd_cluster.Server):
    """The registry of ranks of vLLM's own Mooncake connector, on a port of its own; here it also answers the KV."""

    def __init__(self, engine, address):
        self.engine, self.address = engine, address
        super().__init__(engine.name)

    def get(self, path):
        return self.engine.get(path)


def option(argv, name, default=""):
    """The value of an option."""
    return argv[argv.index(name) + 1] if name in argv else default


def rank():
    """A process with the title of a rank. The engine ends when it does, as vLLM's."""
    argv = ["VLLM::Worker_TP0"]  # cat ends with the engine, whose end of the pipe is closed then
    subprocess.Popen(argv, executable=shutil.which("cat"), stdin=subprocess.PIPE).wait()
    os._exit(1)


def main(argv):
    role = "prefill" if "kv_producer" in option(argv, "--kv-transfer-config") else "decode"
    address = (option(argv, "--host"), int(option(argv, "--port")))
    faults = os.environ.get("SIMULATED_FAULTS", "").split()
    time.sleep(LATE if "late" in faults else float(os.environ.get("SIMULATED_START_SECONDS", "0.5")))
    threading.Thread(target=rank, daemon=True).start()
    engine = Engine(
        f"{role}-{address[1]}", role, os.getcwd(), option(argv, "--served-model-name", "tiny"), address, faults
    )
    if os.environ.get("VLLM_MOONCAKE_BOOTSTRAP_PORT"):
        Registry(engine, (address[0], int(os.environ["VLLM_MOONCAKE_BOOTSTRAP_PORT"])))
    threading.Event().wait()


main(sys.argv[1:])
