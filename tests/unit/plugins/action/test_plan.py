# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action plan: which hosts the following plays get, when it plans again, what it shows, and what is left of a refusal."""

from __future__ import annotations

import json
import types
from unittest.mock import Mock

import pytest
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.action import plan as action
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import Finding, PlanError

SINGLE = {"router": "h10", "mooncake_master": "", "memcache_meta": ""}
INSTANCE = {"kind": "prefill", "number": 0, "slot": 0, "hosts": [["h2", [0]], ["gone", [0]], ["old", [1]]]}
PLACES = {"instances": [INSTANCE], **SINGLE}
OTHER_PLACES = {"instances": [], **SINGLE}
PLAN = {
    "deployment": "llm",
    "release": "0.23.0",
    "root": "/opt/ascend-inference",
    "directory": "/opt/ascend-inference/llm",
    "hosts": [{"name": "h2"}, {"name": "h10"}],
    "groups": ["prefill"],
    "placement": PLACES,
    "kubernetes": {"router": {"hosts": [{"name": "h10"}]}},
    "engine_facts": {"npus": True},
    "runtime_facts": {"in_cluster": False, "unit": "service"},
}
FACTS = {key: PLAN[key] for key in ("deployment", "root", "directory", "runtime_facts")}
SELECTED = {"hosts": ["h2", "h10"], "router_hosts": ["h10"], "cluster": [], "npus": True, **FACTS}
GROUPS = {"all": ["h10", "h2", "old", "spare"], "prefill": ["h10", "h2", "old"], "other": ["spare"]}
CLUSTER = {**PLAN, "runtime_facts": {"in_cluster": True}}
KNOWN = {"deployment": "llm", "hosts": ["h2"]}


class Act:
    """Runs the action with another planner; keeps what it printed, planned and handed over."""

    def __init__(self, monkeypatch):
        self.shown, self.warned, self.given, self.records = [], [], [], []
        self.newer = None  # the newest stable release
        self.plan, self.unplanned, self.hostvars = PLAN, {}, {name: {} for name in (*GROUPS["all"], "localhost")}
        display = types.SimpleNamespace(display=self.shown.append, warning=self.warned.append)
        for name, new in {
            "Display": lambda: display,
            "planned": self.planned,
            "take": lambda folder: {**PLAN, "taken": folder},
            "hand_over": lambda plan, folder: self.given.append((plan, folder)),
            "unplanned": lambda *_all: self.unplanned,
            "plan_table": lambda plan, show, refusal: ["table", show, *([refusal] if refusal else [])],
            "newer_stable": lambda name: self.newer,
            "refusal_with": lambda release, *_all: f"{release} refuses",
            "plan_memory": lambda plan, facts, ignore: [f"memory of {facts} without {ignore}"],
        }.items():
            monkeypatch.setattr(action, name, new)
        monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {"of_ansible": 1})

    def planned(self, variables, hostvars, groups, record):
        assert variables is self.hostvars["localhost"] and hostvars["old"] is self.hostvars["old"] and groups == GROUPS
        self.records.append(record)
        self.refuse()
        return self.plan

    def refuse(self):
        """Raises what the planner raises."""

    def __call__(self, **options):
        acting = action.ActionModule.__new__(action.ActionModule)
        acting._task = types.SimpleNamespace(args=options, check_mode=False)
        return acting.run(task_vars={"inventory_hostname": "localhost", "hostvars": self.hostvars, "groups": GROUPS})


@pytest.fixture
def act(monkeypatch):
    return Act(monkeypatch)


def test_the_selection_of_a_new_plan(act):
    act.hostvars["h2"] = act.hostvars["h10"] = {"inference_bundle": "/bundle", "inference_bundle_keyring": "us.gpg"}
    found = act()
    asked = {
        "asked": ["h2", "h10", "old"],
        "bundle": {"path": "/bundle", "keyring": "us.gpg"},
        "show": "table",
        "left": [],
        "ours": ["h10", "h2", "old"],
        "lost": [],
        "pages": {"folder": "", "names": []},
    }
    assert found == {"of_ansible": 1, "changed": False, "selection": {**SELECTED, **asked}}
    assert act.records == [None] and act.shown == ["table\ntable"]
    assert [plan for plan, _folder in act.given] == [PLAN] and act.given[0][1].endswith("/ascend-inference-plan")


def test_hosts_that_ran_services_are_left_or_lost(act):
    answer = json.dumps(PLACES) + '\nbegun: {"hosts": ["spare", "h10", "gone10", "gone9"]}'
    found = act(deployed={"h2": answer})["selection"]
    assert (found["left"], found["lost"]) == (["old", "spare"], ["gone", "gone9", "gone10"])
    assert found["bundle"] == {}, "the first plan of the run has compared it"


