# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether TCP connections to planned ports pass between hosts: temporary listeners, and connections to them. Runs on Python 3.7.

A refused connection does not tell a closed port from a firewall that rejects (iptables' REJECT answers with port unreachable,
which connect(2) reports as refused). So each free port gets a listener for the time of the check.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from . import facts, port_listener

BANNER = "ascend.inference check of "
BANNER_SECONDS = 1.0  # our listener speaks first; a service does not
BACKLOG = 128


def listen(address, ports, name, mark, seconds, sources=()):
    # type: (str, t.Iterable[int], str, str, float, t.Iterable[str]) -> t.Dict[str, t.Any]
    """Start a process that listens on the free ones of ``ports`` for ``seconds`` -> ``{listening, failed}``.

    ``failed`` maps a port (as text) to the reason why it could not be bound. ``name`` is announced to each connection. ``mark`` is
    the process' ASCEND_INFERENCE_SERVICE, by which ``stop`` finds it; one that is left over is stopped first. It ends when all ``sources``
    have called ``finish``, if there are any.
    """
    stop(mark)
    sockets, failed = {}, {}
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in sorted(set(ports)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((address, port))
            listener.listen(BACKLOG)
        except (OSError, OverflowError) as error:
            listener.close()
            failed[str(port)] = getattr(error, "strerror", None) or str(error)
        else:
            sockets[port] = listener
    try:
        if sockets:
            arguments = [str(seconds), BANNER + name, json.dumps(sorted(sources))] + [
                str(item.fileno()) for item in sockets.values()
            ]
            _start(arguments, mark, list(sockets.values()))
    finally:
        for listener in sockets.values():
            listener.close()
    return {"listening": sorted(sockets), "failed": failed}


def _start(arguments, mark, sockets):
    # type: (t.List[str], str, t.List[socket.socket]) -> None
    """Run the listener in an interpreter of its own, detached from this session. Its source comes over a pipe."""
    source = port_listener.__loader__.get_source(port_listener.__name__).encode()
    for listener in sockets:
        listener.set_inheritable(True)
    reading, writing = os.pipe()
    ready, starting = os.pipe()  # closed by the listener: then it answers, and can be found by its mark
    os.set_inheritable(starting, True)
    arguments = arguments[:3] + [str(starting)] + arguments[3:]
    child = os.fork()
    if child == 0:
        _become_listener(arguments, mark, reading)
    os.close(reading)
    os.close(starting)
    with open(writing, "wb") as pipe:
        pipe.write(source)
    with open(ready, "rb") as pipe:
        pipe.read()
    os.waitpid(child, 0)  # the first child; the listener is its child, so that nobody has to wait for it


def _become_listener(arguments, mark, reading):
    # type: (t.List[str], str, int) -> None
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(reading, 0)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.chdir("/")
        name = facts.MARK.rstrip("=")
        os.execve(sys.executable, [sys.executable, "-I", "-"] + arguments, {name: mark, "PATH": os.defpath})
    finally:
        os._exit(1)


def stop(mark, proc="/proc"):
    # type: (str, str) -> t.List[int]
    """Stop the listeners with this mark -> their process ids. Processes of other users are not seen, nor stopped."""
    found = [entry["pid"] for entry in facts.own_processes(proc) if entry["service"] == mark]
    for pid in found:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + 2
    while any(facts.service_of(pid, proc) == mark for pid in found) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def connect(peers, timeout, workers):
    # type: (t.Iterable[t.Mapping[str, t.Any]], float, int) -> t.List[t.Dict[str, t.Any]]
    """Connect to each port of each peer (``{name, address, ports}``) -> ``[{name, address, port, state, reason, ms, listener}]``.

    ``listener``: whether the temporary listener of that host answered. ``state``: ``open``, ``refused``, ``timeout``, ``unreachable``,
    ``foreign`` (the listener of another host) or ``failed``.
    """
    todo = [(peer["name"], peer["address"], port) for peer in peers for port in peer["ports"]]
    with ThreadPoolExecutor(max_workers=max(1, min(workers, len(todo) or 1))) as pool:
        return list(pool.map(lambda target: _connect(*target, timeout=timeout), todo))


def finish(source, answers, timeout, workers):
    # type: (str, t.Iterable[t.Mapping[str, t.Any]], float, int) -> t.List[str]
    """Tell each listener among the ``answers`` of ``connect`` that ``source`` needs it no longer -> names of the hosts that replied."""
    places = {answer["name"]: (answer["address"], answer["port"]) for answer in answers if answer["listener"]}
    with ThreadPoolExecutor(max_workers=max(1, min(workers, len(places) or 1))) as pool:
        replies = pool.map(lambda place: _finish(source, place, timeout), places.values())
        return sorted(name for name, replied in zip(places, replies) if replied)


def _finish(source, place, timeout):
    # type: (str, t.Tuple[str, int], float) -> bool
    try:
        with contextlib.closing(socket.create_connection(place, timeout)) as connection:
            connection.sendall(port_listener.DONE + source.encode() + b"\n")
            heard = b""
            while not heard.endswith(port_listener.ENDED):  # after the banner
                more = connection.recv(256)
                if not more:
                    return False
                heard += more
        return True
    except OSError:
        return False


def _connect(name, address, port, timeout):
    # type: (str, str, int, float) -> t.Dict[str, t.Any]
    answer = {
        "name": name,
        "address": address,
        "port": port,
        "state": "open",
        "reason": "",
        "ms": None,
        "listener": False,
    }
    begin = time.monotonic()
    try:
        with contextlib.closing(socket.create_connection((address, port), timeout)) as connection:
            answer["ms"] = round(1000 * (time.monotonic() - begin), 3)
            heard = _banner(connection)
    except OSError as error:
        state, reason = _failure(error, timeout)
        return dict(answer, state=state, reason=reason)
    answer["listener"] = heard == BANNER + name
    if heard.startswith(BANNER) and not answer["listener"]:
        answer.update(state="foreign", reason=f"{heard[len(BANNER) :]} answers at this address")
    return answer


def _banner(connection):
    # type: (socket.socket) -> str
    connection.settimeout(BANNER_SECONDS)
    try:
        return connection.recv(256).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _failure(error, timeout):
    # type: (OSError, float) -> t.Tuple[str, str]
    if isinstance(error, socket.timeout) or error.errno == errno.ETIMEDOUT:
        return "timeout", f"no answer in {timeout:g} s"
    if error.errno == errno.ECONNREFUSED:
        return "refused", "connection refused"
    if error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EACCES, errno.EPERM):
        return "unreachable", (error.strerror or str(error)).lower()
    return "failed", error.strerror or str(error)
