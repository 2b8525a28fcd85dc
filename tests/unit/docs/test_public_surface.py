# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who relies on a name of the last release reads in the changelog that it is gone or other, and who wants a new one that it is there."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.ascend.inference.tests.unit.docs import public_surface

FRAGMENTS = public_surface.ROOT / "changelogs" / "fragments"
REMOVAL = ("breaking_changes", "removed_features", "security_fixes")


def said(fragments, sections=None):
    """The text of these sections of fragments, of all without any."""
    parts = [text for fragment in fragments for name, text in fragment.items() if not sections or name in sections]
    return "\n".join(str(part) for part in parts)


def silent(before, now, fragments):
    """Lines of the surface that are new or gone, and that no fragment names; what is gone has to be in a section that warns."""
    new, gone = public_surface.changed(before, now)
    everywhere, warned = said(fragments), said(fragments, REMOVAL)
    left = [f"+ {line}" for line in new if public_surface.word(line) not in everywhere]
    return left + [f"- {line}" for line in gone if public_surface.word(line) not in warned]


@pytest.fixture(name="surface", scope="module")
def fixture_surface():
    return public_surface.surface()


def test_the_changelog_names_what_changed_since_the_last_release(surface):
    fragments = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(FRAGMENTS.glob("*.yml"))]
    assert silent(public_surface.recorded(), surface, fragments) == [], (
        "users rely on these names: name them in a fragment of changelogs/fragments, in breaking_changes or removed_features if they are gone or other"
    )


@pytest.mark.parametrize(
    "line",
    [
        "playbook site",
        "finding FLAG-UNKNOWN",
        "plan services[].digest",
        "filter launch_plan",
        "module npu_info",
        "role service main",
        "variable inference_runtime: systemd, docker, supervisor, kubernetes, default systemd",
    ],
)
def test_every_kind_of_name_is_in_the_surface(line, surface):
    assert line in surface


def test_private_names_are_not_in_the_surface(surface):
    assert [line for line in surface if line.startswith(("filter _", "module service_state"))] == []


@pytest.mark.parametrize(
    ("now", "fragments", "expected"),
    [
        (["playbook site", "playbook scale"], [], ["+ playbook scale"]),
        (["playbook site", "playbook scale"], [{"minor_changes": ["scale - new playbook."]}], []),
        ([], [{"minor_changes": ["site - is gone."]}], ["- playbook site"]),
        ([], [{"removed_features": ["site - use deploy."]}], []),
    ],
)
def test_a_change_without_a_word_is_found(now, fragments, expected):
    assert silent(["playbook site"], now, fragments) == expected
