# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the paths in engines' options and environment that a container or a pod does not have."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ...description.findings import Finding
from ..render.paths import Seen, below, seen
from .base import Case, Rules
from .engine_view import EngineView

RULES = Rules()
SEPARATORS = re.compile(r'[:,"]')  # of the parts of a mount


def given_paths(case: Case) -> t.Iterator[tuple[str, Seen]]:
    """Each path of engines in containers outside of the service's own folder, with the place where it was written."""
    for view in case.engine_views if case.context.contained or case.in_pods else ():
        work = (view.service.container or {}).get("work_directory")  # a pod has none of the host's folders
        own = [posixpath.dirname(work)] if work else []
        for item in seen(view.service.argv, view.env):
            if not below(item.shown, own):
                yield _place(view, item), item


def _place(view: EngineView, item: Seen) -> str:
    if item.part == "env":
        return view.env_path(item.name)
    if item.part == "kv":
        return view.kv_path("kv_connector_extra_config", item.key)
    return view.key_path(item.name, item.key) if item.key else view.path(item.name)


@RULES.rule(
    "PATH-RELATIVE",
    "Write the absolute path that the file has on the hosts, or in the image.",
    "docker run --workdir; vLLM opens files relative to its working directory",
)
def relative(case: Case) -> t.Iterator[Finding]:
    """A path in an engine's options is relative, and the engine runs in a container.

    Its working directory is the service's own one, without the file, and nothing is mounted there: the engine ends at its start.
    """
    for place, item in given_paths(case):
        if item.relative:
            yield Finding.at(place, item.path, f"'{item.path}' is relative to the working directory of the container")


@RULES.rule(
    "PATH-COLON",
    "Rename the file or its folder, or set a link to it that has another name.",
    "docker run --volume and --mount",
)
def colon(case: Case) -> t.Iterator[Finding]:
    """A path that containers get has a character that separates the parts of a mount.

    The container engine refuses the mount, or mounts another folder, so no engine starts.
    """
    for place, item in given_paths(case):
        found = SEPARATORS.search(item.shown) if item.of_the_host and not case.in_pods else None
        if found:
            yield Finding.at(place, item.path, f"'{item.path}' contains '{found.group()}'")


@RULES.rule(
    "PATH-POD",
    "Put the file into the model's folder, or add its volume to inference_kubernetes.mounts.",
    "Kubernetes: a pod has its image and its volumes",
    "warning",
)
def pod(case: Case) -> t.Iterator[Finding]:
    """A path in an engine's options is in no volume of the pods.

    Nothing of a node is in a pod but its volumes. If the image does not have the file either, the engine ends at its start.
    """
    if not case.in_pods:
        return
    settings, model = case.context.description.kubernetes, case.context.description.model.path
    volumes = [posixpath.normpath(item.path) for item in settings.mounts]
    volumes += [settings.model_root(model)] if model.startswith("/") else []
    for place, item in given_paths(case):
        if item.of_the_host and not below(item.shown, volumes):
            yield Finding.at(place, item.path, f"no volume of the pods has {item.path}")
