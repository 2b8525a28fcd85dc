# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vllm-router: GET, POST and DELETE /workers.

Measured with 0.1.17: with --enable-igw, and for colocated engines also without it, members are added and removed at once, and
requests under way go on. Between prefill and decode without --enable-igw, removing works and adding is refused (400). With --enable-igw
engines of the command line are not members. A member is admitted without a probe, so it must be proven before. URLs are compared as
text: http://192.0.2.1:7300 and http://192.0.2.1:7300/ are two members, and only the one that is named is removed. With
--intra-node-data-parallel-size each rank is listed, as http://192.0.2.1:7300@0, and the URL without the rank removes all of them. With
--enable-igw a member that is added to another pool as well gets requests of both, though only the new one is listed, and one that is added twice
gets twice as many requests.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from .base import Member, MembersProblem, Router, refused

WORKER_TYPES = {"prefill": "prefill", "decode": "decode", "colocated": "regular"}
KINDS = {worker_type: kind for kind, worker_type in WORKER_TYPES.items()}
RANK = re.compile(r"@\d+\Z")
RESTART = "restart the router with --enable-igw, or without this engine in its command line"


class Workers(Router):
    """The workers of vllm-router."""

    def read(self) -> list[Member]:
        return sorted({_member(worker) for worker in self._listed()})

    def _listed(self) -> list[dict[str, Any]]:
        status, answer = self.request("GET", "/workers")
        workers = answer.get("workers")
        if status != 200 or not isinstance(workers, list) or not all(isinstance(worker, dict) for worker in workers):
            raise refused(self, "list its workers", status, answer, "check that this is the port of a vllm-router")
        return workers

    def add(self, member: Member) -> None:
        if member.kind not in WORKER_TYPES:
            raise MembersProblem(f"vllm-router has no workers for the pool {member.kind}. Fix: use another router")
        for other in map(_member, self._listed()):
            if other == member:
                return  # the program that adds engines after the router's start was faster
            if other.url == member.url:
                self.remove(other)
        payload = {"url": member.url, "worker_type": WORKER_TYPES[member.kind], "model_id": self.model}
        status, answer = self.request("POST", "/workers", payload)
        if status not in (200, 202) and "already exists" not in str(answer.get("error")):
            raise refused(self, f"add {member.url}", status, answer, RESTART)

    def remove(self, member: Member) -> None:
        urls = {_without_rank(worker) for worker in self._listed() if _member(worker) == member}
        for url in sorted(urls or {member.url}):
            status, answer = self.request("DELETE", "/workers/" + quote(url, safe=""))
            if status not in (200, 202, 404) and answer.get("code") != "WORKER_NOT_FOUND":
                raise refused(self, f"remove {url}", status, answer, "look into the router's log")


def _without_rank(worker: dict[str, Any]) -> str:
    """The URL of a listed worker as the router was given it."""
    return RANK.sub("", str(worker.get("url", "")))


def _member(worker: dict[str, Any]) -> Member:
    """The engine of a listed worker."""
    return Member(KINDS.get(str(worker.get("worker_type")), "colocated"), _without_rank(worker).rstrip("/"))
