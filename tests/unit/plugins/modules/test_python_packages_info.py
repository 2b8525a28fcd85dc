# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module python_packages_info with a uv and a pip of a few lines. The real ones: tests/unit/releases/test_resolution.py."""

from __future__ import annotations

import os
import sys

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import VenvError
from ansible_collections.ascend.inference.plugins.modules import python_packages_info

UV = """#!/bin/sh
{ echo "$*"; env | grep ^UV_ | sort; grep -v '^name' "$2/pyproject.toml"; echo; } >> {tools}/asked
case "$(cat "$2/pyproject.toml") $UV_EXTRA_INDEX_URL" in
  *twice*own.example*//x.example*) echo twice==1.0 ;;
  *twice*) echo "Because twice was not found in the package registry, nothing works."; exit 1 ;;
  *rare*//second.example*) echo rare==1.0 ;;
  *own.example*) echo "absent==3.0" ;;
  *absent*) echo "Because absent was not found in the package registry, nothing works."; exit 1 ;;
  *rare*) echo "Because rare was not found in the package registry, nothing works."; exit 1 ;;
  *) echo numpy==2.1.0 ;;
esac
"""
PIP = """#!/bin/sh
[ "$*" = "-m pip config list" ] && echo "global.index-url='https://pip.example/simple'"
"""


class Tools:
    """The folder with uv and the Python beside it, and what uv was asked."""

    def __init__(self, folder):
        self.path = str(folder)
        (folder / "bin").mkdir(parents=True)
        for name, text in (("uv", UV), ("python", PIP)):
            (folder / "bin" / name).write_text(text.replace("{tools}", self.path))
            (folder / "bin" / name).chmod(0o755)

    def asked(self):
        """The lines of each question."""
        place = os.path.join(self.path, "asked")
        if not os.path.exists(place):
            return []
        with open(place) as stream:
            return [text.splitlines() for text in stream.read().strip().split("\n\n")]


@pytest.fixture
def tools(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith(("UV_", "PIP_"))]:
        monkeypatch.delenv(name)
    return Tools(tmp_path / "tools")


@pytest.fixture
def run(tools, run_module):
    def call(*environments, **options):
        wishes = [dict({"path": "/nowhere/a", "requirements": ["numpy"]}, **given) for given in environments]
        return run_module("python_packages_info", environments=wishes, **dict({"tools": tools.path}, **options))

    return call


def test_each_environment_is_resolved_in_its_order(run, tools):
    found = run({"path": "/nowhere/b"}, {"requirements": ["rare"], "extra_index_urls": ["https://second.example"]})
    assert found["resolved"] == [
        {"path": "/nowhere/b", "packages": {"numpy": "2.1.0"}, "indexes": {}},
        {"path": "/nowhere/a", "packages": {"rare": "1.0"}, "indexes": {}},
    ]
    assert (found["changed"], found["failed"], found["problems"], found["skipped_reason"]) == (False, False, [], "")
    first, second = tools.asked()
    assert (
        "UV_DEFAULT_INDEX=https://pip.example/simple" in first
        and "UV_DEFAULT_INDEX=https://pip.example/simple" in second
    )
    assert "UV_EXTRA_INDEX_URL=https://second.example" in second and 'dependencies = ["rare"]' in second
    folder = first[0].split()[1]
    assert not os.path.exists(folder), "nothing is left behind"


def test_check_mode_resolves_too(run, tools):
    assert run({}, check=True)["resolved"] and len(tools.asked()) == 1


def test_options_of_an_environment_reach_uv(run, tools):
    run(
        {
            "index_url": "https://mirror.example/simple",
            "find_links": ["/wheels", "/more"],
            "index_strategy": "unsafe-best-match",
            "environment": {"UV_HTTP_TIMEOUT": 7},
            "no_index": True,
            "no_binary": ["numpy"],
            "metadata": {"vllm==0.23.0": ["torch"]},
        }
    )
    (lines,) = tools.asked()
    assert {
        "UV_DEFAULT_INDEX=https://mirror.example/simple",
        "UV_FIND_LINKS=/wheels,/more",
        "UV_INDEX_STRATEGY=unsafe-best-match",
        "UV_HTTP_TIMEOUT=7",
        'requires-dist = ["torch"]',
    } <= set(lines)
    assert " --no-index --no-binary numpy " in lines[0]


def test_a_package_with_an_index_of_its_own_is_looked_for_there(run, tools):
    found = run({"requirements": ["absent"], "package_indexes": {"https://own.example": ["absent"]}})
    assert found["resolved"] == [
        {"path": "/nowhere/a", "packages": {"absent": "3.0"}, "indexes": {"absent": "https://own.example"}}
    ]
    assert len(tools.asked()) == 2 and 'url = "https://own.example"' in tools.asked()[1]


