# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of how engines serve: the API's protocol, the task, loaders, counters, and processes that the plan starts itself."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding, nearest
from .base import Case, Rules

RULES = Rules()
# Flags by which vLLM splits ranks over processes or hosts; the plan has one process for each part
LAUNCH = (
    *("nnodes", "node-rank", "master-addr", "master-port", "headless"),
    *("data-parallel-hybrid-lb", "data-parallel-external-lb", "data-parallel-rank", "data-parallel-start-rank"),
    "data-parallel-multi-port-external-lb",
)
STATS = "disable-log-stats"  # a switch without a --no- form: FLAG-NO-FORM refuses false, FLAG-VALUE a text
POOLING = {"runner": {"pooling"}, "convert": {"embed", "classify", "reward"}}
LOADER = "model-loader-extra-config"
# vllm/model_executor/model_loader/default_loader.py: other keys are refused
LOADER_KEYS = {"enable_multithread_load", "num_threads", "enable_weights_track"}
DEFAULT_LOADERS = {"", "auto", "hf", "safetensors", "pt", "mistral", "npcache", "fastsafetensors"}


@RULES.rule(
    "API-PLAIN",
    "Remove the option, and set inference_router.frontend: haproxy for clients that need TLS.",
    "vllm-ascend examples, vllm-router: engines are called with http://host:port",
)
def plain_api(case: Case) -> t.Iterator[Finding]:
    """An engine's API does not serve plain HTTP on its port.

    The router, the health check and the verification call http://address:port, so every request fails.
    """
    for view in case.engine_views:
        for flag in ("ssl-keyfile", "ssl-certfile", "uds"):
            if view.value(flag):
                yield Finding.at(view.path(flag), view.value(flag), f"--{flag} changes the protocol of the API")


@RULES.rule(
    "FLAG-LAUNCH",
    "Remove the option. Sizes of the pool and load_balancing decide how many processes there are.",
    "vLLM: multi-node and data-parallel launch options; the plan starts each process itself",
)
def launch(case: Case) -> t.Iterator[Finding]:
    """An option starts an engine as a part of others that the plan does not have.

    The process waits for peers that nobody starts, or listens where the router does not look.
    """
    for view in case.engine_views:
        for flag in LAUNCH:
            written = view.user_value(flag)
            planned = flag in view.table and not _only_users(view, flag)
            if written and written[1] not in (None, False) and flag in view.table and not planned:
                yield Finding.at(written[0], written[1], f"the plan does not start {view.kind} with --{flag}")


def _only_users(view: t.Any, flag: str) -> bool:
    """Whether the planner would not write the option: one host and internal load balancing."""
    pool, instance = view.instance.pool, view.instance
    external = pool.load_balancing == "external" and pool.data_parallel_size > 1
    if flag in ("nnodes", "node-rank", "master-addr", "master-port"):
        return bool(instance.nodes_per_rank == 1)
    if flag == "data-parallel-rank":
        return not external
    if flag == "headless":
        return not any(instance.headless(process) for process in instance.processes)
    if flag == "data-parallel-start-rank":
        return external or len(instance.processes) == 1
    return True


@RULES.rule(
    "RAY",
    "Remove the option. The plan starts the processes of every host itself.",
    "vLLM: --data-parallel-backend ray and --distributed-executor-backend ray need a running Ray cluster",
)
def ray(case: Case) -> t.Iterator[Finding]:
    """Engines are to be started by Ray, which the deployment does not have.

    vLLM ends at start, because no Ray cluster answers. A cluster of your own on one host may work.
    """
    for view in case.engine_views:
        if view.value("data-parallel-backend") == "ray":
            path = view.path("data-parallel-backend")
            yield Finding.at(path, "ray", "ranks of data parallelism would be started by Ray")
        if view.value("distributed-executor-backend") == "ray":
            several = len({process.host.name for process in view.instance.processes}) > 1
            path, severity = view.path("distributed-executor-backend"), "" if several else "warning"
            yield Finding.at(path, "ray", "workers would be started by Ray", severity=severity)


@RULES.rule(
    "RUNNER-POOLING",
    "Remove the option, or use a colocated pool without KV transfer.",
    "vLLM: a pooling model answers with embeddings or scores and has no decode phase",
)
def pooling(case: Case) -> t.Iterator[Finding]:
    """A prefill or decode pool runs a pooling task.

    There is nothing to decode, so prefill and decode exchange nothing and completion requests are refused.
    """
    for view in case.of("prefill", "decode"):
        for flag, values in POOLING.items():
            if view.value(flag) in values:
                problem = f"--{flag} {view.value(flag)} in a {view.kind} pool"
                yield Finding.at(view.path(flag), view.value(flag), problem)


@RULES.rule(
    "LOADER-KEY",
    "Correct or remove the key.",
    "vllm/model_executor/model_loader/default_loader.py: Unexpected extra config keys",
)
def loader(case: Case) -> t.Iterator[Finding]:
    """vLLM's loader does not know a key of model-loader-extra-config.

    vLLM ends at start.
    """
    for view in case.engine_views:
        if view.value("load-format") in DEFAULT_LOADERS:
            for key in view.mapping(LOADER):
                if key not in LOADER_KEYS:
                    problem = f"the loader has no key '{key}'"
                    yield Finding.at(view.key_path(LOADER, key), "", problem, nearest(str(key), LOADER_KEYS))


@RULES.rule(
    "LOG-STATS",
    "Remove the option.",
    "vLLM: without its loggers of statistics /metrics has no counter of requests",
    "warning",
)
def log_stats(case: Case) -> t.Iterator[Finding]:
    """An engine reports no counters of requests.

    Nobody can see that it has finished, so each drain waits the whole inference_drain_timeout; alerts, watchdog, the probes of pods and verify lack
    what they read.
    """
    for view in case.engine_views:
        if STATS in view.table:
            yield Finding.at(view.path(STATS), "", f"--{STATS} turns the engine's counters off")


@RULES.rule(
    "START-TIMEOUT",
    "Set inference_start_timeout to 600 or more; large models take up to 1800 seconds.",
    "vllm-ascend docs: loading a large model takes 10 to 30 minutes",
    "warning",
)
def start_timeout(case: Case) -> t.Iterator[Finding]:
    """inference_start_timeout is shorter than the start of an engine on NPUs.

    The run fails although the engines would have started.
    """
    value = case.context.description.start_timeout
    if case.npu and value < 60:
        yield Finding.at("inference_start_timeout", value, f"{value} seconds are too short to load a model")
