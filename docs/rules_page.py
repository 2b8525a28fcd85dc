# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the page of all rules, in reStructuredText, from the rules themselves.

python docs/rules_page.py [FILE]         # default: docs/build/rst/rules.rst; - prints it
"""

from __future__ import annotations

import itertools
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3]))  # the folder that holds ansible_collections

from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import RULES as HOST_RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import rules_table

HEAD = """\
.. _ansible_collections.ascend.inference.docsite.rules:

Every rule
==========

The planner judges every plan by these {count} rules. An *error* refuses the plan before anything changes; a *warning*
stands in the plan's findings. How to accept one knowingly is said in
:ref:`ansible_collections.ascend.inference.docsite.guide_rules`.
"""
HOST = """\
What the hosts check
--------------------

These depend on the model's files, on memory and on devices. The planner cannot see them; the hosts are asked before
anything starts.
"""


def paragraph(text: str, indent: str = "") -> str:
    """Text in lines of at most 120 characters, with what reStructuredText would read as markup made plain."""
    plain = text.replace("\\", "\\\\").replace("*", "\\*").replace("`", "\\`").replace("_ ", "\\_ ").replace("|", "\\|")
    return textwrap.fill(plain, 118, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def entry(rule: dict[str, str], kind: str = "rule") -> str:
    """One rule: id and severity, the reason, the way out, the source. A host's check may share its id with the planner's."""
    lines = [f".. _ascend.inference.{kind}.{rule['id'].lower()}:", "", f"**{rule['id']}** ({rule['severity']})"]
    lines.append(paragraph(rule["reason"], "  "))
    if rule.get("fix"):
        lines += ["", paragraph(f"Way out: {rule['fix']}", "  ")]
    lines += ["", paragraph(f"Source: {rule['source']}", "  "), ""]
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    table = rules_table()
    parts = [HEAD.format(count=len(table))]
    for theme, rules in itertools.groupby(table, key=lambda rule: rule["theme"]):
        parts.append(f"{theme}\n{'-' * len(theme)}\n")
        parts += [entry(rule) for rule in rules]
    parts.append(HOST)
    fields = ("id", "severity", "reason", "fix", "source")
    parts += [entry({name: getattr(rule, name) for name in fields}, "check") for rule in HOST_RULES]
    return "\n".join(parts)


def main() -> None:
    """Write the page, or print it."""
    target = sys.argv[1] if sys.argv[1:] else str(HERE / "build" / "rst" / "rules.rst")
    if target == "-":
        sys.stdout.write(page())
        return
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text(page(), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main()
