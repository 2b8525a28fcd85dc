# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observable differences between the releases of vLLM-Ascend.

Source: source distributions of vllm-ascend 0.11.0, 0.13.0, 0.18.0, 0.23.0.post1, release notes and tags between them.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

ASCEND_CONNECTORS = {  # name -> (first release, first release without it)
    "LLMDataDistCMgrConnector": ("0.9.1rc2", "0.12.0rc1"),
    "MooncakeConnectorV1": ("0.10.1rc1", None),
    "MooncakeConnectorStoreV1": ("0.11.0rc0", None),
    "MooncakeLayerwiseConnector": ("0.11.0rc1", None),
    "AscendStoreConnector": ("0.12.0rc1", None),
    "MooncakeHybridConnector": ("0.20.2rc1", None),
    "MultiConnector": ("0.9.1", None),
}


@functools.lru_cache(maxsize=None)
def key(text):
    """A sortable key of a version: 0.20.2rc1 < 0.20.2 < 0.20.2.post1.

    >>> key("v0.23.0rc1") < key("0.23.0") < key("0.23.0.post1")
    True
    """
    match = re.match(r"v?(\d+(?:\.\d+)*)(rc|\.?post)?(\d+)?", text)
    if not match:
        raise ValueError(f"not a version: {text!r}")
    numbers = [int(part) for part in match.group(1).split(".")]
    rank = {"rc": 0, None: 1}.get(match.group(2), 2)
    return (*(numbers + [0] * 4)[:4], rank, int(match.group(3) or 0))


@dataclass(frozen=True)
class Release:
    """One release of vLLM-Ascend, and the Mooncake that is installed with it."""

    name: str
    mooncake: str
    mooncake_install: str  # "source" (libraries in /usr/local/lib) or "wheel"

    def since(self, version):
        return key(self.name) >= key(version)

    @property
    def vllm(self):
        return {"0.10.1rc1": "0.10.1.1", "0.14.0rc1": "0.14.1"}.get(self.name, re.sub(r"(rc|\.?post).*", "", self.name))

    @property
    def has_rank_header(self):
        """X-data-parallel-rank names the rank that serves a request: not in vLLM 0.11.0, but in 0.11.1 (its source distributions)."""
        return key(self.vllm) >= key("0.11.1")

    @property
    def reports_failed_pulls(self):
        """Since 0.20.2rc1 a failed pull reaches the scheduler; before, decoding continues without the KV."""
        return self.since("0.20.2rc1")

    @property
    def load_failure_policy(self):
        return "fail" if self.since("0.17.0rc1") else "recompute"

    @property
    def free_timeout_variable(self):
        if self.since("0.18.0"):
            return "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"
        if self.since("0.11.0rc0"):
            return "VLLM_NIXL_ABORT_REQUEST_TIMEOUT"
        return "VLLM_ASCEND_KVCACHE_DELAY_FREE_TIMEOUT"

    @property
    def llmdatadist_port_variable(self):
        return "VLLM_ASCEND_LLMDD_RPC_PORT" if self.since("0.10.1rc1") else "VLLM_LLMDD_RPC_PORT"

    @property
    def reads_head_dim(self):
        return self.since("0.11.0rc1") and not self.since("0.21.0rc1")

    @property
    def device_port_stride(self):
        return 100 if key(self.mooncake) >= key("0.3.8") else 1000

    def connectors(self):
        """Names that the release registers."""
        return [
            name
            for name, (first, gone) in ASCEND_CONNECTORS.items()
            if self.since(first) and not (gone and self.since(gone))
        ]


def mooncake_of(release):
    """(version, how installed) of Mooncake in the release's image."""
    if key(release) >= key("0.23.0rc1"):
        return "0.3.11.post1", "wheel"
    if key(release) >= key("0.21.0rc1") or release == "0.18.0":
        return "0.3.9", "source"
    if key(release) >= key("0.15.0rc1"):
        return "0.3.8.post1", "source"
    return "0.3.7.post2", "source"


def load(name, mooncake=None):
    """The release called ``name``; ``mooncake`` may override {"version", "install"}."""
    name = name.lstrip("v")
    version, install = mooncake_of(name)
    mooncake = mooncake or {}
    return Release(name, mooncake.get("version", version).lstrip("v"), mooncake.get("install", install))
