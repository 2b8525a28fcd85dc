# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root of one managed host changes what its modules answer: nothing of it runs or is written on the controller, and the other host is served.

Two hosts on this machine, see ``_hosts.py``; the Python of the first one is ``hostile.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.supervisor import VERSION
from ansible_collections.ascend.inference.tests.integration import _hosts
from ansible_collections.ascend.inference.tests.integration._deployment import Deployment
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster

pytestmark = pytest.mark.skipif(not _hosts.possible(), reason="this user cannot make namespaces")
HERE = pathlib.Path(__file__).resolve().parent
PYTHON = os.environ.get("CORES_HOST_PYTHON", sys.executable)
HOSTILE, HONEST = "n1", "n2"  # the first one is where run_once runs
SAME_MACHINE = ["HOST-TWICE", "NPU-ADDRESS-TWICE", "SDID-TWICE"]
# Variables that name what a run writes on the controller, and what it reads there.
WRITTEN = [
    *(
        "inference_verify_file",
        "verify_report_path",
        "inference_bench_json",
        "inference_bench_html",
        "inference_bench_markdown",
    ),
    *(
        "inference_status_file",
        "inference_plan_file",
        "inference_plan_html",
        "host_check_json",
        "host_check_html",
        "inference_check_json",
    ),
    *(
        "inference_check_html",
        "inference_logs_file",
        "inference_drill_json",
        "inference_drill_markdown",
        "inference_manifests_file",
    ),
]
READ = [
    *(
        "model_origin",
        "cann_source",
        "container_runtime_archive",
        "router_script_tree",
        "inference_lock_directory",
        "inference_bundle",
    ),
]
LIFE = [
    *(
        "plan",
        "verify",
        "restart",
        "watchdog",
        "bench",
        "monitoring",
        "tune",
        "drill",
        "deploy",
        "upgrade",
        "rollback",
        "logs",
        "remove",
    ),
]


class Rack(Deployment):
    """Two simulated hosts with one service each, of which the first one answers what a test wants."""

    def __init__(self, folder, opened):
        super().__init__(folder, packages_too=False, python=PYTHON)
        npus = self.root / "npus"  # in the folder that each host sees as its own
        npus.mkdir(parents=True)
        self.host = ascend_cluster.cluster(str(npus), hosts=1, devices=2, driver="25.5.1", engine={"release": ""})[
            "node0"
        ]
        self.provide()
        self.settings, self.pwned, self.stolen = (folder / name for name in ("hostile.json", "pwned", "stolen.json"))
        self.secret = folder / "secrets"
        self.secret.mkdir()
        (self.secret / "id_ed25519").write_text("KEY-OF-THE-CONTROLLER", encoding="utf-8")
        self.become("")
        program = folder / "hostile-python"
        program.write_text(f'#!/bin/sh\nexec {self.python} {HERE}/hostile.py {self.settings} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        hosts = {}
        for name in (HOSTILE, HONEST):
            shutil.copytree(self.root, folder / name, symlinks=True)
            hosts[name] = _hosts.host(opened, folder, name, folder / name, self.root)
            hosts[name]["inference_interface"] = name
            hosts[name]["ansible_python_interpreter"] = str(program) if name == HOSTILE else self.python
        inventory = self._inventory()
        variables = inventory["all"]["vars"]
        for key in ("ansible_connection", "ansible_python_interpreter", "inference_interface"):
            del variables[key]
        variables["inference_pools"]["colocated"]["instances"] = 2
        variables["inference_check_ignore"] = [*ascend_cluster.MACHINE, *SAME_MACHINE]
        inventory["all"]["children"]["colocated"]["hosts"] = hosts
        self.inventory.write_text(json.dumps(inventory), encoding="utf-8")

    def become(self, attack, **more):
        """What the host does from now on; empty: it is honest."""
        lookup = "{{ lookup('pipe', 'touch " + str(self.pwned) + "') }}"
        facts = dict.fromkeys(WRITTEN, str(self.stolen)) | dict.fromkeys(READ, str(self.secret))
        facts |= {"inference_drain_timeout": lookup, "service_executables": {"npu_smi": lookup}}
        text = lookup + "\n# INJECTED\x1b[2J\x07\u202e\r<script>alert(1)</script>\"'>"
        settings = {"python": self.python, "attack": attack, "facts": facts, "text": text, **more}
        self.settings.write_text(json.dumps(settings), encoding="utf-8")

    def unharmed(self, run):
        """Nothing of the answers was executed, written elsewhere, or a line of its own."""
        assert not self.pwned.exists(), "a template of the host was evaluated"
        assert not self.stolen.exists(), "the host named a file of the controller that was written"
        there = [path for name in (HOSTILE, HONEST) for path in (self.folder / name).rglob("id_ed25519")]
        assert there == [], "the host got a file of the controller"
        assert not re.search(r"^# INJECTED|[\x1b\x07\u202e]", run.output, re.M), run.output
        assert "<script>alert" not in "".join(path.read_text(encoding="utf-8") for path in self.folder.glob("*.html"))
        assert "Traceback (most recent call last)" not in run.output, run.output
        return run


@pytest.fixture(scope="module")
def rack():
    with contextlib.ExitStack() as opened:
        folder = pathlib.Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="h-")))  # short: path of a socket
        # No index answers where the hosts are.
        subprocess.run([PYTHON, "-m", "venv", folder / "pip"], check=True)
        argv = [folder / "pip/bin/pip", "download", "--quiet", "--dest", folder / "downloads", f"supervisor=={VERSION}"]
        subprocess.run(argv, check=True)
        patched = opened.enter_context(pytest.MonkeyPatch.context())
        patched.setenv("ANSIBLE_BECOME_ALLOW_SAME_USER", "1")
        for program in ("PIP", "UV"):
            patched.setenv(f"{program}_NO_INDEX", "1")
            patched.setenv(f"{program}_FIND_LINKS", str(folder / "downloads"))
        opened.enter_context(_hosts.network())
        steps = ["address flush dev lo to 192.0.2.0/24", f"link add {HOSTILE} type veth peer name {HONEST}"]
        for name in (HOSTILE, HONEST):  # the first address of an interface is the one that engines use
            steps += [f"address add {_hosts.ADDRESSES[name]}/24 dev {name}", f"link set {name} up"]
        for step in steps:
            subprocess.run(["ip", *step.split()], check=True)
        made = Rack(folder, opened)
        run = made.play("deploy")
        assert run.code == 0, run.output[-6000:]
        yield made


PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - {name: A module of this collection, ascend.inference.deployed_plan_info: {directory: /nonexistent}}
    - ansible.builtin.debug: {msg: "{{ inventory_hostname }} own {{ inference_allow_pause | default('unset') }}"}
    - {name: One of Ansible, ansible.builtin.stat: {path: /}}
    - {name: One of this collection again, ascend.inference.deployed_plan_info: {directory: /nonexistent}}
    - ansible.builtin.debug: {msg: "{{ inventory_hostname }} goes on"}
"""


def test_facts_with_names_of_variables_end_on_their_host(tmp_path):
    """Of this collection's modules they are left out; of Ansible's own the next module of this collection refuses them."""
    settings = {"python": PYTHON, "attack": "facts", "facts": {"inference_allow_pause": True}}
    (tmp_path / "hostile.json").write_text(json.dumps(settings), encoding="utf-8")
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec {PYTHON} {HERE}/hostile.py {tmp_path}/hostile.json "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    hosts = {HOSTILE: {"ansible_python_interpreter": str(program)}, HONEST: {"ansible_python_interpreter": PYTHON}}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    argv = [PROGRAM, "-c", "local", "-i", tmp_path / "hosts.json", tmp_path / "play.yml"]
    variables = {**os.environ, "ANSIBLE_INJECT_FACT_VARS": "True", "ANSIBLE_HOME": str(tmp_path)}
    run = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert f"{HOSTILE} own unset" in run.stdout and f"{HONEST} goes on" in run.stdout, run.stdout + run.stderr
    assert f"{HOSTILE} goes on" not in run.stdout
    said = " ".join(run.stdout.replace("''", "'").split())  # as YAML has it
    assert f"{HOSTILE} answered facts with names of this collection's variables: inference_allow_pause" in said


def readable(run):
    """Whether the other host's service is reported as it is."""
    return re.search(rf"^colocated-1 +{HONEST} +running ", run.output, re.MULTILINE)


@pytest.mark.parametrize("injected", [True, False])
def test_facts_name_nothing_on_the_controller(rack, injected, monkeypatch):
    """Every answer has facts with the names of variables. The reports were written where the host said."""
    monkeypatch.setenv("ANSIBLE_INJECT_FACT_VARS", str(injected))
    rack.become("facts")
    run = rack.unharmed(rack.play("verify"))
    assert run.code == 0 and "VERIFIED" in run.output, run.output[-6000:]
    assert ("Remark: inject_facts_as_vars is on" in run.output) is injected


def test_texts_are_only_texts(rack):
    """A template, a line, terminal codes and markup in the texts of every answer."""
    pages = {
        "inference_check_html": str(rack.folder / "check.html"),
        "inference_check_json": str(rack.folder / "check.json"),
    }
    rack.become("texts", share=0.3)
    rack.unharmed(rack.play("check", **pages))
    facts = json.loads((rack.folder / "check.json").read_text(encoding="utf-8"))["facts"]
    assert "INJECTED" in json.dumps(facts[HOSTILE]) and "INJECTED" not in json.dumps(facts[HONEST])
    assert (rack.folder / "check.html").exists()
    run = rack.unharmed(rack.play("status"))
    assert readable(run) and "# INJECTED" in run.output


@pytest.mark.parametrize(
    "attack", ["types", pytest.param("keys", marks=pytest.mark.long), pytest.param("sizes", marks=pytest.mark.long)]
)
def test_a_bad_answer_costs_that_host_only(rack, attack):
    rack.become(attack, share=0.1)
    archive = rack.folder / f"{attack}.tar.gz"
    assert readable(rack.unharmed(rack.play("status")))
    run = rack.unharmed(rack.play("check"))
    assert "2 of 2 planned hosts answered" in run.output and f" {HONEST}: colocated-1 would preload" in run.output
    assert attack != "types" or f"ERROR {HOSTILE} " in run.output
    assert rack.unharmed(rack.play("logs", inference_logs_file=str(archive))).code == 0
    with tarfile.open(archive) as opened:
        assert [name for name in opened.getnames() if f"/{HONEST}/colocated-1" in name]


@pytest.mark.long
@pytest.mark.parametrize("playbook", LIFE)  # varies first
@pytest.mark.parametrize("attack", ["facts", "texts", "types", "keys", "sizes"])
def test_no_playbook_obeys_an_answer(rack, playbook, attack):
    """Whether it ends well or not: a host can end a run that changes it."""
    if playbook == LIFE[0]:  # the last one removed it
        rack.become("")
        assert rack.play("deploy", inference_allow_pause=True).code == 0
    rack.become(attack, share=0.1)
    given = {
        "inference_monitoring": {"directory": str(rack.root / "monitoring")},
        "inference_drill": {"confirm": "inference"},
        "inference_bench": {"profile": "smoke"},
    }
    rack.unharmed(rack.play(playbook, inference_allow_pause=True, **given))
