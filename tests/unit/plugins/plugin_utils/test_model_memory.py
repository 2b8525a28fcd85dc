# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How an engine's options divide a model, and which engine of a pool its row of the memory table is about."""

from __future__ import annotations

import types

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import model_memory
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.memory import Division


@pytest.mark.parametrize(
    ("options", "division"),
    [
        ({}, Division()),
        ({"tensor-parallel-size": "2"}, Division(tensor=2)),
        ({"pipeline-parallel-size": "3"}, Division(pipeline=3)),
        ({"data-parallel-size": "4"}, Division(data=4)),
        ({"decode-context-parallel-size": "2", "prefill-context-parallel-size": "5"}, Division(context=10)),
        ({"enable-expert-parallel": ""}, Division(spread_experts=True)),
        ({"tensor-parallel-size": "0", "data-parallel-size": "x"}, Division()),
    ],
)
def test_each_size_of_the_options_divides(options, division):
    assert model_memory._division(options) == division


@pytest.mark.parametrize(
    ("speculative", "config", "layers"),
    [
        (None, {"num_nextn_predict_layers": 3}, 0),
        ("null", {"num_nextn_predict_layers": 3}, 0),
        ('{"method": "mtp"}', {"num_nextn_predict_layers": 3}, 3),
        ('{"method": "deepseek_mtp"}', {}, 1),
        ('{"method": "eagle3"}', {"num_nextn_predict_layers": 3}, 0),
        ("{}", {"num_nextn_predict_layers": 3}, 0),
        ('["mtp"]', {"num_nextn_predict_layers": 3}, 0),
    ],
)
def test_only_multi_token_prediction_has_layers_of_its_own(speculative, config, layers):
    options = {} if speculative is None else {"speculative-config": speculative}
    assert model_memory._draft_layers(options, config) == layers


@pytest.mark.parametrize("rooms", [(3, 5, 4), (5, 3, 4), (5, 4, 3)])
def test_the_engine_with_the_least_room_speaks_for_its_pool(monkeypatch, rooms):
    services = [{"kind": "decode", "name": number} for number in range(3)] + [{"kind": "router", "name": 9}]
    case = types.SimpleNamespace(hosts=lambda: [{"name": "h"}], services=lambda host: services)
    monkeypatch.setattr(model_memory, "_model", lambda case, host: {"path": "/m"})
    monkeypatch.setattr(
        model_memory, "_memory", lambda case, host, service, model: types.SimpleNamespace(blocks=rooms[service["name"]])
    )
    assert [memory.blocks for memory in model_memory.memory_of_pools(case)] == [3]
    monkeypatch.setattr(model_memory, "_model", lambda case, host: {})
    assert model_memory.memory_of_pools(case) == []
