# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a comparison: with the options of the run, the other topology in its own stages only, and what serves is never guessed."""

from __future__ import annotations

import json

import pytest
from ansible import context
from ansible.cli.playbook import PlaybookCLI
from ansible_collections.ascend.inference.plugins.plugin_utils.bench import curves, topologies
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.topologies import (
    compare_outcome,
    compare_stages,
    forwarded,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError

OTHER = "inference_pools: {colocated: {group: all}}\n"
PLAN = {"deployment": "d"}


@pytest.fixture(autouse=True)
def options_of_this_process(monkeypatch):
    monkeypatch.setattr(context, "CLIARGS", context.CLIARGS)  # parse() replaces it


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "other.yml"
    path.write_text(OTHER)
    return {"with": str(path), "folder": str(tmp_path), "moment": "1", "pause": True, "program": ["ansible-playbook"]}


def parsed(*words):
    """The options as Ansible's own program reads them."""
    cli = PlaybookCLI(["ansible-playbook", *words])
    cli.parse()
    options = cli.parser.parse_args([*words])
    return {name: tuple(value) if isinstance(value, list) else value for name, value in vars(options).items()}


def test_each_stage_is_a_run_with_the_options_of_this_one(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [
        "-i",
        "hosts.yml",
        "-e",
        "@x.yml",
        "-e",
        "a=1",
        "--become",
        "--private-key",
        "k",
        "--vault-password-file",
        "v",
        "-vv",
        "site.yml",
    ]
    found = compare_stages(given, parsed(*words))
    rows = [*found["stages"], found["restore"]]
    assert [row["argv"][-1].rpartition(".")[2] for row in rows] == ["check", "bench", "site", "bench", "site"]
    overlay = f"@{tmp_path}/other.yml"
    assert [overlay in row["argv"] for row in rows] == [True, False, True, True, False]
    for row in rows:
        again = parsed(*row["argv"][1:])
        assert (again["become"], again["verbosity"], again["inventory"][-1]) == (True, 2, "hosts.yml")
        assert again["extra_vars"][:2] == (f"@{tmp_path}/x.yml", "a=1") and again["private_key_file"] == f"{tmp_path}/k"
        assert [str(item).rpartition("/")[2] for item in again["vault_password_files"]] == ["v"]
    first, second = (json.loads(rows[number]["argv"][-2]) for number in (1, 3))
    assert (
        first["inference_bench_json"]
        == second["inference_bench_compare"]
        != second["inference_bench_json"]
        == found["report"]
    )
    assert len({row["log"] for row in rows}) == 5 and found["directory"] == str(tmp_path)


def test_without_the_library_the_page_is_markdown(given, monkeypatch):
    assert [page.rpartition(".")[2] for page in compare_stages(given, {})["pages"]] == ["md", "html"]
    monkeypatch.setattr(curves, "find_spec", lambda name: None)
    assert [page.rpartition(".")[2] for page in compare_stages(given, {})["pages"]] == ["md"]


@pytest.mark.parametrize(
    ("change", "options", "text"),
    [
        ({"pause": False}, {}, "inference_allow_pause"),
        ({"with": ""}, {}, "no other topology"),
        ({"with": "/none.yml"}, {}, "cannot be read"),
        ({"folder": "/none"}, {}, "no folder"),
        ({}, {"subset": "n1"}, "--limit"),
        ({}, {"become_ask_pass": True}, "--become-password-file"),
        ({}, {"tags": ("x",)}, "--tags"),
    ],
)
def test_what_cannot_be_compared_is_refused_at_once(given, change, options, text):
    with pytest.raises(PlanError, match=text):
        compare_stages({**given, **change}, options)


@pytest.mark.parametrize(
    "text", ["", "[1]", "a: [", "inference_deployment: e\n", "ansible_user: root\n", "inference_root: /x\n"]
)
def test_a_file_that_is_no_other_topology_is_refused(given, text):
    with open(given["with"], "w", encoding="utf-8") as stream:
        stream.write(text)
    with pytest.raises(PlanError, match="COMPARE-WITH"):
        compare_stages(given, {})


def test_every_option_of_ansible_playbook_is_handed_on_or_refused_or_says_nothing():
    """An option that was forgotten would silently not count in the stages: another user, another key, other variables."""
    handed_on = {**topologies.FLAGS, **topologies.VALUES, **topologies.LISTS, **topologies.FILES, **topologies.PATHS}
    options = parsed("site.yml")
    assert set(options) - set(handed_on) - set(topologies.REFUSED) - {"version"} == {
        "args",
        "check",
        "flush_cache",
        "force_handlers",
        "listhosts",
        "listtags",
        "listtasks",
        "syntax",
        "tags",  # refused in its own way
        "verbosity",
    }
    assert not set(handed_on) & set(topologies.REFUSED) and {*handed_on, *topologies.REFUSED} <= set(options)
    for name, flag in handed_on.items():
        words = [flag] if name in topologies.FLAGS else [flag, "/7" if name in topologies.PATHS else "7"]
        given = parsed(*words, "site.yml")
        assert given[name] != options[name] and flag in forwarded(given), name
        assert parsed(*forwarded(given), "site.yml") == given, name


@pytest.mark.parametrize("name", sorted(topologies.REFUSED))
def test_options_that_stages_cannot_have_are_refused(given, name):
    flag = topologies.REFUSED[name]
    with pytest.raises(PlanError) as refused:
        compare_stages(given, {name: "x"})
    assert [(found.path, found.id, found.why) for found in refused.value.findings] == [
        (flag, "COMPARE-OPTION", topologies.WHY)
    ]
    asks = name in ("ask_pass", "ask_vault_pass", "become_ask_pass", "step")
    assert parsed(*([flag] if asks else [flag, "x"]), "site.yml")[name]
    assert compare_stages(given, {name: None, "tags": ("all",)})
    with pytest.raises(PlanError, match="COMPARE-OPTION"):
        compare_stages(given, {"tags": ("all", "x")})


@pytest.mark.parametrize("name", [*topologies.SAME, "ansible_host", "x"])
def test_variables_that_name_the_deployment_are_no_other_topology(given, name):
    with open(given["with"], "w", encoding="utf-8") as stream:
        stream.write(f"{name}: 1\ninference_pools: {{}}\n")
    with pytest.raises(PlanError, match=f"it sets {name}\\."):
        compare_stages(given, {})
    assert len(topologies.SAME) == 6


@pytest.mark.parametrize(
    "words", [[], ["-M", "/a", "-M", "/b:/c"], ["--become", "--become-user", "x", "-f", "9", "-i", "a,", "-i", "b,"]]
)
def test_another_run_reads_the_same_options(words):
    options = parsed(*words, "site.yml")
    assert parsed(*forwarded(options), "site.yml") == options


def done(**changes):
    report = {"findings": [{"id": "BENCH-REGRESSION", "severity": "error", "path": "load 4", "problem": "slower"}]}
    begun = ["check", "before", "deploy", "after", "restore"]
    base = {
        "failed": "",
        "begun": begun,
        "restored": True,
        "report": report,
        "folder": "/f",
        "pages": ["/f/compare.md"],
    }
    return {**base, **changes}


@pytest.mark.parametrize(
    ("changes", "passed", "texts"),
    [
        ({}, True, ["Both topologies were measured", "with its first topology again"]),
        ({"restored": False}, False, ["was NOT restored"]),
        (
            {"failed": "check", "begun": ["check"], "restored": False, "report": {}},
            False,
            ["'check'", "nothing was deployed"],
        ),
        ({"failed": "after", "report": {}}, False, ["'after'", "with its first topology again"]),
        (
            {"failed": "deploy", "begun": ["check", "before", "deploy", "restore"], "restored": False, "report": None},
            False,
            ["NOT restored"],
        ),
        (
            {
                "report": {
                    "findings": [{"id": "BENCH-EMPTY", "severity": "error", "path": "load 4", "problem": "3 empty"}]
                }
            },
            False,
            ["3 empty", "with its first topology again"],
        ),
        ({"report": None}, False, ["there is no report", "with its first topology again"]),
    ],
)
def test_what_serves_now_is_said(changes, passed, texts):
    found = compare_outcome(PLAN, done(**changes))
    text = "\n".join(found["lines"])
    assert found["passed"] == passed and not [part for part in texts if part not in text], text
    assert ("Both topologies" in text) == passed or "restored" in changes
