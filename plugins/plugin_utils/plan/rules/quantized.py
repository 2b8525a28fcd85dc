# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of models that are quantized in a format of other platforms, as their names or an option say."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ...description.findings import Finding
from .base import Case, Rules
from .folders import models
from .model_figures import figures
from .start_checks import between

RULES = Rules()
# What publishers write into the names of models, and vLLM's name of the method in their config.json
FORMATS = {
    "awq": "awq",
    "gptq": "gptq",
    "fp8": "fp8",
    "gguf": "gguf",
    "bnb": "bitsandbytes",
    "bitsandbytes": "bitsandbytes",
    "nvfp4": "modelopt_fp4",
    "hqq": "hqq",
    "aqlm": "aqlm",
    "exl2": "exl2",
    "exl3": "exl3",
}
NAMED = re.compile(rf"(?:^|[-_.])({'|'.join(FORMATS)})(?=$|[-_.])", re.IGNORECASE)
LLAMA_CPP = re.compile(r"[-_.](?:i?q[2-8]_(?:k|[01]|xs|xxs|s|m|nl)(?:_[sml])?)(?=$|[-_.])", re.IGNORECASE)
# The weights were converted: of an FP8 model to BF16, or to the format of the platform
CONVERTED = re.compile(r"(?:^|[-_.])(bf16|fp16|w\d+a\d+|dequant\w*|mxfp[48])(?=$|[-_.])", re.IGNORECASE)


def format_of(path: str) -> tuple[str, str]:
    """What the last part of a model's path says of its format, and vLLM's name of the method; empty if nothing.

    >>> format_of("/models/Qwen3-32B-AWQ"), format_of("/models/qwen3-8b-q4_k_m"), format_of("/models/Qwen3-32B")
    (('AWQ', 'awq'), ('q4_k_m', 'gguf'), ('', ''))
    """
    name = posixpath.basename(path.rstrip("/"))
    found = None if CONVERTED.search(name) else NAMED.search(name)
    if found:
        return found.group(1), FORMATS[found.group(1).lower()]
    of_cpp = LLAMA_CPP.search(name)
    return (of_cpp.group(0)[1:], "gguf") if of_cpp else ("", "")


@RULES.rule(
    "QUANTIZATION-FORMAT",
    "Use the model as it was published in BF16, or one quantized by msModelSlim (its name has W8A8, for example) with quantization: ascend.",
    "vllm-ascend platform.py supported_quantization: 'awq quantization is currently not supported in npu'",
)
def quantization_format(case: Case) -> t.Iterator[Finding]:
    """The model's name says that it is quantized with a method that the release's platform does not support.

    vLLM reads the method from the model's config.json, and the engine ends at start with a ValueError.
    """
    supported = case.context.release.quantization if case.npu else ()
    for place, path in models(case.context.description) if supported else ():
        written, method = format_of(path)
        if method and method not in supported:
            problem = f"the name has {written}, and release {case.context.release.name} supports {', '.join(supported)}, not {method}"
            yield Finding.at(place, path, problem)


@RULES.rule(
    "QUANTIZATION-FP8",
    "Set quantization: ascend and use a model of ModelSlim, or remove the option for one that is not quantized.",
    "vllm-ascend quantization/methods/fp8.py from 0.21 to 0.26 reads o_groups of config.json, which only DeepSeek V4 has",
)
def fp8(case: Case) -> t.Iterator[Finding]:
    """Quantization fp8 is set for another model than DeepSeek V4.

    The engine ends with an AttributeError when it loads the weights.
    """
    known, model = figures(case), case.context.description.model
    other = known.source and "v4" not in f"{model.path} {model.name}".lower()
    for view in between(case, (0, 21), (0, 27)):
        if view.value("quantization") == "fp8" and other:
            problem = f"fp8 of release {case.context.release.name} is for DeepSeek V4, and the model is {known.source}"
            yield Finding.at(view.path("quantization"), "fp8", problem)
