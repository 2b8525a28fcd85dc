# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose answers have other types than the modules promise is named; the other hosts are judged as without it."""

from __future__ import annotations

import copy
import itertools

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.inference.plugins.filter.check_facts import facts_filter, peers_filter
from ansible_collections.ascend.inference.plugins.filter.check_plan import check_plan_filter
from ansible_collections.ascend.inference.plugins.filter.check_report import report_filter, text_filter
from ansible_collections.ascend.inference.plugins.filter.port_probes import probes_filter
from ansible_collections.ascend.inference.plugins.filter.status_report import status_report, status_table
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.readable import judged
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_check_plan import facts, plan

ODD = (None, "x", -1.5, [7], {"a": []})


def places(value, path=()):
    """The path of everything in the facts; of a list only the last entry, as all have the same form."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[-1:] if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def spoiled(host, path, odd, sound=None):
    data = copy.deepcopy(sound or facts())
    inner = data[host]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = odd
    return data


def case():
    """Each place of the facts of a host with one of the odd values, in turn."""
    return list(zip(places(facts()["n3"]), itertools.cycle(ODD), strict=False))


@pytest.mark.parametrize("part", range(2))
def test_no_answer_of_a_host_ends_the_check_of_all(part):
    planned, sound = plan(), facts()
    others = [found for found in check_plan_filter(planned, sound) if not found["path"].startswith("n3")]
    for path, odd in case()[part::2]:
        data = spoiled("n3", path, odd, sound)
        found = check_plan_filter(planned, data)
        assert [item for item in others if item not in found] == [], path
        text_filter(planned, data, found)
        report_filter(planned, data, found, run={"date": "", "command": ""})


def test_who_answered_in_a_wrong_form_is_named_with_what_is_wrong():
    data = spoiled("n3", ("npu",), "soon")
    found = [item for item in check_plan_filter(plan(), data) if "wrong form" in item["problem"] + item["value"]]
    assert found and all(item["path"].startswith("n3") and item["severity"] == "error" for item in found)


def test_results_that_are_no_records_are_an_error_of_their_host():
    for odd in ODD[1:]:
        results = {"n3": {"gather": odd}}
        found = facts_filter(plan(), results)
        assert set(found) == set(facts())
        for function in (probes_filter, peers_filter):
            function(plan(), results)


def test_what_is_wrong_without_any_facts_is_no_error_of_a_host():
    with pytest.raises(AnsibleFilterError, match="unknown mode"):
        check_plan_filter(plan(), facts(), options={"tcp": "sometimes"})


def test_two_answers_that_do_not_fit_together_cost_one_host():
    def judge(known):
        return sum(
            [known[name]["a"]["b"] for name in known if "b" in known[name].get("a", {})],
            start=0 if len(known) < 2 else 1,
        )

    assert judged(judge, {"n1": {"a": {"b": 1}}, "n2": {"a": {"b": 2}}}) == 4
    assert judged(judge, {"n1": {"a": {"b": 1}}, "n2": {"a": {"b": "2"}}}) == 2


ROW = {
    "service": "decode-0",
    "kind": "decode",
    "state": "running",
    "answers": True,
    "since": 60,
    "restarts": 0,
    "version": "1",
    "installed": "1",
}
ROW |= {
    "requests": {"done": 8},
    "kv": {"prompt_tokens": 1, "external_kv_transfer": 1},
    "findings": [],
    "log": ["line"],
    "digests": {},
}
STATUS = {"services": [ROW], "findings": [], "plan_digest": "d", "locked": {}, "unverified": {}}


def test_no_answer_of_a_host_ends_the_status_of_all():
    named = 0
    for path, odd in itertools.product(places(STATUS), ODD):
        data = copy.deepcopy(STATUS)
        inner = data
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = odd
        report = status_report({"n1": data, "n2": STATUS}, "x")
        assert [row["host"] for row in report["services"] if row["service"] == "decode-0"][-1] == "n2", path
        status_table(report)
        named += any(
            text.startswith("n1: status not available: the answer of the module has a wrong form")
            for text in report["findings"]
        )
    assert named > 20


def test_texts_of_a_host_make_no_lines_of_their_own_in_the_status():
    row = {**ROW, "version": "1\n# INJECTED\x1b[2J", "findings": ["a\n# INJECTED"], "log": ["b\r\n# INJECTED"]}
    lines = status_table(status_report({"n1": {**STATUS, "services": [row], "findings": ["c\n# INJECTED"]}}, "x"))
    assert sum("# INJECTED" in line for line in lines) == 4
    assert not [line for line in lines if line.startswith("# INJECTED") or not line.isprintable()]
