# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watch beside an engine whose links do not come back: which engines it asks, and how often it may end its own.

No service of a host may restart one of another host, so each engine ends itself and its runtime starts it again. The start of another engine is
on its page /metrics (``process_start_time_seconds``), which needs no key.
"""

from __future__ import annotations

import json
import posixpath
import typing as t

from ....module_utils.links.record import NAME as RECORD
from ..deployment import Context
from ..placement import Instance, Process
from ..service import File, LinkWatch, base_url
from .kv import connector_name
from .mooncake import engine_venv

MODULE = "ascend_inference_links.links.program"  # as views/program_code.py writes it
INTERVAL, TIMEOUT = 5, 5  # seconds: between two looks, and for an answer
PER_HOUR = 4  # restarts; an engine that needs more follows one that ends again and again
SIDES = {"prefill": "decode", "decode": "prefill"}


def link_watch(context: Context, instance: Instance, process: Process) -> LinkWatch | None:
    """The watch of an engine process; None if its connector links again, or there is nobody to link with."""
    linking = _linking(context, instance)
    peers = _peers(context, SIDES.get(instance.kind, "")) if linking else {}
    if not peers:
        return None
    name = instance.process_name(process)
    directory = context.service_directory(name)
    record = posixpath.join(directory, "work", RECORD)
    settings = {
        "service": name,
        "connector": linking,
        "own": dict(_apis(context, instance)).get(name) or _apis(context, instance)[0][1],
        "peers": peers,
        "record": record,
        "interval": INTERVAL,
        "timeout": TIMEOUT,
        "per_hour": PER_HOUR,
        "stop_timeout": context.description.stop_timeout,
    }
    path = posixpath.join(directory, "link_watch.json")
    python = "python3" if context.contained else context.program(engine_venv(context), "python3")
    content = json.dumps(settings, indent=1, sort_keys=True) + "\n"
    return LinkWatch((python, "-m", MODULE, path), File(path, content), record)


def _linking(context: Context, instance: Instance) -> str:
    """The connector of the instance that does not link again; empty without one."""
    names = (connector_name(context, transfer) for transfer in context.transfer_of(instance.pool))
    return next((name for name in names if context.release.links_once(name)), "")


def _peers(context: Context, side: str) -> dict[str, str]:
    """Name and URL of the engines of a side. Computed once: thousands of engines ask for the same."""
    key = ("peers of links", side)
    if key not in context.memo:
        others = [other for other in context.instances if other.kind == side and _linking(context, other)]
        context.memo[key] = dict(api for other in others for api in _apis(context, other))
    found: dict[str, str] = context.memo[key]
    return found


def _apis(context: Context, instance: Instance) -> list[tuple[str, str]]:
    """Name and URL of the instance's processes that answer requests."""
    answering: t.Iterable[Process] = (process for process in instance.processes if not instance.headless(process))
    found = []
    for process in answering:
        name = instance.process_name(process)
        found.append((name, base_url(process.host.address, context.ports[name].api)))
    return found
