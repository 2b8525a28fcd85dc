# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which sources a host clones and builds: by its services, its hardware, its software and what the site says."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.checkouts import build_packages, checkouts

ENGINES = ["vllm", "vllm-ascend"]
MOONCAKE = ["Mooncake", "yalantinglibs"]
KINDS = {"engine": "decode", "other": "prefill", "store": "mooncake_master", "proxy": "router"}


def plan(contained=False, **mooncake):
    return {
        "services": [{"kind": kind, "host": host} for host, kind in KINDS.items()],
        "hosts": [{"name": host, "hardware": "a2" if host == "other" else "a3"} for host in KINDS],
        "runtime_facts": {"contained": contained},
        "software": {
            "engine": {"version": "0.9", "release": "0.9.1", "builds": {"a3": {"method": "source"}, "a2": {}}},
            "mooncake": {"version": "0.3", "package": "", "needed": True, **mooncake},
        },
    }


@pytest.mark.parametrize(
    ("host", "given", "known", "names"),
    [
        ("engine", plan(), {}, [*ENGINES, *MOONCAKE]),
        ("other", plan(), {}, MOONCAKE),  # its hardware has packages
        ("store", plan(), {}, MOONCAKE),
        ("proxy", plan(), {}, []),
        ("elsewhere", plan(), {}, []),
        ("engine", plan(contained=True), {}, []),
        ("engine", plan(needed=False), {}, ENGINES),
        ("engine", plan(package="mooncake"), {}, ENGINES),
        ("other", plan(package="mooncake"), {"mooncake_method": "source"}, MOONCAKE),
        ("other", plan(), {"mooncake_method": "none"}, []),
        ("other", plan(needed=False), {"mooncake_method": "source"}, []),
        ("other", plan(), {"mooncake_dependencies": False}, ["Mooncake"]),
        ("other", plan(), {"mooncake_dependencies_method": "script"}, ["Mooncake"]),
    ],
)
def test_a_host_clones_what_it_builds(host, given, known, names):
    assert [each.name for each in checkouts(given, host, known)] == names
    packages = build_packages(given, host, "Debian", known)
    own = {"vllm_ascend_system_packages": ["v"], "mooncake_system_packages": {"Debian": ["m"]}}
    more = {**own, "mooncake_dependency_packages": {"Debian": ["d"], "RedHat": ["r"]}, **known}
    wanted = [("d", "yalantinglibs"), ("m", "Mooncake"), ("v", "vllm")]
    assert build_packages(given, host, "Debian", more) == [package for package, name in wanted if name in names]
    assert bool(packages) is bool(names)


def test_only_archives_of_a_known_release_are_known_before():
    """A release says which archives its build fetches; a branch of somebody may fetch others."""
    releases = {each.name: each.release for each in checkouts(plan(), "engine", {})}
    assert releases == {"vllm": "", "vllm-ascend": "0.9.1", "Mooncake": "", "yalantinglibs": ""}
    found = {each.name: each for each in checkouts(plan(), "engine", {"vllm_ascend_ref": "main", "mooncake_ref": "m"})}
    assert (found["vllm-ascend"].ref, found["vllm-ascend"].release, found["Mooncake"].ref) == ("main", "", "m")
    assert found["vllm"].ref == "v0.9" and found["vllm"].python and not found["vllm"].fetches
    assert found["vllm-ascend"].fetches and found["Mooncake"].fetches and not found["Mooncake"].python
