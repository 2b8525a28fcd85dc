# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the tables of docs/docsite/rst/guide_faults.rst, in reStructuredText, from tests/e2e/faults.yaml.

python docs/faults_page.py           # prints them
python docs/faults_page.py --write   # writes them into the guide, between its two marks
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
GUIDE = HERE / "docsite" / "rst" / "guide_faults.rst"
BEGIN, END = ".. the table begins\n", ".. the table ends\n"
STAGES = {
    "plan": "Refused by the plan, before any host is contacted",
    "check": "Refused by the check, before anything is changed",
    "verify": "Detected by the verification",
}


def shown(text: str) -> str:
    """A cause as literal text: the id of a rule, or a part of a message."""
    return f"``{text}``"


def section(title: str, faults: list[dict]) -> str:
    """One heading with its table."""
    lines = [title, "-" * len(title), "", ".. list-table::", "   :header-rows: 1", "   :widths: 55 45", ""]
    lines += ["   * - What is wrong", "     - What is reported"]
    for fault in faults:
        causes = [fault["cause"]] if isinstance(fault["cause"], str) else fault["cause"]
        lines += [f"   * - {fault['fault']}", f"     - {' … '.join(shown(text) for text in causes)}"]
    return "\n".join([*lines, ""])


def tables() -> str:
    """All tables."""
    data = yaml.safe_load((HERE.parent / "tests" / "e2e" / "faults.yaml").read_text(encoding="utf-8"))
    parts = [
        section(STAGES[stage], [fault for fault in data["faults"] if fault["notices"] == stage]) for stage in STAGES
    ]
    return "\n".join([*parts, section("Reported as a warning, because it may be intended", data["doubtful"])])


def main() -> None:
    """Print the tables, or write them into the guide."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the tables instead of printing them")
    if not parser.parse_args().write:
        sys.stdout.write(tables())
        return
    text = GUIDE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    GUIDE.write_text(f"{head}{BEGIN}\n{tables()}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
