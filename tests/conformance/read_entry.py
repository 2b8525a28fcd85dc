# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads one entry of a corpus into records, whatever kind of source it comes from.

Sources differ in how they say things: one command line for each host, a template that a launcher runs once for each
rank, a Kubernetes manifest, or a declaration of sizes without command lines. All become the same records.
"""

from __future__ import annotations

import json
import re
import shlex
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER, RELEASES
from ansible_collections.ascend.inference.tests.conformance.documented import KINDS, Documented, Process, Proxy
from ansible_collections.ascend.inference.tests.conformance.meaning import SIZES, everywhere, expanded, flags, from_argv

Entry = t.Mapping[str, t.Any]
LOCAL = ("localhost", "127.0.0.1")
VAGUE = re.compile(r"^(x+[.x]*|<.*>|your.*)$", re.IGNORECASE)  # a text that stands for an address, perhaps for several
RELEASE = re.compile(r"v(\d+\.\d+\.\d+(?:rc\d*|\.post\d+)?)")
HARDWARE = {"A2": "a2", "A3": "a3", "A5": "950", "950": "950", "310P": "310p"}
ROLE_LISTS = {"prefiller": "prefill", "decoder": "decode", "encoder": "encode", "pd": "colocated", "dp": "colocated"}


def read_entry(entry: Entry) -> Documented:
    """The entry's records."""
    places = Places(entry)
    processes: list[Process] = []
    counts: dict[str, int] = {}
    soc = str((entry.get("hardware") or {}).get("soc", ""))[:2]
    for index, role in enumerate({**role, "soc": soc} for role in entry.get("roles") or []):
        kind = KINDS[role["role"]]
        if role.get("declared"):
            processes += declared_processes(entry, role, kind, places)
            continue
        follows = bool(processes) and processes[-1].kind == kind and _follows(role)
        if not follows:
            counts[kind] = counts.get(kind, -1) + 1
        before = sum(1 for process in processes if process.kind == kind and process.instance == counts[kind])
        processes += role_processes(role, kind, counts[kind], before, places, index)
    proxy = read_proxy(entry, places)
    if proxy:
        _ports_from_proxy(processes, proxy)
    hardware = _hardware(entry)
    return Documented(
        id=entry["id"],
        release=release_of(entry),
        hardware=hardware,
        devices_per_host=_devices_per_host(entry, hardware),
        hosts=places.addresses(),
        interfaces=places.interfaces,
        processes=processes,
        proxy=proxy,
        errors=_errors(entry),
        notes=_unknown_release(entry),
    )


def _unknown_release(entry: Entry) -> list[str]:
    """A note where the source is written for a release that nobody here knows."""
    ref = str((entry.get("source") or {}).get("ref", ""))
    names = RELEASE.findall(ref)
    if not names or _known(names[0]):
        return []
    return [f"release {names[0]} is not known: planned for {release_of(entry)}"]


def _errors(entry: Entry) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for lint in entry.get("lint") or []:
        if lint.get("severity") == "error":
            found.setdefault(lint["rule"], []).append(str(lint.get("msg", "")))
    return found


def _hardware(entry: Entry) -> str:
    soc = str((entry.get("hardware") or {}).get("soc", ""))
    return next((HARDWARE[item] for item in HARDWARE if soc.startswith(item)), "a3")


def _devices_per_host(entry: Entry, hardware: str) -> int:
    pods = ((entry.get("declared") or {}).get("motor_deploy_config") or {}).get("p_pod_npu_num")
    return int(entry.get("npu_per_node") or pods or (16 if hardware == "a3" else 8))


def release_of(entry: Entry) -> str:
    """The release that a source is written for: its image's tag, its branch, else the newest that has its connectors."""
    texts = [str((role.get("k8s") or {}).get("image", "")) for role in entry.get("roles") or []]
    texts += [str((entry.get("source") or {}).get("ref", "")), *map(str, entry.get("notes") or [])]
    named = {name for name in entry.get("connectors") or [] if name != "MooncakeConnector"}
    for text in texts:
        for name in filter(None, map(_known, RELEASE.findall(text))):
            return _first_with(named, name) if text.startswith("releases/") else name
    if "182b75ea" in str((entry.get("source") or {}).get("commit", "")):
        return "main"
    fitting = [name for name in ORDER if named <= set(RELEASES[name].connectors)]
    final = [name for name in fitting if "rc" not in name and name != "main"]
    return (final or fitting or ["0.23.0"])[-1]


