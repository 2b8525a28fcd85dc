# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The warnings and errors that a release's code for KV cache and its proxies can log, from its sources; nothing is imported or run.

KNOWN (tests/simulator/vllm_ascend/messages.json) says of each text what it means: a red flag, a cause, or why it is harmless.

    python tests/releases/messages.py --write    # adds the texts of the first-class releases; new ones get an empty meaning, which is an error
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import re
import typing as t

KNOWN = pathlib.Path(__file__).resolve().parents[1] / "simulator" / "vllm_ascend" / "messages.json"
FOLDERS = re.compile(
    r"vllm_ascend/distributed/(kv_transfer|mooncake|llmdatadist|cpu_offload|kvpool)|examples/(disaggregated?_prefill|external_online_dp)"
)
LEVELS = {
    "warning": "WARNING",
    "warn": "WARNING",
    "warning_once": "WARNING",
    "error": "ERROR",
    "exception": "ERROR",
    "critical": "CRITICAL",
}
_PERCENT = re.compile(r"%%|%(?:\([^)]*\))?[-#0 +]*\d*(?:\.\d+)?[diouxXeEfFgGcrsap]")
_BRACES = re.compile(r"(?<!\{)\{[^{}]*\}(?!\})")


def text_of(node: ast.expr, known: t.Mapping[str, str], values: bool = False) -> str:
    """The text of an expression, each value as {}; empty if it has no fixed part. ``values``: the call has arguments for %s."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _PERCENT.sub(lambda found: "%" if found.group() == "%%" else "{}", node.value) if values else node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.Name):
        return known.get(node.id, "")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (text_of(node.left, known, values) or "{}") + (text_of(node.right, known, values) or "{}")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return text_of(node.left, known, True)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return _BRACES.sub("{}", text_of(node.func.value, known))
    return ""


def of_source(source: str) -> dict[str, str]:
    """{text: level} of one file."""
    tree = ast.parse(source)
    known = {
        node.targets[0].id: text_of(node.value, {})
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    found = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        owner = ast.unparse(node.func.value)
        if node.func.attr in LEVELS and ("log" in owner.lower() or owner == "warnings"):
            text = " ".join(text_of(node.args[0], known, len(node.args) > 1).split())
            if text.strip("{} .:"):
                found[text] = LEVELS[node.func.attr]
    return found


def read(folder: pathlib.Path) -> dict[str, str]:
    """{text: level} of a release whose sources lie in ``folder``."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*.py")):
        if FOLDERS.match(path.relative_to(folder).as_posix()):
            found.update(of_source(path.read_text(encoding="utf-8")))
    return found


def known() -> list[dict[str, t.Any]]:
    """Rows {text, level, releases, says} of all texts."""
    return list(json.loads(KNOWN.read_text(encoding="utf-8"))["texts"])


def differences(release: str, folder: pathlib.Path) -> list[str]:
    """Texts of a release that nothing is known of, and texts that it is said to have and has not."""
    rows = {row["text"]: row for row in known()}
    found = read(folder)
    lines = [
        f"the message {text!r} has no meaning in {KNOWN.name}"
        for text in sorted(found)
        if not rows.get(text, {}).get("says")
    ]
    gone = [text for text, row in rows.items() if release in row["releases"] and text not in found]
    return lines + [f"the message {text!r} is in {KNOWN.name} and not in the sources" for text in sorted(gone)]


def merged(
    rows: t.Iterable[t.Mapping[str, t.Any]], found: t.Mapping[str, t.Mapping[str, str]]
) -> list[dict[str, t.Any]]:
    """The rows with the texts that were found: {release: {text: level}}."""
    every = {row["text"]: dict(row, releases=[name for name in row["releases"] if name not in found]) for row in rows}
    for release, texts in found.items():
        for text, level in texts.items():
            row = every.setdefault(text, {"text": text, "level": level, "releases": [], "says": ""})
            row["releases"] = [*row["releases"], release]
    return sorted((row for row in every.values() if row["releases"]), key=lambda row: str(row["text"]))


def as_text(name: str, rows: t.Iterable[t.Mapping[str, t.Any]]) -> str:
    """JSON with a list of this name, one entry a line, so that a review shows one line for each."""
    entries = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    return f'{{"{name}": [\n{entries}\n]}}\n'


def main() -> int:
    """Compare or write; 1 if a text has no meaning."""
    import compare
    import run

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the texts of the first-class releases")
    parser.add_argument("--releases", default=",".join(compare.FIRST_CLASS), help="names with commas")
    asked = parser.parse_args()
    names = asked.releases.split(",")
    if asked.write:
        rows = merged(known() if KNOWN.exists() else [], {name: read(run.unpacked(name)) for name in names})
        KNOWN.write_text(as_text("texts", rows), encoding="utf-8")
    lines = [f"{name}: {line}" for name in names for line in differences(name, run.unpacked(name))]
    print("\n".join(lines) or "Each message has its meaning.")
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main())
