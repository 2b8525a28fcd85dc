# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The alerts of an entry, judged by promtool: each fault of two healthy hosts raises exactly its alert. What is told is proven in test_entry_metrics.py."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.status import entry_watched
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring import metrics
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.entry_alerts import ENTRY_ALERTS
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import monitoring_files
from ansible_collections.ascend.inference.tests.integration import _monitoring
from ansible_collections.ascend.inference.tests.integration._monitoring import (
    INTERVAL,
    STEPS,
    Series,
    growing,
    promtool,
    steady,
)
from ansible_collections.ascend.inference.tests.integration.test_rules import GONE, OTHERS, SECONDS, SHORT, changed
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_entry import GOOD, TWO

PREFIX = "ascend_inference_entry_"
ROUTERS, ENDS, INFO = f"{PREFIX}routers", f"{PREFIX}certificate_expires_timestamp_seconds", f"{PREFIX}settings_info"
REFUSED = f"{PREFIX}refused_total"
DAY = 86400
ONE = {"host": "h1"}
FIRST, FALLBACK = {"model": "ds", "way": "first"}, {"model": "ds", "way": "fallback"}
AT_LIMIT = {"team": "search", "reason": "requests_per_minute"}
STRANGERS = {"reason": "key"}
OFTEN = growing(INTERVAL / 60 * 61)
FAULTS = [
    ("EntryDown", [(OTHERS, ONE, GONE), ("up", ONE, steady(0))]),
    ("EntryModelDown", [(ROUTERS, {"model": "qwen3", **ONE}, steady(0))]),
    ("EntryModelDown", [(ROUTERS, {"model": "ds"}, steady(0))]),
    ("EntryFallback", [(ROUTERS, {**FIRST, **ONE}, steady(0))]),
    ("EntryCertificateExpires", [(ENDS, ONE, steady(13 * DAY))]),
    ("EntryCertificateExpires", [(ENDS, {}, steady(60))]),
    ("EntryTeamAtLimit", [(REFUSED, AT_LIMIT, growing(1))]),
    ("EntryTeamAtLimit", [(REFUSED, {**AT_LIMIT, **ONE}, growing(2))]),
    ("EntryUnknownKeys", [(REFUSED, {**STRANGERS, **ONE}, OFTEN)]),
    ("EntryHostsDiffer", [(INFO, ONE, "other")]),
]
# What is not enough, or over: of the alert with this name.
QUIET = [
    ("", []),
    ("EntryDown", [("up", ONE, SHORT)]),
    ("EntryModelDown", [(ROUTERS, {"model": "qwen3", "way": "first"}, SHORT)]),
    ("EntryFallback", [(ROUTERS, FALLBACK, steady(0))]),
    ("EntryFallback", [(ROUTERS, {**FIRST, **ONE}, SHORT)]),
    ("EntryCertificateExpires", [(ENDS, {}, steady(15 * DAY))]),
    ("EntryTeamAtLimit", [(REFUSED, AT_LIMIT, f"0+9x{STEPS // 3} {9 * STEPS // 3}+0x{STEPS}")]),
    ("EntryTeamAtLimit", [(REFUSED, AT_LIMIT, f"0x{STEPS * 5 // 6 - 14} 0+9x{STEPS}")]),
    ("EntryUnknownKeys", [(REFUSED, STRANGERS, f"0x{STEPS * 5 // 6 - 6} 0+90x{STEPS}")]),
    ("EntryUnknownKeys", [(REFUSED, STRANGERS, growing(INTERVAL / 60 * 50))]),
    ("EntryHostsDiffer", [(INFO, {}, "other")]),
]


@pytest.fixture(scope="module", autouse=True)
def program():
    _monitoring.install()


