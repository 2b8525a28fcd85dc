# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The player of changes on three hosts, with the ansible-core of this environment: one fails, is lost, or returns.

Steps call a real module: a wait for no engines, which fails with a timeout that is no number.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent / "player"
HOSTS = ("n1", "n2", "n3")
TITLES = ["First on all", "Second on two", "Third on all", "Fourth on one"]
ON = {"First on all": HOSTS, "Second on two": ("n1", "n2"), "Third on all": HOSTS, "Fourth on one": ("n3",)}
BEYOND = "Stop what is on a host that is not in the play"
STOP = {"state": "stopped", "runtime": "supervisor", "settings": {"socket": "/nowhere/socket"}, "services": []}
WAIT, FAIL = {"engines": [], "timeout": 1}, {"engines": [], "timeout": "long"}


class Run:
    """What one run printed: ``tasks`` in order, each with {host: outcome}."""

    def __init__(self, folder, failing="", lost=0, slow="", away=None):
        steps = []
        for title in TITLES:
            at = {host: FAIL if host == failing and title == TITLES[1] else WAIT for host in ON[title]}
            steps.append({"title": title, "verb": "drain", "at": at})
        if away is not None:
            steps.insert(1, {"title": BEYOND, "verb": "orphaned", "at": {"n1": STOP}, "orphaned": "n9"})
        (folder / "script.json").write_text(json.dumps(steps))
        hosts, times = {}, {"n2": lost, "n9": away or 0}
        for host in (*HOSTS, "n9"):
            place = folder / f"{host}.connection"
            place.write_text(f"{times.get(host, 0)}\n{slow if host == 'n1' else ''}")
            hosts[host] = {"unsteady_place": str(place), "ansible_connection": "unsteady"}
        more = {"ansible_python_interpreter": sys.executable, "script": str(folder / "script.json")}
        (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts, "vars": more}}))
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith("ANSIBLE_") or "COLLECTIONS" in name
            },
            "ANSIBLE_HOME": str(folder / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_FORKS": "3",
            "ANSIBLE_INJECT_FACT_VARS": "False",
        }
        command = ["ansible-playbook", "-i", str(folder / "hosts.yml"), str(HERE / "play.yml")]
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )
        self.code, self.output = done.returncode, done.stdout + done.stderr
        self.tasks = []
        for line in self.output.splitlines():
            if line.startswith("TASK ["):
                self.tasks.append((re.sub(r".* : |TASK \[|\].*", "", line), {}))
            elif re.match(r"(ok|changed|fatal|skipping): \[(n\d)", line):
                self.tasks[-1][1][re.search(r"\[(n\d)", line)[1]] = line.partition(":")[0]

    def played(self):
        """The steps, each with the hosts where a module ran, well or not."""
        found = [(name, outcomes) for name, outcomes in self.tasks if name in TITLES]
        return [(name, sorted(host for host in each if each[host] != "skipping")) for name, each in found]


@pytest.mark.parametrize(
    ("case", "code", "unlocked"),
    [
        ({"failing": "n2"}, 2, ["n1", "n2", "n3"]),
        ({"lost": 1, "slow": "0.3"}, 2, ["n1", "n2", "n3"]),
    ],
    ids=["fails", "is lost and returns beside a slow one"],
)
def test_nothing_follows_a_failure_and_all_hosts_stay(tmp_path, case, code, unlocked):
    run = Run(tmp_path, **case)
    assert run.code == code, run.output
    last = 2 if "failing" in case else 1
    played = run.played()
    assert [name for name, _hosts in played] == TITLES, "each title is shown, in order"
    assert [hosts for _name, hosts in played[last:]] == [[]] * (4 - last), run.output
    assert f"Step {last} of 4 failed on n2, for the reason above: {TITLES[last - 1]}." in run.output
    (end,) = [outcomes for name, outcomes in run.tasks if name == "Unlock"]
    assert sorted(host for host in end if end[host] == "ok") == unlocked


def test_a_host_that_stays_lost_keeps_no_other_from_its_way_back(tmp_path):
    run = Run(tmp_path, lost=99)
    assert run.code in (2, 4) and "Step 1 of 4 failed on n2" in run.output
    (end,) = [outcomes for name, outcomes in run.tasks if name == "Unlock"]
    assert sorted(host for host in end if end[host] == "ok") == ["n1", "n3"]
    assert [hosts for name, hosts in run.played() if name != TITLES[0]] == [[], [], []]


@pytest.mark.parametrize("away", [0, 99], ids=["is there", "is lost"])
def test_all_steps_are_played_in_order_though_one_host_is_slow_and_one_beyond_the_play_is_lost(tmp_path, away):
    run = Run(tmp_path, away=away, slow="0.3")
    assert run.code == 0, run.output
    assert run.played() == [(title, list(ON[title])) for title in TITLES]
    assert f"TASK [ascend.inference.service : {BEYOND}]" in run.output and "n1 -> n9" in run.output
    assert ("UNREACHABLE" in run.output) == bool(away)


def test_a_step_that_fails_beyond_the_play_ends_the_script(tmp_path, monkeypatch):
    monkeypatch.setitem(STOP, "runtime", "none")
    run = Run(tmp_path, away=0)
    assert run.code == 2 and f"Step 2 of 5 failed on n1, for the reason above: {BEYOND}." in run.output, run.output
    assert [hosts for name, hosts in run.played() if name != TITLES[0]] == [[], [], []]
