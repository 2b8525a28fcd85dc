# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A planned service: all data that a runtime needs to run one process."""

from __future__ import annotations

import hashlib
import ipaddress
import json
import posixpath
import typing as t
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Port:
    """A port, or a range of ``count`` ports, that a service binds."""

    name: str
    first: int
    count: int = 1
    protocol: str = "tcp"
    scope: str = "cluster"

    @property
    def last(self) -> int:
        """The range's last port."""
        return self.first + self.count - 1


@dataclass(frozen=True)
class File:
    """A file that is written before the service starts.

    ``generated`` is the filter that creates the content from gathered facts when the file is written (the plan then
    has ``from``); otherwise ``content`` is used.
    """

    path: str
    content: str = ""
    mode: str = "0640"
    generated: str = ""

    def as_dict(self) -> dict[str, str]:
        """The file as plain data."""
        data = {"path": self.path, "content": self.content, "mode": self.mode}
        return {**data, "from": self.generated} if self.generated else data


@dataclass(frozen=True)
class MembersFiles:
    """Files with the engines behind a router, which change while it runs: they are no part of its digest.

    ``argv``: its command line without those that list engines; ``script``: sets these, and is sourced by run.sh; ``more``: other files.
    """

    argv: tuple[str, ...]
    script: File
    more: tuple[File, ...] = ()


@dataclass(frozen=True)
class LinkWatch:
    """The program beside an engine whose links do not come back (module_utils/links), and the file with its settings.

    A pool may get instances while the engine runs, so the settings are no part of its digest.
    """

    argv: tuple[str, ...]
    settings: File
    record: str


@dataclass(frozen=True)
class Health:
    """The health check: the service is ready when ``url`` answers 200, within ``timeout`` seconds."""

    url: str
    timeout: int = 1800


