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
from typing import NamedTuple

from ..tools.text import one_line

MAINTENANCE, DRAIN = 0x3F & ~0x18, 0x18  # bits of srv_admin_state: SRV_ADMF_*MAINT, SRV_ADMF_*DRAIN (server-t.h)
RUNNING = 2  # srv_op_state: SRV_ST_RUNNING
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


class Balancer:
    """One HAProxy. ``path``: its socket; ``backend``: the name of the servers' backend; ``timeout`` of one command in seconds."""

    def __init__(self, path: str, backend: str, timeout: float = 10.0) -> None:
        self.path, self.backend, self.timeout = path, backend, timeout

    def ask(self, command: str) -> str:
        """The answer to one command. Raises BalancerProblem if there is none."""
        received: list[bytes] = []
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
                stream.settimeout(self.timeout)
                stream.connect(self.path)
                stream.sendall(command.encode() + b"\n")
                while True:
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
        rows = _table(self.ask(f"show servers state {self.backend}"))
        requests = {
            row["svname"]: int(row["scur"] or 0)
            for row in csv.DictReader(io.StringIO(self.ask("show stat").lstrip("# ")))
            if row.get("pxname") == self.backend
        }
        found = {}
        for row in rows:
            name, admin = row["srv_name"], int(row["srv_admin_state"])
            state = "maint" if admin & MAINTENANCE else "drain" if admin & DRAIN else "ready"
            up, weight = int(row["srv_op_state"]) >= RUNNING, int(row["srv_uweight"])
            found[one_line(name)] = Server(one_line(name), state, up, weight, requests.get(name, 0))
        return found

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
