# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host stores of the deployed plan: little, and enough for every playbook although all other hosts are lost."""

from __future__ import annotations

import base64
import gzip
import json
import time
from concurrent import futures

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.filter.deployed_plan import whole_filter
from ansible_collections.ascend.inference.plugins.filter.plan_diff import plan_diff_filter
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import question, status_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan import handover, record
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import hand_over, parts, take
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import (
    is_of_others,
    plan_files,
    readable_plan,
    record_of,
    stored_plan,
    whole_plan,
)
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_handover import plan


def stored(whole, host):
    """The plan that a host stores, as read from its file."""
    files = plan_files(dict(parts(whole))[host], record_of(whole))
    return json.loads(next(file["content"] for file in files if file["path"].endswith("/plan.json")))


def test_every_host_has_the_whole_plan_and_its_placement():
    whole = plan(4)
    for host in whole["hosts"]:
        found = stored(whole, host["name"])
        assert whole_plan(found) == whole
        assert [item["name"] for item in found["hosts"]] == [host["name"]]
        placement = plan_files(found, {})[1]
        assert placement["path"].endswith("/placement.json") and json.loads(placement["content"]) == whole["placement"]


def test_what_a_host_stored_is_stored_again_unchanged():
    found = stored(plan(4), "n001")
    assert json.loads(plan_files(found, {})[0]["content"]) == found


def test_a_stored_plan_asks_for_the_status_that_the_whole_plan_asks_for():
    whole = plan(4)
    assert question(stored(whole, "n003"), "n003") == status_plan(whole, "n003") == question(whole, "n003")


def test_a_host_of_a_large_deployment_stores_a_hundredth():
    whole = plan(200)
    assert len(json.dumps(stored(whole, "n100"))) < len(json.dumps(whole)) / 10
    assert record_of(whole) == record_of(json.loads(json.dumps(whole))), "hosts with one plan are to have one text"


def test_the_record_is_handed_over(tmp_path):
    whole = plan(4)
    hand_over(whole, str(tmp_path))
    assert take(str(tmp_path), record=True) == record_of(whole)


def test_a_run_that_plans_again_has_the_record_of_the_new_plan(tmp_path):
    for number in range(2):
        whole = {**plan(4), "deployment": f"d{number}"}
        hand_over(whole, str(tmp_path))
        assert take(str(tmp_path), record=True) == record_of(whole)


def test_workers_that_ask_at_once_pack_the_plan_once(tmp_path, monkeypatch):
    whole, packed = plan(4), []
    hand_over(whole, str(tmp_path))
    monkeypatch.setattr(handover, "record_of", lambda given: packed.append(time.sleep(0.05)) or record_of(given))
    with futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda dummy: take(str(tmp_path), record=True), range(4)))
    assert len(packed) == 1 and found == [record_of(whole)] * 4


def test_without_a_plan_there_is_no_record(tmp_path):
    with pytest.raises(FileNotFoundError):
        take(str(tmp_path / "none"), record=True)


def test_filters_read_stored_plans():
    whole = plan(4)
    found = stored(whole, "n002")
    assert whole_filter(found) == whole and whole_filter(whole) == whole and whole_filter({}) == {}
    assert plan_diff_filter(whole, found) == plan_diff_filter(whole, whole)
    assert readable_plan(found) == whole


@pytest.mark.parametrize("text", ["?", "aGVsbG8=", "H4sIAAAAAAAC/w=="])
def test_a_damaged_plan_is_named(text):
    with pytest.raises(AnsibleFilterError, match="the deployed plan is damaged"):
        whole_filter({"whole": text})


def test_a_small_text_that_becomes_much_ends_at_a_limit(monkeypatch):
    monkeypatch.setattr(record, "LIMIT", 1 << 20)
    bomb = base64.b64encode(gzip.compress(b'{"a": "' + b" " * (1 << 20) + b'"}')).decode()
    with pytest.raises(ValueError, match="more than 1 MiB"):
        whole_plan({"whole": bomb})
    assert stored_plan(json.dumps({"whole": bomb})) == readable_plan({"whole": bomb}) == {}


@pytest.mark.parametrize(
    "text", ["[" * 200_000, json.dumps({"whole": base64.b64encode(gzip.compress(b"[" * 200_000)).decode()})]
)
def test_a_text_of_brackets_is_a_damaged_plan(text):
    assert stored_plan(text) == {}


@pytest.mark.parametrize(
    ("plan", "others"),
    [
        ('{"hosts": [{"name": "n3"}]}', True),
        ('{"hosts": [{"name": "n3"}, {"name": "n1"}]}', False),
        ("", False),  # a killed run may have begun there
        ("{", False),
        ('{"hosts": 5}', True),
        ('{"hosts": ["n1"]}', True),
    ],
)
def test_a_plan_on_a_host_that_names_none_of_ours_is_of_others(plan, others):
    assert is_of_others(plan, {"n1", "n2"}) == others


def test_a_run_that_knows_no_hosts_judges_no_plan():
    assert not is_of_others('{"hosts": [{"name": "n3"}]}', set())
