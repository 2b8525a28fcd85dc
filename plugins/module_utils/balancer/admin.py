# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HAProxy's runtime socket: servers of one backend, their state and weight.

A command is one line, and HAProxy ends the connection behind its answer. The answer to a change is empty if it was accepted (management.txt,
"Unix Socket commands"); callers read back all the same.
"""

from __future__ import annotations

import csv
import io
import socket
import time
from typing import NamedTuple

from ..tools import foreign_file
from ..tools.text import one_line

MAINTENANCE, DRAIN = 0x3F & ~0x18, 0x18  # bits of srv_admin_state: SRV_ADMF_*MAINT, SRV_ADMF_*DRAIN (server-t.h)
RUNNING = 2  # srv_op_state: SRV_ST_RUNNING
TOTALS = ("FRONTEND", "BACKEND")  # rows of "show stat" that are no servers
FAILURES = (
    "hrsp_5xx",
    "econ",
    "eresp",
)  # columns of "show stat": answers 5xx, failed connections, answers that broke off
MOST = 4 * 1024 * 1024  # bytes of one answer


class BalancerProblem(Exception):
    """The balancer does not answer, or not as it should; the text says what is wrong, why it matters and how to fix it."""


class Server(NamedTuple):
    """One server. ``state``: ready, drain or maint, as it was set; ``up``: its health; ``weight``; ``requests``: under way."""

    name: str
    state: str
    up: bool
    weight: int
    requests: int


class Counters(NamedTuple):
    """What a server has done since HAProxy started. ``requests``: that it got; ``failures``: status 5xx, refused connections, broken answers."""

    requests: int
    failures: int


class Balancer:
    """One HAProxy. ``path``: its socket; ``backend``: the name of the servers' backend; ``timeout`` of one command in seconds.

    ``state_file``: where states and weights are kept for a HAProxy that starts anew, "" for nowhere. Its service's user reads it.
    """

    def __init__(self, path: str, backend: str, timeout: float = 10.0, state_file: str = "") -> None:
        self.path, self.backend, self.timeout, self.state_file = path, backend, timeout, state_file

    def ask(self, command: str) -> str:
        """The answer to one command. Raises BalancerProblem if there is none, or if its end does not come within the timeout."""
        received: list[bytes] = []
        end = time.monotonic() + self.timeout
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
                stream.settimeout(self.timeout)
                stream.connect(self.path)
                stream.sendall(command.encode() + b"\n")
                while True:
                    left = end - time.monotonic()  # of the whole answer: a byte from time to time is none
                    if left <= 0:
                        raise socket.timeout("its answer does not end")
                    stream.settimeout(left)
                    block = stream.recv(65536)
                    if not block:
                        break
                    received.append(block)
                    if sum(len(found) for found in received) > MOST:
                        raise BalancerProblem(
                            f"{self.path} sends more than {MOST} bytes. Fix: check that it is HAProxy's socket"
                        )
        except OSError as error:
            raise BalancerProblem(
                f"the balancer does not answer on {self.path}: {error.strerror or error}. Routers cannot be drained or returned. "
                "Fix: start the balancer, or look into its log"
            ) from error
        return b"".join(received).decode("utf-8", "replace")

    def servers(self) -> dict[str, Server]:
        """The backend's servers by name."""
        states, counters = self.ask(f"show servers state {self.backend}"), self.ask("show stat")
        rows = _table(states)
        try:
            requests = {name: int(row["scur"]) for name, row in self._counted(counters).items()}
            found = [_server(row, requests[row["srv_name"]]) for row in rows]
        except (ValueError, KeyError, TypeError, csv.Error) as error:  # requests that are not known are not none
            raise BalancerProblem(
                f"the states or requests of the balancer's servers cannot be read ({type(error).__name__}: {error}): {counters.strip()[:300]!r}. "
                "Fix: compare its haproxy.cfg with the plan, then run site"
            ) from error
        return {server.name: server for server in found}

    def counters(self) -> dict[str, Counters]:
        """The counters of the backend's servers by name."""
        text = self.ask("show stat")
        try:
            return {
                name: Counters(int(row["stot"]), sum(int(row[key]) for key in FAILURES))
                for name, row in self._counted(text).items()
            }
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            raise BalancerProblem(
                f"the counters of the balancer's servers cannot be read ({type(error).__name__}: {error}): {text.strip()[:300]!r}. "
                "Fix: compare its haproxy.cfg with the plan, then run site"
            ) from error

    def uptime(self) -> int:
        """Seconds since HAProxy started. A start resets its counters, and the states and weights that were set by the socket."""
        text = self.ask("show info")
        found = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Uptime_sec:")]
        if len(found) != 1 or not found[0].isdigit():
            raise BalancerProblem(
                f"{self.path} does not tell since when the balancer runs: {text.strip()[:300]!r}. Fix: check that it is HAProxy's socket"
            )
        return int(found[0])

    def _counted(self, text: str) -> dict[str, dict[str, str]]:
        """Rows of ``show stat`` by server."""
        return {
            row["svname"]: row
            for row in csv.DictReader(io.StringIO(text.lstrip("# ")))
            if row.get("pxname") == self.backend and row.get("svname") not in TOTALS
        }

    def set_state(self, name: str, state: str) -> None:
        """Set a server ``ready`` or to ``drain``: no new requests, those under way go on."""
        self._set(f"set server {self.backend}/{name} state {state}")

    def set_weight(self, name: str, weight: int) -> None:
        """Set a server's weight, 0 to 256, relative to the others."""
        self._set(f"set server {self.backend}/{name} weight {weight}")

    def _set(self, command: str) -> None:
        answer = self.ask(command).strip()
        if answer:
            raise BalancerProblem(
                f"the balancer at {self.path} refused {command!r}: {answer[:300]}. Fix: compare its haproxy.cfg with the plan, then run site"
            )
        self._keep()

    def _keep(self) -> None:
        """Write what HAProxy reads at its start: without it, a router that was drained would get requests again."""
        if not self.state_file:
            return
        try:
            text = kept(self.ask(f"show servers state {self.backend}"))
            foreign_file.write(self.state_file, text, 0o644)
        except OSError as error:
            raise BalancerProblem(
                f"{self.state_file} cannot be written: {error.strerror or error}. A balancer that restarts would send requests to routers that "
                "are drained. Fix: make room on the disk, or correct the rights of the folder, then run again"
            ) from error


