# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules of the planner, by theme and sorted by id."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding, nearest
from ...runtimes.registry import runtimes
from . import (
    additional_config,
    arguments,
    balancer,
    connectors,
    covers,
    decode_tuning,
    environment,
    environment_values,
    firewall,
    folders,
    hidden,
    host_groups,
    host_values,
    json_values,
    known_issues,
    kv_hold,
    kv_sizes,
    memcache,
    model,
    model_figures,
    model_source,
    needs,
    other_platforms,
    own_record,
    paths,
    port_choice,
    ports,
    probe,
    quantized,
    router,
    router_values,
    runtime,
    security,
    serving,
    sizes,
    software,
    start_checks,
    store,
    store_ha,
    topology,
    torchair,
    transfer_pairs,
    unused,
    values,
    virtual_address,
)
from .accepted import FIRM, Accepted
from .base import Case, Rule, Rules

THEMES: dict[str, t.Iterable[Rule]] = {
    "Topology and devices": (*topology.RULES, *host_groups.RULES),
    "Parallel sizes": (*sizes.RULES, *model_figures.RULES),
    "Values": (*values.RULES, *host_values.RULES, *unused.RULES, *unused.OF_RECIPES, *needs.RULES, *hidden.RULES),
    "Ports": (*ports.RULES, *port_choice.RULES),
    "Connectors": (*connectors.RULES, *kv_sizes.RULES, *transfer_pairs.RULES),
    "Shared KV cache store": (*store.RULES, *store_ha.RULES, *memcache.RULES),
    "Arguments of vLLM": (
        *arguments.RULES,
        *json_values.RULES,
        *additional_config.RULES,
        *own_record.RULES,
        *start_checks.RULES,
        *decode_tuning.RULES,
        *torchair.RULES,
    ),
    "The model and its serving": (*model.RULES, *model_source.RULES, *quantized.RULES, *serving.RULES),
    "Environment": (
        *environment.RULES,
        *environment_values.RULES,
        *other_platforms.RULES,
        *kv_hold.RULES,
    ),
    "Router": (*router.RULES, *router_values.RULES, *balancer.RULES, *virtual_address.RULES),
    "Probe": probe.RULES,
    "Names, paths, images, timeouts": (*runtime.RULES, *folders.RULES, *paths.RULES, *covers.RULES),
    "Security": (*security.RULES, *firewall.RULES),
    **{f"Runtime {item.name}": tuple(item.rules()) for item in runtimes() if tuple(item.rules())},
    "What is installed": (*software.RULES, *known_issues.RULES),
}
OF_SETTINGS = (
    *additional_config.RULES,
    *arguments.RULES,
    *connectors.RULES,
    *kv_sizes.RULES,
    *environment.RULES,
    *environment_values.RULES,
    *json_values.RULES,
    *kv_hold.RULES,
    *model.RULES,
    *start_checks.RULES,
    *decode_tuning.RULES,
)  # rules of settings only, independent of hosts
OWN = Rules()
CERTAIN = ("PLACE-", "VARIABLE-", "RELEASE-UNKNOWN", "RELEASE-FACT", "PORT-LIST")  # what leaves nothing to plan
THEMES["Rules about rules"] = OWN


@OWN.rule("IGNORE-UNKNOWN", "Correct or remove the id.", "design of the planner")
def ignored(case: Case) -> t.Iterator[Finding]:
    """inference_rules_ignore contains an unknown rule id.

    The id has no effect, so the finding that it should accept is still reported.
    """
    known = [rule.id for rule in RULES]
    for index, written in enumerate(case.context.description.rules_ignore):
        entry, path = Accepted.read(written), f"inference_rules_ignore[{index}]"
        if entry.problem:
            yield Finding.at(path, written, entry.problem, "Write {rule: ..., place: ..., reason: ...}.")
        elif entry.rule.startswith(CERTAIN):
            yield Finding.at(path, entry.rule, f"{entry.rule} cannot be accepted: without it there is no plan")
        elif entry.rule in FIRM:
            yield Finding.at(
                path, entry.rule, f"{entry.rule} cannot be accepted: such a value could add commands or settings"
            )
        elif entry.rule not in known:
            fix = nearest(entry.rule, known)
            yield Finding.at(path, entry.rule, f"unknown rule id {entry.rule}", fix)


RULES: tuple[Rule, ...] = tuple(sorted((rule for rules in THEMES.values() for rule in rules), key=lambda rule: rule.id))


def rules_table() -> list[dict[str, str]]:
    """Every rule as plain data, in themes: theme, id, severity, problem, why, fix, source."""
    return [
        {"theme": theme, **rule.as_dict()}
        for theme, rules in THEMES.items()
        for rule in sorted(rules, key=lambda rule: rule.id)
    ]


def rules_lines() -> list[str]:
    """Every rule as text lines: id and severity, problem, reason, fix."""
    lines: list[str] = []
    theme = ""
    for rule in rules_table():
        if rule["theme"] != theme:
            theme = rule["theme"]
            lines += ["", f"{theme}:"] if lines else [f"{theme}:"]
        lines += [f"  [{rule['id']}] {rule['severity']}: {rule['problem']}", f"      Why: {rule['why']}"]
        lines += [f"      Fix: {rule['fix']}"] if rule["fix"] else []
    return lines
