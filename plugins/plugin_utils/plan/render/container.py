# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers of services: image, devices, mounts (vllm-ascend docs: installation with Docker)."""

from __future__ import annotations

import posixpath
import typing as t

from ...description.variables import Host
from ...releases.matrix import IMAGE, IMAGE_SUFFIX
from ..deployment import Context
from .npu import rank_table_path
from .paths import Seen, mounts

DEVICES = ("/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc")
READ_ONLY = (
    "/etc/ascend_install.info",
    "/etc/hccn.conf",  # without it transfers return wrong data without an error (vllm-ascend #7711)
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/tools/hccn_tool",
    "/usr/local/Ascend/driver/version.info",
    "/usr/local/bin/npu-smi",
    "/usr/local/dcmi",
)
DEVICES_950 = ("/dev/ummu", "/dev/uburma")
READ_ONLY_950 = ("/etc/hccl_rootinfo.json", "/lib/route.conf", "/usr/bin/urma_admin")
SOURCES = "/vllm-workspace/vllm-ascend"  # vLLM-Ascend's sources in an image, including the proxies


def device_files(host: Host) -> tuple[str, ...]:
    """The device files of a host's NPUs: one of each NPU, and the shared ones."""
    shared = (*DEVICES, *(DEVICES_950 if host.hardware == "950" else ()))
    return (*(f"/dev/davinci{number}" for number in host.devices), *shared)


def image(context: Context, host: Host) -> str:
    """The image for a host: inference_image, else upstream's name by hardware and operating system."""
    if context.description.image:
        return context.description.image
    tag = context.release.name if context.release.name == "main" else f"v{context.release.name}"
    suffix = IMAGE_SUFFIX.get(host.hardware, "") + (
        "-openeuler" if context.description.container.os != "ubuntu" else ""
    )
    return f"{IMAGE}:{tag}{suffix}"


def container(
    context: Context, host: Host, name: str, directory: str, model: str = "", own_image: str = ""
) -> dict[str, t.Any]:
    """The container of one service, with the least privileges. ``model`` is that of an engine, empty for services without NPUs.
    ``own_image``: of a service that is not in the engines' image.

    All NPUs of a host are passed to the container and selected by ASCEND_RT_VISIBLE_DEVICES, by physical id. A service can
    access only its own directory, and write only to its work directory; it cannot access secrets of others or files that root reads or runs.
    Engines of a host share memory (HCCL), so they use the host's; services without NPUs do not need it.
    """
    settings, wide, accelerated = context.description.container, host.hardware == "950", bool(model)
    devices = list(device_files(host)) if accelerated else []
    files = [*READ_ONLY, *(READ_ONLY_950 if wide else ())] if accelerated else []
    volumes = [f"{path}:{path}:ro" for path in sorted(files)]
    volumes += [f"{model}:{model}:ro"] if model.startswith("/") else []
    if accelerated and "llmdatadist" in context.everywhere:
        volumes.append(f"{rank_table_path(context)}:{rank_table_path(context)}:ro")
    work = posixpath.join(directory, "work")
    volumes += [f"{directory}:{directory}:ro", f"{work}:{work}", *settings.mounts]
    return {
        "name": context.runtime.unit(context.description.deployment, name),
        "image": own_image or image(context, host),
        "devices": devices,
        "mounts": volumes,
        "network": "host",
        "ipc": "host" if accelerated else "private",
        "shm_size": settings.shm_size if accelerated else "",
        "user": settings.user,
        # Without this capability root of the container could not read files of the services' user.
        "capabilities": ["DAC_OVERRIDE"] if settings.user == "root" else [],
        "read_only": settings.read_only or not accelerated,
        "ulimits": {"memlock": -1, "nofile": 1048576},
        "work_directory": work,
    }


def with_paths(context: Context, box: dict[str, t.Any], paths: t.Iterable[Seen]) -> dict[str, t.Any]:
    """The container of an engine, with the files of the host that its options name. A pod has volumes of its own instead.

    Unlike ``mounts``, these are refused by the container engine if they are missing: it would make empty folders of their names.
    """
    if context.runtime.in_cluster:
        return box
    return {**box, "mounts_of_paths": mounts(paths, [mount.split(":")[1] for mount in box["mounts"] if ":" in mount])}
