# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host gets the secrets of its own services, and no others of ``inference_secrets``."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.plugin_utils.views.secret_digests import own_secrets
from ansible_collections.ascend.inference.tests.unit.rehearsal.records import recorded


def test_logs_are_gathered_with_the_secrets_of_the_host():
    host = ""
    sent: dict[str, list[str]] = {}
    for line in recorded("watch/logs").splitlines():
        host = line.partition(":")[0] if not line.startswith(" ") else host
        if line.strip().startswith("secrets:"):
            sent.setdefault(host, []).append(line.partition(":")[2].strip())
    assert sent == {"n1": ['["engine-secret"]'], "localhost": ['["engine-secret", "of-no-service"]']}


def test_secrets_of_services_are_those_that_they_name():
    services = [
        {"secret_env": {"A": "api_key"}},
        {"secret_env": {"B": "api_key", "C": "client_keys"}},
        {"secret_env": {}},
    ]
    given = {"api_key": 1, "client_keys": "two three", "other_team_key": "four"}
    assert own_secrets(services, given) == ["1", "two three"]
    assert own_secrets(services, {"other_team_key": "four"}) == []
