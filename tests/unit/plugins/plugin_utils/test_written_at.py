# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A refused plan says in which file and line a value was written, and no stored plan does."""

from __future__ import annotations

import json

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.description.written_at import origin, written_at
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import planned

INVENTORY = """\
all:
  vars:
    inference_hardware: a3
    inference_interface: bond0
    inference_model: {path: /models/qwen}
    inference_kv_transfer: KV
    inference_container:
      mounts:
        - /a:/b
        - /c:/d
    inference_pools:
      prefill:
        tensor_parallel_size: 8
        args:
          attention-config.backend: FLASH_ATTN
      decode:
        tensor_parallel_size: 8
  children:
    prefill: {hosts: {rack.one: {ansible_host: 10.0.0.1, inference_hardware: HARDWARE}}}
    decode:
      hosts:
        node2:
          ansible_host: 10.0.0.2
"""
EXPECTED = {
    "inference_kv_transfer": 6,
    "inference_container.mounts[1]": 10,
    "inference_pools.prefill.tensor_parallel_size": 13,
    "inference_pools.prefill.args.attention-config.backend": 15,
    "node2.ansible_host": 23,
    "rack.one.inference_hardware": 19,
    "inference_pools.prefill.args.seed": 15,  # what of it was written begins there
}


@pytest.fixture(name="read")
def _read(tmp_path, monkeypatch):
    def read(transfer="mooncake", hardware="a3"):
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "hosts.yml"
        path.write_text(INVENTORY.replace("KV", transfer).replace("HARDWARE", hardware), encoding="utf-8")
        loader = DataLoader()
        inventory = InventoryManager(loader=loader, sources=[str(path)])
        variables = VariableManager(loader=loader, inventory=inventory)
        hosts = HostVars(inventory, variables, loader)
        return {name: hosts[name] for name in ("rack.one", "node2")}

    return read


@pytest.mark.parametrize(("path", "line"), EXPECTED.items())
def test_a_value_is_found_in_its_file(read, path, line):
    found = written_at([path], {}, read())
    before = line - 1 if path.endswith(".seed") else line  # 2.19: there a mapping begins in the line of its key
    assert found in ({path: f"hosts.yml:{line}"}, {path: f"hosts.yml:{before}"}, {}) and (
        found or "size" in path or "[" in path
    )  # before 2.19 numbers have none


@pytest.mark.parametrize(
    "path",
    [
        "inference_link",
        "node9.inference_hardware",
        "x",
        "",
        "node2.",
        "inference_[0",
    ],
)
def test_what_nobody_wrote_has_no_place(read, path):
    assert written_at([path], {}, read()) == {}


class Odd(str):
    _ansible_tags_mapping = 7
    ansible_pos = ("only a file",)


@pytest.mark.parametrize("value", [None, True, 8, "text", [], {}, Odd("x")])
def test_values_without_a_place_are_no_failure(value):
    assert origin(value) == ""


def test_a_refusal_names_the_lines_and_a_plan_none(read, tmp_path):
    groups = {"prefill": ["rack.one"], "decode": ["node2"]}
    with pytest.raises(PlanError) as refused:
        planned({}, read("moncake", "910B"), groups)
    text = str(refused.value)
    assert "   At: hosts.yml:6\n   Why: The planner cannot choose" in text and "   At: hosts.yml:19\n" in text
    plan = planned({}, read(), groups)
    assert "hosts.yml" not in json.dumps(plan) and str(tmp_path) not in json.dumps(plan)
