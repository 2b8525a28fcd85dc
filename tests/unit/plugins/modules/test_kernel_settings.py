# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module kernel_settings: a deployment's own file and live values, and one list of ports of which several want something."""

from __future__ import annotations

import pathlib
import stat

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import kernel_settings

KEY = "net.ipv4.ip_local_reserved_ports"
MAPS = "vm.max_map_count"
UNION = "99-z-ascend-inference-reserved-ports.conf"


class Host:
    def __init__(self, folder, run_module):
        self.directory, self.other, self.kernel = folder / "sysctl.d", folder / "sysctl.conf", folder / "proc"
        self.directory.mkdir()
        (self.kernel / "net/ipv4").mkdir(parents=True)
        (self.kernel / "vm").mkdir()
        self.reserved, self.maps = self.kernel / "net/ipv4/ip_local_reserved_ports", self.kernel / "vm/max_map_count"
        self.reserved.write_text("\n")
        self.maps.write_text("65530\n")
        self.union = self.directory / UNION
        self.run_module = run_module

    def file(self, name):
        return self.directory / f"60-ascend-inference-{name}.conf"

    def call(self, name="a", ports="", more=None, **options):
        words = {
            "deployment": name,
            "settings": {**({KEY: ports} if ports else {}), **(more or {})},
            "directory": str(self.directory),
            "others": [str(self.other)],
            "kernel": str(self.kernel),
        }
        return self.run_module("kernel_settings", **{**words, **options})


@pytest.fixture
def host(tmp_path, run_module):
    return Host(tmp_path, run_module)


def test_settings_hold_now_and_after_a_boot(host):
    result = host.call(more={MAPS: 1000000})
    assert result["changed"] and host.maps.read_text() == "1000000\n"
    head, line = host.file("a").read_text().splitlines()
    assert head.startswith("# Written by ascend.inference") and line == f"{MAPS}=1000000" and not host.union.exists()
    assert not host.call(more={MAPS: 1000000})["changed"]
    host.maps.write_text("65530\n")  # as somebody else set it
    assert host.call(more={MAPS: 1000000})["changed"] and host.maps.read_text() == "1000000\n"


def test_all_deployments_and_others_are_kept(host):
    host.other.write_text(f"# {KEY} = 1\n{KEY} = 7\n-net/ipv4/ip_local_reserved_ports = 40000,40001\n")
    host.reserved.write_text("50000-50002\n")
    host.call("a", "36100-36115")
    result = host.call("b", "36116,60000")
    assert result["changed"] and result["ports"] == "36100-36116,40000-40001,50000-50002,60000"
    assert host.reserved.read_text() == result["ports"] + "\n"
    assert host.union.read_text().endswith(f"{KEY} = 36100-36116,40000-40001,60000\n")
    assert not host.call("b", "36116,60000")["changed"] and not host.call("a", "36100-36115")["changed"]


def test_check_mode_says_what_it_would_do(host):
    result = host.call("a", "36100", {MAPS: "1000000"}, check=True)
    assert result["changed"] and not host.union.exists() and not host.file("a").exists()
    assert host.reserved.read_text() == "\n" and host.maps.read_text() == "65530\n"
    after = "".join(item["after"] for item in result["diff"])
    assert f"{KEY} = 36100" in after and f"{MAPS} = 1000000" in after and f"{MAPS}=1000000" in after


def test_the_last_deployment_takes_the_union_with_it(host):
    host.call("a", "36100", {MAPS: "1000000"})
    host.call("b", "36200")
    assert host.call("b")["changed"] and not host.file("b").exists()
    assert host.union.read_text().endswith(f"{KEY} = 36100\n")
    assert host.call("a")["changed"] and not host.union.exists()
    assert not host.call("a")["changed"]
    assert host.reserved.read_text() == "36100,36200\n" and host.maps.read_text() == "1000000\n"


@pytest.mark.parametrize("text", ["99999", "5-4", "http", "1-2-3"])
def test_a_file_that_cannot_be_understood_is_named(host, text):
    host.other.write_text(f"{KEY} = {text}\n")
    result = host.call("a", "36100")
    assert result["failed"] and str(host.other) in result["msg"] and repr(text) in result["msg"]
    assert not host.union.exists() and not host.file("a").exists()


def test_everybody_can_read_why_a_value_is_set(host):
    """sysctl and administrators without root look there; the temporary file that replaces it is private."""
    host.call("a", "36100")
    assert {stat.S_IMODE(path.stat().st_mode) for path in (host.union, host.file("a"))} == {0o644}


FOREIGN = f"{MAPS}=7\nvm.swappiness=1\n"


