# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plants a fault or delays into a real engine: Python imports this file at its start if its folder is in PYTHONPATH.

PLANTED_FAULT names a fault of the KV transfer. All of them are on the side of prefill, which writes into the memory of decode:

last_block   the last KV block of each prompt has the content of the first one
drops_tenth  every tenth transfer is reported as done and not done
fails_tenth  every tenth transfer fails

PLANTED_DELAYS is a file of JSON, read at each event: seconds by the name of a stage, one of arrival (before the engine has a request), queue, first (a step
with a new request), further (each other step) and transfer. PLANTED_DELAYS.spent gets a line for each delay, ``STAGE SECONDS``, as it was.
"""

import importlib.abc
import importlib.util
import json
import os
import sys
import time

CONNECTOR = "vllm.distributed.kv_transfer.kv_connector.v1.mooncake.mooncake_connector"
count = 0


def plant(module):
    """Replace methods of the connector's worker."""
    worker = module.MooncakeConnectorWorker
    send, build = worker._send_blocks, worker._build_transfer_params
    fault = os.environ["PLANTED_FAULT"]

    def send_blocks(self, remote_session, *blocks):
        global count
        count += 1
        if fault.endswith("_tenth") and count % 10 == 0:
            return 0 if fault == "drops_tenth" else 1
        return send(self, remote_session, *blocks)

    async def build_transfer_params(self, ready_reqs, *rest):
        for _request, meta in ready_reqs if fault == "last_block" else ():
            meta.local_block_ids = [[*group[:-1], group[0]] if group else group for group in meta.local_block_ids]
        return await build(self, ready_reqs, *rest)

    worker._send_blocks, worker._build_transfer_params = send_blocks, build_transfer_params
    print(f"planted: {fault}", flush=True)


def delay(stage):
    """Sleep as long as the file says for this stage, and write down how long it was."""
    path = os.environ["PLANTED_DELAYS"]
    with open(path, encoding="ascii") as stream:
        seconds = json.load(stream).get(stage, 0)
    if seconds:
        begin = time.monotonic()
        time.sleep(seconds)
        with open(path + ".spent", "a", encoding="ascii") as stream:
            stream.write(f"{stage} {time.monotonic() - begin}\n")


def after(owner, name, stage):
    """Let the method end with the delay of a stage."""
    method = getattr(owner, name)

    def delayed(self, *arguments, **named):
        result = method(self, *arguments, **named)
        delay(stage)
        return result

    setattr(owner, name, delayed)


def slow_arrival(module):
    """A request reaches the engine later, as over a slow network."""
    add = module.AsyncLLM.add_request

    async def delayed(self, *arguments, **named):
        delay("arrival")
        return await add(self, *arguments, **named)

    module.AsyncLLM.add_request = delayed


def slow_queue(module):
    """A request stays in the queue after it was put there, before anything is scheduled."""
    after(module.Scheduler, "add_request", "queue")


def slow_steps(module):
    """Each step of the model takes longer; those without tokens only look after transfers."""
    execute = module.Worker.execute_model

    def delayed(self, scheduled):
        if scheduled.total_num_scheduled_tokens:
            delay("first" if scheduled.scheduled_new_reqs else "further")
        return execute(self, scheduled)

    module.Worker.execute_model = delayed


def slow_transfers(module):
    """Writing into the memory of decode takes longer."""
    after(module.TransferEngine, "batch_transfer_sync_write", "transfer")


DELAYED = {
    "vllm.v1.engine.async_llm": slow_arrival,
    "vllm.v1.core.sched.scheduler": slow_queue,
    "vllm.v1.worker.gpu_worker": slow_steps,
    "mooncake.engine": slow_transfers,
}


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules as usual, and plants what belongs into them when they are loaded."""

    def __init__(self, plants):
        self.plants = plants

    def find_spec(self, name, _path, _target=None):
        """The usual specification with another loading."""
        if name not in self.plants:
            return None
        change = self.plants.pop(name)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def load_and_plant(module):
            load(module)
            change(module)

        spec.loader.exec_module = load_and_plant
        return spec


if os.environ.get("PLANTED_FAULT"):
    sys.meta_path.insert(0, Finder({CONNECTOR: plant}))
if os.environ.get("PLANTED_DELAYS"):
    sys.meta_path.insert(0, Finder(dict(DELAYED)))
