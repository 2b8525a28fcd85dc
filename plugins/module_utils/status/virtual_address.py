# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the host of a balancer has the virtual address of the clients' entry, and whether it could get it."""

from __future__ import annotations

import os

from ..host.virtual_address import holds

RUN = "/run"  # systemd makes keepalived's folder there, and removes it when keepalived ends


def state_of(service, run=RUN):
    """``{virtual_address, has_address, kept}`` of a balancer whose host may have one; {} of other services, and if the kernel does not say.

    ``kept``: whether keepalived runs; missing for a plan of a version that did not name it. Needs no rights and no program.
    """
    address = service.get("virtual_address")
    if not address:
        return {}
    found = holds(address)
    if found is None:
        return {}
    kept = (
        {"kept": os.path.exists(os.path.join(run, service["keeper"], "keepalived.pid"))} if "keeper" in service else {}
    )
    return {"virtual_address": address, "has_address": found, **kept}


def findings(service, known):
    """A finding if keepalived does not run: nothing else would show that the other host stands alone. ``known``: with the result of `state_of`."""
    if known.get("kept") is False:
        yield (
            "keepalived does not run on its host, which cannot get the virtual address {} when the other host is lost. Fix: see journalctl -u {}, then "
            "run ascend.inference.deploy"
        ).format(known["virtual_address"], service["keeper"])