def healthy():
    """What two hosts export of which one refuses a request now and then."""
    for group in json.loads(made()["files"][0]["content"]):
        labels = group["labels"]
        yield Series("up", labels, steady(1))
        for own, number in ((FIRST, 2), (FALLBACK, 1), ({"model": "qwen3", "way": "first"}, 1)):
            yield Series(ROUTERS, {**labels, **own}, steady(number))
        yield Series(ROUTERS, {**labels, "model": "qwen3", "way": "fallback"}, steady(0))
        yield Series(ENDS, labels, steady(60 * DAY))
        yield Series(INFO, {**labels, "digest": "a"}, steady(1))
        yield Series(REFUSED, {**labels, **AT_LIMIT}, growing(0.2))
        yield Series(REFUSED, {**labels, **STRANGERS}, growing(1))


def made(**alerts):
    return monitoring_files(entry_watched({**GOOD, "monitoring": ["192.0.2.50"]}, TWO), {"alerts": alerts})


def series_of(changes):
    found = changed(list(healthy()), [change for change in changes if change[2] != "other"])
    for name, labels, values in changes:
        for number, item in enumerate(found):
            if values == "other" and item.name == name and labels.items() <= item.labels.items():
                found[number] = item._replace(labels={**item.labels, "digest": "b"})
    return [{"series": item.text(), "values": item.values} for item in found]


def judged(folder, tests):
    (folder / "rules.yml").write_text(made()["files"][1]["content"], encoding="utf-8")
    common = {"interval": f"{INTERVAL}s"}
    data = {"rule_files": ["rules.yml"], "evaluation_interval": "120s", "tests": [{**common, **test} for test in tests]}
    (folder / "tests.yml").write_text(json.dumps(data), encoding="utf-8")
    return promtool("test", "rules", str(folder / "tests.yml"))


def test_each_fault_raises_exactly_its_alert_and_nothing_else_does(tmp_path):
    tests = []
    for names, changes in [*(({name}, each) for name, each in FAULTS), *((set(), each) for dummy, each in QUIET)]:
        samples = [{"labels": f'{{alertname="Inference{name}"}}', "value": 1} for name in names]
        found = 'count by (alertname) (count by (alertname, deployment) (ALERTS{alertstate="firing"}))'
        expected = [{"expr": found, "eval_time": f"{SECONDS}s", "exp_samples": samples}]
        tests.append({"name": f"{names} {changes}", "input_series": series_of(changes), "promql_expr_test": expected})
    status, output = judged(tmp_path, tests)
    assert status == 0, output


def test_every_alert_has_a_fault_and_one_that_is_not_enough():
    for alert in ENTRY_ALERTS:
        read = metrics.names_in(" ".join(alert.expressions))
        for cases in (FAULTS, QUIET):
            own = [{name for name, _labels, _values in changes} for name, changes in cases if name == alert.name]
            assert any(read & names for names in own), alert.name


def test_each_alert_says_where_and_what(tmp_path):
    tests = [
        {
            "input_series": series_of(changes),
            "alert_rule_test": [{"alertname": f"Inference{name}", "eval_time": f"{SECONDS}s", "exp_alerts": []}],
        }
        for name, changes in dict(FAULTS).items()
    ]
    output = judged(tmp_path, tests)[1]
    places = {
        "EntryDown": ", h1",
        "EntryModelDown": ", ds on h1",
        "EntryFallback": ", ds on h1",
        "EntryCertificateExpires": ", h1",
        "EntryTeamAtLimit": ", search",
        "EntryUnknownKeys": ", h1",
        "EntryHostsDiffer": "",
    }
    for alert in ENTRY_ALERTS:
        assert f'summary="entry 192.0.2.100{places[alert.name]}: {alert.summary}' in output.replace('\\"', '"'), output
        assert f"/guide_monitoring.rst#{alert.name.lower()}" in output


def test_limits_of_an_alert_can_be_set_and_it_can_be_left_out():
    text = made(EntryTeamAtLimit={"threshold": 7, "window": 61, "after": 5}, EntryDown={"enabled": False})["files"][1]
    assert "[61s])) * 60 > 7\n    for: 5s" in text["content"] and "InferenceEntryDown" not in text["content"]
