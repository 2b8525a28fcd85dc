# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned entry with the distribution's own HAProxy, in front of small HTTP servers in place of deployments."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import threading
import time

from ansible_collections.ascend.inference.plugins.plugin_utils.entry import haproxy
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.made import entry_files
from ansible_collections.ascend.inference.tests.integration import _balancer
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports

COMPLETIONS = "/v1/chat/completions"
KEYS = {"search": "search-key-0123456789", "lab": "lab-key~0123456789+/=", "both": "both-key-0123456789"}
ENGINES = "engines-own-key"
TEXTS = {**{name: f"# of {name}\n{key}\n" for name, key in KEYS.items()}, "engines": f"{ENGINES}\n"}
HOSTS = {"here": "127.0.0.1"}


class Deployment:
    """SIMULATED: a router with the shape of the OpenAI API. It answers with its own name and keeps what it was asked."""

    def __init__(self, name, address="127.0.0.1"):
        self.address = address
        self.name, self.seen, self.ready = name, [], threading.Event()
        self.how, self.gap, self.clients = "", 0.05, set()
        (self.port,) = free_ports(1)
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self.ready.wait(10)

    async def _serve(self):
        self.loop, self.stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._client, self.address, self.port, limit=2**28, backlog=1024)
        self.ready.set()
        await self.stopped.wait()
        server.close()
        # A process that ends closes all its connections, also one that it has just accepted; a loop that ends keeps them open, and clients wait.
        for dummy in range(5):
            for writer in list(self.clients):
                writer.transport.abort()
            await asyncio.sleep(0.01)

    async def _client(self, reader, writer):
        self.clients.add(writer)
        try:
            while True:
                await self._request(reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            self.clients.discard(writer)
            writer.close()

    async def _request(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, dummy, value in (line.partition(":") for line in head[1:] if line)
        }
        body = b""
        if headers.get("transfer-encoding") == "chunked":
            while size := int(await reader.readline(), 16):
                body += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, dummy = head[0].split(" ")
        if method == "GET":
            return self._answer(writer, {"data": []})
        self.seen.append((path, headers, body))
        if self.how == "end":
            raise OSError
        if self.how == "slow":
            await asyncio.sleep(1)
        asked = json.loads(body)
        if "count" in asked:
            return await self._counted(writer, asked)
        if asked.get("stream"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for text in self._events(asked):
                event = f"data: {text}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                await writer.drain()
                await asyncio.sleep(self.gap)
            writer.write(b"0\r\n\r\n")
            return await writer.drain()
        self._answer(writer, self._whole(asked, len(body)))
        return await writer.drain()

    def _events(self, asked):
        return map(str, range(asked.get("max_tokens", 10)))

    def _whole(self, asked, size):
        return {"deployment": self.name, "bytes": size}

    async def _counted(self, writer, asked):
        """As vLLM answers: prompt, completion and cached tokens are ``count``; a stream has one event for each completion token."""
        if asked.get("stream_options") and not asked.get("stream"):
            return self._answer(writer, {"error": {"message": "stream_options without stream"}}, b"400 Bad Request")
        prompt, completion, cached = asked["count"]
        usage = {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}
        usage["prompt_tokens_details"] = {"cached_tokens": cached} if cached else None
        text = asked.get("text", "x")
        # A text that pydantic reads as false is none for a proxy in Python, which labels the answer: load_balance, upstream since its media_type.
        labelled = b"text/event-stream; charset=utf-8" if asked.get("stream") else b"application/json"
        if asked.get("stream") in (None, False, 0, "false", "No"):
            choices = [{"index": 0, "message": {"role": "assistant", "content": text * completion}}]
            answer = {"id": "a", "deployment": self.name, "choices": choices, "usage": usage}
            return self._answer(writer, answer, kind=labelled)
        events = [{"choices": [{"index": 0, "delta": {"content": text}}]} for dummy in range(completion)]
        options = asked.get("stream_options") or {}
        if options.get("include_usage"):
            events.append({"choices": [], "usage": usage})
        data = "".join(f"data: {json.dumps(event, separators=(',', ':'))}\n\n" for event in events) + "data: [DONE]\n\n"
        if asked.get("whole"):
            return self._answer(writer, data.encode(), kind=b"text/event-stream")
        pieces = asked.get("pieces", 0)
        parts = [data[at : at + pieces] for at in range(0, len(data), pieces)] if pieces else data.split("\n\n")[:-1]
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"
            % asked.get("label", "text/event-stream; charset=utf-8").encode()
        )
        for number, part in enumerate(parts):
            if number == asked.get("end_after"):
                raise OSError
            event = (part if pieces else f"{part}\n\n").encode()
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await writer.drain()
            await asyncio.sleep(asked.get("gap", 0))
        writer.write(b"0\r\n\r\n")
        return await writer.drain()

    def _answer(self, writer, value, status=b"200 OK", kind=b"application/json"):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        writer.write(
            b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, kind, len(data)) + data
        )

    def close(self):
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.stopped.set)


