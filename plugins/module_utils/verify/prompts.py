# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts that are in no cache and whose answer depends on all of their KV."""

from __future__ import annotations

import random
import uuid
from typing import Any

_WORDS = (
    "river table seven garden paper window silver morning station bridge letter winter market doctor engine island "
    "forest summer number yellow castle button circle dinner finger ground harbor jacket kitchen ladder mirror needle"
)


def new_nonce() -> str:
    """128 random bits at the start of the prompt, so that the first block and with it all block hashes differ."""
    return uuid.uuid4().hex


def prompt_of(nonce: str, words: int) -> str:
    """About `words` words, each at least one token of any usual tokenizer.

    The nonce is at the start and is requested at the end: a model with the right KV repeats it, one with
    another request's KV repeats that one's. (The output of a model too small for that still depends on every word.)
    """
    words_of_it = random.Random(nonce)
    filler = " ".join(words_of_it.choices(_WORDS.split(), k=max(words, 1)))
    return f"Code {nonce} . {filler} . The code again : {nonce[:4]}"


# Beginnings that any model continues in its own way: each from another field, so that other weights show in at least one.
_TEXTS = (
    "The old lighthouse keeper opened the door in the morning and saw that",
    "A short report about the weather of last week: on Monday it rained, on Tuesday",
    "def average(numbers):\n    # returns the mean of a list\n    total =",
    "Question: why does bread become hard after some days, and what helps against it? Answer:",
    "今天早上我去市场买了一些水果，然后",
    "To repair a bicycle tyre, first remove the wheel. Then",
    "In the year 1905 a young clerk wrote several papers. The first one was about",
    "Three friends share a meal for 42 coins. Each of them pays",
)


def free_text(nonce: str, number: int, words: int) -> str:
    """A prompt of at least `words` words that asks for no fixed answer. The nonce at its start is in no cache."""
    filler = random.Random(nonce).choices(_WORDS.split(), k=max(words, 1))
    return f"{nonce} {' '.join(filler)} . {_TEXTS[number % len(_TEXTS)]}"


def chat_of(model: str, text: str, max_tokens: int, **more: Any) -> dict[str, Any]:
    """The body of POST /v1/chat/completions, with the same settings as `completion_of`."""
    body = completion_of(model, "", max_tokens, **more)
    del body["prompt"]
    body["messages"] = [{"role": "user", "content": text}]
    return body


def completion_of(model: str, prompt: str, max_tokens: int, **more: Any) -> dict[str, Any]:
    """The body of POST /v1/completions: greedy and with full length, so that correct answers are equal.

    `ignore_eos` is a parameter of vLLM; a probe that stops at its first token would compare nothing.
    """
    body: dict[str, Any] = {
        "model": model,
        "prompt": prompt,
        "max_tokens": max_tokens,
        "temperature": 0,
        "seed": 0,
        "ignore_eos": True,
    }
    body.update(more)
    return body


def salted(nonce: str) -> dict[str, str]:
    """Extra keys that make a request bypass all cached blocks, in the engine's own cache and in the store.

    vLLM >= 0.10 hashes `cache_salt` into the first block (vllm-project/vllm#17045, #20981); older releases ignore it.
    """
    return {"cache_salt": nonce}
