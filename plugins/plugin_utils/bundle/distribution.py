# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Distributions of hosts, and the names of the packages that roles install where a host lacks them."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..runtimes.registry import runtime
from .checkouts import build_packages

DEBIAN, RED_HAT = "Debian", "RedHat"
# As the roles have them; a test compares both. {purpose: {family: names}}. Those of a runtime are facts of its record.
PACKAGES = {
    "python": {DEBIAN: ["python3-venv"], RED_HAT: ["python3"]},
    "haproxy": {DEBIAN: ["haproxy"], RED_HAT: ["haproxy"]},
    "keepalived": {DEBIAN: ["keepalived"], RED_HAT: ["keepalived"]},
    "etcd": {DEBIAN: ["etcd-server"], RED_HAT: ["etcd"]},
    "nftables": {DEBIAN: ["nftables"], RED_HAT: ["nftables"]},
    "firewalld": {DEBIAN: ["firewalld"], RED_HAT: ["firewalld"]},
    "mooncake": {
        DEBIAN: ["libcurl4", "libibverbs1", "libnuma1", "librdmacm1"],
        RED_HAT: ["libcurl", "libibverbs", "numactl-libs", "librdmacm"],
    },
}
UNPACKERS = {
    "zip": "unzip",
    "xz": "xz",
    "txz": "xz",
    "bz2": "bzip2",
    "tbz": "bzip2",
    "tbz2": "bzip2",
    "zst": "zstd",
    "tzst": "zstd",
}
XZ = {DEBIAN: "xz-utils", RED_HAT: "xz"}
SYSTEMS = {DEBIAN: "Debian and Ubuntu", RED_HAT: "openEuler and others with dnf"}
KINDS = {DEBIAN: "deb", RED_HAT: "rpm"}  # of the manifest's items
WITH_APT = ("debian", "ubuntu")  # ID of os-release(5)
MODULE_OF_APT = "python3-apt"  # ansible.builtin.apt installs it before anything else


@dataclass(frozen=True, order=True)
class Distribution:
    """``name`` and ``version`` are ID and VERSION_ID of os-release(5): 'debian', '12'. ``machine`` as uname prints it."""

    name: str
    version: str
    machine: str

    @property
    def title(self) -> str:
        """For people: 'debian 12 on aarch64'."""
        return f"{self.name} {self.version} on {self.machine}"

    @property
    def platform(self) -> str:
        """The name among the platforms of a bundle's files: 'aarch64-debian-12'."""
        return f"{self.machine}-{self.name}-{self.version}"

    @property
    def family(self) -> str:
        """The key of PACKAGES."""
        return DEBIAN if self.name in WITH_APT else RED_HAT

    def as_dict(self) -> dict[str, str]:
        """The distribution as plain data."""
        return {"name": self.name, "version": self.version, "machine": self.machine}


@dataclass(frozen=True, order=True)
class Wish:
    """Packages of one distribution. ``sources``: files of package sources on this machine, none for this machine's own."""

    distribution: Distribution
    names: tuple[str, ...]
    sources: tuple[str, ...] = ()


def distribution_of(text: str, machine: str) -> Distribution | None:
    """The distribution that 'debian 12' names; None for a text of another form."""
    found = re.fullmatch(r"([\w.-]+) ([\w.-]+)", text, re.ASCII)
    return Distribution(found.group(1), found.group(2), machine) if found else None


def purposes(plan: t.Mapping[str, t.Any], host: str = "") -> list[str]:
    """Keys of PACKAGES for what a plan runs on a host, or on all of them. The packages of its runtime are not among them."""
    kinds = {service["kind"] for service in plan["services"] if host in ("", service["host"])}
    router, contained = plan["software"]["router"], plan["runtime_facts"].get("contained")
    found = [] if contained else ["python"]
    found += sorted(
        {str(router.get(kind)) for kind in ("frontend", "balancer") if not host or kind in kinds} & {*PACKAGES}
    )
    keeping = [row["host"] for row in (plan.get("virtual_address") or {}).get("hosts", ())]
    found += ["keepalived"] if keeping and host in ("", *keeping) else []
    firewall = plan.get("firewall") or {"state": "absent"}
    if firewall["state"] != "absent":
        found.append("firewalld" if firewall["backend"] == "firewalld" else "nftables")
    found += ["etcd"] if "etcd" in kinds else []
    mooncake = plan["software"]["mooncake"].get("needed", True) and not contained
    return found + (["mooncake"] if mooncake and (not host or kinds & {*ENGINE_KINDS, "mooncake_master"}) else [])


def names(plan: t.Mapping[str, t.Any], host: str, family: str, known: t.Mapping[str, t.Any]) -> list[str]:
    """The packages that roles may install on a host. ``known``: variables of the host, with which roles install others."""
    found = set(of_runtime(plan, family, known))
    for purpose in purposes(plan, host):
        own = _own(purpose, family, known)
        found.update(PACKAGES[purpose][family] if own is None else own)
    found.update(build_packages(plan, host, family, known))
    tool = UNPACKERS.get(str(known.get("model_origin") or "").rpartition(".")[2].lower(), "")
    found.update([XZ[family] if tool == "xz" else tool] if tool else [])
    return sorted(found)


def of_runtime(plan: t.Mapping[str, t.Any], family: str, known: t.Mapping[str, t.Any]) -> list[str]:
    """The packages that the plan's runtime needs on a host, whose variables ``known`` may name others."""
    record = runtime(plan["runtime"])
    given = (known.get(record.packages_variable) or {}).get(family)
    return [str(name) for name in (record.packages.get(family, ()) if given is None else given)]


def _own(purpose: str, family: str, known: t.Mapping[str, t.Any]) -> list[str] | None:
    """What variables of roles say instead of PACKAGES."""
    single = {
        "haproxy": "router_haproxy_package",
        "keepalived": "virtual_address_package",
        "etcd": "etcd_package",
    }
    several = {name: ("firewall_packages", name) for name in ("nftables", "firewalld")}
    if purpose in single and known.get(single[purpose]):
        return [str(known[single[purpose]])]
    variable, key = several.get(purpose, ("", ""))
    given = (known.get(variable) or {}).get(key)
    return None if given is None else [str(name) for name in given]


def packages(plan: t.Mapping[str, t.Any], hosts: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    """A line for each family of distributions with the names of the packages, for hosts whose distribution is not named.

    ``hosts`` has the variables of each planned host.
    """
    lines = []
    for family, title in SYSTEMS.items():
        named = {name for purpose in purposes(plan) for name in PACKAGES[purpose][family]}
        named.update(of_runtime(plan, family, {}))
        built = {name for host, known in hosts.items() for name in build_packages(plan, host, family, known)}
        found = sorted(named | built)
        lines.append(f"packages of the distribution, if the host lacks them, on {title}: {', '.join(found)}")
    return lines


def not_carried(wish: Wish, reason: str) -> str:
    """The line for packages that this machine cannot fetch."""
    return f"packages of {wish.distribution.title}, if the host lacks them: {', '.join(wish.names)} ({reason})"
