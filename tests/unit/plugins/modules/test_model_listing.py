# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a model before its weights are fetched: their bytes, and which of them are missing."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.ascend.inference.plugins.modules.model_listing import small_facts

GIB = 2**30


class Client:
    """Has an index with these shards."""

    def __init__(self, shards):
        self.shards = shards

    def fetch(self, each, home):
        if each["name"] == "model.safetensors.index.json":
            with open(os.path.join(home, each["name"]), "w") as file:
                json.dump({"weight_map": {str(number): shard for number, shard in enumerate(self.shards)}}, file)


def facts(tmp_path, sizes, shards=()):
    files = [{"name": name, "size": size} for name, size in sizes.items()]
    files += [{"name": "model.safetensors.index.json", "size": 9}] if shards else []
    found = small_facts(Client(shards), files, str(tmp_path / "home"))
    return found["weight_bytes"] // GIB, found["missing"]


TWO = {"m-1.safetensors": 24 * GIB, "m-2.safetensors": 24 * GIB}


@pytest.mark.parametrize(
    "sizes, shards, expected",
    [
        (TWO, list(TWO), (48, [])),
        (TWO, [], (48, [])),
        # a second copy of the weights, as Mistral's folders have
        (dict(TWO, **{"consolidated.safetensors": 48 * GIB}), list(TWO), (48, [])),
        ({"m-1.safetensors": 24 * GIB}, list(TWO), (24, ["m-2.safetensors"])),
        ({"sub/m-1.safetensors": 24 * GIB}, ["sub/m-1.safetensors"], (24, [])),
        # without an index files in folders are not those of the model
        (dict(TWO, **{"original/w.safetensors": 9 * GIB}), [], (48, [])),
    ],
)
def test_the_weights_are_those_of_the_index(tmp_path, sizes, shards, expected):
    assert facts(tmp_path, sizes, shards) == expected
