# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What monitoring has to know of an entry: where Prometheus asks each host, if it may."""

from __future__ import annotations

import typing as t

from ..plan.service import bracketed
from .pair import NAME, own_address, pair_of
from .reading import read_entry

UNSEEN = (
    "Not watched: the entry, because its metrics can be read on its hosts alone. Fix: set inference_entry.monitoring to the addresses of "
    "Prometheus, and run the playbook entry"
)


def entry_watched(settings: t.Any, hosts: t.Mapping[str, str]) -> dict[str, t.Any]:
    """What the role monitoring reads in place of a plan. ``hosts``: addresses by the names of the group entry. Raises PlanError.

    Its files are named by a host, so that they are found again whatever the settings say by now.
    """
    entry = read_entry(settings, hosts, routed=False)
    open_ = entry.state == "present" and entry.monitoring
    places = {
        name: f"{bracketed(own_address(entry, pair_of(hosts, name)))}:{entry.status_port}" for name in hosts if open_
    }
    note = UNSEEN if entry.state == "present" and not places else ""
    return {
        "deployment": f"{NAME}-{min(hosts.values()).replace(':', '-')}",
        "entry": {"address": entry.address, "places": places, "note": note},
    }
