# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new file without its entry in a registry would have no effect, and no other test would mention it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import Runtime as TargetRuntime
from ansible_collections.ascend.inference.plugins.module_utils.runtime.registry import RUNTIMES
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