@dataclass(frozen=True)
class Start:
    """Services start by stage; those in ``needs`` must be ready before."""

    stage: int
    needs: tuple[str, ...] = ()
    limits: dict[str, t.Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Stop:
    """The stop signal, and the seconds before SIGKILL."""

    signal: str = "TERM"
    timeout: int = 60


@dataclass(frozen=True)
class Service:
    """One process on one host."""

    name: str
    kind: str
    host: str
    address: str
    argv: tuple[str, ...]
    env: dict[str, str]
    work_directory: str
    start: Start
    health: Health | None = None
    instance: int = 0
    rank: int = 0
    devices: tuple[int, ...] = ()
    ports: tuple[Port, ...] = ()
    secret_env: dict[str, str] = field(default_factory=dict)
    source: tuple[str, ...] = ()
    files: tuple[File, ...] = ()
    stop: Stop = field(default_factory=Stop)
    container: dict[str, t.Any] | None = None
    unit: str = ""
    log: dict[str, str] = field(default_factory=dict)
    digest_file: str = ""
    starts_file: str = ""  # only of a runtime whose script counts starts
    code_directory: str = ""  # folder with the code of a program of ours: of the service, or of the watch beside it
    pause_file: str = ""  # only of the probe: while it exists, the probe sends no requests
    members: MembersFiles | None = None
    link_watch: LinkWatch | None = None
    peers: tuple[
        str, ...
    ] = ()  # addresses of an instance's processes, if it is on several hosts: when one moves, all start anew

    @property
    def scratch_directory(self) -> str:
        """The working directory, which the process may write to; its other files are read-only for it."""
        return posixpath.join(self.work_directory, "work")

    @property
    def scripts(self) -> dict[str, str]:
        """Paths: ``run`` starts the process and reads ``environment`` and, if it has secrets, ``secrets``."""
        names = ("run", "environment", *(("secrets",) if self.secret_env else ()))
        return {name: posixpath.join(self.work_directory, f"{name}.sh") for name in names}

    def port(self, name: str) -> Port:
        """The port of that name; ``KeyError`` if there is none."""
        for item in self.ports:
            if item.name == name:
                return item
        raise KeyError(f"{self.name} has no port {name}")

    def as_dict(self) -> dict[str, t.Any]:
        """The service as plain data, with the digest that determines restarts."""
        fixed = list(self.members.argv if self.members else self.argv)
        depends: dict[str, t.Any] = {
            "argv": fixed,
            "env": dict(self.env),
            "secret_env": dict(self.secret_env),
            "source": list(self.source),
            "files": [file.as_dict() for file in self.files],
            "container": listed(self.container),
            **({"peers": list(self.peers)} if self.peers else {}),
        }
        return {
            "name": self.name,
            "kind": self.kind,
            "host": self.host,
            "address": self.address,
            "instance": self.instance,
            "rank": self.rank,
            "devices": list(self.devices),
            "ports": [dict(vars(port)) for port in self.ports],
            **depends,
            "argv": list(self.argv),
            **({"members": self._members(self.members, fixed)} if self.members else {}),
            **({"link_watch": self._link_watch(self.link_watch)} if self.link_watch else {}),
            "work_directory": self.work_directory,
            "scratch_directory": self.scratch_directory,
            "scripts": self.scripts,
            "unit": self.unit,
            "log": dict(self.log),
            "digest_file": self.digest_file,
            **{
                name: getattr(self, name)
                for name in ("starts_file", "code_directory", "pause_file")
                if getattr(self, name)
            },
            "health": dict(vars(self.health)) if self.health else None,
            "start": {"stage": self.start.stage, "needs": list(self.start.needs), "limits": dict(self.start.limits)},
            "stop": dict(vars(self.stop)),
            "digest": digest({**depends, "start": {"limits": self.start.limits}}),
        }

    @staticmethod
    def _link_watch(found: LinkWatch) -> dict[str, t.Any]:
        return {"argv": list(found.argv), "files": [found.settings.as_dict()], "record": found.record}

    @property
    def members_away(self) -> str:
        """The file with engines that a router must not get back when it starts anew; empty for a service that no runtime of hosts starts."""
        folder = posixpath.dirname(self.digest_file)
        return posixpath.join(folder, f"{self.name}.away") if folder else ""

    def _members(self, found: MembersFiles, fixed: list[str]) -> dict[str, t.Any]:
        return {
            "argv": fixed,
            "script": found.script.path,
            "away": self.members_away,
            "files": [file.as_dict() for file in (found.script, *found.more)],
        }


def base_url(address: str, port: int) -> str:
    """``http://10.0.0.1:7100``; an IPv6 address is in brackets."""
    return f"http://{bracketed(address)}:{port}"


def bracketed(address: str) -> str:
    """An address in front of a port; IPv6 in brackets: ``[fd00::1]``."""
    return f"[{address}]" if ":" in address else address


def is_network(text: str) -> bool:
    """Whether it is an address, or a network such as 192.0.2.0/24."""
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def every_address(address: str) -> bool:
    """Whether it means all addresses of any host, however it is spelt: 0.0.0.0, ``::``, ``::0``. Nothing can be reached there from elsewhere."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_unspecified


def listed(value: t.Any) -> t.Any:
    """Plain data with tuples converted to lists, as in JSON and YAML."""
    if isinstance(value, dict):
        return {key: listed(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [listed(item) for item in value]
    return value


def other_user(plan: t.Mapping[str, t.Any], deployed: t.Mapping[str, t.Any]) -> bool:
    """Whether services of two plans run as different users. That is no part of a service's digest, and each runtime restarts it for that."""
    return bool(plan["runtime_facts"]["own_user"] and deployed.get("user", "") != plan["user"])


def digest(value: t.Any) -> str:
    """SHA-256 over the canonical JSON of plain data."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(value: t.Any) -> str:
    """Canonical JSON: sorted keys, no spaces."""
    return _ENCODER.encode(value)
