# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages in Chinese keep the names of the English ones and the terms of the glossary; `make docs` compares the paragraphs."""

from __future__ import annotations

import re

import polib
import pytest
from ansible_collections.ascend.inference.tests.unit.docs import chinese

TRANSLATIONS = chinese.program()
TERMS = chinese.terms()
OLD = "The router sends each request to one engine, and returns its answer."
NEW = "The router sends each request to one engine of each pool, and returns its answer."


def test_an_added_paragraph_is_counted_and_no_fault():
    page = TRANSLATIONS.compare("page", [OLD, "A new one."], [OLD])
    assert page == ("page", 1, 2, {})
    assert "page: 1 of 2 paragraphs are in Chinese" in TRANSLATIONS.report([page])


def test_a_paragraph_that_changed_in_english_only_is_named_with_its_new_text():
    page = TRANSLATIONS.compare("page", [NEW, "Something else."], [OLD])
    assert page.stale == {OLD: NEW}
    text = TRANSLATIONS.report([page])
    assert f"changed in English only: {OLD}\n    now: {NEW}" in text and "Fix: " in text


def test_a_removed_paragraph_is_named():
    assert TRANSLATIONS.compare("page", ["Something else."], [OLD]).stale == {OLD: ""}


def extracted(folder, texts):
    """A file as Sphinx extracts it."""
    catalog = polib.POFile()
    catalog.extend([polib.POEntry(msgid=text) for text in texts])
    catalog.save(str(folder / "page.pot"))


@pytest.fixture
def catalogs(tmp_path, monkeypatch):
    monkeypatch.setattr(TRANSLATIONS, "CATALOGS", tmp_path / "a" / "b" / "c")
    TRANSLATIONS.CATALOGS.mkdir(parents=True)
    catalog = polib.POFile()
    catalog.extend([polib.POEntry(msgid=OLD, msgstr="一"), polib.POEntry(msgid="It stays.", msgstr="二")])
    catalog.save(str(TRANSLATIONS.CATALOGS / "page.po"))
    return tmp_path


@pytest.mark.parametrize("texts, status", [([OLD, "It stays.", "More."], 0), ([NEW, "It stays."], 1)])
def test_the_command_fails_for_a_stale_translation_only(catalogs, monkeypatch, capsys, texts, status):
    extracted(catalogs, texts)
    monkeypatch.setattr("sys.argv", ["translations.py", "check", str(catalogs)])
    with pytest.raises(SystemExit) as ended:
        TRANSLATIONS.main()
    assert ended.value.code == status and f"of {len(texts)} paragraphs" in capsys.readouterr().out


def test_stale_translations_can_be_dropped_and_missing_ones_listed(catalogs):
    extracted(catalogs, [NEW, "It stays."])
    TRANSLATIONS.drop(catalogs)
    assert TRANSLATIONS.messages(TRANSLATIONS.CATALOGS / "page.po") == ["It stays."]
    listed = TRANSLATIONS.missing(catalogs, "page").replace('"\n"', "")
    assert listed.split() == f'msgid "{NEW}" msgstr ""'.split()


def test_a_cell_of_literals_needs_no_translation(tmp_path):
    extracted(tmp_path, ["``a: b``", "``c`` or ``d``"])
    assert TRANSLATIONS.messages(tmp_path / "page.pot") == ["``c`` or ``d``"]


def test_names_and_sources_stay_as_they_are(tmp_path):
    names = ["**DEV-PAIRS** (warning)", "Rules: 306", "inference_pools.POOL.hosts.NAME", "qwen3-8b-a3-layerwise"]
    extracted(tmp_path, [*names, "Source: vLLM config/model.py", "Why: It fails.", "inference_pools is set."])
    assert TRANSLATIONS.messages(tmp_path / "page.pot") == ["Why: It fails.", "inference_pools is set."]


@pytest.mark.parametrize("path", chinese.CATALOGS, ids=lambda path: path.stem)
def test_a_catalog_has_translations_only(path):
    catalog = chinese.catalog(path)
    assert [entry.msgid for entry in catalog if not entry.msgstr or entry.fuzzy or entry.obsolete] == []
    assert "SPDX-License-Identifier: GPL-3.0-or-later" in catalog.header
    page = chinese.ROOT / f"docs/docsite/rst/{path.stem}.rst"
    assert page.exists() or path.stem in {"rules", "checks", "diagnosis"}, "a catalog has the name of its page"


