# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fake API server with simulated engines behind it, and Ansible in front of it."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import yaml
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.kinds import path_of
from ansible_collections.ascend.inference.tests.e2e import _secrets

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = ROOT / "inventories" / "a3_kthena_1p1d"
SIMULATOR = ROOT / "tests" / "simulator" / "kubernetes"
PLAYBOOK = pathlib.Path(
    os.environ.get("ASCEND_ANSIBLE_PLAYBOOK", pathlib.Path(sys.executable).parent / "ansible-playbook")
)
PYTHON = PLAYBOOK.parent / "python"
SECRET = f"{_secrets.PLANTED}-of-the-engines"
VARIABLES_FILE = "variables.json"
TIMEOUT = 1200  # timeout of one playbook on a busy machine, in seconds
MOST = 600  # of a wait that ends as soon as its condition holds
CORE = "/api/v1/namespaces/default/"
WORKLOAD = "/apis/workload.serving.volcano.sh/v1alpha1/namespaces/default/modelservings"
NETWORKING = "/apis/networking.serving.volcano.sh/v1alpha1/namespaces/default/"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def has_kubernetes():
    """Whether the Ansible in use has the requirements of the role kthena."""
    tried = subprocess.run([str(PYTHON), "-c", "import kubernetes, yaml"], capture_output=True, check=False)
    return PLAYBOOK.exists() and tried.returncode == 0


def crds():
    """The option for validation with Kthena's own CRD files, if ASCEND_KTHENA_CRDS contains their folder."""
    path = os.environ.get("ASCEND_KTHENA_CRDS", "")
    return ["--crds", path] if path else []


def inventory_variables():
    """The variables of the inventory."""
    return yaml.safe_load((SEED / "group_vars/all.yml").read_text())


def free_port():
    """A free port."""
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        return listener.getsockname()[1]


def run(directory, *arguments):
    """Run ansible-playbook; returns the finished process, its streams joined."""
    environment = {
        **os.environ,
        "ANSIBLE_HOME": str(directory / "ansible"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_CACHE_PLUGIN": "jsonfile",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(directory / "facts"),
        "ANSIBLE_LOG_PATH": str(directory / "ansible.log"),
        "TMPDIR": str(directory),  # the client caches its discovery of the server there
    }
    begin = time.monotonic()
    ran = subprocess.run(
        [str(PLAYBOOK), *(str(argument) for argument in arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        env=environment,
        check=False,
        cwd=directory,
    )
    print(
        f"{' '.join(str(argument) for argument in arguments)[-60:]}: exit {ran.returncode}, {time.monotonic() - begin:.0f} s"
    )
    return ran


class Fake:
    """A fake API server; with ``model`` also engines at the addresses of its pods, and a proxy at ``node_port``."""

    def __init__(self, directory, *arguments, model=""):
        directory.mkdir(exist_ok=True)
        self.directory, self.kubeconfig = directory, directory / "kubeconfig"
        self.log = (directory / "fake.log").open("w")
        self.node_port = free_port()
        self.processes = [
            self.start("fake_api_server.py", "--kubeconfig", self.kubeconfig, "--logs", directory, *arguments)
        ]
        until = time.time() + 300
        while not self.kubeconfig.exists() and time.time() < until and self.processes[0].poll() is None:
            time.sleep(0.1)
        time.sleep(0.2)  # until the file is complete
        self.url = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        if model:
            options = ("--model", model, "--node-port", self.node_port, "--directory", directory)
            self.processes.append(self.start("fake_engines.py", "--server", self.url, *options))

    def start(self, program, *arguments):
        """Start one of the simulator's programs."""
        command = [str(PYTHON), str(SIMULATOR / program), *(str(argument) for argument in arguments)]
        return subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def stop(self):
        """Stop all processes."""
        for process in self.processes:
            process.terminate()
            process.wait(MOST)
        self.log.close()

    def get(self, path):
        """Read objects from the server."""
        with urllib.request.urlopen(self.url + path, timeout=MOST) as answer:
            return json.load(answer)

    def send(self, method, path, body=None, form="application/merge-patch+json"):
        """Create, change or remove an object as another field manager."""
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(self.url + path, data, {"Content-Type": form}, method=method)
        urllib.request.urlopen(request, timeout=60).close()

    def apply(self, thing, manager):
        """Server-side apply by another manager."""
        path = f"{path_of(thing['kind'], 'default', thing['metadata']['name'])}?fieldManager={manager}"
        self.send("PATCH", path, thing, "application/apply-patch+yaml")

    @staticmethod
    def wait(holds):
        """Until it holds, at most ``MOST`` s."""
        end = time.monotonic() + MOST
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.5)

    def ask(self, model):
        """Send a request to the router's node port; its HTTP status."""
        body = json.dumps({"model": model, "prompt": "x", "max_tokens": 4}).encode()
        url = f"http://127.0.0.1:{self.node_port}/v1/completions"
        headers = {"Content-Type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as answer:
                answer.read()
                time.sleep(0.1)
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def engines(self):
        """Names and uids of the engines' pods."""
        found = self.pods()
        return {name: found[name] for name in found if "-router-" not in name}

    def pods(self):
        """Names and uids of the pods."""
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in self.get(CORE + "pods")["items"]}

    def addresses(self):
        """Addresses of the pods that have one."""
        found = {item["status"].get("podIP") for item in self.get(CORE + "pods")["items"]}
        return found - {None}

    def names(self, path):
        """Names of the objects of one kind."""
        return [item["metadata"]["name"] for item in self.get(path)["items"]]

    def images(self):
        """The engines' images by role."""
        roles = self.get(WORKLOAD + "/deepseek-pd")["spec"]["template"]["roles"]
        return {role["name"]: role["entryTemplate"]["spec"]["containers"][0]["image"] for role in roles}

    def play(self, playbook, *arguments, change=None, good=True, secret=True, **variables):
        """Run a playbook of the collection with the inventory; returns its output."""
        description = inventory_variables()
        description["inference_kubernetes"]["router"] = {"service_type": "NodePort", "node_port": self.node_port}
        description["inference_rules_ignore"] = ["K8S-NODE-PORT"]  # a free port of this machine
        if change:
            change(description)
        if secret:
            description["inference_secrets"] = {"api_key": SECRET}
        waits = dict.fromkeys(("kthena_stuck_timeout", "kthena_router_timeout"), MOST)
        over = {"kthena_kubeconfig": str(self.kubeconfig), "kthena_poll": 1, **waits, **variables}
        file = self.directory / VARIABLES_FILE
        file.write_text(json.dumps({**description, **over}))
        ran = run(self.directory, "-i", SEED, "-e", f"@{file}", *arguments, f"ascend.inference.{playbook}")
        with (self.directory / "output.log").open("a") as record:
            record.write(ran.stdout)
        assert (ran.returncode == 0) == good, ran.stdout[-8000:]
        return ran.stdout


def changed(output):
    """The recap's number of changes."""
    return int(output.rsplit("changed=", 1)[1].split()[0])


def message(output, host):
    """The error message of a host, on one line."""
    found = [line for line in output.splitlines() if line.startswith(f"fatal: [{host}]")]
    return " ".join(" ".join(found).replace("\\n", " ").split())
