# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters _model_manifest and _model_round: what the hosts of a model get, and from whom."""

from __future__ import annotations

DOCUMENTATION = """
name: _model_rounds
short_description: What the hosts of a model get, and from whom
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts import model_rounds


def model_manifest(hostvars: t.Any, holders: t.Any, digest: str) -> list[dict[str, t.Any]]:
    """Adapter: the states that hosts with the model registered, and what the one that fetched it listed. A refusal is an error of the filter."""
    known = [hostvars[str(host)] for host in holders]
    records = [plain(each["__model_state"])["record"] for each in known]
    try:
        return wrap_var(model_rounds.manifest(plain(known[0].get("__model_listed") or {}), records, str(digest)))
    except ValueError as error:
        raise AnsibleFilterError(f"{error}. {model_rounds.REFUSED}") from error


def model_round(hostvars: t.Any, hosts: t.Any, source: str, files: t.Any, **more: t.Any) -> dict[str, t.Any]:
    """Adapter: the states that the hosts registered."""
    states = {str(host): plain(hostvars[host]["__model_state"]) for host in hosts if "__model_state" in hostvars[host]}
    given = {name: plain(value) if name == "before" else int(value) for name, value in more.items()}
    done = model_rounds.next_round(states, str(source), plain(files), **given)
    return wrap_var({**done, "most": model_rounds.most_rounds(len(states), given.get("copies", 1))})  # texts of hosts


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_model_manifest": model_manifest, "_model_round": model_round}
