# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt is asked for a bundle, and which record of its index belongs to which file."""

from __future__ import annotations

import types

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import apt, distribution
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import FetchError

UBUNTU = distribution.Distribution("ubuntu", "22.04", "aarch64")
RELEASE = "Origin: Ubuntu\nVersion: 22.04\n"


def record(package, path, sha="a", version="1"):
    return {
        "Package": package,
        "Version": version,
        "Architecture": "arm64",
        "Depends": "libc6,\n libx",
        "Filename": path,
        "Size": "5",
        "SHA256": sha * 64,
    }


class Answers:
    """apt with some packages ``(package, version)`` and an index; keeps its commands and their folders."""

    def __init__(self, packages, records):
        self.packages, self.records, self.asked = packages, records, []

    def __call__(self, argv, timeout, env, cwd=None):
        assert env["DEBIAN_FRONTEND"] == "noninteractive"
        self.asked.append((argv, cwd))
        text = ""
        if "--print-uris" in argv:
            uris = [f"'http://m/pool/{name}_{v}_arm64.deb' {name}_{v}_arm64.deb 5 SHA" for name, v in self.packages]
            text = "Reading\n" + "\n".join(uris)
        if "show" in argv:
            text = "\n\n".join("\n".join(f"{key}: {value}" for key, value in each.items()) for each in self.records)
        return types.SimpleNamespace(rc=0, stdout=text, stderr="", timed_out=False)


@pytest.fixture
def closed(tmp_path):
    """``closed(packages, records, head)`` -> (packages found, apt's commands)."""

    def run(packages, records, head=RELEASE):
        (tmp_path / "hosts.list").write_text("deb http://m ./\n")
        lists = tmp_path / UBUNTU.platform / "lists"
        lists.mkdir(parents=True, exist_ok=True)
        (lists / "m_Release").write_text(head)
        answers = Answers(packages, records)
        wish = distribution.Wish(UBUNTU, ("b", "a"), (str(tmp_path / "hosts.list"),))
        return apt.Apt(str(tmp_path), answers).closure(wish), answers.asked

    return run


def test_all_packages_come_with_their_records(closed):
    records = [record(name, f"pool/{name}_1_arm64.deb", name) for name in "ba"]
    debs, asked = closed([("b", "1"), ("a", "1")], records)
    assert [deb.spec for deb in debs] == ["a=1", "b=1"]
    expected = {**records[1], "Filename": "./a_1_arm64.deb"}
    assert debs[0].record == "".join(f"{key}: {value}\n" for key, value in expected.items())
    commands = [[word for word in argv if "::" not in word and word != "-o"] for argv, _cwd in asked]
    assert commands == [
        ["apt-get", "update"],
        ["apt-get", "install", "--quiet=1", "--print-uris", "b", "a", "python3-apt"],
        ["apt-cache", "show", "b=1", "a=1"],
    ]


@pytest.mark.parametrize(
    "records",
    [
        [],
        [record("b", "pool/a_1_arm64.deb")],
        [record("a", "pool/a_1_arm64.deb", version="2")],
        [record("a", "elsewhere/a_1_arm64.deb")],
        [record("a", "")],
        [record("a", "pool/a_1_arm64.deb", "z")],
        [{key: value for key, value in record("a", "pool/a_1_arm64.deb").items() if key != "SHA256"}],
    ],
    ids=["none", "another package", "another version", "another place", "no place", "no hash", "without hash"],
)
def test_a_file_without_a_record_of_its_own_is_refused(closed, records):
    with pytest.raises(FetchError, match="the index of ubuntu 22.04 on aarch64 has no SHA-256 of a 1"):
        closed([("a", "1")], records)


def test_sources_of_another_release_are_refused(closed):
    with pytest.raises(FetchError, match="the package sources for ubuntu 22.04 on aarch64 are of Ubuntu 24.04"):
        closed([], [], "Origin: Ubuntu\nVersion: 24.04\n")


def test_packages_are_downloaded_into_a_folder_that_is_not_that_of_the_run(tmp_path, monkeypatch):
    answers, wish = Answers([], []), distribution.Wish(UBUNTU, ("a",), ())
    monkeypatch.setattr(apt, "bring", lambda wish, debs, store, download: download(["a=1"], "/scratch"))
    apt.Apt(str(tmp_path), answers).fetch(wish, [], None)
    ((argv, cwd),) = answers.asked
    assert argv[-2:] == ["download", "a=1"] and cwd == "/scratch" and "APT::Architecture=arm64" in argv
