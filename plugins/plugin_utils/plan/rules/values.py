# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of single values: sizes, addresses and misplaced settings."""

from __future__ import annotations

import ipaddress
import re
import typing as t

from ...description.findings import Finding
from .base import Case, Rules
from .connectors import TOP_KEYS

RULES = Rules()
# flag -> least and most; the largest that anybody documents is far below the latter
COUNTS = {
    "max-num-seqs": (1, 10**6),
    "max-num-batched-tokens": (1, 10**8),
    "max-model-len": (-1, 10**9),
    "block-size": (1, 10**5),
    "max-num-partial-prefills": (1, 10**6),
    "long-prefill-token-threshold": (0, 10**9),
    "api-server-count": (0, 1024),
    "max-logprobs": (-1, 10**7),
    "max-loras": (1, 10**5),
    "max-lora-rank": (1, 10**5),
    "max-cpu-loras": (1, 10**6),
    "seed": (0, 2**32 - 1),  # numpy.random.seed
}
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # vllm/config/lora.py
NUMERIC = re.compile(r"[\d.]+|.*:.*")


@RULES.rule(
    "ARG-POSITIVE",
    "Set a number that is allowed, or leave it out.",
    "vLLM config/scheduler.py, config/cache.py, config/model.py, config/lora.py, config/multimodal.py",
)
def counts(case: Case) -> t.Iterator[Finding]:
    """A count of sequences, tokens, blocks or processes is out of range.

    The engine refuses it at start, never schedules a request, or runs out of memory.
    """
    for view in case.engine_views:
        for flag, (least, most) in COUNTS.items():
            found = view.integer(flag)
            if found is not None and not least <= found <= most:
                bound = f"below the minimum, {least}" if found < least else f"above the maximum, {most}"
                yield Finding.at(view.path(flag), view.value(flag), f"{flag} is {bound}")
        if view.integer("max-model-len") == 0:
            yield Finding.at(view.path("max-model-len"), 0, "max-model-len is 0; only -1 means the largest that fits")
        rank = view.integer("max-lora-rank")
        if rank is not None and 0 < rank <= COUNTS["max-lora-rank"][1] and rank not in RANKS:
            known = ", ".join(str(item) for item in RANKS)
            yield Finding.at(view.path("max-lora-rank"), rank, f"max-lora-rank is {rank}, not one of {known}")
        limits = view.mapping("limit-mm-per-prompt")
        for kind, limit in limits.items():
            number = limit.get("count", 0) if isinstance(limit, dict) else limit
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                path = f"{view.path('limit-mm-per-prompt')}.{kind}"
                yield Finding.at(path, limit, f"the limit of {kind} is not a number from 0 on")


@RULES.rule(
    "FLAG-NEEDS",
    "Set the other flag as well, or remove this one.",
    "vllm/entrypoints/openai/cli_args.py: enable_auto_tool_choice; vllm/lora: modules need the adapter's manager",
)
def needs(case: Case) -> t.Iterator[Finding]:
    """A flag needs another one that is not set.

    vLLM ends at start.
    """
    for view in case.engine_views:
        for flag, other in (("enable-auto-tool-choice", "tool-call-parser"), ("lora-modules", "enable-lora")):
            on = view.truth(flag) if flag.startswith("enable-") else flag in view.table
            if on and other not in view.table:
                yield Finding.at(view.path(flag), view.value(flag), f"{flag} is set without {other}")


@RULES.rule(
    "FLAG-MODEL",
    "Remove it, and set inference_model.path or the pool's own model.",
    "vllm serve: the model is the positional argument",
)
def model_flag(case: Case) -> t.Iterator[Finding]:
    """The model is named by a flag as well.

    vLLM refuses it, or loads another model than the plan has checked.
    """
    for view in case.engine_views:
        if view.user_value("model"):
            yield Finding.at(view.path("model"), view.value("model"), "model is set in args")


