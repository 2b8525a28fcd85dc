# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routers that a change has taken out of service at the balancer, and that no run has returned. Runs on the balancer's host."""

from __future__ import annotations

from ..balancer.admin import Balancer, BalancerProblem

READY = "ready"


def routers_of(service):
    """What the balancer sends to its routers: ``{routers: {name: {state, weight}}}``; ``{routers_unknown: why}`` if that is not known.

    ``{}`` of other services, and of a balancer that a plan of an older version of this collection deployed.
    """
    asked = service.get("balancer")
    if not asked:
        return {}
    try:
        found = Balancer(asked["socket"], asked["backend"]).servers()
    except BalancerProblem as error:
        return {"routers_unknown": str(error)}
    return {"routers": {name: {"state": row.state, "weight": row.weight} for name, row in found.items()}}


def out_of_service(routers):
    """Names of the routers that get no new requests because somebody set so."""
    return sorted(name for name, row in routers.items() if row["state"] != READY or not row["weight"])


def findings(known):
    """The balancer's findings about what `routers_of` returned."""
    if "routers_unknown" in known:
        yield "does not say which routers are drained: {}".format(known["routers_unknown"])
    drained = out_of_service(known.get("routers", {}))
    if drained:
        yield (
            "sends no new requests to {}, which a change has drained and not returned. Fix: wait if a change is under way. If it was "
            "interrupted, run upgrade or rollback after an upgrade, and ascend.inference.deploy otherwise"
        ).format(", ".join(drained))
