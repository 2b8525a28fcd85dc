# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collected options: what a version knows, when an option came and went."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.options import (
    known,
    options,
    spans,
    spelled,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.version import numbers


@pytest.mark.parametrize("program", ["vllm", "mooncake_master", "vllm_router"])
def test_every_line_is_readable_and_spans_do_not_overlap(program):
    for option in options(program):
        assert option.kind.rstrip("+?") in ("flag", "bool", "int", "float", "size", "json", "str", "string"), option
        others = [two for two in spans(program, option.name) if two is not option]
        for two in others:
            first, second = sorted((option, two), key=lambda row: numbers(row.since or "0"))
            assert first.last and numbers(first.last) < numbers(second.since)


def test_an_option_changes_with_the_versions():
    assert known("vllm", "0.13.0")["block-size"].choices
    assert not known("vllm", "0.23.0")["block-size"].choices
    assert "disable-log-requests" in known("vllm", "0.13.0")
    assert "disable-log-requests" not in known("vllm", "0.23.0")


def test_a_version_between_two_collected_ones_is_like_the_earlier():
    assert known("vllm", "0.11.2") == known("vllm", "0.11.0")
    assert known("mooncake_master", "0.3.12.post1") == known("mooncake_master", "0.3.12")


@pytest.mark.parametrize(
    ("flag", "since"),
    [
        ("enable_offload", "0.3.8"),
        ("offload_on_evict", "0.3.11"),
        ("enable_kv_events", "0.3.12"),
        ("pod_name", "0.3.12"),
        ("metrics_host", "0.3.13"),
    ],
)
def test_flags_of_mooncake_master_came_with_these_versions(flag, since):
    assert [span.since for span in spans("mooncake_master", flag)] == [since]


def test_before_the_first_collected_version_nothing_is_known():
    assert known("vllm", "0.8.5") == {}


def test_short_spellings_lead_to_the_long_name():
    assert spelled("vllm", "0.23.0")["tp"] == "tensor-parallel-size"


@pytest.mark.parametrize("name", [release for release in RELEASES if RELEASES[release].vllm_version >= (0, 9, 1)])
def test_the_options_of_every_release_are_collected(name):
    flags = known("vllm", RELEASES[name].vllm)
    assert {"tensor-parallel-size", "kv-transfer-config", "max-model-len", "served-model-name"} <= set(flags)
    assert flags["max-num-seqs"].kind == "int" and flags["enforce-eager"].kind == "bool"


def test_post_releases_and_candidates_compare():
    assert numbers("0.3.11.post1") > numbers("0.3.11") > numbers("0.3.9")
    assert numbers("0.11.0rc3") == numbers("0.11.0")
