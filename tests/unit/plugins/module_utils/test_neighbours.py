# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's other deployments have, from the plans that they stored, whoever wrote them."""

from __future__ import annotations

import json
import os

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host.neighbours import neighbours

SERVICE = {"name": "decode-0", "devices": [1, 0], "ports": [{"name": "api", "first": 7300, "count": 1}]}


def stored(folder, name, plan):
    (folder / name).mkdir(parents=True)
    (folder / name / "plan.json").write_text(plan if isinstance(plan, str) else json.dumps(plan))
    return folder


def test_services_of_this_host_are_taken_and_the_own_deployment_is_not(tmp_path):
    elsewhere = dict(SERVICE, name="decode-1")
    stored(tmp_path, "own", {"services": [SERVICE]})
    stored(tmp_path, "other", {"services": [SERVICE, elsewhere], "question": {"services": [{"name": "decode-0"}]}})
    stored(tmp_path, "part", {"services": [elsewhere]})
    (tmp_path / "without").mkdir()
    assert neighbours(f"{tmp_path}/own") == [
        {"deployment": "other", "services": [{"name": "decode-0", "devices": [0, 1], "ports": [[7300, 1]]}]},
        {"deployment": "part", "services": [{"name": "decode-1", "devices": [0, 1], "ports": [[7300, 1]]}]},
    ]
    assert neighbours(f"{tmp_path}/missing/own") == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        "{",
        "[" * 100000,
        '{"services": 1}',
        '{"services": [[]]}',
        '{"services": [], "question": 1}',
        json.dumps({"services": [dict(SERVICE, devices=["0"])]}),
        json.dumps({"services": [dict(SERVICE, devices=[65536])]}),
        json.dumps({"services": [dict(SERVICE, devices=[-1])]}),
        json.dumps({"services": [dict(SERVICE, devices=[True])]}),
        json.dumps({"services": [dict(SERVICE, ports=[{"first": 1}])]}),
        json.dumps({"services": [dict(SERVICE, ports=[{"first": 1, "count": 10**9}])]}),
    ],
)
def test_a_plan_that_is_none_is_left_out(tmp_path, text):
    stored(tmp_path, "other", text)
    assert neighbours(f"{tmp_path}/own") == []


def test_a_host_full_of_plans_costs_no_more_than_64(tmp_path):
    for number in range(65):
        stored(tmp_path, f"d{number:02}", {"services": [dict(SERVICE, devices=[0, 65535])]})
    assert [item["deployment"] for item in neighbours(f"{tmp_path}/own")] == [f"d{number:02}" for number in range(64)]


@pytest.mark.parametrize("kind", ["pipe", "endless", "link"])
def test_a_plan_that_is_no_file_is_left_out(tmp_path, kind):
    """An older version gave the folder to the service's user, who may have put something in the plan's place."""
    stored(tmp_path, "third", {"services": [SERVICE]})
    place = tmp_path / "other" / "plan.json"
    place.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(str(place))  # a reader would wait for ever
    else:
        place.symlink_to("/dev/zero" if kind == "endless" else tmp_path / "third" / "plan.json")
    assert [item["deployment"] for item in neighbours(f"{tmp_path}/own")] == ["third"]
