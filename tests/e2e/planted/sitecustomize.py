# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plants a fault into the KV transfer of a real engine: Python imports this file at its start if its folder is in PYTHONPATH.

PLANTED_FAULT names the fault. All of them are on the side of prefill, which writes into the memory of decode:

last_block   the last KV block of each prompt has the content of the first one
drops_tenth  every tenth transfer is reported as done and not done
fails_tenth  every tenth transfer fails
"""

import importlib.abc
import importlib.util
import os
import sys

MODULE = "vllm.distributed.kv_transfer.kv_connector.v1.mooncake.mooncake_connector"
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


class Finder(importlib.abc.MetaPathFinder):
    """Finds the connector's module as usual, and plants the fault when it is loaded."""

    def find_spec(self, name, _path, _target=None):
        """The usual specification with another loading."""
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def load_and_plant(module):
            load(module)
            plant(module)

        spec.loader.exec_module = load_and_plant
        return spec


if os.environ.get("PLANTED_FAULT"):
    sys.meta_path.insert(0, Finder())
