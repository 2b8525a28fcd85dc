# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What teams have used: which files are read, what is added up, what it costs, and what a hostile host cannot write into accounts."""

from __future__ import annotations

import csv

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.entry.usage import usage
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.reading import read_entry
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.usage import usage_days, usage_report
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_entry import GOOD, ONE, changed

PRICED = changed("models.qwen3", {"deployment": "qwen", "prices": {"prompt": 2, "completion": 8, "cached": 0.5}})


def row(day="2026-11-30", team="lab", model="qwen3", counts=(1, 0, 10, 5, 4)):
    return {"day": day, "team": team, "model": model, "counts": list(counts)}


def test_the_files_of_all_processes_of_the_days_are_added_up(tmp_path):
    files = {
        "2026-10-31.1-1": "lab\tqwen3\t1\t0\t1\t1\t1\n",
        "2026-11-01.1-1": "lab\tqwen3\t1\t0\t10\t5\t4\nlab\tqwen3\t1\t1\t0\t2\t0\n",
        "2026-11-01.2-7": "lab\tqwen3\t2\t0\t20\t10\t8\nboth\torg/ds-v4\t1\t0\t1\t1\t0\n",
        "2026-11-01.2-7.new": "lab\tqwen3\t9\t9\t9\t9\t9\n",
        "2026-11-01.index": "1-1\n2-7\n",
        "2026-11-02.1-1": "lab\tqwen3\t1\t0\t1\t1\t1\nlab\tqwen3\t1\t0",
        "2026-11-03.1-1": "lab\tqwen3\t1\t0\t1\t1\t1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    rows, damaged = usage(str(tmp_path), "2026-11-01", "2026-11-02")
    assert rows == [
        row("2026-11-01", "both", "org/ds-v4", (1, 0, 1, 1, 0)),
        row("2026-11-01", counts=(4, 1, 30, 17, 12)),
        row("2026-11-02", counts=(1, 0, 1, 1, 1)),
    ]
    assert damaged == ["2026-11-02.1-1"]


def test_a_host_without_the_folder_has_not_said_that_nothing_was_used(tmp_path):
    assert usage(str(tmp_path), "2026-11-01", "2026-11-02") == ([], [])
    with pytest.raises(FileNotFoundError):
        usage(str(tmp_path / "absent"), "2026-11-01", "2026-11-02")


def test_teams_that_nobody_has_bury_no_other_one():
    rows = [
        row(),
        *(row(team=f"a{number}") for number in range(500)),
        *(row(model=f"m{number}") for number in range(500)),
    ]
    report = usage_report(PRICED, ONE, rows)
    assert len(report["lines"]) < 30 and any(line.startswith("| lab ") and "qwen3" in line for line in report["lines"])
    assert report["lines"][-1].startswith("980 more rows") and len(report["csv"].splitlines()) == 1002
    assert "1001" in report["lines"][-2], "the sum is of all"


def test_costs_are_tokens_times_prices_and_cached_tokens_are_of_the_prompt():
    rows = [row("2026-11-01"), row("2026-11-02", counts=(1, 0, 1000000, 1000000, 500000)), row(model="gone")]
    report = usage_report(PRICED, ONE, rows)
    cells = {tuple(line.split("|")[1:3]): line.split("|")[-2].strip() for line in report["lines"]}
    found = {(team.strip(), model.strip()): cost for (team, model), cost in cells.items()}
    # 10 prompt with 4 cached and 5 completion: 6 x 2 + 4 x 0.5 + 5 x 8 = 54 millionths
    assert found["lab", "qwen3"] == "9.2501" and found["lab", "gone"] == "" and found["all", ""] == "9.2501"
    days = list(csv.DictReader(report["csv"].splitlines()))
    assert [(day["day"], day["model"], day["cost"]) for day in days] == [
        ("2026-11-01", "qwen3", "0.0001"),
        ("2026-11-02", "qwen3", "9.2500"),
        ("2026-11-30", "gone", ""),
    ]


def test_the_same_day_of_two_hosts_is_one_row_and_without_prices_there_is_no_cost():
    report = usage_report(GOOD, ONE, [row(), row()])
    assert report["csv"].splitlines() == [
        "day,team,model,requests,without_usage,prompt_tokens,completion_tokens,cached_tokens",
        "2026-11-30,lab,qwen3,2,0,20,10,8",
    ]
    assert "cost" not in report["lines"][0] and "| 20 " in report["lines"][2]
    assert usage_report(GOOD, ONE, [])["lines"] == ["No request was answered in these days."]


@pytest.mark.parametrize(
    "wrong",
    [
        {"team": "=1+1"},
        {"model": "a,b\n"},
        {"day": "today"},
        {"counts": [1, 2, 3]},
        {"counts": ["1"] * 5},
        {"counts": [True] * 5},
        {"counts": 5},
        {"counts": [-1, 0, 0, 0, 0]},
        {"counts": [10**19, 0, 0, 0, 0]},
        {"team": 5},
    ],
    ids=str,
)
def test_an_answer_of_a_host_that_is_no_usage_is_refused(wrong):
    with pytest.raises(PlanError, match="no usage"):
        usage_report(GOOD, ONE, [row(), {**row(), **wrong}])


@pytest.mark.parametrize("rows", [[5], ["row"], [None], [[]], "rows"], ids=str)
def test_rows_that_are_none_are_refused(rows):
    with pytest.raises(PlanError, match="no usage"):
        usage_report(GOOD, ONE, rows)


def test_days_are_this_month_or_those_that_are_named():
    assert usage_days(GOOD, ONE, "", "", "2026-11-30") == {
        "folder": "/var/lib/ascend-inference-entry",
        "first": "2026-11-01",
        "last": "2026-11-30",
    }
    assert usage_days(GOOD, ONE, "2026-01-02", "2026-01-02", "2026-11-30")["last"] == "2026-01-02"


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        ("2026-13-01", "", "not a day"),
        ("20261101", "", "not a day"),
        ("", "yesterday", "not a day"),
        ("2026-12-01", "", "is after"),
    ],
)
def test_days_that_are_none_are_refused(first, last, said):
    with pytest.raises(PlanError, match=said):
        usage_days(GOOD, ONE, first, last, "2026-11-30")


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path):
    for file, said in ((tmp_path, "is a folder"), (tmp_path / "missing" / "u.csv", "no folder on the controller")):
        with pytest.raises(PlanError, match=said):
            usage_days(GOOD, ONE, "", "", "2026-11-30", str(file))
    assert usage_days(GOOD, ONE, "", "", "2026-11-30", str(tmp_path / "u.csv"))


@pytest.mark.parametrize("prices", [{"prompts": 1}, {"prompt": -1}, {"prompt": "much"}, {"prompt": True}])
def test_prices_are_numbers_of_known_tokens(prices):
    with pytest.raises(PlanError, match="prices"):
        read_entry(changed("models.qwen3", {"deployment": "qwen", "prices": prices}), ONE)


def test_more_cached_tokens_than_a_prompt_has_do_not_lower_what_another_host_counted():
    honest, odd = row(counts=(1, 0, 1000000, 0, 0)), row(counts=(0, 0, 0, 0, 10**9))
    one, both = (
        [line for line in usage_report(PRICED, ONE, rows)["lines"] if "all" in line]
        for rows in ([honest], [honest, odd])
    )
    assert one == both and " 2.0000 " in one[0]
