# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store's metadata service by backend, and the engines' configuration of the store."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...description.variables import Host, Pool
from ..deployment import Context
from ..placement import Instance
from ..service import File, Service
from . import memcache, mooncake
from .store_ha import client_environment, etcd_services


@dataclass(frozen=True)
class MetadataService:
    """One backend's metadata service.

    ``service`` renders it on a host. ``engine_file`` renders the configuration file of an engine, from its service
    directory, host and pool; the environment variable ``path_variable`` holds the path of that file.
    """

    name: str
    service: t.Callable[[Context, Host], Service]
    engine_file: t.Callable[[Context, str, Host, Pool], File]
    path_variable: str


# A backend without an entry (yuanrong) is not managed by the collection.
METADATA_SERVICES: dict[str, MetadataService] = {
    "mooncake": MetadataService(mooncake.NAME, mooncake.master_service, mooncake.client_config, "MOONCAKE_CONFIG_PATH"),
    "memcache": MetadataService(memcache.NAME, memcache.meta_service, memcache.local_config, "MMC_LOCAL_CONFIG_PATH"),
}


def store_services(context: Context) -> list[Service]:
    """The services that the store needs besides engines: its metadata service, or several masters and their etcd."""
    found = METADATA_SERVICES.get(context.description.store.backend)
    if not (context.store and context.master and found):
        return []
    if context.masters and found.name == mooncake.NAME:
        masters = [mooncake.master_service(context, host, number) for number, host in enumerate(context.masters)]
        return [*etcd_services(context), *masters]
    return [found.service(context, context.master)]


def service_names(context: Context, found: MetadataService) -> tuple[str, ...]:
    """The services of a backend that engines need."""
    return mooncake.master_names(context) if found.name == mooncake.NAME else (found.name,)


def engine_environment(context: Context, found: MetadataService, path: str) -> dict[str, str]:
    """Environment of an engine whose configuration file of the store is ``path``."""
    return {found.path_variable: path, **(client_environment(context) if found.name == mooncake.NAME else {})}


def metadata_service_of(context: Context, instance: Instance) -> MetadataService | None:
    """The metadata service of the instance's engines; None if they do not use the store."""
    if instance.kind == "encode" or "store" not in context.transfer_of(instance.pool):
        return None
    return METADATA_SERVICES.get(context.description.store.backend)
