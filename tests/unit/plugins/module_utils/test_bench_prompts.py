# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of a vocabulary in each form that models have, and what is wrong with a file of prompts."""

from __future__ import annotations

import base64
import json
import re

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench.prompts import file_problem, words_of

WORDS = sorted(a + b + c for a in "abcde" for b in "fghij" for c in "klmno")
OTHERS = ["<s>", "\u0120a1", "\u0120", "x" * 40, "\u0120\u4e2d"]


def tokens(space):
    return [*(space + word for word in WORDS), *OTHERS]


FORMS = {
    "byte-level BPE": ("tokenizer.json", json.dumps({"model": {"vocab": {text: 1 for text in tokens("\u0120")}}})),
    "Unigram": ("tokenizer.json", json.dumps({"model": {"vocab": [[text, -1.5] for text in tokens("\u2581")]}})),
    "older": ("vocab.json", json.dumps({text: 1 for text in tokens("\u0120")})),
    "tiktoken": (
        "tiktoken.model",
        "".join(f"{base64.b64encode(text.encode()).decode()} {n}\n" for n, text in enumerate(tokens(" "))),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_words_are_found(form, tmp_path):
    name, content = FORMS[form]
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert words_of(str(tmp_path)) == WORDS


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("other", "", "has neither tokenizer.json, vocab.json nor tiktoken.model"),
        ("tokenizer.json", "{", "cannot be read"),
        ("tokenizer.json", "[]", "has 0 words, and 100 are needed"),
        ("tokenizer.json", json.dumps({"model": {"vocab": {"\u0120word": 1}}}), "has 1 words"),
        ("tiktoken.model", "?? 1", "cannot be read"),
    ],
)
def test_a_folder_without_words_is_named(name, content, problem, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=problem):
        words_of(str(tmp_path))


LINE = '{"question": "why", "answer": "so"}\n'


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"p.jsonl": "\ufeff" + 3 * LINE}, ""),
        ({"test.jsonl": 3 * LINE, "train.jsonl": LINE}, ""),
        ({"test.jsonl": 3 * LINE}, "has no train.jsonl"),
        ({"p.jsonl": 2 * LINE}, "has 2 prompts, and 3 are needed"),
        ({"p.jsonl": LINE + '{"prompt": "x"}\n'}, "line 2 of "),
        ({"p.jsonl": LINE + "{\n"}, "line 2 of .* is no JSON"),
        ({"p.jsonl": b"\xff\n"}, "line 1 of .* is no JSON"),
        ({"x": ""}, "has no train.jsonl"),
    ],
)
def test_a_file_of_prompts_is_judged_before_it_is_sent(files, problem, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    found = file_problem(str(tmp_path / "p.jsonl" if "p.jsonl" in files else tmp_path), 3)
    assert re.search(problem, found) if problem else not found
