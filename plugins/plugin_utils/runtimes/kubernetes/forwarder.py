# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in the router's pod: starts the proxy, and connects it to the engines that are ready at the moment.

The proxy gets a loopback address for each planned engine, which never changes. Each connection to it goes to an engine that the
headless Service of the role names in the DNS, so a replaced pod is used as soon as it is ready, and no proxy has to be restarted.
A connection carries one request: the next one is free to go to another engine. An address that does not answer is passed over
before anything is sent. Only the standard library: the file is mounted into the image as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import signal
import socket
import sys
import typing as t

POLL = 2.0  # seconds between two look-ups
CONNECT = 2.0  # seconds until the next address is tried
HEADERS = 1 << 20  # the most bytes before a request's body
KEEPALIVE = {
    "TCP_KEEPIDLE": 10,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 25000,
}  # a node that died is noticed
ANSWER = (
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}"
)


class Slot(t.NamedTuple):
    """``address:port`` on this machine stands for the engine ``number`` of ``count`` that ``name`` has."""

    address: str
    port: int
    name: str
    number: int
    count: int


def slot(text: str) -> Slot:
    """Read ``ADDRESS:PORT=NAME/NUMBER/COUNT``."""
    listen, dummy, target = text.partition("=")
    address, dummy, port = listen.rpartition(":")
    name, number, count = target.split("/")
    return Slot(address, int(port), name, int(number), int(count))


def lookup(name: str) -> list[str] | None:
    """The addresses of a name, sorted; None if the DNS does not answer."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        return None if error.errno == socket.EAI_AGAIN else []
    return sorted({str(item[4][0]) for item in found})


def single(head: bytes) -> bytes:
    """A request's header with ``Connection: close``: the engine ends the connection after its answer."""
    first, *others = head.split(b"\r\n")
    kept = [line for line in others if not line.lower().startswith((b"connection:", b"keep-alive:"))]
    return b"\r\n".join([first, b"Connection: close", *kept])


class Forwarder:
    """The slots, and the addresses behind their names."""

    def __init__(self, slots: t.Sequence[Slot]) -> None:
        self.slots = slots
        self.known: dict[str, list[str]] = {item.name: [] for item in slots}
        self.tasks: set[asyncio.Future[None]] = set()
        self.turn = 0

    async def follow(self) -> None:
        """Look the names up for ever."""
        while True:
            await self.refresh()
            await asyncio.sleep(POLL)

    async def refresh(self) -> None:
        """Look all names up once. What is known stays while the DNS does not answer."""
        for name in self.known:
            found = await asyncio.get_running_loop().run_in_executor(None, lookup, name)
            if found is not None and found != self.known[name]:
                self.known[name] = found
                print(f"{name}: {', '.join(found) or 'no engine is ready'}", file=sys.stderr, flush=True)

    def order(self, item: Slot) -> list[str]:
        """The addresses to try for a slot: its own share first, each in turn, then those of others."""
        known = self.known[item.name]
        own = known[item.number :: item.count] or known
        self.turn += 1
        start = self.turn % len(own) if own else 0
        own = own[start:] + own[:start]
        return own + [address for address in known if address not in own]

    async def connect(self, item: Slot) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to an engine; None if none accepts one."""
        for address in self.order(item):
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                reader, writer = await asyncio.wait_for(asyncio.open_connection(address, item.port), CONNECT)
                raw = writer.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for option, value in KEEPALIVE.items():
                    raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
                return reader, writer
        return None

    async def ready(self) -> None:
        """Wait until an engine of each role accepts connections."""
        for item in {item.name: item for item in self.slots}.values():
            while True:
                found = await self.connect(item)
                if found:
                    found[1].close()
                    break
                await asyncio.sleep(POLL)

    async def listen(self) -> None:
        """Open all slots."""
        for item in self.slots:
            await asyncio.start_server(functools.partial(self.serve, item), item.address, item.port, limit=HEADERS)

    def serve(self, item: Slot, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new connection."""
        task = asyncio.ensure_future(self._exchange(item, reader, writer))
        self.tasks.add(task)  # the loop has weak references only
        task.add_done_callback(self.tasks.discard)

    async def _exchange(self, item: Slot, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, EOFError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            engine = await self.connect(item)
            if engine is None:
                text = f"No engine of {item.name} accepts connections at port {item.port}."
                writer.write(ANSWER.format(len(text), text).encode())
                return
            with contextlib.closing(engine[1]):
                engine[1].write(single(head))
                copies = [
                    asyncio.ensure_future(copy(reader, engine[1])),
                    asyncio.ensure_future(copy(engine[0], writer)),
                ]
                await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)  # either end is the end of both
                for task in copies:
                    task.cancel()
                await asyncio.gather(*copies, return_exceptions=True)


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes, as it comes, until the end."""
    while True:
        data = await reader.read(1 << 16)
        if not data:
            return
        writer.write(data)
        await writer.drain()


async def run(slots: t.Sequence[Slot], command: t.Sequence[str]) -> int:
    """Forward, and run the proxy once there is an engine of each role; returns the proxy's exit status.

    Until then the proxy's port is closed, so the pod is not ready.
    """
    forwarder, ended = Forwarder(slots), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    await forwarder.listen()
    forwarder.tasks.add(asyncio.ensure_future(forwarder.follow()))
    stop = asyncio.ensure_future(ended.wait())
    start = asyncio.ensure_future(forwarder.ready())
    await asyncio.wait([start, stop], return_when=asyncio.FIRST_COMPLETED)
    start.cancel()
    if ended.is_set():
        return 0
    proxy = await asyncio.create_subprocess_exec(*command)
    done = asyncio.ensure_future(proxy.wait())
    await asyncio.wait([done, stop], return_when=asyncio.FIRST_COMPLETED)
    if ended.is_set() and proxy.returncode is None:
        proxy.terminate()  # it finishes its requests, which still need the forwarder
    status = await done
    return status if status >= 0 else 128 - status


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", type=slot, action="append", default=[], help="ADDRESS:PORT=NAME/NUMBER/COUNT")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    return asyncio.run(run(options.engine, command))


if __name__ == "__main__":
    sys.exit(main())
