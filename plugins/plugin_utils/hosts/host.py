# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the host: machine, Python, addresses, ports, memory, limits, clock, disk, models."""

from __future__ import annotations

import typing as t

from ..plan.rules.base import Found, Rule
from ..releases.version import numbers
from .observed import Observed, Record, place, plane

ANY = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
MACHINES = ("aarch64", "x86_64")
NOFILE, CLOCK_SECONDS, FREE_DISK_MIB = 65536, 10.0, 10 * 1024


def unobserved(case: Observed) -> t.Iterator[Found]:
    """Planned hosts of which nothing is known."""
    for host in case.hosts():
        if not case.facts.get(host["name"]):
            yield Found(place(host), host["address"], "the host could not be reached or asked")


TOOLS = {"npu": "npu-smi", "hccn": "hccn_tool", "ping": "hccn_tool -ping", "host": "host_info"}


def unanswered(case: Observed) -> t.Iterator[Found]:
    """Hosts on which a tool gave no answer at all."""
    for host, kind, error in case.failed():
        if kind in TOOLS:
            yield Found(f"{place(host)} {TOOLS[kind]}", "", error)


def runtime(case: Observed) -> t.Iterator[Found]:
    """Hosts on which the runtime cannot run the services, in the words of its own preflight."""
    for host, kind, error in case.failed():
        if kind == "runtime":
            message, dummy, fix = error.partition(" Fix: ")
            yield Found(place(host), case.plan["runtime"], message, f"{fix[:1].upper()}{fix[1:]}")


def address(case: Observed) -> t.Iterator[Found]:
    """Hosts whose planned address is not on the planned interface."""
    for host, facts in case.asked("host"):
        interfaces = facts.get("interfaces") or {}
        if not interfaces:
            continue
        wanted, name = host["address"], host["interface"]
        owners = sorted(one for one in interfaces if wanted in interfaces[one]["addresses"])
        if wanted.startswith("127."):
            owners = ["lo"]  # the loopback interface answers for its whole network
        if name and name not in interfaces:
            yield Found(
                place(host), name, f"there is no interface {name}; {wanted} is on {', '.join(owners) or 'none'}"
            )
        elif not owners:
            yield Found(place(host), wanted, f"no interface has the address {wanted}")
        elif name and name not in owners:
            yield Found(place(host), name, f"the address {wanted} is on {', '.join(owners)}, not on {name}")
        elif name and not interfaces[name]["up"]:
            yield Found(place(host), name, f"the interface {name} is down")


def machine(case: Observed) -> t.Iterator[Found]:
    """Machines for which no package of CANN and no wheel exists."""
    for host, system in _installs(case, contained=True):
        if system.get("machine") not in (None, "", *MACHINES):
            yield Found(place(host), system["machine"], f"the host is a {system['machine']}")


def python(case: Observed) -> t.Iterator[Found]:
    """Hosts whose Python the release's package refuses, where an environment is built from it."""
    least, end = case.plan.get("release_facts", {}).get("python_range") or ("", "")
    for host, system in _installs(case):
        found = numbers(str(system.get("python") or ""))[:2]
        wrong = found and (found < numbers(least)[:2] or (end and found >= numbers(end)[:2]))
        if wrong and not _told(case, host, "torch_npu_python"):
            span = f"{least} or later" + (f" and before {end}" if end else "")
            yield Found(place(host), system["python"], f"Python is {system['python']}, the release needs {span}")


def glibc(case: Observed) -> t.Iterator[Found]:
    """Hosts whose C library is older than the one that Mooncake's wheel is built for."""
    mooncake = (case.plan.get("software") or {}).get("mooncake") or {}
    wanted = mooncake.get("glibc") if mooncake.get("needed", True) else ""
    for host, system in _installs(case):
        found = str(system.get("libc") or "").partition("glibc ")[2]
        if wanted and found and numbers(found) < numbers(wanted) and _told(case, host, "mooncake_method") != "source":
            yield Found(place(host), found, f"glibc is {found}, and Mooncake's wheel needs {wanted}")


def _installs(case: Observed, contained: bool = False) -> t.Iterator[tuple[Record, Record]]:
    """NPU engines' hosts with what they say of their system; without those whose software is in an image."""
    if case.plan["engine"] != "vllm_ascend" or (case.plan["runtime"] in ("docker", "kubernetes") and not contained):
        return
    for host, facts in case.asked("host"):
        if case.planned_devices(host["name"]):
            yield host, facts.get("system") or {}


