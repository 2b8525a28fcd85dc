# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host answered is printed without its control characters: Ansible's modules fail, assert and debug print texts as they are.

So a message has texts of hosts only below the filter ``_visible``. Numbers need none.
"""

from __future__ import annotations

import ast
import pathlib

import pytest
import yaml
from jinja2 import Environment, nodes

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PARTS = ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always")
PRINTS = {
    "ansible.builtin.fail": ("msg",),
    "ansible.builtin.debug": ("msg", "var"),
    "ansible.builtin.assert": ("fail_msg", "success_msg", "msg"),
}
HARMLESS = {"ascend.inference._visible", "int", "round", "length"}
HARMLESS |= {"ascend.inference._upgrade_lagging", "ascend.inference._instead"}  # names of the inventory, constants
# Facts and registered results that have nothing of a host but its name in the inventory.
OF_CONTROLLER = {
    "cann_checksums": "of the inventory, or of a verified bundle",
    "cann_source": "of the inventory",
    "container_runtime_bundle": "the bundle's folder",
    "__inference_acceptance": "paths of the inventory",
    "__inference_acceptance_report": "verdict and name of the deployment",
    "__inference_deployment": "the deployment's name",
    "__inference_drill_report": "the deployment's name",
    "__inference_hosts": "names of the inventory",
    "__inference_left_out": "names of the inventory",
    "__inference_marks": "inference_host, a name of the inventory",
    "kthena_resolved_plan": "the deployment's name",
    "kthena_restored_plan": "a plan that this controller recorded",
}
ENVIRONMENT = Environment(autoescape=False)  # noqa: S701 # nothing is rendered
OF_LOCALHOST = ENVIRONMENT.parse("{{ hostvars['localhost'] }}").body[0].nodes[0]


def names(node, harmless=HARMLESS.__contains__):
    """Variables whose text becomes a part of a message. ``harmless``: whether a filter makes a text that may be printed."""
    if isinstance(node, nodes.Filter) and (
        harmless(node.name)
        or node.name == "map"
        and node.args
        and isinstance(node.args[0], nodes.Const)
        and harmless(node.args[0].value)
    ):
        return set()
    if isinstance(node, nodes.Div):  # a number
        return set()
    if isinstance(node, (nodes.Getitem, nodes.Getattr)) and node.node == OF_LOCALHOST:
        return {str(node.arg.as_const() if isinstance(node, nodes.Getitem) else node.attr)}
    if isinstance(node, nodes.CondExpr):
        return names(node.expr1, harmless) | (names(node.expr2, harmless) if node.expr2 else set())
    if isinstance(node, nodes.Name):
        return {node.name}
    return {name for child in node.iter_child_nodes() for name in names(child, harmless)}


def printed(text, known, seen=(), harmless=HARMLESS.__contains__):
    """The names of a message, with the variables of its task, block and play resolved."""
    for name in sorted(names(ENVIRONMENT.parse(str(text)), harmless) - set(seen)):
        if name in known:
            yield from printed(known[name], known, (*seen, name), harmless)
        else:
            yield name


def walk(items, known=None):
    """Each task with the variables that plays, blocks and itself give."""
    for item in items or []:
        given = {**(known or {}), **(item.get("vars") or {})}
        yield item, given
        for part in PARTS:
            yield from walk(item.get(part), given)


def everything():
    for path in sorted([*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").glob("*/tasks/**/*.yml")]):
        yield path, yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER) or []  # noqa: S506 # a safe one


def answers():
    """Registered results, and facts that tasks make of them."""
    found = {"ansible_failed_result", "ansible_facts", "hostvars"}
    for _path, items in everything():
        for task, _given in walk(items):
            found |= {task["register"]} if "register" in task else set()
            found |= set(task.get("ansible.builtin.set_fact") or {})
    return found


def raw(items, foreign):
    """``TASK: VARIABLE`` of each message with a text of a host as it is."""
    for task, given in walk(items):
        for module, options in PRINTS.items():
            said = task.get(module)
            texts = [said[name] for name in options if name in said] if isinstance(said, dict) else []
            for name in sorted({name for text in texts for name in printed(text, given)} & foreign):
                yield f"{task.get('name')}: {name}"


def test_messages_have_no_control_characters_of_hosts():
    foreign = answers() - set(OF_CONTROLLER)
    found = [f"{path.relative_to(ROOT)}: {line}" for path, items in everything() for line in raw(items, foreign)]
    assert "\n".join(found) == "", "pass the text through ascend.inference._visible"


def makes_lines(items, foreign):
    """``TASK: VARIABLE`` of each text on the terminal with a text of a host that could have lines of its own."""

    def harmless(filtered):  # those of this collection make lines of tables and findings, and have tests of their own
        return (
            filtered in HARMLESS - {"ascend.inference._visible"}
            or filtered.startswith("ascend.inference._")
            and filtered != "ascend.inference._visible"
        )

    for task, given in walk(items):
        for name in (
            set(printed((task.get("ascend.inference.print_text") or {}).get("text", ""), given, (), harmless)) & foreign
        ):
            yield f"{task.get('name')}: {name}"


OF_ITSELF = {
    "__inference_archived": "the controller's own module",
    "__inference_paused": "inference_probe_service, of the plan",
    "__inference_tried": "lines of the host that inference_outside names, which says nothing else",
}


def test_a_host_adds_no_lines_to_what_is_printed():
    """Such as the line with which another host, or the whole run, would say that it succeeded."""
    results = {task["register"] for _path, items in everything() for task, _given in walk(items) if "register" in task}
    foreign = results - {*OF_ITSELF}
    found = [
        f"{path.relative_to(ROOT)}: {line}" for path, items in everything() for line in makes_lines(items, foreign)
    ]
    assert "\n".join(found) == "", "pass each text through ascend.inference._one_line"


def shows(call):
    """Whether a call of Python prints a text on the terminal."""
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and "Display()" in ast.unparse(call.func)


def test_actions_print_no_control_characters_of_hosts():
    """Ansible prints what an action displays as it is, and cleans only the message of its result."""
    found = []
    for path in sorted((ROOT / "plugins/action").glob("*.py")):
        for call in filter(shows, ast.walk(ast.parse(path.read_text(encoding="utf-8")))):
            said = ast.unparse(call.args[0])
            if not said.startswith(
                ("visible(", "bounded(visible(", "json.dumps(", "runs.left(")
            ):  # the last one makes one line
                found.append(f"{path.name}: {said}")
    assert found == []


def failures(path):
    """Results that the controller makes to failures, with what a host answered in them: Ansible prints the whole of a failure."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    clean = {
        id(call.args[0]) for call in ast.walk(tree) if isinstance(call, ast.Call) and ast.unparse(call.func) == "shown"
    }
    for each in ast.walk(tree):
        if isinstance(each, ast.Dict) and id(each) not in clean:
            pairs = dict(
                zip([key and ast.unparse(key) for key in each.keys], map(ast.unparse, each.values), strict=True)
            )
            more = {*pairs} - {"'failed'", "'changed'", "'msg'"}
            if (
                pairs.get("'failed'") == "True" and more and pairs.get(None) != "result"
            ):  # of the action, before it asks a host
                yield f"{path.name}: {ast.unparse(each)[:60]}"


