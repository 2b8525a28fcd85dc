# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The forwarder of the router's pod, with real connections between loopback addresses; only the DNS is simulated."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import socket
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes import forwarder

PROXY, FIRST, SECOND, THIRD = (f"127.{1 + os.getpid() % 250}.7.{number}" for number in (1, 2, 3, 4))
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


class Engine:
    """Answers with its address, in two parts ``wait`` seconds apart or until ``released``; counts its requests."""

    def __init__(self, address, port, wait=0.0):
        self.address, self.port, self.wait = address, port, wait
        self.requests, self.aborted, self.writers, self.server = [], 0, [], None
        self.released = asyncio.get_running_loop().create_future()

    async def start(self):
        """Accept connections."""
        self.server = await asyncio.start_server(self.serve, self.address, self.port)
        return self

    async def serve(self, reader, writer):
        """One connection, one request."""
        self.writers.append(writer)
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(HEAD + self.address.encode())
        await writer.drain()
        ended = asyncio.ensure_future(reader.read())
        await asyncio.wait([ended, self.released], timeout=self.wait, return_when=asyncio.FIRST_COMPLETED)
        self.aborted += ended.done()
        ended.cancel()
        writer.write(b" all")
        writer.close()

    async def until(self, count):
        """Wait until it has got so many requests."""
        for dummy in range(1000):
            if len(self.requests) >= count:
                break
            await asyncio.sleep(0.02)
        assert len(self.requests) == count

    def kill(self):
        """End as a killed process does."""
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()


class World:
    """Engines, what the DNS has, and a forwarder with ``count`` slots."""

    def __init__(self, monkeypatch, count=2):
        with socket.socket() as free:
            free.bind((PROXY, 0))
            self.port = free.getsockname()[1]
        self.names = {}
        monkeypatch.setattr(forwarder, "lookup", lambda name: self.names[name])
        monkeypatch.setattr(forwarder, "CONNECT", 0.3)
        monkeypatch.setattr(forwarder, "POLL", 0.05)
        self.slots = [forwarder.Slot(PROXY, self.port + number, "d.svc", number, count) for number in range(count)]
        self.forwarder = forwarder.Forwarder(self.slots)

    async def start(self, *addresses, wait=0.0):
        """Engines at these addresses, ready; all slots go to one port of theirs."""
        self.slots[:] = [item._replace(port=self.port) for item in self.slots]
        engines = [await Engine(address, self.port, wait).start() for address in addresses]
        self.names["d.svc"] = list(addresses)
        await self.forwarder.refresh()
        return engines

    async def ask(self, item, more=b""):
        """A request through a slot; the answer's body, empty if the connection broke."""
        reader, writer = await self.through(item)
        writer.write(b"POST /v1 HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n" + more + b"\r\n")
        try:
            answer = await asyncio.wait_for(reader.read(), 30)
        except OSError:
            return b""
        finally:
            writer.close()
        return answer if b" 503 " in answer else answer.partition(b"\r\n\r\n")[2]

    async def through(self, item):
        """A connection to a slot, without a listening socket."""
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=theirs)
        self.forwarder.serve(item, reader, writer)
        return await asyncio.open_connection(sock=ours)


def test_each_slot_has_its_engine_and_what_is_more_takes_turns(monkeypatch):
    async def work():
        world = World(monkeypatch)
        await world.start(FIRST, SECOND)
        assert [await world.ask(item) for item in world.slots] == [FIRST.encode() + b" all", SECOND.encode() + b" all"]
        await world.start(THIRD)
        world.names["d.svc"] = [FIRST, SECOND, THIRD]  # scaled without the router
        await world.forwarder.refresh()
        found = {await world.ask(world.slots[0]) for dummy in range(4)}
        assert found == {FIRST.encode() + b" all", THIRD.encode() + b" all"}

    asyncio.run(work())


