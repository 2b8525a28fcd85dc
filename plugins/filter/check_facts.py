# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters check_facts, fabric_peers and fabric_plane: facts of all hosts, and pairs of devices to ping."""

from __future__ import annotations

DOCUMENTATION = """
name: _check_facts
short_description: Facts of all hosts, and pairs of devices to ping
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t
from functools import partial

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.facts import check_facts
from ..plugin_utils.hosts.pairs import fabric_peers, fabric_plane
from ..plugin_utils.hosts.readable import judged


def facts_filter(plan: t.Any, results: t.Any) -> dict[str, t.Any]:
    """Facts by host, as plain data."""
    return check_facts(plain(plan), plain(results))


def peers_filter(plan: t.Any, results: t.Any, mode: t.Any = "plan", left_out: t.Any = ()) -> dict[str, t.Any]:
    """The peers that each host's devices ping."""
    try:
        pairs = partial(fabric_peers, plain(plan), mode=str(mode), left_out=plain(list(left_out)))
        return judged(pairs, facts_filter(plan, results))
    except ValueError as error:
        raise AnsibleFilterError(f"fabric_peers: {error}") from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_check_facts": facts_filter, "_fabric_peers": peers_filter, "_fabric_plane": fabric_plane}
