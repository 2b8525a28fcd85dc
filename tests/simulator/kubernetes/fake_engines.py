# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SIMULATED engines and proxy at the addresses of the fake API server's pods: nothing here computes a language model.

Each ready pod of a ModelServing gets an engine of ``pd_cluster`` at its address (of a loopback network) and container port.
The proxy listens at the node port of the Service and sends requests to the addresses in the ConfigMap of targets, like its pod:
with wrong targets, or with those of deleted pods, its requests fail.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
import time
import types
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import pd_cluster

LABEL = "modelserving.volcano.sh/"


class Api:
    """Reads from the fake API server."""

    def __init__(self, url, namespace):
        self.base = f"{url}/api/v1/namespaces/{namespace}/"

    def get(self, path):
        """Objects of the server, or an empty result."""
        try:
            with urllib.request.urlopen(self.base + path, timeout=30) as answer:
                return json.load(answer)
        except (OSError, urllib.error.HTTPError):
            return {}

    def pods(self):
        """Ready pods: {uid: (name, role, address, port)}."""
        found = {}
        for item in self.get("pods").get("items", []):
            head, status = item["metadata"], item.get("status") or {}
            ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", []))
            if ready and not head.get("deletionTimestamp"):
                port = item["spec"]["containers"][0]["ports"][0]["containerPort"]
                found[head["uid"]] = (head["name"], head["labels"][LABEL + "role"], status["podIP"], port)
        return found


class Engines:
    """Keeps one simulated engine for each ready pod."""

    def __init__(self, api, model, directory):
        self.api, self.running = api, {}
        self.cluster = types.SimpleNamespace(
            model=model, directory=directory, block_size=128, max_model_len=2000, ranks=1, api_key="", entry_key=""
        )
        self.cluster.tokenize, self.cluster.store, self.cluster.role = True, None, self.targets
        self.cluster.rank_header, self.cluster.bootstrap = True, False
        self.cluster.data_parallel = 1  # until the commands are known
        self.ports = {}

    def step(self):
        """Start engines of new pods, stop engines of deleted pods."""
        pods = self.api.pods()
        if set(pods) - set(self.running):
            self.cluster.data_parallel = self.data_parallel()
        for uid in set(self.running) - set(pods):
            self.running.pop(uid).stop()
        for uid in set(pods) - set(self.running):
            name, role, address, port = pods[uid]
            self.ports[role] = port
            engine = type("Engine", (pd_cluster.Engine,), {"address": (address, port)})
            self.running[uid] = engine(name, role, self.cluster)

    def data_parallel(self):
        """The largest --data-parallel-size of the commands in ConfigMaps; all engines of this simulator have the same."""
        text = json.dumps(self.api.get("configmaps"))
        return max([1, *map(int, re.findall(r"--data-parallel-size[^0-9]{1,9}(\d+)", text))])

    def targets(self, role):
        """The engines of a role according to the ConfigMap of targets."""
        maps = self.api.get("configmaps").get("items", [])
        data = next((item.get("data") or {} for item in maps if item["metadata"]["name"].endswith("-targets")), {})
        names = [name for name in sorted(data) if name.startswith(role.upper() + "_")]
        return [types.SimpleNamespace(url=f"http://{data[name]}:{self.ports.get(role, 0)}") for name in names]


class Proxy(pd_cluster.Router):
    """The proxy of vLLM-Ascend has another path for its health."""

    def get(self, path):
        """Healthy as long as it runs."""
        return (200, "{}") if path == "/healthcheck" else super().get(path)


def main():
    """Follow the fake API server until the process is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help="URL of the fake API server")
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--model", required=True)
    parser.add_argument("--node-port", type=int, required=True, help="of the router's Service; on every address")
    parser.add_argument("--directory", required=True, help="for logs")
    options = parser.parse_args()
    engines = Engines(Api(options.server, options.namespace), options.model, options.directory)
    proxy = type("Proxy", (Proxy,), {"address": ("0.0.0.0", options.node_port)})
    threading.Thread(target=proxy, args=("router", engines.cluster), daemon=True).start()
    while True:
        engines.step()
        time.sleep(0.2)


if __name__ == "__main__":
    main()
