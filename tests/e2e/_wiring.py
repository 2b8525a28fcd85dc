# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployment on simulated hosts, from the description to the verification, with one planted fault.

Real are the planner, the host checks, the plan's files, environments and command lines, upstream's proxies,
Mooncake's master and the verification. Simulated are NPUs, their tools, CANN and the engine (tests/simulator). Each host is
a folder; the table refers to it as ``{node2}`` and so on.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from ansible_collections.ascend.inference.plugins.module_utils.hccn.gather import BASIC
from ansible_collections.ascend.inference.plugins.module_utils.hccn.report import report
from ansible_collections.ascend.inference.plugins.module_utils.host import facts as host_facts
from ansible_collections.ascend.inference.plugins.module_utils.host.model_facts import model_facts
from ansible_collections.ascend.inference.plugins.module_utils.npu_smi.gather import gather
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Tool
from ansible_collections.ascend.inference.plugins.module_utils.verify import logs as service_logs
from ansible_collections.ascend.inference.plugins.module_utils.verify.gate import verify
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys, Limits
from ansible_collections.ascend.inference.plugins.module_utils.verify.verdict import verdict
from ansible_collections.ascend.inference.plugins.modules.hccn_ping import ping
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.pairs import fabric_peers, fabric_plane
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.rank_table import rank_table
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.verify_text import verify_text
from ansible_collections.ascend.inference.tests.simulator import ascend_cluster, upstream_proxies
from ansible_collections.ascend.inference.tests.simulator.fake_host import LIBRARIES, write_model

SIMULATOR = pathlib.Path(__file__).resolve().parents[1] / "simulator"
CACHE = SIMULATOR.parents[1] / ".cache" / "upstream"
TIMEOUT = 90  # timeout of a service to become healthy on a busy machine, in seconds
MASTER = "mooncake-transfer-engine-non-cuda==0.3.13.post1"
SOURCES = {
    "0.18.0": "0.18.0",
    "0.23.0": "0.23.0.post1",
    "0.11.0": "0.11.0",
}  # release: source distribution with its proxy
LIMITS = Limits(connect=4, request=12, settle=6)


def merged(old, new):
    """``old`` merged with ``new``, recursively; None removes a key."""
    result = copy.deepcopy(old)
    for key, value in new.items():
        if value is None:
            result.pop(key, None)
        else:
            both = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = merged(result[key], value) if both else copy.deepcopy(value)
    return result


class Host:
    """One simulated host: its folder, its state, its programs."""

    def __init__(self, folder, number, hardware, release, model):
        self.name, self.address = f"node{number}", f"127.0.0.{25 + number}"
        self.folder = folder / self.name
        engine = {"interfaces": {"lo": [self.address]}, **({"release": release} if release else {})}
        state = ascend_cluster.host_state(hardware, number, 8, driver="25.5.1", engine=engine)
        self.state = pathlib.Path(ascend_cluster.write(folder, state))
        self.hccn_conf = folder / state["hccn_conf"]
        self.bin = pathlib.Path(ascend_cluster.install(folder, self.name))
        self.model = write_model(self.folder / "model", **model)

    def change(self, devices=None, hccn_conf=None, model=None, **values):
        """Change the state; devices by number; hccn_conf: absent; model: keys for write_model."""
        state = json.loads(self.state.read_text())
        state.update(values)
        for number, values in (devices or {}).items():
            state["devices"][int(number)].update(values)
        self.state.write_text(json.dumps(state))
        if hccn_conf == "absent":
            self.hccn_conf.unlink()
        if model:
            write_model(self.model, **model)

    def environment(self):
        """The login environment of the host, without CANN's files."""
        own = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(self.folder)}
        return {**own, "ASCEND_SIMULATOR_STATE": str(self.state), "VLLM_RPC_BASE_PATH": str(self.folder)}

    def look(self, plan):
        """The facts that the role host_check records, from the functions of its modules."""
        devices = sorted(
            number for service in plan["services"] if service["host"] == self.name for number in service["devices"]
        )
        interfaces = {"lo": {"addresses": [self.address], "up": True}}
        host = {
            "listening": [socket for socket in host_facts.listening() if socket["address"] == self.address],
            "own_processes": [],
            "interfaces": interfaces,
            "memory": {"memory_available_mib": 900000, "shm_mib": 500000},
            "limits": {"nofile": 1048576, "memlock_bytes": None},
            "sysctl": {"vm.max_map_count": 1000000},
            "clock": {"epoch": time.time(), "offset": 0.5, "synchronised": True},
            "disks": [{"path": "/opt", "free_mib": 900000, "free_inodes": 9000000}],
            "models": [dict(model_facts(str(self.model)), path=plan["model"]["path"])],
            "system": {"hostname": self.name, "machine": "aarch64", "kernel": "5.10.0", "machine_id": self.name},
            "access": {},
        }
        hccn = Tool(str(self.bin / "hccn_tool"), 60)
        npu = gather(Tool(str(self.bin / "npu-smi"), 60))
        return {"host": host, "npu": npu, "hccn": report(hccn, devices, BASIC, 4, str(self.hccn_conf))}

    def ping(self, plan, peers):
        """The pings that it records after the facts of all hosts were gathered."""
        devices = sorted({device for peer in peers for device in peer["devices"]})
        arguments = {"peers": peers, "devices": devices, "kind": fabric_plane(plan, self.name)}
        limits = {"count": 3, "workers": 4, "max_loss_percent": 0, "max_time_ms": None}
        found = ping({**arguments, **limits}, Tool(str(self.bin / "hccn_tool"), 60))
        found["unreachable_pairs"] = found.pop("unreachable")
        return found


