# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of mounts that take the image's own folders out of a container's sight."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ....module_utils.files.system_folders import WHOLLY
from ...description.findings import Finding
from .base import Case, Rules

RULES = Rules()
# The Dockerfiles of vllm-ascend and of its base image, quay.io/ascend/cann.
IMAGE = (
    (re.compile("|".join(("/", *WHOLLY))), "devices or programs"),
    (re.compile(r"/usr/local(/(s?bin|lib))?"), "programs"),
    (re.compile(r"/usr/local/python\d[^/]*(/(bin|lib|lib/python[\d.]+(/site-packages)?))?"), "Python and vLLM"),
    (re.compile(r"/vllm-workspace"), "vLLM and vLLM-Ascend"),
    (re.compile(r"/usr/local/Ascend(/(ascend-toolkit|cann[^/]*|nnal)(/[^/]*)?)?"), "CANN"),
)
# runc's checkProcMount: what lxcfs provides. All else below /proc is refused.
PROC = re.compile(r"/proc/(?!(cpuinfo|diskstats|meminfo|stat|swaps|uptime|loadavg|slabinfo|net/dev)$).+")


def covered(target: str) -> str:
    """What of the image a mount at ``target`` hides, in words; empty if it hides nothing that is needed.

    >>> covered("/usr/local/Ascend/"), covered("/usr/local/Ascend/driver")
    ('CANN', '')
    """
    path = "/" + posixpath.normpath(target).strip("/")
    if PROC.fullmatch(path):
        return "files of the kernel"
    return next((what for pattern, what in IMAGE if pattern.fullmatch(path)), "")


@RULES.rule(
    "MOUNT-COVERS",
    "Choose another folder of the container, such as one below /mnt.",
    "the Dockerfiles of vllm-ascend and of quay.io/ascend/cann; runc: checkProcMount",
)
def covers(case: Case) -> t.Iterator[Finding]:
    """A mount replaces a folder of the image that its programs need.

    What the image has there is behind the mount: the container is refused, or lacks CANN, vLLM or devices and ends at its start.
    """
    for place, shown, source, target in _mounts(case):
        # The host's CANN in the place of the image's is meant, and works if it is the same version.
        own = covered(target) == "CANN" and posixpath.normpath(source) == posixpath.normpath(target)
        if covered(target) and not own:
            problem = (
                f"{posixpath.normpath(target)} of the container is replaced, where the image has {covered(target)}"
            )
            yield Finding.at(place, shown, problem)


def _mounts(case: Case) -> t.Iterator[tuple[str, str, str, str]]:
    """Place, text, source and target of each mount of the user; those without the right form have another rule."""
    description = case.context.description
    for index, mount in enumerate(description.container.mounts if case.context.contained and not case.in_pods else ()):
        source, _colon, rest = mount.partition(":")
        if rest.startswith("/"):
            yield f"inference_container.mounts[{index}]", mount, source, rest.partition(":")[0]
    for index, volume in enumerate(description.kubernetes.mounts if case.in_pods else ()):
        yield f"inference_kubernetes.mounts[{index}].path", volume.path, volume.node_path, volume.path
