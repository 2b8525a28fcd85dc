# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's part in a virtual address: its files and unit, what a second run does, and who has the address."""

from __future__ import annotations

import os

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host.virtual_address import (
    AddressProblem,
    Kept,
    holds,
    interface_of,
)
from ansible_collections.ascend.inference.plugins.module_utils.status.virtual_address import findings, state_of

WANTED = {
    "variable": "inference_router.virtual_address",
    "configuration": "# Written by ascend.inference\n    interface @INTERFACE@\n    virtual_router_id 51\n",
    "script": "#!/bin/bash\n# Written by ascend.inference\n",
    "interface": "eth0",
    "address": "10.0.0.100/32",
    "program": "/usr/sbin/keepalived",
    "ip": "/sbin/ip",
}
TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.0.7
        /32 link UNICAST
Local:
  +-- 0.0.0.0/0 3 0 5
     +-- 10.0.0.0/24 2 0 2
        |-- 10.0.0.0
           /24 link UNICAST
        |-- 10.0.0.100
           /32 host LOCAL
        |-- 10.0.0.255
           /32 link BROADCAST
"""


class Systemd:
    """A systemd that knows whether the unit is enabled and active; ``starts``: whether it stays active."""

    def __init__(self, units, starts=True):
        self.units, self.starts, self.active, self.calls = units, starts, False, []
        self.stops = True

    def __call__(self, argv):
        self.calls.append(argv[1:])
        wants = os.path.join(self.units, "multi-user.target.wants", argv[-1])
        if argv[1] == "is-active":
            return (0 if self.active else 3), "", ""
        if argv[0] == "journalctl":
            return 0, "one\nunknown keyword\n", ""
        if argv[1] == "enable":
            os.makedirs(os.path.dirname(wants), exist_ok=True)
            os.symlink("../" + argv[-1], wants)
        if argv[1] == "restart":
            self.active = self.starts
        if argv[1] == "disable":
            if not os.path.exists(os.path.join(self.units, argv[-1])):  # as systemd 252 does, also with --now
                return 1, "", f"Failed to disable unit: Unit file {argv[-1]} does not exist."
            self.active = False
            os.unlink(wants)
        if argv[1] == "stop":
            self.active = not self.stops
        return 0, "", ""

    def verbs(self):
        found, self.calls = [words[0] for words in self.calls if words[0] != "is-active"], []
        return found


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    (tmp_path / "units").mkdir()
    systemd = Systemd(str(tmp_path / "units"))

    def kept(wanted, deployment="demo"):
        return Kept(systemd, deployment, wanted, str(tmp_path / "etc" / "virtual-address"), str(tmp_path / "units"))

    return systemd, kept, tmp_path


def test_a_second_run_changes_nothing(host):
    systemd, kept, folder = host
    first = kept(WANTED)
    assert (
        first.changed
        and [entry["after_header"] for entry in first.diff()][-1] == "ascend-inference-address-demo.service"
    )
    first.apply()
    assert systemd.verbs() == ["daemon-reload", "enable", "restart"]
    again = kept(WANTED)
    assert not again.changed and again.diff() == []
    paths = {path.name: path for path in (folder / "etc" / "virtual-address").iterdir()}
    assert "interface eth0" in paths["demo.conf"].read_text() and "@" not in paths["demo.conf"].read_text()
    assert paths["demo.sh"].stat().st_mode & 0o777 == 0o755, "another user runs it"
    assert paths["demo.conf"].stat().st_mode & 0o777 == 0o644
    unit = (folder / "units" / "ascend-inference-address-demo.service").read_text()
    assert f"--use-file={paths['demo.conf']}" in unit
    assert "ExecStopPost=-/sbin/ip address delete 10.0.0.100/32 dev eth0" in unit


def test_another_configuration_is_read_without_giving_up_the_address(host):
    systemd, kept, dummy = host
    kept(WANTED).apply()
    systemd.verbs()
    other = kept({**WANTED, "configuration": WANTED["configuration"] + "# more\n"})
    assert other.changed and len(other.diff()) == 1
    other.apply()
    assert systemd.verbs() == ["reload"]


def test_another_address_restarts_it(host):
    systemd, kept, dummy = host
    kept(WANTED).apply()
    systemd.verbs()
    kept({**WANTED, "address": "10.0.0.101/32"}).apply()
    assert systemd.verbs() == ["daemon-reload", "restart"]


def test_one_that_was_stopped_or_whose_script_cannot_be_run_is_repaired(host):
    systemd, kept, folder = host
    kept(WANTED).apply()
    systemd.active = False
    assert kept(WANTED).changed
    kept(WANTED).apply()
    assert systemd.active
    script = folder / "etc" / "virtual-address" / "demo.sh"
    script.chmod(0o644)
    assert kept(WANTED).changed
    kept(WANTED).apply()
    assert not kept(WANTED).changed


def test_another_user_can_run_the_script_where_root_keeps_others_out(host):
    dummy, kept, folder = host
    before = os.umask(0o077)
    try:
        kept(WANTED).apply()
    finally:
        os.umask(before)
    for path in (folder / "etc", folder / "etc" / "virtual-address", folder / "etc" / "virtual-address" / "demo.sh"):
        assert path.stat().st_mode & 0o001 and not path.stat().st_mode & 0o022
    assert not kept(WANTED).changed
    (folder / "etc").chmod(0o700)
    assert kept(WANTED).changed


@pytest.mark.parametrize("mask", [0, 0o002])
def test_nobody_else_can_replace_what_root_trusts_whatever_the_umask_is(host, mask):
    dummy, kept, folder = host
    before = os.umask(mask)
    try:
        kept(WANTED).apply()
    finally:
        os.umask(before)
    found = [folder / "etc", *(folder / "etc").rglob("*"), *(folder / "units").glob("*.service")]
    assert len(found) == 5 and [str(path) for path in found if path.stat().st_mode & 0o022] == []


def test_one_that_ends_is_reported_with_its_log(host):
    systemd, kept, dummy = host
    systemd.starts = False
    with pytest.raises(AddressProblem, match=r"does not run .* one \| unknown keyword.*Fix: "):
        kept(WANTED).apply()


def test_removal_leaves_nothing(host):
    systemd, kept, folder = host
    kept(WANTED).apply()
    systemd.verbs()
    gone = kept(None)
    assert gone.changed and gone.diff()
    gone.apply()
    assert systemd.verbs() == ["disable", "daemon-reload"]
    assert list((folder / "etc" / "virtual-address").iterdir()) == []
    assert not kept(None).changed and kept(None).diff() == []
    kept(None).apply()
    assert systemd.verbs() == []


def test_removal_stops_one_whose_unit_file_is_gone(host):
    """Without its files nobody would find it again, and the host would keep the address."""
    systemd, kept, folder = host
    kept(WANTED).apply()
    (folder / "units" / "ascend-inference-address-demo.service").unlink()
    kept(None).apply()
    assert not systemd.active and list((folder / "etc" / "virtual-address").iterdir()) == []


def test_keepalived_ends_also_without_the_file_of_its_unit(host):
    """systemd does not disable such a unit, and so does not stop it; it would keep the address without its files."""
    systemd, kept, folder = host
    kept(WANTED).apply()
    for place in ("multi-user.target.wants", "."):
        (folder / "units" / place / "ascend-inference-address-demo.service").unlink()
    systemd.stops = False
    with pytest.raises(AddressProblem, match=r"still runs.*Fix: "):
        kept(None).apply()
    systemd.stops = True
    kept(None).apply()
    assert not systemd.active and not kept(None).changed


def test_a_unit_of_somebody_else_stays(host):
    systemd, kept, folder = host
    unit = folder / "units" / "ascend-inference-address-demo.service"
    unit.write_text("[Service]\n")
    found = kept(None)
    assert not found.changed and found.files.kept == [str(unit)]
    found.apply()
    assert unit.exists() and systemd.verbs() == []


def test_two_deployments_of_a_host_need_numbers_of_their_own(host):
    dummy, kept, dummy = host
    kept(WANTED).apply()
    assert kept(WANTED).conflict() == "" and kept(None, "other").conflict() == ""
    assert "deployment demo has the same virtual_router_id 51" in kept(WANTED, "other").conflict()
    other = {**WANTED, "configuration": WANTED["configuration"].replace("51", "52")}
    assert kept(other, "other").conflict() == ""


def test_an_address_that_the_host_has_without_it_is_refused(host):
    """keepalived removes it at its start and its end, and the operator may be connected to it."""
    systemd, kept, folder = host
    own = {**WANTED, "address": "127.0.0.1/32"}
    assert "this host already has 127.0.0.1" in kept(own).conflict() and "Fix: " in kept(own).conflict()
    assert kept(WANTED).conflict() == "" and kept(None).conflict() == ""
    kept(own).apply()
    assert kept(own).conflict() == "" and kept({**own, "address": "127.0.0.1/8"}).conflict() == ""


@pytest.mark.parametrize(
    ("address", "held"), [("10.0.0.100", True), ("10.0.0.7", False), ("10.0.0.255", False), ("10.0.0.10", False)]
)
def test_an_address_of_the_host_is_in_the_kernel_s_table(tmp_path, address, held):
    (tmp_path / "trie").write_text(TRIE)
    assert holds(address, ipv4=str(tmp_path / "trie")) is held


def test_ipv6(tmp_path):
    (tmp_path / "six").write_text("fd000000000000000000000000000100 02 80 00 80     eth0\n")
    assert holds("fd00::100", ipv6=str(tmp_path / "six")) is True
    assert holds("fd00::101", ipv6=str(tmp_path / "six")) is False


def test_unknown_is_not_no(tmp_path):
    assert holds("10.0.0.1", ipv4=str(tmp_path / "missing")) is None
    assert state_of({"virtual_address": "127.0.0.1"}) == {"virtual_address": "127.0.0.1", "has_address": True}
    assert state_of({}) == {}


def test_a_host_says_whether_it_could_get_the_address(tmp_path):
    """keepalived's folder is systemd's, which removes it when keepalived ends for whatever reason."""
    service = {"virtual_address": "10.9.9.9", "keeper": "ascend-inference-address-demo"}
    assert state_of(service, str(tmp_path))["kept"] is False
    text = "".join(findings(service, state_of(service, str(tmp_path))))
    assert "keepalived does not run" in text and "Fix: " in text and "-u ascend-inference-address-demo" in text
    (tmp_path / "ascend-inference-address-demo").mkdir()
    (tmp_path / "ascend-inference-address-demo" / "keepalived.pid").touch()
    assert state_of(service, str(tmp_path))["kept"] is True
    assert list(findings(service, state_of(service, str(tmp_path)))) == []
    assert list(findings({}, {})) == []


def test_the_interface_is_that_of_the_host_s_address():
    found = {"lo": {"addresses": ["127.0.0.1", "::1"]}, "eth1": {"addresses": ["10.0.0.1", "fe80::1%eth1", "?"]}}
    assert interface_of("10.0.0.1", found, "inference_router.virtual_interface") == "eth1"
    with pytest.raises(AddressProblem, match=r"no interface .* 10\.0\.0\.2.*Fix: "):
        interface_of("10.0.0.2", found, "inference_router.virtual_interface")
    with pytest.raises(AddressProblem):
        interface_of("10.0.0.1", None, "inference_router.virtual_interface")


@pytest.mark.parametrize("name", ["a{b", "a%h", "a$b", "a#b", "a!b", "-a", "a;b", 'a"b', "a\\b"])
def test_a_name_that_a_unit_or_keepalived_reads_as_something_else_is_refused(name):
    with pytest.raises(AddressProblem, match=r"(?s)10\.0\.0\.1.*Fix: "):
        interface_of("10.0.0.1", {name: {"addresses": ["10.0.0.1"]}}, "inference_router.virtual_interface")
