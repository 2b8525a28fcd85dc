# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hccn_config against simulated hosts: minimal changes, order, idempotence, check mode, partial failure."""

from __future__ import annotations

import fcntl
import glob
import json

import ascend_cluster
import pytest
from ansible_collections.ascend.inference.plugins.module_utils.hccn import rollback
from ansible_collections.ascend.inference.plugins.module_utils.tools.errors import ToolError


@pytest.fixture
def host(cluster):
    return cluster(generation="a2", devices=4)["node0"]


@pytest.fixture
def configure(run_module, host):
    def run(devices, check=False, **options):
        return run_module(
            "hccn_config",
            check=check,
            executable=f"{host['bin']}/hccn_tool",
            hccn_conf=host["hccn_conf"],
            devices=devices,
            **options,
        )

    return run


def content(path):
    with open(path, encoding="utf-8") as handle:
        return handle.read()


def device(host, number):
    return json.loads(content(host["state"]))["devices"][number]


def sets(host):
    return [line.split("hccn_tool ")[1] for line in content(host["state"] + ".log").splitlines() if " -s " in line]


MOVE = [
    {
        "device": 0,
        "ip": "10.77.0.10",
        "netmask": "255.255.255.0",
        "gateway": "10.77.0.1",
        "netdetect": "10.77.0.1",
        "tls": True,
    },
    {"device": 2, "tls": True, "mtu": 4200},
]


def test_check_mode_promises_what_the_run_does_and_the_second_run_does_nothing(host, configure):
    before = content(host["state"]), content(host["hccn_conf"])
    promised = configure(MOVE, check=True)
    assert promised["changed"] and (content(host["state"]), content(host["hccn_conf"])) == before and sets(host) == []
    assert "backup_file" not in promised

    real = configure(MOVE)
    assert not real["failed"] and real["changed"]
    assert (
        real["diff"] == promised["diff"] and real["steps"] == promised["steps"] and real["states"] == promised["states"]
    )
    assert real["states"] == {"0": "changed", "2": "changed"}
    assert [step["what"] for step in real["steps"]] == ["ip", "gateway", "netdetect", "tls", "mtu", "tls"]
    moved = device(host, 0)
    assert (moved["ip"], moved["gateway"], moved["netdetect"]) == (
        ["10.77.0.10", "255.255.255.0"],
        "10.77.0.1",
        "10.77.0.1",
    )
    assert moved["tls"] is True and device(host, 2)["mtu"] == 4200 and device(host, 1)["tls"] is False
    assert content(real["backup_file"]) == before[1]

    for check in (False, True):
        again = configure(MOVE, check=check)
        assert not again["changed"] and again["steps"] == [] and again["diff"]["before"] == again["diff"]["after"]
        assert again["states"] == {"0": "unchanged", "2": "unchanged"}
    assert len(glob.glob(host["hccn_conf"] + "*~")) == 1


def test_diff_shows_device_and_file(host, configure):
    result = configure([{"device": 1, "netdetect": "10.20.0.2"}], check=True)
    assert result["diff"]["before"] == {"1": {"netdetect": "10.20.0.1", "netdetect_in_file": "10.20.0.1"}}
    assert result["diff"]["after"] == {"1": {"netdetect": "10.20.0.2", "netdetect_in_file": "10.20.0.2"}}


def test_only_what_differs_is_set(host, configure):
    same = {"device": 3, "ip": "10.20.0.13", "netmask": "255.255.255.0", "gateway": "10.20.0.1", "tls": False}
    assert not configure([same])["changed"]
    configure([dict(same, tls=True)])
    assert sets(host) == ["-i 3 -tls -s enable 1"]


def test_a_file_that_disagrees_with_the_device_is_set_right(host, configure):
    with open(host["hccn_conf"], "w", encoding="utf-8") as handle:
        handle.write("# empty\n")
    entry = {"device": 0, "ip": "10.20.0.10", "netmask": "255.255.255.0"}
    assert configure([entry])["changed"]
    assert "address_0=10.20.0.10" in content(host["hccn_conf"]) and content(host["hccn_conf"]).startswith("# empty\n")
    assert not configure([entry])["changed"]