@pytest.mark.parametrize(
    ("made", "python", "other", "expected"),
    [
        (True, "/given/python", "", "{path}/bin/python"),
        (False, "/given/python", "/other/python", "/given/python"),
        (False, "", "/other/python", "/other/python"),
        (False, "", "", sys.executable),
    ],
    ids=["the environment's", "its own option", "of another layer", "this one"],
)
def test_packages_are_for_the_interpreter_that_the_environment_has_or_gets(
    run, tools, tmp_path, made, python, other, expected
):
    path = tmp_path / "venv"
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").write_text("")
    (path / "bin" / "python").chmod(0o755 if made else 0o644)
    asked = {"path": str(path), "python": python}
    run(asked, {"path": str(path), "layer": "x", "python": other}, {"path": "/elsewhere", "python": "/wrong"})
    assert f" --python {expected.format(path=path)} " in tools.asked()[0][0]


@pytest.mark.parametrize("extra", [[], ["https://first.example"]])
def test_fallback_indexes_are_used_after_the_others_and_only_if_needed(run, tools, extra):
    wish = {"extra_index_urls": extra, "fallback_index_urls": ["https://second.example", "https://third.example"]}
    found = run(wish, dict(wish, requirements=["rare"]))
    assert [one["packages"] for one in found["resolved"]] == [{"numpy": "2.1.0"}, {"rare": "1.0"}]
    urls = [[line for line in lines if line.startswith("UV_EXTRA_INDEX_URL=")] for lines in tools.asked()]
    usual = [f"UV_EXTRA_INDEX_URL={url}" for url in extra]
    more = " ".join([*extra, "https://second.example", "https://third.example"])
    assert urls == [usual, usual, [f"UV_EXTRA_INDEX_URL={more}"]]
    assert all("UV_DEFAULT_INDEX=https://pip.example/simple" in lines for lines in tools.asked())


def test_the_second_attempt_has_the_options_of_the_first(run, tools):
    more = {"package_indexes": {"https://own.example": ["twice"]}, "metadata": {"a==1": ["b"]}, "no_index": False}
    found = run(dict(more, requirements=["twice"], fallback_index_urls=["https://x.example"]))
    assert found["resolved"][0]["packages"] == {"twice": "1.0"}
    assert found["resolved"][0]["indexes"] == {"twice": "https://own.example"}
    assert len(tools.asked()) == 4 and all('requires-dist = ["b"]' in lines for lines in tools.asked())


def test_all_problems_come_together_each_with_its_fix(run):
    wish = {"requirements": ["absent"]}
    found = run(
        dict(wish, layer="x", advice="ask the\x1b site."),
        {"path": "/nowhere/b"},
        dict(wish, path="/nowhere/c", fallback_index_urls=["https://x.example", "https://y.example"]),
    )
    assert (
        found["failed"] and found["changed"] is False and [one["path"] for one in found["resolved"]] == ["/nowhere/b"]
    )
    first, second = found["problems"]
    where = "absent is unavailable from https://pip.example/simple"
    assert first.startswith(f"/nowhere/a, layer x: {where}.") and first.endswith("\nFix: ask the\x1b site.")
    assert second.startswith(f"/nowhere/c, layer base: {where}.") and "Fix:" not in second
    again = f"Again, with the index https://x.example https://y.example: {where}, https://x.example, https://y.example."
    assert again in second
    head = f"Python packages are unavailable for this host (machine {os.uname().machine}); nothing was changed."
    assert found["msg"] == f"{head}\n\n{first}\n\n{second}".replace("\x1b", "\\x1b")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "the package index has no uv, which resolves without installing"),
        (VenvError("no\nvenv"), "no\nvenv"),
        (OSError(28, "disk full"), "[Errno 28] disk full"),
    ],
)
def test_without_uv_nothing_is_checked_and_the_reason_is_said(run, tools, monkeypatch, answer, reason):
    made = []

    class Builder:
        def __init__(self, path, python, folder):
            made.append((path, python, folder))

        def uv(self):
            if answer:
                raise answer
            return answer

    monkeypatch.setattr(python_packages_info, "Builder", Builder)
    found = run({}, tools=tools.path)
    assert (found["failed"], found["resolved"], found["skipped_reason"]) == (False, [], reason)
    run({}, tools="/nowhere/tools")
    run({}, tools="")
    assert made[0] == ("", sys.executable, tools.path)
    for path, python, folder in made[1:]:
        assert (path, python) == ("", sys.executable) and os.path.basename(folder) == "tools"
        assert folder not in ("/nowhere/tools", "tools"), "no environment is created where one is planned"
        assert not os.path.exists(os.path.dirname(folder))


def test_tools_without_uv_are_left_as_they_are(run, tools, monkeypatch):
    """`uv` would be installed into an environment that the playbook has yet to make."""
    os.unlink(os.path.join(tools.path, "bin", "uv"))
    made = []
    monkeypatch.setattr(
        python_packages_info, "Builder", lambda *given: made.append(given) or type("B", (), {"uv": lambda self: ""})()
    )
    run({})
    assert made[0][2] != tools.path


def test_wrong_options_are_all_named_before_anything_is_asked(run, tools):
    found = run({"layr": "x"}, {}, {"index_strategy": "best"})
    assert found["failed"] and "layr" in found["msg"] and "; value of index_strategy must be one of" in found["msg"]
    assert tools.asked() == []
