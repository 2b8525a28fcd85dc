# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store's metadata service by backend, and the engines' configuration of the store."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...description.variables import Host
from ..deployment import Context
from ..placement import Instance
from ..service import File, Service
from . import memcache, mooncake


@dataclass(frozen=True)
class MetadataService:
    """One backend's metadata service.

    ``service`` renders it on a host. ``engine_file`` renders the configuration file of an engine, from its service
    directory and host; the environment variable ``path_variable`` holds the path of that file.
    """

    name: str
    service: t.Callable[[Context, Host], Service]
    engine_file: t.Callable[[Context, str, Host], File]
    path_variable: str


# A backend without an entry (yuanrong) is not managed by the collection.
METADATA_SERVICES: dict[str, MetadataService] = {
    "mooncake": MetadataService(mooncake.NAME, mooncake.master_service, mooncake.client_config, "MOONCAKE_CONFIG_PATH"),
    "memcache": MetadataService(memcache.NAME, memcache.meta_service, memcache.local_config, "MMC_LOCAL_CONFIG_PATH"),
}


def metadata_service_of(context: Context, instance: Instance) -> MetadataService | None:
    """The metadata service of the instance's engines; None if they do not use the store."""
    if instance.kind == "encode" or "store" not in context.transfer_of(instance.pool):
        return None
    return METADATA_SERVICES.get(context.description.store.backend)
