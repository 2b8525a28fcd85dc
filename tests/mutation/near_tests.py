# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which unit tests can notice a change of a file: by the graph of imports, those with most rare words in common first.

    python3 tests/mutation/near_tests.py FILE...    prints the nearest ones, the nearest first: `make near FILE=...`

A map by coverage would be narrower, but takes longer to make than a sample of mutants takes to try.
"""

from __future__ import annotations

import ast
import collections
import math
import pathlib
import re
import sys
import typing as t

PREFIX = "ansible_collections.ascend.inference."
# Other processes, which do not see what is changed here, and tests of the text of the sources.
LEFT_OUT = ("simulator", "rehearsal", "docs", "releases", "test_house_rules.py", "test_clone.py", "test_roles.py")
FARTHEST = 9  # imports between a test and the file
NEAR = 6  # test files that are tried first
# Records of many results, which most changes below a folder change; by the folder, without those below another one.
WHOLE = {
    "/plan/": ("tests/unit/inventories/test_plans.py",),
    "/rules/": ("tests/unit/plugins/plugin_utils/rules/test_exact_findings.py",),
}

PAGES = {  # tests of generated pages and of documentation, by folder of their sources
    "/description/": "tests/unit/docs/test_variables_page.py",
    "plugins/modules/": "tests/unit/plugins/modules/test_arguments_documented.py",
}


class Graph:
    """The imports of plugins and tests, and of each test file the distance to each file that it reaches."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.imports: dict[str, set[str]] = {}
        self.scores: dict[tuple[str, str], float] = {}
        self.tests = [
            path
            for path in sorted((root / "tests" / "unit").rglob("test_*.py"))
            if path.relative_to(root / "tests" / "unit").parts[0] not in LEFT_OUT
        ]
        self.words = {name: self._own_words(name) for name in (str(path.relative_to(root)) for path in self.tests)}
        count = collections.Counter(word for words in self.words.values() for word in words)
        self.weight = {word: math.log(len(self.tests) / number) for word, number in count.items()}
        self.reached = {str(path.relative_to(root)): self._reached(str(path.relative_to(root))) for path in self.tests}

    def _own_words(self, name: str) -> set[str]:
        """The words of a test, and of the tables and helpers that it imports: a mistake is often named there only."""
        helpers = (path for path in self.direct(name) if path.startswith("tests/") and "/test_" not in path)
        return set().union(*(_words(self.text(path)) for path in [name, *helpers]))

    def of(self, path: str) -> list[list[str]]:
        """The test files that reach a file of the collection: pages, those about the same things, digests, all others."""
        order = [name for name, reached in self.reached.items() if reached.get(path, FARTHEST + 1) <= FARTHEST]
        order.sort(key=lambda name: self.score(path, name), reverse=True)
        folder = next((folder for folder in reversed(WHOLE) if folder in path), "")
        whole = list(WHOLE.get(folder, ()))
        pages = [name for folder, name in PAGES.items() if folder in path]
        near = [name for name in order if name not in (*pages, *whole)][:NEAR]
        lists = (pages, near, whole, [name for name in order if name not in (*pages, *near, *whole)])
        return [names for names in lists if names]

    def score(self, path: str, name: str) -> float:
        """How much a test file is about a file of the collection; 0 if it does not reach it."""
        if (path, name) not in self.scores:
            words = _words(self.text(path)) | set(path.split("/"))
            shared = sum(self.weight[word] for word in words & self.words[name])
            alike = shared / math.sqrt(sum(self.weight[word] for word in self.words[name]) or 1)
            alike *= 2 if pathlib.PurePath(path).stem.strip("_") in name else 1
            distance = self.reached[name].get(path)
            self.scores[path, name] = alike / distance if distance else 0.0
        return self.scores[path, name]

    def text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def _reached(self, name: str) -> dict[str, int]:
        distances, edge = {name: 0}, [name]
        while edge:
            following = []
            for one in edge:
                for other in self.direct(one):
                    if other not in distances:
                        distances[other] = distances[one] + 1
                        following.append(other)
            edge = following
        return distances

    def direct(self, name: str) -> set[str]:
        """The files of the collection that one imports, or starts as a module of Ansible: ``run_module("npu_info")``."""
        if name not in self.imports:
            text = (self.root / name).read_text(encoding="utf-8")
            found = {self._file(module) for module in _modules(ast.parse(text), name)}
            if "import_module(" in text:  # a registry, with names of modules in its folder
                found |= {
                    str(pathlib.PurePath(name).parent / f"{word.replace('.', '/')}.py")
                    for word in re.findall(r"\"([\w.]+)\"", text)
                }
            if name.startswith("tests/"):
                words = set(re.findall(r"\"(\w+)\"", text))
                found |= {f"plugins/modules/{word}.py" for word in words}
                for begin in re.findall(r"f\"(\w+_)\{", text):  # f"kubernetes_{name}"
                    found |= {
                        f"plugins/modules/{path.name}" for path in (self.root / "plugins/modules").glob(f"{begin}*.py")
                    }
            self.imports[name] = {path for path in found if path and (self.root / path).is_file()} - {name}
        return self.imports[name]

    def _file(self, module: str) -> str:
        path = module.replace(".", "/")
        return f"{path}/__init__.py" if (self.root / path / "__init__.py").is_file() else f"{path}.py"


