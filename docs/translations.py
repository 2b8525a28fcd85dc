# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the catalogs of docs/locale/zh_CN with the paragraphs of the English pages, as Sphinx extracts them.

python docs/translations.py check FOLDER        # counts; fails for each translation whose paragraph is not there any more
python docs/translations.py missing FOLDER NAME # prints entries for the paragraphs of a page that have no translation yet
python docs/translations.py drop FOLDER         # removes those translations; their paragraphs are shown in English then

FOLDER has the extracted paragraphs (NAME.pot): `make docs` leaves it at .cache/docs/zh_CN/messages. A catalog (NAME.po) has only the
paragraphs that are translated, so a paragraph that is added to a page or removed with its translation needs no change elsewhere.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import typing as t
from pathlib import Path

import polib

CATALOGS = Path(__file__).resolve().parent / "locale" / "zh_CN" / "LC_MESSAGES"
LITERAL = re.compile(r"``.+?``")
CITED = re.compile(  # headings that are names; ids and sources of rules, and how many there are
    r"inference_[\w.\[\]]+|[a-z0-9.]+(-[a-z0-9.]+)+|\*\*[A-Z0-9-]+\*\* \(\w+\)|Source: .+|\w+: \d+"
)
ALIKE = 0.6  # from here on two paragraphs are called versions of one


class Page(t.NamedTuple):
    """What a comparison found: numbers of paragraphs, and each translated one that left the page with its likely new text."""

    name: str
    translated: int
    paragraphs: int
    stale: dict[str, str]


def messages(path: Path) -> list[str]:
    """The paragraphs of an extracted page (.pot), or the translated ones of a catalog (.po), in their order, without literals and what stays as it is."""
    texts = [entry.msgid for entry in polib.pofile(str(path)) if entry.msgid and not entry.obsolete]
    return [text for text in texts if re.search("[A-Za-z]", LITERAL.sub("", text)) and not CITED.fullmatch(text)]


def compare(name: str, paragraphs: t.Sequence[str], translated: t.Sequence[str]) -> Page:
    """Compare the paragraphs of a page with the keys of its catalog.

    A paragraph without a translation is no fault. A translation without a paragraph is: the paragraph changed or went. The text that
    most resembles it among those without a translation is named with it, if any does.
    """
    there, known = set(paragraphs), set(translated)
    new = [text for text in paragraphs if text not in known]
    stale = {
        text: next(iter(difflib.get_close_matches(text, new, 1, ALIKE)), "") for text in translated if text not in there
    }
    return Page(name, len(known & there), len(there), stale)


def report(pages: t.Sequence[Page]) -> str:
    """The counts of all pages, and each stale translation with what to do."""
    lines = []
    for page in pages:
        lines.append(f"{page.name}: {page.translated} of {page.paragraphs} paragraphs are in Chinese")
        for old, new in page.stale.items():
            lines += [
                f"  changed in English only: {old}",
                f"    now: {new}" if new else "    no paragraph resembles it",
            ]
    translated, all_of_them = (sum(figures) for figures in zip(*((page[1], page[2]) for page in pages), strict=True))
    lines.append(f"In all: {translated} of {all_of_them} paragraphs; the others are shown in English.")
    if any(page.stale for page in pages):
        lines += [
            "Translations of paragraphs that changed would be lost without a word.",
            f"Fix: correct msgid and msgstr in {CATALOGS.relative_to(CATALOGS.parents[3])}/NAME.po, or show the paragraphs in English "
            "for now: python docs/translations.py drop .cache/docs/zh_CN/messages",
        ]
    return "\n".join(lines)


def compared(folder: Path) -> list[Page]:
    """Every catalog with the paragraphs of its page in the folder."""
    return [
        compare(path.stem, messages(folder / f"{path.stem}.pot"), messages(path))
        for path in sorted(CATALOGS.glob("*.po"))
    ]


def drop(folder: Path) -> None:
    """Remove each stale translation from its catalog."""
    for page in compared(folder):
        if page.stale:
            path = CATALOGS / f"{page.name}.po"
            catalog = polib.pofile(str(path), wrapwidth=0)
            catalog[:] = [entry for entry in catalog if entry.msgid not in page.stale]
            catalog.save(str(path), newline="\n")


def missing(folder: Path, name: str) -> str:
    """Entries without translation, for the catalog of a page; it need not exist yet."""
    path = CATALOGS / f"{name}.po"
    known = set(messages(path)) if path.exists() else set()
    texts = [text for text in messages(folder / f"{name}.pot") if text not in known]
    return "\n".join(str(polib.POEntry(msgid=text)) for text in texts)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("command", choices=["check", "missing", "drop"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("name", nargs="?")
    arguments = parser.parse_args()
    if arguments.command == "missing":
        print(missing(arguments.folder, arguments.name))
    elif arguments.command == "drop":
        drop(arguments.folder)
    else:
        pages = compared(arguments.folder)
        print(report(pages))
        sys.exit(any(page.stale for page in pages))


if __name__ == "__main__":
    main()