@RULES.rule(
    "HCCL-BUFFSIZE",
    "Set the number of MiB without a unit: 1100.",
    "CANN: HCCL_BUFFSIZE, a whole number of MiB from 1 on",
)
def buffer_size(case: Case) -> t.Iterator[Finding]:
    """HCCL_BUFFSIZE is not a whole number of MiB.

    HCCL refuses the value when it creates the first communicator, after the model is loaded.
    """
    for view in case.engine_views if case.npu else ():
        value = view.env.get("HCCL_BUFFSIZE")
        if value is not None and not (value.isdecimal() and int(value)):
            yield Finding.at(view.env_path("HCCL_BUFFSIZE"), value, f"'{value}' is not a number of MiB")


@RULES.rule(
    "KV-NESTED",
    "Put the connector's own settings directly below its name, and keys of kv-transfer-config directly below kv.",
    "vLLM KVTransferConfig",
)
def nested(case: Case) -> t.Iterator[Finding]:
    """A key of kv-transfer-config is among a connector's own settings.

    inference_pools.<pool>.kv.<connector> contains entries of kv_connector_extra_config, so the key is written there, where
    no connector reads it.
    """
    for name, pool in case.context.description.pools.present().items():
        for connector in case.context.transfer_of(pool):
            own = pool.kv.get(connector)
            for key in sorted(TOP_KEYS & set(own)) if isinstance(own, dict) else ():
                yield Finding.at(
                    f"inference_pools.{name}.kv.{connector}.{key}",
                    own[key],
                    f"{key} is not a setting of this connector",
                    f"Set inference_pools.{name}.ports.kv. " if key == "kv_port" else "",
                )


@RULES.rule(
    "LINK-HARDWARE",
    "Set inference_link: roce, or remove the variable.",
    "Atlas A2 servers: HCCS connects the NPUs of one server; RoCE connects servers",
)
def link(case: Case) -> t.Iterator[Finding]:
    """inference_link is hccs, but the hosts are not connected by HCCS.

    HCCL and Mooncake select a link that does not exist, and the first communicator across hosts fails.
    """
    hosts = {process.host.name: process.host for service, instance, process in case.engines}
    kinds = sorted({host.hardware for host in hosts.values()} & {"a2", "310p", "910a"})
    if case.context.description.link == "hccs" and len(hosts) > 1 and kinds:
        yield Finding.at(
            "inference_link", "hccs", f"there is no HCCS link between hosts of generation {' and '.join(kinds)}"
        )


@RULES.rule(
    "ADDRESS-FORM",
    "Set inference_address of the host to the IP address of its interface in the network of the cluster.",
    "CANN: HCCL_IF_IP is an IP address; vLLM: VLLM_HOST_IP",
)
def address_form(case: Case) -> t.Iterator[Finding]:
    """A host's address is no IP address of a host.

    HCCL accepts only an IP address. The planner resolves no names, so that a plan is
    the same on every controller.
    """
    if case.in_pods:
        return
    engines = {service.host for service, dummy, dummy in case.engines}
    for name in sorted({service.host for service in case.services}):
        address = case.context.hosts[name].address
        kind = _unusable(address)
        if kind:
            yield Finding.at(f"{name}.inference_address", address, f"{address} is {kind}")
        if _is_address(address) or not (NUMERIC.fullmatch(address) or case.npu and name in engines):
            continue
        yield Finding.at(f"{name}.inference_address", address, f"{address} is not an IP address{_beyond(address)}")


def _beyond(text: str) -> str:
    """The number of an IPv4 address that is too large, for a message; empty without one."""
    large = [part for part in text.split(".") if re.fullmatch(r"\d{3,6}", part) and int(part) > 255]
    return f": {large[0]} is above 255" if large and re.fullmatch(r"[\d.]+", text) else ""


def _unusable(text: str) -> str:
    """What kind of address no host can have for its peers; empty for the others and for what is none."""
    if not _is_address(text):
        return ""
    found = ipaddress.ip_address(text)
    if found.is_multicast or text == "255.255.255.255":
        return "a multicast or broadcast address"
    return "valid on one link only" if found.version == 4 and found.is_link_local else ""


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
