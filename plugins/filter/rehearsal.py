# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of the rehearsal of the engines' configuration."""

from __future__ import annotations

DOCUMENTATION = """
name: _rehearsal
short_description: The rehearsal of the configuration of engines
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.rehearsal import outcome, question


def question_filter(plan: t.Any, host: t.Any, npus: t.Any) -> dict[str, t.Any]:
    """Adapter: the plan on the left; the host's name, and the facts of its NPUs."""
    return question(plain(plan), str(host), plain(npus))


def outcome_filter(hostvars: t.Any, hosts: t.Iterable[str], plan: t.Any) -> dict[str, str]:
    """Adapter: ``hostvars`` on the left, whose values remember where they were written; ``hosts`` of the play; the whole plan."""
    answered = {host: plain(hostvars[host].get("__inference_rehearsed") or {"skipped": True}) for host in hosts}
    given = {name: hostvars[name] for name in [*answered, "localhost"] if name in hostvars}
    found = {host: answer for host, answer in answered.items() if "skipped" not in answer}
    return wrap_var(outcome(plain(plan), found, given))  # texts of hosts are no templates


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file; a leading underscore marks them as private."""
        return {"_rehearsal_question": question_filter, "_rehearsal_outcome": outcome_filter}
