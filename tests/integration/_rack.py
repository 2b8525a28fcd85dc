# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated hosts on this machine, of which root of the first one is hostile: its Python is ``_hostile_python.py``, and its files are what a test writes."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.supervisor import VERSION
from ansible_collections.ascend.inference.tests.integration import _hosts
from ansible_collections.ascend.inference.tests.integration._deployment import Deployment
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster

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


ENTRY = {
    "address": _hosts.ALL[HOSTILE],
    "deployments": {"d": {"routers": ["192.0.2.1:8000"]}},
    "models": {"x": {"deployment": "d"}},
    "teams": {"t": {"keys_file": "keys"}},
}


class Rack(Deployment):
    """Simulated hosts with one service each, of which the first one answers what a test wants, and ``others``, which are of no deployment."""

    def __init__(self, folder, opened, members=(HOSTILE, HONEST), others=()):
        super().__init__(folder, packages_too=False, python=PYTHON)
        npus = self.root / "npus"  # in the folder that each host sees as its own
        npus.mkdir(parents=True)
        self.host = ascend_cluster.cluster(str(npus), hosts=1, devices=2, driver="25.5.1", engine={"release": ""})[
            "node0"
        ]
        self.provide()
        (program,) = self.root.glob("venvs/*/bin/vllm")  # the simulator has no program that measures
        bench = f'[ "$1" != bench ] || exec {sys.executable} {HERE}/bench_client.py "$6" 4 4 "$@"'
        program.write_text(program.read_text(encoding="utf-8").replace("\n", f"\n{bench}\n", 1), encoding="utf-8")
        self.settings, self.pwned, self.stolen = (folder / name for name in ("hostile.json", "pwned", "stolen.json"))
        self.secret = folder / "secrets"
        self.secret.mkdir()
        (self.secret / "id_ed25519").write_text("KEY-OF-THE-CONTROLLER", encoding="utf-8")
        self.become("")
        program = folder / "hostile-python"
        program.write_text(
            f'#!/bin/sh\nexec {self.python} {HERE}/_hostile_python.py {self.settings} "$@"\n', encoding="utf-8"
        )
        program.chmod(0o755)
        hosts = {}
        for name in (*members, *others):
            shutil.copytree(self.root, folder / name, symlinks=True)
            hosts[name] = _hosts.host(opened, folder, name, folder / name, self.root)
            hosts[name]["inference_interface"] = name
            hosts[name]["ansible_python_interpreter"] = str(program) if name == HOSTILE else self.python
        inventory = self._inventory()
        variables = inventory["all"]["vars"]
        for key in ("ansible_connection", "ansible_python_interpreter", "inference_interface"):
            del variables[key]
        variables["inference_pools"]["colocated"]["instances"] = len(members)
        variables["inference_check_ignore"] = [*ascend_cluster.MACHINE, *SAME_MACHINE]
        inventory["all"]["children"]["colocated"]["hosts"] = {name: hosts[name] for name in members}
        inventory["all"]["children"]["entry"] = {"hosts": {HOSTILE: {}}}
        variables["inference_entry"] = {**ENTRY, "plain_http": True}
        (folder / "keys").write_text("key-of-a-client-0123456789\n", encoding="utf-8")
        inventory["all"]["children"]["others"] = {"hosts": {name: hosts[name] for name in others}}
        self.inventory.write_text(json.dumps(inventory), encoding="utf-8")

    def become(self, attack, **more):
        """What the host does from now on; empty: it is honest."""
        lookup = "{{ lookup('pipe', 'touch " + str(self.pwned) + "') }}"
        facts = dict.fromkeys(WRITTEN, str(self.stolen)) | dict.fromkeys(READ, str(self.secret))
        facts |= {"inference_drain_timeout": lookup, "service_executables": {"npu_smi": lookup}}
        key = str(self.secret / "id_ed25519")
        facts["inference_entry"] = {**ENTRY, "certificate": key, "certificate_key": key}
        text = lookup + "\n# INJECTED\x1b[2J\x07\u202e\r<script>alert(1)</script>\"'>"
        settings = {"python": self.python, "attack": attack, "facts": facts, "text": text, **more}
        self.settings.write_text(json.dumps(settings), encoding="utf-8")

    def unharmed(self, run):
        """Nothing of the answers was executed, written elsewhere, or a line of its own."""
        assert not self.pwned.exists(), "a template of the host was evaluated"
        assert not self.stolen.exists(), "the host named a file of the controller that was written"
        there = [path for name in _hosts.ALL for path in (self.folder / name).rglob("id_ed25519")]
        assert there == [], "the host got a file of the controller"
        assert not re.search(r"^# INJECTED|[\x1b\x07\u202e]", run.output, re.M), run.output
        assert "<script>alert" not in "".join(path.read_text(encoding="utf-8") for path in self.folder.glob("*.html"))
        assert "Traceback (most recent call last)" not in run.output, run.output
        return run


@contextlib.contextmanager
def deployed(members=(HOSTILE, HONEST), others=()):
    """A rack with a deployment, while all of it is honest."""
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
        names = [*members, *others]
        steps = ["address flush dev lo to 192.0.2.0/24"]
        for first, second in zip(names[::2], names[1::2], strict=True):
            steps.append(f"link add {first} type veth peer name {second}")
        for name in names:  # the first address of an interface is the one that engines use
            steps += [f"address add {_hosts.ALL[name]}/24 dev {name}", f"link set {name} up"]
        for step in steps:
            subprocess.run(["ip", *step.split()], check=True)
        made = Rack(folder, opened, members, others)
        run = made.play("deploy")
        assert run.code == 0, run.output[-6000:]
        yield made