def _known(name: str) -> str:
    """The release of that name, or the newest candidate of the branch of that name; an empty string for neither."""
    return name if name in RELEASES else next((item for item in reversed(ORDER) if re.match(rf"{name}\d+$", item)), "")


def _first_with(named: set[str], name: str) -> str:
    """The first release from ``name`` on that has what a branch documents: a branch goes on after its release."""
    later = (item for item in ORDER if ORDER[item] >= ORDER[name] and named <= set(RELEASES[item].connectors))
    return next(later, name)


class Places:
    """The entry's hosts by the texts that name them, each with a name and an address of ours."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.single = entry.get("num_nodes") == 1
        self.names: dict[str, str] = {}
        self.interfaces: dict[str, str] = {}
        self.taken: dict[str, list[tuple[set[int], int]]] = {}  # host -> devices, and their number, of each role

    def of_role(self, role: Entry, index: int) -> str:
        """The host of a role; pods are hosts of their own unless the source has only one node."""
        text = str(role["host"])
        if text in ("pod", "$POD_IP") and not self.single:
            text = f"{text} {index}"
        elif text in LOCAL or VAGUE.search(text):
            text = self._apart(text, role)
        name = self.named(text)
        variables = {**(role.get("shell_vars") or {}), **(role.get("env") or {})}
        interface = expanded(str((role.get("env") or {}).get("HCCL_SOCKET_IFNAME", "")), variables)
        self.interfaces.setdefault(name, interface if interface and "$" not in interface else "eth0")
        return name

    def _apart(self, text: str, role: Entry) -> str:
        """A text that may stand for several hosts, made different where one host could not carry what is put there."""
        devices = set(_devices(role.get("env") or {}) or ())
        count = len(devices) or int((role.get("resolved") or {}).get("devices_used") or 0)
        capacity = _devices_per_host(self.entry, _hardware(self.entry))
        for number in range(100):
            name = f"{text} {number}" if number else text
            placed = self.taken.setdefault("localhost" if name in LOCAL else name, [])
            full = sum(used for dummy, used in placed) + count > capacity
            if not placed or not (full or any(devices & others for others, dummy in placed)):
                break
        placed.append((devices, count))
        return name

    def named(self, text: str) -> str:
        """The host that a text stands for, a new one if it is new."""
        key = "localhost" if text in LOCAL else text
        if key not in self.names:
            self.names[key] = f"node{len(self.names):02d}"
            self.interfaces.setdefault(self.names[key], "eth0")
        return self.names[key]

    def known(self, text: str) -> str:
        """The host that a text stands for, or an empty string."""
        return self.names.get("localhost" if text in LOCAL else text, "")

    def addresses(self) -> dict[str, str]:
        """Each host's address."""
        return {name: f"10.20.{number // 200}.{number % 200 + 1}" for number, name in enumerate(self.names.values())}


def _follows(role: Entry) -> bool:
    """Whether a role goes on with the instance before it: a later rank or node of the same engine."""
    args = _said(role)
    firsts = [(role.get(source) or {}).get("dp_rank_start") for source in ("resolved", "parallel")]
    firsts += [args.get(name) for name in ("data-parallel-start-rank", "data-parallel-rank", "node-rank")]
    return any(_number(first) > 0 for first in firsts)


def _said(role: Entry) -> dict[str, t.Any]:
    """The role's flags, from its parsed arguments or else from its command line.

    A shell variable that holds flags (``${role_args}``) stands for them, wherever the source's reader put the word.
    """
    variables = {**(role.get("shell_vars") or {}), **(role.get("env") or {})}
    holding = {name: str(value) for name, value in variables.items() if re.match(r"--?[a-z]", str(value))}
    words = [str(argument) for argument in (role.get("argv") or [])[2:]]
    spelled = [word for item in words for word in shlex.split(holding.get(item.strip("${}"), "")) or [item]]
    if not role.get("vllm_args"):
        return from_argv(spelled)
    found = {name: _without(value, holding) for name, value in role["vllm_args"].items()}
    held = [word for item in words for word in shlex.split(holding.get(item.strip("${}"), ""))]
    return {**from_argv(held), **flags(found)}


