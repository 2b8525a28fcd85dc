# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the table of variables in each role's README.md from its meta/argument_specs.yml.

python docs/role_pages.py           # prints the tables
python docs/role_pages.py --write   # writes them into the READMEs, below the heading "Variables"
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import yaml

ROLES = Path(__file__).resolve().parents[1] / "roles"
HEADING = "## Variables\n"


def plain(text: str) -> str:
    """A description without the markup of Ansible's documentation, on one line, for a table cell."""
    text = re.sub(r"\b[OE]\((?:\w+:)?([^)]*)\)", r"`\1`", text)
    text = re.sub(r"\b[VC]\(([^)]*)\)", r"`\1`", text)
    text = re.sub(r"\b[BIMPRUL]\(([^),]*)[^)]*\)", r"\1", text)
    return " ".join(text.split()).replace("|", "\\|")


def first_sentence(description: str | list[str]) -> str:
    """The first sentence of an option's description."""
    text = plain(description if isinstance(description, str) else description[0])
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0]


def default(option: dict) -> str:
    """The default as YAML writes it."""
    if option.get("required"):
        return "required"
    value = option.get("default")
    return "" if value in (None, "", [], {}) else f"`{value if isinstance(value, str) else json.dumps(value)}`"


def table(role: Path) -> str:
    """The table of one role: the variables of all its entry points."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    rows = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    options = {name: option for entry in specs.values() for name, option in (entry.get("options") or {}).items()}
    for name, option in options.items():
        cells = (f"`{name}`", option.get("type", "str"), default(option), first_sentence(option["description"]))
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def readme(role: Path) -> str:
    """The README with its current table."""
    text = (role / "README.md").read_text(encoding="utf-8")
    return f"{text.split(HEADING)[0].rstrip()}\n\n{HEADING}\n{table(role)}\n"


def roles() -> list[Path]:
    """All roles that have variables."""
    return sorted(path.parents[1] for path in ROLES.glob("*/meta/argument_specs.yml"))


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the tables instead of printing them")
    write = parser.parse_args().write
    for role in roles():
        if write:
            (role / "README.md").write_text(readme(role), encoding="utf-8")
        else:
            print(f"{role.name}\n\n{table(role)}\n")


if __name__ == "__main__":
    main()
