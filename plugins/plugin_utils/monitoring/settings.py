# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variable `inference_monitoring`: where Prometheus reads its files, what it scrapes beside the engines, and limits of alerts."""

from __future__ import annotations

import posixpath
import typing as t
from dataclasses import dataclass

from ...module_utils.files.system_folders import holds_the_system
from ..description.findings import Finding, SettingsError, nearest
from ..description.loader import Reader, choice, documented, factory, number, typed
from .alerts import ALERTS
from .entry_alerts import ENTRY_ALERTS

WHY = "Nothing was written, so that no alert is missing without notice."


@dataclass(frozen=True)
class AlertSettings:
    """Limits of one alert. What is not set has the default of the page of alerts."""

    enabled: bool = documented("Whether the rule is written.", True)
    threshold: int = documented("The limit, in the unit of the alert. -1: its default.", number(-1, -1, 10**9))
    after: int = documented(
        "Seconds for which the condition holds before the alert fires. -1: its default.", number(-1, -1)
    )
    window: int = documented(
        "Seconds over which rates are computed: at least four scrapes. 0: its default.", number(0, 0)
    )


@dataclass(frozen=True)
class Monitoring:
    """What the playbook monitoring writes, and where."""

    host: str = documented(
        "Host of the inventory on which Prometheus reads the files. Default: the controller.", typed("name")
    )
    state: str = documented("absent: the files are removed.", choice("present", "absent"))
    directory: str = documented(
        "Folder on that host. The files of all deployments are in its folders targets, rules and dashboards.",
        typed("path", "/etc/prometheus/ascend-inference"),
    )
    targets_directory: str = documented("Other folder for the targets (file_sd).", typed("path"))
    rules_directory: str = documented("Other folder for the rules.", typed("path"))
    dashboards_directory: str = documented("Other folder for the dashboard.", typed("path"))
    reload: str = documented(
        "Unit that is reloaded when rules change, such as prometheus. Targets are read again without it. Default: none.",
        typed("name"),
    )
    install: bool = documented(
        "Whether Prometheus and Alertmanager of the distribution are installed on that host.", False
    )
    node_exporter: bool = documented(
        "Whether the planned hosts have a node_exporter. It serves the metrics of the probe and of the collector.",
        False,
    )
    node_exporter_port: int = documented("Port of node_exporter.", number(9100, 1, 65535))
    npu: str = documented(
        "Source of the metrics of NPUs. npu_exporter: that of MindCluster, which the site runs. collector: the timer "
        "that this collection installs, with node_exporter.",
        choice("none", "npu_exporter", "collector"),
    )
    npu_exporter_port: int = documented("Port of npu-exporter.", number(8082, 1, 65535))
    textfile_directory: str = documented(
        "Folder of node_exporter's textfile collector on the hosts, to which the collector writes.",
        typed("directory", "/var/lib/prometheus/node-exporter"),
    )
    collector_interval: int = documented("Seconds between two rounds of the collectors.", number(60, 10, 3600))
    collector_python: str = documented(
        "Python of the hosts, 3.7 or later, for the collector.", typed("directory", "/usr/bin/python3")
    )
    proxies: bool = documented(
        "Whether a timer on the hosts of vLLM-Ascend's proxies, which export nothing, asks them for the number of their engines.",
        False,
    )
    logs: bool = documented(
        "Whether a timer on the hosts counts messages about lost, late or wrong KV cache in the logs of the services, and the transfers that they report.",
        False,
    )
    probe: bool = documented(
        "Whether the probe runs and its metrics are in the textfile folder of node_exporter.", False
    )
    grafana_url: str = documented(
        "Grafana that gets the dashboard, with the token inference_grafana_token. Default: none.",
        typed("url"),
    )
    grafana_folder: str = documented("Uid of the folder in Grafana. Default: the general one.", typed("name"))
    documents_url: str = documented(
        "Base of the links to the documentation in alerts.",
        typed("url", "https://github.com/ascend-inference/ascend.inference/blob/main/docs/docsite/rst"),
    )
    alerts: dict[str, AlertSettings] = documented("Limits by the name of the alert.", factory(dict))

    def place(self, part: str) -> str:
        """The folder of the ``targets``, ``rules`` or ``dashboards`` of all deployments."""
        return getattr(self, f"{part}_directory") or posixpath.join(self.directory, part)


def read_monitoring(raw: t.Any, hosts: t.Collection[str] | None = None) -> Monitoring:
    """The settings. ``hosts``: names of the inventory, if they are known. Raises PlanError with all errors."""
    reader = Reader()
    found = t.cast(Monitoring, reader.record(Monitoring, raw, "inference_monitoring"))
    findings = [*reader.findings, *_contradictions(found)]
    if hosts is not None and found.host not in ("", "localhost", *hosts):
        fix = f"{nearest(found.host, hosts)}Name a host of the inventory, or remove it for the controller."
        findings.append(_finding("host", f"the inventory has no host '{found.host}'", fix))
    if findings:
        raise SettingsError(findings)
    return found


FOLDERS = ("directory", "targets_directory", "rules_directory", "dashboards_directory", "textfile_directory")


def _contradictions(found: Monitoring) -> t.Iterator[Finding]:
    names = {alert.name for alert in (*ALERTS, *ENTRY_ALERTS)}
    for name in found.alerts:
        if name not in names:
            fix = f"{nearest(name, names)}The page of alerts lists them all."
            yield _finding(f"alerts.{name}", "there is no alert of this name", fix)
    for name in FOLDERS:
        path = getattr(found, name)
        if path.startswith("/") and holds_the_system(path):
            fix = "Name a folder of its own, such as /etc/prometheus/ascend-inference."
            yield _finding(name, f"{path} is a folder of the operating system", fix)
    served = {"probe": found.probe, "npu": found.npu == "collector", "proxies": found.proxies, "logs": found.logs}
    for name, needed in served.items():
        if needed and not found.node_exporter:
            problem = "its metrics are served by node_exporter, and node_exporter is false"
            yield _finding(name, problem, "Set inference_monitoring.node_exporter: true.")


def _finding(name: str, problem: str, fix: str) -> Finding:
    return Finding(f"inference_monitoring.{name}", "MONITORING-SETTING", problem, fix, why=WHY)
