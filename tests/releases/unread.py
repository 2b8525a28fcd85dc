# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do rows of docs/published that say "the connector of this release does not read it" hold, by the connector's source?"""

from __future__ import annotations

import ast
import pathlib
import typing as t

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLAIM = "The connector of this release does not read it."
# Name of an inventory -> (release, what is in the names of its connector's files).
CONNECTORS = {
    "a3_llmdatadist_w8a8": ("0.9.1", "llmdatadist"),
    "a2_llmdatadist_1p2d": ("0.10.1rc1", "llmdatadist"),
    "a3_mooncake_1p1d": ("0.13.0", "mooncake_connector"),
}


def claims() -> dict[str, set[str]]:
    """{inventory: options that its connector does not read, as the rows say}."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "docs" / "published").glob("*.yml")):
        guide = yaml.safe_load(path.read_text(encoding="utf-8"))
        names = {str(row["name"]).split(".")[-1] for row in guide["rows"] if row.get("why") == CLAIM}
        for inventory in guide["inventories"].values() if names else ():
            found[inventory] = names
    return found


def differences(release: str, sources: pathlib.Path) -> t.Iterator[str]:
    """Options that the release's connector reads although a row says that it does not."""
    for inventory, names in claims().items():
        known, part = CONNECTORS.get(inventory, ("", ""))
        if known != release:
            continue
        files = [path for path in sources.rglob("*.py") if part in path.name]
        words = {word for path in files for word in strings(path.read_text(encoding="utf-8"))}
        if "kv_role" not in words:
            yield f"no connector was found, so nothing is known about {', '.join(sorted(names))}"
        yield from (
            f"its connector reads {name}, which docs/published says that it does not" for name in sorted(names & words)
        )


def strings(source: str) -> set[str]:
    """The texts, and the names of attributes, of a module: in one of them a program that reads an option has its name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found
