# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drill of etcd hits the member that leads, needs a majority without it, and fails if nobody leads afterwards."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill import etcd
from ansible_collections.ascend.inference.plugins.module_utils.drill.masters import Seen, follow, named
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.modules import store_masters
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.report import drill_report
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.text import drill_text
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_drill import refused, result, runs

FAULT = {"faults": [{"kind": "etcd"}]}


def planned(members=3):
    """The plan of a store with so many members of etcd, on node1, node2 and so on. A plan with two is refused, but an old one may have them."""
    plan = launch_plan(*family("ha", {}))
    services = [row for row in plan["services"] if row["kind"] != "etcd" or row["instance"] < members]
    return {**plan, "services": services}


def urls_of(plan):
    return named(runs(plan, FAULT)["faults"][0]["candidates"])


def members(urls, leader, away=(), behind=()):
    """A stand-in of ``ask``: ``behind`` answer without a majority, ``leader`` (a name, or several) say that they lead."""
    names = {url: name for name, url in urls.items()}

    def get(target, path, body, timeout):
        name = names[target.url]
        if name in away:
            return Reply(0, "", 0.0, "no answer")
        if path == "/health":
            healthy = name not in behind
            return Reply(200 if healthy else 503, json.dumps({"health": str(healthy).lower()}), 0.0, "")
        return Reply(200, f"etcd_server_has_leader 1\netcd_server_is_leader {int(name in leader)}\n", 0.0, "")

    return get


def test_the_member_that_leads_is_looked_for_when_the_fault_is_made():
    plan = planned()
    fault = runs(plan, FAULT)["faults"][0]
    assert fault["label"] == "kill: the leader of etcd-0, etcd-1, etcd-2"
    assert [item["name"] for item in fault["services"]] == ["etcd-0", "etcd-1", "etcd-2"]
    assert [item["host"] for item in fault["services"]] == [
        service["host"] for service in plan["services"] if service["kind"] == "etcd"
    ]
    urls = named(fault["candidates"])
    assert urls["etcd-1"].startswith("http://10.1.0.2:") and not urls["etcd-1"].endswith("/health")
    for name in urls:
        assert etcd.look(urls, members(urls, [name])).leader == name
    chosen = runs(plan, {"faults": [{"kind": "etcd", "name": "etcd-1"}]})["faults"][0]
    assert (chosen["candidates"], chosen["names"]) == ([], ["etcd-1"])


def test_one_that_leads_without_a_majority_does_not_lead():
    urls = urls_of(planned())
    assert etcd.look(urls, members(urls, ["etcd-0", "etcd-2"], behind=["etcd-0"])).leader == "etcd-2"
    assert etcd.look(urls, members(urls, ["etcd-0", "etcd-2"])).leader == "", "which one is not known"
    assert etcd.look(urls, members(urls, ["etcd-0"], away=urls)) == Seen("")


@pytest.mark.parametrize(("count", "needed"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority(count, needed):
    assert etcd.majority(count) == needed


def test_a_drill_that_leaves_no_majority_is_refused():
    two = planned(2)
    ids, text = refused(two, FAULT)
    assert ids == {"DRILL-SPARE"} and "1 of 2 members of etcd would be left, and a majority is 2" in text
    assert "etcd" not in [fault["kind"] for fault in runs(two, {})["faults"]], "not chosen by itself either"
    assert runs(two, {**FAULT, "without_spare": True})["faults"]
    host = next(service["host"] for service in two["services"] if service["kind"] == "etcd")
    assert "1 of 2 members of etcd" in refused(two, {"faults": [{"kind": "host", "name": host}]})[1]


class Failed(Exception):
    pass


class Module:
    """Stands in for AnsibleModule."""

    def __init__(self, **params):
        self.params = {"timeout": 0, "kind": "etcd", "spare": True, **params}

    def fail_json(self, msg):
        raise Failed(msg)


def test_a_member_that_is_away_already_forbids_the_fault():
    urls = urls_of(planned())
    get = members(urls, ["etcd-1"], away=["etcd-2"])
    with pytest.raises(Failed, match="without it 1 would be left; a majority is 2"):
        store_masters.found(Module(), lambda asked: etcd.look(asked, get), urls)
    accepted = store_masters.found(Module(spare=False), lambda asked: etcd.look(asked, get), urls)
    assert (accepted.leader, accepted.serving) == ("etcd-1", ("etcd-0", "etcd-1"))
    everyone = members(urls, ["etcd-1"])
    assert store_masters.found(Module(), lambda asked: etcd.look(asked, everyone), urls).leader == "etcd-1"
    with pytest.raises(Failed, match="Not exactly one of etcd-0, etcd-1, etcd-2 leads a majority"):
        store_masters.found(Module(), lambda asked: etcd.look(asked, members(urls, [])), urls)


def judged(plan, see):
    """Ids of the findings and the text, if ``etcd-1`` led, was killed, and ``see(turn)`` was seen afterwards."""
    drill = runs(plan, FAULT)
    before, turns = Seen("etcd-1", serving=("etcd-0", "etcd-1", "etcd-2")), iter(range(1000))
    seconds = iter(range(1000))
    found = follow({}, before, 30, lambda urls: see(next(turns)), lambda: next(seconds), lambda dummy: None)
    made = {**result()["fault"], "processes": {"etcd-1": []}, "recovered": {"etcd-1": 6.0}}
    report = drill_report(plan, drill, [{**result(), "fault": made, "store": {"before": before._asdict(), **found}}])
    return [finding["id"] for finding in report["faults"][0]["findings"]], " ".join(drill_text(report))


def test_a_new_leader_passes_and_none_does_not():
    plan = planned()
    ids, text = judged(plan, lambda turn: Seen("" if turn < 3 else "etcd-2"))
    assert ids == [] and "etcd-2 led after" in text and "keys" not in text
    ids, text = judged(plan, lambda turn: Seen(""))
    assert ids == ["DRILL-LEADER"] and "no other member led with a majority after etcd-1 was hit" in text
    ids, _text = judged(plan, lambda turn: Seen("etcd-1"))
    assert ids == ["DRILL-LEADER"], "the leader was not hit"
    fault = {"faults": [{"kind": "etcd"}]}
    (unmeasured,) = drill_report(plan, runs(plan, fault), [result()])["faults"]
    assert "DRILL-UNJUDGED" in [finding["id"] for finding in unmeasured["findings"]]
