# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-core before 2.19 does in another way, and what the unit tests with one core would not show.

tests/cores runs playbooks with the oldest supported one; these searches look at all files for the same mistakes.
"""

from __future__ import annotations

import importlib.metadata
import pathlib
import re
import typing as t

import jinja2
import pytest
import yaml
from ansible.module_utils import basic
from ansible.release import __version__ as core
from jinja2 import nodes

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONDITIONS = ("when", "that", "until", "failed_when", "changed_when")
DYNAMIC = re.compile(r"(?:include_tasks| file): \"(.*\{\{.*)\"$", re.MULTILINE)
ORDER = ("gt", "gteq", "lt", "lteq")
ARITHMETIC = (nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg)


class AnyName(dict[str, t.Any]):
    """Filters and tests that Jinja does not know, because they are Ansible's."""

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> t.Any:
        return str


def written(content: t.Any, kept: dict[str, t.Any], texts: list[str]) -> None:
    """Collect variables that are set with a template, and all templates and conditions."""
    if isinstance(content, list):
        for item in content:
            written(item, kept, texts)
    elif isinstance(content, dict):
        for key, value in content.items():
            if key == "vars" or key.endswith("set_fact"):
                kept.update({name: item for name, item in (value or {}).items() if "{{" in str(item)})
            if key in CONDITIONS:
                conditions = value if isinstance(value, list) else [value]
                texts += [f"{{{{ {item} }}}}" for item in conditions if isinstance(item, str) and "{{" not in item]
            else:
                written(value, kept, texts)
    elif isinstance(content, str) and "{{" in content:
        texts.append(content)


def tree_of(text: str) -> nodes.Template:
    """A template as Jinja understands it."""
    environment = jinja2.Environment(autoescape=True)
    environment.filters, environment.tests = AnyName(), AnyName()
    return environment.parse(text)


def all_of_them() -> tuple[dict[str, t.Any], dict[str, list[str]]]:
    """What ``written`` collects of roles and playbooks; the templates by their files."""
    kept: dict[str, t.Any] = {}
    texts: dict[str, list[str]] = {}
    for path in [*ROOT.glob("roles/*/*/*.yml"), *ROOT.glob("roles/*/tasks/*/*.yml"), *ROOT.glob("playbooks/**/*.yml")]:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = texts.setdefault(str(path.relative_to(ROOT)), [])
        written({"vars": content} if path.parent.name in ("defaults", "vars") else content, kept, found)
    return kept, texts


def numbers_of_texts(text: str, known: t.Collection[str]) -> list[str]:
    """Variables of ``known`` that a template orders or calculates with as they are."""
    tree, found = tree_of(text), []
    for node in tree.find_all((nodes.Compare, *ARITHMETIC)):
        if not isinstance(node, nodes.Compare) or node.ops[0].op in ORDER:
            operands = [item.expr if isinstance(item, nodes.Operand) else item for item in node.iter_child_nodes()]
            found += [item.name for item in operands if isinstance(item, nodes.Name) and item.name in known]
    return found


def test_a_number_of_a_variable_is_made_one_where_it_is_used():
    """Before 2.19 a template gives a text, unless it is a boolean, a list or a mapping: ``number: "{{ 1 }}"`` is not greater than 0."""
    kept, texts = all_of_them()
    assert "__inference_all" in kept and len(kept) > 200
    wrong = {path: names for path in texts for text in texts[path] if (names := numbers_of_texts(text, kept.keys()))}
    assert wrong == {}, "write NAME | int"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{ [] if had > 0 else 1 }}", ["had"]),
        ("{{ 1 <= had }}", ["had"]),
        ("{{ had - 1 }}", ["had"]),
        ("{{ had | int > 0 and other == 'a' and had in [1] }}", []),
    ],
)
def test_the_search_for_numbers_sees_them(text, found):
    assert numbers_of_texts(text, ["had"]) == found


def in_one_case(text: str, known: t.Collection[str]) -> list[str]:
    """Variables of ``known`` that a template needs in one case only."""
    cases = [part for node in tree_of(text).find_all(nodes.CondExpr) for part in (node.expr1, node.expr2) if part]
    named = [node for part in cases for node in [part, *part.find_all(nodes.Name)] if isinstance(node, nodes.Name)]
    return sorted({node.name for node in named if node.name in known})


def test_no_file_is_read_for_a_case_that_does_not_hold():
    """Before 2.19 all variables of an expression are evaluated first: ``a if b else c`` fails if c reads a file that does not exist."""
    kept, texts = all_of_them()
    reads = {name for name, value in kept.items() if "lookup('ansible.builtin.file'" in str(value)}
    assert reads
    wrong = {path: names for path in texts for text in texts[path] if (names := in_one_case(text, reads))}
    assert wrong == {}, "write the lookup into the expression"
    assert in_one_case("{{ [file] if given else [] }}", ["file"]) == ["file"]
    assert in_one_case("{{ file == other and lookup('ansible.builtin.file', other) if file else [] }}", ["given"]) == []


OF_OTHERS = ("content", "stdout")  # keys of results whose text a file or a program of the host decides
PASSES = ("first", "last", "default", "trim")  # filters that give what they get


