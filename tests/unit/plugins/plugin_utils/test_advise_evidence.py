# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as evidence of a pool's load: windows that are long enough, reports with loads, counters that all engines have."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.advise import evidence
from ansible_collections.ascend.inference.plugins.plugin_utils.advise.declaration import place_of


@pytest.mark.parametrize(
    ("seconds", "short"),
    [(0.0, False), (0.5, True), (evidence.LEAST_SECONDS - 1, True), (evidence.LEAST_SECONDS, False), (600.0, False)],
)
def test_a_short_window_is_doubted(seconds, short):
    found = evidence.of_window({}, {"services": {"a": {"seconds": seconds}, "b": None, "c": {"requests": 1.0}}})
    assert found.seconds == seconds and [gap.id for gap in found.gaps] == (["ADVISE-SHORT"] if short else [])
    assert all(gap.severity == "error" and gap.why.startswith("A few seconds") for gap in found.gaps)


def test_the_shortest_window_of_all_engines_counts():
    services = {name: {"seconds": seconds} for name, seconds in (("a", 90.0), ("b", 60.0), ("c", 120.0))}
    assert evidence.of_window({}, {"services": services}).seconds == 60.0


@pytest.mark.parametrize(
    "report",
    [{"format": evidence.FORMAT, "loads": []}, {"format": evidence.FORMAT}, {"format": 0, "loads": [{}]}, "x"],
)
def test_what_is_no_report_with_loads_is_named(report):
    (gap,) = evidence.evidence_of({}, report, {}).gaps
    assert gap.severity == "error" and gap.why and "no report of this collection's benchmark" in gap.problem


@pytest.mark.parametrize(
    ("metric", "fix", "severity"),
    [("requests", "Remove --disable-log-stats", "error"), ("preemptions", "Remove --disable-log-stats", "warning")],
)
def test_a_metric_that_is_lacking_says_how_to_get_it(metric, fix, severity):
    counters = {name: 1.0 for name in evidence.NEEDED if name != metric}
    found = evidence.Evidence("x", 60.0, {"a": counters, "b": dict.fromkeys(evidence.NEEDED, 1.0)})
    plan = {"release_facts": {"vllm": "0.11.0"}}
    (gap,) = evidence.missing(plan, found, "prefill", ["a", "b"])
    assert (gap.id, gap.severity, gap.why) == ("ADVISE-METRICS", severity, "Absent is not zero.")
    assert gap.fix.startswith(fix) and evidence.NEEDED[metric] in gap.problem


@pytest.mark.parametrize(("count", "more"), [(4, ""), (5, " and 1 more")])
def test_four_engines_that_were_not_read_are_named(count, more):
    names = [f"e{number}" for number in range(count)]
    (gap,) = evidence.missing({"release_facts": {"vllm": "0.11.0"}}, evidence.Evidence("x"), "decode", names)
    assert f"no counters of {', '.join(names[:4])}{more}: not read" in gap.problem and gap.why


def test_a_pool_has_as_many_instances_on_a_host_as_its_smallest_host_takes():
    sizes = {"a": 8, "b": 4, "other": 2}
    hosts = [{"name": name, "devices": list(range(count))} for name, count in sizes.items()]
    placed = [("decode", 1, [["b", [0, 1]]]), ("decode", 0, [["a", [0, 1]]]), ("prefill", 0, [["other", [0]]])]
    instances = [{"kind": kind, "number": number, "hosts": on} for kind, number, on in placed]
    found = {"placement": {"instances": instances}, "hosts": hosts}
    assert place_of(found, "decode") == (2, ["a", "b"], 2, 1, 2)
    wide = [{"kind": "decode", "number": 0, "hosts": [["a", [0, 1, 2]]]}, *instances]
    wide = {"placement": {"instances": wide}, "hosts": hosts}
    assert place_of(wide, "decode").devices == 3