@pytest.mark.parametrize("path", chinese.CATALOGS, ids=lambda path: path.stem)
def test_literals_and_links_are_those_of_the_english_paragraph(path):
    wrong = []
    for entry in chinese.catalog(path):
        for pattern in (chinese.LITERAL, chinese.LINK):
            english, translated = (sorted(map(str, pattern.findall(text))) for text in (entry.msgid, entry.msgstr))
            if set(english) != set(translated):
                wrong.append((entry.msgid[:80], sorted(set(english) ^ set(translated))))
    assert wrong == []


def test_every_page_in_chinese_is_in_its_index():
    index = (chinese.ROOT / "docs/site/zh_CN.rst").read_text(encoding="utf-8")
    assert re.findall(r"^   (\w+)$", index, re.M) and set(re.findall(r"^   (\w+)$", index, re.M)) == {
        path.stem for path in chinese.CATALOGS
    }


def test_the_quickstart_is_one_text():
    """The page of the site and the one that code hosting pages show have the same paragraphs."""
    page = (chinese.ROOT / "docs/quickstart.zh-CN.md").read_text(encoding="utf-8")
    catalog = chinese.catalog(chinese.ROOT / "docs/locale/zh_CN/LC_MESSAGES/guide_quickstart.po")
    texts = [
        re.sub(r"`([^`<]+?) <([^>]+)>`__", r"[\1](docsite/rst/\2)", entry.msgstr).replace("``", "`")
        for entry in catalog
    ]
    assert len(texts) > 30 and [text for text in texts if text not in page] == []


def test_the_table_of_terms_is_read():
    assert len(TERMS) > 35
    row = next(row for row in TERMS if "NPU memory" in row.english)
    assert "显存" in row.chinese and "NPU 内存" in row.refused


@pytest.mark.parametrize("page", chinese.PAGES, ids=lambda path: path.name)
def test_pages_have_no_refused_word(page):
    assert chinese.wrong_words(chinese.read(page), TERMS) == []


def test_translations_have_no_refused_word():
    found = [
        (page, entry.msgstr, words)
        for page, entry in chinese.entries()
        if (words := chinese.wrong_words(entry.msgstr, TERMS))
    ]
    assert found == []


def test_translations_have_the_terms_of_the_glossary():
    found = [
        (page, words, entry.msgid, entry.msgstr)
        for page, entry in chinese.entries()
        if (words := chinese.missing_words(entry.msgid, entry.msgstr, TERMS))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text, words",
    [
        ("NPU 内存不足", ["NPU 内存"]),
        ("主机的网络接口", ["网络接口"]),
        ("显存（HBM）是否足够，参见 `NPU 内存 <a.rst>`__", ["NPU 内存"]),
        ("``NPU 内存`` 是字面量", []),
    ],
)
def test_a_refused_word_is_seen_in_prose_only(text, words):
    assert chinese.wrong_words(text, TERMS) == words


@pytest.mark.parametrize(
    "english, text, terms",
    [
        ("The device memory is full.", "内存已满。", ["device memory"]),
        ("The device memory is full.", "显存已满。", []),
        ("Compare the time to first token.", "比较首个词的时间。", ["time to first token", "token"]),
        ("``token`` is a literal.", "字面量。", []),
    ],
)
def test_a_missing_term_is_seen_in_prose_only(english, text, terms):
    assert chinese.missing_words(english, text, TERMS) == terms


def test_the_names_that_everybody_searches_are_on_the_first_page():
    page = (chinese.ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
    names = ["昇腾", "PD分离", "PD混部", "显存", "绑核", "网卡", "910B", "910C", "超节点", "Atlas 800I", "TTFT", "池化"]
    assert [name for name in names if name not in page] == []


WORD_BY_WORD = [
    "的克隆中",
    "不使用克隆",
    "不能证明任何事",
    "有文档记载的部署",
    "供支持请求",
    "所有设备对",
    "验证后放回",
    "哪一侧在等待",
    "无法工作的描述",
]


@pytest.mark.parametrize("page", chinese.PAGES, ids=lambda path: path.name)
def test_pages_are_not_translated_word_by_word(page):
    """Phrases that nobody who writes about Ascend would write; a reviewer found them in earlier texts."""
    assert [phrase for phrase in WORD_BY_WORD if phrase in page.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("path", chinese.CATALOGS, ids=lambda path: path.stem)
def test_a_literal_ends_where_docutils_sees_it(path):
    """Before a letter or an opening bracket the backquotes do not end it, and it goes on to the next ones."""
    parts = [entry.msgstr.split("``") for entry in polib.pofile(str(path))]
    found = [each[i] for each in parts for i in range(1, len(each) - 1, 2) if re.match(r"[\w（《「【“‘(]", each[i + 1])]
    assert found == [], "put a space behind it"