def _without(value: t.Any, holding: t.Mapping[str, str]) -> t.Any:
    """A flag's value without words that stand for further flags."""
    given = value if isinstance(value, list) else [value]
    kept = [item for item in given if str(item).strip("${}") not in holding]
    if len(kept) == len(given):
        return value
    return kept[0] if len(kept) == 1 else kept or True


def role_processes(role: Entry, kind: str, instance: int, before: int, places: Places, index: int) -> list[Process]:
    """The processes of one role on its host: one for each rank that a launcher starts, else one."""
    host = places.of_role(role, index)
    variables = {**_pod(role), **(role.get("shell_vars") or {}), **(role.get("env") or {})}
    if places.single or str(role["host"]) != "$POD_IP":
        variables.setdefault("POD_IP", role["host"])
    args = everywhere(_said(role), variables)
    model = _model(role, args, variables) or str(places.entry.get("model") or "")
    sizes = _sizes(role, args)
    parallel = role.get("parallel") or {}
    common = {"kind": kind, "host": host, "instance": instance, "model": model, "sizes": sizes}
    common.update(kv=args.pop("kv-transfer-config", None), ec=args.pop("ec-transfer-config", None))
    common["broken"] = _broken(role)
    for key, flag in (("kv", "kv-transfer-config"), ("ec", "ec-transfer-config")):
        if common[key] is not None and not isinstance(common[key], dict):
            common["broken"][flag] = str(common[key])
            common[key] = None
    asked = parallel.get("dp_address") or args.get("data-parallel-address") or args.get("master-addr") or ""
    common["dp_host"] = places.known(expanded(str(asked), variables))
    common["dp_rpc_port"] = _number(parallel.get("dp_rpc_port") or args.get("data-parallel-rpc-port") or 0)
    common["dp_rpc_port"] = common["dp_rpc_port"] or _number(args.get("master-port", 0))
    env = _environment(role, variables)
    resolved = role.get("resolved") or {}
    ranks = role.get("ranks") or _ranks(args, parallel, sizes, _devices(env))
    if not ranks:
        devices = _devices(env)
        per_host = _number(args.get("data-parallel-size-local")) or sizes["data_parallel_size"]
        nodes = _number(args.get("nnodes")) or 1
        count = per_host * _rank_devices(sizes) // nodes
        port = _number(args.get("port") or resolved.get("api_port_first") or 0)
        return [
            Process(
                rank=before,
                args=args,
                env=env,
                external=False,
                device_count=count,
                devices=devices,
                api_port=port,
                **common,
            )
        ]
    found = []
    for number, rank in enumerate(ranks):
        own = {**args, "port": rank["api_port"], "data-parallel-size": sizes["data_parallel_size"]}
        own.update({"data-parallel-rank": rank["dp_rank"], "tensor-parallel-size": sizes["tensor_parallel_size"]})
        own.pop("data-parallel-size-local", None)
        own.update({"data-parallel-address": asked, "data-parallel-rpc-port": common["dp_rpc_port"]})
        devices = tuple(int(part) for part in str(rank["devices"]).split(","))
        own_env = {**env, "ASCEND_RT_VISIBLE_DEVICES": rank["devices"]}
        found.append(
            Process(
                rank=before + number,
                args=own,
                env=own_env,
                external=True,
                device_count=len(devices),
                devices=devices,
                api_port=_number(rank["api_port"]),
                **common,
            )
        )
    return found


def _pod(role: Entry) -> dict[str, t.Any]:
    """Variables that a pod's manifest sets."""
    env = (role.get("k8s") or {}).get("env") or {}
    return dict(env) if isinstance(env, dict) else {}


def _ranks(
    args: t.Mapping[str, t.Any], parallel: Entry, sizes: t.Mapping[str, int], devices_of: tuple[int, ...] | None
) -> list[dict[str, t.Any]]:
    """The ranks of a template that a launcher fills in, where the source only gives the launcher's sizes; or the one rank
    that the source's command line starts."""
    rank, size = str(args.get("data-parallel-rank", "")), _rank_devices(sizes)
    if rank.isdigit() and not parallel:
        devices = ",".join(str(item) for item in devices_of or range(size))
        return [{"dp_rank": int(rank), "api_port": args.get("port", ""), "devices": devices}]
    if not rank or not parallel:
        return []
    first = int(parallel.get("dp_rank_start") or 0)
    start = _number(parallel.get("port_start"))
    return [
        {
            "dp_rank": first + local,
            "api_port": start + local if start else "",
            "devices": ",".join(str(index) for index in range(local * size, (local + 1) * size)),
        }
        for local in range(int(parallel.get("dp_size_local") or 1))
    ]


