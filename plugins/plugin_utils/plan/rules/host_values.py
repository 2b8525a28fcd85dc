# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of what the planner hands to the host's own programs: interfaces, users, folders, containers' settings."""

from __future__ import annotations

import ipaddress
import posixpath
import re
import typing as t

from ...description.findings import Finding, nearest, spans
from ...description.variables import DEVICES
from ..placement import hosts_of
from .base import Case, Rules
from .images import images

RULES = Rules()
LEAST_SHM = 64 * 2**20  # docker's own default
MOUNT_OPTIONS = re.compile(
    r"(ro|rw|z|Z|shared|slave|private|rshared|rslave|rprivate|nocopy|cached|delegated|consistent)"
)
MOST_NPUS = {"a2": 16, "a3": 16, "910a": 16}
SIZE = re.compile(r"[1-9]\d*[bkmgBKMG]?")
PART = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
IMAGE = re.compile(
    rf"(?:[A-Za-z0-9.-]+(?::\d+)?/|\[[0-9a-fA-F:]+\](?::\d+)?/)?{PART}(?:/{PART})*(?::[\w][\w.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)


@RULES.rule(
    "INTERFACE-NAME",
    "Write the name of one interface as `ip link` prints it.",
    "Linux if.h: IFNAMSIZ; names have at most 15 bytes, no blank and no slash",
)
def interface_name(case: Case) -> t.Iterator[Finding]:
    """A variable of an interface has a text that is not the name of one.

    Gloo and HCCL find no such interface and end the engine at start, and keepalived sets no virtual address.
    """
    names = sorted({service.host for service, dummy, dummy in case.engines} if not case.in_pods else ())
    found = {f"{name}.inference_interface": case.context.hosts[name].interface for name in names}
    description = case.context.description
    found["inference_interface"] = description.interface if case.in_pods else ""
    found["inference_router.virtual_interface"] = description.router.virtual_interface
    for place, text in found.items():
        if _is_address(text):
            yield Finding.at(place, text, f"'{text}' is an address, not the name of the interface that holds it")
        elif len(text.encode()) > 15 or re.search(r"[\s/]", text):
            yield Finding.at(place, text, f"'{text}' is not the name of an interface")


@RULES.rule(
    "INTERFACE-LOOPBACK",
    "Set inference_interface to the interface of the network between the hosts.",
    "CANN: HCCL_SOCKET_IFNAME; Gloo: GLOO_SOCKET_IFNAME",
)
def interface_loopback(case: Case) -> t.Iterator[Finding]:
    """inference_interface is the loopback interface, and the deployment has several hosts.

    Gloo and HCCL advertise 127.0.0.1, and the ranks of other hosts never connect.
    """
    names = sorted({service.host for service, dummy, dummy in case.engines} if not case.in_pods else ())
    for name in names if len(names) > 1 else ():
        host = case.context.hosts[name]
        if host.interface == "lo" and not host.address.startswith("127."):  # addresses of one machine for several names
            yield Finding.at(f"{name}.inference_interface", "lo", f"{name} has peers on other hosts")


@RULES.rule(
    "DEVICE-COUNT",
    "Correct inference_devices or inference_hardware.",
    "Atlas 800 A3: 16 dies; Atlas 800T A2: 8, Atlas 200T A2 Box16: 16",
    "warning",
)
def device_count(case: Case) -> t.Iterator[Finding]:
    """A host has more devices than a server of its hardware.

    The additional devices do not exist, and engines that are planned on them do not start.
    """
    used: dict[str, set[int]] = {}
    for service, dummy, dummy in case.engines if case.npu and not case.in_pods else ():
        used.setdefault(service.host, set()).update(service.devices)
    for name in sorted(used):
        host = case.context.hosts[name]
        most = MOST_NPUS.get(host.hardware, 1024)
        missing = [device for device in host.devices if device >= most and device in used[name]]
        given = len(host.devices) if host.devices == tuple(range(len(host.devices))) else spans(host.devices)
        server = f"a server of generation {host.hardware} has at most {most}"
        if missing:
            problem = (
                f"engines are planned on device {', '.join(map(str, missing))}, and {server}, from 0 to {most - 1}"
            )
            yield Finding.at(f"{name}.inference_devices", given, problem, severity="error")
        elif len(host.devices) > most or host.devices[-1] >= most:
            problem = f"{len(host.devices)} devices are listed, and {server}"
            yield Finding.at(f"{name}.inference_devices", given, problem)
        elif host.hardware in MOST_NPUS and host.devices[-1] >= DEVICES[host.hardware]:
            problem = (
                f"device {host.devices[-1]} is listed, and nearly all servers of generation {host.hardware} have "
                f"{DEVICES[host.hardware]}, from 0 to {DEVICES[host.hardware] - 1}"
            )
            yield Finding.at(f"{name}.inference_devices", given, problem, "If this one has more, accept this rule.")


@RULES.rule("USER-NAME", "Write the name of a user of the hosts.", "useradd(8)")
def user_name(case: Case) -> t.Iterator[Finding]:
    """inference_user cannot be the name of a user.

    The units that run as this user are refused.
    """
    user = case.context.description.user
    if user and not re.fullmatch(r"[A-Za-z_][\w.-]{0,30}\$?|\d+", user):
        yield Finding.at("inference_user", user, f"'{user}' is not the name of a user")


@RULES.rule("CANN-PATH", "Write the absolute path of the folder, such as /usr/local/Ascend.", "CANN installation guide")
def cann_path(case: Case) -> t.Iterator[Finding]:
    """inference_cann_path is not an absolute path, or one of a part of CANN.

    Services source CANN's set_env.sh below it, and find none.
    """
    path = case.context.description.cann_path
    inside = re.search(r"/(ascend-toolkit|nnal|set_env\.sh)(/.*)?$", path)
    if inside and posixpath.isabs(path):
        problem = f"'{inside.group()[1:]}' is a part of CANN, and the planner adds it"
        yield Finding.at("inference_cann_path", path, problem, f"Write {path[: inside.start()] or '/'}.")
        return
    if not posixpath.isabs(path) or re.search(r"\s", path):
        yield Finding.at("inference_cann_path", path, f"'{path}' is not an absolute path without blanks")


@RULES.rule(
    "GROUP-EMPTY",
    "Correct the name of the group, or put a host into it.",
    "design of the planner: without a host in the group the first engine's host is taken",
    "warning",
)
def group_empty(case: Case) -> t.Iterator[Finding]:
    """A named group has no host.

    The service runs on the first host with an engine instead of where it was meant to run.
    """
    description = case.context.description
    groups = sorted({group for host in case.context.hosts.values() for group in host.groups})
    for path, group, usual, kind in (
        ("inference_router.group", description.router.group, "router", "router"),
        ("inference_mooncake_master.group", description.mooncake_master.group, "mooncake_master", "mooncake_master"),
        (
            "inference_store.ha.etcd_group",
            description.store.ha.etcd_group if description.store.ha else "",
            "etcd",
            "etcd",
        ),
    ):
        if group != usual and not case.in_pods and case.named(kind) and not hosts_of(group, case.context.hosts):
            yield Finding.at(path, group, f"no host is in group '{group}'", nearest(group, groups))


@RULES.rule("BIND-ADDRESS", "Write an IP address of the host, 0.0.0.0 or ::.", "bind(2)")
def bind_address(case: Case) -> t.Iterator[Finding]:
    """The router, the frontend or the balancer is to listen on something that is not an address of its host.

    The program ends at start, and no request is answered.
    """
    router = case.context.description.router
    for kind, name, address in (
        ("router", "bind", router.bind),
        ("frontend", "frontend_bind", router.frontend_bind),
        ("balancer", "balancer_bind", router.balancer_bind),
    ):
        problem = _unbindable(case, kind, address) if address and address != "localhost" else ""
        if problem:
            yield Finding.at(f"inference_router.{name}", address, problem)


def _unbindable(case: Case, kind: str, text: str) -> str:
    """Why no service of this kind can listen on an address; "" if it can, or if nothing is known against it."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return f"'{text}' is not an IP address"
    if address.version == 6 and address.is_link_local and not address.scope_id:
        return f"{text} is a link-local address without its interface"
    users = {service.host for service in case.services if service.kind == kind}
    owners = {host.name: host.address for host in case.context.hosts.values() if _equal(host.address, address)}
    if users and owners and not users & set(owners) and not address.is_loopback:
        return (
            f"{text} is the address of {', '.join(sorted(owners))}, and the {kind} runs on {', '.join(sorted(users))}"
        )
    return ""


def _is_address(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _equal(text: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return _is_address(text) and ipaddress.ip_address(text) == address


@RULES.rule(
    "MOUNT-FORM",
    "Write /folder/on/the/host:/folder/in/the/container, with :ro behind it for a read-only mount.",
    "docker run --volume",
)
def mounts(case: Case) -> t.Iterator[Finding]:
    """A mount is not SOURCE:TARGET with absolute paths, or its target is used already.

    The container is refused, or gets an empty volume instead of the host's folder.
    """
    targets = _own_targets(case)
    for index, mount in enumerate(case.context.description.container.mounts if case.context.contained else ()):
        parts = mount.split(":")
        options = parts[2].split(",") if len(parts) == 3 else []
        paths = all(posixpath.isabs(part) for part in parts[:2])
        if len(parts) not in (2, 3) or not paths or not all(MOUNT_OPTIONS.fullmatch(option) for option in options):
            path = f"inference_container.mounts[{index}]"
            yield Finding.at(path, mount, f"'{mount}' is not SOURCE:TARGET or SOURCE:TARGET:ro with absolute paths")
            continue
        path, target = f"inference_container.mounts[{index}]", posixpath.normpath(parts[1])
        other = targets.setdefault(target, mount)
        if {"ro", "rw"} <= set(options):
            yield Finding.at(path, mount, f"'{mount}' is both ro and rw")
        elif other != mount:
            yield Finding.at(path, mount, f"{target} is also the target of '{other}'")


def _own_targets(case: Case) -> dict[str, str]:
    """Target and mount of what the plan mounts itself: before the user's, in each container."""
    more = len(case.context.description.container.mounts)
    found = [service.container.get("mounts", []) for service in case.services if service.container]
    own = {mount for mounts in found for mount in mounts[: len(mounts) - more]}
    return {posixpath.normpath(mount.split(":")[1]): mount for mount in own}


@RULES.rule("SHM-SIZE", "Write a number with b, k, m or g, such as 64g.", "docker run --shm-size")
def shm_size(case: Case) -> t.Iterator[Finding]:
    """The size of the containers' shared memory is not a size, or too small.

    The container is refused, or workers that exchange messages there end with a bus error.
    """
    size = case.context.description.container.shm_size
    if case.context.contained and not SIZE.fullmatch(size):
        yield Finding.at("inference_container.shm_size", size, f"'{size}' is not a size such as 64g")
    elif case.context.contained and bytes_of(size) < LEAST_SHM:
        yield Finding.at("inference_container.shm_size", size, f"'{size}' means {bytes_of(size)} bytes, less than 64m")


def bytes_of(text: str) -> int:
    """Bytes of a size as docker reads it; a number without a unit is in bytes."""
    unit = text[-1].lower()
    return int(text.rstrip("bkmgBKMG")) * 1024 ** max("bkmg".find(unit), 0)


@RULES.rule("IMAGE-NAME", "Write registry/name:tag or registry/name@sha256:digest.", "distribution reference grammar")
def image_name(case: Case) -> t.Iterator[Finding]:
    """inference_image or inference_router.balancer_image is not the name of an image.

    It cannot be pulled, and no container starts.
    """
    for place, image, dummy in images(case):
        if image and not IMAGE.fullmatch(image):
            yield Finding.at(place, image, f"'{image}' is not the name of an image{_part(image)}")


def _part(image: str) -> str:
    """Which part of a text prevents that it names an image; "" if it is not known."""
    name, _at, digest = image.partition("@")
    if "://" in name:
        return f": '{name.partition('://')[0]}://' belongs to a URL"
    if _at and not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        count = len(digest.removeprefix("sha256:"))
        return f": behind @ there are {count} characters, and not sha256: and 64 digits from 0 to f in lower case"
    path = name.rpartition(":")[0] if ":" in name.rpartition("/")[2] else name
    return ": it has upper-case letters" if path != path.lower() else ""
