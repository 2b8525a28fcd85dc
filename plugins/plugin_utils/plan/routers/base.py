# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Router flavours: all facts of one proxy for the planner, its rules and the roles, as one record."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ....module_utils.tools.engine_kinds import ANSWERING_KINDS
from ...engines.registry import DEFAULT
from ...releases.release import RELEASES, Release
from ..deployment import Context
from ..service import Service, base_url

Flags = dict[str, t.Any]

# Connectors from prefill to decode, by how a proxy has to drive them: it hands decode what prefill answered, or decode
# calls it back at /v1/metaserver and prefill pushes layer by layer.
ANSWERED = frozenset({"mooncake", "mooncake_hybrid", "mooncake_v2", "mooncake_pull", "mooncake_d2rh", "llmdatadist"})
CALLED_BACK = frozenset({"mooncake_layerwise"})
EITHER = frozenset({"sfa_remote_d2h"})

AMOUNT = (r"\d+(\.\d*)?|\.\d+", "a number from 0 on")  # values of an option, as in Package.takes

DISAGGREGATED = frozenset({"prefill", "decode"})
COLOCATED = frozenset({"colocated"})

RESTART = "restart"  # name of the API of members of a router without one: it restarts, behind another router

NEWEST = RELEASES[DEFAULT.release]  # its scripts are used for releases without proxies (the CPU engine)


class Script(t.NamedTuple):
    """A proxy of vLLM-Ascend's examples: its path in the sources, and its options ('--port') in one release."""

    path: str
    options: tuple[str, ...]


def nothing_known(_option: str) -> tuple[str, str]:
    """For a program whose options' values are not recorded."""
    return "", ""


class Package(t.NamedTuple):
    """A proxy in a Python package: requirement, module to import as a test, program and options.

    ``takes``: the pattern of the values that an option takes, and its description; empty if nothing is known.
    """

    requirement: str
    module: str
    program: str
    options: frozenset[str]
    takes: t.Callable[[str], tuple[str, str]] = nothing_known


class Members(t.NamedTuple):
    """How a router that runs takes engines in and out.

    ``api``: the name in ``module_utils/router/members.py``. ``options``: those of its command line that list engines, without leading
    hyphens. ``posted``: whether the command line has no effect, so that engines are added after each start. ``pairs``: the pool of each pair of
    options, for a router that records its engines when it starts.
    """

    api: str
    options: tuple[str, ...]
    posted: bool = False
    pairs: t.Mapping[str, str] = {}


class Place(t.NamedTuple):
    """A router's address, and the engines behind it; ``posted``: whether the deployed router has them added at run time."""

    address: str
    port: int
    metrics_port: int
    engines: tuple[Service, ...]
    posted: bool = False

    def answering(self, kind: str) -> list[Service]:
        """The engines of a pool that have an API."""
        return [engine for engine in self.engines if engine.kind == kind and engine.health]


def url(service: Service) -> str:
    """The URL of an engine's API."""
    return base_url(service.address, service.port("api").first)


def released_script(name: str, release: Release) -> Script | None:
    """The script that a release has for a flavour; None if it has none."""
    if name not in release.proxies:
        return None
    return Script((release.proxy_paths or NEWEST.proxy_paths).get(name, ""), release.proxies[name])


def listed_in_pairs(flavour: Flavour, place: Place) -> Flags:
    """Address and port, and each pool's engines as lists of hosts and ports, paired by position."""
    flags: Flags = {"host": place.address, "port": place.port}
    for name, kind in flavour.pairs.items():
        engines = place.answering(kind)
        if engines:
            flags[f"{name}-hosts"] = [engine.address for engine in engines]
            flags[f"{name}-ports"] = [engine.port("api").first for engine in engines]
    return flags


def split(argv: t.Sequence[str], options: t.Collection[str]) -> tuple[list[str], list[str]]:
    """(arguments of some options (names without hyphens), with the options themselves; all other arguments)."""
    listed: list[str] = []
    others: list[str] = []
    inside = False
    for argument in argv:
        inside = argument[2:].split("=")[0] in options if argument.startswith("--") else inside
        (listed if inside else others).append(argument)
    return listed, others