def _model(role: Entry, args: dict[str, t.Any], variables: Entry) -> str:
    """The model, taken out of the flags where it is one."""
    words = [str(argument) for argument in role.get("argv") or []][2:3]
    model = str(args.pop("model")) if "model" in args else expanded("".join(words), variables)
    return "/models/placeholder" if re.search(r"[<>$]", model) else model  # a text that stands for a path


def _sizes(role: Entry, args: t.Mapping[str, t.Any]) -> dict[str, int]:
    resolved, parallel = role.get("resolved") or {}, role.get("parallel") or {}
    short = {"data_parallel_size": "dp_size", "tensor_parallel_size": "tp_size", "pipeline_parallel_size": "pp_size"}
    short["prefill_context_parallel_size"] = "pcp_size"
    found = {}
    for word, flag in SIZES.items():
        value = parallel.get(short.get(word, "")) or resolved.get(short.get(word, "")) or _number(args.get(flag, 1))
        found[word] = int(value or 1)
    return found


def _rank_devices(sizes: t.Mapping[str, int]) -> int:
    return sizes["tensor_parallel_size"] * sizes["pipeline_parallel_size"] * sizes["prefill_context_parallel_size"]


def _number(value: t.Any) -> int:
    return int(value) if str(value).isdigit() else 0


def _environment(role: Entry, variables: Entry) -> dict[str, str]:
    """The environment without what only the source's own script or pod reads."""
    raw = role.get("env") or {}
    words = json.dumps([role.get("argv"), role.get("vllm_args"), list(raw.values())])
    inner = {name for name in raw if re.search(rf"\$\{{?{name}\b", words) and not _extends(name, raw[name])}
    inner |= _other_branches(role)
    kept = {name: value for name, value in raw.items() if name not in inner and "fieldRef" not in str(value)}
    return {name: _unfolded(name, value, variables) for name, value in kept.items()}


def _other_branches(role: Entry) -> set[str]:
    """Variables that the source's script sets only on other hardware: ``A2 or A3-ROCE -> X,Y=1; A3-HCCS -> Z``."""
    text = str(role.get("env_switch") or "")
    clauses = re.findall(r"([^;:]*?)->([^;]*)", text.split(":", 1)[-1])
    names = [(labels, set(re.findall(r"\b[A-Z][A-Z0-9_]{3,}\b", right))) for labels, right in clauses]
    ours = [found for labels, found in names if re.search(rf"\b{role.get('soc', '')}(?!-ROCE)\b", labels)]
    if not ours:
        return set()
    return set().union(*(found for dummy, found in names)) - set().union(*ours)


def _extends(name: str, value: t.Any) -> bool:
    return bool(re.search(rf"\$\{{?{name}\b", str(value)))


def _unfolded(name: str, value: t.Any, variables: Entry) -> str:
    others = {key: setting for key, setting in variables.items() if key != name}
    return str(value).lower() if isinstance(value, bool) else expanded(str(value), others)


def _devices(env: t.Mapping[str, t.Any]) -> tuple[int, ...] | None:
    text = str(env.get("ASCEND_RT_VISIBLE_DEVICES", "")).replace(" ", "")
    return tuple(int(part) for part in text.split(",")) if re.fullmatch(r"\d+(,\d+)*", text) else None


def _broken(role: Entry) -> dict[str, str]:
    """Flags whose value should be JSON but is not, with their text."""
    argv, found = [str(word) for word in role.get("argv") or []], {}
    for name, value in flags(role.get("vllm_args") or {}).items():
        spellings = {f"--{name}", f"--{name.replace('-', '_')}"}
        if isinstance(value, (dict, list)) and spellings & set(argv):
            text = argv[max(argv.index(spelling) for spelling in spellings if spelling in argv) + 1]
            try:
                json.loads(re.sub(r"\$\{?\w+\}?", "0", text))
            except ValueError:
                if not isinstance(value, list):
                    found[name] = text
    return found


