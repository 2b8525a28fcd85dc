# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of recipes, from the model, the hardware, and what a deployment is for."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.ascend.inference.tests.conformance import guides_ci
from ansible_collections.ascend.inference.tests.conformance.documented import Documented
from ansible_collections.ascend.inference.tests.conformance.translate import translate

WORDS_OF_NAME = re.compile(r"-(mtp|quarot|instruct|float|floatmtp|full|rot|dense|a\d+b|\d{4})(?=-|$)")
SAID = set(re.split(" ", "pd ep external dual nodes w8a8c8 w8a8 w4a8 weekly code quarot mtp layerwise disagg")) | {""}
SAID_FIRST = ("glm", "deepseek", "kimi", "minimax", "qwen", "ds", "v4", "v3", "a10b", "a17b", "m2", "m3")


def model_word(name: str) -> str:
    """A model's name in a recipe's name.

    >>> model_word("/models/DeepSeek-V3.1-w8a8-mtp-QuaRot"), model_word("Eco-Tech/GLM5.2")
    ('deepseek-v3.1-w8a8', 'glm-5.2')
    """
    word = re.sub(r"[^a-z0-9.]+", "-", name.rstrip("/").rsplit("/", 1)[-1].lower()).strip("-")
    word = re.sub(r"^(glm|minimax|deepseek|kimi)-?(?=[\dvmkr])", r"\1-", word)
    for dummy in range(3):
        word = WORDS_OF_NAME.sub("", word)
    return word


def name_of(documented: Documented, entry: t.Mapping[str, t.Any]) -> str:
    """A recipe's name: model, hardware, how it differs from the plain prefill/decode deployment, and what load it is for."""
    words = translate(documented, False)[0]
    model, transfer = model_word(words["inference_model"]["path"]), words["inference_kv_transfer"]
    parts = [model, documented.hardware]
    parts += ["mixed"] if documented.kinds == ["colocated"] else []
    parts += [word for word, sign in (("pool", "store"), ("layerwise", "layerwise")) if sign in transfer]
    if entry["source"]["path"].startswith(guides_ci.CONFIGS):
        taken = {*re.split(r"[-.]|(?<=qwen)", model), *re.split(r"-|(?<=qwen)", model), documented.hardware}
        stem = re.sub(r"(?<![\d.])(\d)_(\d)(?=k|_tpot)", r"\1.\2", entry["id"].lower())
        parts += [
            word for word in re.split(r"[-_]", stem) if word not in taken | SAID and not word.startswith(SAID_FIRST)
        ]
    else:
        parts += ["single-host"] if "single_node" in entry["source"]["path"] else []
        parts += ["chunked-pipeline"] if "chunked_pipeline" in entry["source"]["path"] else []
        parts += sorted({word.lower() for word in re.findall(r"dspark|1m(?= )", entry["section"], re.IGNORECASE)})
    return "-".join(dict.fromkeys(parts))
