# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make near` and `make check` name for a changed file."""

from __future__ import annotations

import pathlib
import re

import pytest
from ansible_collections.ascend.inference.tests.mutation.near_tests import Graph, nearest, rehearsed

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def graph():
    return Graph(ROOT)


def test_a_module_has_its_own_test_first(graph):
    near = [name for names in graph.of("plugins/plugin_utils/plan/ports.py") for name in names]
    assert near[0] == "tests/unit/plugins/plugin_utils/test_ports.py"


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("roles/etcd/tasks/main.yml", {"role_etcd", "prepare"}),
        ("roles/entry/templates/unit.service.j2", {"role_entry", "entry"}),
    ],
)
def test_tasks_and_templates_have_the_rehearsals_in_which_they_run(path, files):
    assert rehearsed(ROOT, path)[0].split("/")[0] in files


def test_a_test_is_near_to_itself_unless_it_takes_long():
    rehearsals = "tests/unit/rehearsal/test_rehearsal.py"
    near, more, cases = nearest(ROOT, ["tests/unit/test_tags.py", rehearsals, "tests/unit/rehearsal/cases/deploy.yml"])
    assert (near, more, cases) == (["tests/unit/test_tags.py"], [rehearsals], ["deploy/"])


def test_the_words_of_a_table_count_for_the_test_that_reads_it(graph):
    folder = "tests/unit/plugins/plugin_utils/rules"
    only_there = _identifiers(f"{folder}/edges.py") - _identifiers(f"{folder}/test_edges.py")
    assert only_there and only_there <= graph.words[f"{folder}/test_edges.py"]


def _identifiers(path):
    return set(re.findall(r"[A-Za-z][A-Za-z_]{3,}", (ROOT / path).read_text(encoding="utf-8")))
