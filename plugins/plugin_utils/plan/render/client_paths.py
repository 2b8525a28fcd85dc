# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths that clients may request, those of the OpenAI API for the engines' task and none that changes a service, and headers that reach a router.

Other headers choose among engines and ranks, or come before others, or write an address or a trace into logs, and each router and release reads others:
X-data-parallel-rank, X-Worker-Priority, X-Prefiller-Host-Port, Traceparent, Cookie.
"""

from __future__ import annotations

import re
import typing as t

from ...description.variables import Router
from ..deployment import Context
from ..routers.base import Flavour
from .vllm import merged

CLIENTS = ("Accept", "Content-Type", "User-Agent")  # headers
SESSIONS = ("X-Session-Id", "X-User-Id")  # by which the policy consistent_hash chooses
LISTED = "/v1/models"  # the only path for GET
GENERATE = ("/v1/chat/completions", "/v1/completions")  # supported by every router; /v1/responses is not
EMBED = ("/v1/embeddings",)
SCORE = ("/v1/rerank", "/v1/score")
# vLLM's options --task (up to 0.10), --runner and --convert (from 0.10 on) with the paths that their values enable
# (vllm/entrypoints/openai/api_server.py). A pooling model of unknown kind may serve all pooling paths.
BY_TASK: dict[str, tuple[str, ...]] = {
    "generate": GENERATE,
    "transcription": ("/v1/audio/transcriptions", "/v1/audio/translations"),
    "embed": EMBED,
    "embedding": EMBED,
    "score": SCORE,
    "pooling": (*EMBED, *SCORE),
}
# Paths of vLLM's server and of the routers for the operator only (vLLM docs/usage/security.md, and its routes up to 0.32; vllm-router 0.1.17).
ADMIN = (
    "/abort_requests",
    "/collective_rpc",
    "/fault_tolerance",
    "/finish_weight_update",
    "/init_weight_transfer_engine",
    "/invocations",  # same as /v1/completions, but does not check the engines' key
    "/load_lora_adapter",
    "/metrics",
    "/pause",
    "/release_kv_cache_memory",
    "/reset_encoder_cache",
    "/reset_mm_cache",
    "/reset_prefix_cache",
    "/resume",
    "/scale_elastic_ep",
    "/server_info",
    "/shutdown_weight_transfer_engine",
    "/sleep",
    "/start_draft_weight_update",
    "/start_profile",
    "/start_weight_update",
    "/stop_profile",
    "/unload_lora_adapter",
    "/update_weight_version",
    "/update_weights",
    "/v1/load_lora_adapter",
    "/v1/unload_lora_adapter",
    "/wake_up",
    "/weight_checker",
    "/workers",
)
PATH = re.compile(r"/[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)*")


def client_paths(context: Context) -> tuple[str, ...]:
    """The paths of the frontend: the list of models, those of every pool's task, and ``inference_router.frontend_paths``."""
    found = {LISTED, *context.description.router.frontend_paths}
    for pool in context.description.pools.present().values():
        found.update(_of_task(merged(context.description.args, pool.args)))
    return tuple(sorted(found))


def _of_task(args: t.Mapping[str, t.Any]) -> tuple[str, ...]:
    for option in ("convert", "task", "runner"):
        paths = BY_TASK.get(str(args.get(option, "")))
        if paths:
            return paths
    return GENERATE


def refused_path(path: str, flavour: Flavour) -> str:
    """The reason why clients must not reach a path; empty where they may."""
    if not PATH.fullmatch(path):
        return f"'{path}' is not a path of letters, digits and . _ - such as /v1/audio/transcriptions"
    if any(path == private or path.startswith(private + "/") for private in (*flavour.private, *ADMIN)):
        return f"{path} changes the router or its engines, or shows a client data of other clients"
    return ""


def passed(settings: Router) -> tuple[str, ...]:
    """The names of headers of a client that reach a router, which depend on the router's policies."""
    policies = {settings.policy, *map(str, settings.args.values())}
    return (*CLIENTS, *(SESSIONS if "consistent_hash" in policies else ()))
