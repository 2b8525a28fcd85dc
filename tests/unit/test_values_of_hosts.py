# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host answers decides no path and no command of the controller.

Facts replace variables of the inventory and defaults of roles where Ansible makes variables of them (its default), and any module can answer
facts. So a task of a host names what is read, written or run on the controller only by constants, variables of localhost, variables that the
collection itself gives on the way, and by ``_of_inventory``, which refuses a value that the host has answered.
"""

from __future__ import annotations

import pathlib

import pytest
import yaml
from jinja2 import Environment, nodes

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PARTS = ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always")
GUARD = "ascend.inference._of_inventory"
READERS = {
    "file",
    "fileglob",
    "template",
    "pipe",
    "lines",
    "csvfile",
    "ini",
    "unvault",
    "password",
    "url",
    "env",
    "first_found",
}
# Options of modules whose values are places on the controller, though the task is one of a host.
PLACES = {
    "ansible.builtin.copy": ("src",),
    "ansible.builtin.template": ("src",),
    "ansible.builtin.unarchive": ("src",),
    "ansible.builtin.script": ("cmd", "_raw"),
    "ansible.builtin.include_vars": ("file", "dir", "_raw"),
    "ansible.builtin.include_tasks": ("file", "_raw"),
    "ansible.builtin.include_role": ("name", "tasks_from", "vars_from"),
    "ansible.builtin.fetch": ("dest",),
    "ascend.inference.bundle": ("path", "keyring", "minisign_public_key"),
    "ascend.inference.bundle_files": ("path",),
}
# Options of roles that a caller gives as variables.
OF_ROLES = {
    "verify_report_path",
    "model_origin",
    "cann_source",
    "container_runtime_archive",
    "router_script_tree",
    "router_tls_files",
}
DATA = {
    "content",
    "msg",
    "text",
    "mode",
    "label",
    "peers",
    "timeout",
    "name",
}  # of tasks on the controller: no place and no command
IN_MEMORY = {
    "ansible.builtin.set_fact",
    "ansible.builtin.debug",
    "ansible.builtin.fail",
    "ansible.builtin.assert",
    "ascend.inference.print_text",
}
ON_CONTROLLER = {"ascend.inference.bundle", "ascend.inference.kubernetes_info"}  # in the roles' tasks as well
# Ansible's own, which facts cannot replace.
MAGIC = {
    "hostvars",
    "inventory_hostname",
    "ansible_playbook_python",
    "ansible_check_mode",
    "omit",
    "lookup",
    "query",
    "playbook_dir",
    "role_path",
    "groups",
}
ENVIRONMENT = Environment(autoescape=False)  # noqa: S701 # nothing is rendered


def names(node):
    """Variables that decide the value of an expression."""
    if isinstance(node, nodes.Filter) and node.name in (GUARD, "basename"):  # a name in a folder that is known
        return set()
    if isinstance(node, nodes.CondExpr):  # what is chosen, and not by what
        return names(node.expr1) | (names(node.expr2) if node.expr2 else set())
    if isinstance(node, nodes.Name):
        return {node.name} if node.ctx == "load" else set()
    return {name for child in node.iter_child_nodes() for name in names(child)}


def texts(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, str):
        yield value


def scoped(value, known, seen=()):
    """Variables in the templates of a value that a host can replace; ``known``: what plays, blocks, tasks and roles give."""
    for text in texts(value):
        for name in sorted(names(ENVIRONMENT.parse(text)) - MAGIC - set(seen)):
            if name in known:
                yield from scoped(known[name], known, (*seen, name))
            else:
                yield name


def read_by_lookups(value):
    """The arguments of lookups that read on the controller, as templates."""
    for text in texts(value):
        for call in ENVIRONMENT.parse(text).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in ("lookup", "query") and call.args:
                kind = call.args[0].as_const() if isinstance(call.args[0], nodes.Const) else "?"
                if kind.rpartition(".")[2] in READERS or kind == "?":
                    yield from (name for node in call.args[1:] for name in names(node))


def on_controller(value):
    return isinstance(value, str) and "localhost" in value


def places(task, local):
    """What a task says of the controller."""
    for module, given in task.items():
        if "." not in module or module in IN_MEMORY:
            continue
        options = given if isinstance(given, dict) else {"_raw": given}
        if local:
            yield from (value for option, value in options.items() if option not in DATA)
        elif module in PLACES and options.get("remote_src") is not True:
            for option, value in options.items():
                if option in PLACES[module]:  # a script's arguments are the host's
                    yield value.split()[0] if module.endswith(".script") and not value.startswith("{{") else value


def found_in(items, known, local=False, own=False):
    """``TASK: VARIABLE`` of each variable that a host can replace, and that decides what is read, written or run on the controller.

    ``local``: the block around is delegated to the controller, ``own``: its variables are those of localhost.
    """
    for item in items:
        given = {**known, **(item.get("vars") or {})}
        loop = item.get("loop")
        if loop is not None:
            given[(item.get("loop_control") or {}).get("loop_var", "item")] = loop
        localhost = own or ("hosts" in item and item.get("connection") == "local")
        there = local or on_controller(item.get("delegate_to"))
        inner = [task for part in PARTS for task in item.get(part) or []]
        yield from found_in(inner, given, there, localhost)
        if localhost:
            continue
        decided = [name for value in places(item, there) for name in scoped(value, given)]
        decided += [
            name
            for role, value in (item.get("vars") or {}).items()
            if role in OF_ROLES
            for name in scoped(value, known)
        ]
        looked = [
            name for name in read_by_lookups({key: item[key] for key in item if key not in PARTS}) if name not in MAGIC
        ]
        decided += [name for read in looked for name in (scoped(given[read], given) if read in given else [read])]
        yield from (f"{item.get('name', '?')}: {name}" for name in dict.fromkeys(decided))


def read(path):
    return yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER) or []  # noqa: S506 # a safe one


def everything():
    for path in sorted((ROOT / "playbooks").rglob("*.yml")):
        yield path, read(path), {}
    for path in sorted((ROOT / "roles").glob("*/tasks/**/*.yml")):
        constants = ROOT / "roles" / path.relative_to(ROOT / "roles").parts[0] / "vars/main.yml"
        yield path, read(path), dict(read(constants)) if constants.exists() else {}
    for path in sorted((ROOT / "roles").glob("*/vars/main.yml")):  # used by tasks of hosts
        constants = dict(read(path))
        yield (
            path,
            [{"name": name, "ansible.builtin.set_fact": {name: value}} for name, value in constants.items()],
            constants,
        )


def test_hosts_name_no_place_of_the_controller():
    found = [
        f"{path.relative_to(ROOT)}: {line}" for path, items, known in everything() for line in found_in(items, known)
    ]
    assert "\n".join(found) == "", "take the value from hostvars['localhost'], or pass it through _of_inventory"


def to_others(items, once=False, delegated=None):
    """Names of tasks whose module runs on one host, and whose facts Ansible gives to another one, or to all hosts of the play."""
    for item in items:
        if item.get("connection") == "local":
            continue
        run_once, to = item.get("run_once", once), item.get("delegate_to", delegated)
        inner = [task for part in PARTS for task in item.get(part) or []]
        yield from to_others(inner, run_once, to)
        asks = [name for name in item if name.startswith("ascend.inference.") and name not in IN_MEMORY | ON_CONTROLLER]
        if (item.get("ascend.inference.change") or {}).get("part") in (
            "agree",
            "choose",
            "generate",
            "write",
            "end",
        ):  # these ask no host
            asks = []
        if asks and (run_once or to) and to != "localhost" and not (to and item.get("delegate_facts") is True):
            yield item["name"]


def test_what_a_host_answers_becomes_facts_of_no_other_host():
    """Facts of a task with run_once are those of all hosts, and of a delegated task those of the host that delegates it."""
    found = [f"{path.relative_to(ROOT)}: {name}" for path, items, _known in everything() for name in to_others(items)]
    assert "\n".join(found) == "", (
        "add delegate_facts: true, and delegate_to with the host's own name if nothing is delegated"
    )


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"run_once": True}, ["a"]),
        ({"delegate_to": "n1"}, ["a"]),
        ({"delegate_to": "n1", "run_once": True, "delegate_facts": True}, []),
        ({"run_once": True, "delegate_facts": True}, ["a"]),
        ({"delegate_to": "localhost", "run_once": True}, []),
        ({}, []),
    ],
)
def test_the_search_sees_facts_of_others(item, found):
    assert list(to_others([{"name": "a", "ascend.inference.service_log": {}, **item}])) == found


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (
            {
                "name": "a",
                "delegate_to": "localhost",
                "ansible.builtin.copy": {"content": "{{ x }}", "dest": "{{ y }}"},
            },
            ["a: y"],
        ),
        (
            {
                "name": "a",
                "delegate_to": "localhost",
                "ansible.builtin.copy": {"dest": "{{ hostvars['localhost'].y | expanduser }}"},
            },
            [],
        ),
        (
            {"name": "a", "delegate_to": "{{ 'localhost' if here }}", "ansible.builtin.stat": {"path": "{{ y }}"}},
            ["a: y"],
        ),
        ({"name": "a", "delegate_to": "n1", "ansible.builtin.stat": {"path": "{{ y }}"}}, []),
        ({"name": "a", "ansible.builtin.copy": {"src": "{{ x }}", "dest": "{{ y }}"}}, ["a: x"]),
        (
            {
                "name": "a",
                "ansible.builtin.copy": {"src": "{{ x | ascend.inference._of_inventory(ansible_facts, 'x') }}"},
            },
            [],
        ),
        ({"name": "a", "vars": {"x": "{{ z }}"}, "ansible.builtin.copy": {"src": "{{ x }}"}}, ["a: z"]),
        ({"name": "a", "loop": "{{ z }}", "ansible.builtin.copy": {"src": "{{ item }}"}}, ["a: z"]),
        ({"name": "a", "ansible.builtin.set_fact": {"x": "{{ lookup('ansible.builtin.file', y) }}"}}, ["a: y"]),
        (
            {
                "name": "a",
                "block": [{"name": "b", "ansible.builtin.stat": {"path": "{{ y }}"}}],
                "delegate_to": "localhost",
            },
            ["b: y"],
        ),
        (
            {
                "name": "p",
                "hosts": "localhost",
                "connection": "local",
                "tasks": [{"name": "b", "ansible.builtin.copy": {"src": "{{ y }}"}}],
            },
            [],
        ),
    ],
)
def test_the_search_sees_them(item, found):
    assert list(found_in([item], {})) == found


def test_what_is_verified_in_addition_is_a_variable_of_the_play():
    """Of a fact, which the play's own variable precedes, the key of the engines would be taken: any secret of the inventory."""
    plays = yaml.safe_load((ROOT / "playbooks/shared/verify_body.yml").read_text(encoding="utf-8"))
    uses = [play for play in plays if "__inference_verify_more" in str(play.get("tasks"))]
    assert uses and all(play["vars"]["__inference_verify_more"] == {} for play in uses)
