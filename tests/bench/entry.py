# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the entry costs: memory of open streams, and latency and throughput against the same server without it, in one run.

The server is nginx, which answers at once with one worker; requests have 2 kB, the client is wrk (Debian's package), with one connection for the
latency and 32 for the throughput. The entry has TLS off, one team with a limit, and both cores or one (taskset). A router of a deployment may stand before
nginx, in both rows. Usage: entry.py [STREAMS [ROUTER]], 0 for no streams; ROUTER is a command, in which PORT stands for its port and WORKER for nginx's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from ansible_collections.ascend.inference.plugins.plugin_utils.entry import haproxy
from ansible_collections.ascend.inference.tests.integration import _entry
from ansible_collections.ascend.inference.tests.integration._namespaces import until
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports

ROUNDS, SECONDS = 3, 3
NGINX = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/a;
    keepalive_requests 1000000;
    server {{ listen 127.0.0.1:{port} backlog=1024; location / {{ default_type application/json;
        return 200 '{{"choices": [{{"index": 0, "message": {{"content": "x"}}}}]}}'; }} }}
}}
"""
SCRIPT = """
wrk.method = "POST"
wrk.body = '{{"messages": [{{"role": "user", "content": "{text}"}}], "model": "qwen3"}}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer {key}"
"""
TEAMS = {"lab": {"keys_file": "lab", "requests_per_minute": 10**6}}


def memory(entry: _entry.Entry) -> int:
    """MiB of the process that serves (VmRSS)."""
    found = subprocess.run(["pgrep", "-P", str(entry.process.pid)], capture_output=True, text=True, check=True).stdout
    text = pathlib.Path(f"/proc/{found.split()[0]}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) // 1024


async def streams(entry: _entry.Entry, count: int) -> None:
    """Open streams, and print the memory while events pass."""
    body = json.dumps({"model": "qwen3", "stream": True, "max_tokens": 10**6, "x": "x" * 2000}).encode()
    head = f"POST {_entry.COMPLETIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {_entry.KEYS['lab']}\r\nContent-Length: {len(body)}\r\n\r\n"
    opened, events = [], [0] * count

    async def stream(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", entry.port)
        opened.append(writer)
        writer.write(head.encode() + body)
        while line := await reader.readline():
            events[number] += line.startswith(b"data:")

    print(f"    {memory(entry)} MiB before")
    tasks = []
    for number in range(count):
        tasks.append(asyncio.create_task(stream(number)))
        if number % 100 == 99:
            await asyncio.sleep(0.1)
    for dummy in range(20):
        await asyncio.sleep(2)
        if sum(map(bool, events)) == count:
            break
    await asyncio.sleep(5)
    ended = sum(task.done() for task in tasks)
    print(f"    {memory(entry)} MiB with {sum(map(bool, events))} streams, {sum(events)} events so far, {ended} ended")
    for writer in opened:
        writer.transport.abort()
    await asyncio.gather(*tasks, return_exceptions=True)


def measured(port: int, script: str, connections: int) -> dict[str, float]:
    """Requests a second, and ms at p50 and p99."""
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--latency", "-s", script]
    text = subprocess.run(
        [*argv, f"http://127.0.0.1:{port}{_entry.COMPLETIONS}"], capture_output=True, text=True, check=True
    ).stdout
    assert "Non-2xx" not in text, text
    units = {"us": 0.001, "ms": 1, "s": 1000}
    parts = {name: re.search(rf"{name}%\s+([\d.]+)(us|ms|s)", text) for name in ("50", "99")}
    found = {f"p{name}": float(part[1]) * units[part[2]] for name, part in parts.items()}
    return {**found, "rate": float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])}


def speed(entry: _entry.Entry, port: int, script: str) -> None:
    """Print the best of several rounds, each without the entry, with it on one core, and on two: other work on the machine disturbs the best least."""
    worker = subprocess.run(["pgrep", "-P", str(entry.process.pid)], capture_output=True, text=True, check=True).stdout
    rows = {"no entry": (port, "0,1"), "1 core": (entry.port, "0"), "2 cores": (entry.port, "0,1")}
    found: dict[str, list[tuple[dict[str, float], dict[str, float]]]] = {name: [] for name in rows}
    for dummy in range(ROUNDS):
        for name, (asked, cores) in rows.items():
            subprocess.run(["taskset", "-a", "-p", "-c", cores, worker.split()[0]], check=True, capture_output=True)
            found[name].append((measured(asked, script, 1), measured(asked, script, 32)))
    for name, rounds in found.items():
        p50, p99 = (min(one[key] for one, dummy in rounds) for key in ("p50", "p99"))
        rate = max(many["rate"] for dummy, many in rounds)
        print(f"    {name:8}: one client p50 {p50:.3f} ms, p99 {p99:.3f} ms; 32 clients {rate:.0f} requests/s")


@contextlib.contextmanager
def behind(command: str, worker: int) -> Iterator[int]:
    """The port of a router that a command starts before nginx, or nginx's own without one."""
    if not command:
        yield worker
        return
    (port,) = free_ports(1)
    argv = [word.replace("PORT", str(port)).replace("WORKER", str(worker)) for word in shlex.split(command)]
    router = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, 60)
        time.sleep(2)  # some routers listen before they know the worker
        yield port
    finally:
        os.killpg(router.pid, signal.SIGKILL)
        router.wait()


def main(count: int, command: str = "") -> None:
    """Measure both."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # a stream needs two files here, and two in the entry
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    haproxy.CONFIGURATION = haproxy.CONFIGURATION.replace("maxconn 8192", f"maxconn {count + 20}")
    for body in (1, 64) if count else ():
        with _entry.started() as make:
            entry = make(teams=TEAMS, body_mib=body)
            entry.deployments["qwen"].gap = 5
            print(f"  body_mib {body}:")
            asyncio.run(streams(entry, count))
    if not shutil.which("wrk"):
        print("  latency and throughput: wrk is missing")
        return
    with tempfile.TemporaryDirectory() as folder, _entry.started() as make:
        (port,) = free_ports(1)
        pathlib.Path(folder, "nginx.conf").write_text(NGINX.format(folder=folder, port=port), encoding="utf-8")
        script = pathlib.Path(folder, "post.lua")
        script.write_text(SCRIPT.format(text="x" * 2000, key=_entry.KEYS["lab"]), encoding="utf-8")
        nginx = subprocess.Popen(["/usr/sbin/nginx", "-c", f"{folder}/nginx.conf"])
        try:
            models = {"qwen3": {"deployment": "qwen"}}
            print(f"  {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}:")
            with behind(command, port) as router:
                one = {"qwen": {"routers": [f"127.0.0.1:{router}"]}}
                speed(make(teams=TEAMS, models=models, deployments=one), router, str(script))
        finally:
            nginx.terminate()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9900, *sys.argv[2:3])