def kept(text: str) -> str:
    """``show servers state`` as HAProxy shall start with it: with these states and weights, and every router healthy until a check fails.

    So a router that was away when the file was written gets requests at once when it is back, as without the file.
    """
    rows = _table(text)
    titles = list(rows[0]) if rows else []
    lines = ["1", f"# {' '.join(titles)}"]
    lines += [" ".join({**row, "srv_op_state": str(RUNNING)}[title] for title in titles) for row in rows]
    return "\n".join(lines) + "\n"


def _server(row: dict[str, str], requests: int) -> Server:
    admin = int(row["srv_admin_state"])
    state = "maint" if admin & MAINTENANCE else "drain" if admin & DRAIN else "ready"
    return Server(
        one_line(row["srv_name"]), state, int(row["srv_op_state"]) >= RUNNING, int(row["srv_uweight"]), requests
    )


def _table(text: str) -> list[dict[str, str]]:
    """Rows of ``show servers state``: a line with the format's version, one with the titles behind ``#``, then rows of words."""
    lines = [line for line in text.splitlines() if line.strip()]
    titles = next((line[1:].split() for line in lines if line.startswith("#")), [])
    rows = [dict(zip(titles, line.split())) for line in lines[1:] if titles and not line.startswith("#")]
    if not titles or not all(
        {"srv_name", "srv_admin_state", "srv_op_state", "srv_uweight"} <= set(row) for row in rows
    ):
        raise BalancerProblem(
            f"the balancer's list of servers cannot be read: {text.strip()[:300]!r}. Fix: compare its haproxy.cfg with the plan, then run site"
        )
    return rows
