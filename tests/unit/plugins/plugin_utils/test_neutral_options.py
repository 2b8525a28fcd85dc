# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which options of vLLM and which variables leave the KV cache as it is, so that engines with and without them may exchange it."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.revision import exchange
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.options import options

NEUTRAL = """
    allow-credentials allowed-headers allowed-methods allowed-origins api-server-count async-scheduling chat-template disable-log-requests
    disable-log-stats disable-uvicorn-access-log enable-auto-tool-choice enable-chunked-prefill enable-log-outputs enable-log-requests
    enable-prefix-caching enable-server-load-tracking gpu-memory-utilization h11-max-header-count kv-cache-memory-bytes
    long-prefill-token-threshold max-log-len max-long-partial-prefills max-num-batched-tokens max-num-partial-prefills max-num-seqs middleware
    num-gpu-blocks-override port reasoning-parser response-role return-tokens-as-token-ids scheduling-policy shutdown-timeout tool-call-parser
    tool-parser-plugin uvicorn-log-level
"""
# They say where an engine is, and with which of its own processes it works.
PLACES = """
    data-parallel-address data-parallel-rank data-parallel-rpc-port data-parallel-size-local data-parallel-start-rank headless host master-addr
    master-port node-rank
"""
VARIABLES = """
    ASCEND_GLOBAL_EVENT_ENABLE ASCEND_GLOBAL_LOG_LEVEL ASCEND_SLOG_PRINT_TO_STDOUT GLOG_v HCCL_ENTRY_LOG_ENABLE MC_LOG_LEVEL OMP_NUM_THREADS
    VLLM_ENGINE_READY_TIMEOUT_S VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS VLLM_LOGGING_LEVEL VLLM_LOG_STATS_INTERVAL
"""


def of(*argv, **env):
    return exchange({"argv": ["vllm", "serve", *argv, "--seed", "7"], "env": env})


def test_neutral_options_are_these():
    names = {option.name for option in options("vllm")}
    assert {name for name in names if of(f"--{name}", "1") == of()} == {*NEUTRAL.split(), *PLACES.split()}


@pytest.mark.parametrize("name", VARIABLES.split())
def test_a_neutral_variable(name):
    assert of(**{name: "1"}) == of()


def test_another_variable_or_value_is_not_neutral():
    assert of(VLLM_OTHER="1") != of()
    assert of("--block-size", "64") != of("--block-size", "128")
    assert of("--no-enable-prefix-caching") == of() == of("--max-num-seqs=9")
