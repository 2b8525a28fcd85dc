# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which engines are proven before running routers get them."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.change.fills import engines_to_prove

ENGINES = [{"name": name, "url": f"http://{name}"} for name in ("prefill-0", "decode-0", "decode-1")]
ALL = {"prefill": ["http://prefill-0"], "decode": ["http://decode-0", "http://decode-1"]}


def asked(added, after):
    return {"added": added, "after": after}


def test_engines_that_a_running_router_lacks_are_proven_with_all_that_it_will_have():
    found = engines_to_prove(ENGINES, [asked(["http://decode-1"], ALL), {}])
    assert found == {"joining": ["decode-1"], "peers": ["prefill-0", "decode-0", "decode-1"]}


def test_routers_of_several_hosts_are_joined_at_once():
    others = {"prefill": ["http://prefill-0"], "decode": ["http://decode-0"]}
    answers = [asked(["http://decode-1"], {"decode": ["http://decode-1"]}), asked(["http://decode-0"], others)]
    assert engines_to_prove(ENGINES, answers) == {
        "joining": ["decode-0", "decode-1"],
        "peers": ["prefill-0", "decode-0", "decode-1"],
    }


@pytest.mark.parametrize("answer", [{"skipped": True}, asked([], ALL)])
def test_a_router_that_was_not_asked_or_lacks_none_adds_nothing(answer):
    assert engines_to_prove(ENGINES, [answer])["joining"] == []
