# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For tests: what a change decides, from results of modules as hosts return them."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.plugin_utils.change.deploy import decide
from ansible_collections.ascend.inference.plugins.plugin_utils.change.observe import known


def observed(text="", registered=None, **answers):
    """What is known of a host whose recorded plan has this text."""
    return known(registered or {}, {**answers, "recorded": {"content": text, **answers.pop("recorded", {})}}, True)


def change_steps(registered, plan, text, allow_pause=False, early=False, unfinished=False, revisions=(), routers=None):
    """The steps of one host's change; ``registered``: the result of service_state; ``routers``: that of router_members."""
    more = {"half": "lower" if unfinished else "", "revisions": list(revisions)}
    found = {"n1": observed(text, registered, recorded=more, **({"routers": routers} if routers else {}))}
    return decide(plan, found, allow_pause, early, False).steps
