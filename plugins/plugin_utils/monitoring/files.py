# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of monitoring for one deployment, and what they do not watch."""

from __future__ import annotations

import json
import posixpath
import typing as t

import yaml

from ..description.findings import Finding, SettingsError
from ..description.values import built_in
from .collector import collector_files, log_files, proxy_files
from .dashboard import dashboard
from .entry import entry_rules, entry_targets
from .proxies import silent_routers
from .rules import rules
from .settings import WHY, Monitoring, read_monitoring
from .targets import targets

Record = t.Mapping[str, t.Any]
HEAD = "# Written by the playbook ascend.inference.monitoring from the plan; changes are lost. Limits: inference_monitoring.alerts.\n"
PARTS = ("targets", "rules", "dashboards")


def monitoring_files(plan: Record, raw: t.Any, hosts: t.Collection[str] | None = None) -> dict[str, t.Any]:
    """Options of service_files, what Prometheus has to read, and notes. ``hosts``: names of the inventory, if they are known.

    ``{host, state, directory, folders, files, paths, scrape, notes, reload, install, grafana}``; raises PlanError. In place of a plan there may be
    an entry, as ``entry_watched`` returns it: it has neither a dashboard nor collectors.
    """
    settings = read_monitoring(raw, hosts)
    if "entry" in plan:
        return _of_entry(plan, settings)
    if plan["runtime_facts"]["in_cluster"]:
        problem = "addresses of pods are not part of the plan"
        fix = "Let Prometheus find the pods of the cluster (kubernetes_sd)."
        raise SettingsError([Finding("inference_monitoring", "MONITORING-SETTING", problem, fix, why=WHY)])
    judged = rules(plan, settings)
    shown = dashboard(plan, settings)
    contents = {
        "targets": _json(targets(plan, settings)),
        "rules": _rules_text(judged.groups),
        "dashboards": _json(shown),
    }
    return {
        **_made(settings, plan["deployment"], contents),
        "notes": notes(plan, settings, judged.unwatched) if settings.state == "present" else [],
        "node_exporter": settings.node_exporter,
        "collector": collector_files(plan, settings),
        "proxies": proxy_files(plan, settings),
        "logs": log_files(plan, settings),
        "grafana": {"url": settings.grafana_url, "folder": settings.grafana_folder, "dashboard": shown},
    }


def _of_entry(plan: Record, settings: Monitoring) -> dict[str, t.Any]:
    """Files that nobody could use are removed."""
    watched = plan["entry"]
    contents = {"targets": _json(entry_targets(watched)), "rules": _rules_text(entry_rules(watched, settings))}
    return {
        **_made(settings, plan["deployment"], contents),
        **({} if watched["places"] else {"state": "absent"}),
        "notes": [watched["note"]] if watched["note"] and settings.state == "present" else [],
        "grafana": {"url": ""},
    }


def _made(settings: Monitoring, name: str, contents: t.Mapping[str, str]) -> dict[str, t.Any]:
    paths = {
        part: posixpath.join(settings.place(part), f"ascend-inference-{name}.{'yml' if part == 'rules' else 'json'}")
        for part in contents
    }
    return {
        "host": settings.host or "localhost",
        "state": settings.state,
        "directory": posixpath.join(settings.directory, "manifests", name),
        "folders": _folders(settings, name),
        "files": [{"path": paths[part], "content": text, "mode": "0644"} for part, text in contents.items()],
        "paths": paths,
        "configuration": yaml.safe_dump(built_in(configuration(settings)), sort_keys=False),
        "reload": settings.reload,
        "install": settings.install,
    }


def _rules_text(groups: t.Sequence[Record]) -> str:
    return HEAD + yaml.safe_dump(built_in({"groups": groups}), sort_keys=False, width=10**6)


def _json(value: t.Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def _folders(settings: Monitoring, name: str) -> list[dict[str, str]]:
    """Parents first. The last one holds the manifest of service_files, by which it knows what it wrote itself."""
    manifests = posixpath.join(settings.directory, "manifests")
    places = [settings.directory, *(settings.place(part) for part in PARTS), manifests, posixpath.join(manifests, name)]
    return [{"path": place, "mode": "0755"} for place in places]


def configuration(settings: Monitoring) -> dict[str, t.Any]:
    """What the configuration of Prometheus needs, for all deployments that have their files at the same places."""
    pattern = {part: posixpath.join(settings.place(part), "ascend-inference-*") for part in PARTS}
    scrape = {
        "job_name": "ascend-inference",
        # npu-exporter sends the time of its own cache: a clock that is wrong by minutes would lose data.
        "honor_timestamps": False,
        "scrape_interval": "15s",
        "file_sd_configs": [{"files": [f"{pattern['targets']}.json"]}],
    }
    found: dict[str, t.Any] = {"rule_files": [f"{pattern['rules']}.yml"], "scrape_configs": [scrape]}
    if settings.install:
        found["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": ["127.0.0.1:9093"]}]}]}
    return found


def notes(plan: Record, settings: Monitoring, unwatched: t.Sequence[tuple[str, str]]) -> list[str]:
    """What is not watched, and what else the site has to do, for people."""
    found = [f"Not watched: {name}, because {reason}." for name, reason in unwatched if reason.startswith("no service")]
    if not settings.probe and all(service["kind"] != "probe" for service in plan["services"]):
        found.append(
            "Not watched: empty answers with status 200, and wrong texts. Fix: set inference_monitoring.probe with the probe."
        )
    if settings.npu == "none" and any(host["devices"] for host in plan["hosts"]):
        found.append("Not watched: health, links and memory errors of the NPUs. Fix: set inference_monitoring.npu.")
    silent = sorted(service["name"] for service in silent_routers(plan))
    if silent and not settings.proxies:
        problem = "The proxies of vLLM-Ascend export no metrics. Fix: set inference_monitoring.proxies"
        found.append(f"Not watched: {', '.join(silent)}. {problem}.")
    if not settings.logs:
        found.append(
            "Not watched: messages of logs about lost, late or wrong KV cache. Fix: set inference_monitoring.logs."
        )
    if plan.get("firewall", {}).get("state") == "present":
        found.append(
            "The firewall of the deployment opens the ports of engines to inference_firewall.cluster only: Prometheus has to be in it."
        )
    return found
