# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan's section of software to install: all versions and paths."""

from __future__ import annotations

import typing as t

from ...releases.artefacts import artefact, text
from ...releases.package_indexes import INDEXES
from ...releases.release import ASSUMED_MOONCAKE
from ...releases.sdists import sdists
from ..deployment import Context
from ..routers.base import NEWEST
from ..routers.registry import flavour_of
from .balancer import PROGRAM as BALANCER
from .engine import plugin_path
from .frontend import PROGRAM as FRONTEND
from .mooncake import engine_venv
from .npu import BUILT, sources
from .router import router_venv, script_files, script_path, script_source
from .store_ha import PROGRAM as ETCD
from .virtual_address import PROGRAM as KEEPALIVED
from .virtual_address import kept_address

NPU_WHEEL_GLIBC = "2.35"  # wheels of mooncake-transfer-engine-npu are manylinux_2_35 (vllm-ascend kv_pool.md)


def software(context: Context) -> dict[str, t.Any]:
    """Engine, Mooncake and router; for NPUs also CANN."""
    release, router = context.release, flavour_of(context)
    proxies = [f"fastapi{release.fastapi or NEWEST.fastapi}", "httpx", "uvicorn"]
    packaged = context.balanced and not context.contained  # otherwise the image of the balancer has it
    found: dict[str, t.Any] = {
        "tools": {"venv": context.venv("tools")},
        "engine": {
            "venv": context.venv(engine_venv(context)),
            "interpreter": context.program(engine_venv(context)),
            "version": release.vllm,
            "python_path": [plugin_path(context)] if context.engine.plugin else [],
        },
        "mooncake": {"package": release.mooncake_package, "version": release.mooncake, "built": dict(BUILT)},
        "router": {
            "flavour": router.name,
            "frontend": context.description.router.frontend,
            "frontend_program": FRONTEND if context.description.router.frontend != "none" else "",
            **({"balancer": context.description.router.balancer} if packaged else {}),
            "balancer_program": BALANCER if packaged else "",
            **({"address_program": KEEPALIVED} if kept_address(context) else {}),
            "venv": context.venv(router_venv(context)),
            "interpreter": context.program(router_venv(context)),
            "script": script_path(context),
            "logger": script_files(context)[1] if script_files(context) else "",
            "files": list(script_files(context)),
            "source": script_source(context),
            "source_release": release.name if release.proxy_paths else NEWEST.name,
            "sha256": (release if release.proxy_paths else NEWEST).proxy_sha256.get(router.name, ""),
            "requirements": [router.package.requirement] if router.package else proxies,
            "imports": [router.package.module] if router.package else ["fastapi", "httpx", "uvicorn"],
        },
    }
    if context.etcd and context.store:
        found["etcd"] = {"program": ETCD}
    if context.engine.npus:
        found["engine"]["link"] = context.venv(f"current-{context.description.deployment}")  # to the environment in use
        found["engine"]["overrides"] = list(release.overrides)
        found["package_indexes"] = {} if context.description.index_url else INDEXES
        found["engine"].update(release=release.name, python=release.python, builds=_builds(context))
        found["engine"]["sdists"] = sdists(release.vllm, release.name)
        needed = mooncake_needed(context)
        assumed = ASSUMED_MOONCAKE if needed else ""
        found["mooncake"].update(install=release.mooncake_install, needed=needed, version=release.mooncake or assumed)
        found["mooncake"]["glibc"] = NPU_WHEEL_GLIBC if release.mooncake_install == "package" else ""
        found["cann"] = {"version": release.cann, "path": context.description.cann_path, "hdk": release.hdk}
        found["cann"]["sources"] = list(sources(context))
        pinned = release.torch_npu_pin or release.torch_npu
        found["torch"] = {"torch": release.torch, "torch_npu": pinned, "triton_ascend": release.triton}
        found["torch"]["pins"] = [f"torch=={release.torch}", f"torch-npu=={pinned}"]
    return found


def _builds(context: Context) -> dict[str, dict[str, str]]:
    """The build of vLLM-Ascend by hardware of the engines' hosts."""
    hardware = sorted({process.host.hardware for instance in context.instances for process in instance.processes})
    method = context.description.engine_install
    found = {}
    for kind in hardware:
        build = artefact(context.release, kind, context.contained, method)
        found[kind] = {**build.as_dict(), "text": text(context.release, kind, build)}
    return found


def mooncake_needed(context: Context) -> bool:
    """Whether any engine transfers or stores KV cache with Mooncake."""
    pooled = context.store and context.description.store.backend == "mooncake"
    return pooled or any(transfer.startswith(("mooncake", "sfa_remote")) for transfer in context.everywhere)
