# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One simulated A3 host on this machine, for runs of the real playbooks that are interrupted at a chosen place.

Simulated are the NPUs with their tools, CANN's packages, the wheels and the engine; planner, roles, modules, uv, pip, supervisor and the
verification are real. ``interrupt/`` has what kills a run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE, free_ports
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster, wheels
from ansible_collections.ascend.inference.tests.simulator.cann import packages
from ansible_collections.ascend.inference.tests.simulator.fake_host import write_model

HERE = pathlib.Path(__file__).resolve().parent
RELEASES = {"0.23.0": "9.1.0", "0.24.0rc1": "9.0.1"}  # release: its CANN
MARK = b"ASCEND_INFERENCE_SERVICE="


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: exit status (negative: the signal), output, the stages that it began and the steps in which modules wrote."""

    code: int
    output: str
    stages: list[str]
    steps: list[str]

    @property
    def changed(self) -> int:
        """Changed tasks of the host in the recap; -1 if there is none."""
        found = re.findall(r"^node0 .*changed=(\d+)", self.output, re.M)
        return int(found[-1]) if found else -1


class Deployment:
    """The folder of everything, the inventory in it, and runs of playbooks."""

    def __init__(self, folder: pathlib.Path, packages_too: bool = True, python: str = sys.executable) -> None:
        """``python`` is the one that the modules run with."""
        self.python = python
        self.folder, self.root, self.tree = folder, folder / "root", TREE
        self.numbers = itertools.count()  # of runs
        self.directory = self.root / "deployments/inference"
        host = ascend_cluster.cluster(str(folder), hosts=1, devices=2, driver="25.5.1", engine={"release": ""})["node0"]
        # There is no driver on this machine, and its folder could not be elsewhere: the toolkit brings the driver's library.
        packages.CONTENTS["toolkit"]["lib64/libascend_hal.so"] = ""
        for release, cann in RELEASES.items() if packages_too else ():
            packages.build_all(folder / "packages", cann, "a3")
            wheels.stack(folder / "wheels", release, chip="A3")
        write_model(
            folder / "model",
            num_hidden_layers=2,
            hidden_size=64,
            num_attention_heads=4,
            num_key_value_heads=4,
            head_dim=16,
        )
        (folder / "model/chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
        self.host = host
        self.inventory = folder / "inventory.yml"
        self.inventory.write_text(json.dumps(self._inventory()), encoding="utf-8")

    def _inventory(self) -> dict[str, t.Any]:
        port = free_ports(1)[0]
        hccl = 61000 + 40 * (os.getpid() % 100)  # above what Linux gives away, and not that of another test
        tools = {
            name: f"{self.host['bin']}/{program}"
            for name, program in {"npu_smi": "npu-smi", "hccn_tool": "hccn_tool"}.items()
        }
        variables = {
            "ansible_connection": "local",
            "ansible_python_interpreter": self.python,
            "inference_release": "0.23.0",
            "inference_runtime": "supervisor",
            "inference_rehearse": False,
            "inference_hardware": "a3",
            "inference_engine_install": "site",
            "inference_devices": 2,
            "inference_interface": "lo",
            "inference_root": str(self.root),
            "inference_cann_path": str(self.folder / "Ascend"),
            "inference_model": {"path": str(self.folder / "model"), "name": "x"},
            "inference_env": {"ASCEND_SIMULATOR_STATE": self.host["state"]},
            "inference_args": {"max-model-len": 4096},
            "inference_pools": {"colocated": {"tensor_parallel_size": 2, "ports": {"api": port, "hccl": hccl}}},
            "inference_router": {"flavour": "none"},
            "inference_start_timeout": 120,
            "inference_stop_timeout": 10,
            "inference_check_ignore": ascend_cluster.MACHINE,
            "host_check_hccn_conf": self.host["hccn_conf"],
            "host_check_executables": tools,
            "service_executables": tools,
            "cann_source": str(self.folder / "packages"),
            "cann_unverified": True,
            "cann_download_directory": str(self.folder / "downloads"),
            "cann_free_mib": 1,
            **wheels.offline(self.folder / "wheels"),
        }
        return {
            "all": {"vars": variables, "children": {"colocated": {"hosts": {"node0": {"ansible_host": "127.0.0.1"}}}}}
        }

    def provide(self, **variables: t.Any) -> None:
        """What ``prepare`` installs, as small as the simulated engine needs it: the program vllm, and CANN's environment with libraries.

        ``variables``: those of the inventory that differ.
        """
        given = {**self._inventory()["all"]["vars"], **variables}
        libraries = pathlib.Path(given["inference_cann_path"]) / "lib64"
        program = self.root / f"venvs/vllm_ascend-{given['inference_release']}/bin/vllm"
        for folder in (libraries, program.parent):
            folder.mkdir(parents=True)
        for name in ("libascend_hal.so", "libhccl.so", "libatb.so"):
            (libraries / name).touch()
        plan = launch_plan(
            given,
            {"node0": {"groups": ["colocated"], "variables": {"ansible_host": "127.0.0.1"}}},
        )
        for source in map(pathlib.Path, plan["software"]["cann"]["sources"]):
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(
                f"export ASCEND_HOME_PATH={libraries.parent} LD_LIBRARY_PATH={libraries}\n", encoding="utf-8"
            )
        vllm = HERE.parent / "simulator/bin/vllm"
        program.write_text(f'#!/bin/sh\nASCEND_SIMULATOR_PYTHON={sys.executable} exec {vllm} "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def without(self, *playbooks: str) -> None:
        """Run the playbooks from a copy, in which these do nothing."""
        source, copy = (
            TREE / "ansible_collections/ascend/inference",
            self.folder / "tree/ansible_collections/ascend/inference",
        )
        copy.mkdir(parents=True)
        for entry in source.iterdir():
            if entry.name in ("galaxy.yml", "meta", "plugins", "roles"):
                (copy / entry.name).symlink_to(entry)
        shutil.copytree(source / "playbooks", copy / "playbooks")
        for name in playbooks:
            play = {"name": "Nothing", "hosts": "{{ [] }}", "gather_facts": False, "tasks": []}
            (copy / f"playbooks/shared/{name}_body.yml").write_text(json.dumps([play]), encoding="utf-8")
        self.tree = self.folder / "tree"

    def play(self, playbook: str, stage: str = "", step: str = "", **variables: t.Any) -> Run:
        """Run a playbook; ``stage`` and ``step`` say where it is killed, see ``interrupt/``."""
        return self.begin(playbook, stage, step, **variables)()

    def begin(
        self, playbook: str, stage: str = "", step: str = "", signalled: str = "SIGKILL", **variables: t.Any
    ) -> t.Callable[[], Run]:
        """Start a playbook; what is returned waits for its end, and lets it go on if ``signalled`` (SIGSTOP) holds it."""
        name = f"{next(self.numbers)}-"
        records = {kind: self.folder / f"{name}{kind}.txt" for kind in ("stages", "steps")}
        for path in records.values():
            path.write_text("", encoding="utf-8")
        environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": f"{self.tree}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}",
            "ANSIBLE_CALLBACK_PLUGINS": f"{HERE / 'interrupt'}:{HERE.parent / 'callbacks'}",
            "ANSIBLE_CALLBACKS_ENABLED": "stages,built_once",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "ANSIBLE_PIPELINING": "0",  # see interrupt/sitecustomize.py
            "ASCEND_SIMULATOR_ROOT": str(self.folder / "root-of-cann"),
            "ASCEND_SIMULATOR_STATE": str(self.host["state"]),
            "HOME": str(self.folder),
            "PIP_CONFIG_FILE": "/dev/null",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE / "interrupt"), os.environ.get("PYTHONPATH", "")])),
            "INTERRUPT_ROOT": str(self.root),
            "INTERRUPT_STAGES": str(records["stages"]),
            "INTERRUPT_STEPS": str(records["steps"]),
            "INTERRUPT_STAGE": stage,
            "INTERRUPT_STEP": step,
            "INTERRUPT_SIGNAL": signalled,
        }
        argv = [
            str(PROGRAM),
            "-i",
            str(self.inventory),
            "-e",
            json.dumps(variables),
            *f"ascend.inference.{playbook}".split(),  # with options behind it
        ]
        output = self.folder / f"{name}output.txt"
        with output.open("w", encoding="utf-8") as stream:
            process = subprocess.Popen(
                argv, env=environment, cwd=self.folder, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
            )
        if signalled == "SIGSTOP":
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

        def end() -> Run:
            if signalled == "SIGSTOP":
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGCONT)
            texts = [process.wait(), output.read_text(encoding="utf-8")]
            return Run(*texts, *(path.read_text(encoding="utf-8").splitlines() for path in records.values()))

        return end

    def processes(self) -> list[int]:
        """Processes of the services."""
        mark, found = MARK + f"{self.directory}/".encode(), []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if any(item.startswith(mark) for item in (entry / "environ").read_bytes().split(b"\0")):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def stop(self) -> None:
        """End what runs."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((self.directory / "run/supervisord.pid").read_text()), signal.SIGTERM)
        end = time.monotonic() + 15
        while self.processes() and time.monotonic() < end:
            time.sleep(0.2)
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
