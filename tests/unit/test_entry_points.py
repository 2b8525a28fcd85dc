# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entry points of roles: each task file that a playbook or another role includes by name is documented, or is private for a reason.

``ansible-doc --type role`` lists the documented ones, which are for playbooks of users; Ansible validates their variables at each inclusion.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
OURS = "ascend.inference."
SPECS = {
    path.parents[1].name: yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
    for path in sorted((ROOT / "roles").glob("*/meta/argument_specs.yml"))
}
NO_TASKS = "has no tasks; the playbook packages reads the role's variables through it"
PRIVATE = {
    ("model", "bundle"): "runs on the controller, in the folder that the playbook bundle has made",
    ("service", "half"): "its rounds come from a private filter, and only one order of them is safe",
    ("service", "half_shift"): "belongs between two rounds of half",
    ("service", "missing"): "leaves its result in a private variable, which the playbook status reads",
    ("service", "observed"): "leaves its result in private variables, which a change and plan --diff read",
    ("service", "pause"): "refuses early what the same run decides again under the lock",
    ("service", "return"): "is safe only under the lock, after missing",
    ("service", "runs"): "leaves its result in a private variable, from which upgrade and rollback choose their mode",
    **{
        (role, "variables"): NO_TASKS
        for role in ("mooncake", "router", "service", "torch_npu", "vllm_ascend", "vllm_cpu")
    },
}


def inclusions(items, place):
    """Each inclusion of a role of ours in a list of plays or tasks: (place, role, task file as written, variables)."""
    for item in items:
        for verb in ("include_role", "import_role"):
            what = item.get(f"ansible.builtin.{verb}", {})
            if str(what.get("name", "")).startswith(OURS):
                yield place, what["name"].removeprefix(OURS), what.get("tasks_from", "main"), item.get("vars", {})
        for role in item.get("roles", []):
            yield place, role["role"].removeprefix(OURS), "main", role.get("vars", {})
        for part in ("pre_tasks", "tasks", "post_tasks", "block", "rescue", "always"):
            yield from inclusions(item.get(part) or [], place)


def included():
    """All inclusions of the product. A task file that an expression chooses counts as each text in the expression."""
    for path in sorted([*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").glob("*/tasks/**/*.yml")]):
        items = yaml.safe_load(path.read_text(encoding="utf-8")) or []
        for place, role, file, given in inclusions(items, str(path.relative_to(ROOT))):
            for name in re.findall(r"(?<!== )'(\w+)'", file) if "{{" in file else [file]:
                yield place, role, name, given


INCLUDED = list(included())


def test_task_files_that_are_included_by_name_are_documented_or_private():
    """Users may rely on what is documented and on nothing else, so that each file is one or the other."""
    used = {found[1:3] for found in INCLUDED}
    documented = {(role, name) for role, entries in SPECS.items() for name in entries}
    assert sorted(used - documented - PRIVATE.keys()) == [], (
        "document it in meta/argument_specs.yml, or say here why it is private"
    )
    assert sorted(PRIVATE.keys() & documented) == []
    assert sorted(PRIVATE.keys() - used) == [], "nothing includes it any more"


@pytest.mark.parametrize("role", SPECS)
def test_entry_points_are_task_files_and_say_what_they_do(role):
    for name, entry in SPECS[role].items():
        assert (ROOT / "roles" / role / "tasks" / f"{name}.yml").is_file()
        assert entry["short_description"] and entry["description"]
    descriptions = [str(entry["description"]) for entry in SPECS[role].values()]
    assert len(set(descriptions)) == len(descriptions), "an entry point has the description of another one"


def test_variables_of_an_inclusion_are_documented_for_its_entry_point():
    """What a playbook gives to a role is one of the role's variables, also where a file is private."""
    unknown = []
    for place, role, name, given in INCLUDED:
        entries = [SPECS[role][name]] if name in SPECS[role] else SPECS[role].values()
        known = {option for entry in entries for option in entry.get("options") or {}}
        unknown += [
            f"{place}: {role}/{name}: {key}" for key in given if key.startswith(f"{role}_") and key not in known
        ]
    assert unknown == [] and len(INCLUDED) > 50


def test_the_readme_of_a_role_names_its_other_entry_points():
    missing = []
    for role, entries in SPECS.items():
        text = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8").split("## Variables")[0]
        missing += [f"{role}: {name}" for name in entries if name != "main" and f"`{name}`" not in text]
    assert missing == []
