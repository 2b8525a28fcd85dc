# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which faults a drill of the entry makes, with whose key, what it refuses, and what its report says of the address."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.entry import entry_drill, entry_drill_key
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.report import drill_report
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.text import drill_text

KEY = "drill-key-0123456789"
TWO = {"g1": "192.0.2.7", "g2": "192.0.2.8"}
TEXTS = {"digests": f"sha256:{'ab' * 32}\n", "drill": f"# of the drill\n\nsha256:{'cd' * 32}\n{KEY}\n"}
SETTINGS = {
    "address": "192.0.2.9",
    "port": 8443,
    "plain_http": True,
    "deployments": {name: {"routers": [f"192.0.2.{number}:8000"]} for number, name in enumerate(("a", "b"), 1)},
    "models": {"shared": {"deployments": {"a": 95, "b": 5}}, "whole": {"deployment": "a"}},
    "teams": {"first": {"keys_file": "digests"}, "later": {"keys_file": "drill"}},
}


def drill(raw=None, hosts=None, confirmed="entry", **changed):
    return entry_drill({**SETTINGS, **changed}, hosts or TWO, TEXTS, {} if raw is None else raw, confirmed)


def refused(*given, **more):
    with pytest.raises(PlanError) as error:
        drill(*given, **more)
    assert KEY not in str(error.value)
    return {finding.id for finding in error.value.findings}


def test_two_hosts_have_three_faults_and_the_key_is_not_among_them():
    found = drill()
    assert [(run["kind"], run["action"]) for run in found["faults"]] == [
        ("entry", "kill"),
        ("entry", "pause"),
        ("address", "kill"),
    ]
    units = [run["services"][0]["unit"] for run in found["faults"]]
    assert units == ["ascend-inference-entry.service"] * 2 + ["ascend-inference-address-_entry.service"]
    assert found["plan"]["verify"]["entry"]["url"] == "http://192.0.2.9:8443"
    assert KEY not in json.dumps(found) and entry_drill_key(SETTINGS, TWO, TEXTS) == KEY


def test_a_model_of_one_deployment_is_asked_because_its_texts_can_be_compared():
    assert drill()["plan"]["verify"]["model"] == "whole"
    only = {"later": {"keys_file": "drill", "models": ["shared"]}}
    assert drill(teams=only)["plan"]["verify"]["model"] == "shared"


@pytest.mark.parametrize("confirmed", ["", "inference", None, True])
def test_it_needs_a_word_of_its_own(confirmed):
    assert refused(confirmed=confirmed) == {"DRILL-CONFIRM"}


def test_digests_and_teams_with_limits_have_no_key_for_the_load():
    assert refused(teams={"first": {"keys_file": "digests"}}) == {"DRILL-TEAM"}
    assert refused(teams={"later": {"keys_file": "drill", "requests_per_minute": 900}}) == {"DRILL-TEAM"}
    assert refused(paths=["/v1/chat/completions"]) == {"DRILL-SETTING"}


def test_one_host_is_an_outage_that_is_accepted_or_refused():
    one = {"g1": "192.0.2.7"}
    assert refused(hosts=one) == {"DRILL-SPARE"}
    assert [run["kind"] for run in drill({"without_spare": True}, one)["faults"]] == ["entry"]
    assert refused({"without_spare": True, "faults": [{"kind": "address"}]}, one) == {"DRILL-SETTING"}


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "decode"},
        {"kind": "entry", "name": "g1"},
        {"kind": "entry", "action": "abort"},
        {"kind": "entry", "part": "rank"},
        {"kind": "address", "action": "pause"},
    ],
)
def test_what_it_does_not_hit_is_refused(fault):
    assert refused({"faults": [fault]}) == {"DRILL-SETTING"}


def test_the_load_stays_on_the_controller():
    assert refused({"host": "g1"}) == {"DRILL-HOST"}
    assert drill({"host": "localhost"})["host"] == "localhost"


def test_limits_are_those_of_the_fault_unless_others_are_given():
    assert [run["limits"]["gap"] for run in drill()["faults"]] == [10, 10, 5]
    found = drill({"limits": {"gap": 30}})
    assert [run["limits"] for run in found["faults"]] == [{"failing": 10}, {"failing": 10}, {"failing": 5}]
    assert found["limits"]["gap"] == 30


def judged(after, gap=1.0, failing=0.0, faults=None):
    counts = {"requests": 40, "answered": 40, "failed": 0, "empty": 0, "first_p50": 0.1, "first_p99": 0.1}
    counts.update(compared=4, wrong=0, unstable=0, not_repeated=0, per_second=4.0, seconds=20.0)
    later = {**counts, "gap": gap, "failing": failing, "recovered": 1.0, "problems": [], "unsent": 0}
    made = {"begun": 1.0, "ended": 21.0, "recovered": {"entry": 0.1}}
    figures = {"baseline": counts, "fault": later, "timeline": []}
    address = {"before": "g1", "after": after}
    result = {"problem": "", "fault": made, "load": {"figures": figures}, "logs": [], "address": address}
    found = drill({"faults": faults or [{"kind": "entry", "action": "pause", "seconds": 20}]})
    report = drill_report(found["plan"], found, [result])
    return report, {finding["id"] for finding in report["faults"][0]["findings"]}


@pytest.mark.parametrize(
    ("after", "sentence", "ids"),
    [
        (["g2"], "The address was on g1 before and on g2 after.", set()),
        (["g1"], "The address was on g1 before and there after.", {"DRILL-ADDRESS"}),
        (["g1", "g2"], "The address was on g1 before and on g1 and g2 after.", {"DRILL-ADDRESS"}),
        ([], "The address was on g1 before and on no host after.", {"DRILL-ADDRESS"}),
    ],
)
def test_the_address_is_on_one_host_that_serves(after, sentence, ids):
    report, found = judged(after)
    assert found == ids and report["passed"] == (not ids)
    assert sentence in "\n".join(drill_text(report)) and report["faults"][0]["address"]["after"] == after


def test_a_killed_program_may_be_back_before_the_address_moves():
    assert judged(["g1"], faults=[{"kind": "entry"}])[1] == set()


def test_longer_than_the_limits_of_the_fault_is_an_outage():
    assert judged(["g2"], gap=10.5, failing=10.5)[1] == {"DRILL-GAP", "DRILL-FAILING"}
    assert judged(["g2"], gap=10.0, failing=10.0)[1] == set()
