# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of pods for all roles and for one: each setting of a role wins, and what it does not set is that of all roles."""

from __future__ import annotations

import dataclasses

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.description.kubernetes import Kubernetes, PodSettings

NAMES = [field.name for field in dataclasses.fields(PodSettings)]
SHARED = [name for name in NAMES if name in {field.name for field in dataclasses.fields(Kubernetes)}]
OWN = sorted(set(NAMES) - set(SHARED))  # a role has them alone


def test_each_kind_of_setting_is_tested():
    assert SHARED == ["requests", "limits", "node_selector", "labels", "annotations"]
    assert OWN == ["container", "spec"]


@pytest.mark.parametrize("name", SHARED)
def test_a_mapping_of_a_role_is_merged_over_that_of_all_roles(name):
    common, own = {"both": "all", "common": "all"}, {"both": "role", "own": "role"}
    settings = Kubernetes(**{name: common}, pods={"decode": PodSettings(**{name: own})})
    merged, expected = settings.of_role("decode"), {"both": "role", "common": "all", "own": "role"}
    assert {key: getattr(merged, key) for key in NAMES} == {key: expected if key == name else {} for key in NAMES}
    assert getattr(settings.of_role("prefill"), name) == common


@pytest.mark.parametrize("name", OWN)
def test_what_only_roles_have_is_that_of_the_role(name):
    settings = Kubernetes(pods={"decode": PodSettings(**{name: {"key": "value"}})})
    assert getattr(settings.of_role("decode"), name) == {"key": "value"}
    assert getattr(settings.of_role("prefill"), name) == {}
