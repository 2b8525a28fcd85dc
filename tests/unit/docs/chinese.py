# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts in Chinese as tests read them: catalogs, pages, and the table of terms that they have to keep to."""

from __future__ import annotations

import functools
import importlib.util
import re
import typing as t
from pathlib import Path

import polib

ROOT = Path(__file__).resolve().parents[3]
CATALOGS = sorted((ROOT / "docs/locale/zh_CN/LC_MESSAGES").glob("*.po"))
PAGES = [
    ROOT / name
    for name in ("README.zh-CN.md", "docs/quickstart.zh-CN.md", "docs/models.zh-CN.md", "docs/site/zh_CN.rst")
]
GLOSSARY = ROOT / "docs/docsite/rst/glossary.rst"
LITERAL = re.compile(r"``.+?``")
LINK = re.compile(r"<([^<>\s]+)>`__|\]\(([^)]+)\)|:ref:`([^`]+)`")


class Term(t.NamedTuple):
    """A row of the table: the English terms, the words for them, and the words that are refused."""

    english: list[str]
    chinese: list[str]
    refused: list[str]


def program() -> t.Any:
    """The module docs/translations.py."""
    spec = importlib.util.spec_from_file_location("translations", ROOT / "docs/translations.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def terms() -> list[Term]:
    """The rows of the glossary's table."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("\nTerms in Chinese\n")[2]
    rows = re.findall(r"^   \* - (.+)\n     - (.+)\n     - (.+)\n     - .+$", table, re.M)[1:]
    return [
        Term(english.split(", "), re.split("[、；：，]", chinese), [] if refused == "-" else refused.split("、"))
        for english, chinese, refused in rows
    ]


def read(page: Path) -> str:
    """A page; literals of Markdown are marked as those of reStructuredText."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"``\1``", text) if page.suffix == ".md" else text


def prose(text: str) -> str:
    """A text without literals, targets of links and blocks of code: what the terms apply to."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"<[^<>]*>`__|\]\([^)]*\)|:ref:`[^`]*`", "`", LITERAL.sub("", text))
    return re.sub(r"[<\w>]+(?:[._][<\w>]+)+", "", text, flags=re.A)  # names of variables and files


@functools.cache
def catalog(path: Path) -> polib.POFile:
    """A catalog; two entries of one paragraph are an error."""
    return polib.pofile(str(path), check_for_duplicates=True)


def entries() -> list[tuple[str, polib.POEntry]]:
    """Every translation with the name of its page."""
    return [(path.stem, entry) for path in CATALOGS for entry in catalog(path)]


def wrong_words(text: str, rows: t.Sequence[Term]) -> list[str]:
    """The refused words in a text in Chinese."""
    text = prose(text)
    return [word for row in rows for word in row.refused if word in text]


def missing_words(english: str, chinese: str, rows: t.Sequence[Term]) -> list[str]:
    """The English terms of a paragraph for which its translation has none of the words."""
    source, text = prose(english).replace("for instance", ""), prose(chinese)
    return [
        term
        for row in rows
        for term in row.english
        if re.search(rf"(?<![\w-]){re.escape(term)}(?:s|es)?(?![\w-])", source, re.I if term.islower() else 0)
        and not any(word.casefold() in text.casefold() for word in row.chinese)
    ]
