# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role system_packages on a host whose package lists are empty: they are updated once, and a missing package is reported.

Uses the real apt with an empty separate folder for lists, so that the lists of the machine are not changed.
"""

from __future__ import annotations

import os
import shutil

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import play

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("apt-get"), reason="needs apt and root")


@pytest.fixture
def empty_lists(tmp_path, monkeypatch):
    """An empty folder that apt uses for its lists."""
    lists = tmp_path / "lists"
    (lists / "partial").mkdir(parents=True)
    configuration = tmp_path / "apt.conf"
    configuration.write_text(
        f'Dir::State::lists "{lists}";\nDir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\nAPT::Sandbox::User "root";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(configuration))
    return lists


def names(folder):
    """The lists of packages in a folder."""
    return sorted(path.name for path in folder.glob("*_Packages*"))


def test_a_package_that_the_empty_lists_do_not_name_is_found_after_an_update(tmp_path, empty_lists):
    """A version that does not exist, so that nothing is installed."""
    check = play(tmp_path, "system_packages", "--check", system_packages_names=["sl"])
    assert (check.code, check.changed, names(empty_lists)) == (0, 1, []), check.output
    run = play(tmp_path, "system_packages", system_packages_names=["sl=0-none"], system_packages_purpose="The test")
    assert run.code != 0
    assert names(empty_lists), "the lists were not updated"
    assert "The test needs sl=0-none, but localhost cannot install them" in run.text
    assert 'Fix: run "apt-get update" as root on localhost' in run.text


def test_installed_packages_need_no_lists(tmp_path, empty_lists):
    run = play(tmp_path, "system_packages", system_packages_names=["dpkg", "apt"])
    assert (run.code, run.changed, names(empty_lists)) == (0, 0, []), run.output
