# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every renderer sees: the description, its release, and where everything was placed."""

from __future__ import annotations

import posixpath
import typing as t
from dataclasses import dataclass

from ansible_collections.ascend.inference.plugins.plugin_utils._placement import Instance
from ansible_collections.ascend.inference.plugins.plugin_utils._ports import Assigned
from ansible_collections.ascend.inference.plugins.plugin_utils._releases import Release
from ansible_collections.ascend.inference.plugins.plugin_utils._topology import Description, Host

P2P = ("mooncake", "mooncake_hybrid", "mooncake_layerwise", "llmdatadist")


@dataclass(frozen=True)
class Context:
    """A placed deployment. ``ports`` and ``instances`` are keyed and sorted by instance."""

    description: Description
    release: Release
    hosts: t.Mapping[str, Host]
    instances: tuple[Instance, ...]
    ports: t.Mapping[str, Assigned]
    master: Host | None
    router: Host | None

    @property
    def transfer(self) -> tuple[str, ...]:
        """The words of ``inference_kv_transfer``: ('mooncake', 'store'), ('llmdatadist',), ()."""
        word = self.description.kv_transfer or ("mooncake" if self.description.pools.prefill else "none")
        parts = word.replace("mooncake_store", "store").split("+")
        return tuple(one for one in parts if one != "none")

    @property
    def store(self) -> bool:
        """Whether engines share a pool of KV cache."""
        return "store" in self.transfer

    @property
    def p2p(self) -> str:
        """The word of the connector that carries KV from prefill to decode, or an empty string."""
        return next((one for one in self.transfer if one in P2P), "")

    @property
    def directory(self) -> str:
        """Where the deployment's own files lie on every host."""
        return posixpath.join(self.description.root, "deployments", self.description.deployment)

    def service_directory(self, name: str) -> str:
        """Where one service's own files lie."""
        return posixpath.join(self.directory, "services", name)

    def log(self, name: str) -> str:
        """A service's log file, where the runtime writes one."""
        return posixpath.join(self.directory, "logs", f"{name}.log")

    def venv(self, name: str) -> str:
        """A virtual environment below the root."""
        return posixpath.join(self.description.root, "venvs", name)

    def of_kind(self, kind: str) -> list[Instance]:
        """The instances of one pool."""
        return [one for one in self.instances if one.kind == kind]
