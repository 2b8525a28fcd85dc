# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From records to the few ``inference_*`` variables that a user would write.

Passed on: hosts with their devices, pool sizes, the model, serving arguments and environment, the family of the
connector and what the source itself sets of its options. Never: ports, ranks, device lists of processes, peers, roles,
addresses or proxy lists. At the level *pinned* the first ports come on top.
"""

from __future__ import annotations

import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.kv import WORDS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.tests.conformance.documented import Documented, Process
from ansible_collections.ascend.inference.tests.conformance.meaning import DERIVED, plain

FLAVOURS = {
    "load_balance_proxy_server_example.py": "load_balance",
    "load_balance_proxy_layerwise_server_example.py": "layerwise",
    "epd_load_balance_proxy_layerwise_server_example.py": "epd_layerwise",
    "disagg_epd_proxy.py": "epd",
    "dp_load_balance_proxy_server.py": "dp",
    "hybrid_proxy_server.py": "hybrid",
}
# Environment that the planner derives from hosts, devices and ports.
OWN_ENV = frozenset(
    {
        "ASCEND_RT_VISIBLE_DEVICES",
        "DISAGGREGATED_PREFILL_RANK_TABLE_PATH",
        "GLOO_SOCKET_IFNAME",
        "HCCL_IF_BASE_PORT",
        "HCCL_IF_IP",
        "HCCL_SOCKET_IFNAME",
        "MMC_LOCAL_CONFIG_PATH",
        "MOONCAKE_CONFIG_PATH",
        "PHYSICAL_DEVICES",
        "TP_SOCKET_IFNAME",
        "VLLM_ASCEND_LLMDD_RPC_PORT",
        "VLLM_DP_MASTER_IP",
        "VLLM_DP_MASTER_PORT",
        "VLLM_DP_RANK",
        "VLLM_DP_RANK_LOCAL",
        "VLLM_DP_SIZE",
        "VLLM_DP_SIZE_LOCAL",
        "VLLM_HOST_IP",
        "VLLM_LLMDD_RPC_PORT",
    }
)
LLMDATADIST_PORT = ("VLLM_ASCEND_LLMDD_RPC_PORT", "VLLM_LLMDD_RPC_PORT")
SIZES_IN_KV = ("prefill", "decode")
SIZES_TOLD = ("dp_size", "tp_size", "pp_size")
# Connector settings that nobody has to say: the planner's, or the store's word.
NOT_SAID = ("backend", "lookup_rpc_port", "mooncake_rpc_port", "use_ascend_direct")

Words = dict[str, t.Any]


def translate(entry: Documented, pinned: bool) -> tuple[Words, dict[str, Words]]:
    """The variables of a deployment, and its inventory: name -> {groups, variables}."""
    pools = {kind: _pool(entry, kind, pinned) for kind in entry.kinds}
    words: Words = {
        "inference_engine": "vllm_ascend",
        "inference_release": entry.release,
        "inference_hardware": entry.hardware,
        "inference_model": _model(entry),
        "inference_pools": pools,
        "inference_router": _router(entry, pinned),
    }
    if RELEASES[entry.release].image_builds:
        words["inference_engine_install"] = "site"  # the source runs in the image, whose builds no package index has
    families = {kind: _family(entry.of(kind)[0]) for kind in entry.kinds if kind != "encode"}
    common = families.get("prefill") or families.get("colocated") or families.get("decode") or "none"
    words["inference_kv_transfer"] = common
    for kind, family in families.items():
        if family != common:
            pools[kind]["kv_transfer"] = family
    store = _store(entry)
    if store:
        words["inference_store"] = store
    path = _encoder_path(entry)
    if path:
        words["inference_encoder_cache"] = {"path": path}
    inventory = _inventory(entry)
    half = _other_half(entry)
    if half:
        pools[half] = _untold(entry, half)
        inventory.update(_untold_hosts(entry, half, pools[half]))
    return words, inventory


def _other_half(entry: Documented) -> str:
    """The half of a service that the source leaves out; an empty string where it shows the whole."""
    shown = [kind for kind in entry.kinds if kind != "encode"]
    return {"prefill": "decode", "decode": "prefill"}[shown[0]] if len(shown) == 1 and shown[0] in SIZES_IN_KV else ""


def _untold(entry: Documented, kind: str) -> Words:
    """The pool that the source leaves out, with the sizes that its connectors are told, else with those that it shows."""
    first = entry.processes[0]
    given = [(child.get("kv_connector_extra_config") or {}).get(kind) for child in _children(first.kv)]
    sizes = next((item for item in given if isinstance(item, dict)), {})
    return {
        "instances": 1,
        "data_parallel_size": int(sizes.get("dp_size", first.sizes["data_parallel_size"])),
        "tensor_parallel_size": int(sizes.get("tp_size", first.sizes["tensor_parallel_size"])),
        "pipeline_parallel_size": int(sizes.get("pp_size", 1)),
    }


def _untold_hosts(entry: Documented, kind: str, pool: Words) -> dict[str, Words]:
    """Hosts for the pool that the source leaves out, one rank each: they are not compared."""
    size = pool["tensor_parallel_size"] * pool["pipeline_parallel_size"]
    return {
        f"other{number:02d}": {
            "groups": [kind],
            "variables": {
                "ansible_host": f"10.30.0.{number + 1}",
                "inference_interface": "eth0",
                "inference_devices": max(size, entry.devices_per_host),
            },
        }
        for number in range(pool["data_parallel_size"])
    }


def _inventory(entry: Documented) -> dict[str, Words]:
    inventory: dict[str, Words] = {}
    for name, address in entry.hosts.items():
        groups = sorted({process.kind for process in entry.processes if process.host == name})
        groups += ["router"] if entry.proxy and entry.proxy.host == name else []
        variables: Words = {"ansible_host": address, "inference_interface": entry.interfaces[name]}
        variables["inference_devices"] = _host_devices(entry, name)
        inventory[name] = {"groups": groups, "variables": variables}
    return inventory


def _host_devices(entry: Documented, host: str) -> t.Any:
    """The host's number of devices; the ids that the source uses of it where they are not simply the first ones."""
    here = [process for process in entry.processes if process.host == host]
    used = sorted({device for item in here if item.devices for device in item.devices})
    shared = len({item.kind for item in here}) > 1
    if used and shared and all(item.devices for item in here):
        return used
    if used and used != list(range(len(used))):
        return used
    count = sum(item.device_count for item in here)
    if any(_spans(entry, item) for item in here) and count < entry.devices_per_host:
        return max(count, len(used))  # the source spreads an engine over hosts that could carry more of it
    return max(entry.devices_per_host, len(used))


