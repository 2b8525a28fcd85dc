# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model's chat template: whether its folder has one, and in which form it lets the model write tool calls. Runs on Python 3.7."""

from __future__ import annotations

import os

from ..tools import foreign_file, foreign_json

FILES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
MOST = 4 * 2**20  # bytes of a template; the longest published one has some 10 KB

# The text that only templates of one form of tool calls have, and the names of vLLM's parsers for it (vllm/tool_parsers). The first one
# that a template has counts: other forms also use <tool_call>.
FORMS = (
    ("<function=", ("qwen3_coder", "qwen3_xml")),
    ("<arg_key>", ("glm45", "glm47")),
    ("<minimax:tool_call>", ("minimax_m2",)),
    ("<|tool_calls_section_begin|>", ("kimi_k2",)),
    ("<\uff5ctool\u2581calls\u2581begin\uff5c>", ("deepseek_v3", "deepseek_v31")),
    ("[TOOL_CALLS]", ("mistral",)),
    ("<tool_call>", ("hermes", "qwen3_json")),
)


def exists(path, names):
    # type: (str, t.Collection[str]) -> bool
    """Whether the folder has a chat template: a file of its own, one in tokenizer_config.json, or a tokenizer that includes it.

    Places: transformers, utils/hub.py (CHAT_TEMPLATE_FILE and its folder) and tokenizer_config.json; Mistral's tekken.json.
    """
    if {"chat_template.jinja", "chat_template.json", "tekken.json"} & set(names):
        return True
    if os.path.isdir(os.path.join(path, "additional_chat_templates")):
        return True
    return bool(_in_json(os.path.join(path, "tokenizer_config.json")))


def tool_parsers(path):
    # type: (str) -> t.List[str]
    """vLLM's parsers for the tool calls that the template teaches the model; empty if it has none, or another form."""
    text = _text(path)
    return next((list(parsers) for mark, parsers in FORMS if mark in text), [])


def _text(path):
    # type: (str) -> str
    """All text of the folder's template, the file before the one in tokenizer_config.json, as transformers reads it."""
    try:
        with foreign_file.opened(os.path.join(path, FILES[0]), follow=True) as handle:
            return handle.read(MOST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return _in_json(os.path.join(path, FILES[1])) or _in_json(os.path.join(path, FILES[2]))


def _in_json(path):
    # type: (str) -> str
    try:
        found = foreign_json.load(path).get("chat_template")
    except (OSError, ValueError, AttributeError):
        return ""
    if isinstance(found, list):  # several ones, each with a name
        found = "\n".join(str(each.get("template") or "") for each in found if isinstance(each, dict))
    return found if isinstance(found, str) else ""
