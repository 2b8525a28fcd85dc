# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM-Ascend's load balance proxy: POST /instances/add and /instances/remove, in releases 0.21.0rc1 and later.

Releases from 0.13.0rc1 on have the paths as well, but up to 0.20 a removed engine gets requests again: the mark is lost with the end of
its next request (0.18.0: _update_prefiller_priority; seen in a run). Facts of the script of 0.23.0.post1, which tests run:

* Every answer has status 200; a refusal is ``{"error": ...}``. An empty list of instances changes nothing and returns both lists.
* A member that is removed while any request is under way stays listed: isolated, it gets requests only if it is the last of its pool. It
  disappears at the first check (every 10 s) at which no request at all is under way, under steady load never.
* In 0.23.0 adding an address that is still listed is ignored, and the address disappears later. Addresses are compared as text, so the
  same engine can return under another spelling of its IPv4 address at once (192.0.2.10 is also 192.0.522).
* Which of the listed members are isolated cannot be read. So removals are recorded in a file, for as long as the proxy runs.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct

from ..tools import foreign_file, foreign_json
from .base import Member, MembersProblem, Router, address_of, refused

LISTS = {"prefill": "current_prefill_instances", "decode": "current_decode_instances"}


def spellings(host: str) -> list[str]:
    """Spellings of a host that getaddrinfo understands: an IPv4 address has four, everything else one."""
    if not re.match(r"\d+\.\d+\.\d+\.\d+\Z", host):
        return [host]
    first, second, third, fourth = (int(part) for part in host.split("."))
    return [
        host,
        f"{first}.{second}.{third * 256 + fourth}",
        f"{first}.{(second * 256 + third) * 256 + fourth}",
        str(((first * 256 + second) * 256 + third) * 256 + fourth),
    ]


def usual(address: str) -> str:
    """``192.0.522:7100`` as ``192.0.2.10:7100``; an address that is no spelling of an IPv4 address is returned as it is."""
    host, _colon, port = address.rpartition(":")
    if re.match(r"[\d.]+\Z", host):
        try:
            (number,) = struct.unpack("!I", socket.inet_aton(host))
        except OSError:
            return address
        host = socket.inet_ntoa(struct.pack("!I", number))
    return f"{host}:{port}"


class Instances(Router):
    """The instances of the proxy. ``record``: file for removals; ``started``: file that is written at each start of the proxy."""

    record = ""
    started = ""

    def read(self) -> list[Member]:
        isolated = self._isolated()
        return sorted(
            {
                Member(kind, "http://" + usual(address))
                for kind, addresses in self._listed().items()
                for address in addresses
                if address not in isolated
            }
        )

    def add(self, member: Member) -> None:
        host, port = address_of(member.url)
        listed = {address for addresses in self._listed().values() for address in addresses}
        free = [f"{spelling}:{port}" for spelling in spellings(host) if f"{spelling}:{port}" not in listed]
        if not free:
            raise MembersProblem(
                f"the router at {self.url} still lists {host}:{port}, which was removed from it, and ignores a request to add it "
                "again until no request is under way. Fix: run again when there are fewer requests, or restart the router"
            )
        self._note(self._isolated() - {free[0]})
        self._change("add", member, [free[0]])

    def remove(self, member: Member) -> None:
        host, port = address_of(member.url)
        isolated = self._isolated()
        listed = [address for address in self._listed().get(member.kind, []) if usual(address) == f"{host}:{port}"]
        due = [address for address in listed if address not in isolated]
        if due:
            self._note(isolated | set(due))  # before the removal: if this is interrupted, it is asked for again
            self._change("remove", member, due)

    def _listed(self) -> dict[str, list[str]]:
        status, answer = self.request("POST", "/instances/add", {"type": "prefill", "instances": []})
        if status != 200 or not all(isinstance(answer.get(name), list) for name in LISTS.values()):
            fix = "releases before 0.13.0 have no such path: restart the router with other lists"
            raise refused(self, "list its instances", status, answer, fix)
        return {kind: [str(address) for address in answer[name]] for kind, name in LISTS.items()}

    def _change(self, verb: str, member: Member, addresses: list[str]) -> None:
        payload = {"type": member.kind, "instances": addresses}
        status, answer = self.request("POST", f"/instances/{verb}", payload)
        if status != 200 or answer.get("error"):
            raise refused(self, f"{verb} {', '.join(addresses)}", status, answer, "look into the router's log")

    def _isolated(self) -> set[str]:
        """Addresses that were removed since the proxy started; those of an earlier start are listed anew."""
        try:
            if os.path.exists(self.started) and os.stat(self.started).st_mtime > os.stat(self.record).st_mtime:
                return set()
            return {str(address) for address in foreign_json.loads(foreign_file.read(self.record))}
        except (OSError, ValueError, TypeError):
            return set()

    def _note(self, addresses: set[str]) -> None:
        if self.record:
            foreign_file.write(self.record, json.dumps(sorted(addresses)))
