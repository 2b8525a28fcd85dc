# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of what the release can load: the model's architecture, and the schemes of its quantized layers."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding
from ..plan.rules.base import Rules
from ..releases.model_support import architectures, releases_of
from ..releases.release import RELEASES
from .model import models
from .observed import Observed, place

RULES = Rules()
UNQUANTIZED = "FLOAT"  # of a layer that stays as it is


@RULES.rule(
    "MODEL-ARCHITECTURE",
    "Choose a release that has it (inference_release), or another model. If a plugin of your own registers it, accept the check.",
    "vLLM model_executor/models/registry.py: Model architectures ... are not supported for now; vllm-ascend models/__init__.py",
)
def architecture(case: Observed) -> t.Iterator[Finding]:
    """The release has no implementation of the model's architecture.

    The engine ends at start with a ValueError, or serves the model with the slow implementation of Transformers.
    """
    release = str(case.plan["release"])
    known = architectures(release)
    for host, model in models(case) if known else ():
        given = model["config"].get("architectures")
        names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
        replaced = any(
            {"--hf-overrides", "--model-impl"} & set(service["argv"]) for service in case.services(host["name"])
        )
        if not names or replaced or known & set(names):
            continue
        others = releases_of(names[0])
        problem = f"{model['path']}/config.json has the architecture {names[0]}, which release {release} does not have"
        if others:
            yield Finding.at(place(host), names[0], f"{problem}; releases {others} have it")
        else:
            yield Finding.at(
                place(host), names[0], f"{problem}, nor has another one that is known here", severity="warning"
            )


@RULES.rule(
    "MODEL-SCHEME",
    "Choose a release that has the method (inference_release), or the model in another quantization.",
    "vllm-ascend quantization: Currently, vLLM Ascend doesn't support quant_type=...",
)
def scheme(case: Observed) -> t.Iterator[Finding]:
    """quant_model_description.json has a method for layers that the release does not implement.

    The engine ends with a NotImplementedError while it builds the model.
    """
    release = RELEASES.get(str(case.plan["release"]))
    known = set(release.schemes) if release and case.plan["engine_facts"]["quantization_option"] else set()
    for host, model in models(case) if known else ():
        if host["hardware"] == "310p":  # its schemes have a registry of their own, which is not collected
            continue
        wrong = [name for name in model.get("schemes") or [] if name not in known and name != UNQUANTIZED]
        for name in wrong[:1]:
            problem = f"quant_model_description.json in {model['path']} has {', '.join(wrong)}; release {case.plan['release']} has {', '.join(sorted(known))}"
            yield Finding.at(place(host), name, problem)