class Entry:
    """A running entry with three deployments: qwen, old and new."""

    def __init__(self, folder, **changed):
        self.folder = pathlib.Path(folder)
        self.deployments = {name: Deployment(name) for name in ("qwen", "old", "new")}
        self.port, self.status, peer = free_ports(3)
        self.settings = {
            "address": "127.0.0.1",
            "port": self.port,
            "status_port": self.status,
            "peer_port": peer,
            "plain_http": True,
            "body_mib": 8,
            "deployments": {
                name: {"routers": [f"127.0.0.1:{deployment.port}"], "api_key_file": "engines"}
                for name, deployment in self.deployments.items()
            },
            "models": {
                "qwen3": {"deployment": "qwen"},
                "org/ds-v4": {"deployments": {"old": 95, "new": 5}, "fallback": "qwen"},
            },
            "teams": {
                "search": {"keys_file": "search", "models": ["qwen3"], "requests_per_minute": 30},
                "lab": {"keys_file": "lab"},
                "both": {"keys_file": "both", "models": ["qwen3", "org/ds-v4"], "concurrent": 3},
            },
        }
        self.write(**changed)
        self.log = (self.folder / "log").open("w")  # noqa: SIM115 # closed with the entry
        self.argv = [haproxy.PROGRAM, "-W", "-f", str(self.folder / "haproxy.cfg")]
        self.process = subprocess.Popen(self.argv, stdout=self.log, stderr=self.log)
        self.wait()

    def write(self, **changed):
        """Write the files of the settings with these changes."""
        self.settings = {**self.settings, **changed}
        place = {"folder": str(self.folder), "run": str(self.folder), "state": str(self.folder / "usage")}
        (self.folder / "usage").mkdir(exist_ok=True)
        for file in entry_files(self.settings, HOSTS, TEXTS, "here", **place):
            pathlib.Path(file["path"]).write_text(file["content"])

    def wait(self):
        """Until all models have a way."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                if self.health()[0] == 200:
                    return
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def computed(self):
        """Seconds of processor time of the process that serves, which the master started last."""
        (*_former, worker) = (
            pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        )
        times = pathlib.Path(f"/proc/{worker}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def health(self):
        """Status and text of the status page."""
        return http_ask(self.status, "GET", "/health")[:2]

    def reload(self):
        """As the unit does, after the files were written again."""
        subprocess.run([haproxy.PROGRAM, "-c", "-f", str(self.folder / "haproxy.cfg")], check=True, capture_output=True)
        os.kill(self.process.pid, signal.SIGUSR2)

    def ask(self, body, team="lab", path=COMPLETIONS, method="POST", **headers):
        """Status, parsed body and headers of an answer. ``body``: bytes, or what becomes JSON."""
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        key = {"Authorization": f"Bearer {KEYS.get(team, team)}"} if team else {}
        status, text, got = http_ask(self.port, method, path, data, {**key, **headers})
        return status, json.loads(text), got

    def model(self, name, team="lab"):
        """The deployment that answers for a model, or the status."""
        status, answer, dummy = self.ask({"messages": [], "model": name}, team)
        return answer["deployment"] if status == 200 else status

    def restart(self):
        """A new program with the files as they are, as after a reboot."""
        self.process.terminate()
        self.process.wait(20)
        self.process = subprocess.Popen(self.argv, stdout=self.log, stderr=self.log)
        self.wait()

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()
        for deployment in self.deployments.values():
            deployment.close()


def http_ask(port, method, path, data=None, headers=None):
    """Status, text and headers of one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, data, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


install = _balancer.install


@contextlib.contextmanager
def started():
    """A function that starts an entry with changed settings in a folder of their own; all are closed at the end."""
    install()
    made = []
    with tempfile.TemporaryDirectory(prefix="en-") as folder:  # paths of sockets must be short

        def make(**settings):
            made.append(Entry(folder, **settings))
            return made[-1]

        try:
            yield make
        finally:
            for each in made:
                each.close()
