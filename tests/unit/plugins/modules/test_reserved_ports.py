# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module reserved_ports: one list in the kernel, several who want something in it."""

from __future__ import annotations

import pytest

KEY = "net.ipv4.ip_local_reserved_ports"
UNION = "99-z-ascend-inference-reserved-ports.conf"


class Host:
    def __init__(self, folder, run_module):
        self.directory, self.other, self.kernel = folder / "sysctl.d", folder / "sysctl.conf", folder / "kernel"
        self.directory.mkdir()
        self.kernel.write_text("\n")
        self.union = self.directory / UNION
        self.run_module = run_module

    def deployment(self, name, ports):
        (self.directory / f"60-ascend-inference-{name}.conf").write_text(f"{KEY}={ports}\n")

    def call(self, ports="", **more):
        words = {
            "ports": ports,
            "directory": str(self.directory),
            "others": [str(self.other)],
            "kernel": str(self.kernel),
        }
        return self.run_module("reserved_ports", **words, **more)


@pytest.fixture
def host(tmp_path, run_module):
    return Host(tmp_path, run_module)


def test_two_deployments_and_strangers_are_all_kept(host):
    host.other.write_text(f"# {KEY} = 1\n{KEY} = 7\n-net/ipv4/ip_local_reserved_ports = 40000,40001\n")
    host.kernel.write_text("50000-50002\n")
    host.deployment("a", "36100-36115")
    host.deployment("b", "36116,60000")
    result = host.call("36116,60000")
    assert result["changed"] and result["ports"] == "36100-36116,40000-40001,50000-50002,60000"
    assert host.kernel.read_text() == result["ports"] + "\n"
    assert host.union.read_text().endswith(f"{KEY} = 36100-36116,40000-40001,60000\n")
    assert not host.call("36116,60000")["changed"] and not host.call("36100-36115")["changed"]


def test_check_mode_says_what_it_would_do(host):
    result = host.call("36100", check=True)
    assert result["changed"] and not host.union.exists() and host.kernel.read_text() == "\n"
    assert "live: 36100" in result["diff"]["after"]


def test_the_last_deployment_takes_the_union_with_it(host):
    host.deployment("a", "36100")
    host.deployment("b", "36200")
    host.call("36100")
    (host.directory / "60-ascend-inference-b.conf").unlink()
    assert host.call()["changed"]
    assert host.union.read_text().endswith(f"{KEY} = 36100\n")
    (host.directory / "60-ascend-inference-a.conf").unlink()
    assert host.call()["changed"] and not host.union.exists()
    assert not host.call()["changed"]
    assert host.kernel.read_text() == "36100,36200\n"


@pytest.mark.parametrize("text", ["99999", "5-4", "http", "1-2-3"])
def test_a_file_that_cannot_be_understood_is_named(host, text):
    host.other.write_text(f"{KEY} = {text}\n")
    result = host.call("36100")
    assert result["failed"] and str(host.other) in result["msg"] and repr(text) in result["msg"]
    assert not host.union.exists()
