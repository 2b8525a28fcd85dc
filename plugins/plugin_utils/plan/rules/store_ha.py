# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of a highly available store (inference_store.ha): what cannot elect a leader, and what loses all keys."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ...description.store_ha import StoreHa
from ..render.store_ha import CLUSTER_VARIABLE, cluster_id, election_flags, endpoints, oplog
from .base import Case, Rules
from .engine_view import EngineView
from .store import client, client_path, master_flags, master_path, truth

RULES = Rules()
HA = "inference_store.ha"
STANDBY_ANSWERS = (0, 3, 11)  # an older standby answers no HTTP, so nothing can tell it from a dead one


def wish(case: Case) -> StoreHa | None:
    """The user's settings; None without high availability."""
    return case.context.description.store.ha


def works(case: Case) -> StoreHa | None:
    """The settings if the deployment has what they are about; else STORE-HA-UNUSED or STORE-HA-RUNTIME says so."""
    description = case.context.description
    suits = case.context.store and description.store.backend == "mooncake" and not case.in_pods
    return description.store.ha if suits else None


@RULES.rule(
    "STORE-HA-UNUSED",
    "Remove inference_store.ha, or add store to inference_kv_transfer (mooncake+store) with the backend mooncake.",
    "Mooncake docs: only the store has a master; transfers between engines need none",
)
def unused(case: Case) -> t.Iterator[Finding]:
    """inference_store.ha is set without a Mooncake store.

    There is no master that could fail over. Transfers from prefill to decode do not use one.
    """
    if wish(case) is None:
        return
    backend = case.context.description.store.backend
    if not case.context.store:
        yield Finding.at(HA, "", "ha is set, but no pool uses the store")
    elif backend != "mooncake":
        yield Finding.at(HA, backend, f"ha is set, but the backend is {backend}")


@RULES.rule(
    "STORE-HA-RUNTIME",
    "Use another runtime, or remove inference_store.ha; with containers set etcd_endpoints to an etcd of the site.",
    "design of the planner: images of vLLM-Ascend have no etcd",
)
def runtime(case: Case) -> t.Iterator[Finding]:
    """The runtime cannot run the masters or the etcd of a highly available store.

    In a cluster one Deployment runs the master, and an image of vLLM-Ascend has no etcd.
    """
    ha, name = wish(case), case.context.description.runtime
    if ha and case.in_pods:
        yield Finding.at(
            HA, "", f"ha is set, and runtime {name} runs one master; Kubernetes starts it again when it exits"
        )
    elif ha and case.context.contained and not ha.etcd_endpoints:
        yield Finding.at(
            f"{HA}.etcd_endpoints", "", f"no etcd_endpoints are set, and with runtime {name} there is no etcd"
        )


@RULES.rule(
    "STORE-HA-BUILD",
    "Use a release from 0.23.0rc1 on, whose Mooncake is a wheel, or remove inference_store.ha.",
    "Mooncake docs: STORE_USE_ETCD; /health of a standby since 0.3.11",
)
def build(case: Case) -> t.Iterator[Finding]:
    """The release's Mooncake cannot elect a leader with etcd.

    A build without etcd ends at start. Before 0.3.11 a standby answers nothing, so it looks like a dead master.
    """
    release = case.context.release
    if not works(case):
        return
    if not release.mooncake_etcd:
        yield Finding.at(HA, release.name, f"the Mooncake of release {release.name} is built from source, without etcd")
    elif release.mooncake_version < STANDBY_ANSWERS:
        problem = f"release {release.name} has Mooncake {release.mooncake}, older than 0.3.11"
        yield Finding.at(HA, release.name, problem)


@RULES.rule(
    "STORE-HA-OPLOG",
    "Set inference_store.ha.oplog: false to accept this, or use Mooncake 0.3.13.post1 (inference_releases) in image or environment.",
    "measured with 0.3.13.post1: 200 of 200 keys kept with the OpLog, none without it",
    "warning",
)
def no_oplog(case: Case) -> t.Iterator[Finding]:
    """The release's Mooncake has no OpLog, so a failover loses the keys of all blocks.

    The service goes on, but the new master knows no block: prompts are computed again until the store is filled.
    """
    ha = works(case)
    if ha and ha.oplog and not oplog(case.context):
        mooncake = case.context.release.mooncake
        yield Finding.at(
            f"{HA}.oplog", "true", f"Mooncake {mooncake} of release {case.context.release.name} has no oplog"
        )


