# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every role keeps to: one description of its variables, and small task files.

All offences are reported at once, each with its file, so that these tests say something with no role as with thirty.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path for path in (ROOT / "roles").glob("*") if path.is_dir())


def load(path):
    """A YAML file as data; {} if it isn't there or empty."""
    return (yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None) or {}


def options_of(role):
    """The options of all entry points of the role, {} if there are none."""
    specs = load(role / "meta" / "argument_specs.yml").get("argument_specs", {})
    return {name: option for entry in specs.values() for name, option in (entry.get("options") or {}).items()}


def disagreements(role):
    """Say where defaults/main.yml and meta/argument_specs.yml of a role differ."""
    defaults, options = load(role / "defaults" / "main.yml"), options_of(role)
    described = {name: option["default"] for name, option in options.items() if "default" in option}
    for name in sorted(defaults.keys() - options.keys()):
        yield f"{role.name}: {name} has a default and is not described"
    for name in sorted(described.keys() - defaults.keys()):
        yield f"{role.name}: {name} is described with a default and has none"
    for name in sorted(defaults.keys() & options.keys()):
        if name not in described:
            yield f"{role.name}: {name} has the default {defaults[name]!r}, its description has none"
        elif described[name] != defaults[name]:
            yield f"{role.name}: {name} is {defaults[name]!r} by default, {described[name]!r} in its description"
        if options[name].get("required"):
            yield f"{role.name}: {name} is required and has a default"


def task_count(tasks):
    """Tasks of a list, those inside of blocks counted, blocks themselves not."""
    inner = [task.get(part, []) for task in tasks for part in ("block", "rescue", "always")]
    return sum("block" not in task for task in tasks) + sum(task_count(item) for item in inner)


def test_each_role_describes_its_variables():
    missing = [role.name for role in ROLES if not (role / "meta" / "argument_specs.yml").exists()]
    assert missing == []


def test_defaults_equal_descriptions():
    assert [text for role in ROLES for text in disagreements(role)] == []


def test_public_variables_start_with_the_role_or_the_collection():
    wrong = [
        f"{role.name}: {name}"
        for role in ROLES
        for name in options_of(role)
        if not name.startswith((f"{role.name}_", "inference_"))
    ]
    assert wrong == []


def test_main_task_files_have_at_most_six_tasks():
    counts = {role.name: task_count(load(role / "tasks" / "main.yml") or []) for role in ROLES}
    assert {name: count for name, count in counts.items() if count > 6} == {}


def test_task_files_have_at_most_sixty_lines():
    files = [path for role in ROLES for path in (role / "tasks").rglob("*.yml")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > 60} == {}


def test_the_comparison_sees_each_kind_of_difference(tmp_path):
    role = tmp_path / "sample"
    (role / "meta").mkdir(parents=True)
    (role / "defaults").mkdir()
    options = {
        "sample_same": {"default": [1, 2]},
        "sample_other": {"default": "a"},
        "sample_undescribed": {},
        "sample_absent": {"default": 3},
        "sample_required": {"required": True, "default": 4},
        "sample_optional": {},
    }
    defaults = {
        "sample_same": [1, 2],
        "sample_other": "b",
        "sample_undescribed": 1,
        "sample_required": 4,
        "sample_typo": 5,
    }
    (role / "meta" / "argument_specs.yml").write_text(
        yaml.safe_dump({"argument_specs": {"main": {"options": options}}})
    )
    (role / "defaults" / "main.yml").write_text(yaml.safe_dump(defaults))
    assert [text.split()[1] for text in disagreements(role)] == [
        "sample_typo",
        "sample_absent",
        "sample_other",
        "sample_required",
        "sample_undescribed",
    ]


def test_tasks_inside_blocks_count():
    assert task_count([{"name": "a"}, {"block": [{"name": "b"}, {"name": "c"}], "rescue": [{"name": "d"}]}]) == 4


def installed_by(role, module="ascend.inference.python_venv"):
    """Options of the role's first task that creates an environment."""
    return next(task[module] for task in load(ROOT / "roles" / role / "tasks" / "main.yml") if module in task)


@pytest.mark.parametrize("role", ["torch_npu", "vllm_ascend", "mooncake", "router", "vllm_cpu"])
def test_packages_are_resolved_as_they_are_installed(role):
    variables = load(ROOT / "roles" / role / "vars" / "main.yml")
    wanted = variables.get(f"__{role}_environment") or variables[f"{role}_environments"][0]
    installed = installed_by(role)
    assert {name: installed.get(name) for name in wanted} == wanted
    assert set(installed) - set(wanted) <= {"build_user", "sdists", "installed", "tools", "sources"}


