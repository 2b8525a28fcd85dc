# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes docs/docsite/rst/published_values.rst, every value of the published guides, from docs/published/*.yml.

python docs/published_page.py           # prints the page
python docs/published_page.py --write   # writes it

A file has ``title``, ``inventories`` (by the name of a way to deploy), ``reasons`` (texts that rows share) and ``rows``:

* ``line``: where the guide has it; without one the planner adds it. ``name``, ``value``: what the guide sets, does or shows.
* ``at``: places in the plan or inventory; each has ``ours`` if that is given, else ``value``. ``in``: the only inventory with this row.
* ``by``: what does it here: ``role NAME [variable]``, ``module NAME [word]``, ``check ID``, ``rule ID``, ``cause ID``, ``step NAME`` of
  the verification, ``playbook NAME [variable]``, ``filter NAME``, ``variable NAME`` or ``page NAME``.
* ``verdict``: ``same`` (default), ``better``, ``different`` or ``not planned``. ``why``: the reason; all but ``same`` need one.

tests/unit/docs/test_published_page.py plans every inventory and compares the places, see published_places.py beside it.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import typing as t
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
PAGE = HERE / "docsite" / "rst" / "published_values.rst"
ORDER = ("mooncake_1p1d", "llmdatadist_w8a8", "colocated_pool", "llmdatadist_1p2d")
VERDICTS = ("same", "better", "different", "not planned")
CODE = re.compile(
    r"^((?:--?|/)[\w/.-]*\w|[A-Z][A-Z0-9_]{4,}|[\w.]*\w_\w[\w.]*\w)(?=,?$)"
)  # words that are options, variables, paths
KINDS = {"step": "verification step", "cause": "log text"}
HEAD = """\
.. Copyright (c) 2026 the ascend.inference contributors
.. GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
.. SPDX-License-Identifier: GPL-3.0-or-later
.. Written by docs/published_page.py from docs/published/. Do not edit.

.. _ansible_collections.ascend.inference.docsite.published_values:

Published guides: every value
=============================

For users of a published guide: every value and step of the four guides that `published guides <guide_published.rst>`__ maps step by
step, and what the plans of this collection's inventories have instead. A test plans the inventories and compares each row. The line is
that of the guide's text; without one the guide has no such value. ``set`` and ``not set`` are options without a value.

.. contents::
   :local:
   :depth: 1

"""


def guides() -> dict[str, dict[str, t.Any]]:
    """The data of all guides, by the name of their file."""
    texts = {name: (HERE / "published" / f"{name}.yml").read_text(encoding="utf-8") for name in ORDER}
    return {name: yaml.safe_load(text) for name, text in texts.items()}


def verdict(row: t.Mapping[str, t.Any]) -> str:
    """The row's verdict."""
    return row.get("verdict", "same")


def text(value: t.Any) -> str:
    """A value as the page and the comparison write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def references(row: t.Mapping[str, t.Any]) -> str:
    """What does the step here, as text."""
    found = []
    for reference in row.get("by", ()):
        kind, name, *detail = reference.split()
        shown = f"`{name} <{name}.rst>`__" if kind == "page" else f"``{name}``"
        found.append(f"{KINDS.get(kind, kind)} {shown}" + (f", ``{detail[0]}``" if detail else ""))
    return "; ".join(found)


def here(row: t.Mapping[str, t.Any]) -> str:
    """The column of this collection: value of the plan, and what does the step."""
    value = row.get("ours", row["value"])
    parts = [literal(value)] if "at" in row else []
    return "; ".join([*parts, *filter(None, [references(row)])]) or "\\-"


def literal(value: t.Any) -> str:
    """A value as a literal; an empty one as the word."""
    return f"``{text(value).strip()}``" if text(value).strip() else "empty"


def name(row: t.Mapping[str, t.Any], guide: t.Mapping[str, t.Any]) -> str:
    """The row's name, with the way to deploy if only one has the row."""
    shown = " ".join(CODE.sub(r"``\1``", word) for word in str(row["name"]).split())
    return f"{shown} ({row['in']})" if "in" in row and len(guide["inventories"]) > 1 else shown


def table(guide: t.Mapping[str, t.Any]) -> str:
    """A guide's table, after a line with its inventories and the numbers of verdicts."""
    title = guide["title"]
    counts = collections.Counter(map(verdict, guide["rows"]))
    inventories = " and ".join(f"``inventories/{folder}``" for folder in guide["inventories"].values())
    numbers = ", ".join(f"{counts[word]} {word}" for word in VERDICTS if counts[word])
    lines = [title, "-" * len(title), "", f"{inventories}: {numbers}.", ""]
    lines += [".. list-table::", "   :header-rows: 1", "   :widths: 6 22 24 24 24", ""]
    lines += ["   * - Line", "     - Name", "     - The guide", "     - Here", "     - Verdict and reason"]
    for row in guide["rows"]:
        reason = f": {row['why']}" if row.get("why") else ""
        cells = [
            str(row.get("line", "\\-")),
            name(row, guide),
            literal(row["value"]),
            here(row),
            f"{verdict(row)}{reason}",
        ]
        lines += [f"   {'*' if number == 0 else ' '} - {cell}" for number, cell in enumerate(cells)]
    return "\n".join([*lines, ""])


def page() -> str:
    """The page's text."""
    return HEAD + "\n".join(table(guide) for guide in guides().values())


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the page instead of printing it")
    if parser.parse_args().write:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
