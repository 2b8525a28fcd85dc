# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second process of the entry's program with the same settings, on free ports of this host and with stand-ins for routers.

It shows what the entry does with each team and model without a request to an engine and without what teams may use.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from typing import Any

from ..tools import http_client
from ..tools.http_client import Target
from .stand_in import StandIn

PLACE = "/TWIN"  # stands for the folder in texts and commands
PORT = re.compile(r"127\.0\.0\.1:(6[0-9]{4})\b")  # stand for free ports
READY = 20.0  # seconds
ENDS = (signal.SIGTERM, signal.SIGHUP)  # the latter when a connection with a terminal is lost
DEATH = 1  # PR_SET_PDEATHSIG: the signal that a process gets when the thread that started it has ended
LIBC = ctypes.CDLL(None)  # loaded before the fork: threads of stand-ins may hold locks then


class Twin:
    """``files``: ``[{path, content}]``, ``argv``: the command, ``routers``: ports that stand for those of routers, ``clients`` and ``status`` for its own."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.folder = tempfile.mkdtemp(prefix="en-")  # paths of sockets must be short
        self.routers = {str(port): StandIn() for port in given["routers"]}
        self.ports = {port: stand_in.port for port, stand_in in self.routers.items()}
        self.process: Any = None
        self.former: dict[int, Any] = {}

    def __enter__(self) -> Twin:
        try:
            self.former = {number: signal.signal(number, _ended) for number in ENDS}
            os.mkdir(os.path.join(self.folder, "usage"))
            for file in self.given["files"]:
                path = file["path"].replace(PLACE, self.folder)
                with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as written:
                    written.write(self._here(file["content"]))
            argv = [word.replace(PLACE, self.folder) for word in self.given["argv"]]
            with open(os.path.join(self.folder, "log"), "wb") as log:
                streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
                self.process = subprocess.Popen(argv, preexec_fn=_bound, **streams)  # pylint: disable=ansible-bad-function # a server
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *given: Any) -> None:
        for stand_in in self.routers.values():
            stand_in.close()
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
        for number, former in self.former.items():
            signal.signal(number, former)

    def _here(self, text: str) -> str:
        """The text with this folder and with ports that are free."""

        def port(found: Any) -> str:
            return f"127.0.0.1:{self.ports.setdefault(found.group(1), _free())}"

        return PORT.sub(port, text.replace(PLACE, self.folder))

    def _wait(self) -> None:
        end = time.monotonic() + READY
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.ask("GET", "/health", port=self.given["status"])[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as log:
            raise OSError("the program does not serve: " + log.read()[-500:])

    def ask(self, method: str, path: str, key: str = "", body: Any = None, port: Any = None) -> tuple[int, str]:
        """Status and text of an answer. Raises OSError if there is none."""
        target = Target(f"http://127.0.0.1:{self.ports[str(port or self.given['clients'])]}", key)
        reply = http_client.ask(target, path, body, 70, method=method)
        if reply.error:
            raise OSError(f"broken answer: {reply.detail}")
        return reply.status, reply.body

    def reached(self) -> dict[str, int]:
        """How many requests each router has had, by the ports that stand for them."""
        return {port: len(stand_in.seen) for port, stand_in in self.routers.items()}


def _bound() -> None:
    """The program ends with this process, also if that is killed."""
    LIBC.prctl(DEATH, signal.SIGKILL)


def _ended(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


def _free() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
