# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fault of a drill leaves on a host whose controller, module or guard was killed, so that the next run ends it.

``drill.json`` in the deployment's folder, which belongs to root: ``{action, services: {name: [[pid, started]]}}``, written before the fault and
removed when the services have recovered. A process is named by its id and its start, so that a reused id is left alone.
"""

from __future__ import annotations

import signal
from typing import Any, Mapping, Sequence

from ..files import tree
from ..files.journal import LEFT, Folder
from .processes import Process, is_paused, read, send

PAUSED = (
    "a drill has paused {}, so no request there is answered. Fix: if no drill runs any more, run ascend.inference.deploy with the settings that are "
    "deployed: it continues the paused processes first, as every playbook that locks the deployment does"
)
Found = Mapping[str, Sequence[Process]]


def note(base: str, action: str, found: Found) -> None:
    """Before the fault. Nothing without the deployment's folder. Raises TreeError, OSError."""
    services = {name: [[item.pid, item.started] for item in processes] for name, processes in found.items()}
    with Folder(base) as folder:
        if folder.descriptor is not None:
            folder.write(LEFT, {"action": action, "services": services})


def forget(base: str) -> None:
    """After the services have recovered."""
    with Folder(base) as folder:
        if folder.descriptor is not None:
            tree.discard(folder.descriptor, LEFT)


def noted(base: str) -> bool:
    """Whether a fault is on record still: the next run that locks the deployment removes it."""
    with Folder(base) as folder:
        return bool(folder.read(LEFT))


def resume(base: str) -> str:
    """Continue paused processes that a drill left, and forget it -> a sentence about it, "" if there is nothing. Raises PermissionError."""
    with Folder(base) as folder:
        known = folder.read(LEFT)
    if not known:
        return ""
    services = known.get("services")
    services = services if isinstance(services, dict) else {}
    paused = known.get("action") == "pause"
    reached = send([item for rows in services.values() for item in _processes(rows)], signal.SIGCONT) if paused else []
    forget(base)
    ended = {"pause": f"{len(reached)} of their processes were continued", "abort": "it breaks off no request any more"}
    done = ended.get(str(known.get("action")), "they had been killed")
    return "A drill that hit {} was interrupted here; {}. Fix: run status; where a service does not run, run restart for it, or site".format(
        ", ".join(sorted(map(str, services))) or "services", done
    )


def paused(base: str) -> str:
    """A sentence about services that a drill has paused and that are paused still; "" if there are none."""
    with Folder(base) as folder:
        services = folder.read(LEFT).get("services")
    rows = services.items() if isinstance(services, dict) else ()
    names = sorted(str(name) for name, found in rows if any(is_paused(item) for item in _processes(found)))
    return PAUSED.format(", ".join(names)) if names else ""


def _processes(rows: Any) -> list[Process]:
    """The processes of a record that still are the same; none of a record of another form."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, list) and len(row) == 2 and isinstance(row[0], int) and row[0] > 1:
            process = read(row[0])
            if process is not None and process.started == row[1]:
                found.append(process)
    return found
