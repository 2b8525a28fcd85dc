# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files on the controller that a playbook writes are judged before it begins."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.description.outputs import WRITTEN, pages, refusals
from ansible_collections.ascend.inference.plugins.plugin_utils.description.variables import RUN_VARIABLES

PLAYBOOKS = pathlib.Path(__file__).resolve().parents[4] / "playbooks"
# Judged with the settings of bench, and with the days of usage.
ELSEWHERE = {"inference_bench_json", "inference_bench_markdown", "inference_bench_html", "inference_usage_csv"}


@pytest.mark.parametrize("playbook", sorted(WRITTEN))
def test_a_folder_that_is_missing_is_refused(playbook, tmp_path):
    for name in WRITTEN[playbook]:
        path = tmp_path / "missing" / "file"
        (text,) = refusals(playbook, {f"inference_{name}": str(path)})
        assert text.startswith(
            f"inference_{name}: {path.parent} is no folder on the controller, so the result would be lost."
        )
        assert refusals(playbook, {f"inference_{name}": str(tmp_path / "file")}) == []
        assert refusals(playbook, {f"inference_{name}": ""}) == refusals(playbook, {}) == []


def test_a_folder_is_no_file_and_others_write_other_files(tmp_path):
    (text,) = refusals("check", {"inference_check_html": str(tmp_path)})
    assert "is a folder" in text and "Fix: Name a file." in text
    assert refusals("restart", {"inference_check_html": "/missing/x"}) == []


def test_a_relative_path_and_one_of_the_home_are_those_of_the_controller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert refusals("check", {"inference_check_html": "x.html", "inference_check_json": "~/x.json"}) == []
    assert len(refusals("check", {"inference_check_html": "sub/x.html", "inference_check_json": "~/sub/x.json"})) == 2


def test_each_file_that_a_playbook_writes_is_judged():
    texts = "".join(path.read_text(encoding="utf-8") for path in PLAYBOOKS.rglob("*.yml"))
    written = set(re.findall(r"dest: \"\{\{ (inference_\w+)", texts))
    judged = {f"inference_{name}" for names in WRITTEN.values() for name in names}
    assert {name for name in written if not name.endswith("_dir")} <= judged | ELSEWHERE
    assert {name.removeprefix("inference_") for name in judged} <= set(RUN_VARIABLES)


@pytest.mark.parametrize("playbook", sorted(WRITTEN))
def test_a_playbook_with_files_tells_its_name(playbook):
    first = yaml.safe_load((PLAYBOOKS / f"{playbook}.yml").read_text(encoding="utf-8"))[0]
    assert first["vars"]["__inference_playbook"] == playbook


@pytest.mark.parametrize(
    "content, problem",
    [
        (None, "cannot be read on the controller: No such file or directory"),
        ("{", "is not JSON"),
        ("[]", "is no report"),
    ],
)
def test_a_report_that_cannot_be_read_is_refused(content, problem, tmp_path):
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    (text,) = refusals("advise", {"inference_advise_report": str(path)})
    assert text.startswith(f"inference_advise_report: {path} {problem}. Nothing was changed. Fix: name the file")
    assert refusals("plan", {"inference_advise_report": str(path)}) == []


def test_a_report_that_is_no_text_is_refused_and_one_of_json_is_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (text,) = refusals("advise", {"inference_advise_report": str(tmp_path)})
    assert "Is a directory" in text
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    assert "is not JSON" in refusals("advise", {"inference_advise_report": "bytes.json"})[0]
    (tmp_path / "report.json").write_text("{}", encoding="utf-8")
    assert refusals("advise", {"inference_advise_report": "report.json"}) == []


def test_pages_have_a_folder_for_each_deployment(tmp_path):
    variables = {"inference_pages": str(tmp_path)}
    assert pages("status", {}, "d") == {"folder": "", "names": []}
    assert pages("status", variables, "d") == {"folder": str(tmp_path / "d"), "names": ["status"]}
    (tmp_path / "d").mkdir()
    for name in ("index.html", "bench.html", "notes.txt"):
        (tmp_path / "d" / name).touch()
    assert pages("check", variables, "d")["names"] == ["bench", "check", "plan"]
    assert pages("trace", variables, "d")["names"] == ["bench", "status", "trace"]
    assert pages("bench", variables, "d")["names"] == ["bench", "status"], "a page of a plan is linked when it is there"


def test_a_folder_of_pages_that_is_missing_is_refused(tmp_path):
    (text,) = refusals("plan", {"inference_pages": str(tmp_path / "missing")})
    assert "is no folder on the controller, so no page could be written" in text and "Create the folder" in text
    assert refusals("plan", {"inference_pages": str(tmp_path)}) == []
