# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which variables of the inventory the words of an engine are about: for messages only."""

from __future__ import annotations

import re
import typing as t

from .variables import OPERATIONAL, PREFIX

WORD = re.compile(r"[a-z0-9_]+")
QUOTED = re.compile(r"""['"`]([^'"`\s]{2,60})['"`]""")
# How vLLM's texts shorten names of options
SHORT = {
    "cp": "context_parallel",
    "dbo": "enable_dbo",
    "dcp": "decode_context_parallel",
    "dp": "data_parallel",
    "ep": "expert_parallel",
    "pcp": "prefill_context_parallel",
    "pp": "pipeline_parallel",
    "tp": "tensor_parallel",
    "speculative": "speculative_config",
}
FREE = ("args", "env", "additional_config")  # below these a name of one word is an option, elsewhere it may be any word
LEFT_OUT = frozenset((PREFIX + "secrets", *OPERATIONAL))


def mentioned(text: str, pools: t.Collection[str], variables: t.Mapping[str, t.Any]) -> list[str]:
    """Paths such as ``inference_pools.prefill.args.seed`` of options that a text names, or whose value it quotes.

    ``pools``: kinds of the engines that the text is about; what other pools have is left out.
    """
    words = WORD.findall(text.lower().replace("-", "_"))
    known = {*words, *(SHORT[part] for word in words for part in (word, word.partition("_")[0]) if part in SHORT)}
    phrases = "_" + "_".join((*words, *known)) + "_"
    quoted = {value.lower() for value in QUOTED.findall(text)}
    found = []
    for path, value in _leaves(variables, pools):
        name, inside = _plain(path[-1]), any(_plain(part).removeprefix(PREFIX) in FREE for part in path[:-1])
        stem = re.sub(r"_(size|config)$", "", re.sub(r"^(enable|no|vllm_ascend|vllm)_", "", name))
        named = inside and name in known or "_" in stem and f"_{stem}_" in phrases
        if named or inside and str(value).lower() in quoted:
            found.append(".".join(path))
    return [path for path in found if not any(other.startswith(path + ".") for other in found)]


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _leaves(variables: t.Mapping[str, t.Any], pools: t.Collection[str]) -> t.Iterator[tuple[tuple[str, ...], t.Any]]:
    for name in sorted(variables):
        if str(name).startswith(PREFIX) and name not in LEFT_OUT:
            for path, value in _below((str(name),), variables[name]):
                if path[0] != PREFIX + "pools" or len(path) < 2 or path[1] in pools:
                    yield path, value


def _below(path: tuple[str, ...], value: t.Any) -> t.Iterator[tuple[tuple[str, ...], t.Any]]:
    yield path, value
    if isinstance(value, t.Mapping) and len(path) < 6:
        for key in value:
            yield from _below((*path, str(key)), value[key])
