# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules virtual_address and virtual_address_info beside a host's programs: what is refused, and what check mode leaves alone."""

from __future__ import annotations

import os

import pytest
from ansible_collections.ascend.inference.plugins.modules import virtual_address
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.test_virtual_address import Systemd

GIVEN = {
    "deployment": "demo",
    "address": "10.0.0.100/32",
    "own": "10.0.0.1",
    "configuration": "# Written by ascend.inference\ninterface @INTERFACE@\nvirtual_router_id 51\n",
    "script": "#!/bin/bash\n# Written by ascend.inference\n",
}

INTERFACES = {"eth7": {"addresses": ["10.0.0.1"]}, "bond0": {"addresses": []}}


@pytest.fixture
def call(run_module, monkeypatch, tmp_path):
    """``call(...)``: the result; a host with systemd, keepalived and the address of ``own``."""
    (tmp_path / "units").mkdir()
    (tmp_path / "keepalived").touch()
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    monkeypatch.setattr(virtual_address, "SYSTEMD", str(tmp_path))
    monkeypatch.setattr(virtual_address, "run", Systemd(str(tmp_path / "units")))
    monkeypatch.setattr(virtual_address, "interfaces", lambda: (INTERFACES, []))
    monkeypatch.setattr(virtual_address.os, "geteuid", lambda: 0)
    monkeypatch.setattr(virtual_address.AnsibleModule, "get_bin_path", lambda _self, name, **_more: "/sbin/" + name)
    places = {
        "directory": str(tmp_path / "etc"),
        "units": str(tmp_path / "units"),
        "program": str(tmp_path / "keepalived"),
    }

    def run(check=False, **options):
        return run_module("virtual_address", check=check, **{**GIVEN, **places, **options})

    return run


def test_check_mode_shows_what_a_run_does(call, tmp_path):
    found = call(check=True)
    assert found["changed"] and found["interface"] == "eth7" and not (tmp_path / "etc").exists()
    shown = {entry["after_header"]: entry["after"] for entry in found["diff"]}
    assert "interface eth7" in shown[str(tmp_path / "etc" / "demo.conf")]
    assert shown["ascend-inference-address-demo.service"] == "enabled, active\n"
    assert call()["changed"] and not call()["changed"] and not call(check=True)["changed"]


def test_absent_needs_only_a_name(call, tmp_path):
    call()
    words = {"address": None, "own": None, "configuration": None, "script": None}
    assert call(state="absent", check=True, **words)["changed"] and os.listdir(tmp_path / "etc")
    assert call(state="absent", **words)["changed"] and not os.listdir(tmp_path / "etc")
    assert not call(state="absent", **words)["changed"]


def test_a_missing_program_is_named(call):
    found = call(check=True, program="/missing/keepalived")
    assert found["changed"] and found["missing"] == "/missing/keepalived"
    found = call(program="/missing/keepalived")
    assert found["failed"] and "/missing/keepalived is missing. Fix: " in found["msg"]


def test_what_cannot_have_it_is_refused(call, monkeypatch):
    assert "no interface of this host" in call(own="10.0.0.2")["msg"]
    assert "no interface bond1" in call(interface="bond1")["msg"]
    assert call(own="10.0.0.2", interface="bond0")["interface"] == "bond0"
    assert "same virtual_router_id" in call(deployment="other")["msg"]
    monkeypatch.setattr(virtual_address.os, "geteuid", lambda: 1000)
    assert "only root" in call()["msg"]
    monkeypatch.setattr(virtual_address, "SYSTEMD", "/missing")
    assert "systemd does not run" in call()["msg"]


def test_a_unit_that_others_wrote_is_named(call, tmp_path):
    (tmp_path / "units" / "ascend-inference-address-demo.service").write_text("[Service]\n")
    found = call(state="absent")
    assert not found["changed"] and "Not removed" in str(found["warnings"])


def test_who_has_an_address(run_module):
    assert run_module("virtual_address_info", address="127.0.0.1")["held"] is True
    assert run_module("virtual_address_info", address="192.0.2.1")["held"] is False
    assert "is not an IP address" in run_module("virtual_address_info", address="entry")["msg"]


def test_messages_name_the_variable_that_has_the_address(call):
    found = call(interface="eth9", variable="inference_entry.address")
    assert "set inference_entry.virtual_interface" in found["msg"] and "inference_router" not in found["msg"]
    found = call(own="10.0.0.9", variable="inference_entry.address")
    assert "inference_entry.virtual_interface" in found["msg"] and "inference_router" not in found["msg"]
    assert call()["changed"]
    found = call(deployment="_entry", variable="inference_entry.address")
    assert "set another inference_entry.virtual_router_id" in found["msg"]
