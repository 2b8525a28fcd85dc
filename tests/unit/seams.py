# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For the tests of seams: who compares with a name, and a copy of the collection with a new record."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def constants(node):
    return [item.value for item in ast.walk(node) if isinstance(item, ast.Constant)]


def compared_in(text, names):
    """Lines of Python that compare with one of these names, or use them as keys of a dict: what a chain of ifs turns into."""
    if not any(name in text for name in names):
        return  # reading all files takes seconds
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Compare, ast.MatchValue)) and set(names) & set(map(str, constants(node))):
            # plan["kubernetes"] in a comparison is a section of the plan, not a name that is compared
            values = [item for item in ast.walk(node) if isinstance(item, ast.Subscript)]
            if set(names) & (
                set(map(str, constants(node))) - {str(constant) for sub in values for constant in constants(sub.slice)}
            ):
                yield node.lineno
        elif isinstance(node, ast.Dict) and len({str(getattr(key, "value", "")) for key in node.keys} & set(names)) > 1:
            yield node.lineno


def copy_with(folder, files, registrations):
    """The collection in a folder of its own, with new files and with lines in registries."""
    new = folder / "ansible_collections" / "ascend" / "inference"
    new.mkdir(parents=True)
    for part in ("galaxy.yml", "meta", "plugins", "roles", "playbooks"):
        subprocess.run(["cp", "-R", str(ROOT / part), str(new / part)], check=True)
    for name, text in files.items():
        assert not (new / name).exists(), f"{name} exists: a new record must not touch it"
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).write_text(text, encoding="utf-8")
    for name, (old, more) in registrations.items():
        assert name.endswith("/registry.py")
        text = (new / name).read_text(encoding="utf-8")
        assert old in text
        (new / name).write_text(text.replace(old, old + more, 1), encoding="utf-8")
    return new


def run(collection, program, *words):
    """A Python program with the copied collection -> its output."""
    done = subprocess.run(
        [sys.executable, str(program), *words],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(collection.parents[2]), "HOME": str(collection.parents[2])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
