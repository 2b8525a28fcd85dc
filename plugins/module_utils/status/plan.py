# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a plan that is needed for the status of one host's services. Runs on targets and on the controller."""

from __future__ import annotations

import hashlib
import json
import os

from ..files import tree
from ..host.virtual_address import unit_name
from ..tools.engine_kinds import ENGINE_KINDS

PLAN = "plan.json"
PLAN_VERSION = 4  # format of the plan: the planner writes it, and no other can be read


def status_plan(plan, host):
    """The part of a plan that the module service_status needs for one host.

    ``{deployment, directory, runtime, runtime_settings, digest, exposure, services}``; ``exposure``: conditions of security advisories
    that the plan meets, None in a plan of an older version. A service has name, kind, unit, digest, digest_file, url and timeout of its
    health check, base (URL of /metrics and /version; "" without), log, version (expected from /version), environment (of an engine on a
    host; "" in a container), links (path of the record of the watch of its links, if it has one) and, by kind, the planned values of its
    counters: ``transfers`` for decode, ``clients`` and ``elected`` (whether it may be a standby) for the master, ``engines`` for a router,
    and ``balancer`` ({socket, backend}) for the balancer, with ``virtual_address`` and ``keeper`` (the unit that keeps it, without
    .service) if its host may have one.
    """
    services = [_service(plan, service) for service in plan["services"] if service["host"] == host]
    shared = {key: plan[key] for key in ("deployment", "directory", "runtime", "runtime_settings", "digest")}
    return dict(shared, exposure=plan.get("exposure"), services=services)


def question(plan, host):
    """The same of a deployed plan: a host stores it with its part of the plan."""
    return plan.get("question") or status_plan(plan, host)


def _service(plan, service):
    kind, health = service["kind"], service["health"] or {"url": "", "timeout": 0}
    verify = plan.get("verify", {})
    ports = {port["name"]: port["first"] for port in service["ports"]}
    engine = kind in ENGINE_KINDS
    port = ports.get("metrics") or ports.get({"etcd": "client"}.get(kind, "api" if engine else ""))
    found = {
        "name": service["name"],
        "kind": kind,
        "unit": service["unit"],
        "digest_file": service["digest_file"],
        "digest": service["digest"],
        "url": health["url"],
        "timeout": health["timeout"],
        "base": "http://{}:{}".format(service["address"], port) if port and health["url"] else "",
        "log": service["log"],
        "version": plan["software"]["engine"].get("version", "") if engine else "",
        "environment": _environment(service) if engine and _on_host(plan) else "",
        "transfers": kind == "decode" and verify.get("transfer", {}).get("protocol", "none") != "none",
        "generated": _generated(service["files"]),
        "clients": 0,
        "engines": [],
    }
    if "link_watch" in service:
        found["links"] = service["link_watch"]["record"]
    if kind == "mooncake_master":
        found["clients"] = verify.get("store", {}).get("clients", 0)
        found["elected"] = bool(verify.get("store", {}).get("masters"))
    if kind == "balancer" and plan.get("balancer"):
        sections = [plan["balancer"], *plan["balancer"].get("more", ())]
        section = next((each for each in sections if each.get("service") == service["name"]), sections[0])
        found["balancer"] = {key: section[key] for key in ("socket", "backend")}
    if kind == "balancer" and plan.get("virtual_address"):
        found["virtual_address"] = plan["virtual_address"]["address"]
        found["keeper"] = unit_name(plan["deployment"])
    if kind == "router":
        found["engines"] = [len(verify.get(role, [])) for role in ("prefill", "decode")]
    return found


def _on_host(plan):
    """Whether the engines' environment is the host's."""
    facts = plan.get("runtime_facts", {})
    return not facts.get("contained") and not facts.get("in_cluster")


def _environment(service):
    """The virtual environment of an engine's program."""
    program = (service.get("argv") or [""])[0]
    return os.path.dirname(os.path.dirname(program)) if os.path.isabs(program) else ""


def _generated(files):
    """Path and content of a service's files, None for files generated at deployment; empty without such files."""
    pairs = [[file["path"], None if "from" in file else file["content"]] for file in files]
    return pairs if any(content is None for _path, content in pairs) else []


def running_digest(service):
    """The digest that a service writes at its start; it includes the files that were generated on the host.

    Equal to the result of generated.filled and service.digest on the controller.
    """
    if not service["generated"]:
        return service["digest"]
    contents = [_text(path) if content is None else content for path, content in service["generated"]]
    canonical = json.dumps([service["digest"], contents], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8")).hexdigest()


def _text(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def deployed(directory):
    """The deployed plan, or the reason why there is none: ``(plan or None, text)``."""
    path = os.path.join(directory, PLAN)
    try:
        text, problem = deployed_text(directory)
    except OSError as error:
        return None, f"{path}: {error.strerror}"
    if problem:
        return None, problem
    try:
        plan = json.loads(text)
    except ValueError as error:
        return None, f"{path} is not JSON: {error}"
    if not isinstance(plan, dict) or plan.get("plan_version") != PLAN_VERSION:
        return None, f"{path} was written by another version of this collection"
    return plan, ""


def deployed_text(directory):
    """The text of the deployed plan, or the reason why there is none: ``(text, reason)``. Raises OSError if it cannot be read.

    A file that a service's user, or everybody, can have written is not read, nor is a link: root would carry out what it says.
    """
    path = os.path.join(directory, PLAN)
    try:
        folder = tree.open_folder(directory, directory)
    except tree.TreeError as error:
        return "", str(error)
    if folder is None:
        return "", f"nothing is deployed on this host: there is no {directory}. Fix: run ascend.inference.site"
    try:
        entry = tree.look(folder, PLAN)
    finally:
        os.close(folder)
    if entry is None:
        return "", f"no deployment was completed on this host: there is no {path}. Fix: run ascend.inference.site"
    if not tree.trusted(entry):
        return "", (
            f"{path} is not a file that only root or the connected user can write ({entry.kind}, owner {entry.uid}, mode {entry.mode:04o}), "
            "so it is not read. Fix: find out who changed it, remove it, and run site, which records the plan again"
        )
    return entry.content.decode("utf-8", "replace"), ""
