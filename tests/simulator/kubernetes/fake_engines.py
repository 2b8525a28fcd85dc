# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated engines at the addresses of the fake's pods, and the router's pod.

Each ready pod of an engine gets an engine of ``pd_cluster`` at its address (of a loopback network) and container port.
The proxy listens at the node port of the Service. It sends requests to the loopback addresses of its start script, where the
forwarder of the ConfigMap that the router's pod mounts listens, the very file; only its DNS is simulated, from the selectors of the
Services and the pods that are ready. So a wrong script, Service or selector, and a pod that is not followed, make requests fail.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shlex
import sys
import threading
import time
import types
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import pd_cluster

COMPONENT = "app.kubernetes.io/component"


class Api:
    """Reads from the fake API server."""

    def __init__(self, url, namespace):
        self.base, self.all = f"{url}/api/v1/namespaces/{namespace}/", f"{url}/api/v1/"

    def get(self, path, base=""):
        """Objects of the server, or an empty result."""
        try:
            with urllib.request.urlopen((base or self.base) + path, timeout=30) as answer:
                return json.load(answer)
        except (OSError, urllib.error.HTTPError):
            return {}

    def ready(self):
        """Pods that are ready and not terminating."""
        found = []
        for item in self.get("pods").get("items", []):
            conditions = (item.get("status") or {}).get("conditions", [])
            ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
            if ready and not item["metadata"].get("deletionTimestamp"):
                found.append(item)
        return found

    def running(self):
        """Those whose nodes run; the others stay in the DNS until the cluster notices."""
        dead = set()
        for item in self.get("nodes", self.all).get("items", []):
            if any(each["type"] == "Ready" and each["status"] != "True" for each in item["status"]["conditions"]):
                dead.add(item["metadata"]["name"])
        return [item for item in self.ready() if item["spec"].get("nodeName") not in dead]

    def pods(self):
        """Running pods of engines: {uid: (name, role, address, port)}."""
        found = {}
        for item in self.running():
            head = item["metadata"]
            container = item["spec"]["containers"][0]
            for port in container.get("ports", []):
                if port.get("name") == "server":
                    place = (item["status"]["podIP"], port["containerPort"])
                    found[head["uid"]] = (head["name"], container["name"], *place)
        return found

    def lookup(self, name):
        """What the DNS of the cluster has for a headless Service."""
        found = self.get("services/" + name.split(".")[0])
        if not found or found["spec"]["clusterIP"] != "None":
            return []
        wanted = found["spec"]["selector"].items()
        return sorted(
            item["status"]["podIP"] for item in self.ready() if wanted <= item["metadata"].get("labels", {}).items()
        )


class RouterPod:
    """Runs the forwarder of the router's pod, from the ConfigMap that the newest ready pod mounts."""

    def __init__(self, api):
        self.api, self.name, self.slots, self.loop, self.thread = api, "", [], None, None

    def step(self):
        """Restart it when the pod mounts another ConfigMap."""
        pods = [item for item in self.api.running() if item["metadata"]["labels"].get(COMPONENT) == "router"]
        volumes = max(pods, key=lambda item: item["metadata"]["creationTimestamp"])["spec"]["volumes"] if pods else []
        name = next((item["configMap"]["name"] for item in volumes if "configMap" in item), "")
        if name == self.name:
            return
        if self.loop:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()  # the next one listens at the same addresses
            self.loop = None
        self.name, self.slots = name, []
        if name:
            self.start(self.api.get("configmaps/" + name)["data"])

    def start(self, data):
        """Listen as the start script says."""
        program = types.ModuleType("forwarder")
        sys.modules["forwarder"] = program
        exec(compile(data["router-forwarder.py"], "forwarder.py", "exec"), program.__dict__)
        program.lookup, program.POLL = self.api.lookup, 0.3
        words = shlex.split(data["router.sh"], comments=True)
        self.slots = [program.slot(words[place + 1]) for place, word in enumerate(words) if word == "--engine"]
        forwarder, self.loop = program.Forwarder(self.slots), asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.serve, args=(self.loop, forwarder), daemon=True)
        self.thread.start()

    @staticmethod
    def serve(loop, forwarder):
        """Until the loop is stopped."""
        servers, create = [], loop.create_server

        async def created(*given, **named):
            servers.append(await create(*given, **named))
            return servers[-1]

        loop.create_server = created
        asyncio.set_event_loop(loop)
        loop.run_until_complete(forwarder.listen())
        loop.create_task(forwarder.follow())
        loop.run_forever()
        for server in servers:
            server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    def role(self, role):
        """The engines that the proxy knows."""
        mine = [item for item in self.slots if item.name.split(".")[0].endswith("-" + role)]
        return [types.SimpleNamespace(url=f"http://{item.address}:{item.port}") for item in mine]


class Engines:
    """Keeps one simulated engine for each ready pod."""

    def __init__(self, api, model, directory):
        self.api, self.running, self.router = api, {}, RouterPod(api)
        self.cluster = types.SimpleNamespace(
            model=model, directory=directory, block_size=128, max_model_len=2000, ranks=1, api_key="", entry_key=""
        )
        self.cluster.tokenize, self.cluster.store, self.cluster.role = True, None, self.router.role
        self.cluster.rank_header, self.cluster.bootstrap = True, False
        self.cluster.data_parallel = 1  # until the commands are known

    def step(self):
        """Start engines of new pods, stop engines of deleted pods."""
        pods = self.api.pods()
        if set(pods) - set(self.running):
            self.cluster.data_parallel = self.size("data")
            self.cluster.tensor_parallel = self.size("tensor")
        for uid in set(self.running) - set(pods):
            self.running.pop(uid).stop()
        for uid in set(pods) - set(self.running):
            name, role, address, port = pods[uid]
            engine = type("Engine", (pd_cluster.Engine,), {"address": (address, port)})
            self.running[uid] = engine(name, role, self.cluster)
        self.router.step()

    def size(self, kind):
        """The largest --KIND-parallel-size of the commands in ConfigMaps; all engines of this simulator have the same."""
        text = json.dumps(self.api.get("configmaps"))
        return max([1, *map(int, re.findall(rf"--{kind}-parallel-size[^0-9]{{1,9}}(\d+)", text))])


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