@pytest.mark.parametrize(
    "deployed, records, given",
    [
        ({}, [], 0),
        ({"h2": json.dumps(PLACES)}, [], 0),
        ({"h2": json.dumps(OTHER_PLACES)}, [OTHER_PLACES], 1),
    ],
    ids=["nothing is deployed", "the same places", "other places"],
)
def test_only_other_places_need_another_plan(act, deployed, records, given):
    act(deployed=deployed)
    assert act.records == records and len(act.given) == given


def test_a_placement_that_is_not_one_is_a_warning(act):
    assert not act(deployed={"h2": "untrusted placement.json"}).get("failed")
    assert len(act.warned) == 1 and "h2" in act.warned[0]


@pytest.mark.parametrize("optional", [False, True])
def test_a_file_that_could_not_be_written_ends_the_run_before_it_plans(act, optional):
    act.hostvars["localhost"] = {"inference_status_file": "/missing/status.json"}
    act.unplanned = KNOWN
    found = act(playbook="status", optional=optional)
    assert found["failed"] and found["msg"].startswith("inference_status_file: /missing is no folder on the controller")
    assert act.records == []


@pytest.mark.parametrize("place", ["localhost", "old"])
def test_an_option_without_its_prefix_is_a_warning_of_the_first_plan(act, place):
    act.hostvars[place] = {"kv_transfer": "mooncake", "model": "m"}
    act()
    act(deployed={})
    assert act.warned == ["The variable kv_transfer has no effect. Did you mean inference_kv_transfer?"]


def test_with_only_no_host_is_selected_or_asked(act):
    none = {"hosts": [], "router_hosts": [], "cluster": [], "asked": [], "left": [], "ours": [], "lost": []}
    answer = {"deployed": {"h2": json.dumps(PLACES)}}
    for options in ({}, answer):
        found = act(only=True, **options)["selection"]
        assert found == {**SELECTED, **none, "bundle": {}, "show": "table", "pages": {"folder": "", "names": []}}
    act.plan = CLUSTER
    assert act(only=True)["selection"]["cluster"] == []


def test_a_cluster_is_reached_from_here_and_no_host_is_asked_or_has_a_bundle(act):
    act.plan = CLUSTER
    act.hostvars["h2"] = {"inference_bundle": "/bundle"}
    found = act()["selection"]
    assert (found["cluster"], found["asked"], found["bundle"]) == (["localhost"], [], {})
    act.plan = {key: value for key, value in CLUSTER.items() if key != "kubernetes"}
    assert act()["selection"]["router_hosts"] == []


@pytest.mark.parametrize(
    "options, shown",
    [
        ({"show": "commands"}, ["table\ncommands"]),
        ({"show": "json"}, [json.dumps(PLAN, indent=4, sort_keys=True)]),
        ({"show": "none"}, []),
        ({"quiet": True}, []),
        (
            {"show": "memory", "model_facts": "/facts.json", "ignore": ["X"]},
            ["table\nmemory\nmemory of /facts.json without ['X']"],
        ),
    ],
)
def test_what_is_shown(act, options, shown):
    assert not act(**options).get("failed") and act.shown == shown


def test_another_word_names_the_variable(act):
    with pytest.raises(
        AnsibleError, match="inference_plan_show is 'tabel'. Nothing was planned. Fix: one of table, advice"
    ):
        act(show="tabel")


def test_memory_needs_the_facts_of_a_model(act):
    found = act(show="memory")
    assert found["failed"] and "Fix: set it to the file" in found["msg"] and found["of_ansible"] and not act.given


FINDING = Finding("inference_x", "X-1", "it is wrong", "Mend it.")


@pytest.mark.parametrize("known", [{}, KNOWN], ids=["no deployment", "a deployment"])
@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize(
    "error", [PlanError([FINDING]), AnsibleError("x is undefined")], ids=lambda one: type(one).__name__
)
def test_a_refused_inventory_names_its_deployment_where_that_is_enough(act, error, known, optional):
    def refuse():
        raise error

    act.refuse, act.unplanned = refuse, known
    found = act(optional=optional)
    report = str(error)
    message = f"{report.splitlines()[0]} They are listed above." if isinstance(error, PlanError) else report
    assert act.shown == ([report] if isinstance(error, PlanError) else [])
    if optional and known:
        assert found == {"of_ansible": 1, "changed": False, "unplanned": message, "selection": KNOWN}
    else:
        unnamed = action.NAMELESS if optional else ""
        assert found == {"of_ansible": 1, "failed": True, "msg": message + unnamed} and not act.given


