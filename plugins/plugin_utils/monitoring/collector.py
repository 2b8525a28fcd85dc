# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collectors of metrics of NPUs, proxies and logs as files: their code, copied from the code for hosts, and the units of their timers."""

from __future__ import annotations

import json
import posixpath
import typing as t

from ...module_utils.collector.program import FILE
from ...module_utils.verify.logs import services_of
from ...module_utils.verify.plan import read_plan
from ..plan.host_code import sources
from .proxies import silent_routers
from .settings import Monitoring

PACKAGE = "ascend_inference_collector"


class Kind(t.NamedTuple):
    """One timer: its unit, what it is, its module below module_utils, the file that it writes, lines of its unit."""

    unit: str
    about: str
    program: str
    metrics: str
    rights: str = ""


# The vendor's tools run as root: hccn_tool locks /etc/hccn.conf and writes its log below /var/log. They reach the driver by its device files and
# look at processes, so these stay visible (ProtectClock would hide the devices), and capabilities that a driver may ask for stay as well.
NPU = Kind(
    "ascend-inference-npu-metrics",
    "Metrics of NPUs for node_exporter",
    "collector.program",
    FILE,
    """\
ProtectSystem=true
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallFilter=@system-service
CapabilityBoundingSet=~CAP_SYS_PTRACE CAP_SYS_MODULE CAP_SYS_BOOT CAP_SYS_TIME CAP_SYS_CHROOT CAP_SYS_PACCT CAP_SYS_TTY_CONFIG CAP_SYSLOG
CapabilityBoundingSet=~CAP_SETUID CAP_SETGID CAP_SETPCAP CAP_SETFCAP CAP_KILL CAP_MKNOD CAP_LEASE CAP_IPC_OWNER
CapabilityBoundingSet=~CAP_LINUX_IMMUTABLE CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_AUDIT_CONTROL CAP_AUDIT_READ CAP_AUDIT_WRITE CAP_BPF
CapabilityBoundingSet=~CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_WAKE_ALARM CAP_BLOCK_SUSPEND
""",
)
# Of programs without devices. CAP_DAC_OVERRIDE: the folder of node_exporter and the logs may belong to other users; nothing else is writable here.
CONFINED = """\
CapabilityBoundingSet=CAP_DAC_OVERRIDE
PrivateDevices=true
PrivateIPC=true
ProtectClock=true
ProtectProc=invisible
UMask=0077
MemoryDenyWriteExecute=true
RestrictAddressFamilies={families}
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
"""
# It reads what a proxy answers, from addresses of this host.
PROXIES = Kind(
    "ascend-inference-proxy-metrics",
    "Metrics of proxies for node_exporter",
    "collector.proxies",
    "",
    CONFINED.format(families="AF_UNIX AF_INET AF_INET6 AF_NETLINK"),
)
# root, because it owns the journal and Docker's socket. Logs in files belong to the services' user, possibly below its home.
LOGS = Kind(
    "ascend-inference-log-metrics",
    "Metrics of logs for node_exporter",
    "collector.logs",
    "",
    CONFINED.replace("{families}", "AF_UNIX")
    + "ProtectHome=read-only\nStateDirectory={state}\nStateDirectoryMode=0700\n",
)
SERVICE = """\
# Written by the playbook ascend.inference.monitoring; changes are lost.
[Unit]
Description={about}

[Service]
Type=oneshot
Environment=PYTHONPATH={code} PYTHONDONTWRITEBYTECODE=1
ExecStart={command}
# A removal ends a round that is running.
SuccessExitStatus=SIGTERM
TimeoutStartSec=900
Nice=15
IOSchedulingClass=idle
NoNewPrivileges=true
PrivateTmp=true
ProtectHome=true
ProtectSystem=strict
ProtectHostname=true
ProtectKernelLogs=true
ProtectKernelModules=true
ProtectKernelTunables=true
ProtectControlGroups=true
RestrictNamespaces=true
RestrictRealtime=true
RestrictSUIDSGID=true
LockPersonality=true
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
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


def log_files(plan: t.Mapping[str, t.Any], settings: Monitoring) -> dict[str, t.Any]:
    """The timer that counts messages in the logs of the services, on each host with its own services (``own``: host to its files)."""
    name = plan["deployment"]
    base = posixpath.join(plan["root"], f"log-metrics-{name}")
    unit, file = f"{LOGS.unit}-{name}", f"ascend_inference_logs_{name}.prom"
    state = posixpath.join("/var/lib", unit)
    verify = read_plan(plan["verify"])
    own: dict[str, list[dict[str, str]]] = {}
    for host in plan["hosts"]:
        logs = services_of(verify, host["name"])
        content = {
            "deployment": name,
            "file": file,
            "state": posixpath.join(state, "state.json"),
            "transferred": verify.release.lines.transferred,
            "services": [
                {"service": service, "role": _role(plan, service), "log": log._asdict()} for service, log in logs
            ],
        }
        path = posixpath.join(base, "code", "logs.json")
        if logs:
            own[host["name"]] = [{"path": path, "content": json.dumps(content, indent=1) + "\n", "mode": "0644"}]
    rights = LOGS.rights.format(state=unit)
    kind = LOGS._replace(unit=unit, metrics=file, rights=rights)
    made = _timer(base, kind, settings, [posixpath.join(base, "code", "logs.json")])
    made["outputs"] += [posixpath.join(state, "state.json"), state]
    return {**made, "hosts": sorted(own), "own": own, "state": settings.state if settings.logs and own else ""}


def _role(plan: t.Mapping[str, t.Any], service: str) -> str:
    return next((item["kind"] for item in plan["services"] if item["name"] == service), "")


def _timer(parent: str, kind: Kind, settings: Monitoring, arguments: t.Sequence[str]) -> dict[str, t.Any]:
    """``{directory, folder, folders, files, own, unit, service, outputs}``.

    ``outputs``: what its rounds write; ``own``: host to files that only it has; ``folder``: above ``directory``.
    """
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
        "own": {},
        "unit": f"{kind.unit}.timer",
        "service": f"{kind.unit}.service",
        "folder": parent,
        "outputs": [posixpath.join(settings.textfile_directory, kind.metrics)],
    }
