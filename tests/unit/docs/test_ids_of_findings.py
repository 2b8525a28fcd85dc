# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every id of a finding that the code can print is on a page that explains it, in English and in Chinese, and no other one is."""

from __future__ import annotations

import ast
import functools
import re

from ansible_collections.ascend.inference.plugins.plugin_utils.bench.services import BAD
from ansible_collections.ascend.inference.tests.unit.docs import chinese
from ansible_collections.ascend.inference.tests.unit.docs.test_rules_page import PAGES

ROOT = chinese.ROOT
GUIDE = ROOT / "docs/docsite/rst/guide_findings.rst"
FORMATS = ROOT / "plugins/plugin_utils/runtimes/kubernetes/manifest/formats.yml"
ID = re.compile(r"[A-Z][A-Z0-9]*(-[A-Z0-9]+)+")
OTHERS = re.compile(r"(CVE|PYSEC|GHSA)-.+")  # ids of others, with links to their own pages
NO_IDS = {"MAX-MODEL-LEN", "MAX-NUM-SEQS"}  # heads of columns
BENCH = {f"BENCH-{kind.upper()}" for kind in BAD}  # by kind of a service
# Ids that the code puts together: ADVISE- by the function gap, BENCH- by kind of a service, VERIFY- by faults, which have a page of their own.
BUILT = {"ADVISE-", "BENCH-", "VERIFY-"}


@functools.cache
def nodes():
    """All nodes of the code that can print ids."""
    files = sorted((ROOT / "plugins").rglob("*.py"))
    kinds = (ast.Constant, ast.Call, ast.JoinedStr)
    return [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kinds)]


@functools.cache
def printed():
    """Ids in the code: texts with their form, without those of the function ``gap``, which puts ADVISE- before its first argument; and in tables."""
    found, gaps = set(re.findall(r"\bid: ([A-Z0-9-]+)", FORMATS.read_text(encoding="utf-8"))), set()
    for node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ID.fullmatch(node.value):
            found.add(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "gap":
            gaps.add(node.args[0].value)
    ids = {name for name in found - gaps - NO_IDS if not OTHERS.fullmatch(name)}
    return ids | {f"ADVISE-{name}" for name in gaps} | BENCH


def explained():
    """Ids by page: of the generated pages, and of the guide's tables."""
    generated = {name: re.findall(r"^\*\*([A-Z0-9-]+)\*\*", text, re.M) for name, text in PAGES.items()}
    generated["diagnosis.rst"] += re.findall(r"``(LOG-UNKNOWN)`` stands for", PAGES["diagnosis.rst"])
    return {**generated, "guide": re.findall(r"^   \* - ``([A-Z0-9-]+)``$", GUIDE.read_text(encoding="utf-8"), re.M)}


def test_every_printed_id_is_explained():
    pages = explained()
    assert len(pages["guide"]) > 100 and all(pages.values())
    assert sorted(printed() - {name for names in pages.values() for name in names if ID.fullmatch(name)}) == []


def test_the_guide_has_ids_that_exist_and_are_on_no_other_page():
    pages = explained()
    guide = pages.pop("guide")
    assert len(guide) == len(set(guide))
    assert sorted(set(guide) - printed()) == []
    assert sorted(set(guide) & {name for names in pages.values() for name in names}) == []


def test_no_prefix_of_ids_is_built_elsewhere():
    """An f-string that begins like an id has its ids in BUILT."""
    texts = [node.values[0] for node in nodes() if isinstance(node, ast.JoinedStr) and len(node.values) == 2]
    starts = {str(text.value) for text in texts if isinstance(text, ast.Constant)}
    found = {start for start in starts if re.fullmatch("[A-Z][A-Z0-9]*-", start)}
    assert found and found <= BUILT


def test_each_row_is_in_chinese():
    pattern = r"^   \* - ``[A-Z0-9-]+``\n     - ((?:.+\n)(?:       .+\n)*)"
    english = {" ".join(row.split()) for row in re.findall(pattern, GUIDE.read_text(encoding="utf-8"), re.M)}
    catalog = chinese.catalog(ROOT / "docs/locale/zh_CN/LC_MESSAGES/guide_findings.po")
    assert len(english) > 100 and sorted(english - {entry.msgid for entry in catalog}) == []
