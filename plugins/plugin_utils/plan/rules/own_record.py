# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plan records of an engine process, and the rule that its command line says the same."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ..placement import Instance, Process
from ..service import Service
from .base import Case, Rules
from .engine_view import DERIVED, EngineView

RULES = Rules()
ADDRESSES = ("data-parallel-address", "master-addr")
# What is on the command line because of the place of a process. vLLM has defaults for them: port 8000, rank 0, 127.0.0.1.
RECORDED = (
    "port",
    "data-parallel-rank",
    "data-parallel-start-rank",
    "data-parallel-size-local",
    "data-parallel-address",
    "data-parallel-rpc-port",
    "nnodes",
    "node-rank",
    "master-addr",
    "master-port",
)


def planned_value(service: Service, instance: Instance, process: Process, flag: str) -> str | None:
    """The value that the topology gives an option of one process; None if it does not set it.

    ``flag`` is a key of ``DERIVED``. Ports are those that the plan records, opens and checks.
    """
    pool, several = instance.pool, instance.nodes_per_rank > 1
    if flag in ("port", "data-parallel-rpc-port", "master-port"):
        name = {"port": "api"}.get(flag, "dp_rpc")
        ports = [str(port.first) for port in service.ports if port.name == name]
        return ports[0] if ports and (flag != "master-port" or several) else None
    fixed: dict[str, t.Any] = {
        "data-parallel-rank": process.first_rank,
        "data-parallel-start-rank": process.first_rank,
        "data-parallel-size-local": process.local_ranks,
        "data-parallel-address": instance.first.host.address,
        "nnodes": len(instance.processes) if several else None,
        "node-rank": process.number,
        "master-addr": instance.first.host.address if several else None,
        "headless": service.health is None,
    }
    found = fixed[flag] if flag in fixed else getattr(pool, DERIVED[flag], None)
    return None if found is None else str(found)


def _expected(case: Case, service: Service, instance: Instance, process: Process) -> dict[str, str]:
    """The options that the command line of a process has because of its place, with the values that its record says."""
    pool, expected = instance.pool, set()
    if not instance.headless(process):
        expected.add("port")
    if pool.data_parallel_size > 1:
        external = pool.load_balancing == "external"
        expected |= {"data-parallel-rank"} if external else {"data-parallel-size-local"}
        expected |= {"data-parallel-start-rank"} if process.first_rank and not external else set()
        expected |= {"data-parallel-address", "data-parallel-rpc-port"}
    if instance.nodes_per_rank > 1:
        expected |= {"nnodes", "node-rank", "master-addr", "master-port"}
    found = {}
    for flag in RECORDED:
        value = planned_value(service, instance, process, flag) if flag in expected else None
        if value is not None and not (case.in_pods and flag in ADDRESSES):  # a pod inserts them
            found[flag] = value
    return found


@RULES.rule(
    "PROCESS-RECORD",
    "Remove the option: the planner sets it for each process.",
    "design of the planner: router, firewall, health check and peers read the record",
)
def process_record(case: Case) -> t.Iterator[Finding]:
    """The command line of an engine differs from what the plan records of the process.

    The router, the firewall, the health check and the other processes connect to what is recorded, where nothing listens.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for service, instance, process in case.engines:
        given = dict(zip(service.argv, service.argv[1:], strict=False))
        expected = _expected(case, service, instance, process)
        wrong = {flag: value for flag, value in expected.items() if given.get(f"--{flag}") != value}
        host = "" if instance.headless(process) or case.in_pods else given.get("--host", service.address)
        if host not in ("", "0.0.0.0", "::", service.address):  # comparison only, nothing is bound
            wrong["host"] = service.address
        for flag, value in wrong.items():
            view = EngineView(case.context.description, service, instance, process)
            written, started = view.user_value(flag), given.get(f"--{flag}")
            if written and written[1] is not None:
                continue  # FLAG-DERIVED and API-HOST say which values there are
            how = f"with --{flag} {started}" if started else f"without --{flag}"
            problem = f"{service.name} would start {how}, and its record says {value}"
            found.setdefault((view.path(flag), started or "null"), []).append(problem)
    for (path, shown), problems in found.items():
        others = f"; the same is true of {len(problems) - 1} more" if len(problems) > 1 else ""
        yield Finding.at(path, shown, problems[0] + others)
