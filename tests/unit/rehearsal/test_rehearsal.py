# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What roles and playbooks do is kept as text: which tasks run on which host, in which order, and what each module gets.

``make renew ARGS=rehearsals`` writes the texts again, ``make renew ARGS="deploy/first upgrade/"`` those of some cases.
A new task needs a case in which it runs, and one with a condition also a case in which it is skipped.
"""

from __future__ import annotations

import os
import pathlib
import sys
import typing as t

import pytest
import yaml
from ansible.release import __version__ as core
from ansible_collections.ascend.inference.tests.unit.rehearsal import records
from ansible_collections.ascend.inference.tests.unit.rehearsal.record_text import case_text
from ansible_collections.ascend.inference.tests.unit.rehearsal.rehearsal import HERE, ROOT, cases, run

# The records stand in place of parts of ansible-core that are not its interface, so they are made with one version.
pytestmark = pytest.mark.skipif(not core.startswith("2.19."), reason="the records are made with ansible-core 2.19")
CASES = cases()
# Tasks that no case reaches yet.
GAPS = yaml.safe_load((HERE / "gaps.yml").read_text(encoding="utf-8"))
NEVER_RUN, NEVER_SKIPPED, NEVER_ALONE = (set(GAPS[name]) for name in ("never_run", "never_skipped", "never_alone"))
FILES = sorted({name.split("/")[0] for name in CASES})
COMMAND = 'make renew ARGS="FILE/CASE ..."'


@pytest.fixture(scope="module")
def texts(tmp_path_factory, request):
    """The text of each case that runs, by its name, and the calls."""
    everything = "not long" not in request.config.option.markexpr
    wanted = {name: case for name, case in CASES.items() if everything or not case.get("long")}
    renewed = os.environ.get("RENEW_REHEARSALS", "").split()
    some = tuple(renewed or os.environ.get("REHEARSE", "").split())
    if some and some != ("1",):
        assert all(any(name.startswith(one) for name in CASES) for one in some), f"no case begins with one of {some}"
        wanted = {name: case for name, case in (CASES if renewed else wanted).items() if name.startswith(some)}
    folder = tmp_path_factory.mktemp("rehearsal")
    runs = run(wanted, folder)
    found = {name: text_of(name, calls, folder) for name, calls in runs.items()}
    if renewed:
        records.write({name: found.get(name) or records.recorded(name) for name in CASES})
    return found, runs


def text_of(name: str, calls: list[t.Any], folder: pathlib.Path, tree: pathlib.Path = ROOT) -> str:
    """The text of a case that ran in ``folder`` with the collection in ``tree``."""
    return case_text(name, calls, {sys.executable: "PYTHON", str(folder): "TMP", str(tree): "REPOSITORY"})


@pytest.mark.parametrize("file", FILES)
def test_what_runs_is_what_was_recorded(file, texts):
    for name, text in texts[0].items():
        if name.startswith(f"{file}/"):
            assert text.splitlines() == records.recorded(name).splitlines(), (
                f"if that is meant: {COMMAND}, and read the changes"
            )


@pytest.mark.parametrize("file", FILES)
def test_no_record_without_a_case(file):
    assert records.names_of(file) == [name for name in CASES if name.startswith(f"{file}/")]


def tasks_of(items: t.Sequence[yaml.Node], file: pathlib.Path) -> t.Iterator[tuple[str, bool]]:
    """FILE:LINE of each task in a list, and whether it has a condition of its own."""
    for item in items:
        keys = {key.value: value for key, value in item.value}
        parts = [keys[name] for name in ("tasks", "pre_tasks", "block", "rescue", "always") if name in keys]
        for part in parts:
            yield from tasks_of(part.value, file)
        static = [
            name for name in keys if name.split(".")[-1] in ("import_tasks", "import_role", "import_playbook", "meta")
        ]
        if not parts and not static and "hosts" not in keys:
            yield f"{file.relative_to(ROOT)}:{item.start_mark.line + 1}", "when" in keys


def written():
    """Each task of roles and playbooks: FILE:LINE, and whether it has a condition."""
    for folder, pattern in (("roles", "*/tasks/**/*.yml"), ("playbooks", "**/*.yml")):
        for file in sorted((ROOT / folder).glob(pattern)):
            node = yaml.compose(file.read_text(encoding="utf-8"))
            yield from tasks_of(node.value if isinstance(node, yaml.SequenceNode) else [], file)


def name_of(place: str) -> str:
    """FILE: NAME of a task, which stays if another task moves."""
    file, line = place.rsplit(":", 1)
    if not (ROOT / file).is_file():
        return place
    text = (ROOT / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    return f"{file}: {text.split('name: ')[-1].split(' # ')[0].strip()}"


def seen(records, *statuses):
    calls = [call for found in records.values() for call in found]
    places = {call["path"].split("/ascend/inference/")[-1] for call in calls if call["status"] in statuses}
    looped = {call["path"].split("/ascend/inference/")[-1] for call in calls if set(statuses) & set(call["items"])}
    return places | looped


@pytest.mark.long
def test_each_task_runs_in_a_case(texts):
    """Otherwise nobody would notice that it is gone."""
    missing = {name_of(place) for place, _condition in written()} - {
        name_of(place) for place in seen(texts[1], "ok", "changed", "failed")
    }
    assert sorted(missing - NEVER_RUN) == [], "add a case to tests/unit/rehearsal/cases in which these tasks run"
    assert sorted(NEVER_RUN - missing) == [], "remove what runs from gaps.yml"


@pytest.mark.long
def test_each_condition_is_false_in_a_case(texts):
    """Otherwise nobody would notice that the condition is gone."""
    missing = {name_of(place) for place, condition in written() if condition} - {
        name_of(place) for place in seen(texts[1], "skipped")
    }
    assert sorted(missing - NEVER_SKIPPED) == [], (
        "add a case to tests/unit/rehearsal/cases in which these tasks are skipped"
    )
    assert sorted(NEVER_SKIPPED - missing) == [], "remove what is skipped from gaps.yml"


def conditions(items: t.Sequence[yaml.Node], file: pathlib.Path, outer: str = "") -> t.Iterator[tuple[str, str]]:
    """FILE:LINE of each task in a list, and the text of its condition and of that of its block."""
    for item in items:
        keys = {key.value: value for key, value in item.value}
        when = keys.get("when")
        texts = [part.value for part in (when.value if isinstance(when, yaml.SequenceNode) else [when]) if part]
        for name in ("tasks", "pre_tasks", "block", "rescue", "always"):
            yield from conditions(keys[name].value if name in keys else [], file, " and ".join(texts))
        yield f"{file.relative_to(ROOT)}:{item.start_mark.line + 1}", " and ".join([*texts, outer])


def own_conditions() -> dict[str, str]:
    """FILE: NAME of each task, and the text of its condition."""
    found = {}
    for file in {pathlib.Path(place.rsplit(":", 1)[0]) for place, _condition in written()}:
        node = yaml.compose((ROOT / file).read_text(encoding="utf-8"))
        found.update({name_of(place): text for place, text in conditions(node.value, ROOT / file)})
    return found


def undecided(records):
    """FILE: NAME: PART of conditions of which a part is in no case the only one that is false.

    Conditions that a file of tasks gets from where it is included count there. What cannot be judged without the part would fail, so it counts as true.
    A part that is the whole condition where no other one applies decides there; parts that have no other one in any case are those of other tests.
    """
    own, parts, joined = own_conditions(), {}, set()
    for call in (call for found in records.values() for call in found):
        name = name_of(call["path"].split("/ascend/inference/")[-1])
        for row in call.get("judged", ()):
            for part in (part for part in row if part in own.get(name, "")):
                alone = row[part] is False and not any(row[other] is False for other in row if other != part)
                parts[f"{name}: {part}"] = parts.get(f"{name}: {part}", False) or alone
                joined |= {f"{name}: {part}"} if len(row) > 1 else set()
    return {key for key in joined if not parts[key]}


def test_each_part_of_a_condition_decides_in_a_case(texts):
    """Otherwise nobody would notice that this part is gone."""
    missing = sorted(undecided(texts[1]) - NEVER_ALONE)
    assert missing == [], "add a case to tests/unit/rehearsal/cases in which this part alone is false"