def test_environments_of_a_runtime_are_those_of_the_plan():
    assert load(ROOT / "roles/service/vars/main.yml")["service_environments"].startswith(
        "{{ service_plan.runtime_settings.environments"
    )
    tasks = [task for path in (ROOT / "roles/service/tasks").rglob("*.yml") for task in load(path)]
    installing = [task for task in tasks if "ascend.inference.python_venv" in task]
    assert [task["loop"] for task in installing] == ["{{ service_environments }}"]


COMPOSED = re.compile(
    r"\b\w*_(plan|selection)\.(root|directory) *(\}\}/|~ *['\"]/)|\.\w+_directory *(\}\}/|~ *['\"]/)|_script \| dirname *\}\}/|\| dirname ~ *['\"]/"
    # a program of a virtual environment or a prefix, a unit by its folder, and the name of a unit, a socket, a log or a file with a process id
    r"|(\}\}|~ *['\"])/?s?bin(/|['\"]|$)|(\}\}|~ *['\"])/share/|_(units|prefix|venv) *(\}\}/|~ *['\"]/)|systemd/system/\{\{"
    r"|(\}\}|~ *['\"])[^\s'\"{}]*\.(service|target|timer|socket|sock|log|pid)\b"
)


def test_no_role_or_playbook_composes_a_path_of_the_plan():
    paths = [
        path
        for folder in ("roles", "playbooks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".yml", ".j2")
    ]
    lines = [(path, line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    found = [f"{path.relative_to(ROOT)}: {line.strip()}" for path, line in lines if COMPOSED.search(line)]
    assert found == [], "let the plan state it: folders, runtime_settings or a key of the service"


@pytest.mark.parametrize(
    "text",
    [
        "path: '{{ service_plan.root }}/cache'",
        "x: \"{{ inference_plan.directory ~ '/run' }}\"",
        "ExecStart={{ item.work_directory }}/run.sh",
        ". {{ (item.work_directory ~ '/environment.sh') | quote }}",
        'path: "{{ router_script | dirname }}/vllm/logger.py"',
        "starts={{ (item.digest_file | dirname ~ '/' ~ item.name ~ '.starts') | quote }}",
        'python: "{{ router_venv }}/bin/python"',
        "python={{ (mooncake_venv ~ '/bin/python') | quote }}",
        'PATH: "{{ mooncake_venv }}/bin:{{ x }}"',
        'path: "{{ mooncake_prefix }}/share/ascend-inference/mooncake"',
        'LD_LIBRARY_PATH="{{ mooncake_prefix }}/lib"',
        'dest: "{{ __service_units }}/{{ __service_target }}"',
        'path: "/etc/systemd/system/{{ __tune_unit }}"',
        'name: "{{ plan.deployment }}-{{ item.name }}.service"',
        "name: \"{{ plan.deployment ~ '.target' }}\"",
        "logfile={{ plan.folders.logs }}/{{ service.name }}.log",
        "socket: \"{{ plan.folders.run ~ '/supervisor.sock' }}\"",
    ],
)
def test_the_search_for_composed_paths_sees_them(text):
    assert COMPOSED.search(text)


OF_A_SET = re.compile(r"\|\s*(?:ansible\.builtin\.)?(?:union|intersect|difference|symmetric_difference)\b(?= *\()")


def test_no_list_has_the_order_of_a_set():
    """These filters go through a set of texts, so hosts, messages and commands would be in another order in each run."""
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in ("roles", "playbooks")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".yml", ".j2")
        for match in OF_A_SET.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "use select('in', LIST), reject('in', LIST) or unique, which keep the order"


@pytest.mark.parametrize("text", ["{{ a | union(b) }}", "{{ a\n  | ansible.builtin.difference (b) | first }}"])
def test_the_search_for_sets_sees_them(text):
    assert OF_A_SET.search(text)


def test_prepare_asks_for_the_user_that_units_get():
    """Otherwise the role service would gather again."""
    text = (ROOT / "playbooks" / "shared" / "prepare_body.yml").read_text(encoding="utf-8")
    assert f"service_user | default('{load(ROOT / 'roles/service/defaults/main.yml')['service_user']}')" in text


def included(items):
    """Each role that tasks include: its name, and the variables that it gets."""
    for item in items:
        for module in ("ansible.builtin.include_role", "ansible.builtin.import_role"):
            if module in item and "tasks_from" not in item[module]:
                yield item[module]["name"].split(".")[-1], item.get("vars", {})
        for part in ("tasks", "block", "rescue", "always"):
            yield from included(item.get(part, []))


def test_roles_get_what_was_read_of_the_host_once():
    """Otherwise each of them reads what is installed again, with a module of its own."""
    found = list(included(load(ROOT / "playbooks" / "shared" / "prepare_body.yml")))
    taking = [(role, given) for role, given in found if f"{role}_installed" in options_of(ROOT / "roles" / role)]
    assert taking
    missing = [role for role, given in taking if "inference_installed" not in str(given.get(f"{role}_installed"))]
    assert missing == [], "give these roles ROLE_installed"