@RULES.rule(
    "STORE-HA-MASTERS",
    "Put as many hosts into the group as there are masters, or set another group in inference_mooncake_master.group.",
    "design of the planner: each master on another host",
)
def masters(case: Case) -> t.Iterator[Finding]:
    """There are fewer hosts than masters.

    Masters on one host have the same ports and die together, so nothing would be left to take over.
    """
    ha = works(case)
    planned = case.context.masters
    if ha and len(planned) < ha.masters:
        group = case.context.description.mooncake_master.group
        where = f"group '{group}'" if any(group in host.groups for host in planned) else "the deployment"
        problem = f"{ha.masters} masters are wanted, and {where} has {_hosts(len(planned))}"
        yield Finding.at(f"{HA}.masters", str(ha.masters), problem)


def _hosts(count: int) -> str:
    return "one host" if count == 1 else f"{count} hosts"


@RULES.rule(
    "STORE-HA-ETCD",
    "Plan 3 members on 3 hosts (etcd_group), or set etcd_endpoints to an etcd with 3 members.",
    "etcd docs, FAQ: fault tolerance by cluster size; a majority of the members",
)
def etcd(case: Case) -> t.Iterator[Finding]:
    """The members of etcd tolerate no failure, or no more failures than one member fewer would.

    Without a majority of its members etcd elects no leader: of two members both are needed, so a second one doubles the risk.
    """
    ha = works(case)
    if not ha or case.context.contained and not ha.etcd_endpoints:
        return
    planned = len(case.context.etcd)
    if ha.etcd_endpoints:
        count, path = len(ha.etcd_endpoints), f"{HA}.etcd_endpoints"
        if len(set(ha.etcd_endpoints)) < count:
            yield Finding.at(path, ", ".join(ha.etcd_endpoints), "etcd_endpoints names an endpoint twice")
        if count == 2:
            yield Finding.at(
                path,
                ", ".join(ha.etcd_endpoints),
                "etcd_endpoints has 2 members, and the failure of either one stops etcd",
            )
    else:
        count, path = ha.etcd_members, f"{HA}.etcd_members"
        if count % 2 == 0:
            problem = f"etcd_members is {count}, which tolerates no more failures than {count - 1}"
            yield Finding.at(path, str(count), problem)
        elif planned < count:
            yield Finding.at(path, str(count), f"{count} members are wanted, and {_hosts(planned)} can have one")
    if count == 1:
        problem = f"{path.rpartition('.')[2]} names one member; while it does not answer no master can take over"
        yield Finding.at(path, "1", problem, severity="warning")


@RULES.rule(
    "STORE-HA-ADDRESS",
    "Remove rpc_address: each master gets the address of its host (inference_address).",
    "Mooncake #905: the address in etcd is the one of --rpc_address",
)
def address(case: Case) -> t.Iterator[Finding]:
    """A master does not publish an address of its own.

    Engines take the leader's address from etcd, and would connect to themselves or to no master.
    """
    service = case.named("mooncake_master")
    if works(case) and service:
        own = master_flags(case).get("rpc_address", "not set")
        if own != service.address:
            yield Finding.at(master_path(case, "rpc_address"), own, f"rpc_address is {own} on all masters")


@RULES.rule(
    "STORE-HA-LEADER",
    "Remove the setting: the planner writes the same etcd and the same cluster id for masters and engines.",
    "Mooncake #2514, #904: clients that look for the leader elsewhere find none, or never change to another one",
)
def leader(case: Case) -> t.Iterator[Finding]:
    """Masters and engines do not look for the leader in the same place.

    An engine finds no master and ends at start, or stays with a dead one.
    """
    if not works(case):
        return
    flags, wanted = master_flags(case), endpoints(case.context)
    if not truth(flags.get("enable_ha", "false")):
        yield Finding.at(
            master_path(case, "enable_ha"), "false", "enable_ha of the masters is false, so each of them serves"
        )
    for flag, value in election_flags(case.context).items():
        if flag != "enable_ha" and flags.get(flag) != value:
            given = flags.get(flag, "not set")
            problem = f"{flag} of the masters is {given}, and inference_store.ha plans {value}"
            yield Finding.at(master_path(case, flag), given, problem)
    configured = client(case).get("master_server_address")
    if configured is not None and configured != f"etcd://{wanted}":
        problem = f"master_server_address is {configured}, and the masters are elected in etcd://{wanted}"
        yield Finding.at(client_path(case, "master_server_address"), configured, problem)
    for view in case.engine_views:
        yield from _other_cluster(case, view)


def _other_cluster(case: Case, view: EngineView) -> t.Iterator[Finding]:
    value = view.env.get(CLUSTER_VARIABLE)
    if value is not None and value != cluster_id(case.context):
        problem = f"{CLUSTER_VARIABLE} of {view.kind} is {value}, and the masters have {cluster_id(case.context)}"
        yield Finding.at(view.env_path(CLUSTER_VARIABLE), value, problem)