def test_an_address_within_the_network_keeps_the_gateway(host, configure):
    result = configure([{"device": 0, "ip": "10.20.0.50", "netmask": "255.255.255.0"}])
    assert not result["failed"] and device(host, 0)["gateway"] == "10.20.0.1"
    assert [step["what"] for step in result["steps"]] == ["ip"]


def test_a_gateway_that_would_be_lost_is_a_conflict_unless_accepted(host, configure):
    entry = {"device": 0, "ip": "10.78.0.10", "netmask": "255.255.255.0"}
    result = configure([entry])
    assert result["failed"] and "drops the gateway 10.20.0.1" in result["msg"] and sets(host) == []
    accepted = configure([entry], accept_loss=True)
    assert not accepted["failed"] and accepted["diff"]["after"]["0"]["gateway"] is None
    assert any("drops the gateway" in warning for warning in accepted["warnings"])
    assert not configure([entry], accept_loss=True)["changed"]


def test_a_route_that_would_be_lost_is_a_conflict(host, configure):
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][1]["routes"] = [{"address": "172.16.0.0", "netmask": "255.255.0.0", "gateway": "10.20.0.9"}]
    result = configure([{"device": 1, "ip": "10.79.0.11", "netmask": "255.255.255.0", "gateway": "10.79.0.1"}])
    assert result["failed"] and "drops the route to 172.16.0.0/255.255.0.0" in result["msg"] and sets(host) == []


def test_every_wrong_option_is_named_at_once(host, configure):
    result = configure(
        [
            {"device": 0, "ip": "10.20.0.300", "netmask": "255.255.255.0"},
            {"device": 1, "ip": "10.20.0.11"},
            {"device": 2, "ip": "192.168.1.7", "netmask": "255.255.255.0", "gateway": "10.20.0.1"},
            {"device": 3, "ip": "10.20.0.13", "netmask": "255.0.255.0"},
            {"device": 3},
            {"device": 44, "tls": True},
        ]
    )
    assert result["failed"]
    for expected in (
        "10.20.0.300",
        "device 1: ip and netmask go together",
        "reserves for itself",
        "gateway 10.20.0.1 is outside",
    ):
        assert expected in result["msg"]
    for expected in ("255.0.255.0", "listed twice", "nothing to set", "devices 0 to 15"):
        assert expected in result["msg"]
    assert not glob.glob(host["state"] + ".log")


def test_addresses_that_move_along_are_set_in_the_order_that_the_tool_allows(host, configure):
    mask = "255.255.255.0"
    result = configure(
        [{"device": 0, "ip": "10.20.0.11", "netmask": mask}, {"device": 1, "ip": "10.20.0.60", "netmask": mask}]
    )
    assert not result["failed"], result["msg"]
    assert [step["device"] for step in result["steps"]] == [1, 0]


@pytest.mark.parametrize(
    "devices, expected",
    [
        ([(0, "10.20.0.11"), (1, "10.20.0.10")], "exchange their addresses"),
        ([(0, "10.20.0.13")], "in use by device 3"),
    ],
)
def test_addresses_that_never_get_free(host, configure, devices, expected):
    result = configure([{"device": number, "ip": ip, "netmask": "255.255.255.0"} for number, ip in devices])
    assert result["failed"] and expected in result["msg"] and sets(host) == []


def test_partial_failure_names_every_device_s_state(host, configure):
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["fail"] = [
            {"command": "hccn_tool -i 1 -tls -s *", "err": "Command execute failed!\n", "rc": 1}
        ]
    entries = [{"device": number, "netdetect": "10.20.0.7", "tls": True} for number in range(3)]
    result = configure(entries)
    assert result["failed"] and result["changed"]
    assert result["states"] == {"0": "changed", "1": "half set", "2": "untouched"}
    for expected in (
        "changed: device 0",
        "half set: device 1 (not set: tls)",
        "untouched: device 2 (not set: netdetect, tls)",
    ):
        assert expected in result["msg"]
    assert result["diff"]["after"]["1"] == {
        "netdetect": "10.20.0.7",
        "netdetect_in_file": "10.20.0.7",
        "tls": False,
        "tls_in_file": None,
    }
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["fail"] = []
    repaired = configure(entries)
    assert not repaired["failed"] and [(step["device"], step["what"]) for step in repaired["steps"]] == [
        (1, "tls"),
        (2, "netdetect"),
        (2, "tls"),
    ]