def test_files_of_others_with_these_names_are_never_removed(host):
    host.file("a").write_text(FOREIGN)
    host.union.write_text(f"{KEY} = 5\n")
    result = host.call("a")
    assert not result["changed"] and result["kept"] == [str(host.file("a")), str(host.union)] and not result["saved"]
    result = host.call("a", "36100", check=True)
    assert set(result["saved"]) == {str(host.file("a")), str(host.union)} and host.file("a").read_text() == FOREIGN
    result = host.call("a", "36100", {MAPS: "1000000"})
    assert pathlib.Path(result["saved"][str(host.file("a"))]).read_text() == FOREIGN and not result["kept"]
    assert host.call("a")["changed"] and not host.file("a").exists() and not host.union.exists()
    assert sorted(path.read_text() for path in host.directory.iterdir()) == [f"{KEY} = 5\n", FOREIGN]


@pytest.mark.parametrize("text", [f"{KEY}=36100-36115,60000\n{MAPS}=1000000\n", f"{MAPS}=1000000\n"])
def test_files_of_earlier_versions_had_no_mark(host, text):
    host.file("a").write_text(text)
    assert host.call("a")["changed"] and not list(host.directory.iterdir())


def test_without_deployments_the_ports_of_other_files_need_no_union(tmp_path):
    """The other files say them already; the union would keep them when somebody takes them out there."""
    directory, kernel = tmp_path / "sysctl.d", tmp_path / "kernel"
    (kernel / "net/ipv4").mkdir(parents=True)
    (kernel / "net/ipv4/ip_local_reserved_ports").write_text("9000\n")
    directory.mkdir()
    (directory / "50-site.conf").write_text("net.ipv4.ip_local_reserved_ports = 9000\n")
    ports = {"net.ipv4.ip_local_reserved_ports": "36100"}
    first = kernel_settings.Settings(str(directory), [], str(kernel), "chat", ports)
    first.apply()
    assert (directory / kernel_settings.UNION).exists()
    kernel_settings.Settings(str(directory), [], str(kernel), "chat", {}).apply()
    assert [path.name for path in directory.iterdir()] == ["50-site.conf"]
    assert not kernel_settings.Settings(str(directory), [], str(kernel), "chat", {}).changed


def test_the_result_names_files_ports_and_each_change(host):
    host.reserved.write_text("5\n")
    result = host.call("a", "36100", {MAPS: 1000000})
    own, union = str(host.file("a")), str(host.union)
    assert (result["files"], result["ports"], result["saved"], result["kept"]) == ([own, union], "5,36100", {}, [])
    first, second, *live = result["diff"]
    assert (first["before"], first["before_header"], first["after_header"]) == ("", own, own)
    assert first["after"] == host.file("a").read_text()
    assert (second["before"], second["before_header"], second["after"]) == ("", union, host.union.read_text())
    heads = {"before_header": "live", "after_header": "live"}
    assert live == [
        dict(heads, before=f"{KEY} = 5\n", after=f"{KEY} = 5,36100\n"),
        dict(heads, before=f"{MAPS} = 65530\n", after=f"{MAPS} = 1000000\n"),
    ]
    assert host.call("a", "36100", {MAPS: 1000000})["diff"] == []


def test_a_value_of_several_numbers_is_the_same_with_other_spaces(host):
    place = host.kernel / "net/ipv4/tcp_rmem"
    place.write_text("4096\t131072\t6291456\n")
    assert host.call(more={"net.ipv4.tcp_rmem": "4096 131072 6291456"})["changed"], "for the file"
    assert (
        place.read_text() == "4096\t131072\t6291456\n"
        and not host.call(more={"net.ipv4.tcp_rmem": "4096 131072 6291456"})["changed"]
    )


def test_ports_of_folders_of_others_are_in_the_union_and_other_files_are_not_read(host, tmp_path):
    other = tmp_path / "lib"
    other.mkdir()
    (other / "50-x.conf").write_text(f"{KEY} = 70\n")
    (other / "50-x.bak").write_text(f"{KEY} = 71\n")
    (host.directory / "50-site.conf").write_text(f"{KEY} = 72\n")
    (other / UNION).write_text(f"{KEY} = 73\n")
    result = host.call("a", "36100", others=[str(other), str(host.other)])
    assert result["ports"] == "70,72,36100" and host.union.read_text().endswith(f"{KEY} = 70,72,36100\n")


def test_a_value_that_the_kernel_does_not_have_is_a_failure(host):
    result = host.call(more={"vm.none.such": "1"})
    assert result["failed"] and result["msg"].startswith("Kernel settings: ") and "vm/none/such" in result["msg"]


@pytest.mark.parametrize("ports", ["70000", "x"])
def test_ports_that_are_none_change_nothing(host, ports):
    result = host.call("a", ports, {MAPS: "1000000"})
    assert result["failed"] and repr(ports) in result["msg"] and list(host.directory.iterdir()) == []
    assert host.maps.read_text() == "65530\n"
