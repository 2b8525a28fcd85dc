# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that one release takes and another does not, as the code and documents of these releases say."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import ROUTER, STORE, D, P
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

NEWEST = {"inference_release": "0.30.0rc2", "inference_engine_install": "site"}
LAYERWISE = {f"{P}.kv.store.use_layerwise": True}
CONFIG = "args.additional-config"
RECOMPUTE = {"scheduler_config": {"recompute_scheduler_enable": True}}
OPROJ = {"finegrained_tp_config": {"oproj_tensor_parallel_size": 2}}
FINE = {f"{D}.data_parallel_size": 2, f"{D}.tensor_parallel_size": 1, f"{D}.args.enforce-eager": False}
PREEMPT = {f"{D}.kv_transfer": "mooncake+preempt_offload"}
SPECULATIVE = {f"{pool}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 3} for pool in (P, D)}
FLASHCOMM = {"inference_env.VLLM_ASCEND_ENABLE_FLASHCOMM1": "1"}


def found(rule, name, changes):
    """The severities of a rule's findings, and their first problem."""
    return [(item["severity"], item["problem"]) for item in judged(name, changes) if item["id"] == rule]


@pytest.mark.parametrize(
    ("rule", "name", "changes"),
    [
        ("FINE-TP", "newest", {**FINE, **PREEMPT, f"{D}.{CONFIG}": {**OPROJ, **RECOMPUTE}}),
        ("FINE-TP", "p2p", {**FINE, f"{D}.{CONFIG}": {**OPROJ, "recompute_scheduler_enable": True}}),
        ("FINE-TP", "p2p-0.18", {**FINE, f"{D}.{CONFIG}": OPROJ}),  # needs no recompute scheduler yet
        ("KVPP", "newest", {"inference_kv_transfer": "mooncake_v2", f"{P}.{CONFIG}": {"enable_kvpp": True}}),
        ("STORE-KEY", "both", {**NEWEST, f"{STORE}.options.tenant_id": "one"}),
        ("STORE-LAYERWISE", "both", {**NEWEST, **LAYERWISE, "inference_releases": {"0.30.0rc2": {"mooncake": "0.3.13.post1"}}}),
        ("STORE-LAYERWISE", "newest", {"inference_kv_transfer": "sfa_remote_d2h", f"{D}.kv.sfa_remote_d2h.use_layerwise": True}),
        ("ENV-RELEASE", "p2p", {**NEWEST, **FLASHCOMM}),  # read, though envs.py has it no more
        ("SPEC-TOKENS", "p2p", {**SPECULATIVE, "inference_kv_transfer": "mooncake_hybrid"}),
        ("SPEC-TOKENS", "p2p", {**SPECULATIVE, "inference_model.path": "/models/GLM-5.3-Flash-w8a8"}),
        ("ROUTER-EVENTS", "pooled", {f"{ROUTER}.policy": "kv_aware", f"{ROUTER}.args.kv-event-source": "http://a:1=tcp://a:2"}),
    ],
)  # fmt: skip
def test_what_the_release_takes_is_accepted(rule, name, changes):
    assert found(rule, name, changes) == []


@pytest.mark.parametrize(
    ("rule", "name", "changes", "problem"),
    [
        ("FINE-TP", "newest", {**FINE, f"{D}.{CONFIG}": {**OPROJ, **RECOMPUTE}}, "preempt_offload is not"),
        ("FINE-TP", "newest", {**FINE, **PREEMPT, f"{D}.{CONFIG}": OPROJ}, "recompute_scheduler_enable is not on"),
        ("FINE-TP", "p2p-0.18", {f"{P}.{CONFIG}": OPROJ}, "only decode with a connector"),
        ("STORE-LAYERWISE", "both", {**NEWEST, **LAYERWISE}, "needs Mooncake 0.3.13, and 0.30.0rc2 has 0.3.11.post1"),
    ],
)
def test_what_ends_the_engine_is_an_error(rule, name, changes, problem):
    (severity, text), *more = found(rule, name, changes)
    assert severity == "error" and problem in text and more == []


def test_the_recompute_scheduler_is_found_in_either_place():
    """From 0.27 on the key is in scheduler_config as well."""
    ((severity, dummy),) = found(
        "RECOMPUTE-COLOCATED", "pooled", {**NEWEST, f"inference_pools.colocated.{CONFIG}": RECOMPUTE}
    )
    assert severity == "error"


def test_a_candidate_is_told_the_final_releases():
    (finding,) = [
        item for item in judged("p2p", {"inference_release": "0.22.1rc1"}) if item["id"] == "RELEASE-CANDIDATE"
    ]
    assert (
        "Final releases: 0.23.0.post1, 0.18.0, 0.13.0, 0.11.0." in finding["fix"]
    )  # not 0.23.0, which has a post-release


def test_a_310p_host_needs_no_build_that_only_other_images_have():
    """The workers of 310P do not import fla_npu, and its image of 0.30.0rc1 has no wheel of it."""
    changes = {"inference_release": "0.30.0rc1", "inference_hardware": "310p"}
    assert found("IMAGE-ONLY", "p2p", changes) == []
    assert "fla" in found("IMAGE-ONLY", "p2p", {"inference_release": "0.30.0rc1"})[0][1]
