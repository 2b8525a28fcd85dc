# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collectors of metrics of NPUs and proxies as files: their code, copied from the code of this collection for hosts, and the units of their timers."""

from __future__ import annotations

import ast
import functools
import json
import pathlib
import posixpath
import typing as t

from ...module_utils.collector.program import FILE
from .settings import Monitoring

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "module_utils"
PACKAGE = "ascend_inference_collector"


class Kind(t.NamedTuple):
    """One timer: its unit, what it is, its module below module_utils, the file that it writes, lines of its unit."""

    unit: str
    about: str
    program: str
    metrics: str
    rights: str = ""


NPU = Kind("ascend-inference-npu-metrics", "Metrics of NPUs for node_exporter", "collector.program", FILE)
# root without capabilities: it may write the folder of root, and nothing else that root may.
PROXIES = Kind(
    "ascend-inference-proxy-metrics",
    "Metrics of proxies for node_exporter",
    "collector.proxies",
    "",
    "CapabilityBoundingSet=\nPrivateDevices=true\n",
)
SERVICE = """\
# Written by the playbook ascend.inference.monitoring; changes are lost.
[Unit]
Description={about}

[Service]
Type=oneshot
Environment=PYTHONPATH={code} PYTHONDONTWRITEBYTECODE=1
ExecStart={command}
TimeoutStartSec=900
Nice=15
IOSchedulingClass=idle
NoNewPrivileges=true
PrivateTmp=true
ProtectHome=true
ProtectSystem=strict
ReadWritePaths={folder}
{rights}"""
TIMER = """\
# Written by the playbook ascend.inference.monitoring; changes are lost.
[Unit]
Description={about}

[Timer]
OnActiveSec=5
OnBootSec=60
OnUnitInactiveSec={interval}
AccuracySec=5

[Install]
WantedBy=timers.target
"""


def collector_files(plan: t.Mapping[str, t.Any], settings: Monitoring) -> dict[str, t.Any]:
    """The timer of NPU metrics, the same for all deployments of a host: options of service_files, and what removes it."""
    made = _timer(posixpath.join(plan["root"], "npu-metrics"), NPU, settings, [])
    return {
        **made,
        "hosts": [host["name"] for host in plan["hosts"] if host["devices"]],
        "state": settings.state if settings.npu == "collector" else "",
    }


def proxy_files(plan: t.Mapping[str, t.Any], settings: Monitoring) -> dict[str, t.Any]:
    """The timer that asks the proxies of a deployment for their engines, on the host of each."""
    proxies = silent_routers(plan)
    name = plan["deployment"]
    base = posixpath.join(plan["root"], f"proxy-metrics-{name}")
    wanted = [{"service": item["name"], "host": item["host"], "url": item["health"]["url"]} for item in proxies]
    configuration = posixpath.join(base, "code", "proxies.json")
    kind = PROXIES._replace(unit=f"{PROXIES.unit}-{name}", metrics=f"ascend_inference_proxies_{name}.prom")
    content = json.dumps({"deployment": name, "file": kind.metrics, "proxies": wanted}, indent=1) + "\n"
    made = _timer(base, kind, settings, [configuration])
    made["files"].append({"path": configuration, "content": content, "mode": "0644"})
    state = settings.state if settings.proxies and proxies else ""
    return {**made, "hosts": sorted({item["host"] for item in proxies}), "state": state}


def silent_routers(plan: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """Routers without metrics that have the page /healthcheck: the proxies of vLLM-Ascend."""
    return [
        service
        for service in plan["services"]
        if service["kind"] == "router"
        and not any(port["name"] == "metrics" for port in service["ports"])
        and str((service["health"] or {}).get("url", "")).endswith("/healthcheck")
    ]


def _timer(parent: str, kind: Kind, settings: Monitoring, arguments: t.Sequence[str]) -> dict[str, t.Any]:
    """``{directory, folders, files, unit, removed}``."""
    base, package = posixpath.join(parent, "code"), posixpath.join(parent, "code", PACKAGE)
    values = {
        "about": kind.about,
        "code": base,
        "command": " ".join(
            [settings.collector_python, "-m", f"{PACKAGE}.{kind.program}", settings.textfile_directory, *arguments]
        ),
        "rights": kind.rights,
        "folder": settings.textfile_directory,
        "interval": settings.collector_interval,
    }
    units = {
        f"/etc/systemd/system/{kind.unit}.service": SERVICE.format(**values),
        f"/etc/systemd/system/{kind.unit}.timer": TIMER.format(**values),
    }
    code = {posixpath.join(package, name): content for name, content in sources(kind.program).items()}
    folders = [parent, base, package, *sorted({posixpath.dirname(path) for path in code}), settings.textfile_directory]
    return {
        "directory": base,
        "folders": [{"path": path, "mode": "0755"} for path in folders],
        "files": [{"path": path, "content": content, "mode": "0644"} for path, content in {**code, **units}.items()],
        "unit": f"{kind.unit}.timer",
        "removed": [*sorted(units), parent, posixpath.join(settings.textfile_directory, kind.metrics)],
    }


@functools.cache
def sources(program: str) -> dict[str, str]:
    """{path below module_utils: content} of the program and all that it imports from this collection."""
    found: dict[str, str] = {}
    waiting = [f"{program.replace('.', '/')}.py"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = (SOURCES / name).read_text(encoding="utf-8")
            waiting += _imported(name, found[name])
    return dict(sorted(found.items()))


def _imported(name: str, content: str) -> t.Iterator[str]:
    """Files that the relative imports of a file name."""
    folder = pathlib.PurePosixPath(name).parent
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = folder.parts[: len(folder.parts) - (node.level - 1)]
            base = pathlib.PurePosixPath(*above, *(node.module or "").split("."))
            candidates = [base.with_suffix(".py"), *(base / f"{alias.name}.py" for alias in node.names)]
            yield from (str(path) for path in candidates if (SOURCES / path).is_file())
