# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a model on a hub fits a plan, from its small files: before a byte of its weights is fetched.

The rules are those of the host check. Each host with an engine counts as if it had the model already.
"""

from __future__ import annotations

import re
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import Finding
from ..plan.rules.base import judge
from ..recipes.catalogue import RECIPES
from . import model, model_figures, model_loads, model_memory
from .observed import Observed, Record
from .readable import WRONG_FORM

RULES = (*model.RULES, *model_loads.RULES, *model_figures.RULES, *model_memory.RULES)
DIFFERENT = frozenset(["MODEL-FORMAT", "MODEL-INCOMPLETE", "MODEL-MEMORY", "MODEL-SCHEME", "MODEL-UNQUANTIZED"])
"""What no setting mends: another model is needed."""
# Ends of a model's name that say how its weights are stored, and not which model it is
STORED = re.compile(
    r"[-_.](awq|gptq|gguf|fp8|nvfp4|mxfp4|bf16|int[48]|[48]bit|w\da\d+(c8)?|mtp|quarot|dynamic|terminus|q\d\w*)(?![a-z0-9])",
    re.ASCII,
)


def listed_findings(
    plan: Record, listed: Record, npus: t.Mapping[str, Record], repair: bool = False, ignored: t.Collection[str] = ()
) -> list[Finding]:
    """Errors and warnings, each once with the first host that has it; those of rules in ``ignored`` are left out.

    ``listed``: the ``model`` of a result of model_listing. ``npus``: results of npu_info by host, for the memory; hosts may lack.
    ``repair``: whether config.json will be repaired (model_repair).
    """
    try:
        return _findings(plan, listed, npus, repair, ignored)
    except WRONG_FORM:  # one host's odd answer about its NPUs says nothing of the model
        return _findings(plan, listed, {}, repair, ignored)


def _findings(
    plan: Record, listed: Record, npus: t.Mapping[str, Record], repair: bool, ignored: t.Collection[str]
) -> list[Finding]:
    found = {"exists": True, "missing": [], "damaged": [], "weights": {}, "files": 0, "fingerprint": "", **listed}
    found["path"] = plan["model"]["path"]
    engines = {service["host"] for service in plan["services"] if service["kind"] in ENGINE_KINDS}
    facts = {
        name: {"host": {"models": [found], "later": {"model_repair": repair}}, "npu": npus.get(name) or {}}
        for name in engines
    }
    there = {**plan, "model": {**plan["model"], "source": ""}}  # rules leave a model alone that is still to come
    case = Observed(there, facts, left_out=frozenset(host["name"] for host in plan["hosts"]) - engines)
    seen: dict[tuple[str, str], Finding] = {}
    for finding in judge(case, RULES, ignored):
        if finding.severity in ("error", "warning"):
            seen.setdefault((finding.id, finding.problem), finding)
    return sorted(seen.values(), key=lambda finding: (finding.severity, finding.id))


def refusal(findings: t.Sequence[Finding], source: str, plan: Record) -> str:
    """Why the model is not fetched, with the models to take instead; empty if no finding is an error."""
    wrong = [finding for finding in findings if finding.severity == "error"]
    if not wrong:
        return ""
    reasons = " ".join(f"{finding.id}: {finding.problem}. {finding.fix}" for finding in wrong)
    others = instead(source, plan) if any(finding.id in DIFFERENT for finding in wrong) else []
    more = f" Documented deployments of this model on {hardware(plan)} use {', '.join(others)}." if others else ""
    return f"{source} does not fit the plan, and no weights were fetched. {reasons}{more}"


def instead(source: str, plan: Record) -> list[str]:
    """``NAME (recipe ID)`` of the recipes for the same model, stored in another way, on this hardware."""
    name = source.partition("@")[0].rstrip("/").rpartition("/")[2]
    return [
        f"{each['model']} (recipe {id_})"
        for id_, each in RECIPES.items()
        if each["hardware"] == hardware(plan)
        and each["model"].rpartition("/")[2].lower() != name.lower()
        and stem(each["model"]) == stem(name)
    ]


def hardware(plan: Record) -> str:
    """The generation of the first host with an engine."""
    engines = {service["host"] for service in plan["services"] if service["kind"] in ENGINE_KINDS}
    return next((str(host["hardware"]) for host in plan["hosts"] if host["name"] in engines), "")


def stem(name: str) -> str:
    """A model's name without its owner, and without how its weights are stored.

    >>> stem("QuantTrio/GLM-4.7-AWQ") == stem("GLM-4.7-W8A8C8")
    True
    """
    plain = name.rpartition("/")[2].lower()
    while STORED.search(plain):
        plain = STORED.sub("", plain)
    return re.sub(r"[-_.]", "", plain)
