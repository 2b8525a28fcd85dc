# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures of models: what its config.json, or the name of a published family, says about experts, heads and MTP layers."""

from __future__ import annotations

import functools
import re
import typing as t


class Figures(t.NamedTuple):
    """Figures of a model's config.json; None is unknown, 0 experts or MTP layers is a model without them.

    ``context``: tokens that it has positions for. ``latent``: its attention (MLA) keeps one latent head in the
    KV cache. ``sparse``: it attends to chosen tokens (SFA).
    """

    source: str = ""
    experts: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    mtp_layers: int | None = None
    context: int | None = None
    latent: bool = False
    sparse: bool = False
    quantization: str = ""
    head_dim: int | None = None

    @property
    def dense(self) -> bool:
        """Whether the model is known to have no experts."""
        return self.experts == 0


UNKNOWN = Figures()
# What a folder or a served name contains, and the figures in the config.json that the family's publisher has on the hub. The first
# line holds, so a distilled model, which has the figures of the smaller family, comes before its teacher.
FAMILIES = (
    (r"distill-qwen-1\.5b", Figures("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 0, 12, 2, 0, 131072)),
    (r"distill", UNKNOWN),
    (r"qwen3-235b(?!-a(?!22b))", Figures("Qwen/Qwen3-235B-A22B-Instruct-2507", 128, 64, 4, 0, 262144)),
    (r"qwen3-30b(?!-a(?!3b))", Figures("Qwen/Qwen3-30B-A3B", 128, 32, 4, 0, 40960)),
    (r"qwen3-32b", Figures("Qwen/Qwen3-32B", 0, 64, 8, 0, 40960)),
    (r"qwen3-8b", Figures("Qwen/Qwen3-8B", 0, 32, 8, 0, 40960)),
    (r"qwen3\.[568]-27b", Figures("Qwen/Qwen3.5-27B", 0, 24, 4, 1, 262144)),
    (r"qwen2\.5-72b", Figures("Qwen/Qwen2.5-72B-Instruct", 0, 64, 8, 0, 32768)),
    (r"qwen2\.5-7b", Figures("Qwen/Qwen2.5-7B-Instruct", 0, 28, 4, 0, 32768)),
    (r"deepseek-?v3[.-]2(?!\d)", Figures("deepseek-ai/DeepSeek-V3.2", 256, 128, 128, 1, 163840, True, True)),
    (r"deepseek-?(v3(\.1)?|r1)(?![.\d]|-2(?!\d))", Figures("deepseek-ai/DeepSeek-V3", 256, 128, 128, 1, 163840, True)),
    (r"glm-?4\.[67](?!v|-flash|-air)", Figures("zai-org/GLM-4.6", 160, 96, 8, 1, 202752)),
    (r"glm-?5(\.1)?(?![.\dv])", Figures("zai-org/GLM-5", 256, 64, 64, 1, 202752, True, True)),
)


@functools.lru_cache(maxsize=256)
def of_name(name: str) -> Figures:
    """The figures of the family that a path or name of a model contains."""
    plain = name.lower().replace("_", "-")
    return next((figures for pattern, figures in FAMILIES if re.search(rf"(?<![a-z0-9]){pattern}", plain)), UNKNOWN)


def of_model(path: str, name: str, moe: str = "auto") -> Figures:
    """The figures of a model: what the user says about experts, then its own config.json where this machine has it, then its family's."""
    from .model_config import of_folder  # builds on this file

    found = of_folder(path)
    if not found.source:
        found = of_name(f"{path} {name}")
    if moe == "auto" or found.experts is not None and (found.experts > 0) == (moe == "true"):
        return found
    return Figures("inference_model.moe", experts=1 if moe == "true" else 0)
