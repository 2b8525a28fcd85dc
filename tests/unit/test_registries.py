# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new file without its entry in a registry would have no effect, and no other test would mention it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import Runtime as TargetRuntime
from ansible_collections.ascend.inference.plugins.module_utils.runtime.registry import RUNTIMES
from ansible_collections.ascend.inference.plugins.plugin_utils.engines.registry import ENGINES
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.base import Flavour
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.registry import FLAVOURS
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules import all as all_rules
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.registry import MODULES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "ansible_collections.ascend.inference.plugins"


def modules(folder):
    """Every module of a folder of plugins/, imported, by its name."""
    paths = sorted((ROOT / "plugins" / folder).glob("*.py"))
    return {path.stem: importlib.import_module(f"{PACKAGE}.{folder.replace('/', '.')}.{path.stem}") for path in paths}


@pytest.mark.parametrize(
    ("folder", "registry", "registered"),
    [
        ("plugin_utils/plan/rules", "plan/rules/all.py", all_rules.RULES),
        ("plugin_utils/hosts", "hosts/check_plan.py", check_plan.RULES),
    ],
)
def test_every_rule_is_registered(folder, registry, registered):
    known = {rule.id for rule in registered}
    own = {name: {rule.id for rule in getattr(module, "RULES", ())} for name, module in modules(folder).items()}
    assert {f"{name}.py: {rule}" for name, rules in own.items() for rule in rules - known} == set(), (
        f"not in {registry}"
    )


def test_every_router_flavour_is_registered():
    found = {
        (name, value.name)
        for name, module in modules("plugin_utils/plan/routers").items()
        for value in vars(module).values()
        if isinstance(value, Flavour)
    }
    assert {f"{name}.py: {flavour}" for name, flavour in found if flavour not in FLAVOURS} == set()


def test_every_runtime_is_registered():
    controller = {name for name, module in modules("plugin_utils/runtimes").items() if hasattr(module, "RUNTIME")}
    assert controller - set(MODULES.values()) == set()
    target = {
        value
        for module in modules("module_utils/runtime").values()
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, TargetRuntime) and value is not TargetRuntime
    }
    assert target - set(RUNTIMES.values()) == set()


def test_every_engine_is_registered():
    found = [module.ENGINE for module in modules("plugin_utils/engines").values() if hasattr(module, "ENGINE")]
    assert [engine.name for engine in found if engine not in ENGINES] == []


def test_every_role_is_used():
    texts = [
        path.read_text(encoding="utf-8") for part in ("playbooks", "roles") for path in (ROOT / part).rglob("*.yml")
    ]
    used = set(re.findall(r"^ +name: ascend\.inference\.(\w+)$", "\n".join(texts), re.M))
    assert {path.name for path in (ROOT / "roles").iterdir()} - used == set(), "no playbook or role uses these roles"


def expressions(text):
    """The Jinja expressions of a YAML or template file, and the conditions, which have no braces."""
    yield from re.findall(r"{[{%](.*?)[}%]}", text, re.S)
    yield from re.findall(r"^ *(?:- )?(?:when|that|failed_when|changed_when|until): (.*)$", text, re.M)


def undescribed(role):
    """Variables with a role's prefix that its task files use and neither describe nor set."""
    texts = [path.read_text(encoding="utf-8") for path in role.rglob("*") if path.suffix in (".yml", ".j2")]
    spec = (role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    described = set(re.findall(rf"^ +({role.name}_\w+):", spec, re.M))
    assigned = set(re.findall(rf"^ *(?:register: |loop_var: )?({role.name}_\w+):?", "\n".join(texts), re.M))
    variable = re.compile(rf"(?<![\w.'\"]){role.name}_\w+\b")  # neither a filter nor a text
    used = {name for text in texts for part in expressions(text) for name in variable.findall(part)}
    roles = {path.name for path in (ROOT / "roles").iterdir()} - {role.name}
    return {
        name
        for name in used - described - assigned
        if not any(f"{name}_".startswith(f"{other}_") and other.startswith(role.name) for other in roles)
    }


def test_every_variable_of_a_role_is_described():
    found = {role.name: undescribed(role) for role in sorted((ROOT / "roles").iterdir())}
    assert {name: sorted(variables) for name, variables in found.items() if variables} == {}


def test_the_search_for_variables_sees_them(tmp_path):
    role = tmp_path / "sample"
    (role / "meta").mkdir(parents=True)
    (role / "meta" / "argument_specs.yml").write_text("options:\n  sample_known: {}\n")
    (role / "main.yml").write_text(
        "- when: sample_missing\n  register: sample_registered\n  x: '{{ sample_known }} {{ sample_registered }} {{ sample_typo }}'\n"
    )
    assert undescribed(role) == {"sample_missing", "sample_typo"}


def calls(tasks):
    """(role, its variables) of each call of a role of this collection, also in plays and blocks."""
    for task in tasks or ():
        for part in ("pre_tasks", "tasks", "post_tasks", "block", "rescue", "always"):
            yield from calls(task.get(part))
        for verb in ("include_role", "import_role"):
            name = (task.get(f"ansible.builtin.{verb}") or {}).get("name", "")
            if name.startswith("ascend.inference."):
                yield name.rpartition(".")[2], task.get("vars") or {}


def unknown_variables(called, described):
    """Variables that calls pass with the prefix of the role and that it does not describe: Ansible would ignore them."""
    return {
        f"{role}: {name}"
        for role, variables in called
        for name in variables
        if name.startswith(f"{role}_") and name not in described[role]
    }


def described_variables():
    """{role: variables of all its entry points}."""
    found = {}
    for role in sorted((ROOT / "roles").iterdir()):
        specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
        found[role.name] = {name for spec in specs.values() for name in spec.get("options") or {}}
    return found


def called_from(*folders):
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.yml"))]
    texts = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths if "templates" not in path.parts]
    return [call for tasks in texts if isinstance(tasks, list) for call in calls(tasks)]


def test_every_variable_that_a_playbook_passes_is_described_by_its_role():
    called = called_from("playbooks", "roles")
    assert len(called) > 20
    assert unknown_variables(called, described_variables()) == set()


def test_a_misspelt_variable_of_a_call_is_seen():
    play = {
        "tasks": [
            {"block": [{"ansible.builtin.include_role": {"name": "ascend.inference.model"}, "vars": {"model_pth": 1}}]}
        ]
    }
    assert unknown_variables(calls([play]), {"model": {"model_path"}}) == {"model: model_pth"}


def test_the_guide_of_the_software_names_each_role_that_prepare_calls():
    page = (ROOT / "docs" / "docsite" / "rst" / "guide_software.rst").read_text(encoding="utf-8")
    plays = yaml.safe_load((ROOT / "playbooks" / "shared" / "prepare_body.yml").read_text(encoding="utf-8"))
    roles = {role for role, _variables in calls(plays)} - {"service"}  # installs nothing
    assert len(roles) > 5
    assert sorted(role for role in roles if not re.search(rf"``{role}[_`]", page)) == []
