# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change takes from the answer of a host."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.plugin_utils.change.observe import known, own


def test_a_host_says_nothing_of_services_of_others():
    """With balancer-1 of another host among those that are down, its requests would not move."""
    names = {key: ["balancer-1", "decode-0"] for key in ("down", "outdated", "rekeyed", "keyed", "healthy")}
    answer = {**names, "other": ["x.service"], "content": "text"}
    found = own(answer, [{"name": "decode-0"}, {"name": "router"}])
    assert found == {**dict.fromkeys(names, ["decode-0"]), "other": ["x.service"], "content": "text"}


def test_all_lists_of_services_are_limited():
    found = own(known({key: ["other"] for key in ("down", "outdated", "rekeyed", "keyed", "healthy")}, {}, True), [])
    assert not any(value == ["other"] for value in found.values())
