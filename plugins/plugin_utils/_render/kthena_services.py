# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services as they run in pods: the image's programs instead of an environment on the host, devices from the plugin."""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils._cluster import is_pod
from ansible_collections.ascend.inference.plugins.plugin_utils._context import Context
from ansible_collections.ascend.inference.plugins.plugin_utils._render.router import script_path
from ansible_collections.ascend.inference.plugins.plugin_utils._service import File, Service

WORKSPACE = "/workspace"
IMAGE = "quay.io/ascend/vllm-ascend"
SUFFIX = {"a3": "-a3", "310p": "-310p"}
PLUGIN_OWNED = ("ASCEND_RT_VISIBLE_DEVICES",)  # a pod sees the devices that it was given, counted from 0


def image(context: Context) -> str:
    """The engines' image: the user's, or the release's for the hardware."""
    if context.description.image:
        return context.description.image
    return f"{IMAGE}:v{context.release.name}{SUFFIX.get(context.description.hardware or 'a3', '')}"


def in_pods(context: Context, services: t.Iterable[Service]) -> list[Service]:
    """The same services, as pods run them; a router on a host of the inventory stays as it is."""
    return [_in_pod(context, one) if is_pod(one.host) else one for one in services]


def _in_pod(context: Context, service: Service) -> Service:
    script = script_path(context)
    inside = {service.work_directory: WORKSPACE}
    if script and service.kind == "router":
        directory = context.description.kubernetes.router.proxy_directory
        inside[script] = posixpath.join(directory, posixpath.basename(script))
    argv = [posixpath.basename(service.argv[0]), *(_moved(word, inside) for word in service.argv[1:])]
    return dataclasses.replace(
        service,
        argv=tuple(argv),
        env={key: _moved(service.env[key], inside) for key in service.env if key not in PLUGIN_OWNED},
        files=tuple(File(_moved(one.path, inside), one.content, one.mode) for one in service.files),
        work_directory=WORKSPACE,
        log="",
        container={"image": _image_of(context, service)},
    )


def _image_of(context: Context, service: Service) -> str:
    return (context.description.kubernetes.router.image if service.kind == "router" else "") or image(context)


def _moved(text: str, inside: t.Mapping[str, str]) -> str:
    for path in inside:
        if path:
            text = text.replace(path, inside[path])
    return text