def _spans(entry: Documented, process: Process) -> bool:
    """Whether a process' engine has processes on other hosts too."""
    return any(item.host != process.host for item in entry.of(process.kind) if item.instance == process.instance)


def _pool_devices(entry: Documented, processes: list[Process]) -> list[int]:
    """The devices that a pool has of its hosts, where it shares them and runs several instances on one."""
    kind, hosts = processes[0].kind, {process.host for process in processes}
    shared = any(process.host in hosts and process.kind != kind for process in entry.processes)
    several = any(len({process.instance for process in processes if process.host == host}) > 1 for host in hosts)
    if not shared or not several or not all(process.devices for process in processes):
        return []
    unions = {
        tuple(sorted({d for process in processes if process.host == host for d in process.devices or ()}))
        for host in hosts
    }
    return list(unions.pop()) if len(unions) == 1 else []


def _model(entry: Documented) -> Words:
    first = entry.processes[0]
    names = {
        str(process.args.get("served-model-name") or process.model)
        for process in entry.processes
        if process.kind != "encode" and not process.headless
    }
    return {"path": _models(entry)[0], "name": names.pop() if len(names) == 1 else first.model}


def _models(entry: Documented) -> list[str]:
    """The models of the pools, the commonest first."""
    models = [entry.of(kind)[0].model for kind in entry.kinds]
    return sorted(models, key=lambda model: (-models.count(model), models.index(model)))


