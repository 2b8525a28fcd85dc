# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release's configuration code refuses when an engine starts: each raise and assert of FILES, from its sources; nothing is run.

KNOWN (refusals.json) says of each what the planner does about it: ``rule ID``, ``unreachable: reason`` or ``uncovered: reason``.

    python tests/releases/refusals.py --write    # adds the refusals of RELEASES; new ones get an empty meaning, which is an error
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import typing as t

from ansible_collections.ascend.inference.tests.releases import messages

KNOWN = pathlib.Path(__file__).with_name("refusals.json")
FILES = ("vllm_ascend/platform.py", "vllm_ascend/ascend_config.py", "vllm_ascend/config_utils.py")
RELEASES = (
    "0.23.0.post1",
    "0.30.0rc2",
)  # the default and the newest: those whose engines start in the rehearsal of `make test`


def of_source(source: str) -> list[str]:
    """``Class.function: text`` of each refusal of one file; the condition stands for the text of an assert without one."""
    found: list[str] = []

    def visit(node: ast.AST, place: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                visit(child, f"{place}.{child.name}".lstrip("."))
                continue
            text = _text(child)
            if text:
                found.append(f"{place}: {text}")
            visit(child, place)

    visit(ast.parse(source), "")
    return found


def _text(node: ast.AST) -> str:
    """What a raise or an assert says; empty for other statements, and for those that raise again."""
    if isinstance(node, ast.Assert):
        said = messages.text_of(node.msg, {}) if node.msg else ""
        return " ".join((said or f"assert {ast.unparse(node.test)}").split())
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        said = messages.text_of(node.exc.args[0], {}) if node.exc.args else ""
        return " ".join((said or ast.unparse(node.exc)).split())
    return ""


def read(folder: pathlib.Path) -> list[str]:
    """The refusals of a release whose sources lie in ``folder``, without repetitions, in the order of the code."""
    texts = [(folder / name).read_text(encoding="utf-8") for name in FILES if (folder / name).exists()]
    return list(dict.fromkeys(line for text in texts for line in of_source(text)))


def known() -> list[dict[str, t.Any]]:
    """Rows {text, releases, says} of all refusals."""
    return list(json.loads(KNOWN.read_text(encoding="utf-8"))["refusals"])


def differences(release: str, folder: pathlib.Path) -> list[str]:
    """Refusals of a release that nothing is known of, and those that it is said to have and has not."""
    rows, found = {row["text"]: row for row in known()}, read(folder)
    new = [
        f"the refusal {text!r} has no meaning in {KNOWN.name}" for text in found if not rows.get(text, {}).get("says")
    ]
    gone = [text for text, row in rows.items() if release in row["releases"] and text not in found]
    return new + [f"the refusal {text!r} is in {KNOWN.name} and not in the sources" for text in gone]


def merged(rows: t.Iterable[t.Mapping[str, t.Any]], found: t.Mapping[str, t.Iterable[str]]) -> list[dict[str, t.Any]]:
    """The rows with the refusals that were found: {release: [text]}."""
    every = {row["text"]: dict(row, releases=[name for name in row["releases"] if name not in found]) for row in rows}
    for release, texts in found.items():
        for text in texts:
            every.setdefault(text, {"text": text, "releases": [], "says": ""})["releases"].append(release)
    return sorted((row for row in every.values() if row["releases"]), key=lambda row: str(row["text"]))


def main() -> int:
    """Compare or write; 1 if a refusal has no meaning."""
    import run

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the refusals of RELEASES")
    asked = parser.parse_args()
    folders = {name: run.unpacked(name) for name in RELEASES}
    if asked.write:
        rows = merged(known() if KNOWN.exists() else [], {name: read(folder) for name, folder in folders.items()})
        KNOWN.write_text(messages.as_text("refusals", rows), encoding="utf-8")
    lines = [f"{name}: {line}" for name, folder in folders.items() for line in differences(name, folder)]
    print("\n".join(lines) or "Each refusal has its meaning.")
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main())
