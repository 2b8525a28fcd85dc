# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of a published guide on simulated hosts, each in namespaces of its own with the guide's interface and address, joined by a bridge.

Other than in the inventory are the runtime (supervisor, which needs no root), the folders, and the size of the model. Engines and their client are
simulated; planner, roles, modules, supervisor and upstream's proxy are real.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import CPU
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.supervisor import VERSION
from ansible_collections.ascend.inference.tests.integration import _hosts
from ansible_collections.ascend.inference.tests.integration._deployment import Deployment
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster, upstream_proxies
from ansible_collections.ascend.inference.tests.simulator.fake_host import write_model

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "upstream"
AISBENCH = pathlib.Path(__file__).with_name("aisbench_client.py")
VLLM = ROOT / "tests/simulator/bin/vllm"
SPACES = ("--mount", "--pid", "--net")
CONTROLLER = "192.0.2.250/24"
CLIENT = """#!/bin/sh
[ "$1" != bench ] || printf '%s\\n' "$*" >>{root}/commands
export ASCEND_SIMULATOR_STATE={state} ASCEND_SIMULATOR_PYTHON={python}
exec {vllm} "$@"
"""


def _variables(name):
    return yaml.safe_load((ROOT / "inventories" / name / "group_vars/all.yml").read_text(encoding="utf-8"))


def _mooncake():
    return upstream_proxies.venv(CACHE, "mooncake-venv", [f"{CPU.mooncake_package}=={CPU.mooncake}"])


def _python(given):
    """That of the engines: with the real store's client, if they have one."""
    return _mooncake() if given["inference_kv_transfer"] == "store" else sys.executable


