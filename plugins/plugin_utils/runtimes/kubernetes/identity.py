# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connector settings of a pod: an engine id with group, role and start, and the connector's module.

All replicas of a role run one script, so the id is composed in the pod. A decode engine caches the data of a
prefill engine by this id permanently: with an unchanged id it would read outdated memory of a restarted prefill pod. So the
id includes a start id, and a role can be replaced without its peers.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...description.values import read_json
from ...plan.deployment import Context
from ...plan.service import Service

FLAG = "--kv-transfer-config"
ENGINE_ID = "${GROUP_NAME}_${ROLE_ID}_${START_ID}"
MODULES = {
    "MooncakeConnectorV1": "mooncake_connector",
    "MooncakeHybridConnector": "mooncake_hybrid_connector",
    "MooncakeLayerwiseConnector": "mooncake_layerwise_connector",
}


def identified(context: Context, service: Service) -> Service:
    """The service with both in its connector's configuration, if a single connector with an id is used."""
    if FLAG not in service.argv:
        return service
    place = service.argv.index(FLAG) + 1
    config = read_json("".join(service.argv[place : place + 1]))  # the user's may be no JSON or missing: a rule says so
    if not isinstance(config, dict) or str(config.get("kv_connector")) not in MODULES:
        return service
    text = json.dumps({**_derived(context, config), **config}, separators=(",", ":"), ensure_ascii=False)
    return dataclasses.replace(service, argv=(*service.argv[:place], text, *service.argv[place + 1 :]))


def _derived(context: Context, config: t.Mapping[str, t.Any]) -> dict[str, str]:
    found = {"engine_id": ENGINE_ID}
    if (
        not context.release.module_path_wins
    ):  # where it takes precedence over the registered name, the engine does not start
        found["kv_connector_module_path"] = module_path(context, str(config["kv_connector"]))
    return found


def module_path(context: Context, name: str) -> str:
    """The module that holds a connector: it moved in 0.14.0rc1 (vllm_ascend/distributed of each release)."""
    inside = "" if context.release.vllm_version < (0, 14) else "kv_transfer.kv_p2p."
    return f"vllm_ascend.distributed.{inside}{MODULES[name]}"
