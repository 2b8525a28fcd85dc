# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of single values: sizes, addresses and settings that no engine can use as they are."""

from __future__ import annotations

import ipaddress
import re
import typing as t

from ...description.findings import Finding
from .base import Case, Rules
from .connectors import TOP_KEYS

RULES = Rules()
COUNTS = ("max-num-seqs", "max-num-batched-tokens", "block-size", "max-num-partial-prefills")
NUMERIC = re.compile(r"[\d.]+|.*:.*")


@RULES.rule(
    "ARG-POSITIVE", "Set a whole number of at least 1, or leave it out.", "vLLM config/scheduler.py, config/cache.py"
)
def counts(case: Case) -> t.Iterator[Finding]:
    """A count of sequences, tokens or blocks is below 1.

    The engine refuses it at start, or never schedules a request.
    """
    for view in case.engine_views:
        for flag in COUNTS:
            found = view.integer(flag)
            if found is not None and found < 1:
                yield Finding.at(view.path(flag), view.value(flag), f"{flag} is below 1")


@RULES.rule(
    "HCCL-BUFFSIZE", "Write the number of MiB alone: 1100.", "CANN: HCCL_BUFFSIZE, a whole number of MiB from 1 on"
)
def buffer_size(case: Case) -> t.Iterator[Finding]:
    """HCCL_BUFFSIZE is not a whole number of MiB.

    HCCL refuses the value when the first communicator is made, after the model is loaded.
    """
    for view in case.engine_views if case.npu else ():
        told = view.env.get("HCCL_BUFFSIZE")
        if told is not None and not (told.isdecimal() and int(told)):
            yield Finding.at(view.env_path("HCCL_BUFFSIZE"), told, f"'{told}' is not a number of MiB")


@RULES.rule(
    "KV-NESTED",
    "Write the connector's own settings directly below its name, and keys of kv-transfer-config directly below kv.",
    "vLLM KVTransferConfig",
)
def nested(case: Case) -> t.Iterator[Finding]:
    """A key of kv-transfer-config is among a connector's own settings.

    inference_pools.<pool>.kv.<connector> holds entries of kv_connector_extra_config, so the key ends up inside it, where
    no connector reads it.
    """
    for name, pool in case.context.description.pools.present().items():
        for connector in case.context.transfer_of(pool):
            own = pool.kv.get(connector)
            for key in sorted(TOP_KEYS & set(own)) if isinstance(own, dict) else ():
                yield Finding.at(
                    f"inference_pools.{name}.kv.{connector}.{key}", own[key], f"{key} is not one of its settings"
                )


@RULES.rule(
    "LINK-HARDWARE",
    "Set inference_link: roce, or leave it out.",
    "Atlas A2 servers: HCCS joins the NPUs of one server; servers are joined by RoCE",
)
def link(case: Case) -> t.Iterator[Finding]:
    """inference_link is hccs, and the hosts have no HCCS between them.

    HCCL and Mooncake look for a way that is not there, and the first communicator over hosts fails.
    """
    hosts = {process.host.name: process.host for service, instance, process in case.engines}
    kinds = sorted({host.hardware for host in hosts.values()} & {"a2", "310p", "910a"})
    if case.context.description.link == "hccs" and len(hosts) > 1 and kinds:
        yield Finding.at(
            "inference_link", "hccs", f"there is no hccs link between hosts of generation {' and '.join(kinds)}"
        )


@RULES.rule(
    "ADDRESS-FORM",
    "Set inference_address of the host to the IP address of its interface in the network of the cluster.",
    "CANN: HCCL_IF_IP is an IP address; vLLM: VLLM_HOST_IP",
)
def address_form(case: Case) -> t.Iterator[Finding]:
    """A host's address is no IP address.

    HCCL takes none but an IP address, and no peer reaches a wrong one. The planner resolves no names, so that a plan is
    the same wherever it is made.
    """
    if case.in_pods:
        return
    engines = {service.host for service, dummy, dummy in case.engines}
    for name in sorted({service.host for service in case.services}):
        address = case.context.hosts[name].address
        if _is_address(address) or not (NUMERIC.fullmatch(address) or case.npu and name in engines):
            continue
        yield Finding.at(f"{name}.inference_address", address, f"{address} is not an IP address")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