def test_all_slots_listen(monkeypatch):
    async def work():
        world = World(monkeypatch)
        await world.forwarder.listen()
        for item in world.slots:
            reader, writer = await asyncio.open_connection(item.address, item.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert b" 503 " in await asyncio.wait_for(reader.read(), 30)
            writer.close()

    asyncio.run(work())


def test_a_node_that_dies_ends_its_connections(monkeypatch):
    """Without an answer for idle + count * interval seconds, as long as what was sent may be unacknowledged."""

    async def work():
        world = World(monkeypatch)
        await world.start(FIRST)
        dummy, writer = await world.forwarder.connect(world.slots[0])
        raw = writer.get_extra_info("socket")
        idle, interval, count, unacknowledged = (
            raw.getsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_{name}"))
            for name in ("KEEPIDLE", "KEEPINTVL", "KEEPCNT", "USER_TIMEOUT")
        )
        assert raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert idle + count * interval == unacknowledged / 1000 == 25
        writer.close()

    asyncio.run(work())


def test_a_connection_has_one_request(monkeypatch):
    """A proxy that kept its connections would never send to a pod that came later."""

    async def work():
        world = World(monkeypatch)
        (engine,) = await world.start(FIRST)
        await world.ask(world.slots[0], b"Keep-Alive: timeout=5\r\nAuthorization: x\r\n")
        assert engine.requests == [b"POST /v1 HTTP/1.1\r\nConnection: close\r\nHost: x\r\nAuthorization: x\r\n\r\n"]

    asyncio.run(work())


def test_under_load_only_what_is_in_flight_on_the_dead_engine_fails(monkeypatch):
    async def work():
        world = World(monkeypatch)
        monkeypatch.setattr(forwarder, "CONNECT", 20)  # a busy machine is no dead engine
        dead, kept = await world.start(FIRST, SECOND, wait=60)
        pending = [asyncio.ensure_future(world.ask(world.slots[number % 2])) for number in range(20)]
        await dead.until(10)
        await kept.until(10)
        in_flight = len(dead.requests)
        dead.kill()
        pending += [asyncio.ensure_future(world.ask(world.slots[number % 2])) for number in range(20)]  # DNS is behind
        await kept.until(30)
        world.names["d.svc"] = [SECOND]
        await world.forwarder.refresh()
        pending += [asyncio.ensure_future(world.ask(world.slots[number % 2])) for number in range(20)]
        await kept.until(50)
        kept.released.set_result(None)
        answers = await asyncio.gather(*pending)
        broken = [answer for answer in answers if not answer.endswith(b" all")]
        assert len(broken) == in_flight
        await world.start(THIRD)  # the new pod, with another address
        world.names["d.svc"] = [SECOND, THIRD]
        await world.forwarder.refresh()
        assert await world.ask(world.slots[1]) == THIRD.encode() + b" all"
        assert len(kept.requests) == 50

    asyncio.run(work())


def test_a_client_that_leaves_ends_the_engine_s_work(monkeypatch):
    async def work():
        world = World(monkeypatch)
        (engine,) = await world.start(FIRST, wait=5)
        dummy, writer = await world.through(world.slots[0])
        writer.write(b"POST / HTTP/1.1\r\n\r\n")
        await asyncio.sleep(0.2)
        writer.close()
        await asyncio.sleep(0.2)
        assert engine.aborted == 1

    asyncio.run(work())


def test_without_an_engine_the_answer_says_so(monkeypatch):
    async def work():
        world = World(monkeypatch)
        await world.start()
        assert b"No engine of d.svc accepts connections at port" in await world.ask(world.slots[0])

    asyncio.run(work())


@pytest.mark.parametrize(("errno", "expected"), [(socket.EAI_AGAIN, [FIRST]), (socket.EAI_NONAME, [])])
def test_a_dns_that_does_not_answer_changes_nothing(monkeypatch, errno, expected):
    known = forwarder.Forwarder([forwarder.slot(f"{PROXY}:1=d.svc/0/1")])
    known.known["d.svc"] = [FIRST]

    def fail(*unused, **options):
        raise socket.gaierror(errno, "x")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    asyncio.run(known.refresh())
    assert known.known["d.svc"] == expected


STAND_IN = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *x: sys.exit(7)); print('on', flush=True); time.sleep(30)"


def test_the_proxy_starts_with_the_first_engines_and_ends_with_its_own_status():
    """Before, its port is closed: the pod is not ready."""
    with socket.socket() as engine:
        engine.bind((FIRST, 0))
        port = engine.getsockname()[1]
        command = [sys.executable, str(pathlib.Path(forwarder.__file__)), "--engine", f"{PROXY}:{port}={FIRST}/0/1"]
        with subprocess.Popen([*command, "--", sys.executable, "-c", STAND_IN], stdout=subprocess.PIPE) as ran:
            os.set_blocking(ran.stdout.fileno(), False)
            with pytest.raises(subprocess.TimeoutExpired):
                ran.wait(1.5)
            assert not ran.stdout.read()
            engine.listen()
            os.set_blocking(ran.stdout.fileno(), True)
            assert ran.stdout.readline() == b"on\n"
            ran.send_signal(signal.SIGTERM)
            assert ran.wait(10) == 7