def hugepages(case: Observed) -> t.Iterator[Found]:
    """Hosts whose huge pages do not hold the store's segments, on the plane where those are registered page by page."""
    for host, facts in case.asked("host"):
        memory_, wanted = facts.get("memory") or {}, int(host.get("store_mib") or 0)
        found = int(memory_.get("hugepages_total") or 0) * int(memory_.get("hugepage_size_kib") or 0) // 1024
        asked = "hugepages_total" in memory_ and case.planned_devices(host["name"])
        if asked and plane(case.plan, host) == "roce" and found < wanted:
            yield Found(
                place(host), f"{found} MiB", f"{found} MiB in huge pages, the store's segments have {wanted} MiB"
            )


def ports(case: Observed) -> t.Iterator[Found]:
    """Planned ports that a stranger holds."""
    prefix = f"{case.plan['directory']}/services/"
    for host, facts in case.asked("host"):
        held = [one for one in facts.get("listening") or [] if not str(one["service"]).startswith(prefix)]
        for service in case.services(host["name"]):
            for port in service["ports"]:
                for one in held:
                    inside = port["first"] <= one["port"] < port["first"] + port["count"]
                    if inside and (one["address"] in ANY or one["address"] == service["address"] or port["count"] > 1):
                        owner = one["command"] or "a process that only root can see"
                        yield Found(
                            f"{place(host)} port {one['port']}",
                            owner,
                            f"{service['name']} needs it for {port['name']}, but pid {one['pid']} holds it: {owner}",
                        )


def model_missing(case: Observed) -> t.Iterator[Found]:
    """Engines' hosts without the model, or with a broken one."""
    if case.plan["model"].get("source"):
        return
    for host, model in _models(case):
        if not model["exists"]:
            yield Found(place(host), model["path"], f"the model's folder {model['path']} does not exist")
        elif model["config_error"]:
            yield Found(place(host), model["path"], f"{model['path']}/config.json {model['config_error']}")


def _models(case: Observed) -> list[tuple[Record, Record]]:
    path = case.plan["model"]["path"]
    engines = {
        one["host"] for one in case.plan["services"] if one["kind"] in ("prefill", "decode", "colocated", "encode")
    }
    return [
        (host, model)
        for host, facts in case.asked("host")
        for model in facts.get("models") or []
        if host["name"] in engines and model["path"].rstrip("/") == path.rstrip("/")
    ]


def _repaired(case: Observed, host: Record) -> bool:
    """Whether role model will repair the host's config.json, which is after this check (see check_facts)."""
    return _told(case, host, "model_repair").lower() in ("true", "yes", "on", "1", "y", "t")


def _told(case: Observed, host: Record, word: str) -> str:
    """What a role that runs later was told in the inventory, as a word."""
    found = (case.facts[host["name"]]["host"].get("told") or {}).get(word)
    return "" if found is None else str(found).strip()


def model_differs(case: Observed) -> t.Iterator[Found]:
    """Hosts whose model is not the one of the first host."""
    found = [(host, model) for host, model in _models(case) if model["exists"]]
    for host, model in found[1:]:
        if model["fingerprint"] != found[0][1]["fingerprint"]:
            yield Found(
                place(host),
                model["fingerprint"][:12],
                f"the model in {model['path']} is not the one on {found[0][0]['name']}",
            )


def model_keys(case: Observed) -> t.Iterator[Found]:
    """Keys that the release's connector needs and config.json lacks, where role model will not add them afterwards."""
    if not case.plan.get("release_facts", {}).get("head_dim_required"):
        return
    for host, model in _models(case):
        config = model["config"]
        connects = any("--kv-transfer-config" in one["argv"] for one in case.services(host["name"]))
        readable = model["exists"] and not model["config_error"]
        lacking = config.get("head_dim") is None and not config.get("kv_lora_rank")
        if connects and readable and lacking and not _repaired(case, host):
            yield Found(place(host), "head_dim", f"{model['path']}/config.json has no head_dim")


