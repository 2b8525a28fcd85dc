# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of folders: those that root makes and fills, and those of a host that containers get."""

from __future__ import annotations

import posixpath
import typing as t

from ....module_utils.files.system_folders import holds_the_system, is_no_data, is_secret, is_system_folder
from ...description.findings import Finding
from ...description.variables import Description
from .base import Case, Rules
from .paths import given_paths

RULES = Rules()
SOCKETS = ("containerd.sock", "crio.sock", "docker.sock", "podman.sock")  # who writes there starts containers as root
CANN = "/usr/local/Ascend"  # shared with the driver, as its installers do
SECRETS = "has files and secrets of all services of the host"
SYSTEM = "is a folder of the operating system or of all users"


def models(description: Description) -> list[tuple[str, str]]:
    """The variable and the value of each model."""
    pools = description.pools.present().items()
    own = [(f"inference_pools.{name}.model", pool.model) for name, pool in pools if pool.model]
    return [("inference_model.path", description.model.path), *own]


Folders = t.Iterator[tuple[str, str, str]]  # variable, path, problem


def _made(case: Case) -> Folders:
    """Folders that root makes, fills or hands over."""
    description = case.context.description
    for place, path in (("inference_root", description.root), ("inference_cann_path", description.cann_path)):
        foreign = is_system_folder(path) or is_secret(path)
        if foreign and (place, path.rstrip("/")) != ("inference_cann_path", CANN):
            yield place, path, f"{path} {SYSTEM}"


def _read(case: Case) -> Folders:
    """Folders with data: they exist, or root makes them. Containers get the whole."""
    description = case.context.description
    claimed = case.in_pods and description.kubernetes.model_claim  # a path in a volume of its own
    cache = ("inference_encoder_cache.path", description.encoder_cache.path)
    judged = [
        item for item in (() if claimed else models(description)) if item[1].strip("/ ")
    ]  # MODEL-PATH judges the others
    for place, path in (*judged, cache):
        if path and is_no_data(path):
            yield place, path, f"{path} {SYSTEM}"
        elif _has_root(case, path):
            yield place, path, f"{path} {SECRETS}"


def _mounted(case: Case) -> Folders:
    """Further folders of a host that containers get."""
    for place, path, name in (*_of_containers(case), *_of_pods(case)):
        path = posixpath.normpath(path) if path.startswith("/") else path  # /data/../etc is /etc
        if posixpath.basename(path) in SOCKETS:
            yield place, path, f"{name}: {path} is the socket of a container engine, over which a service becomes root"
        elif holds_the_system(path):
            yield place, path, f"{name}: {path} {SYSTEM}"
        elif _has_root(case, path):
            yield place, path, f"{name}: {path} {SECRETS}"


def _of_containers(case: Case) -> list[tuple[str, str, str]]:
    """Variable, path on the host, and the whole mount."""
    if not case.context.contained or case.in_pods:
        return []
    mounts = case.context.description.container.mounts
    named = [
        (f"inference_container.mounts[{index}]", mount.partition(":")[0], f"mount '{mount}'")
        for index, mount in enumerate(mounts)
    ]
    return [
        *named,
        *((place, item.shown, "mount of the path") for place, item in given_paths(case) if item.of_the_host),
    ]


def _of_pods(case: Case) -> list[tuple[str, str, str]]:
    """Variable, path on the node, and the volume."""
    settings, model = case.context.description.kubernetes, case.context.description.model.path
    if not case.in_pods:
        return []
    place = "inference_kubernetes.model_path" if settings.model_path else "inference_model.path"
    mounts = [
        (f"inference_kubernetes.mounts[{index}]", item.node_path, f"volume '{item.name}'")
        for index, item in enumerate(settings.mounts)
    ]
    own = [] if settings.model_claim else [(place, settings.model_root(model), f"volume of the model '{model}'")]
    return [*own, *mounts]


def _has_root(case: Case, path: str) -> bool:
    """Whether the collection's folder on a host is below the path, or is it, or the path is in its folders of services or programs."""
    root, path = (posixpath.normpath(name) + "/" for name in (case.context.description.root, path))
    of_services = tuple(f"{root}{name}/" for name in ("deployments", "venvs"))
    return not case.in_pods and (root.startswith(path) or path.startswith(of_services))


@RULES.rule(
    "FOLDER-SYSTEM",
    "Name a folder of its own, such as /opt/ascend-inference or /data/models/qwen-3.",
    "Filesystem Hierarchy Standard 3.0; docker run --volume",
)
def system(case: Case) -> t.Iterator[Finding]:
    """A folder of the deployment belongs to the operating system, to all users or to all services.

    Root makes and removes files there, where programs of the system have theirs, or a service gets keys and programs of its host.
    """
    for find in (_made, _read, _mounted):
        for place, path, problem in find(case):
            if path.startswith("/") and (
                find is _mounted or ".." not in path.split("/")
            ):  # ROOT-PATH and MODEL-PATH judge those
                yield Finding.at(place, path, problem)
