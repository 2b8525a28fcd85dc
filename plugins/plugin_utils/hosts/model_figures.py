# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of what a host's config.json says about the model: the planner knows it by its name only, where the controller has no such folder."""

from __future__ import annotations

import json
import typing as t

from ..description.findings import Finding
from ..plan.rules.base import Rules
from ..plan.rules.model_figures import MTP
from ..releases.model_config import of_config
from ..releases.model_figures import Figures
from .model import _models
from .observed import Observed, place

RULES = Rules()


@RULES.rule(
    "MODEL-FIGURES",
    "Change the option in the pool's settings or its args, or name another model.",
    "vLLM config/model.py verify_with_parallel_config, config/parallel.py and config/speculative.py",
)
def figures(case: Observed) -> t.Iterator[Finding]:
    """An engine has a setting that the model's config.json on its host contradicts.

    The engine ends at start: vLLM compares them before it loads weights.
    """
    for host, model in _models(case):
        if model["config_error"] or not model["exists"]:
            continue
        found = of_config(model["config"], f"{model['path']}/config.json")
        for service in case.services(host["name"]):
            if model["path"].rstrip("/") in [word.rstrip("/") for word in service["argv"]]:
                for value, problem in contradictions(found, service["argv"]):
                    yield Finding.at(f"{place(host)} {service['name']}", value, problem)


def contradictions(found: Figures, argv: t.Sequence[str]) -> t.Iterator[tuple[str, str]]:
    """Value and problem of each option of a command that the figures contradict; nothing where they are unknown."""
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