def about(source: str, line: int) -> set[str]:
    """The words of the innermost function or class in which a line is, with its decorators: the id of a rule, names of variables.

    Of a table of the module, those of the functions that use it.
    """
    tree = ast.parse(source)
    parts = {node: _text(source, node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    around = [
        text for node, text in parts.items() if _first(node) <= line <= (node.end_lineno or 0)
    ]  # outer ones first
    if around:
        return short_words(around[-1])
    names = {
        name.id
        for node in tree.body
        if node.lineno <= line <= (node.end_lineno or 0)
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    }
    used = (text for text in parts.values() if names & set(re.findall(r"\w+", text)))
    return short_words("\n".join([*names, source.split("\n")[line - 1], *used]))


def _first(node: ast.FunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(item.lineno for item in node.decorator_list)])


def _text(source: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    return "\n".join(source.split("\n")[_first(node) - 1 : node.end_lineno])


def short_words(text: str) -> set[str]:
    """Parts of identifiers and of names of tests: ``kv_hold`` and ``KV-HOLD`` are both kv and hold."""
    return set(re.findall(r"[a-z]+|[0-9]+", text.lower()))


def in_order(names: list[str], words: set[str]) -> list[int]:
    """The indexes of names of tests, those with most rare words in common first."""
    parts = [short_words(name) for name in names]
    count = collections.Counter(word for part in parts for word in part)
    scores = [sum(math.log(len(names) / count[word]) for word in part & words) for part in parts]
    return sorted(range(len(names)), key=lambda index: -scores[index])


def _words(text: str) -> set[str]:
    """Identifiers, and words of texts."""
    return set(re.findall(r"[A-Za-z][A-Za-z_]{3,}", text))


def _modules(tree: ast.AST, name: str) -> set[str]:
    """Names of imported modules below the collection: ``plugins.plugin_utils.plan.ports``."""
    found = set()
    package = name.split("/")[:-1]
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
            module = ".".join(
                part for part in (PREFIX + base if node.level else "", node.module or "") if part
            ).replace("..", ".")
            names = [module, *(f"{module}.{item.name}" for item in node.names)]
        found |= {item[len(PREFIX) :] for item in names if item.startswith(PREFIX)}
    return found


def rehearsed(root: pathlib.Path, name: str) -> list[str]:
    """The short rehearsed cases, FILE/NAME, in whose records tasks of a YAML file run, or of files that name a template: most of the tasks first."""
    import yaml

    sys.path.insert(0, str(root / "tests" / "unit"))  # this program runs outside of the collection's tree, too
    from rehearsal import records

    texts = [(root / name).read_text(encoding="utf-8")]
    if name.endswith(".j2"):
        tasks_of = (root / "roles" / name.split("/")[1] / "tasks").rglob("*.yml")
        role = [path.read_text(encoding="utf-8") for path in tasks_of]
        # A template that no task names is rendered by a plugin; then any task of the role may show it.
        texts = [text for text in role if pathlib.PurePath(name).name in text] or role
    tasks = set(re.findall(r"^ *- name: (.+)$", "\n".join(texts), re.MULTILINE))
    count: dict[str, int] = {}
    for path in sorted((root / "tests" / "unit" / "rehearsal" / "cases").glob("*.yml")):
        for case, content in yaml.safe_load(path.read_text(encoding="utf-8"))["cases"].items():
            text = "" if content.get("long") else records.recorded(f"{path.stem}/{case}")
            count[f"{path.stem}/{case}"] = sum(task in text for task in tasks)
    return sorted((case for case in count if count[case]), key=lambda case: -count[case])


def nearest(root: pathlib.Path, names: t.Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Of files of the checkout: the test files that are nearest, others that reach one of them or take long, and the rehearsed cases that are nearest."""
    graph = None  # made for the first file that is no test: it reads all sources, which takes 5 s
    near, more, cases = [], [], []
    for name in names:
        parts = name.split("/")
        if parts[:2] == ["tests", "unit"] and parts[-1].startswith("test_"):
            (more if parts[2] in LEFT_OUT else near).append(name)
        elif name.endswith(".py"):
            graph = graph or Graph(root)
            lists = graph.of(name)
            near += [test for tests in lists[:3] for test in tests[:NEAR]]
            more += [test for tests in lists for test in tests]
        elif name.startswith(("roles/", "playbooks/")):
            cases += rehearsed(root, name)[:NEAR]
        elif name.startswith("tests/unit/rehearsal/cases/"):
            cases.append(f"{pathlib.PurePath(name).stem}/")
    near = list(dict.fromkeys(near))
    more.sort(key=lambda test: test.split("/")[2] in LEFT_OUT)
    return near, [test for test in dict.fromkeys(more) if test not in near], list(dict.fromkeys(cases))


def main(paths: list[str]) -> None:
    """Print the tests of each file; `path` as typed in any folder of the checkout."""
    root = pathlib.Path(__file__).resolve().parents[2]
    for path in paths:
        given = pathlib.Path(path).resolve()
        if not given.is_relative_to(root) or not given.is_file():
            raise SystemExit(f"{path} is no file of this checkout")
        name = str(given.relative_to(root))
        tests, _more, cases = nearest(root, [name])
        lines = [*tests, *([f"make renew ARGS={chr(34)}{' '.join(cases)}{chr(34)} && git diff"] if cases else [])]
        print("\n".join(lines) or f"no unit test reaches {name}")


if __name__ == "__main__":
    main(sys.argv[1:] or sys.exit("which file? make near FILE=plugins/plugin_utils/plan/ports.py"))
