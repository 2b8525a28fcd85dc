# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters port_probes, still_listening: TCP connections between hosts to test, and listeners that have not ended."""

from __future__ import annotations

DOCUMENTATION = """
name: _port_probes
short_description: TCP connections between hosts to test, and listeners that have not ended
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ..plugin_utils.description.loader import plain
from ..plugin_utils.hosts.connections import port_probes, still_listening
from ..plugin_utils.hosts.facts import check_facts, tcp_results
from ..plugin_utils.hosts.readable import judged


def probes_filter(plan: t.Any, results: t.Any, mode: t.Any = "listen", left_out: t.Any = ()) -> dict[str, t.Any]:
    """The ports that each host listens on and connects to."""
    planned, excluded = plain(plan), plain(list(left_out))
    try:
        return judged(
            lambda known: port_probes(planned, known, str(mode), excluded), check_facts(planned, plain(results))
        )
    except ValueError as error:
        raise AnsibleFilterError(f"port_probes: {error}") from error


def listening_filter(hostvars: t.Any, hosts: t.Any, probes: t.Any) -> list[str]:
    """Hosts whose listener has to be stopped."""
    return still_listening(plain(probes), plain(tcp_results(hostvars, [str(host) for host in hosts])))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_port_probes": probes_filter, "_still_listening": listening_filter}
