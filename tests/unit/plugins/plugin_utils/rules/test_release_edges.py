# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rule about releases changes at the release that it names: the last one before it in the matrix, and the first one of the others."""

from __future__ import annotations

import ast
import inspect
import textwrap
import typing as t

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.matrix import ROWS
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.edges import CHUNKS, WHOLE, XLITE
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import (
    MASTER,
    ROUTER,
    STORE,
    C,
    D,
    P,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged


class Step(t.NamedTuple):
    """``first`` is the first release with ``since``, the release before it in the matrix has ``until``; empty: no finding."""

    rule: str
    family: str
    changes: dict[str, t.Any]
    until: str
    first: str
    since: str


PIPELINE = {f"{P}.pipeline_parallel_size": 2, f"{P}.tensor_parallel_size": 4}
PREFILL_CONTEXT = {f"{P}.prefill_context_parallel_size": 2, f"{P}.tensor_parallel_size": 4}
DECODE_CONTEXT = f"{C}.decode_context_parallel_size"
KEY_OF_GRAPHS = {f"{D}.args.compilation-config": {"cudagraph_mod": "FULL"}}
EPLB = {f"{D}.args.additional-config.eplb_config": {"dynamic_eplb": True}}
SSD = {
    f"{STORE}.options.enable_ssd_offload": True,
    f"{STORE}.options.ssd_offload_path": "/ssd",
    f"{MASTER}.enable_offload": True,
}

EPLB_OF_VLLM = {f"{C}.args.enable-eplb": True, f"{C}.env.VLLM_USE_V2_MODEL_RUNNER": 1}
ALONE = {"inference_kv_transfer": "none", f"{C}.args.additional-config": {"recompute_scheduler_enable": True}}
FLASHCOMM = {f"{D}.env.VLLM_ASCEND_ENABLE_FLASHCOMM1": 1}
TORCHAIR = {f"{D}.args.additional-config": {"torchair_graph_config": {"enabled": True}}}
QWEN_ON_TORCHAIR = {**TORCHAIR, "inference_model.path": "/m/Qwen3-30B-A3B"}
EAGER_TORCHAIR = {**TORCHAIR, f"{D}.args.enforce-eager": True}
OLD_ENGINE = {"inference_kv_transfer": "none", "inference_store": None, "inference_env.VLLM_USE_V1": 0}
KV_NZ = {f"{P}.args.additional-config": {"enable_kv_nz": True}}

FINE = {"finegrained_tp_config": {"oproj_tensor_parallel_size": 16}}
FP8 = {f"{C}.args.quantization": "fp8", "inference_model.path": "/m/Qwen3-32B"}
SPECULATION = {f"{C}.args.speculative-config": {"method": "mtp", "num_speculative_tokens": 1}}

STEPS = (
    Step("DCP-HEADS", "pooled", {DECODE_CONTEXT: 2, "inference_model.path": "/m/Qwen3-8B"}, "", "0.12.0rc1", "error"),
    Step("DCP-SPARSE", "pooled", {DECODE_CONTEXT: 2, "inference_model.path": "/m/GLM-5"}, "", "0.23.0rc1", "error"),
    Step("PCP-RELEASE", "p2p", PREFILL_CONTEXT, "", "0.22.1rc1", "error"),
    Step("PCP-RELEASE", "p2p", {**PREFILL_CONTEXT, f"{P}.data_parallel_size": 1}, "", "0.25.1rc1", "error"),
    Step("VLLM-EPLB", "pooled", EPLB_OF_VLLM, "error", "0.27.1rc1", ""),
    Step("RECOMPUTE-COLOCATED", "pooled", ALONE, "", "0.18.0rc1", "error"),
    Step("QUANTIZATION-FORMAT", "pooled", {"inference_model.path": "/m/Qwen3-8B-FP8"}, "error", "0.21.0rc1", ""),
    Step("TORCHAIR-MODEL", "llmdatadist", QWEN_ON_TORCHAIR, "error", "0.10.1rc1", ""),
    Step("TORCHAIR-EAGER", "llmdatadist", EAGER_TORCHAIR, "error", "0.12.0rc1", ""),
    Step("ACLGRAPH-DEEPSEEK", "llmdatadist", {"inference_model.path": "/m/DeepSeek-V3"}, "error", "0.11.0rc0", ""),
    Step("LAUNCH-BLOCKING", "pooled", {f"{C}.env.ASCEND_LAUNCH_BLOCKING": 1}, "error", "0.29.0rc1", ""),
    Step("FLASHCOMM", "p2p", FLASHCOMM, "", "0.12.0rc1", "error"),
    Step("FLASHCOMM", "p2p", FLASHCOMM, "error", "0.27.1rc1", ""),
    Step("KV-NZ", "p2p", KV_NZ, "", "0.13.0rc1", "error"),
    Step("BLOCK-SIZE", "p2p", {f"{D}.args.block-size": 64}, "error", "0.20.2rc1", "warning"),
    Step("RECOMPUTE-RELEASE", "p2p", {}, "error", "0.11.0rc0", ""),
    Step("JSON-KEY", "p2p", KEY_OF_GRAPHS, "warning", "0.18.0rc1", "error"),
    Step("ROUTER-BIND", "layerwise", {f"{ROUTER}.bind": "0.0.0.0"}, "warning", "0.18.0rc1", "error"),
    Step("LAYERWISE-PP", "layerwise", PIPELINE, "error", "0.12.0rc1", ""),
    Step("CONTEXT-PARALLEL", "p2p", PREFILL_CONTEXT, "error", "0.12.0rc1", ""),
    Step("CONTEXT-PARALLEL", "p2p", {f"{D}.decode_context_parallel_size": 2}, "error", "0.11.0rc0", ""),
    Step("LLMDATADIST-TP", "llmdatadist", {f"{D}.tensor_parallel_size": 4}, "", "0.10.2rc1", "warning"),
    Step("KV-KEY", "p2p", {f"{P}.kv.made_up": 1}, "warning", "0.18.0rc1", "error"),
    Step("KV-MODULE-PATH", "p2p", {f"{P}.kv.kv_connector_module_path": "x.y"}, "warning", "0.20.2rc1", "error"),
    Step("FABRIC-MEMORY", "p2p", {f"{P}.env.ASCEND_ENABLE_USE_FABRIC_MEM": 1}, "error", "0.20.2rc1", ""),
    Step("FUSED-MC2", "p2p", {f"{P}.env.VLLM_ASCEND_ENABLE_FUSED_MC2": 1}, "warning", "0.19.1rc1", ""),
    Step("STORE-KEY", "both", {f"{STORE}.options.preferred_segment": "x"}, "warning", "0.20.2rc1", ""),
    Step("STORE-KEY", "both", {f"{STORE}.options.tenant_id": "x"}, "warning", "0.27.1rc1", ""),
    Step("STORE-KEY", "both", {f"{STORE}.options.local_hostname": "x"}, "", "0.13.0rc2", "warning"),
    Step("STORE-LAYERWISE", "both", {f"{P}.kv.store.use_layerwise": True}, "warning", "0.28.0rc1", "error"),
    Step("SSD-OFFLOAD", "both", SSD, "error", "0.23.0rc1", ""),
    Step("STORE-HA-BUILD", "ha", {}, "error", "0.23.0rc1", ""),
    Step("DEV-PAIRS", "p2p", {f"{D}.load_balancing": "external"}, "warning", "0.16.0rc1", ""),
    Step("ADDRESS-IPV6", "p2p", {"node1.inference_address": "fd00::1"}, "error", "0.15.0rc1", "warning"),
    Step("CONFIG-ROLE", "p2p", {f"{D}.args.additional-config.layer_sharding": ["o_proj"]}, "", "0.19.1rc1", "error"),
    Step("USE-V1", "pooled", OLD_ENGINE, "", "0.10.0rc1", "error"),
    Step("EPLB-ENVIRONMENT", "p2p", EPLB, "", "0.18.0rc1", "error"),
    Step("MTP-LAYERS", "pooled", {**SPECULATION, "inference_model.path": "/m/GLM-4.6"}, "error", "0.12.0rc1", ""),
    Step("FINE-TP", "p2p", {f"{P}.args.additional-config": FINE}, "", "0.12.0rc1", "error"),
    Step("QUANTIZATION-FP8", "pooled", FP8, "", "0.21.0rc1", "error"),
    Step("QUANTIZATION-FP8", "pooled", FP8, "error", "0.27.1rc1", ""),
    Step("CONFIG-RANGE", "pooled", {f"{C}.args.additional-config.enable_fused_mc2": 2}, "", "0.24.0rc1", "error"),
    Step("XLITE", "pooled", XLITE, "error", "0.19.1rc1", ""),
    Step("XLITE", "pooled", {**XLITE, f"{C}.pipeline_parallel_size": 2}, "error", "0.29.0rc1", ""),
    Step("XLITE", "pooled", {**XLITE, **SPECULATION}, "error", "0.23.0rc1", ""),
    Step("BALANCE-MIXED", "p2p", {f"{D}.env.VLLM_ASCEND_BALANCE_SCHEDULING": 1}, "", "0.18.0", "error"),
    Step("CHUNK-PIPELINE", "pooled", CHUNKS, "", "0.19.1rc1", "error"),
    Step("SCHEDULER-CHUNKS", "llmdatadist", WHOLE, "error", "0.12.0rc1", ""),
    Step("OPTION-ALONE", "pooled", {f"{C}.args.enable-dbo": True}, "error", "0.19.1rc1", ""),
    Step("OPTION-ALONE", "pooled", {f"{C}.args.kv-offloading-backend": "native"}, "error", "0.14.0rc1", ""),
    Step("OPTION-ALONE", "pooled", {f"{C}.args.kda-decode-backend": "auto"}, "", "0.30.0rc1", "error"),
)
# Rules that compare a version and have no row, and why.
WITHOUT = {
    "JSON-SYNTAX": "each option has a release of its own",
    "TTL-TIMEOUT": "no release of the matrix has Mooncake 0.3.12, whose default differs",
}
VERSIONS = ("vllm_version", "mooncake_version", "cann_version")


def severity(step: Step, release: str) -> str:
    found = judged(step.family, {**step.changes, "inference_release": release})
    return "/".join(sorted({item["severity"] for item in found if item["id"] == step.rule}))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.rule}-{step.first}")
def test_the_release_before_differs(step):
    names = [row[0] for row in ROWS]
    before = names[names.index(step.first) - 1]
    assert {before: severity(step, before), step.first: severity(step, step.first)} == {
        before: step.until,
        step.first: step.since,
    }


def compares_versions(node: ast.AST) -> bool:
    """``release.vllm_version < (0, 12)``."""
    if not isinstance(node, ast.Compare) or not any(name in ast.unparse(node) for name in VERSIONS):
        return False
    return any(isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for operator in node.ops)


def test_each_rule_with_a_version_has_both_releases():
    with_version = {
        rule.id
        for rule in RULES
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(rule.check))))
        if compares_versions(node)
    }
    assert with_version - {step.rule for step in STEPS} == set(WITHOUT)
