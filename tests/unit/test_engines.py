# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam of engines: nothing outside of their own records compares with their names, and a new one needs no other file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.engines.base import FACTS
from ansible_collections.ascend.inference.plugins.plugin_utils.engines.registry import (
    DEFAULT,
    ENGINES,
    NAMES,
    engine,
    prefix_of,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES

from .seams import ROOT, compared_in, copy_with, run

OWN = "plugins/plugin_utils/engines/"
LAYERS = "plugins/module_utils/install/installed.py"  # names of layers of an environment, not of engines
# In YAML. A table of Jinja with names is not used. Facts of engines are in engine_facts of the plan.
ENGINE = re.compile(
    r"engine'?\]? *(\| *default\([^)]*\) *)?(==|!=|in) *[\[(]?['\"]vllm|['\"]vllm_(ascend|cpu)['\"] *(==|!=)"
)


def test_no_role_or_playbook_compares_with_an_engine_s_name():
    paths = [
        path for part in ("playbooks", "roles") for end in ("yml", "j2") for path in (ROOT / part).rglob(f"*.{end}")
    ]
    lines = [(path, line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    assert [f"{path.relative_to(ROOT)}: {line.strip()}" for path, line in lines if ENGINE.search(line)] == []


@pytest.mark.parametrize(
    "text",
    [
        "when: inference_plan.engine == 'vllm_cpu'",
        "if hostvars['localhost']['__inference_plan_engine'] | default('') == 'vllm_ascend'",
        "when: 'vllm_ascend' == plan.engine",
    ],
)
def test_the_search_sees_a_comparison_with_an_engine(text):
    assert ENGINE.search(text)


def test_nothing_outside_compares_with_an_engine_s_name():
    found = []
    for path in sorted((ROOT / "plugins").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not name.startswith(OWN) and name != LAYERS:
            found += [f"{name}:{line}" for line in compared_in(path.read_text(encoding="utf-8"), NAMES)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "a = plan['engine'] == 'vllm_cpu'",
        "a = 'vllm_ascend' != description.engine",
        "a = engine in ('vllm_cpu',)",
        "a = {'vllm_ascend': 1, 'vllm_cpu': 2}[engine]",
        "match engine:\n    case 'vllm_cpu':\n        pass",
    ],
)
def test_the_search_sees_each_form_in_python(text):
    assert list(compared_in(text, NAMES))


@pytest.mark.parametrize("found", ENGINES, ids=NAMES)
def test_each_engine_has_its_roles_its_release_and_its_facts(found):
    assert engine(found.name) is found
    assert [role for role in found.roles if not (ROOT / "roles" / role).is_dir()] == []
    assert found.release in RELEASES
    assert prefix_of(found.release) == found.release_prefix
    assert sorted(found.facts()) == sorted(FACTS)


def test_the_default_engine_is_the_one_with_npus():
    assert DEFAULT.npus
    assert DEFAULT.images


MADE_UP = Path(__file__).parent / "engine_made_up"
FILES = {"plugins/plugin_utils/engines/toy.py": "controller.py"}
REGISTRATIONS = {
    "plugins/plugin_utils/engines/registry.py": ("    vllm_cpu.ENGINE,\n", "    toy.ENGINE,\n"),
}


def test_a_made_up_engine_plans(tmp_path):
    files = {name: (MADE_UP / source).read_text(encoding="utf-8") for name, source in FILES.items()}
    collection = copy_with(tmp_path, files, REGISTRATIONS)
    registry = collection / "plugins" / "plugin_utils" / "engines" / "registry.py"
    text = registry.read_text(encoding="utf-8")
    registry.write_text(text.replace("from . import vllm_ascend", "from . import toy, vllm_ascend", 1))
    assert run(collection, MADE_UP / "plan.py").splitlines() == [
        "engine toy cpu []",
        'facts {"high_limits": true, "npus": false, "quantization_option": true, "roles": ["toy"], "versions": ["kernel", "toy"]}',
        "environment /opt/ascend-inference/venvs/toy-0.32.0 1 False",
        "connectors MooncakeConnector MooncakeStoreConnector",
        "ports api bootstrap",
        "store toy P2PHANDSHAKE 7mb False",
        "ends 60",
        "verified 9 prefix:11 bootstrap",
        "restarts with /opt/ascend-inference/venvs/toy-0.32.0/.ascend-inference/toy.json",
        "acceptance the version of toy is not known",
        "container toy:1",
        "rule the toy engine has no llmdatadist connector",
    ]
