# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action bundle_files: what it asks of a host, in which order, and what it refuses before anything is copied."""

from __future__ import annotations

import types

import pytest
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.inference.plugins.action import bundle_files as action
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import (
    item,
    manifest,
    read_with_digest,
    write,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform

ARM = Platform("aarch64", "3.11", "2.34")
URL = "http://192.0.2.9:8000"


@pytest.fixture
def act(tmp_path, monkeypatch):
    """``act(distribution, ...)`` -> (result, options of each run of the module); nothing is on the host."""
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
    monkeypatch.setattr(action, "names_of_packages", lambda plan, host, family, known: [f"{family}-nginx"])
    wheel = item("wheel", "a.whl", "", "0" * 64, 5, f"blobs/{'0' * 64}/a.whl", platforms=[ARM.name])
    write(str(tmp_path), manifest({}, [wheel], [ARM]))
    digest = read_with_digest(str(tmp_path))[1]

    def run(distribution, lacking=(), **more):
        asked = []

        def execute(self, module_name, module_args, task_vars):
            asked.append(module_args)
            host = {"machine": "aarch64", "python": "3.11", "glibc": "2.34", "distribution": distribution}
            missing = [] if "url" in module_args and module_args["state"] == "present" else ["a.whl"]
            answer = {"host": host, "missing": missing, "free": 10**12, "packages": []}
            return {**answer, "packages_of_dnf": list(lacking)}

        monkeypatch.setattr(ActionBase, "_execute_module", execute)
        acting = action.ActionModule.__new__(action.ActionModule)
        args = {"path": str(tmp_path), "manifest_sha256": digest, "directory": "/cache", "plan": {"x": 1}, **more}
        acting._task = types.SimpleNamespace(args=args, check_mode=False)
        acting._send = lambda *given: pytest.fail("the controller sends files")
        return acting.run(task_vars={"inventory_hostname": "h"}), asked

    return run


def test_a_host_with_dnf_that_cannot_have_its_packages_is_refused_first(act):
    found, asked = act("openEuler 22.03", ["RedHat-nginx"], state="compared")
    assert found["failed"] and "h has openEuler 22.03 on aarch64 and lacks" in found["msg"] and len(asked) == 2
    assert asked[0]["packages"] == ["Debian-nginx"] and asked[1]["packages_of_dnf"] == ["RedHat-nginx"]


@pytest.mark.parametrize("distribution", ["openEuler 22.03", "debian 12", ""])
def test_other_hosts_are_not(act, distribution):
    found, asked = act(distribution, ["RedHat-nginx"] if distribution == "debian 12" else [], state="compared")
    assert not found.get("failed") and found["missing"] == ["a.whl"]
    assert any("packages_of_dnf" in each for each in asked) is distribution.startswith("openEuler")


@pytest.mark.parametrize("state", ["compared", "present"])
def test_a_host_fetches_from_its_rack_what_it_lacks(act, state):
    found, asked = act("debian 12", url=URL, state=state)
    assert found["missing"] == ["a.whl"] and found["changed"] is (state == "present")
    assert asked[-1]["url"] == URL and asked[-1]["state"] == state and set(asked[-1]["files"]) == {"a.whl"}
    assert asked[-1]["files"]["a.whl"]["path"].endswith("/a.whl") and asked[-1]["manifest_sha256"]
