# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run plans once: whichever of the two shared playbooks did it, the other playbooks of the run find the same facts."""

from __future__ import annotations

import pathlib
import typing as t

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def facts(node: t.Any) -> t.Iterator[str]:
    """Names of the facts that tasks set; those of a rescue, which hold without a plan, are left out."""
    if isinstance(node, list):
        for part in node:
            yield from facts(part)
    elif isinstance(node, dict):
        yield from node.get("ansible.builtin.set_fact", {})
        for key in ("tasks", "block"):
            yield from facts(node.get(key, []))


def test_both_record_the_same_facts():
    planned, deployed = (
        set(facts(yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))))
        for name in ("playbooks/shared/planned.yml", "playbooks/shared/deployed.yml")
    )
    assert "__inference_planned" in planned and planned | {"__inference_unplanned"} == deployed
