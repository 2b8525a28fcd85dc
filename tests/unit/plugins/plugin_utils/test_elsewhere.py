# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An unknown key whose name has a meaning elsewhere: the fix says where it belongs, and is right there."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import read_description
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.elsewhere import told_where

POOL = "inference_pools.decode"
PLACES = {
    "inference_max_model_len": "inference_args: {max-model-len: VALUE}",
    "inference_api_key": "inference_secrets.api_key",
    "inference_router.api_key": "inference_secrets.api_key",
    "inference_router.server_name": "Did you mean inference_verify.server_name?",
    "inference_router.no_such": "Write it into args if it is an option of the program.",
    "inference_router.retry_max_retries": "inference_router.args: {retry-max-retries: VALUE}",
    "inference_mooncake_master.eviction_ratio": "inference_mooncake_master.args: {eviction_ratio: VALUE}",
    "inference_kv_connector": "Did you mean inference_kv_transfer?",
    "inference_docker": "Did you mean inference_container?",
    "inference_shm_size": "Did you mean inference_container.shm_size?",
    "inference_tensor_parallel_size": "Set inference_pools.<pool>.tensor_parallel_size instead",
    "inference_HCCL_BUFFSIZE": "inference_env: {HCCL_BUFFSIZE: VALUE}",
    "inference_store.max_model_len": "inference_args: {max-model-len: VALUE}",
    f"{POOL}.max_num_seqs": f"{POOL}.args: {{max-num-seqs: VALUE}}",
    f"{POOL}.data_parallel_size_local": f"Set {POOL}.data_parallel_size instead",
    f"{POOL}.served_model_name": "Set inference_model.name instead",
    f"{POOL}.port": f"Set {POOL}.ports.api instead",
    f"{POOL}.HCCL_BUFFSIZE": f"{POOL}.env: {{HCCL_BUFFSIZE: VALUE}}",
    f"{POOL}.tp": "Did you mean 'tensor_parallel_size'?",
    f"{POOL}.instnces": "Did you mean 'instances'?",
    f"{POOL}.host": "Did you mean 'hosts'?",
    f"{POOL}.engine_args": "Did you mean 'args'?",
}


@pytest.mark.parametrize("path", PLACES)
def test_an_unknown_key_is_told_where_it_belongs(path):
    first, *below = path.split(".")
    value = 8
    for key in reversed(below):
        value = {key: value}
    found = told_where(read_description({"inference_model": {"path": "/m"}, first: value})[1])
    (fix,) = [finding.fix for finding in found if finding.path == path]
    assert PLACES[path] in fix


def test_other_findings_stay_as_they_are():
    found = read_description({"inference_model": 3, "inference_pools.decode.tp": 3})[1]
    assert told_where(found) == found
