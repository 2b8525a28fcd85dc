# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters _agreed_plan, _agreed_part and _agreed_text: the recorded plan that most hosts have.

Their results are texts of hosts, which ansible-core before 2.19 would take for templates when they are read from a fact.
"""

from __future__ import annotations

import typing as t

from ansible.utils.display import Display
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils.description.loader import plain
from ..plugin_utils.plan.agreed import agreed, part_for, text_of_most


def agreed_plan(hostvars: t.Any, hosts: t.Iterable[str], fact: str) -> t.Any:
    """Adapter: the fact ``fact`` of each host is its recorded plan."""
    return wrap_var(agreed({host: plain(hostvars[host].get(fact)) or {} for host in hosts}))


def agreed_part(own: t.Any, stored: t.Any, host: t.Any, given: t.Any = ()) -> t.Any:
    """Adapter: a host's own record on the left."""
    return wrap_var(part_for(plain(own) or {}, plain(stored) or {}, str(host), plain(given)))


def agreed_text(texts: t.Iterable[t.Any]) -> t.Any:
    """Adapter: the texts of plan.json of several hosts on the left."""
    return wrap_var(text_of_most([str(text or "") for text in texts], Display().warning))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_agreed_plan": agreed_plan, "_agreed_part": agreed_part, "_agreed_text": agreed_text}