class Undefined(dict):
    """The variables of a host, of which one refers to another that is not there."""

    missing = "vault_api_key"

    def __getitem__(self, name):
        if name == "inference_secrets":
            raise AnsibleError(f"'{self.missing}' is undefined")
        return super().__getitem__(name)


def test_a_value_that_cannot_be_read_names_its_variable(act):
    act.hostvars["old"] = Undefined({"inference_env": {}, "inference_secrets": None, "other": 1})
    act.refuse = Mock(side_effect=AnsibleError("another one"))
    message = act()["msg"]
    assert message.startswith(
        "inference_secrets of old has a value that Ansible cannot read. Nothing was changed. Fix: "
    )
    assert message.endswith("Ansible's reason: 'vault_api_key' is undefined")


def test_a_value_that_asks_for_another_hosts_variables_is_refused_in_words(act, monkeypatch):
    monkeypatch.setattr(Undefined, "missing", "hostvars")
    act.hostvars["old"] = Undefined({"inference_secrets": None})
    act.refuse = Mock(side_effect=AnsibleError("another one"))
    message = act()["msg"]
    assert "Fix: write the value itself, or put it into a variable of a group" in message and "vault" not in message


def test_ansible_does_not_print_the_lines_of_our_task_after_a_refusal(act):
    act.refuse = Mock(side_effect=PlanError([FINDING]))
    acting = action.ActionModule.__new__(action.ActionModule)
    acting._task = types.SimpleNamespace(args={}, check_mode=False, _ds={"name": "Create the plan"})
    acting.run(task_vars={"inventory_hostname": "localhost", "hostvars": act.hostvars, "groups": GROUPS})
    assert acting._task._ds is None


def test_one_bundle_for_all_hosts(act):
    act.hostvars["h2"] = {"inference_bundle": "/bundle"}
    found = act()
    assert found["failed"] and "[VARIABLE-CONFLICT]" in act.shown[0] and "/bundle" in act.shown[0]


@pytest.mark.parametrize("count, asked", [(64, 64), (65, 64), (200, 64)])
def test_many_hosts_are_asked_evenly(count, asked):
    names = [f"h{number}" for number in range(count)]
    groups = {"prefill": names[::-1], "spare": ["z"], "own": [*names, "z"], "narrow": ["h3", "h20", "z"]}
    found = action.hosts_to_ask(PLAN, {}, groups)
    assert len(set(found)) == asked and found[0] == names[0] and found[-1] == names[-1]
    gaps = {names.index(after) - names.index(before) for before, after in zip(found, found[1:], strict=False)}
    assert max(gaps) - min(gaps) <= 1
    assert action.hosts_to_ask(PLAN, {"inference_group": "narrow"}, groups) == ["h3", "h20"]


def test_what_a_newer_release_refuses_is_shown_with_the_table_only(act):
    act.newer = types.SimpleNamespace(name="0.99.0")
    act()
    assert act.shown == ["table\ntable\n0.99.0 refuses"]
    act.shown.clear()
    act(quiet=True)
    assert act.shown == []


@pytest.mark.parametrize("place", ["localhost", "h2"])
@pytest.mark.parametrize("optional", [False, True])
def test_a_run_variable_of_another_type_ends_the_run_before_it_plans(act, optional, place):
    act.hostvars[place]["inference_logs_minutes"] = "30m"
    result = act(optional=optional, playbook="logs")
    assert result["failed"] and result["msg"].startswith("inference_logs_minutes: '30m' is no number of minutes.")
    assert act.records == []


def test_a_run_variable_is_judged_on_hosts_of_the_deployment_only_and_once(act):
    act.hostvars["localhost"]["inference_group"] = "prefill"
    act.hostvars["spare"]["inference_status_fail"] = "ture"
    assert "failed" not in act()
    for name in ("localhost", "h2", "h10"):
        act.hostvars[name]["inference_status_fail"] = "ture"
    assert act()["msg"].count("ture") == 1
    assert "failed" not in act(deployed={})


@pytest.mark.parametrize("name", ["inference_manifests_file", "inference_manifests_dir"])
def test_the_playbook_plan_says_that_it_writes_no_manifests(act, name):
    act.hostvars["localhost"][name] = "m.yml"
    act(playbook="plan")
    assert act.warned == []
    act.plan = CLUSTER
    act(playbook="kubernetes")
    assert act.warned == []
    act(playbook="plan")
    (text,) = act.warned
    assert text.startswith(f"{name} has no effect on the playbook plan") and "-e inference_plan_only=true" in text
