# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module bundle_files: what a host lacks of a bundle, and files that get their names only with the announced SHA-256."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import bundle_files


def announced(content):
    return {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


FILES = {"a.whl": announced(b"first"), "b.whl": announced(b"second")}


def archive(path, members):
    with tarfile.open(str(path), "w") as opened:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))
    return str(path)


def test_missing_truncated_and_changed_files_are_named(tmp_path, run_module):
    directory = tmp_path / "cache"
    found = run_module("bundle_files", directory=str(directory), files=FILES)
    assert not found["changed"] and found["missing"] == ["a.whl", "b.whl"] and found["free"] > 0
    assert found["host"]["machine"] == os.uname().machine and not directory.exists()
    directory.mkdir()
    (directory / "a.whl").write_bytes(b"first")
    (directory / "b.whl").write_bytes(b"secon!")
    assert run_module("bundle_files", directory=str(directory), files=FILES)["missing"] == ["b.whl"]
    (directory / "b.whl").write_bytes(b"sec")
    assert run_module("bundle_files", directory=str(directory), files=FILES)["missing"] == ["b.whl"]


def test_the_archive_s_files_are_unpacked_once_and_others_stay(tmp_path, run_module):
    directory = tmp_path / "cache"
    directory.mkdir()
    (directory / "mine").write_text("x")
    sent = archive(tmp_path / "sent.tar", {"a.whl": b"first", "b.whl": b"second"})
    found = run_module("bundle_files", directory=str(directory), files=FILES, archive=sent)
    assert found["changed"] and found["missing"] == []
    assert sorted(os.listdir(str(directory))) == ["a.whl", "b.whl", "mine"]
    assert run_module("bundle_files", directory=str(directory), files=FILES)["missing"] == []


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"a.whl": b"fir?t"}, "a.whl has SHA-256 .* after the copy"),
        ({"../a.whl": b"first"}, "not announced"),
        ({"c.whl": b"first"}, "not announced"),
    ],
)
def test_other_content_gets_no_name(tmp_path, run_module, members, reason):
    sent = archive(tmp_path / "sent.tar", members)
    found = run_module("bundle_files", directory=str(tmp_path / "cache"), files=FILES, archive=sent)
    assert found["failed"] and not found["changed"]
    assert re.search(reason, found["msg"])
    assert os.listdir(str(tmp_path / "cache")) == [] and not (tmp_path / "a.whl").exists()


def test_check_mode_unpacks_nothing(tmp_path, run_module):
    sent = archive(tmp_path / "sent.tar", {"a.whl": b"first"})
    run_module("bundle_files", directory=str(tmp_path / "cache"), files=FILES, archive=sent, check=True)
    assert not (tmp_path / "cache").exists()


def test_packages_that_are_not_installed_are_named(tmp_path, run_module, monkeypatch):
    program = tmp_path / "dpkg-query"
    program.write_text(
        "#!/bin/sh\necho 'nginx installed'\necho 'haproxy config-files'\necho 'no packages found matching etcd' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = run_module("bundle_files", directory=str(tmp_path / "cache"), packages=["nginx", "haproxy", "etcd"])
    assert found["packages"] == ["etcd", "haproxy"]
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert bundle_files.lacking(["nginx"]) == ["nginx"] and bundle_files.lacking([]) == []


def test_the_distribution_is_what_os_release_says(tmp_path):
    file = tmp_path / "os-release"
    file.write_text('PRETTY_NAME="Ubuntu 22.04"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\n')
    assert bundle_files.distribution(str(file)) == "ubuntu 22.04"
    file.write_text("ID=debian\n")
    assert bundle_files.distribution(str(file)) == ""
    assert bundle_files.distribution(str(tmp_path / "absent")) == ""