def write_cann(folder):
    """Create CANN's folder with the two shell files that planned services source."""
    for inside, names in LIBRARIES.items():
        (folder / inside).mkdir(parents=True)
        for name in names:
            (folder / inside / name).write_text("simulated\n")
    every = ":".join(str(folder / library) for library in LIBRARIES if not library.startswith("nnal"))
    toolkit, nnal = folder / "ascend-toolkit", folder / "nnal" / "atb"
    lines = [
        f"export LD_LIBRARY_PATH={every}:${{LD_LIBRARY_PATH:-}}",
        f"export ASCEND_TOOLKIT_HOME={toolkit}/latest",
    ]
    lines.append(f"export ASCEND_HOME_PATH={toolkit}/latest")
    (toolkit / "set_env.sh").write_text("\n".join(lines) + "\n")
    libraries = next(nnal.glob("latest/atb/*/lib"))
    (nnal / "set_env.sh").write_text(f"export LD_LIBRARY_PATH={libraries}:${{LD_LIBRARY_PATH:-}}\n")


class Deployment:
    """One deployment through all stages. Each stage returns the text of the detected fault, or ""."""

    def __init__(self, folder, kind):
        self.folder, self.kind, self.processes, self.plan, self.facts = folder, kind, {}, {}, {}
        self.release = kind["variables"]["inference_release"]
        numbers = range(1, len(kind["groups"]) + 1)
        made = [Host(folder, number, kind["hardware"], self.release, kind.get("model", {})) for number in numbers]
        self.hosts = {host.name: host for host in made}
        write_cann(folder / "cann")

    # --- the stages ---------------------------------------------------------------------------------------------------

    def describe(self, variables):
        """Plan the description merged with ``variables``."""
        inventory = {}
        for host, groups in zip(self.hosts.values(), self.kind["groups"], strict=True):
            own = {"ansible_host": host.address, "ansible_connection": "local", "inference_interface": "lo"}
            own.update(inference_hardware=self.kind["hardware"], inference_devices=8)
            own.update(variables.pop(host.name, {}))
            inventory[host.name] = {"groups": own.pop("groups", groups), "variables": own}
        base = {
            "inference_root": str(self.folder / "root"),
            "inference_model": {"path": str(self.folder / "model"), "name": "it"},
            "inference_cann_path": str(self.folder / "cann"),
            "inference_runtime": "supervisor",
            "inference_router": {"port": 26900},
        }
        try:
            self.plan = launch_plan(merged(merged(base, self.kind["variables"]), variables), inventory)
        except PlanError as error:
            return str(error)
        return ""

    def check(self):
        """Check the hosts like playbooks/check.yml; returns the texts of the errors."""
        self.facts = {name: host.look(self.plan) for name, host in self.hosts.items()}
        peers = fabric_peers(self.plan, self.facts)
        for name, host in self.hosts.items():
            if peers[name]:
                self.facts[name]["ping"] = host.ping(self.plan, peers[name])
        found = [item for item in check_plan(self.plan, self.facts) if item["severity"] == "error"]
        return "\n".join(f"{item['path']}: {item['problem']} [{item['id']}]" for item in found)

    def start(self, edits):
        """Write and start the planned services, stage by stage, with manual changes in ``edits`` by service."""
        stages = sorted({service["start"]["stage"] for service in self.plan["services"]})
        for stage in stages:
            these = [service for service in self.plan["services"] if service["start"]["stage"] == stage]
            for service in these:
                self._start(edited(self._with_table(service), edits.get(service["name"], {})))
            for service in these:
                self._wait(service)

    def _with_table(self, service):
        """The service with its rank table, from the observed facts of the hosts."""
        table = self.folder / "root" / "deployments" / self.plan["deployment"] / "ranktable.json"
        files = [
            {**file, "content": json.dumps(rank_table(self.plan, self.facts))} if file["path"] == str(table) else file
            for file in service["files"]
        ]
        return {**service, "files": files}

    def _start(self, service):
        folder = pathlib.Path(service["work_directory"])
        for file in service["files"]:
            pathlib.Path(file["path"]).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(file["path"]).write_text(file["content"])
        folder.mkdir(parents=True, exist_ok=True)
        host = self.hosts[service["host"]]
        argv, environment = self._program(service, host)
        lines = ["set -eu"] + [f". {shlex.quote(path)}" for path in service["source"]]
        lines += [f"export {name}={shlex.quote(value)}" for name, value in {**service["env"], **environment}.items()]
        lines.append("exec " + " ".join(shlex.quote(argument) for argument in argv))
        log = pathlib.Path(service["log"]["path"])
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "w") as output:
            self.processes[service["name"]] = subprocess.Popen(
                ["/bin/sh", "-c", "\n".join(lines)],
                env=host.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _program(self, service, host):
        """The planned command line with the simulated program, and the environment that it needs."""
        argv = [str(host.model) if argument == self.plan["model"]["path"] else argument for argument in service["argv"]]
        if service["kind"] == "router":
            scripts = upstream_proxies.fetch(SOURCES[self.release], CACHE)
            script = scripts / pathlib.PurePath(argv[1]).name
            python = str(upstream_proxies.python(CACHE))
            return [python, str(script), *argv[2:]], {"PYTHONPATH": str(CACHE / "vllm-stub")}
        python = (
            str(upstream_proxies.venv(CACHE, "mooncake-venv", [MASTER])) if self.kind.get("store") else sys.executable
        )
        if service["kind"] == "mooncake_master":
            return [str(pathlib.Path(python).with_name("mooncake_master")), *argv[1:]], {}
        return [str(SIMULATOR / "bin" / "vllm"), *argv[1:]], {"ASCEND_SIMULATOR_PYTHON": python}

    def _wait(self, service):
        """Wait until it is healthy or has exited; the verification must detect a service that exited."""
        end = time.monotonic() + TIMEOUT
        url = service["health"]["url"]
        while self.processes[service["name"]].poll() is None and time.monotonic() < end:
            try:
                with urllib.request.urlopen(url, timeout=5):
                    return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)

    def kill(self, name):
        """Kill a service with all its processes."""
        process = self.processes[name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def verify(self):
        """Run probes and logs like the role verify: (text of the failures, the report)."""
        section = read_plan(self.plan["verify"])
        logs = [service_logs.services_of(section, name) for name in self.hosts]
        marks = [service_logs.mark(log) for log in logs]
        responses = verify(section, Keys(), LIMITS)
        read = [
            service_logs.read(service_log, mark, section.release.lines, _no_command)
            for service_log, mark in zip(logs, marks, strict=True)
        ]
        report = verdict(section, responses, read)
        return "" if report["verified"] else "\n".join(verify_text(report)), report

    def close(self):
        """Stop everything."""
        for name in self.processes:
            self.kill(name)


def edited(service, edit):
    """The service with manual changes: argv (arguments to replace), script, without (flags and their values), append, env, kv, files, source_from."""
    service = copy.deepcopy(service)
    if "script" in edit:
        service["argv"][1] = edit["script"]
    argv = [edit.get("argv", {}).get(argument, argument) for argument in service["argv"]]
    for flag in edit.get("without", []):
        del argv[argv.index(flag) : argv.index(flag) + 2]
    argv += edit.get("append", [])
    if "kv" in edit:
        place = argv.index("--kv-transfer-config") + 1
        argv[place] = json.dumps(merged(json.loads(argv[place]), edit["kv"]))
    for file in service["files"]:
        for old, new in edit.get("files", {}).items():
            file["content"] = file["content"].replace(old, new)
    source = service["source"][edit.get("source_from", 0) :]
    return {**service, "argv": argv, "env": merged(service["env"], edit.get("env", {})), "source": source}


def _no_command(argv):
    raise OSError(f"{argv[0]}: logs are files here")