def _pool(entry: Documented, kind: str, pinned: bool) -> Words:
    processes = entry.of(kind)
    first = processes[0]
    pool: Words = {"instances": len({process.instance for process in processes})}
    pool.update({word: size for word, size in first.sizes.items() if size > 1})
    if first.args.get("enable-expert-parallel") not in (None, False):
        pool["expert_parallel"] = True
    if first.external and first.sizes["data_parallel_size"] > 1:
        pool["load_balancing"] = "external"
    devices = _pool_devices(entry, processes)
    if devices:
        pool["devices"] = devices
    if first.model != _models(entry)[0]:
        pool["model"] = first.model
    pool.update(_common("args", [(process.host, _arguments(entry, process)) for process in processes]))
    env = _common("env", [(process.host, _environment(process)) for process in processes])
    for host, own in env.pop("hosts", {}).items():
        pool.setdefault("hosts", {}).setdefault(host, {}).update(own)
    pool.update(env)
    kv = _kv(entry, first)
    if kv:
        pool["kv"] = kv
    if pinned:
        _pin(pool, processes)
    return pool


def _common(word: str, layers: list[tuple[str, Words]]) -> Words:
    """What all processes share as the pool's, the rest as their hosts'."""
    shared = {
        key: value
        for key, value in layers[0][1].items()
        if all(key in layer and plain(layer[key]) == plain(value) for dummy, layer in layers)
    }
    hosts: dict[str, Words] = {}
    for host, layer in layers:
        own = {key: value for key, value in layer.items() if key not in shared}
        if own:
            hosts[host] = {word: own}
    return {**({word: shared} if shared else {}), **({"hosts": hosts} if hosts else {})}


def _arguments(entry: Documented, process: Process) -> Words:
    found = {name: value for name, value in process.args.items() if name not in DERIVED}
    found.update({name: text for name, text in process.broken.items() if name != "kv-transfer-config"})
    if "kv-transfer-config" in process.broken:
        found["kv-transfer-config"] = process.broken["kv-transfer-config"]
    served = process.args.get("served-model-name")
    if served and served != _model(entry)["name"]:
        found["served-model-name"] = served
    if process.headless:
        others = [item for item in entry.of(process.kind) if item.instance == process.instance and not item.headless]
        for name in ("api-server-count",):  # a flag of the API server, which the source gives to its own process only
            if others and name in others[0].args:
                found[name] = others[0].args[name]
    return found


def _environment(process: Process) -> Words:
    return {name: value for name, value in process.env.items() if name not in OWN_ENV}


def connector_word(child: t.Mapping[str, t.Any]) -> str:
    """The user's word for a connector; one that has none is called by its own name."""
    return WORDS.get(child["kv_connector"].lower(), child["kv_connector"])


def _children(kv: t.Mapping[str, t.Any] | None) -> list[Words]:
    if not kv:
        return []
    extra = kv.get("kv_connector_extra_config") or {}
    return list(extra["connectors"]) if kv.get("kv_connector") == "MultiConnector" else [dict(kv)]


def _family(process: Process) -> str:
    return "+".join(connector_word(item) for item in _children(process.kv)) or "none"


def _kv(entry: Documented, process: Process) -> Words:
    """Options that the source sets itself: the policy, and a connector's own settings beside the derived ones."""
    found: Words = {}
    if process.kv and "kv_load_failure_policy" in process.kv:
        found["kv_load_failure_policy"] = process.kv["kv_load_failure_policy"]
    for child in _children(process.kv):
        word, own = connector_word(child), {}
        for key, value in (child.get("kv_connector_extra_config") or {}).items():
            if key in SIZES_IN_KV:
                more = {name: setting for name, setting in value.items() if name not in SIZES_TOLD}
                if more or not _true(entry, key, value):
                    own[key] = more if _true(entry, key, value) else value
            elif key not in NOT_SAID:
                own[key] = value
        if own:
            found[word] = own
    return found