def text_of_others(template: str) -> bool:
    """Whether a template is nothing but a text of ``OF_OTHERS``, which may be JSON."""
    (output,) = tree_of(template).find_all(nodes.Output)
    found = [node for node in output.nodes if not (isinstance(node, nodes.TemplateData) and not node.data.strip())]
    node = found[0] if len(found) == 1 else None
    while isinstance(node, nodes.Filter) and node.name in PASSES and node.node:
        node = node.node
    if isinstance(node, nodes.Filter) and node.name == "map":
        return any(
            str(option.value.as_const()).rsplit(".", maxsplit=1)[-1] in OF_OTHERS
            for option in node.kwargs
            if option.key == "attribute"
        )
    return isinstance(node, nodes.Getattr) and node.attr in OF_OTHERS


def test_no_text_of_a_file_is_kept_in_a_variable():
    """Before 2.19 a variable whose text is JSON is the value that it says: a filter for the text of a plan finds no plan."""
    kept, _texts = all_of_them()
    whole = {name: value for name, value in kept.items() if str(value).strip().startswith("{{")}
    assert len(whole) > 200
    assert [name for name, value in whole.items() if text_of_others(str(value))] == [], "write it where it is used"
    assert text_of_others("{{ x.content }}") and text_of_others(
        "{{ y | map(attribute='x.content') | first | default('') }}\n"
    )
    assert not text_of_others("{{ x.content | from_json }}")


def included(role: pathlib.Path, template: str) -> list[pathlib.Path]:
    """Task files that a template can name: the texts in it, or else whatever stands there."""
    names = re.findall(r"'(\w+)(?:\.yml)?'", template)
    folder = role / "tasks"
    if names:
        return [path for name in names if (path := folder / f"{name}.yml").is_file()]
    pattern = re.sub(r"\{\{.*?\}\}", "*", template).removeprefix("*/tasks/")  # role_path
    return [path for path in folder.glob(pattern) if path.is_file()]


def test_no_file_whose_name_is_a_template_imports_others():
    """Before 2.19 an import evaluates the name of the file that it stands in when it is read, where no variables of hosts are known."""
    seen: list[pathlib.Path] = []
    for path in ROOT.glob("roles/*/tasks/**/*.yml"):
        role = ROOT / "roles" / path.relative_to(ROOT / "roles").parts[0]
        for template in DYNAMIC.findall(path.read_text(encoding="utf-8")):
            seen += included(role, template)
    wrong = [str(path.relative_to(ROOT)) for path in set(seen) if "import_tasks:" in path.read_text(encoding="utf-8")]
    assert {"supervisor/apply.yml", "systemd/preflight.yml", "tasks/repository_rpm.yml"} <= {
        "/".join(path.parts[-2:]) for path in seen
    }
    assert sorted(wrong) == [], "use include_tasks there"


def test_yaml_is_written_of_built_in_types():
    """Before 2.19 texts of a plan have a type of their own, which PyYAML refuses."""
    writes = re.compile(r"yaml\.(?:safe_)?dump(?:_all)?\(")
    code = {path: path.read_text(encoding="utf-8") for path in (ROOT / "plugins").rglob("*.py")}
    users = {path.name: "built_in(" in text for path, text in code.items() if writes.search(text)}
    assert len(users) >= 3 and all(users.values()), users


def test_one_floor_is_said_everywhere():
    floor = "2.17"
    texts = {
        "meta/runtime.yml": [rf'requires_ansible: ">={floor}\.0"'],
        "playbooks/shared/controller.yml": [
            rf"version\('{floor}\.0', '>='\)",
            f"the collection needs {floor} or later",
        ],
        "README.md": [f"Python 3.10 or newer, ansible-core {floor} or newer"],
        "README.zh-CN.md": [f"Python 3.10 及以上，ansible-core {floor} 及以上"],
        "docs/docsite/rst/guide_operations.rst": [rf"   \* - {floor}\n     - 3\.10 to"],
        ".ci/requirements/ansible.txt": [rf'ansible-core=={floor}\.\d+ ; python_version < "3\.11"'],
        ".ci/env.py": [rf'TARGET_CORE = "{floor}\.', r"OLDEST, NEWEST = \(3, 10\)"],
        **{
            str(path.relative_to(ROOT)): [f'min_ansible_version: "{floor}"']
            for path in ROOT.glob("roles/*/meta/main.yml")
        },
    }
    contents = {name: (ROOT / name).read_text(encoding="utf-8") for name in texts}
    assert [(name, text) for name in texts for text in texts[name] if not re.search(text, contents[name])] == []
    named = {
        name: set(re.findall(r"ansible-core (2\.\d+)", contents[name])) for name in ("README.md", "README.zh-CN.md")
    }
    assert set(map(frozenset, named.values())) == {frozenset({floor})}


def test_the_table_of_versions_is_what_this_core_says():
    page = (ROOT / "docs/docsite/rst/guide_operations.rst").read_text(encoding="utf-8")
    rows = re.findall(r"   \* - (2\.\d+(?:, 2\.\d+)*)\n     - (3\.\d+) .*\n     - (3\.\d+) or newer\n", page)
    table = {version: limits for versions, *limits in rows for version in versions.split(", ")}
    controller = importlib.metadata.metadata("ansible-core")["Requires-Python"].removeprefix(">=")
    hosts = ".".join(map(str, basic._PY_MIN))
    assert table[".".join(core.split(".")[:2])] == [controller, hosts]