def test_success_that_is_none_is_found_by_reading_back(host, configure):
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["fail"] = [{"command": "hccn_tool -i 0 -tls -s *", "out": "Cmd executed successfully!\n"}]
    result = configure([{"device": 0, "tls": True}])
    assert result["failed"] and "tls is False instead of True" in result["msg"]


def test_exit_status_0_without_the_word_of_success_is_a_failure(host, configure):
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["fail"] = [{"command": "hccn_tool -i 0 -tls -s *", "out": "done\n", "rc": 0}]
    result = configure([{"device": 0, "tls": True}])
    assert result["failed"] and "Cmd executed successfully" in result["msg"]


def test_not_root(host, configure):
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["root"] = False
    result = configure([{"device": 0, "tls": True}])
    assert result["failed"] and "become: true" in result["msg"] and result["states"] == {"0": "half set"}


def test_missing_hccn_conf(host, run_module):
    result = run_module(
        "hccn_config",
        executable=f"{host['bin']}/hccn_tool",
        hccn_conf="/nowhere/hccn.conf",
        devices=[{"device": 0, "tls": True}],
    )
    assert result["failed"] and "mode 0640" in result["msg"] and sets(host) == []


def test_busy_tool_is_waited_for(host, configure):
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["busy_calls"] = 2
    assert not configure([{"device": 0, "tls": True}])["failed"]


def test_unset_netdetect_is_idempotent(host, configure):
    entry = {"device": 0, "netdetect": "0.0.0.0"}
    assert configure([entry])["changed"] and device(host, 0)["netdetect"] is None
    assert not configure([entry])["changed"]


def test_what_the_tool_says_beside_success_is_a_warning(host, run_module, tmp_path):
    talkative = tmp_path / "hccn_tool"
    talkative.write_text(
        "#!/bin/sh\necho '[Info] The configuration takes effect only after a reboot.'\n"
        f'exec {host["bin"]}/hccn_tool "$@"\n',
        encoding="utf-8",
    )
    talkative.chmod(0o755)
    result = run_module(
        "hccn_config",
        executable=str(talkative),
        hccn_conf=host["hccn_conf"],
        devices=[{"device": 1, "tls": True}],
    )
    assert result["changed"] and not result["failed"] and device(host, 1)["tls"] is True
    assert result["warnings"] == ["device 1: [Info] The configuration takes effect only after a reboot."]


ROLLED = [
    {"device": 0, "ip": "10.77.0.10", "netmask": "255.255.255.0", "gateway": "10.77.0.1", "netdetect": "10.77.0.1"},
    {"device": 1, "tls": True},
    {"device": 3, "mtu": 4200, "tls": True},
]


@pytest.fixture
def kept(tmp_path):
    return tmp_path / "state" / "fabric.json"


