# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dashboard against the types that Grafana's own project generates from its schema: nothing is lost when they read it and write it again.

Grafana ignores what it does not know, so a misspelt field would show a panel without its unit, threshold or legend.
"""

from __future__ import annotations

import copy
import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import monitoring_files
from ansible_collections.ascend.inference.tests.integration import _monitoring
from ansible_collections.ascend.inference.tests.integration.test_dashboard import CASES


def lost(board):
    """Places of values that Grafana's types do not know, or read as others."""
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard")  # needs Python 3.11
    from grafana_foundation_sdk.cog import encoder, plugins

    plugins.register_default_plugins()
    read = models.Dashboard.from_json(copy.deepcopy(board))
    return sorted(set(differences(board, json.loads(encoder.JSONEncoder(sort_keys=True).encode(read)))))


def differences(before, after, path=""):
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from differences(value, after.get(key), f"{path}/{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for value, other in zip(before, after, strict=True):
            yield from differences(value, other, path + "[]")
    elif before != after:
        yield path


@pytest.fixture(params=CASES)
def board(request):
    name, raw = CASES[request.param]
    return json.loads(monitoring_files(_monitoring.watched_plan(name), raw)["files"][2]["content"])


def test_grafana_knows_every_field_of_the_dashboard(board):
    assert lost(board) == []


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (lambda panel: panel["fieldConfig"]["defaults"].update(unitt="s"), "/panels[]/fieldConfig/defaults/unitt"),
        (lambda panel: panel["gridPos"].update(width=3), "/panels[]/gridPos/width"),
        (lambda panel: panel["targets"][0].update(legend="x"), "/panels[]/targets[]/legend"),
        (lambda panel: panel["options"].update(legends={}), "/panels[]/options/legends"),
    ],
)
def test_a_misspelt_field_is_found(board, edit, place):
    edit(next(panel for panel in board["panels"] if panel["type"] == "timeseries"))
    assert lost(board) == [place]
