# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run is killed before it has recorded its plan, and the next one has another inventory: it finds the hosts on which services were started."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.action.plan import abandoned
from ansible_collections.ascend.inference.plugins.filter.left_hosts import left_hosts
from ansible_collections.ascend.inference.plugins.module_utils.files import begun, deployment_lock
from ansible_collections.ascend.inference.plugins.modules import service_files
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.begun import (
    MARK,
    begun_hosts,
    begun_placement,
    known_hosts,
    lock_holder,
    placement_text,
    renamed,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_kept import read_text
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.runs import RUN, begin
from ansible_collections.ascend.inference.tests.unit.test_lock_released import PLAYBOOKS

RECORD = {
    "instances": [{"kind": "decode", "number": 0, "slot": 0, "hosts": [["n2", [0]]]}],
    "router": "n1",
    "mooncake_master": "",
    "memcache_meta": "",
}


@pytest.fixture
def base(tmp_path):
    folder = tmp_path / "deployments/inference"
    folder.mkdir(parents=True, mode=0o755)
    return folder


def answer(base):
    """What playbooks/shared/places.yml reads on a host."""
    (_plan, play) = [None, yaml.safe_load((PLAYBOOKS / "shared/places.yml").read_text(encoding="utf-8"))[0]]
    script = play["vars"]["__inference_read_placement"]
    argv = ["/bin/sh", "-c", script, "sh", str(base)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def test_a_host_that_no_recorded_plan_names_is_found(base):
    (base / "placement.json").write_text(json.dumps(RECORD) + "\n")
    begin(base, hosts=["n1", "n3"])  # n3 instead of n2; killed after it has started an engine on n3
    text = answer(base)
    assert read_text(placement_text(text))[0] == RECORD and begun_hosts(text) == ["n1", "n3"]
    undone = {"hosts": [{"name": "n1"}, {"name": "n2"}]}
    known = known_hosts([text, text])
    assert abandoned(undone, known, {"n1": {}, "n2": {}, "n3": {}}) == {"left": ["n3"], "lost": []}
    assert abandoned(undone, {*known, "localhost"}, ["n1", "n2", "n3"])["left"] == ["n3"]
    assert abandoned(undone, known, {"n1": {}, "n2": {}}) == {"left": [], "lost": ["n3"]}
    begin(base, hosts=["n1", "n2"])
    assert begun.read(str(base)) == ["n1", "n2", "n3"], "until a plan is recorded, all of them count"
    noted = (str(base), "deployed", {"digest": "d"}, RUN)
    service_files.ended({"phase": "deployed", "unlock": True, "run": RUN}, str(base), True, noted)
    assert begun.read(str(base)) == [] and answer(base) == json.dumps(RECORD) + "\n"


def test_only_runs_that_start_services_on_new_hosts_note_them(base):
    begin(base)
    assert not (base / begun.BEGUN).exists()
    for name in ("deploy", "prepare", "upgrade"):
        entries = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text(encoding="utf-8"))
        locks = [entry for entry in entries if entry.get("ansible.builtin.import_playbook") == "shared/lock.yml"]
        assert [entry["vars"]["__inference_begins"] for entry in locks] == [True], name


def test_a_lock_that_another_run_holds_notes_nothing(base):
    deployment_lock.take(str(base), {**RUN, "id": "other"}, "", True)
    begin(base, hosts=["n3"])
    assert begun.read(str(base)) == []


def test_without_a_folder_nothing_is_noted(tmp_path):
    begun.note(str(tmp_path / "deployments/inference"), ["n1"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "[]", "{", '{"hosts": "n3"}', '{"hosts": {"n3": 1}}', '{"hosts": null}'])
def test_a_damaged_file_names_nobody(base, content):
    (base / begun.BEGUN).write_text(content)
    assert begun.read(str(base)) == [] and begun_hosts(answer(base)) == []
    begun.note(str(base), ["n1"])
    assert begun.read(str(base)) == ["n1"]


def test_only_names_of_hosts_are_used(base):
    (base / begun.BEGUN).write_text(json.dumps({"hosts": ["n3", "", "a\nb", 4, "x" * 300]}))
    assert begun_hosts(answer(base)) == ["n3"]


def test_a_file_that_others_can_write_is_not_used(base):
    begun.note(str(base), ["n1"])
    os.chmod(base / begun.BEGUN, 0o666)
    assert begun_hosts(answer(base)) == [] and begun.read(str(base)) == []


def test_hosts_whose_records_differ_all_count():
    other = {**RECORD, "router": "n4"}
    assert known_hosts([json.dumps(RECORD), json.dumps(other), "", "{"]) == {"n1", "n2", "n4"}


def test_a_host_without_a_readable_record_still_names_those_of_killed_runs():
    killed = MARK + json.dumps({"hosts": ["n7", "n8"]})
    assert known_hosts([killed]) == {"n7", "n8"}
    assert known_hosts(["{" + killed, json.dumps(RECORD)]) == {"n1", "n2", "n7", "n8"}
    assert known_hosts([json.dumps(RECORD) + killed]) == {"n1", "n2", "n7", "n8"}


def test_the_last_killed_run_says_where_it_placed_instances(base):
    begin(base, hosts=["n1"], placement=RECORD)
    assert read_text(begun_placement(answer(base)))[0] == RECORD and begun_hosts(answer(base)) == ["n1"]
    begin(base, hosts=["n1"], placement={**RECORD, "router": "n2"})
    assert read_text(begun_placement(answer(base)))[0]["router"] == "n2"
    for content in ("{", "[]", '{"hosts": ["n1"]}', "[" * 9999):
        (base / begun.BEGUN).write_text(content)
        assert begun_placement(answer(base)) == ""


@pytest.mark.parametrize("placed", [False, True])
def test_the_run_that_holds_the_lock_is_read_with_the_places(base, placed):
    """So that the next one is refused at once, and not after the check."""
    begin(base, hosts=["n1", "n3"])
    if placed:
        (base / "placement.json").write_text(json.dumps(RECORD) + "\n")
    text = answer(base)
    assert lock_holder(text) == RUN and begun_hosts(text) == ["n1", "n3"]
    assert (read_text(placement_text(text))[0] == RECORD) == placed
    deployment_lock.release(str(base), RUN["id"])
    assert lock_holder(answer(base)) == {} and begun_hosts(answer(base)) == ["n1", "n3"]


@pytest.mark.parametrize("lock", ["", "{", "[]", "{}", '{"id": 1}', '{"id": ""}', "[" * 9999])
def test_a_lock_that_names_no_run_holds_nothing(base, lock):
    deployment_lock.take(str(base), RUN)
    (base.parent / ".inference.lock").write_text(lock)
    assert lock_holder(answer(base)) == {}


def test_a_machine_with_another_name_is_no_host_to_remove_services_from():
    """n2 is called node2 now: an inventory that has only n2 would remove what node2 serves."""
    answers = {"n1": json.dumps(RECORD), "node2": json.dumps(RECORD), "new": "", "broken": "{", "n3": ""}
    assert renamed(answers) == ["node2"]
    begins = json.dumps(RECORD) + MARK + json.dumps({"hosts": ["n1", "n3"]})
    assert renamed({"n3": begins, "n4": begins}) == ["n4"], "a killed run began on n3"
    hostvars = {host: {"__inference_placement": {"stdout": text}} for host, text in answers.items()}
    text = left_hosts({**hostvars, "lost": {}}, [*answers, "lost", "elsewhere"], ["n2"], {})
    assert (
        text.startswith("n2: had services of this deployment and left the inventory")
        and "node2 has a placement" in text
    )
    assert "Do not run the playbook remove" in text and "an inventory that has only these hosts" not in text
    del hostvars["node2"]
    text = left_hosts(hostvars, answers, ["n2", "n9"], {})
    assert (
        text.endswith("Fix: run the playbook remove with an inventory that has only these hosts.")
        and "renamed" not in text
    )
