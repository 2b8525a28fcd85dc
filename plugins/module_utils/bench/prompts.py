# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random prompts as a file for AISBench, made again from the same seed: a pool is measured with the same prompts twice, and with others between.

A prompt has as many words as it shall have tokens. Each word is, with the space before it, a token of the model's vocabulary, and tokenizers of the
kind BPE split text before a space first, so such a word stays one token. The file has ``question`` and ``answer`` in each line, which
CustomDataset of ais_bench_benchmark 3.1.20260630 reads; tests/parsers/aisbench_client.py compares this with that program.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re

from ..tools import foreign_json

FEWEST = 100  # words; from fewer, prompts would be alike in many places
WORD = re.compile("[Ġ▁ ]([A-Za-z]{1,32})")  # with the space as byte-level BPE, SentencePiece and tiktoken write it
LONGEST = 2**20  # bytes of a line of a file with prompts
FIX = "Fix: set inference_bench.data to a file with prompts, or driver: vllm"


def words_of(model):
    """The words of the model's vocabulary, sorted. Raises ValueError if its folder has none that can be read."""
    problems = []
    for name, read in (
        ("tokenizer.json", _tokenizer),
        ("vocab.json", foreign_json.load),
        ("tiktoken.model", _tiktoken),
    ):
        path = os.path.join(model, name)
        if not os.path.exists(path):
            continue
        try:
            tokens = read(path)
        except (OSError, ValueError) as error:
            problems.append(f"{path} cannot be read: {error}")
            continue
        matches = [WORD.fullmatch(token) for token in tokens if isinstance(token, str)]
        found = sorted({match.group(1) for match in matches if match})
        if len(found) >= FEWEST:
            return found
        problems.append(f"{path} has {len(found)} words, and {FEWEST} are needed")
    known = "; ".join(problems) or f"{model} has neither tokenizer.json, vocab.json nor tiktoken.model"
    raise ValueError(f"random prompts are made from the model's vocabulary, and {known}. {FIX}")


def _tokenizer(path):
    """The tokens of Hugging Face's form, in which BPE has an object and Unigram a list of pairs."""
    found = foreign_json.load(path)
    inner = found.get("model") if isinstance(found, dict) else None
    vocabulary = inner.get("vocab") if isinstance(inner, dict) else None
    if isinstance(vocabulary, list):
        return [pair[0] for pair in vocabulary if isinstance(pair, list) and pair]
    return vocabulary if isinstance(vocabulary, dict) else []


def _tiktoken(path):
    """The tokens of lines like ``IGhlbGxv 24748``; ValueError for others."""
    lines = foreign_json.text_of(path).split("\n")
    return [
        base64.b64decode(line.split()[0], validate=True).decode("utf-8", "replace") for line in lines if line.strip()
    ]


def written(wanted):
    """The file as bytes. ``wanted``: ``{model, count, tokens, prefix, prefixes, seed}``, lengths in tokens. Raises ValueError as ``words_of``."""
    words, dice = words_of(wanted["model"]), random.Random(wanted["seed"])
    beginnings = [dice.choices(words, k=wanted["prefix"]) for _each in range(wanted["prefixes"])]
    lines = []
    for number in range(wanted["count"]):
        chosen = beginnings[number % len(beginnings)] + dice.choices(words, k=wanted["tokens"])
        lines.append(json.dumps({"question": " ".join(chosen), "answer": ""}) + "\n")
    return "".join(lines).encode("ascii")


def file_problem(path, needed):
    """What is wrong with a user's prompts, of which the measurements send ``needed`` different ones; empty if nothing is."""
    place = path if path.endswith(".jsonl") else os.path.join(path, "test.jsonl")
    fix = "Fix: name a file FILE.jsonl with question and answer in each line, or the folder of gsm8k, in inference_bench.data"
    lines = 0
    try:
        if place != path and not os.path.isfile(os.path.join(path, "train.jsonl")):
            return f"{path} has no train.jsonl, which AISBench reads as well. {fix}"
        with open(place, "rb") as stream:
            for line in iter(lambda: stream.readline(LONGEST), b""):
                lines += 1
                found = foreign_json.loads(line.decode("utf-8-sig"))
                if not isinstance(found, dict) or not {"question", "answer"} <= set(found):
                    return f"line {lines} of {place} has no question or no answer. {fix}"
    except OSError as error:
        return f"{place} cannot be read: {error.strerror}. {fix}"
    except ValueError:
        return f"line {lines} of {place} is no JSON. {fix}"
    if lines < needed:
        return (
            f"{place} has {lines} prompts, and {needed} are needed, because a prompt that was sent before may be in a cache. "
            "Fix: lower inference_bench.prompts, repeats or loads"
        )
    return ""
