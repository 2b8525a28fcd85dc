# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each way to describe addresses, from --check --diff to the rollback, by the playbook fabric on two simulated hosts."""

from __future__ import annotations

import json
import stat

import pytest
from ansible_collections.ascend.inference.tests.integration._fabric import DEVICES, HOSTS, made_site
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster

pytestmark = pytest.mark.long
FILE = """# host device address gateway
node0 0 10.32.0.10/24 10.32.0.1
node0,1,10.32.0.11/24
node0 2 10.32.0.12/24 10.32.0.254
node1 2 10.32.1.12/24
"""
# {how: (all hosts, groups, hosts, (address, gateway) of each device; None: as it was)}
WAYS = {
    "list": (
        {"addresses": [f"10.30.0.{number}/24" for number in (21, 23, 25, 27, 29, 31)], "gateway": ["last"]},
        {},
        {},
        [(f"10.30.0.{number}", "10.30.0.254") for number in (21, 23, 25, 27, 29, 31)],
    ),
    "range": (  # a network for each device, as in rails
        {
            "addresses": [f"10.31.{rail}.10-10.31.{rail}.11/24" for rail in range(DEVICES)],
            "order": "device",
            "gateway": ["first"],
            "netdetect": "gateway",
            "mtu": 4200,
        },
        {},
        {},
        [(f"10.31.{rail}.{10 + host}", f"10.31.{rail}.1") for host in (0, 1) for rail in range(DEVICES)],
    ),
    "file": (
        {"addresses_file": "addresses.txt", "addresses": ["10.32.9.10-10.32.9.20/24"], "gateway": ["first"]},
        {},
        {},
        [
            ("10.32.0.10", "10.32.0.1"),
            ("10.32.0.11", "10.32.0.1"),
            ("10.32.0.12", "10.32.0.254"),
            ("10.32.9.10", "10.32.9.1"),
            ("10.32.9.11", "10.32.9.1"),
            ("10.32.1.12", "10.32.1.1"),
        ],
    ),
    "group": (
        None,
        {
            "prefill": {"addresses": ["10.33.0.10-10.33.0.12/24"], "gateway": ["first"]},
            "decode": {"addresses": ["10.33.1.10-10.33.1.12/24"], "gateway": ["10.33.1.9"]},
        },
        {},
        [(f"10.33.{host}.{10 + device}", f"10.33.{host}.{(1, 9)[host]}") for host in (0, 1) for device in range(3)],
    ),
    "host": (
        None,
        {},
        {"node1": {"addresses": ["10.34.0.10-10.34.0.11/24"], "gateway": ["first"], "devices": [0, 2]}},
        [None, None, None, ("10.34.0.10", "10.34.0.1"), None, ("10.34.0.11", "10.34.0.1")],
    ),
    # Each device has the address that its neighbour gets; with keep, only the first one would change.
    "plan": (
        {"addresses": ["10.20.0.11-10.20.0.13/24", "10.20.1.11-10.20.1.13/24"], "prefer": "plan", "devices": [0, 1, 2]},
        {},
        {},
        [(f"10.20.{host}.{11 + device}", f"10.20.{host}.1") for host in (0, 1) for device in range(3)],
    ),
}


@pytest.fixture
def site(tmp_path):
    with made_site(tmp_path) as found:
        (tmp_path / "addresses.txt").write_text(FILE)
        yield found


def addresses(site):
    return [(device["ip"][0], device["gateway"]) for name in HOSTS for device in site.devices(name)]


@pytest.mark.parametrize("how", WAYS)
def test_addresses_are_promised_set_reported_and_set_back(site, how):
    everywhere, groups, hosts, wanted = WAYS[how]
    site.describe(groups, hosts, **({"inference_fabric": everywhere} if everywhere else {}))
    before, old = site.everything(), addresses(site)
    expected = [new or present for new, present in zip(wanted, old, strict=True)]
    changing = {HOSTS[slot // DEVICES] for slot, new in enumerate(wanted) if new}

    promised = site.play("--check", "--diff")
    assert promised.code == 0 and (site.everything(), site.locked()) == (before, {}), promised.output
    for slot, (new, present) in enumerate(zip(expected, old, strict=True)):
        row = f"{HOSTS[slot // DEVICES]} {slot % DEVICES} ip {present[0]}/255.255.255.0 {new[0]}/255.255.255.0"
        assert (row in promised.text) == (new != present), row
    assert not any((site.folder / name / "fabric.json").exists() for name in HOSTS)

    with ascend_cluster.edit(site.made["node1"]["state"]) as state:
        state["devices"][2]["processes"] = [{"pid": 4711, "name": "engine", "memory": 9, "container_pid": None}]
    used = site.everything()
    refused = site.play()
    assert refused.code != 0 and "node1 device 2: processes on it: engine (4711). [FABRIC-BUSY]" in refused.text
    assert (site.everything(), site.locked()) == (used, {}), refused.output
    with ascend_cluster.edit(site.made["node1"]["state"]) as state:
        state["devices"][2]["processes"] = []
    assert site.everything() == before

    run = site.play(inference_fabric_json=str(site.folder / "report.json"))
    assert run.code == 0 and addresses(site) == expected, run.output
    assert run.output.count("PLAY [Apply the settings]") == len(changing), "one host at a time"
    report = json.loads((site.folder / "report.json").read_text())
    assert set(report) == changing
    for slot, (new, present) in enumerate(zip(expected, old, strict=True)):
        name, device = HOSTS[slot // DEVICES], str(slot % DEVICES)
        if new != present:
            assert report[name]["before"][device]["ip"] == f"{present[0]}/255.255.255.0"
            after = report[name]["after"][device]
            assert after["ip"] == after["ip_in_file"] == f"{new[0]}/255.255.255.0"
    for name in HOSTS:
        kept = site.folder / name / "fabric.json"
        assert kept.exists() == (name in changing)
        if kept.exists():
            assert stat.S_IMODE(kept.stat().st_mode) == 0o600
            record = json.loads(kept.read_text())
            assert record["text"].encode() == before[name][1]
            assert {key: values["ip"] for key, values in record["devices"].items()} == {
                str(slot % DEVICES): f"{old[slot][0]}/255.255.255.0"
                for slot, new in enumerate(wanted)
                if new and HOSTS[slot // DEVICES] == name
            }

    done = site.everything()
    again = site.play()
    assert again.code == 0 and "No setting differs." in again.output and site.everything() == done, again.output
    back = site.play(inference_fabric_rollback=True)
    assert back.code == 0 and site.everything() == before, back.output
    assert not any((site.folder / name / "fabric.json").exists() for name in HOSTS)
