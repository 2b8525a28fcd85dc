# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The input of renderers: the description, its release, and the placed deployment."""

from __future__ import annotations

import functools
import posixpath
import typing as t
from dataclasses import dataclass

from ..description.variables import Description, Host, Pool
from ..engines.base import Engine
from ..engines.registry import engine
from ..releases.release import Release
from ..runtimes.base import Runtime
from ..runtimes.registry import runtime
from .placement import Instance
from .ports import P2P, Assigned


@functools.cache
def _split(transfer: str) -> tuple[str, ...]:
    return tuple(part for part in transfer.replace("mooncake_store", "store").split("+") if part != "none")


def directory_of(description: Description) -> str:
    """The deployment's folder on every host."""
    return posixpath.join(description.root, "deployments", description.deployment)


@dataclass(frozen=True)
class Context:
    """A placed deployment. ``ports`` has the numbers of each engine process by its name."""

    description: Description
    release: Release
    hosts: t.Mapping[str, Host]
    instances: tuple[Instance, ...]
    ports: t.Mapping[str, Assigned]
    master: Host | None
    router: Host | None
    posted: bool = False  # whether the deployed router has its engines added at run time
    masters: tuple[Host, ...] = ()  # of a highly available store, by number; the first one is ``master``
    etcd: tuple[Host, ...] = ()  # members of the deployment's own etcd, by number
    more_routers: tuple[Host, ...] = ()  # hosts of the routers behind the first

    @property
    def transfer(self) -> tuple[str, ...]:
        """The connectors of ``inference_kv_transfer``: ('mooncake', 'store'), ('llmdatadist',), ()."""
        return self._connectors("")

    def transfer_of(self, pool: Pool) -> tuple[str, ...]:
        """The connectors of one pool, which may differ from the deployment's."""
        return self._connectors(pool.kv_transfer)

    def _connectors(self, own: str) -> tuple[str, ...]:
        default = "mooncake" if self.description.pools.prefill else "none"
        return _split(own or self.description.kv_transfer or default)

    @functools.cached_property
    def everywhere(self) -> tuple[str, ...]:
        """The connectors of all pools that answer requests, each once."""
        pools = [pool for name, pool in self.description.pools.present().items() if name != "encode"]
        return tuple(dict.fromkeys(transfer for pool in pools for transfer in self.transfer_of(pool)))

    @functools.cached_property
    def store(self) -> bool:
        """Whether engines use the store."""
        return "store" in self.everywhere

    @functools.cached_property
    def p2p(self) -> str:
        """The transfer from prefill to decode, such as 'mooncake', or an empty string."""
        return next((item for item in self.everywhere if item in P2P), "")

    @functools.cached_property
    def served_name(self) -> str:
        """The model name in the clients' requests."""
        model = self.description.model
        return model.name or posixpath.basename(model.path.rstrip("/"))

    @functools.cached_property
    def memo(self) -> dict[t.Any, t.Any]:
        """Cache of renderers for values shared by the processes of an instance."""
        return {}

    @functools.cached_property
    def storing(self) -> tuple[Instance, ...]:
        """The instances that use the store."""
        return tuple(
            instance
            for instance in self.instances
            if instance.kind != "encode" and "store" in self.transfer_of(instance.pool)
        )

    @property
    def store_ranks(self) -> int:
        """Number of workers that use the store."""
        return sum(item.pool.devices_per_instance for item in self.storing)

    @property
    def engine(self) -> Engine:
        """The engine of all pools."""
        return engine(self.description.engine)

    @property
    def runtime(self) -> Runtime:
        """The runtime of the services."""
        return runtime(self.description.runtime)

    @property
    def contained(self) -> bool:
        """Whether the runtime puts processes into containers."""
        return self.runtime.contained

    @property
    def balanced(self) -> bool:
        """Whether a balancer distributes requests over the routers. It runs on a host, so not in a cluster."""
        return self.description.router.balancer != "none" and not self.runtime.in_cluster

    @functools.cached_property
    def directory(self) -> str:
        """The deployment's folder on every host."""
        return directory_of(self.description)

    def shared_directory(self, name: str) -> str:
        """A folder below the root that deployments share: ``deployments``, ``cache`` or ``venvs``."""
        return posixpath.join(self.description.root, name)

    def service_directory(self, name: str) -> str:
        """The folder of one service's files."""
        return f"{self.directory}/services/{name}"

    def code_directory(self, name: str) -> str:
        """The folder for the code of a program of ours that runs as a service or beside it."""
        return posixpath.join(self.service_directory(name), "code")

    def log(self, name: str) -> str:
        """A service's log file, if the runtime writes one."""
        return f"{self.folder('logs')}/{name}.log"

    def digest_file(self, name: str) -> str:
        """The file in which a service records its configuration digest at startup."""
        return f"{self.folder('run')}/{name}.digest"

    def folder(self, name: str) -> str:
        """A folder of the deployment that its services write to: ``logs`` or ``run``."""
        return posixpath.join(self.directory, name)

    @functools.cached_property
    def folders(self) -> dict[str, str]:
        """The folders of every host, for roles and playbooks, by their names in the plan."""
        return {
            "deployments": self.shared_directory("deployments"),
            "caches": self.shared_directory("cache"),
            "environments": self.shared_directory("venvs"),
            "logs": self.folder("logs"),
            "run": self.folder("run"),
        }

    def venv(self, name: str) -> str:
        """A virtual environment below the root."""
        return posixpath.join(self.shared_directory("venvs"), name)

    def program(self, venv: str, name: str = "python") -> str:
        """The path of a program in a virtual environment below the root."""
        return posixpath.join(self.venv(venv), "bin", name)
