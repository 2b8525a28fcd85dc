# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares what a source documents with what was planned, process by process."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.ascend.inference.tests.conformance import declared
from ansible_collections.ascend.inference.tests.conformance.documented import Documented, Process
from ansible_collections.ascend.inference.tests.conformance.meaning import canonical, flags, from_argv, plain
from ansible_collections.ascend.inference.tests.conformance.translate import FLAVOURS, LLMDATADIST_PORT, OWN_ENV

Plan = t.Mapping[str, t.Any]
PORT_FLAGS = ("port", "data-parallel-rpc-port", "master-port")
STORE_NUMBERS = ("lookup_rpc_port", "mooncake_rpc_port")
UNSET = "(not set)"


@dataclasses.dataclass(frozen=True, order=True)
class Difference:
    """One difference; ``reason`` names the class that declares it, an empty one nobody has declared."""

    facet: str
    where: str
    documented: str
    planned: str
    reason: str = ""

    def text(self) -> str:
        """The difference as one line."""
        return f"{self.facet} {self.where}: documented {self.documented}, planned {self.planned}"


class Comparison:
    """Collects the differences of one entry at one level."""

    def __init__(self, entry: Documented, plan: Plan, pinned: bool) -> None:
        self.entry, self.plan, self.pinned = entry, plan, pinned
        self.found: list[Difference] = []
        self.names = {address: name for name, address in entry.hosts.items()}

    def note(self, facet: str, where: str, documented: t.Any, planned: t.Any, reason: str = "") -> None:
        """Note a difference, if it is one."""
        if plain(documented) != plain(planned):
            self.found.append(Difference(facet, where, str(documented)[:200], str(planned)[:200], reason))

    def all(self) -> list[Difference]:
        """Every difference."""
        pairs: list[tuple[Process, Plan]] = []
        for kind in self.entry.kinds:
            documented = self.entry.of(kind)
            planned = sorted(
                (service for service in self.plan["services"] if service["kind"] == kind),
                key=lambda service: (service["instance"], service["rank"]),
            )
            self.note("processes", kind, len(documented), len(planned))
            pairs += zip(documented, planned, strict=False)
        for process, service in pairs:
            self.process(process, service)
        self.proxy(pairs)
        return sorted(set(self.found))

    def process(self, process: Process, service: Plan) -> None:
        """One process: where it runs, on what, with which words."""
        where = service["name"]
        self.note("host", where, process.host, service["host"])
        self.devices(process, service)
        argv = service["argv"]
        self.note("model", where, process.model, argv[2])
        args = from_argv(argv[3:])
        kv, ec = args.pop("kv-transfer-config", None), args.pop("ec-transfer-config", None)
        self.arguments(process, args, where)
        if "kv-transfer-config" not in process.broken:
            self.kv(process, process.kv, kv, where)
        self.ec(process.ec, ec, where)
        self.environment(process, service)

    def devices(self, process: Process, service: Plan) -> None:
        """The devices where the source names them, else how many."""
        planned = tuple(service["devices"])
        if process.devices is None:
            self.note("devices", service["name"], process.device_count, len(planned))
        elif len(process.devices) > process.device_count and set(planned) <= set(process.devices):
            self.note("devices", service["name"], process.devices, planned, "SPARE")
        else:
            self.note("devices", service["name"], process.devices, planned)

    def arguments(self, process: Process, planned_args: dict[str, t.Any], where: str) -> None:
        """Every flag, in either direction."""
        documented = canonical({**process.args, "data-parallel-address": process.dp_host or "?"}, process.model)
        if "master-addr" in documented:
            documented["master-addr"] = process.dp_host or "?"
        planned = canonical(planned_args, process.model)
        for name in ("data-parallel-address", "master-addr"):
            if name in planned:
                planned[name] = self.names.get(str(planned[name]), planned[name])
        for name in sorted(set(documented) | set(planned)):
            self.flag(process, name, documented.get(name, UNSET), planned.get(name, UNSET), where)

    def flag(self, process: Process, name: str, theirs: t.Any, ours: t.Any, where: str) -> None:
        """One flag; the source's own text wins where it is broken JSON."""
        reason = ""
        if name in process.broken:
            theirs = plain(process.broken[name])
        if name == "host":
            bound = theirs in (UNSET, "0.0.0.0", process.host) or self.names.get(str(ours)) == process.host
            reason = "BIND" if bound else ""
        elif name == "port" and not process.api_port:
            return
        elif name in PORT_FLAGS:
            documented = process.api_port if name == "port" else process.dp_rpc_port
            if not self.pinned or not documented:
                return
            theirs = plain(documented) if theirs == UNSET or not str(theirs).isdigit() else theirs
        elif name in ("data-parallel-address", "master-addr") and theirs == "?":
            return
        elif name in declared.DERIVED_FLAGS and theirs == UNSET:
            reason = "DERIVED"
        if name in declared.ONE_HOST_FLAGS and theirs == UNSET:
            reason = "DERIVED"
        if name == "data-parallel-address" and ours == self.first_host(process):
            reason = "RANK0"
        self.note("args", f"{where} --{name}", theirs, ours, reason)

    def first_host(self, process: Process) -> str:
        """The host of the first rank of a process' engine."""
        own = (item for item in self.entry.of(process.kind) if item.instance == process.instance)
        return next(own, process).host

    def kv(self, process: Process, theirs: t.Any, ours: t.Any, where: str) -> None:
        """The configuration of the connectors."""
        if bool(theirs) != bool(ours):
            self.note("kv", where, theirs, ours)
            return
        if theirs:
            self.connector(process, theirs, ours, f"{where} kv")

    def connector(self, process: Process, theirs: dict[str, t.Any], ours: dict[str, t.Any], where: str) -> None:
        """One connector, and its children where it is several."""
        left, right = dict(theirs), dict(ours)
        extras = [item.pop("kv_connector_extra_config", None) or {} for item in (left, right)]
        names = left.pop("kv_connector"), right.pop("kv_connector")
        renamed = {declared.NAMES.get(name, name) for name in names}
        self.note("connector", where, *names, "NAME" if len(renamed) == 1 else "")
        where = f"{where} {names[1]}"
        for key in sorted(set(left) | set(right)):
            self.key(key, left.get(key, UNSET), right.get(key, UNSET), where, names[1])
        children = [extra.pop("connectors", []) for extra in map(dict, extras)]
        self.note("connector", f"{where} children", len(children[0]), len(children[1]))
        for documented, planned in zip(*children, strict=False):
            self.connector(process, documented, planned, where)
        for key in sorted((set(extras[0]) | set(extras[1])) - {"connectors"}):
            self.extra(key, extras[0].get(key, UNSET), extras[1].get(key, UNSET), where)

    def key(self, key: str, theirs: t.Any, ours: t.Any, where: str, connector: str) -> None:
        """One key of a connector's configuration."""
        reason = ""
        if key == "kv_port":
            if "LLMDataDist" in connector or connector == "MultiConnector":
                reason = "IGNORED"  # it listens on the port of its own environment variable; the connectors inside have their own
            elif not self.pinned or not str(theirs).isdigit():
                return
        elif key in declared.IGNORED_KEYS:
            reason = "IGNORED" if ours == UNSET else "DERIVED" if theirs == UNSET else ""
        self.note("kv", f"{where} {key}", theirs, ours, reason)

    def extra(self, key: str, theirs: t.Any, ours: t.Any, where: str) -> None:
        """One key of ``kv_connector_extra_config``."""
        reason = ""
        if key in STORE_NUMBERS:
            reason = "IGNORED" if ours == UNSET else "DERIVED"  # no port: it names a socket, unique on its host
        elif (
            key in ("prefill", "decode")
            and theirs == UNSET
            or key == "backend"
            and theirs == UNSET
            and ours == "mooncake"
        ):
            reason = "DERIVED"
        elif key == "consumer_is_to_load" and theirs == UNSET:
            reason = "DERIVED"  # without another connector decode gets the KV cache from the store alone
        elif key in ("prefill", "decode") and isinstance(theirs, dict) and isinstance(ours, dict):
            theirs = {name: value for name, value in theirs.items() if name != "pp_size" or str(value) != "1"}
            ours = {name: value for name, value in ours.items() if name != "pp_size" or name in theirs}
        elif key in declared.IGNORED_KEYS or key == "register_buffer":
            reason = "IGNORED" if ours == UNSET else "DERIVED" if theirs == UNSET else ""
        self.note("kv", f"{where} {key}", theirs, ours, reason)

    def ec(self, theirs: t.Any, ours: t.Any, where: str) -> None:
        """The configuration of the encoder's connector."""
        self.note("ec", where, theirs or UNSET, ours or UNSET)

    def environment(self, process: Process, service: Plan) -> None:
        """Every variable, in either direction; what extends itself is set by the service's shell file."""
        shell = "".join(file["content"] for file in service["files"] if file["path"].endswith("shell.sh"))
        exports = dict(re.findall(r'^export (\w+)="(.*)"$', shell, re.MULTILINE))
        planned = service["env"]
        for name, theirs in process.env.items():
            where = f"{service['name']} ${name}"
            if name in OWN_ENV:
                names = (name, *LLMDATADIST_PORT) if name in LLMDATADIST_PORT else (name,)  # releases spell it apart
                ours = next((planned[name] for name in names if name in planned), UNSET)
                self.own_environment(process, name, theirs, ours, where)
            elif name in planned:
                self.note("env", where, theirs, planned[name])
            else:
                self.note("env", where, _reference(theirs), _reference(exports.get(name, UNSET)))
        for name in sorted(set(planned) - set(process.env)):
            reason = "DERIVED" if name in declared.DERIVED_ENV or "ABORT_REQUEST" in name else ""
            self.note("env", f"{service['name']} ${name}", UNSET, planned[name], reason)

    def own_environment(self, process: Process, name: str, theirs: str, ours: str, where: str) -> None:
        """A variable that the planner derives: by what it means, not by its letters."""
        if declared.LEGACY_ENV.match(name):
            self.note("env", where, theirs, ours, "LEGACY")
        elif name in (*LLMDATADIST_PORT, "HCCL_IF_BASE_PORT"):
            if self.pinned:
                self.note("env", where, theirs, ours)
        elif name.endswith("_IFNAME"):
            self.note("env", where, self.entry.interfaces[process.host], ours)
        elif name.endswith("_IP"):
            self.note("env", where, process.host, self.names.get(ours, ours))
        elif name.endswith("_PATH"):
            self.note("env", where, True, ours != UNSET)
        elif process.devices is None or len(process.devices) == process.device_count:
            self.note("env", where, theirs.replace(" ", ""), ours)

    def proxy(self, pairs: list[tuple[Process, Plan]]) -> None:
        """The proxy's script, its lists by the engines that they mean, and its other flags."""
        router = next((service for service in self.plan["services"] if service["kind"] == "router"), None)
        documented = self.entry.proxy
        self.note("proxy", "router", bool(documented), bool(router))
        if not documented or not router:
            return
        self.note("proxy", "script", FLAVOURS.get(documented.script), self.plan["software"]["router"]["flavour"])
        if documented.host:
            self.note("proxy", "host", documented.host, router["host"])
        found = from_argv(router["argv"][2:])
        if self.pinned and documented.port:
            self.note("proxy", "port", documented.port, found["port"])
        by_api = [
            ((process.host, process.api_port), service["name"]) for process, service in pairs if not process.headless
        ]
        ours = self.planned_lists(found, pairs)
        for role in sorted(set(documented.lists) | set(ours)):
            kinds = {role, "colocated"} if role == "decode" else {role}
            known = {api: name for api, name in by_api if name.split("-")[0] in kinds}
            theirs = sorted(_means(known, host, port) for host, port in documented.lists.get(role, []))
            self.note("proxy", f"{role} list", theirs, sorted(ours.get(role, [])))
        for name in sorted(set(documented.flags)):
            if not name.endswith(("-num", "-inc")):
                self.note("proxy", f"--{name}", documented.flags[name], flags(found).get(name, UNSET))

    def planned_lists(self, found: t.Mapping[str, t.Any], pairs: list[tuple[Process, Plan]]) -> dict[str, list[str]]:
        """The engines that each of the planned proxy's lists means."""
        apis = {}
        for dummy, service in pairs:
            for port in service["ports"]:
                if port["name"] == "api":
                    apis[(service["address"], str(port["first"]))] = service["name"]
        lists: dict[str, list[str]] = {}
        for short, role in (
            ("prefiller", "prefill"),
            ("decoder", "decode"),
            ("encoder", "encode"),
            ("pd", "colocated"),
            ("dp", "colocated"),
        ):
            hosts, ports = (_listed(found.get(f"{short}-{what}", [])) for what in ("hosts", "ports"))
            if hosts:
                lists[role] = [apis.get((host, str(port)), "?") for host, port in zip(hosts, ports, strict=False)]
        for role in ("encode", "prefill", "decode"):
            urls = re.findall(r"http://([^:]+):(\d+)", str(found.get(f"{role}-servers-urls", "")))
            if urls:
                lists[role] = [apis.get(url, "?") for url in urls]
        return lists


def compare(entry: Documented, plan: Plan, pinned: bool) -> list[Difference]:
    """Every difference between an entry and a plan, in a stable order."""
    return Comparison(entry, plan, pinned).all()


def _means(by_api: t.Mapping[tuple[str, int], str], host: str, port: int) -> str:
    """The engine that a pair means; a host that the source names nowhere else is known by its port alone."""
    if (host, port) in by_api:
        return by_api[(host, port)]
    same = [name for (known, number), name in by_api.items() if number == port or not port and known == host]
    strange = not re.match(r"node\d\d$", host)
    if strange and len(same) == 1 or not port and same:
        return same[0]
    return f"{host}:{port}"


def _listed(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else [value]


def _reference(text: str) -> str:
    """A value with its references to variables in one spelling."""
    return re.sub(r"\$\{?(\w+)(?::-)?\}?", r"$\1", str(text).replace("\\$", "$"))
