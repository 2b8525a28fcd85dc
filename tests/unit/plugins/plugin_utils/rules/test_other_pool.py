# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mistake in one of the two pools is found in the other one as well, unless the rule is about one of them."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.mistakes import MISTAKES, D, P
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.test_mutations import judged

# What is right in the other pool: its role, its budget, its modes, or who holds KV.
OF_ONE_POOL = {
    ("FLAG-DERIVED", "decode.args.data-parallel-start-rank"),  # 0 is right where an instance has one host
    ("CONFIG-ROLE", "decode.args.additional-config.layer_sharding"),
    ("KV-ROLE", "decode.kv.kv_role"),
    ("FLASHCOMM", "decode.env.VLLM_ASCEND_ENABLE_FLASHCOMM1"),  # prefill has tensor parallelism
    ("KV-NZ", "prefill.args.additional-config.enable_kv_nz"),
    ("SEQS-BUDGET", "decode.args.max-num-batched-tokens"),
    ("EAGER-GRAPH", "prefill.args.compilation-config.cudagraph_mode"),
    ("RECOMPUTE-ON-PREFILL", "prefill.args.additional-config.recompute_scheduler_enable"),
    ("KV-HOLD-SHORT", "prefill.env.VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"),
}
# Options of an engine, which both pools have; sizes and ports depend on the hosts of a pool.
SWAPPED = [
    mistake
    for mistake in MISTAKES
    if mistake.family in ("p2p", "both")
    and len({path.split(".")[1] for path in mistake.changes if path.startswith("inference_pools.")}) == 1
    and all(
        path.startswith((f"{P}.args.", f"{P}.env.", f"{P}.kv.", f"{D}.args.", f"{D}.env.", f"{D}.kv."))
        for path in mistake.changes
    )
]


def other(path):
    return path.replace(P, D) if path.startswith(P) else path.replace(D, P)


def place(mistake):
    return mistake.rule, mistake.path.removeprefix("inference_pools.")


@pytest.mark.parametrize("mistake", SWAPPED, ids=lambda item: f"{item.rule}-{item.path}")
def test_a_mistake_is_found_in_the_other_pool(mistake):
    found = judged(mistake.family, {other(path): value for path, value in mistake.changes.items()})
    ids = {(item["id"], item["path"]) for item in found}
    assert ((mistake.rule, other(mistake.path)) in ids) == (place(mistake) not in OF_ONE_POOL)
