# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts the results of check tasks to facts by host."""

from __future__ import annotations

import typing as t

from .observed import Record

PARTS = ("host", "npu", "hccn")
LATER = (
    "cann_method",
    "model_repair",
    "mooncake_method",
    "torch_npu_python",
    "vllm_ascend_environment",
    "vllm_cpu_python",
)
REGISTERED = {
    "gather": "host_check_gathered",
    "ping": "host_check_pinged",
    "runtime": "host_check_runtime",
    "listen": "host_check_listened",
    "connect": "host_check_connected",
}
CONTROLLER = "host_check_controller"


def check_results(
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]], hosts: t.Iterable[str]
) -> dict[str, dict[str, t.Any]]:
    """What the tasks of role host_check registered on each host, as the input of ``check_facts``.

    ``hostvars`` maps a host to its variables. The controller's connections are tried once, and registered on every host.
    """
    found: dict[str, dict[str, t.Any]] = {}
    controller: Record = {}
    for host in hosts:
        variables = hostvars[host]
        parts = {name: variables.get(variable) or {} for name, variable in REGISTERED.items()}
        tcp = {step: parts.pop(step) for step in ("listen", "connect")}
        tried = {} if controller else variables.get(CONTROLLER) or {}
        controller = controller or tried
        later = {option: variables.get(option) for option in LATER}
        found[host] = {**parts, "tcp": {**tcp, "controller": tried}, "later": later}
    return found


def tcp_results(hostvars: t.Mapping[str, t.Mapping[str, t.Any]], hosts: t.Iterable[str]) -> dict[str, dict[str, t.Any]]:
    """What the tasks with port_probe registered on each host: ``{listen, connect, controller}``."""
    names = {"listen": REGISTERED["listen"], "connect": REGISTERED["connect"], "controller": CONTROLLER}
    return {host: {step: hostvars[host].get(name) or {} for step, name in names.items()} for host in hosts}


def check_facts(plan: Record, results: t.Mapping[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    """Facts of each planned host.

    ``results`` maps a host to what role host_check recorded: ``{gather: <result of check_info>, ping: <result of hccn_ping>,
    runtime: {error}, tcp: {listen, connect, controller: <results of port_probe>}, later: {...}}``, each optional; ``gather``
    may hold results of npu_info and hccn_info as its parts. A failed module becomes ``{error: message}`` of its facts; a connection lost at any task becomes
    ``unreachable: message``. A host without any record has no facts; without a record of any host raises ValueError.
    ``later`` are options of roles that run after the check and provide facts that it would report as missing.
    """
    if not results:
        fix = "set host_check_results to what the role registered on all hosts, as playbooks/shared/check_body.yml does"
        raise ValueError(f"there are no results of hosts, so each of them would count as not reached. Fix: {fix}")
    return {host["name"]: _facts_or_error(results.get(host["name"]) or {}) for host in plan["hosts"]}


def _facts_or_error(result: Record) -> dict[str, t.Any]:
    """The facts of a host; of one whose answers are no records, that they are not."""
    try:
        return _facts(result)
    except (AttributeError, TypeError, ValueError) as error:
        return {
            "gather": {
                "error": f"the answer of the module has a wrong form ({type(error).__name__}: {str(error)[:120]})"
            }
        }


def _facts(result: Record) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {}
    gathered = result.get("gather") or {}
    if gathered.get("unreachable"):
        return {"unreachable": _message(gathered)}
    if "failed" in gathered and gathered["failed"] or "msg" in gathered:
        found["gather"] = {"error": _message(gathered)}
    found.update({part: _part(gathered[part]) for part in PARTS if _gathered(gathered.get(part))})
    tcp = result.get("tcp") or {}
    steps = [tcp[step] for step in ("listen", "connect") if _gathered(tcp.get(step))]
    parts = {kind: result.get(kind) or {} for kind in ("ping", "runtime")}
    parts.update(
        tcp={key: value for step in steps for key, value in step.items()}, controller=tcp.get("controller") or {}
    )
    for kind, answer in parts.items():
        if answer.get("unreachable") and kind != "controller":
            found["unreachable"] = _message(answer)
        elif "msg" in answer:
            found[kind] = {"error": _message(answer)}
        elif answer and not answer.get("skipped"):
            found[kind] = {key: value for key, value in answer.items() if key != "record"}
    if found.get("host"):
        later = result.get("later") or {}
        found["host"] = {**found["host"], "later": {key: later.get(key) for key in LATER}}
    return found


def _gathered(answer: Record | None) -> bool:
    return answer is not None and not answer.get("skipped")


def _part(answer: Record) -> Record:
    return {"error": _message(answer)} if "msg" in answer else answer


def _message(result: Record) -> str:
    """A failed module's message with the beginning and the end of unexpected output: the last line of a traceback names the error."""
    printed = " ".join(str(result.get(key) or "").strip() for key in ("module_stderr", "module_stdout")).strip()
    shown = printed if len(printed) <= 400 else f"{printed[:200]} ... {printed[-200:]}"
    return f"{result.get('msg') or 'no message'} {shown}".strip()
