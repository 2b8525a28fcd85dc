# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a source documents, as records: processes with their words, and the proxy in front of them."""

from __future__ import annotations

import dataclasses
import typing as t

KINDS = {"encode": "encode", "prefill": "prefill", "decode": "decode", "both": "colocated"}
ORDER = ("encode", "prefill", "decode", "colocated")


@dataclasses.dataclass
class Process:
    """One engine process as its source prints it.

    ``args`` are normalised flags without the model (see meaning.py), ``broken`` those whose text is not the JSON that it
    should be. ``devices`` is None where the source leaves them open, then ``device_count`` says how many. ``dp_host`` is
    the name of the host that data-parallel-address means, or "" where the source does not tell.
    """

    kind: str
    host: str
    instance: int
    rank: int
    model: str
    args: dict[str, t.Any]
    env: dict[str, str]
    sizes: dict[str, int]
    external: bool
    device_count: int
    devices: tuple[int, ...] | None = None
    kv: dict[str, t.Any] | None = None
    ec: dict[str, t.Any] | None = None
    api_port: int = 0
    dp_rpc_port: int = 0
    dp_host: str = ""
    broken: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def headless(self) -> bool:
        """Whether the process has no API server."""
        return bool(self.args.get("headless"))


@dataclasses.dataclass
class Proxy:
    """The proxy's lists as (host name or the text that names no host, port) pairs by role; ``host`` "" is unknown."""

    script: str
    host: str = ""
    port: int = 0
    lists: dict[str, list[tuple[str, int]]] = dataclasses.field(default_factory=dict)
    flags: dict[str, t.Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Documented:
    """One entry of a corpus."""

    id: str
    release: str
    hardware: str
    devices_per_host: int
    hosts: dict[str, str]  # name -> address
    interfaces: dict[str, str]  # name -> network interface
    processes: list[Process]
    proxy: Proxy | None
    errors: dict[str, list[str]]  # lint rule of severity error -> messages
    notes: list[str] = dataclasses.field(default_factory=list)

    def of(self, kind: str) -> list[Process]:
        """The processes of one kind, by instance and rank."""
        return sorted(
            (process for process in self.processes if process.kind == kind),
            key=lambda process: (process.instance, process.rank),
        )

    @property
    def kinds(self) -> list[str]:
        """The kinds that occur, in start order."""
        return [kind for kind in ORDER if any(process.kind == kind for process in self.processes)]