def quantization(case: Observed) -> t.Iterator[Found]:
    """A quantised model without the flag, or the flag without a quantised model."""
    flags = {one["name"]: "--quantization" in one["argv"] for one in case.plan["services"]}
    for host, model in _models(case):
        engines = [one for one in case.services(host["name"]) if model["path"] in one["argv"]]
        for service in engines:
            if (
                model["exists"]
                and model["quantized"]
                and not flags[service["name"]]
                and case.plan["engine"] != "vllm_cpu"
            ):
                yield Found(
                    f"{place(host)} {service['name']}",
                    model["path"],
                    "the model is quantised, but the engine is not told so and would run out of memory",
                )


def dtype(case: Observed) -> t.Iterator[Found]:
    """Quantised models in float16, which the kernels refuse."""
    for host, model in _models(case):
        word = str(model["config"].get("torch_dtype") or model["config"].get("dtype") or "")
        told = any("--dtype" in one["argv"] for one in case.services(host["name"]))
        if model["quantized"] and word == "float16" and not told and not _repaired(case, host):
            yield Found(
                place(host), word, f"{model['path']}/config.json says torch_dtype float16 for a quantised model"
            )


def clocks(case: Observed) -> t.Iterator[Found]:
    """Clocks that run apart, or that alone are not synchronised; ``offset`` includes some seconds of connection."""
    seen = [(host, facts.get("clock") or {}) for host, facts in case.asked("host")]
    offsets = sorted(clock["offset"] for _host, clock in seen if clock.get("offset") is not None)
    middle = offsets[len(offsets) // 2] if offsets else 0.0
    disciplined = any(clock.get("synchronised") for _host, clock in seen)
    for host, clock in seen:
        apart = abs((clock.get("offset") or middle) - middle)
        if apart > CLOCK_SECONDS:
            yield Found(
                place(host), f"{apart:.0f} s", f"the clock is about {apart:.0f} seconds away from the other hosts'"
            )
        elif disciplined and clock.get("synchronised") is False:
            yield Found(place(host), "", "the clock is not synchronised, while other hosts' are")


def limits(case: Observed) -> t.Iterator[Found]:
    """Limits that the engines' own unit cannot lift."""
    for host, facts in case.asked("host"):
        nofile = (facts.get("limits") or {}).get("nofile")
        if case.plan["runtime"] == "supervisor" and case.plan["engine"] != "vllm_cpu" and nofile and nofile < NOFILE:
            yield Found(place(host), nofile, f"at most {nofile} open files")


def memory(case: Observed) -> t.Iterator[Found]:
    """Hosts whose store segments do not fit into memory."""
    for host, facts in case.asked("host"):
        available = (facts.get("memory") or {}).get("memory_available_mib")
        wanted = int(host.get("store_mib") or 0)
        if available and wanted > 0.6 * available:
            yield Found(
                place(host),
                f"{wanted} MiB",
                f"the store's segments are {wanted} MiB, 60 % of the available memory is {int(0.6 * available)} MiB",
            )


def disks(case: Observed) -> t.Iterator[Found]:
    """Hosts without room for what is installed."""
    for host, facts in case.asked("host"):
        for one in facts.get("disks") or []:
            if one["free_mib"] < FREE_DISK_MIB:
                yield Found(f"{place(host)} {one['path']}", f"{one['free_mib']} MiB", "less than 10 GiB are free")


def proxies(case: Observed) -> t.Iterator[Found]:
    """Proxy variables in the environment, which engines and routers would use for each other."""
    for host, facts in case.asked("host"):
        names = (facts.get("system") or {}).get("proxy_variables") or []
        if names:
            yield Found(place(host), ", ".join(names), f"{', '.join(names)} set for every login")


def hostname(case: Observed) -> t.Iterator[Found]:
    """Hosts whose own name is a loopback address, in deployments over several hosts."""
    asked = case.asked("host")
    for host, facts in asked:
        found = (facts.get("system") or {}).get("hostname_addresses") or []
        local = str(host["address"]).startswith("127.")
        if len(asked) > 1 and not local and found and all(one.startswith("127.") for one in found):
            yield Found(place(host), ", ".join(found), "the host's own name is a loopback address (/etc/hosts)")


RULES = (
    Rule(
        "HOST-UNREACHABLE",
        "error",
        "Every planned host answers.",
        "Check the connection; ansible -m ping <host>.",
        "Ansible",
        unobserved,
    ),
    Rule(
        "HOST-ANSWER",
        "error",
        "Every tool answers on every planned host.",
        "Run the tool by hand as root; the message says what it lacks.",
        "npu-smi and hccn_tool",
        unanswered,
    ),
    Rule(
        "RUNTIME",
        "error",
        "Every planned host can run services the planned way.",
        "",
        "role service, preflight of the runtime",
        runtime,
    ),
    Rule(
        "HOST-ADDRESS",
        "error",
        "The planned interface owns the planned address.",
        "Correct inference_address or inference_interface of the host.",
        "failure modes N8, N9",
        address,
    ),
    Rule(
        "HOST-MACHINE",
        "error",
        "CANN and the wheels exist for aarch64 and x86_64.",
        "Plan other hosts.",
        "names of CANN's packages",
        machine,
    ),
    Rule(
        "HOST-PYTHON",
        "error",
        "The release's package installs into the host's Python.",
        "Install another Python and name it with torch_npu_python, or choose inference_runtime: docker.",
        "python_requires of vllm-ascend's setup.py",
        python,
    ),
    Rule(
        "HOST-GLIBC",
        "error",
        "Mooncake's wheel loads with the host's C library.",
        "Set mooncake_method: source, or choose inference_runtime: docker, or a distribution with a later one.",
        "failure mode C6; vllm-ascend kv_pool.md",
        glibc,
    ),
    Rule(
        "HUGEPAGES",
        "warning",
        "The store's segments lie in huge pages, or are registered slowly or not at all.",
        "Set vm.nr_hugepages on the host; 2 MiB each, and at most 60 % of the available memory.",
        "vllm-ascend kv_pool.md",
        hugepages,
    ),
    Rule(
        "PORT-TAKEN",
        "error",
        "Planned ports are free, or held by the service that is planned on them.",
        "Stop that process, or give the pool other first ports (inference_pools.<pool>.ports).",
        "vllm-ascend #6455",
        ports,
    ),
    Rule(
        "MODEL-MISSING",
        "error",
        "The model lies on every engine's host.",
        "Copy it there, or set inference_model.source.",
        "failure mode K8",
        model_missing,
    ),
    Rule(
        "MODEL-DIFFERS",
        "error",
        "Every engine serves the same bytes.",
        "Copy the model from one host to the others.",
        "rules of connectors, K15",
        model_differs,
    ),
    Rule(
        "MODEL-HEAD-DIM",
        "error",
        "The release's connector reads head_dim from config.json.",
        "Let the role model add it (model_repair: true), or choose a release from 0.21.0rc1 on.",
        "vllm-ascend #7352",
        model_keys,
    ),
    Rule(
        "MODEL-QUANTIZED",
        "error",
        "A quantised model is served with --quantization ascend.",
        "Add quantization: ascend to the pool's args.",
        "failure mode T15",
        quantization,
    ),
    Rule(
        "MODEL-DTYPE",
        "error",
        "A quantised model runs in bfloat16.",
        "Add dtype: bfloat16 to the pool's args, or let the role model repair config.json.",
        "failure mode T14",
        dtype,
    ),
    Rule(
        "CLOCK",
        "warning",
        "The hosts' clocks are synchronised; delayed frees compare them.",
        "Set up chrony or systemd-timesyncd.",
        "failure mode N12",
        clocks,
    ),
    Rule(
        "LIMIT-NOFILE",
        "error",
        "Engines may open 65536 files.",
        "Raise the hard limit of open files.",
        "failure mode R5",
        limits,
    ),
    Rule(
        "HOST-MEMORY",
        "error",
        "The store's segments fit into 60 % of the available memory.",
        "Choose a smaller inference_store.segment_size.",
        "vllm-ascend kv_pool.md",
        memory,
    ),
    Rule(
        "DISK-FREE",
        "warning",
        "There is room for what is installed.",
        "Free some, or choose another inference_root.",
        "CANN installation guide",
        disks,
    ),
    Rule(
        "PROXY-VARIABLES",
        "warning",
        "HTTP proxies are not used between the services; units unset them.",
        "Take them out of /etc/environment if other tools call the services from here.",
        "failure mode N10",
        proxies,
    ),
    Rule(
        "HOSTNAME-LOOPBACK",
        "warning",
        "A host's name resolves to an address that others reach.",
        "Correct /etc/hosts.",
        "failure mode N8",
        hostname,
    ),
)
