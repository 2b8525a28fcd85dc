# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from a release: versions, connector names, ports, flags. Facts only; the planner decides."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.ascend.inference.plugins.plugin_utils._complaints import Complaint, nearest


@dataclass(frozen=True)
class Release:
    """One release of the engine."""

    name: str
    vllm: str
    mooncake: str
    mooncake_package: str
    connectors: tuple[str, ...]
    ascend_direct_stride: int = 100
    proxies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    external_prefix_cache: bool = True
    prompt_tokens_by_source: bool = True

    @property
    def vllm_version(self) -> tuple[int, ...]:
        """vLLM's version as numbers, for comparisons."""
        return tuple(int(part) for part in self.vllm.split(".")[:3])


LOAD_BALANCE = (
    "--port",
    "--host",
    "--prefiller-hosts",
    "--prefiller-ports",
    "--decoder-hosts",
    "--decoder-ports",
    "--max-retries",
    "--retry-delay",
)

RELEASES: dict[str, Release] = {
    one.name: one
    for one in (
        Release(
            name="cpu-0.32.0",
            vllm="0.32.0",
            mooncake="0.3.13.post1",
            mooncake_package="mooncake-transfer-engine-non-cuda",
            connectors=("MooncakeSerialConnector", "MooncakeConnector", "MooncakeStoreConnector", "MultiConnector"),
            proxies={"load_balance": LOAD_BALANCE + ("--max-waiting-retries", "--waiting-retry-interval", "--workers")},
        ),
        Release(
            name="0.23.0",
            vllm="0.23.0",
            mooncake="0.3.11.post1",
            mooncake_package="mooncake-transfer-engine-npu",
            connectors=(
                "MooncakeConnectorV1",
                "MooncakeHybridConnector",
                "MooncakeLayerwiseConnector",
                "AscendStoreConnector",
                "MooncakeConnectorStoreV1",
                "MultiConnector",
            ),
            proxies={
                "load_balance": LOAD_BALANCE + ("--max-waiting-retries", "--waiting-retry-interval", "--workers"),
                "layerwise": LOAD_BALANCE,
            },
        ),
    )
}

DEFAULT = {"vllm_cpu": "cpu-0.32.0", "vllm_ascend": "0.23.0"}


def find_release(engine: str, name: str) -> tuple[Release, list[Complaint]]:
    """The row of a release; an unknown name is a complaint that names the nearest one."""
    known = {key: row for key, row in RELEASES.items() if key.startswith("cpu-") == (engine == "vllm_cpu")}
    wanted = (name or DEFAULT[engine]).lstrip("v")
    if engine == "vllm_cpu" and not wanted.startswith("cpu-"):
        wanted = DEFAULT[engine]  # the CPU engine stands in for every NPU release
    if wanted in known:
        return known[wanted], []
    hint = f"{nearest(wanted, known)}Known releases: {', '.join(sorted(known))}."
    return known[DEFAULT[engine]], [
        Complaint("inference_release", "RELEASE-UNKNOWN", "this release is not known", hint, value=repr(name))
    ]


def facts(release: Release) -> dict[str, t.Any]:
    """The release as plain data, for the plan."""
    return {"name": release.name, "vllm": release.vllm, "mooncake": release.mooncake}
