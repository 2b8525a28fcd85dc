# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of the distribution that the roles install where a host lacks them. No bundle holds them: each rack has its own releases of them."""

from __future__ import annotations

import typing as t

DEBIAN, RED_HAT = "Debian", "RedHat"
# As the roles have them; a test compares both. {purpose: {family: names}}
PACKAGES = {
    "docker": {DEBIAN: ["docker.io", "python3-requests"], RED_HAT: ["docker", "python3-requests"]},
    "python": {DEBIAN: ["python3-venv"], RED_HAT: ["python3"]},
    "nginx": {DEBIAN: ["nginx"], RED_HAT: ["nginx"]},
    "haproxy": {DEBIAN: ["haproxy"], RED_HAT: ["haproxy"]},
    "etcd": {DEBIAN: ["etcd-server"], RED_HAT: ["etcd"]},
    "nftables": {DEBIAN: ["nftables"], RED_HAT: ["nftables"]},
    "firewalld": {DEBIAN: ["firewalld"], RED_HAT: ["firewalld"]},
    "mooncake": {
        DEBIAN: ["libcurl4", "libibverbs1", "libnuma1", "librdmacm1"],
        RED_HAT: ["libcurl", "libibverbs", "numactl-libs", "librdmacm"],
    },
}
SYSTEMS = {DEBIAN: "Debian and Ubuntu", RED_HAT: "openEuler and others with dnf"}


def purposes(plan: t.Mapping[str, t.Any]) -> list[str]:
    """Keys of PACKAGES for what a plan runs."""
    kinds = {service["kind"] for service in plan["services"]}
    router, contained = plan["software"]["router"], plan["runtime_facts"].get("contained")
    found = ["docker" if contained else "python"]
    found += [name for name in (router.get("frontend"), router.get("balancer")) if name in PACKAGES]
    firewall = plan.get("firewall") or {"state": "absent"}
    if firewall["state"] != "absent":
        found.append("firewalld" if firewall["backend"] == "firewalld" else "nftables")
    found += ["etcd"] if "etcd" in kinds else []
    return found + (["mooncake"] if plan["software"]["mooncake"].get("needed", True) and not contained else [])


def packages(plan: t.Mapping[str, t.Any]) -> list[str]:
    """A line for each family of distributions with the names of the packages."""
    lines = []
    for family, title in SYSTEMS.items():
        names = sorted({name for purpose in purposes(plan) for name in PACKAGES[purpose][family]})
        lines.append(f"packages of the distribution, if the host lacks them, on {title}: {', '.join(names)}")
    return lines