def no_tail(place: Place) -> list[str]:
    """No further arguments."""
    return []


def no_members(flavour: Flavour, release: Release, argv: t.Sequence[str]) -> Members | None:
    """For a router whose engines are changed by a restart only."""
    return None


def listed_at_start(flavour: Flavour) -> Members | None:
    """For a router without an API beside others: each restarts with other lists while the others serve.

    None if its lists are no pairs of hosts and ports, or some of its engines have no completions: those are no members.
    """
    if not flavour.pairs or not set(flavour.pairs.values()) <= set(ANSWERING_KINDS):
        return None
    return Members(RESTART, pair_options(flavour), pairs=flavour.pairs)


def pair_options(flavour: Flavour) -> tuple[str, ...]:
    """The options of the pairs, without leading hyphens."""
    return tuple(f"{name}-{what}" for name in flavour.pairs for what in ("hosts", "ports"))


def always(place: Place) -> bool:
    """Always true."""
    return True


def never(context: Context) -> bool:
    """Never chosen by the planner."""
    return False


@dataclass(frozen=True)
class Flavour:
    """One proxy.

    Compatibility: ``pools``, the supported sets of pools, of which the first one
    that is configured is used; ``connectors``, the supported ones from prefill to decode;
    ``preferred``, whether the planner chooses it if the user sets none (the registry's order
    decides between several).

    Program: a ``package``, or the ``script`` of a release. ``flags`` are its options, of which ``pairs`` maps the
    prefix of a pair (``prefiller`` of ``--prefiller-hosts`` and ``--prefiller-ports``) to the pool whose engines it
    lists, and ``urls`` an option that holds URLs to its pool. Rules read ``pairs`` and ``urls``; only the default of ``flags`` writes ``pairs``, so a
    function of your own lists all engines. ``tail`` are arguments behind the user's own options.

    Operation: ``health_path`` answers 200 while it runs; ``metrics_port`` is the default port of its own metrics,
    0 without; ``metrics`` are their names, for each set of pools. ``members`` finds, from the final command line, how engines are
    added and removed while it runs; None if they cannot be. ``membership`` are paths that add and remove engines at run time, ``admin`` others that change
    it or its engines; none of them is for clients. With ``called_back`` decode connects to the address that it binds.

    Requests: ``sends_key``, whether it sends OPENAI_API_KEY to engines in place of the client's key;
    ``passes_key``, whether it otherwise forwards the client's key; ``retries``, whether it completes a request
    that decode returns for recomputation.
    """

    name: str
    pools: tuple[frozenset[str], ...]
    connectors: frozenset[str] = ANSWERED | EITHER
    preferred: t.Callable[[Context], bool] = never
    package: Package | None = None
    script: t.Callable[[str, Release], Script | None] = released_script
    flags: t.Callable[[Flavour, Place], Flags] = listed_in_pairs
    pairs: t.Mapping[str, str] = field(default_factory=dict)
    urls: t.Mapping[str, str] = field(default_factory=dict)
    tail: t.Callable[[Place], list[str]] = no_tail
    health_path: str = "/healthcheck"
    metrics_port: int = 0
    metrics: t.Mapping[frozenset[str], tuple[str, ...]] = field(default_factory=dict)
    admin: tuple[str, ...] = ()
    membership: tuple[str, ...] = ()
    members: t.Callable[[Flavour, Release, t.Sequence[str]], Members | None] = no_members
    called_back: bool = False
    sends_key: t.Callable[[Place], bool] = always
    passes_key: bool = False
    retries: bool = True

    def exists(self, release: Release) -> bool:
        """Whether a release has this proxy."""
        return bool(self.package or self.script(self.name, release))

    def options(self, release: Release) -> frozenset[str]:
        """Names of all its command line options, without leading hyphens."""
        if self.package:
            return self.package.options
        script = self.script(self.name, release)
        return frozenset(option[2:] for option in script.options) if script else frozenset()

    @property
    def private(self) -> tuple[str, ...]:
        """Paths that are not for clients: the frontend refuses them."""
        return (*self.membership, *self.admin)