def test_what_an_action_makes_to_a_failure_has_no_control_characters_of_hosts():
    """The module's answer was none, so nothing of it was cleaned. JSON does not escape what turns a text around."""
    folders = ("action", "plugin_utils/change", "plugin_utils/lifecycle")
    paths = [path for folder in folders for path in sorted((ROOT / "plugins" / folder).glob("*.py"))]
    assert [line for path in paths for line in failures(path)] == []


def test_no_name_is_excepted_that_is_in_no_message():
    said = {line.rpartition(": ")[2] for _path, items in everything() for line in raw(items, set(OF_CONTROLLER))}
    assert sorted(set(OF_CONTROLLER) - said) == []


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"ansible.builtin.fail": {"msg": "{{ x.msg }}"}}, ["a: x"]),
        ({"ansible.builtin.fail": {"msg": "{{ x.msg | ascend.inference._visible }}"}}, []),
        ({"ansible.builtin.assert": {"that": "x", "fail_msg": "{{ y }}"}, "vars": {"y": "{{ x | join }}"}}, ["a: x"]),
        ({"ansible.builtin.debug": {"msg": "{{ x | map('ascend.inference._visible') | list }}"}}, []),
        ({"ansible.builtin.debug": {"msg": "{{ 'b' if x else z | default(x) }}"}}, ["a: x"]),
        ({"ansible.builtin.debug": {"msg": "{{ 'b' if x else x | length }}"}}, []),
    ],
)
def test_the_search_sees_texts_of_hosts(said, found):
    assert list(raw([{"name": "a", **said}], {"x"})) == found
