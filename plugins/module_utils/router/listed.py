# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routers without an API of members: each has the engines of its command line, and restarts while another router serves.

The start script (plugin_utils/plan/render/router.py) leaves out the engines of the file ``away`` and records what is left in the file
``record``: a line with ``{name: pool}``, then the arguments ``--NAME-hosts`` and ``--NAME-ports``, one in each line and paired by position.
"""

from __future__ import annotations

from ..tools import foreign_file, foreign_json
from .base import Member, Router


class Listed(Router):
    """The engines with which a router started. ``record``: the file in which its start script records them."""

    restarts = True
    record = ""
    started = ""

    def read(self) -> list[Member]:
        return sorted(set(self._recorded() or ()))

    def known(self) -> bool:
        return self._recorded() is not None

    def _recorded(self) -> list[Member] | None:
        """None if there is no record: an earlier version of the script started the router, or the disk was full."""
        try:
            first, *arguments = foreign_file.read(self.record).splitlines()
            pools = foreign_json.loads(first)
        except (OSError, ValueError):
            return None
        if not isinstance(pools, dict):
            return None
        lists: dict[str, list[str]] = {}
        option = ""
        for argument in arguments:
            if argument.startswith("--"):
                option = argument[2:]
                lists[option] = []
            elif option:
                lists[option].append(argument)
        return [
            Member(str(pool), "http://{}:{}".format(f"[{host}]" if ":" in host else host, port))
            for name, pool in pools.items()
            for host, port in zip(lists.get(f"{name}-hosts", ()), lists.get(f"{name}-ports", ()))
        ]
