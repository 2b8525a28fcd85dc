# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role etcd with the packages of this machine's distribution."""

from __future__ import annotations

import os
import shutil

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import play
from ansible_collections.ascend.inference.tests.integration.test_store_failover import install

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("apt-get"), reason="needs apt and root")


@pytest.mark.long  # test_store_failover.py runs the distribution's etcd
def test_the_package_is_installed_where_the_program_is_missing(tmp_path):
    install()
    present = play(tmp_path, "etcd")
    assert (present.code, present.changed) == (0, 0), present.output
    assert "Install the packages" not in present.output, "nothing is started where the program is there"
    missing = play(tmp_path, "etcd", etcd_program=str(tmp_path / "etcd"))
    assert "Install the packages" in missing.output
    assert (missing.code, missing.changed) == (0, 0), missing.output  # a wrong name of the package would fail


@pytest.mark.long
def test_a_package_that_cannot_be_had_is_named(tmp_path):
    done = play(tmp_path, "etcd", etcd_program=str(tmp_path / "etcd"), etcd_package="etcd-none")
    assert done.code != 0 and "The store's high availability needs etcd-none" in done.text
