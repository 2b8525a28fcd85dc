# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services in pods: devices are assigned by the device plugin, and the host's directories are not available."""

from __future__ import annotations

import dataclasses
import posixpath

from ...plan.deployment import Context
from ...plan.service import File, Service

WORKSPACE = "/workspace"
PLUGIN_OWNED = ("ASCEND_RT_VISIBLE_DEVICES",)  # a pod has only its assigned devices, numbered from 0


def in_pod(context: Context, service: Service) -> Service:
    """The same service, as a pod runs it."""
    image = (service.container or {}).get("image", "")
    if service.kind == "router" and context.description.kubernetes.router.image:
        image = context.description.kubernetes.router.image
    here = service.work_directory
    return dataclasses.replace(
        service,
        argv=(
            posixpath.basename(service.argv[0]),
            *(argument.replace(here, WORKSPACE) for argument in service.argv[1:]),
        ),
        env={key: service.env[key].replace(here, WORKSPACE) for key in service.env if key not in PLUGIN_OWNED},
        source=tuple(path.replace(here, WORKSPACE) for path in service.source),
        files=tuple(File(file.path.replace(here, WORKSPACE), file.content, file.mode) for file in service.files),
        work_directory=WORKSPACE,
        log={"kind": "none"},
        container={"image": image},
    )
