# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of CONTRIBUTING.md that a program can check. All offences are reported at once, each with its file."""

from __future__ import annotations

import ast
import functools
import importlib
import re
import subprocess
from pathlib import Path

import yaml
from ansible_collections.ascend.inference.plugins.module_utils.tools.engine_kinds import ANSWERING_KINDS, ENGINE_KINDS

ROOT = Path(__file__).resolve().parents[2]
LICENCE = "SPDX-License-Identifier: GPL-3.0-or-later"
PLUGIN_HEAD = [
    "# Copyright (c) 2026 the ascend.inference contributors",
    "# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)",
    f"# {LICENCE}",
]
NOT_KEPT_BY_GIT = {".ansible", ".cache", ".git", ".hypothesis", ".pytest_cache", ".ruff_cache", ".venv", "__pycache__"}
DOCUMENTATION = {"DOCUMENTATION", "EXAMPLES", "RETURN"}


def files():
    """All files of the project: what git knows, or, in an unpacked archive, what isn't a cache."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        found = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not NOT_KEPT_BY_GIT & set(path.relative_to(ROOT).parts)]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


FILES = files()


def name(path):
    return str(path.relative_to(ROOT))


def in_folder(*folders, suffix=".py"):
    return [
        path
        for path in FILES
        if path.suffix == suffix and name(path).startswith(tuple(f"{folder}/" for folder in folders))
    ]


def text_of(path):
    return path.read_text(encoding="utf-8")


def functions(path):
    """Every function of a Python file with the number of lines it takes, decorators not counted."""
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.end_lineno - node.lineno + 1


def lines_without_documentation(path):
    """Lines of a plugin file less the assignments of DOCUMENTATION, EXAMPLES and RETURN, and the empty line after each."""
    total = len(text_of(path).splitlines())
    for node in ast.parse(text_of(path)).body:
        if isinstance(node, ast.Assign) and DOCUMENTATION & {getattr(target, "id", "") for target in node.targets}:
            total -= node.end_lineno - node.lineno + 2
    return total


def imported(path):
    """Names of the modules that a Python file imports, anywhere in it; relative ones begin with a dot."""
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
            yield from ("." * node.level + f"{node.module or ''}.{alias.name}" for alias in node.names)


def has_licence(path):
    beside = path.with_name(path.name + ".license")
    if path.name == "LICENSE" or path.suffix == ".license":
        return True
    if beside.exists():
        return LICENCE in text_of(beside)
    return LICENCE.encode() in path.read_bytes()[:2000]


def test_each_file_names_its_licence():
    assert [name(path) for path in FILES if not has_licence(path)] == []


def test_python_files_begin_with_the_same_three_lines():
    def head(path):
        lines = text_of(path).splitlines()
        return lines[1:4] if lines and lines[0].startswith("#!") else lines[:3]

    assert [name(path) for path in FILES if path.suffix == ".py" and head(path) != PLUGIN_HEAD] == []


def test_main_functions_of_modules_have_at_most_25_lines():
    long = [
        (name(path), lines)
        for path in in_folder("plugins/modules")
        for function, lines in functions(path)
        if function == "main" and lines > 25
    ]
    assert long == []


def test_parsers_have_at_most_30_lines():
    long = [
        (name(path), function, lines)
        for path in in_folder("plugins/module_utils")
        for function, lines in functions(path)
        if function.lstrip("_").startswith("parse") and lines > 30
    ]
    assert long == []


def test_adapters_have_at_most_40_lines():
    adapters = in_folder("plugins/filter", "plugins/test", "plugins/lookup")
    long = [(name(path), lines) for path in adapters if (lines := lines_without_documentation(path)) > 40]
    assert long == []


def test_only_modules_and_one_adapter_know_ansible_module():
    everywhere = in_folder("plugins/module_utils", "plugins/plugin_utils", "plugins/filter")
    users = [name(path) for path in everywhere if "ansible.module_utils.basic" in set(imported(path))]
    assert len(users) <= 1, users


def test_what_runs_on_targets_imports_nothing_of_the_controller():
    forbidden = re.compile(r"ansible(?!\.module_utils|_collections|$)|.*plugin_utils|yaml|jinja2")
    found = [
        (name(path), module)
        for path in in_folder("plugins/module_utils", "plugins/modules")
        for module in imported(path)
        if forbidden.match(module)
    ]
    assert found == []


def test_templates_print_and_decide_nothing():
    templates = [path for path in FILES if path.suffix == ".j2"]
    assert [name(path) for path in templates if re.search(r"{%-?\s*set\b", text_of(path))] == []


def test_no_container_is_privileged():
    folders = ("molecule/", "playbooks/", "plugins/", "roles/", "inventories/")
    asked = re.compile(r"--privileged\b|\bprivileged['\"]?\s*[:=]\s*['\"]?(true|yes)", re.IGNORECASE)
    files = [path for path in FILES if name(path).startswith(folders)]
    assert [name(path) for path in files if asked.search(path.read_bytes().decode("utf-8", "replace"))] == []


def test_what_nobody_uses_is_called_dummy():
    """ansible-test refuses the name _, which belongs to translations."""
    python = [path for path in FILES if path.suffix == ".py" and re.search(r"\b_\b", text_of(path))]
    found = [
        f"{name(path)}:{node.lineno}"
        for path in python
        for node in ast.walk(ast.parse(text_of(path)))
        if "_" in (getattr(node, "id", ""), getattr(node, "arg", ""))
    ]
    assert found == []


def test_each_guide_is_listed():
    sections = yaml.safe_load((ROOT / "docs/docsite/extra-docs.yml").read_text())["sections"]
    listed = [page for section in sections for page in section["toctree"]]
    assert sorted(listed) == sorted(path.stem for path in in_folder("docs/docsite/rst", suffix=".rst"))


def test_each_role_says_what_it_is():
    roles = {name(path).split("/")[1] for path in FILES if name(path).startswith("roles/")}
    assert sorted(role for role in roles if not (ROOT / "roles" / role / "README.md").exists()) == []


def test_the_checks_see_what_they_look_for(tmp_path):
    sample = tmp_path / "sample.py"
    sample.write_text(
        'DOCUMENTATION = """\na\nb\n"""\n\nfrom ansible.plugins import x\nimport yaml\n\ndef main():\n    pass\n    return 1\n'
    )
    assert list(functions(sample)) == [("main", 3)]
    assert lines_without_documentation(sample) == 6
    assert list(imported(sample)) == ["ansible.plugins", "ansible.plugins.x", "yaml"]
    assert not has_licence(sample)


def test_nothing_looks_outside_of_the_repository():
    """No file cites a document that is not here, and no test reads one from beside the repository."""
    outside = re.compile(
        r"\b(rules\.md|failure_modes|signals\.md|versions_notes)\b|parents?\b[^\n]*/ \"shared|ASCEND_(SHARED|SAMPLES)\b"
    )
    own = {Path(__file__), ROOT / "tests/unit/docs/test_rules_page.py"}  # they look for these names
    text_files = [
        path
        for path in FILES
        if path.suffix in (".py", ".yml", ".yaml", ".md", ".rst", ".j2", ".sh") and path not in own
    ]
    assert [name(path) for path in text_files if outside.search(text_of(path))] == []


def test_commands_are_run_in_one_place():
    """A time limit, the whole process group killed and bounded output hold for every command only if one function runs them.

    twin.py starts a server, which ends with its module."""
    code = in_folder("plugins")
    users = {name(path) for path in code if "subprocess" in set(imported(path)) or ".run_command(" in text_of(path)}
    assert users == {"plugins/module_utils/tools/runner.py", "plugins/module_utils/entry/twin.py"}, (
        "use its function execute, in a runtime command of runtime/base.py"
    )


def test_public_filters_are_documented_and_private_ones_say_so():
    """A leading underscore marks a filter as private; the guide lists all others, which have a file each."""
    table = text_of(ROOT / "docs/docsite/rst/guide_index.rst").partition("\nModule  ")[0]  # that of modules follows
    listed = set(re.findall(r"^``(\w+)`` ", table, re.MULTILINE))
    assert {name for name in filters() if not name.startswith("_")} == listed
    fragment = "extends_documentation_fragment: [ascend.inference.private]"
    for path in in_folder("plugins/filter"):
        names = [name for name, place in filters().items() if place == path]
        private = [name for name in names if name.startswith("_")]
        assert (fragment in text_of(path)) == bool(private), path
        assert private == names or names == [path.stem], "a public filter is found by the name of its file"


@functools.cache
def filters():
    """The file of each filter."""
    return {
        name: path
        for path in in_folder("plugins/filter")
        for name in importlib.import_module(f"ansible_collections.ascend.inference.plugins.filter.{path.stem}")
        .FilterModule()
        .filters()
    }


def test_files_of_the_controller_are_relative_to_where_the_command_was_given():
    """Modules of localhost run in the folder of the playbook, so a relative path has to be made absolute before."""
    named = re.compile(
        r"(?:dest|path): \"\{\{ ((?:inference|verify|host_check)_\w*(?:file|json|html|markdown|dir|path|inventory)) \}\}"
    )
    yaml_files = [*in_folder("playbooks", suffix=".yml"), *in_folder("roles", suffix=".yml")]
    assert named.search('dest: "{{ inference_bench_json }}"')
    assert [(name(path), found) for path in yaml_files for found in named.findall(text_of(path))] == []


def test_kinds_of_engines_are_listed_once():
    """engine_kinds.py has them: other Python code imports them, and a list in YAML has exactly the same names."""
    kind = "(?:encode|prefill|decode|colocated)"
    in_python = re.compile(rf'[(\[{{]"{kind}"(?:, "{kind}"){{2}}')
    in_yaml = re.compile(rf"\['?{kind}'?(?:, '?{kind}'?){{2,}}")
    numbered = ["plan/ports.py", "plan/render/kv.py"]  # their order is in the ports and the names of deployed services
    allowed = {"plugins/module_utils/tools/engine_kinds.py", *(f"plugins/plugin_utils/{path}" for path in numbered)}
    assert in_python.search('kinds = ("decode", "prefill", "colocated", "encode")')
    assert in_yaml.search("select('in', ['prefill', 'decode', 'colocated'])")
    wrong = [
        name(path) for path in in_folder("plugins") if in_python.search(text_of(path)) and name(path) not in allowed
    ]
    for path in in_folder("roles", "playbooks", suffix=".yml"):
        lists = [set(re.findall(kind, found)) for found in in_yaml.findall(text_of(path))]
        wrong += [name(path) for kinds in lists if kinds not in (set(ENGINE_KINDS), set(ANSWERING_KINDS))]
    assert not wrong


def test_no_merged_key_is_given_again():
    """Ansible warns of each in every run, which is noise for who cannot change it."""

    def twice(node):
        if isinstance(node, yaml.MappingNode):
            own = [key.value for key, value in node.value if key.value != "<<"]
            merged = [
                key.value
                for name, value in node.value
                if name.value == "<<" and isinstance(value, yaml.MappingNode)
                for key, dummy in value.value
            ]
            yield from (f"line {node.start_mark.line + 1}: {key}" for key in own if key in merged)
        for child in (item for pair in node.value for item in pair) if isinstance(node, yaml.MappingNode) else ():
            yield from twice(child)
        if isinstance(node, yaml.SequenceNode):
            for child in node.value:
                yield from twice(child)

    found = [
        (name(path), key)
        for path in in_folder("playbooks", "roles", suffix=".yml")
        if "<<:" in text_of(path)
        for key in twice(yaml.compose(text_of(path)))
    ]
    assert found == []