def declared_processes(entry: Entry, role: Entry, kind: str, places: Places) -> list[Process]:
    """A declaration of sizes: as many instances and pods as it says, one process for each pod."""
    deploy = entry["declared"]["motor_deploy_config"]
    letter = {"prefill": "p", "decode": "d"}[kind]
    pods, model = int(deploy[f"single_{letter}_instance_pod_num"]), role["declared"]["model_config"]
    args = flags(role["declared"]["engine_config"])
    kv = args.pop("kv-transfer-config", None)
    args["gpu-memory-utilization"] = model["npu_mem_utils"]
    args["served-model-name"] = model["model_name"]
    args["enable-expert-parallel"] = bool(model["parallel_config"].get("enable_ep"))
    sizes = _sizes(role, args)
    dp_rpc = _number(model["parallel_config"].get("dp_rpc_port", 0)) if sizes["data_parallel_size"] > 1 else 0
    count = sizes["data_parallel_size"] * _rank_devices(sizes) // pods
    found = []
    for instance in range(int(deploy[f"{letter}_instances_num"])):
        for pod in range(pods):
            own = {**args, **_declared_sizes(sizes, pod, pods)}
            host = places.named(f"{kind} pod {instance} {pod}")
            found.append(
                Process(
                    kind=kind,
                    host=host,
                    instance=instance,
                    rank=pod,
                    model=model["model_path"],
                    args=own,
                    env={},
                    sizes=sizes,
                    external=False,
                    device_count=count,
                    kv=kv,
                    dp_rpc_port=dp_rpc,
                )
            )
    return found


def _declared_sizes(sizes: t.Mapping[str, int], pod: int, pods: int) -> dict[str, t.Any]:
    """The flags that a declaration of sizes means for one pod."""
    found: dict[str, t.Any] = {flag: sizes[word] for word, flag in SIZES.items()}
    local = sizes["data_parallel_size"] // pods
    if local:
        found.update({"data-parallel-size-local": local, "data-parallel-start-rank": pod * local})
    return {**found, "headless": True} if pod else found


def read_proxy(entry: Entry, places: Places) -> Proxy | None:
    """The proxy's command line; counts of the oldest proxy's short form are written out."""
    raw = entry.get("proxy")
    if not raw or not raw.get("argv"):
        return None
    argv = shlex.split(raw["argv"]) if isinstance(raw["argv"], str) else [str(word) for word in raw["argv"]]
    found = from_argv(argv)
    for name in list(found):
        if name.endswith("-port") and f"{name}s" not in found and name[:-5] in ROLE_LISTS:
            found[f"{name}s"] = found.pop(name)  # argparse takes an unambiguous beginning of a flag
    script = raw.get("script") or next((word for word in argv if word.endswith(".py")), "")
    proxy = Proxy(script.rsplit("/", 1)[-1])
    proxy.host = places.known(str(found.pop("host", "")))
    proxy.port = _number(found.pop("port", 0))
    for short, role in ROLE_LISTS.items():
        hosts, ports = _listed(found.pop(f"{short}-hosts", [])), _listed(found.pop(f"{short}-ports", []))
        hosts = hosts or ["localhost"] * len(ports)  # the proxies' default
        counts = [int(item) for item in _listed(found.get(f"{short}-hosts-num", []))] or [1] * len(hosts)
        pairs = [
            (host, _number(port) + step)
            for host, port, n in zip(hosts, ports, counts, strict=False)
            for step in range(n)
        ]
        if hosts:
            proxy.lists[role] = [(places.known(str(host)) or str(host), port) for host, port in pairs]
    for name, role in (("encode", "encode"), ("prefill", "prefill"), ("decode", "decode")):
        urls = found.pop(f"{name}-servers-urls", "")
        if urls and urls != "disable":
            ends = [re.match(r"http://([^:/]+):(.+)", part) for part in str(urls).split(",")]
            proxy.lists[role] = [(places.known(end.group(1)), _number(end.group(2))) for end in ends if end]
    proxy.flags = found
    return proxy


def _listed(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else [value]


def _ports_from_proxy(processes: list[Process], proxy: Proxy) -> None:
    """API ports that only the proxy's lists tell."""
    for role, pairs in proxy.lists.items():
        silent = [
            process for process in processes if process.kind == role and not process.headless and not process.api_port
        ]
        if len(silent) == len(pairs):
            for process, (_host, port) in zip(silent, pairs, strict=False):
                process.api_port = port
