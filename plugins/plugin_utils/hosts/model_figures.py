# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of what a host's config.json says about the model: the planner knows it by its name only, where the controller has no such folder."""

from __future__ import annotations

import json
import typing as t

from ...module_utils.host.chat_template import FORMS
from ..description.findings import Finding
from ..plan.rules.base import Rules
from ..plan.rules.model_figures import MTP
from ..releases.model_config import of_config
from ..releases.model_figures import Figures
from .model import models
from .observed import Observed, place

RULES = Rules()
TEMPLATES = frozenset(["--chat-template", "--tokenizer", "--tokenizer-mode"])
POSITIONS = frozenset(["--hf-overrides", "--rope-scaling"])  # what gives the model more positions than config.json says
LONGER = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"  # vLLM config/model.py, _get_and_verify_max_len


@RULES.rule(
    "MODEL-FIGURES",
    "Change the option in the pool's settings or its args, or name another model.",
    "vLLM config/model.py verify_with_parallel_config, config/parallel.py and config/speculative.py",
)
def figures(case: Observed) -> t.Iterator[Finding]:
    """An engine has a setting that the model's config.json on its host contradicts.

    The engine ends at start: vLLM compares them before it loads weights.
    """
    for host, model in models(case):
        if model["config_error"] or not model["exists"]:
            continue
        found = of_config(model["config"], f"{model['path']}/config.json")
        for service in case.services(host["name"]):
            if model["path"].rstrip("/") in [word.rstrip("/") for word in service["argv"]]:
                for value, problem in contradictions(found, service["argv"], service.get("env") or {}):
                    yield Finding.at(f"{place(host)} {service['name']}", value, problem)


@RULES.rule(
    "MODEL-PARSER",
    "Set tool-call-parser in the pool's args to a parser of the template's form; or give the engine another template with chat-template.",
    "vllm/tool_parsers: the text at which each parser begins",
    "warning",
)
def tool_parser(case: Observed) -> t.Iterator[Finding]:
    """The chat template lets the model write tool calls in another form than the engine's parser reads.

    Clients get the calls as text of the answer, without an error.
    """
    for host, model in models(case):
        right = [str(name) for name in model.get("tool_parsers") or []]
        for service in case.services(host["name"]) if right else []:
            argv = service["argv"]
            given = _given(argv, "--tool-call-parser")
            known = any(given in parsers for _mark, parsers in FORMS)
            if known and given not in right and not TEMPLATES & set(argv):
                problem = f"{model['path']} has a chat template for {' or '.join(right)}, and the engine has --tool-call-parser {given}"
                yield Finding.at(f"{place(host)} {service['name']}", given, problem)


def contradictions(
    found: Figures, argv: t.Sequence[str], env: t.Mapping[str, str] | None = None
) -> t.Iterator[tuple[str, str]]:
    """Value and problem of each option of a command that the figures contradict; nothing where they are unknown."""
    length, longer = _given(argv, "--max-model-len"), str((env or {}).get(LONGER, "0")).strip().lower() in ("1", "true")
    if (
        found.context
        and length.isdecimal()
        and int(length) > found.context
        and not longer
        and not POSITIONS & set(argv)
    ):
        yield length, f"{found.source} has positions for {found.context} tokens, and max-model-len is {length}"
    size = _given(argv, "--tensor-parallel-size")
    if found.heads and size.isdecimal() and int(size) and found.heads % int(size):
        yield size, f"{found.source} has {found.heads} attention heads, which {size} ranks cannot share"
    if found.dense and "--enable-expert-parallel" in argv:
        yield "--enable-expert-parallel", f"{found.source} has no experts, and expert parallelism distributes them"
    method = _speculation(_given(argv, "--speculative-config"))
    if method in MTP and found.mtp_layers == 0:
        yield method, f"{found.source} has no MTP layers, and speculation needs them"


def _given(argv: t.Sequence[str], option: str) -> str:
    return argv[argv.index(option) + 1] if option in argv[:-1] else ""


def _speculation(text: str) -> str:
    """The method of a speculative-config whose draft model is the model itself."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return ""
    return str(found.get("method") or "") if isinstance(found, dict) and not found.get("model") else ""
