# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test of a replaced host judges what clients saw before anything else, and fails for a single lost request."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill.load import Request
from ansible_collections.ascend.inference.tests.integration import test_replaced_host as replaced
from ansible_collections.ascend.inference.tests.integration.test_serving_change import expected
from ansible_collections.ascend.inference.tests.simulator import load

MOVED = {"decode-1": 3, "prefill-1": 4}


class Clients(load.Load):
    """Clients whose requests are given."""

    problems: tuple[str, ...] = ()

    def __enter__(self):
        for number, problem in enumerate(self.problems):
            request = Request("n", number, False, 1.0, 0.1, 0.2, problem, "")
            self.requests.append(request._replace(text="" if problem else expected(self.prompt(request), 6)))
        return self

    def __exit__(self, *unused):
        pass


class Rack:
    """Hosts whose deployment works, or does not."""

    def __init__(self, broken):
        self.broken, self.serves = broken, ("n1", "n2")

    def deploy(self, *unused):
        assert not (self.broken and "n3" in self.serves), "the playbook failed"

    def serve(self, *names):
        self.serves = names

    def running(self, host):
        place = {"n1": {"decode-0": 1, "prefill-0": 2}, self.serves[1]: MOVED}
        return place.get(host, {})

    def of(self, host):
        return replaced.pathlib.Path("/nowhere")


def judged(monkeypatch, problems, broken=False):
    rack = Rack(broken)
    monkeypatch.setattr(replaced.load, "Load", type("Given", (Clients,), {"problems": problems}))
    monkeypatch.setattr(
        replaced,
        "members",
        lambda: [(pool, replaced.ADDRESSES[name]) for pool in ("decode", "prefill") for name in rack.serves],
    )
    replaced.test_a_host_is_replaced_without_a_lost_request(rack)


def test_nothing_lost_passes(monkeypatch):
    judged(monkeypatch, ("",) * 51)


@pytest.mark.parametrize("problem", ["cut: gone", "empty"])
@pytest.mark.parametrize("broken", [False, True])
def test_one_lost_request_fails_and_is_named_first(monkeypatch, problem, broken):
    with pytest.raises(AssertionError, match="'failures': 1" if problem != "empty" else "'empty': 1"):
        judged(monkeypatch, (*("",) * 60, problem), broken)


def test_without_answers_or_with_a_failed_playbook_it_fails(monkeypatch):
    with pytest.raises(AssertionError):
        judged(monkeypatch, ())
    with pytest.raises(AssertionError, match="the playbook failed"):
        judged(monkeypatch, ("",) * 51, broken=True)
