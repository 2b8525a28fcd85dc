# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which build of vLLM-Ascend a host's chip gets."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.engines.registry import DEFAULT
from ansible_collections.ascend.inference.plugins.plugin_utils.releases import artefacts
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.artefacts import (
    Artefact,
    artefact,
    newer_text,
    text,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER, RELEASES


@pytest.mark.parametrize(
    ("release", "hardware", "contained", "asked", "expected"),
    [
        ("0.23.0", "a2", False, "", Artefact("wheel", "A2")),
        ("0.23.0", "a3", False, "", Artefact("source", "A3", "ascend910_9391")),
        ("0.23.0", "310p", False, "", Artefact("source", "_310P", "ascend310p1")),
        ("0.23.0", "950", False, "", Artefact("source", "A5", "ascend950dt_9582")),
        ("0.23.0", "a3", True, "", Artefact("image", "A3")),
        ("0.23.0", "a3", False, "site", Artefact("site", "A3")),
        ("0.23.0", "a2", False, "source", Artefact("source", "A2", "ascend910b1")),
        ("0.23.0.post1", "a2", False, "", Artefact("source", "A2", "ascend910b1")),  # a source distribution only
        ("0.26.0rc1", "a2", False, "", Artefact("wheel", "A2")),
        ("0.27.1rc1", "a2", False, "", Artefact("source", "A2", "ascend910b1")),
        ("0.9.1", "a3", False, "", Artefact("wheel")),  # it compares nothing
    ],
)
def test_the_build_follows_release_hardware_and_wish(release, hardware, contained, asked, expected):
    assert artefact(RELEASES[release], hardware, contained, asked) == expected


@pytest.mark.parametrize(
    ("release", "hardware", "part"),
    [
        ("0.23.0", "a2", "as the wheel of the package index"),
        ("0.23.0", "a3", "wheels of package indexes are for a2"),
        ("0.23.0.post1", "a2", "package indexes have only its sources"),
    ],
)
def test_the_plan_says_what_is_installed_and_why(release, hardware, part):
    row = RELEASES[release]
    assert part in text(row, hardware, artefact(row, hardware, False))


def test_the_default_release_is_the_newest_stable_one():
    stable = [name for name in ORDER if "rc" not in name and name != "main"]
    assert stable[-1] == DEFAULT.release, "a newer stable release: make it the default in engines/vllm_ascend.py"
    release = RELEASES[stable[-1]]
    assert {"a2", "a3"} <= set(release.image_hardware) and not release.image_builds


def test_a_newer_stable_release_is_named_with_what_it_needs(monkeypatch):
    known = {name: place for name, place in ORDER.items() if place <= ORDER["0.30.0rc2"] or name == "main"}
    monkeypatch.setattr(artefacts, "ORDER", known)  # a release that is added later changes nothing here
    built = newer_text("0.23.0", ["a2"], False)
    assert built.startswith(
        "A newer stable release is known, 0.23.0.post1. "
        "With inference_release: 0.23.0.post1, vLLM-Ascend 0.23.0.post1 is built on a2 hosts with SOC_VERSION=ascend910b1: "
    )
    assert "package indexes have only its sources" in built
    assert newer_text("0.23.0", ["a3"], True).endswith("a3 hosts run vLLM-Ascend 0.23.0.post1 from the image.")
    for name in ("0.23.0.post1", "0.30.0rc2", "main", "cpu-0.32.0", "99.0.0"):
        assert newer_text(name, ["a2"], False) == ""
