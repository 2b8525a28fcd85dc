# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the deployment's own supervisord: needs neither root nor systemd."""

from __future__ import annotations

import posixpath
import typing as t

from ..description.findings import Finding
from ..plan.rules.base import Case, Rule, Rules
from .base import Runtime

if t.TYPE_CHECKING:
    from ..plan.deployment import Context

RULES = Rules()
VERSION = "4.3.0"  # of the package supervisor on the package index
SOCKET = 107  # bytes of a unix socket's path: sun_path of unix(7) without the terminator
BEFORE_LINK = ".4194304"  # supervisor binds a name with its process id and links it (supervisor/http.py)


class Supervisor(Runtime):
    """A program for each service, and log files below the deployment's directory."""

    name = "supervisor"
    reserves_ports = False  # it runs without root
    lifts_limits = False

    def log_of(self, unit: str, path: str) -> dict[str, str]:
        return {"kind": "file", "path": path}

    def settings(self, context: Context) -> dict[str, t.Any]:
        venv = context.venv(
            f"supervisor-{VERSION}"
        )  # a new version beside the old one, which other deployments may run from
        return {
            "socket": posixpath.join(context.folder("run"), "supervisor.sock"),
            "pid_file": posixpath.join(context.folder("run"), "supervisord.pid"),
            "config": posixpath.join(context.directory, "supervisord.conf"),
            "log": posixpath.join(context.folder("logs"), "supervisord.log"),
            "command": posixpath.join(venv, "bin", "supervisord"),
            "environments": [
                {
                    "path": venv,
                    "layer": "supervisor",
                    "requirements": [f"supervisor=={VERSION}"],
                    "imports": ["supervisor.supervisord"],
                }
            ],
        }

    def rules(self) -> t.Iterable[Rule]:
        return RULES


RUNTIME = Supervisor()


@RULES.rule("SUPERVISOR-SOCKET", "Choose a shorter path.", "unix(7); supervisor/http.py")
def socket_path(case: Case) -> t.Iterator[Finding]:
    """The path of supervisord's socket, which is below inference_root, is too long.

    A unix socket's path has at most 107 bytes, so supervisord would not start.
    """
    description = case.context.description
    if case.context.runtime is not RUNTIME:
        return
    socket = RUNTIME.settings(case.context)["socket"]
    length, allowed = len(socket.encode()), SOCKET - len(BEFORE_LINK)
    if length > allowed:
        message = f"{socket} has {length} bytes; the maximum for supervisor's socket is {allowed}"
        yield Finding.at("inference_root", description.root, message)