class Guide(Deployment):
    """The hosts of ``inventories/NAME`` and its deployment; ``npus`` of each host."""

    def __init__(self, folder, opened, name, npus):
        super().__init__(folder, packages_too=False)
        source = ROOT / "inventories" / name
        groups = yaml.safe_load((source / "hosts.yml").read_text(encoding="utf-8"))["all"]["children"]
        given = _variables(name)
        # Sizes that the guides' ranks can share, with experts; what else is in the files is simulated.
        sizes = {
            "hidden_size": 256,
            "num_attention_heads": 16,
            "num_key_value_heads": 16,
            "head_dim": 16,
            "n_routed_experts": 32,
        }
        write_model(folder / "model", num_hidden_layers=2, **sizes)
        words = {f"Ġ{a}{b}{c}": number for number, (a, b, c) in enumerate(itertools.product("abcde", "fghij", "klmno"))}
        (folder / "model/tokenizer.json").write_text(json.dumps({"model": {"vocab": words}}), encoding="utf-8")
        if given["inference_args"].get("quantization"):
            (folder / "model/quant_model_description.json").write_text("{}", encoding="utf-8")
        self.state = self.root / "npus/node0.json"  # in the folder that each host sees as its own
        self.npus, self.programs = npus, None
        self.variables = {**self._inventory()["all"]["vars"], **given, **self._changes(given)}
        self.variables.pop("inference_devices")
        for key in ("ansible_connection", "ansible_python_interpreter"):
            del self.variables[key]
        self.hosts = {
            host: {"groups": [group], "variables": {**own, "inference_devices": own.get("inference_devices", npus)}}
            for group, members in groups.items()
            for host, own in members["hosts"].items()
        }
        self._install(launch_plan(self.variables, self.hosts))
        children = {}
        for number, (host, record) in enumerate(self.hosts.items()):
            children.setdefault(record["groups"][0], {"hosts": {}})["hosts"][host] = self._start(opened, host, number)
        self.inventory.write_text(json.dumps({"all": {"vars": self.variables, "children": children}}), encoding="utf-8")

    def _changes(self, given):
        """What of the guide's variables cannot be so on simulated hosts."""
        tools = {key: f"{self.root}/npus/node0/bin/{key.replace('_s', '-s')}" for key in ("npu_smi", "hccn_tool")}
        # Hosts share /tmp, in which an engine of a pool has a socket with the same name on each of them.
        own = {"ASCEND_SIMULATOR_STATE": str(self.state), "VLLM_RPC_BASE_PATH": str(self.root)}
        return {
            "inference_runtime": "supervisor",
            "inference_engine_install": "site",
            "inference_model": {**given["inference_model"], "path": str(self.folder / "model")},
            "inference_env": {**given.get("inference_env", {}), **own},
            "host_check_hccn_conf": str(self.root / "npus/node0.hccn.conf"),
            "host_check_executables": tools,
            "service_executables": tools,
        }

    def _install(self, plan):
        """The program vllm, CANN's environment and upstream's proxy, where the plan has them."""
        libraries = pathlib.Path(plan["software"]["cann"]["path"]) / "lib64"
        files = {
            str(libraries / name): "" for name in ("libascend_hal.so", "libhccl.so", "libatb.so", "ascend_transport.so")
        }
        for path in plan["software"]["cann"]["sources"]:
            files[path] = f"export ASCEND_HOME_PATH={libraries.parent} LD_LIBRARY_PATH={libraries}\n"
        engine = next(item for item in plan["services"] if "serve" in item["argv"])
        known = {"root": self.root, "state": self.state, "python": _python(self.variables), "vllm": VLLM}
        files[engine["argv"][0]] = CLIENT.format(**known)
        for master in (item for item in plan["services"] if item["kind"] == "mooncake_master"):
            self.programs = pathlib.Path(master["argv"][0]).parent  # hosts see a folder of their own there
            files[str(self.root / "programs/mooncake_master")] = (
                f'#!/bin/sh\nexec {_mooncake().with_name("mooncake_master")} "$@"\n'
            )
        router = plan["software"]["router"]
        if router["script"]:
            script = upstream_proxies.fetch(plan["release"], CACHE) / os.path.basename(router["script"])
            files[router["script"]] = script.read_text(encoding="utf-8")
            files[router["logger"]] = upstream_proxies.LOGGER
            files[router["interpreter"]] = f'#!/bin/sh\nexec {upstream_proxies.python(CACHE)} "$@"\n'
        for path, text in files.items():
            assert path.startswith(f"{self.folder}/"), f"{path} would be a file of this machine"
            pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(path).write_text(text, encoding="utf-8")
            pathlib.Path(path).chmod(0o755)

    def _start(self, opened, name, number):
        """Start a host with its own NPUs -> its variables in the inventory. It ends with ``opened``."""
        interface, address = self.variables["inference_interface"], self.hosts[name]["variables"]["ansible_host"]
        engine = {"release": self.variables["inference_release"], "interfaces": {interface: [address]}}
        state = ascend_cluster.host_state(self.variables["inference_hardware"], number, self.npus, engine=engine)
        state.update(host="node0", hccn_conf="node0.hccn.conf")
        npus = self.state.parent
        npus.mkdir(parents=True, exist_ok=True)
        ascend_cluster.write(npus, state)
        ascend_cluster.install(npus, "node0")
        shutil.copytree(self.root, self.folder / name, symlinks=True)
        argv = [
            "unshare",
            *SPACES,
            "--fork",
            "--mount-proc",
            "sh",
            "-c",
            _hosts.START,
            "sh",
            self.folder / name,
            self.root,
        ]
        holder = opened.enter_context(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert holder.stdout.readline() == b"\n"
        inside = pathlib.Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().strip()
        for step in (
            f"link add v{number} type veth peer name {interface} netns {inside}",
            f"link set v{number} master br0 up",
        ):
            subprocess.run(["ip", *step.split()], check=True)
        for step in ("link set lo up", f"address add {address}/24 dev {interface}", f"link set {interface} up"):
            subprocess.run(["nsenter", f"--target={inside}", "--net", "ip", *step.split()], check=True)
        if self.programs:
            mount = ["mount", "--bind", self.folder / name / "programs", self.programs]
            subprocess.run(["nsenter", f"--target={inside}", "--mount", *mount], check=True)
        sudo = self.folder / f"sudo-{name}"
        sudo.write_text(_hosts.SUDO.format(inside=inside).replace("--mount --pid", " ".join(SPACES)), encoding="utf-8")
        sudo.chmod(0o755)
        own = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        return {**self.hosts[name]["variables"], **own, "ansible_become": True, "ansible_become_exe": str(sudo)}

    def aisbench(self):
        """A program with the options and files of ais_bench 3.1, on all hosts; it appends each run's model to ``configs`` of its host."""
        program = self.folder / "ais_bench"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {AISBENCH} {self.root}/configs "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        return program

    def commands(self, name):
        """The command lines of the client on a host."""
        return (self.folder / name / "commands").read_text(encoding="utf-8").splitlines()


@contextlib.contextmanager
def deployed(name, npus):
    """The guide's deployment, which serves."""
    with contextlib.ExitStack() as opened:
        folder = pathlib.Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="g-")))  # short: path of a socket
        # No index answers where the hosts are.
        subprocess.run([sys.executable, "-m", "venv", folder / "pip"], check=True)
        argv = [folder / "pip/bin/pip", "download", "--quiet", "--dest", folder / "downloads", f"supervisor=={VERSION}"]
        subprocess.run(argv, check=True)
        given = _variables(name)
        if "inference_router" in given:
            upstream_proxies.fetch(given["inference_release"], CACHE)
            upstream_proxies.python(CACHE)
        _python(given)
        patched = opened.enter_context(pytest.MonkeyPatch.context())
        patched.setenv("ANSIBLE_BECOME_ALLOW_SAME_USER", "1")
        for program in ("PIP", "UV"):
            patched.setenv(f"{program}_NO_INDEX", "1")
            patched.setenv(f"{program}_FIND_LINKS", str(folder / "downloads"))
        opened.enter_context(_hosts.network())
        for step in (
            "address flush dev lo to 192.0.2.0/24",
            "link add br0 type bridge",
            f"address add {CONTROLLER} dev br0",
            "link set br0 up",
        ):
            subprocess.run(["ip", *step.split()], check=True)
        made = Guide(folder, opened, name, npus)
        made.without("check")  # which would find one machine behind all hosts
        run = made.play("deploy")
        assert run.code == 0, run.output[-6000:]
        yield made
