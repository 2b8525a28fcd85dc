# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Chinese README and quickstart are in step with the English ones: headings, commands, tables, pictures, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
README, README_ZH = ROOT / "README.md", ROOT / "README.zh-CN.md"
QUICKSTART, QUICKSTART_ZH = ROOT / "docs/docsite/rst/guide_quickstart.rst", ROOT / "docs/quickstart.zh-CN.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
BLOCK = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:   .*\n|\n)+)", re.M)


def markdown(path):
    """What must be equal: levels of headings, code without comments, literals of each table cell, targets of pictures."""
    text = path.read_text(encoding="utf-8")
    prose = FENCE.sub("", text)
    tables = [
        [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
        for line in prose.splitlines()
        if line.startswith("|") and not set(line) <= set("|-")
    ]
    return {
        "headings": [len(level) for level in re.findall(r"^(#+) ", prose, re.M)],
        "code": [(kind, code_lines(body)) for kind, body in FENCE.findall(text)],
        "tables": tables,
        "pictures": re.findall(r"!\[[^\]]*\]\(([^)]+)\)", prose),
    }


def code_lines(text):
    """Lines of code without indentation of the block, comments of shells, and empty lines."""
    lines = [re.sub(r"\s+# .*$", "", line).rstrip() for line in text.splitlines()]
    return [line for line in lines if line]


def restructured(path):
    """The same of a page in reStructuredText whose tables are list-tables."""
    text = path.read_text(encoding="utf-8")
    underlines = re.findall(r"^(=+|-+)$", text, re.M)
    rows = re.split(r"^   \* - ", text, flags=re.M)[1:]
    cells = [re.split(r"^     - ", row.split("\n\n")[0], flags=re.M) for row in rows]
    return {
        "headings": [1 if line[0] == "=" else 2 for line in underlines],
        "code": [
            (kind, code_lines("\n".join(line[3:] for line in body.splitlines()))) for kind, body in BLOCK.findall(text)
        ],
        "tables": [[re.findall(r"``(.+?)``", re.sub(r"\s+", " ", cell)) for cell in row] for row in cells],
        "pictures": [],
    }


PAIRS = [(markdown(README), markdown(README_ZH)), (restructured(QUICKSTART), markdown(QUICKSTART_ZH))]


@pytest.mark.parametrize("aspect", ["headings", "code", "tables", "pictures"])
@pytest.mark.parametrize("pair", PAIRS, ids=["readme", "quickstart"])
def test_both_languages_are_in_step(pair, aspect):
    english, chinese = pair
    if aspect == "tables":  # Markdown's rows begin with an empty cell
        rows = [[cell for cell in row if cell] for row in english["tables"]]
        assert [[cell for cell in row if cell] for row in chinese["tables"]] == rows
        return
    assert chinese[aspect] == english[aspect]


def test_the_comparison_sees_something():
    for english, dummy in PAIRS:
        assert len(english["headings"]) > 5 and len(english["code"]) >= 3 and len(english["tables"]) > 8


@pytest.mark.parametrize("path", [README, README_ZH, QUICKSTART_ZH], ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


def test_each_readme_links_to_the_other():
    assert "(README.zh-CN.md)" in README.read_text(encoding="utf-8")
    assert "(README.md)" in README_ZH.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((ROOT / "docs/docsite/rst").glob("*.rst")), ids=lambda path: path.stem)
def test_guides_read_well_on_a_code_hosting_page(path):
    """Such pages show Sphinx's own roles as raw text; links between the guides are relative, and lead somewhere."""
    text = path.read_text(encoding="utf-8")
    assert re.findall(r":(?:ref|doc|term|ansplugin|ansopt):`[^`]*`", text) == []
    links = re.findall(r"<([\w/.-]+\.(?:rst|svg|png|md))(?:#[\w-]+)?>`__", text)
    assert [link for link in links if not (path.parent / link).exists()] == []
