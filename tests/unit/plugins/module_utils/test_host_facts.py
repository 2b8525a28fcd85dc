# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of the kernel's files, on text and on a socket of our own."""

from __future__ import annotations

import json
import os
import socket

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import facts
from ansible_collections.ascend.inference.plugins.module_utils.host.model_facts import model_facts

MEMINFO = (
    "MemTotal:  1056000 kB\nMemAvailable:  528000 kB\nHugePages_Total:  40\nHugePages_Free: 12\nHugepagesize: 2048 kB\n"
)
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units\n"
    "Max locked memory         8388608              unlimited            bytes\n"
    "Max open files            1024                 524288               files\n"
)


def test_a_listening_socket_is_found_with_its_owner():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        found = [item for item in facts.listening() if item["port"] == port]
    assert [(item["address"], item["pid"]) for item in found] == [("127.0.0.1", os.getpid())]


@pytest.mark.parametrize(
    ("word", "address"),
    [
        ("0100007F", "127.0.0.1"),
        ("00000000", "0.0.0.0"),
        ("00000000000000000000000001000000", "::1"),
        ("00000000000000000000000000000000", "::"),
        ("0000000000000000FFFF00000200000A", "10.0.0.2"),  # of an IPv6 socket that takes IPv4 connections
    ],
)
def test_addresses_are_decoded(word, address):
    assert facts.decode_address(word) == address


def test_memory_and_limits():
    assert facts.parse_meminfo(MEMINFO) == {
        "memory_total_mib": 1031,
        "memory_available_mib": 515,
        "hugepages_total": 40,
        "hugepages_free": 12,
        "hugepage_size_kib": 2048,
    }
    assert facts.parse_limits(LIMITS) == {"memlock_bytes": None, "nofile": 524288}


def test_disk_of_a_path_that_does_not_exist_yet(tmp_path):
    found = facts.disk(str(tmp_path / "not" / "yet"))
    assert found["free_mib"] > 0 and (found["read_only"], found["no_exec"]) == (False, False)


@pytest.mark.parametrize(
    ("flag", "files", "expected"),
    [
        (os.ST_RDONLY, 100, (7, True, False)),
        (os.ST_NOEXEC | os.ST_NODEV, 100, (7, False, True)),
        (0, 0, (None, False, False)),  # the file system creates inodes as needed
    ],
)
def test_mount_options_and_inodes_of_a_disk(tmp_path, monkeypatch, flag, files, expected):
    found = os.statvfs_result((4096, 4096, 900, 800, 700, files, 8, 7, flag, 255))
    monkeypatch.setattr(facts.os, "statvfs", lambda path: found)
    disk = facts.disk(str(tmp_path))
    assert (disk["free_inodes"], disk["read_only"], disk["no_exec"]) == expected


def test_the_mtu_of_an_interface_is_returned():
    record = {"ifname": "eth0", "mtu": 9000, "flags": ["UP"], "addr_info": [{"local": "10.0.0.1"}]}
    assert facts.addresses([record]) == {"eth0": {"up": True, "addresses": ["10.0.0.1"], "mtu": 9000}}


def test_equal_models_have_equal_fingerprints_and_others_not(tmp_path):
    folders = []
    for name, text in (("a", "x"), ("b", "x"), ("c", "y")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"text_config": {"head_dim": 64}}))
        (folder / "model.safetensors").write_text(text)
        folders.append(model_facts(str(folder)))
    prints = [folder["fingerprint"] for folder in folders]
    assert prints[0] == prints[1] != prints[2]
    assert folders[0]["config"] == {"head_dim": 64}


@pytest.mark.parametrize(("text", "word"), [("{", "not JSON"), ("[]", "not a JSON object")])
def test_a_broken_configuration_is_named(tmp_path, text, word):
    (tmp_path / "config.json").write_text(text)
    assert word in model_facts(str(tmp_path))["config_error"]


def test_a_missing_model_is_an_answer():
    assert model_facts("/nowhere/at/all")["exists"] is False
