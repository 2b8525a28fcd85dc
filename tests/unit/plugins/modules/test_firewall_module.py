# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module firewall beside its programs: which one filters, what is recorded for other deployments, and what check mode leaves alone."""

from __future__ import annotations

import json
import types

import pytest
from ansible_collections.ascend.inference.plugins.modules import firewall

RULES = [{"ports": "7100-7115", "from": "cluster", "for": "prefill-0 api"}]


@pytest.fixture
def call(run_module, monkeypatch, tmp_path):
    """``call(...)``: (result, what was done); the programs of the host are there, and its rules differ if there is a policy."""
    done = []

    def backend(name):
        class Backend:
            def __init__(self, _host, _deployment, policy, *_noted):
                self.changed, self.files = policy is not None, types.SimpleNamespace(kept=[])

            def check(self):
                done.append(f"check {name}")

            def apply(self):
                done.append(f"apply {name}")

            def diff(self):
                return []

        return Backend

    monkeypatch.setattr(firewall.AnsibleModule, "get_bin_path", lambda _self, name: "/usr/sbin/" + name)
    monkeypatch.setattr(firewall, "sshd_ports", lambda: [22])
    monkeypatch.setattr(firewall, "Nftables", backend("nftables"))
    monkeypatch.setattr(firewall, "Firewalld", backend("firewalld"))

    def run(deployment="a", address="10.0.0.11", check=False, **options):
        del done[:]
        folders = {name: str(tmp_path / name) for name in ("directory", "units", "firewalld")}
        given = {"backend": "nftables", "rules": RULES, "sources": {"cluster": [address]}, **folders, **options}
        return run_module("firewall", check=check, deployment=deployment, **given), list(done)

    return run


CHECKS = ["check nftables", "check firewalld"]


def test_a_deployment_is_recorded_until_it_leaves(call, tmp_path):
    record = tmp_path / "directory" / "a.json"
    found, done = call(check=True)
    assert found["changed"] and done == CHECKS and not record.exists()
    found, done = call()
    assert found["changed"] and done == [*CHECKS, "apply nftables"]
    assert json.loads(record.read_text()) == {"peers": ["10.0.0.11/32"], "ports": [[7100, 7115]]}
    found, done = call(check=True, state="absent")
    assert found["changed"] and done == CHECKS and record.exists()
    assert call(state="absent")[0]["changed"] and not record.exists()
    assert not call(state="absent")[0]["changed"]


def test_a_deployment_that_would_close_the_ports_of_another_one_is_refused(call, tmp_path):
    call("a")
    found, done = call("b", address="10.0.0.12")
    assert found["failed"] and "deployment a filters the same ports" in found["msg"] and done == []
    assert not (tmp_path / "directory" / "b.json").exists()
    assert not call("b")[0]["failed"] and not call("a", address="10.0.0.11")[0]["failed"]


def test_the_record_of_somebody_else_stays(call, tmp_path):
    record = tmp_path / "directory" / "a.json"
    record.parent.mkdir()
    record.write_text('{"mine": 1}')
    found, _done = call(state="absent")
    assert not found["changed"] and str(record) in str(found["warnings"]) and record.exists()


@pytest.mark.parametrize(
    ("wanted", "program", "code", "chosen"),
    [
        ("auto", "/usr/bin/firewall-cmd", 0, "firewalld"),
        ("auto", "/usr/bin/firewall-cmd", 252, "nftables"),  # it is installed and does not run
        ("auto", "", 0, "nftables"),
        ("nftables", "/usr/bin/firewall-cmd", 0, "nftables"),
        ("firewalld", "", 252, "firewalld"),
    ],
)
def test_firewalld_filters_where_it_runs(wanted, program, code, chosen):
    host = types.SimpleNamespace(find=lambda name: program, run=lambda argv: (code, "", ""))
    assert firewall.backend_of(host, wanted) == chosen