def _true(entry: Documented, role: str, sizes: t.Mapping[str, t.Any]) -> bool:
    """Whether what the source tells a connector of a role agrees with how it starts that role, as far as it tells."""
    wanted = str(sizes.get("dp_size", 1)), str(sizes.get("tp_size", 1))
    started = {(item.sizes["data_parallel_size"], item.sizes["tensor_parallel_size"]) for item in entry.of(role)}
    if not started or not all(item.isdigit() for item in wanted):
        return True
    return (int(wanted[0]), int(wanted[1])) in started


def _store(entry: Documented) -> Words:
    for process in entry.processes:
        for child in _children(process.kv):
            backend = (child.get("kv_connector_extra_config") or {}).get("backend")
            if backend:
                return {"backend": backend}
    return {}


def _encoder_path(entry: Documented) -> str:
    for process in entry.processes:
        if process.ec:
            return str((process.ec.get("ec_connector_extra_config") or {}).get("shared_storage_path", ""))
    return ""


def _router(entry: Documented, pinned: bool) -> Words:
    if not entry.proxy:
        return {"flavour": "none"}
    words: Words = {}
    flavour = FLAVOURS.get(entry.proxy.script, "load_balance")
    if flavour != _expected_flavour(entry):
        words["flavour"] = flavour
    if entry.proxy.flags:
        words["args"] = entry.proxy.flags
    if pinned and entry.proxy.port:
        words["port"] = entry.proxy.port
    return words


def _expected_flavour(entry: Documented) -> str:
    """What nobody has to say: the proxy that belongs to the pools and the connector."""
    if "encode" in entry.kinds:
        return "epd" if "colocated" in entry.kinds else "epd_layerwise"
    families = {_family(process) for process in entry.processes}
    return "layerwise" if any("layerwise" in family or "sfa" in family for family in families) else "load_balance"


def _pin(pool: Words, processes: list[Process]) -> None:
    """The first ports of each instance; a host's own where it differs within an instance."""
    instances: dict[int, list[Process]] = {}
    for process in processes:
        instances.setdefault(process.instance, []).append(process)
    firsts = [members[0] for dummy, members in sorted(instances.items())]
    ports: Words = {}
    for name, port in (
        ("api", _api),
        ("kv", _kv_port),
        ("dp_rpc", _rpc),
        ("llmdatadist", _llmdatadist),
        ("hccl", _hccl),
    ):
        numbers = [port(first) for first in firsts]
        if all(numbers):
            ports[name] = numbers if len(set(numbers)) > 1 or len(numbers) > 1 else numbers[0]
        for first, members in zip(firsts, [members for dummy, members in sorted(instances.items())], strict=False):
            for member in members:
                local = member.host != first.host and not (member.headless and name == "api")
                begins = all(other.host != member.host or other.rank >= member.rank for other in members)
                if local and begins and port(member) and port(member) != port(first):
                    own = pool.setdefault("hosts", {}).setdefault(member.host, {}).setdefault("ports", {})
                    own[name] = port(member)
    if ports:
        pool["ports"] = ports


def _api(process: Process) -> int:
    return process.api_port


def _rpc(process: Process) -> int:
    return process.dp_rpc_port


def _kv_port(process: Process) -> int:
    ports = [
        str(item.get("kv_port", "")) for item in _children(process.kv) if "LLMDataDist" not in item["kv_connector"]
    ]
    return next((int(port) for port in ports if port.isdigit()), 0)


def _llmdatadist(process: Process) -> int:
    ports = [process.env[name] for name in LLMDATADIST_PORT if name in process.env]
    return int(ports[0]) if ports and str(ports[0]).isdigit() else 0


def _hccl(process: Process) -> int:
    port = str(process.env.get("HCCL_IF_BASE_PORT", ""))
    return int(port) if port.isdigit() else 0