def test_a_rollback_restores_device_and_file_byte_for_byte(host, configure, run_module, kept):
    def back(check=False):
        return run_module(
            "hccn_config",
            check=check,
            executable=f"{host['bin']}/hccn_tool",
            hccn_conf=host["hccn_conf"],
            state="rolled_back",
            rollback_file=str(kept),
        )

    before = content(host["state"]), content(host["hccn_conf"])
    assert not back()["changed"], "nothing to roll back"
    configure(ROLLED, check=True, rollback_file=str(kept))
    assert not kept.parent.exists(), "check mode writes nothing"

    assert configure(ROLLED, rollback_file=str(kept))["changed"]
    assert kept.stat().st_mode & 0o777 == 0o600
    first = kept.read_bytes()
    configure([{"device": 0, "tls": True}], rollback_file=str(kept))
    configure([{"device": 1, "tls": False}], rollback_file=str(kept))
    changed = content(host["state"]), content(host["hccn_conf"])
    assert json.loads(kept.read_text())["devices"]["1"] == {"tls": False} and kept.read_bytes() != first
    assert changed[1] != before[1]

    promised = back(check=True)
    assert promised["changed"] and (content(host["state"]), content(host["hccn_conf"])) == changed and kept.exists()
    real = back()
    assert not real["failed"] and real["changed"] and real["restored"] and not real["warnings"]
    assert real["diff"] == promised["diff"] and real["steps"] == promised["steps"]
    assert real["diff"]["before"]["3"] == {"mtu": 4200, "tls": True}
    assert real["diff"]["after"]["3"] == {"mtu": 1500, "tls": False}
    assert (content(host["state"]), content(host["hccn_conf"])) == before and not kept.exists()
    assert not back()["changed"]


def test_a_rollback_keeps_what_others_changed_in_the_file(host, configure, run_module, kept):
    configure([{"device": 1, "tls": True}], rollback_file=str(kept))
    with open(host["hccn_conf"], "a", encoding="utf-8") as stream:
        stream.write("arp_2=-i eth2 -s 10.20.0.77 02:00:5e:00:00:77\n")
    real = run_module(
        "hccn_config",
        executable=f"{host['bin']}/hccn_tool",
        hccn_conf=host["hccn_conf"],
        state="rolled_back",
        rollback_file=str(kept),
    )
    assert not real["failed"] and not real["restored"] and "changed by others" in real["warnings"][0]
    assert "arp_2=" in content(host["hccn_conf"]) and device(host, 1)["tls"] is False and not kept.exists()


def test_a_failed_rollback_keeps_its_file(host, configure, run_module, kept):
    configure(ROLLED, rollback_file=str(kept))
    with ascend_cluster.edit(host["state"]) as state:
        state["behaviour"]["fail"] = [{"command": "hccn_tool -i 3 -mtu -s*", "rc": 1, "err": "Command execute failed!"}]
    real = run_module(
        "hccn_config",
        executable=f"{host['bin']}/hccn_tool",
        hccn_conf=host["hccn_conf"],
        state="rolled_back",
        rollback_file=str(kept),
    )
    assert real["failed"] and real["states"]["3"] == "half set" and kept.exists()


def test_a_lock_that_a_tool_keeps_ends_the_wait(host, monkeypatch):
    monkeypatch.setattr(rollback, "LOCK_TIMEOUT", 0.3)
    before = content(host["hccn_conf"])
    with open(host["hccn_conf"], "r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ToolError, match="is locked by another process.*run again"):
            rollback.write_text(host["hccn_conf"], "other\n")
    assert content(host["hccn_conf"]) == before
    rollback.write_text(host["hccn_conf"], "other\n")
    assert content(host["hccn_conf"]) == "other\n"


def test_a_rollback_file_of_others_is_not_trusted(host, run_module, configure, kept):
    configure([{"device": 1, "tls": True}], rollback_file=str(kept))
    kept.chmod(0o666)
    real = run_module(
        "hccn_config",
        executable=f"{host['bin']}/hccn_tool",
        hccn_conf=host["hccn_conf"],
        state="rolled_back",
        rollback_file=str(kept),
    )
    assert real["failed"] and "not trusted" in real["msg"] and device(host, 1)["tls"] is True


def test_an_address_that_did_not_exist_is_reported(host, configure, run_module, kept):
    with ascend_cluster.edit(host["state"]) as state:
        state["devices"][2].update(ip=None, gateway=None)
    configure([{"device": 2, "ip": "10.77.0.10", "netmask": "255.255.255.0"}], rollback_file=str(kept))
    real = run_module(
        "hccn_config",
        executable=f"{host['bin']}/hccn_tool",
        hccn_conf=host["hccn_conf"],
        state="rolled_back",
        rollback_file=str(kept),
    )
    assert not real["failed"] and "device 2: it had no ip before" in real["warnings"][0]
