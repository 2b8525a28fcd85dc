# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``vllm serve MODEL ...`` and ``vllm bench serve`` of the simulated host."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from . import client, log
from . import release as releases
from .api import WHO, Api
from .cli import parse
from .engine import Engine
from .errors import Died
from .host import Host
from .ports import api_failure
from .shape import from_args


async def serve(args, host, release, shape):
    """Run an engine until a signal or a crash; returns the exit status."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    state = {"code": 0, "api": None, "ready": False}

    def die(reason):
        log.vllm("EngineCore_DP0", f"EngineCore encountered a fatal error.\n{reason}", "core.py:866", "ERROR")
        text = "EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
        log.vllm(WHO, f"vllm.v1.engine.exceptions.{text}", "async_llm.py:1", "ERROR")
        state["code"] = 1
        if state["api"]:
            state["api"].dead = text
        loop.call_later(0.2, ended.set)

    def stop():
        if state["api"]:
            state["api"].stopping = True
        ended.set()

    def listen():
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)

    listen()
    await asyncio.sleep(float(os.environ.get("ASCEND_SIMULATOR_START_SECONDS") or 0))
    engine = Engine(args, host, release, shape, die)
    made = None
    if not shape.headless:
        address = args.host or "0.0.0.0"
        made = engine.ports.planned(address, args.port, "API", api_failure(address, args.port))
    opening = asyncio.ensure_future(engine.open())
    waiting = asyncio.ensure_future(ended.wait())
    await asyncio.wait({opening, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if not opening.done():
        opening.cancel()
        return 0
    opening.result()
    listen()  # again, because a real Mooncake store has replaced the handlers
    if made:
        state["api"] = Api(engine, args)
        await state["api"].serve(made)
        log.vllm(WHO, f"Starting vLLM API server 0 on http://{address}:{args.port}", "api_server.py:1346")
    log.raw(f"({WHO} pid={os.getpid()}) INFO:     Application startup complete.")
    await waiting
    await _drain(state["api"], engine, getattr(args, "shutdown_timeout", None) or 0)
    return state["code"]


async def _drain(api, engine, seconds):
    """Wait for running requests (from vLLM 0.22.1 on also for KV that a decoder has not fetched yet)."""
    if api is None or not seconds:
        return
    for dummy in range(int(seconds * 20)):
        held = any(rank.memory.used for rank in engine.ranks.values()) and engine.release.since("0.22.1rc1")
        if not api.busy and not held:
            break
        await asyncio.sleep(0.05)


def main(argv=None):
    argv = list(sys.argv[1:] if argv is None else argv)
    host = Host()
    release = releases.load(host.release, host.mooncake)
    if argv[:1] in (["--version"], ["-v"]):
        print(f"{release.vllm}+simulator")
        return 0
    if argv[:1] == ["--simulator"]:
        print(f"simulator of vllm serve with vLLM-Ascend {release.name}, Mooncake {release.mooncake}; no NPU is used")
        return 0
    if argv[:2] == ["bench", "serve"]:
        return client.main(argv[2:], release.vllm)
    if argv[:1] != ["serve"]:
        text = "usage: vllm [-h] [-v] {serve} ...\nvllm: error: the simulator only has: serve, bench serve"
        print(text, file=sys.stderr)
        return 2
    log.vllm(
        WHO,
        f"SIMULATOR of vLLM {release.vllm} with vLLM-Ascend {release.name} and Mooncake {release.mooncake}: "
        "no NPU, no weights, invented text",
    )
    try:
        args = parse(argv[1:], release)
        shape = from_args(args)
        code = asyncio.run(serve(args, host, release, shape))
    except Died as error:
        log.vllm(WHO, f"Engine core initialization failed. See root cause above.\n{error}", level="ERROR")
        return error.code
    finally:
        host.release_all()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # not sys.exit: the threads of a real Mooncake store would keep the process alive


if __name__ == "__main__":
    sys.exit(main())
