# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates Kthena's ModelServing controller and the Deployment controller according to a recorded life cycle."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import threading
import time

import fake_pods
from fake_store import Refused, now

PREFIX = "modelserving.volcano.sh/"
LEADER = "leaderworkerset.sigs.k8s.io/"
UNNOTICED = 4  # steps, as the 40 s until a node that does not report counts as lost
TOLERATED = 15  # steps, as the 300 s that a pod stays on a node that does not report
WORKLOAD = "workload.serving.volcano.sh/v1alpha1"


class Controller(threading.Thread):
    """Reconciles all objects in a loop; ``pace`` is the length of one step in seconds."""

    def __init__(self, store, pace=0.2, deployments=True, network="10.9.0"):
        super().__init__(daemon=True)
        self.network = network
        self.store, self.pace, self.deployments = store, pace, deployments
        self.seen = {}
        self.next_address = 1

    def run(self):
        """Run the loop until the process ends."""
        while True:
            time.sleep(self.pace)
            self.step()

    def step(self):
        """Look at everything once."""
        with self.store.lock:
            for serving in self.store.list("modelservings"):
                self.serve(serving)
            self.orphans()
            self.nodes()
            self.pods()
            self.quotas()
            self.lead()
            if self.deployments:
                self.deploy()

    def serve(self, serving):
        """One step of one ModelServing."""
        head, name = serving["metadata"], serving["metadata"]["name"]
        memory = self.seen.setdefault(head["uid"], {"groups": [], "step": 0, "generation": 0})
        if head.get("deletionTimestamp"):
            return self.leave(serving, memory)
        if memory["generation"] != head["generation"]:
            memory.update(generation=head["generation"], step=0)
        memory["step"] += 1
        if memory["step"] == 1:
            return None  # for a while the status describes the old generation
        broken = [refusal for role in serving["spec"]["template"]["roles"] for refusal in self.refusals(role)]
        if broken:
            return None  # a real controller reports this only in its log
        self.resize(serving, memory)
        held = self.update(serving, memory)
        self.fill(serving, memory)
        self.report(serving, memory, held)
        return name

    @staticmethod
    def refusals(role):
        """The reason why the server rejects the role's pods."""
        templates = [role["entryTemplate"]] + ([role["workerTemplate"]] if role.get("workerReplicas") else [])
        return [problem for template in templates for problem in fake_pods.problems(template["spec"])]

    def own(self, serving, **labels):
        """The serving's pods with these labels."""
        wanted = {PREFIX + "name": serving["metadata"]["name"]}
        wanted.update({PREFIX + key.replace("_", "-"): value for key, value in labels.items()})
        space = serving["metadata"]["namespace"]
        return self.store.list("pods", space, lambda pod: wanted.items() <= pod["metadata"].get("labels", {}).items())

    def resize(self, serving, memory):
        """Scale groups: new groups get the next number, those with the highest number are removed first."""
        wanted = serving["spec"].get("replicas", 1)
        while len(memory["groups"]) < wanted:
            memory["groups"].append(max(memory["groups"], default=-1) + 1)
        while len(memory["groups"]) > wanted:
            gone = memory["groups"].pop()
            for pod in self.own(serving, group_name=f"{serving['metadata']['name']}-{gone}"):
                self.terminate(pod)

    def update(self, serving, memory):
        """Replace pods of an older revision; returns whether the status is outdated, as observed."""
        strategy = (serving["spec"].get("rolloutStrategy") or {}).get("type", "ServingGroupRollingUpdate")
        old = [pod for pod in self.own(serving) if self.is_old(serving, pod) and not self.is_kept(serving, pod)]
        going = [pod for pod in self.own(serving) if pod["metadata"].get("deletionTimestamp")]
        if not old or going:
            return bool(going)
        if strategy == "RoleRollingUpdate":
            roles = {role["name"]: role for role in serving["spec"]["template"]["roles"]}
            for name in sorted({label(pod, "role") for pod in old}):
                mine = [pod for pod in self.own(serving, role=name) if not self.is_old(serving, pod)]
                if "maxUnavailable" in roles.get(name, {}) and not all(ready(pod) for pod in mine):
                    continue
                if len(self.own(serving, role=name)) < self.wanted(serving, roles.get(name, {})):
                    continue  # the pod before was not created again yet
                ids = sorted({label(pod, "role-id") for pod in old if label(pod, "role") == name}, key=ordinal)
                chosen = ids[-1:] if "maxUnavailable" in roles.get(name, {}) else ids
                for pod in old:
                    if label(pod, "role-id") in chosen:
                        self.terminate(pod)
            return True
        if all(ready(pod) for pod in self.own(serving) if not self.is_old(serving, pod)):
            group = sorted({label(pod, "group-name") for pod in old}, key=lambda item: int(item.rsplit("-", 1)[1]))[-1]
            for pod in self.own(serving, group_name=group):
                self.terminate(pod)
            number = int(group.rsplit("-", 1)[1])
            if number != max(
                memory["groups"]
            ):  # observed with v1.0.0: all except the last are created with a new number
                memory["groups"] = [group for group in memory["groups"] if group != number] + [
                    max(memory["groups"]) + 1
                ]
        return True

    def is_kept(self, serving, pod):
        """Whether the partition protects a pod's group, or with RoleRollingUpdate its instance, from updates: the first existing ones."""
        strategy = serving["spec"].get("rolloutStrategy") or {}
        partition, key, mine = (strategy.get("rollingUpdateConfiguration") or {}).get("partition", 0), "group-name", {}
        if strategy.get("type") == "RoleRollingUpdate":
            roles = {role["name"]: role.get("partition", 0) for role in serving["spec"]["template"]["roles"]}
            partition, key = roles.get(label(pod, "role"), 0), "role-id"
            mine = {"group_name": label(pod, "group-name"), "role": label(pod, "role")}
        known = sorted({label(item, key) for item in self.own(serving, **mine)}, key=ordinal)
        return label(pod, key) in known[:partition]

    @staticmethod
    def wanted(serving, role):
        """The number of a role's pods."""
        return serving["spec"].get("replicas", 1) * role.get("replicas", 1) * (role.get("workerReplicas", 0) + 1)

    @staticmethod
    def is_old(serving, pod):
        """Whether the template of the pod's role has changed."""
        for role in serving["spec"]["template"]["roles"]:
            if role["name"] == label(pod, "role"):
                return label(pod, "role-template-hash") != revision(role)
        return True

    def fill(self, serving, memory):
        """Create missing pods and remove surplus pods."""
        for group in memory["groups"]:
            for role in serving["spec"]["template"]["roles"]:
                for index in range(role.get("replicas", 1)):
                    self.make(serving, group, role, index)
                full = f"{serving['metadata']['name']}-{group}"
                for pod in self.own(serving, group_name=full, role=role["name"]):
                    if int(label(pod, "role-id").rsplit("-", 1)[1]) >= role.get("replicas", 1):
                        self.terminate(pod)

    def make(self, serving, group, role, index):
        """The pods of one replica of a role: the entry, and its workers."""
        base, role_id = f"{serving['metadata']['name']}-{group}", f"{role['name']}-{index}"
        for number in range(role.get("workerReplicas", 0) + 1):
            template = role["entryTemplate"] if number == 0 else role["workerTemplate"]
            labels = dict((template.get("metadata") or {}).get("labels") or {})
            labels.update(
                {
                    PREFIX + "name": serving["metadata"]["name"],
                    PREFIX + "group-name": base,
                    PREFIX + "role": role["name"],
                    PREFIX + "role-id": role_id,
                    PREFIX + "role-template-hash": revision(role),
                }
            )
            if number == 0:
                labels[PREFIX + "entry"] = "true"
            head = {"name": f"{base}-{role_id}-{number}", "labels": labels}
            head["annotations"] = dict((template.get("metadata") or {}).get("annotations") or {})
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": copy.deepcopy(template["spec"])}
            pod["status"] = {"phase": "Pending"}
            self.create_pod(serving["metadata"]["namespace"], pod)

    def report(self, serving, memory, held):
        """Write the status; during a role's update Available with no updated group was observed."""
        groups = memory["groups"]
        names = [f"{serving['metadata']['name']}-{group}" for group in groups]
        pods = {name: list(self.own(serving, group_name=name)) for name in names}
        wanted = sum(
            role.get("replicas", 1) * (role.get("workerReplicas", 0) + 1)
            for role in serving["spec"]["template"]["roles"]
        )
        live = {name: [pod for pod in pods[name] if not pod["metadata"].get("deletionTimestamp")] for name in names}
        updated = [
            name
            for name in names
            if len(live[name]) == wanted and not any(self.is_old(serving, item) for item in live[name])
        ]
        available = [name for name in names if len(live[name]) == wanted and all(ready(item) for item in live[name])]
        status = {
            "observedGeneration": serving["metadata"]["generation"],
            "replicas": len(groups),
            "updatedReplicas": 0 if held else len(updated),
            "availableReplicas": len(groups) if held else len(available),
            "currentReplicas": len(available),
        }
        done = held or len(available) == len(groups)
        status["conditions"] = [
            condition("Progressing", not done, "GroupProgressing"),
            condition("Available", done, "AllGroupsReady"),
        ]
        before = serving.get("status") or {}
        for item in before.get("conditions", []):  # an unchanged condition keeps its time
            for mine in status["conditions"]:
                if mine["type"] == item["type"] and mine["status"] == item["status"]:
                    mine["lastTransitionTime"] = item["lastTransitionTime"]
        self.store.set_status("modelservings", serving["metadata"]["namespace"], serving["metadata"]["name"], status)

    def leave(self, serving, memory):
        """Deletion in the foreground: pods are deleted, created once more, and deleted again."""
        if not self.own(serving) and memory.get("again"):
            self.store.remove("modelservings", serving["metadata"]["namespace"], serving["metadata"]["name"])
        elif not self.own(serving):
            memory["again"] = True
            self.fill(serving, memory)
        else:
            for pod in self.own(serving):
                self.terminate(pod)

    def orphans(self):
        """Remove pods whose ModelServing, Deployment or LeaderWorkerSet no longer exists, and Services of the last."""
        names = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in self.store.list("modelservings")}
        owning = self.store.list("deployments") + self.store.list("leaderworkersets")
        alive = {item["metadata"]["uid"] for item in owning}
        for item in self.store.list("services"):
            if {owner["uid"] for owner in item["metadata"].get("ownerReferences", [])} - alive:
                self.store.remove("services", item["metadata"]["namespace"], item["metadata"]["name"])
        for pod in self.store.list("pods"):
            owners = {owner["uid"] for owner in pod["metadata"].get("ownerReferences", [])}
            if owners - alive:
                self.terminate(pod)
            owner = label(pod, "name")
            if owner and (pod["metadata"]["namespace"], owner) not in names:
                self.terminate(pod)

    def terminate(self, pod):
        """Start the termination of a pod; it is removed two steps later."""
        if not pod["metadata"].get("deletionTimestamp"):
            pod["metadata"]["deletionTimestamp"] = now()
            self.store.replace("pods", pod["metadata"]["namespace"], pod)

    def nodes(self):
        """Pods of a node that does not report are not ready, and end after the time that they tolerate it; they stay until it is back or gone."""
        names = {item["metadata"]["name"] for item in self.store.list("nodes")}
        dead = {item["metadata"]["name"] for item in self.store.list("nodes") if not reports(item)}
        for pod in self.store.list("pods"):
            memory = self.seen.setdefault(pod["metadata"]["uid"], {"age": 0, "going": 0})
            if pod["spec"].get("nodeName") not in dead or fake_pods.has_ended(pod):
                if pod["spec"].get("nodeName") in names and memory.pop("lost", 0):
                    self.set_ready(pod, all(each["ready"] for each in pod["status"].get("containerStatuses", [])))
                continue
            memory["lost"] = memory.get("lost", 0) + 1
            if ready(pod) and memory["lost"] > UNNOTICED:
                self.set_ready(pod, False)
            if memory["lost"] > TOLERATED:
                self.terminate(self.store.get("pods", pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def set_ready(self, pod, holds):
        """What the node controller changes: the containers' states stay as the node said last."""
        said = [{"type": "Ready", "status": "True" if holds else "False", "lastTransitionTime": now()}]
        status = dict(pod.get("status") or {}, conditions=said)
        self.store.set_status("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], status)

    def pods(self):
        """Pods get a node and become ready a few steps after their creation, unless their image is broken."""
        names = {item["metadata"]["name"] for item in self.store.list("nodes")}
        for pod in self.store.list("pods"):
            head = pod["metadata"]
            memory = self.seen.setdefault(head["uid"], {"age": 0, "going": 0})
            node = pod["spec"].get("nodeName", "")
            if (
                node and node not in names and "lost" in memory
            ):  # whose node is gone: the garbage collector removes them
                self.store.remove("pods", head["namespace"], head["name"])
                continue
            if head.get("deletionTimestamp"):
                memory["going"] += "lost" not in memory
                if memory["going"] > 2:
                    self.store.remove("pods", head["namespace"], head["name"])
                continue
            if "lost" in memory:
                continue
            if names and not node and not fake_pods.has_ended(pod) and not self.schedule(pod):
                continue
            missing = fake_pods.unmounted(self.store, pod) if memory["age"] < 4 else []
            if missing:
                self.tell(pod, "FailedMount", "; ".join(missing))
                self.set_condition(pod, "PodReadyToStartContainers")
                continue
            memory["age"] += 1
            if memory["age"] == 4 and not fake_pods.has_ended(pod):
                pod = self.store.get("pods", head["namespace"], head["name"])
                self.store.set_status("pods", head["namespace"], head["name"], self.started(pod))

    def set_condition(self, pod, name):
        """A condition that is not true."""
        head = self.store.get("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])
        status = dict(head.get("status") or {}, conditions=[condition(name, False, "")])
        self.store.set_status("pods", head["metadata"]["namespace"], head["metadata"]["name"], status)

    def schedule(self, pod):
        """Put a pod on a node that is up and has room for its devices and ports; returns whether there is one."""
        head, spec = pod["metadata"], pod["spec"]
        fitting = [item for item in self.store.list("nodes") if is_up(item) and self.has_room(item, pod)]
        if fitting:
            held = {name: len(self.on(name)) for name in (item["metadata"]["name"] for item in fitting)}
            spec["nodeName"] = min(held, key=lambda name: (held[name], name))
            self.store.replace("pods", head["namespace"], pod)
            return True
        text = f"0/{len(self.store.list('nodes'))} nodes are available: insufficient devices or free ports."
        refused = condition("PodScheduled", False, "Unschedulable")
        if not (pod.get("status") or {}).get("conditions"):
            status = dict(pod.get("status") or {}, conditions=[dict(refused, message=text)])
            self.store.set_status("pods", head["namespace"], head["name"], status)
        return False

    def on(self, node):
        """The pods of a node that hold something of it."""
        return [
            pod
            for pod in self.store.list("pods")
            if pod["spec"].get("nodeName") == node and not fake_pods.has_ended(pod)
        ]

    def has_room(self, node, item):
        """Whether a node has the devices and free ports for a pod, and no pod that it avoids."""
        spec = item["spec"]
        there, offer = self.on(node["metadata"]["name"]), (node.get("status") or {}).get("allocatable", {})
        wanted = fake_pods.devices(spec)
        for name in wanted:
            used = sum(fake_pods.devices(pod["spec"]).get(name, 0) for pod in there)
            if used + wanted[name] > fake_pods.amount(offer.get(name, 0)):
                return False
        ports = {port for pod in there for port in fake_pods.node_ports(pod["spec"])}
        return not fake_pods.node_ports(spec) & ports and not any(fake_pods.avoid(item, pod) for pod in there)

    def started(self, pod):
        """The status of a pod that has run for a while."""
        image = pod["spec"]["containers"][0]["image"]
        name, bad = pod["spec"]["containers"][0]["name"], [part for part in ("broken", "crash") if part in image]
        good, more = not bad, {"restartCount": 0}
        state = {"running": {"startedAt": now()}}
        if "broken" in bad:
            message = f'Back-off pulling image "{image}"'
            state = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
            self.tell(pod, "Failed", message)
        if "crash" in bad:
            state = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}}
            more = {"restartCount": 3, "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}
        self.next_address += 1
        return {
            "phase": "Running" if good else "Pending",
            "podIP": f"{self.network}.{self.next_address}",
            "hostIP": f"{self.network}.{self.next_address}",
            "conditions": [{"type": "Ready", "status": "True" if good else "False", "lastTransitionTime": now()}],
            "containerStatuses": [{"name": name, "image": image, "ready": good, "state": state, **more}],
        }

    def tell(self, pod, reason, message):
        """Write an event about a pod."""
        head = pod["metadata"]
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{head['name']}.{hashlib.sha256(message.encode()).hexdigest()[:10]}"},
            "involvedObject": {"kind": "Pod", "name": head["name"], "namespace": head["namespace"]},
            "reason": reason,
            "message": message,
            "type": "Warning",
        }
        with contextlib.suppress(Refused):  # the event exists already
            self.store.create("events", head["namespace"], event)

    def quotas(self):
        """What the pods of a namespace use."""
        for item in self.store.list("resourcequotas"):
            head, hard = item["metadata"], item["spec"]["hard"]
            running = fake_pods.counted(self.store, head["namespace"])
            used = {key: f"{sum(each.get(key, 0) for each in running):g}" for key in hard}
            self.store.set_status("resourcequotas", head["namespace"], head["name"], {"hard": hard, "used": used})

    def deploy(self):
        """Deployments create their pods, replace those of an older template once new ones are ready, and report it."""
        for item in self.store.list("deployments"):
            head, spec = item["metadata"], item["spec"]
            memory = self.seen.setdefault(head["uid"], {"generation": 0, "step": 0})
            if memory["generation"] != head["generation"]:
                memory.update(generation=head["generation"], step=0)
            memory["step"] += 1
            mark, count = revision(spec), spec.get("replicas", 1)
            live = [pod for pod in self.of(head) if not pod["metadata"].get("deletionTimestamp")]
            live = [pod for pod in live if not fake_pods.has_ended(pod)]  # they stay, and others are made
            mine = [pod for pod in live if pod["metadata"]["labels"]["pod-template-hash"] == mark]
            recreate = (spec.get("strategy") or {}).get("type") == "Recreate"
            if recreate and len(self.of(head)) > len(mine):
                self.terminate_all([pod for pod in live if pod not in mine])
                continue
            (surge, most_missing), refused = bounds(spec), ""
            for dummy in range(min(count - len(mine), count + surge - len(live))):
                memory["made"] = memory.get("made", 0) + 1
                name = f"{head['name']}-{mark}-{memory['made']}"
                refused = self.start_pod(item, name, {"pod-template-hash": mark}) or refused
            old = sorted((pod for pod in live if pod not in mine), key=ready)  # those that do not run go first
            spare = len([pod for pod in live if ready(pod)]) - (count - most_missing)
            useless = [pod for pod in old if not ready(pod)]
            self.terminate_all(mine[count:] + old[: len(useless) + max(0, spare)])
            status = {"observedGeneration": head["generation"], "replicas": len(live), "updatedReplicas": len(mine)}
            available = len([pod for pod in live if ready(pod)])
            status.update(availableReplicas=available, readyReplicas=available)
            if refused:
                failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": refused}
                status["conditions"] = [failure]
            self.store.set_status("deployments", head["namespace"], head["name"], status)

    def of(self, head):
        """The pods of a Deployment."""
        return [
            pod
            for pod in self.store.list("pods", head["namespace"])
            if any(owner["uid"] == head["uid"] for owner in pod["metadata"].get("ownerReferences", []))
        ]

    def terminate_all(self, pods):
        """Terminate several."""
        for pod in pods:
            self.terminate(pod)

    def lead(self):
        """LeaderWorkerSets make groups of a leader and its workers, and replace them from the last one on, one by one."""
        for item in self.store.list("leaderworkersets"):
            head, inner, count = item["metadata"], item["spec"]["leaderWorkerTemplate"], item["spec"].get("replicas", 1)
            memory = self.seen.setdefault(head["uid"], {"generation": 0})
            if memory["generation"] != head["generation"]:
                memory["generation"] = head["generation"]
                continue  # for a while the status is of the old generation
            self.shared_service(head)
            size, groups = inner.get("size", 1), {}
            for pod in self.of(head):
                groups.setdefault(int(pod["metadata"]["labels"][LEADER + "group-index"]), []).append(pod)
            mark = hashlib.sha256(json.dumps(inner, sort_keys=True).encode()).hexdigest()[:10]
            old = [number for number in groups if any(revision_of(pod) != mark for pod in groups[number])]
            whole = [number for number in groups if len(groups[number]) == size and all(map(ready, groups[number]))]
            going = [number for number in groups if any(map(restarts_its_group, groups[number]))]
            for number in groups:
                if number >= count or number in going:  # RecreateGroupOnPodRestart
                    self.terminate_all(groups[number])
            sick = [number for number in old if number not in whole]
            if old and not going and (sick or len(whole) == count):
                self.terminate_all(groups[max(sick or old)])
            for number in range(count):
                members = size if number in groups else 1  # a leader's StatefulSet of workers follows it
                for index in range(members) if number not in going else ():
                    self.start_member(item, number, index, mark)
            groups = {number: groups[number] for number in groups if number not in going}
            status = {"observedGeneration": head["generation"], "replicas": len(groups)}
            status["updatedReplicas"] = len([number for number in groups if number not in old])
            status["readyReplicas"] = len([number for number in whole if number in groups])
            self.store.set_status("leaderworkersets", head["namespace"], head["name"], status)

    def shared_service(self, head):
        """The headless Service of a LeaderWorkerSet's name, which gives its pods their host names."""
        spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {LEADER + "name": head["name"]}}
        reference = {"kind": "LeaderWorkerSet", "name": head["name"], "uid": head["uid"]}
        thing = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": head["name"]}, "spec": spec}
        thing["metadata"]["ownerReferences"] = [reference]
        with contextlib.suppress(Refused):  # one of this name is left as it is
            self.store.create("services", head["namespace"], thing)

    def start_member(self, owner, group, index, mark):
        """A pod of a group, with the variables and labels that its webhook adds."""
        head, inner = owner["metadata"], owner["spec"]["leaderWorkerTemplate"]
        leader = f"{head['name']}-{group}"
        template = inner.get("leaderTemplate") if index == 0 else None
        added = {"LWS_LEADER_ADDRESS": f"{leader}.{head['name']}.{head['namespace']}"}
        added.update(LWS_GROUP_SIZE=str(inner.get("size", 1)), LWS_WORKER_INDEX=str(index))
        labels = {"name": head["name"], "group-index": str(group), "worker-index": str(index)}
        labels["template-revision-hash"] = mark
        self.start_pod(
            owner,
            leader if index == 0 else f"{leader}-{index}",
            {LEADER + key: labels[key] for key in labels},
            template or inner["workerTemplate"],
            [{"name": key, "value": added[key]} for key in added],
        )

    def start_pod(self, owner, name, labels, template=None, variables=()):
        """One pod of a Deployment or a LeaderWorkerSet, unless the server refuses it."""
        template = copy.deepcopy(template or owner["spec"]["template"])
        head = template.setdefault("metadata", {})
        head["labels"] = dict(head.get("labels") or {}, **labels)
        for container in template["spec"]["containers"] if variables else ():
            given = {each["name"] for each in variables}
            container["env"] = [*variables, *(each for each in container.get("env", []) if each["name"] not in given)]
        if variables:
            template["spec"].update(hostname=name, subdomain=owner["metadata"]["name"])
        reference = {"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        head.update(name=name, ownerReferences=[reference])
        pod = {"apiVersion": "v1", "kind": "Pod", **template, "status": {"phase": "Pending"}}
        return self.create_pod(owner["metadata"]["namespace"], pod)

    def create_pod(self, namespace, pod):
        """Create a pod; admission and the quota of the namespace apply to controllers too. Returns the server's words if it refuses it."""
        try:
            fake_pods.admitted(self.store, namespace, pod)
            self.store.create("pods", namespace, pod)
        except Refused as error:
            return "" if error.code == 409 else error.message  # it exists, or is still terminating
        return ""


def label(thing, name):
    """One of Kthena's labels."""
    return thing["metadata"].get("labels", {}).get(PREFIX + name, "")


def reports(node):
    """Whether a node says that it is ready."""
    conditions = (node.get("status") or {}).get("conditions", [])
    return [item["status"] for item in conditions if item["type"] == "Ready"] == ["True"]


def is_up(node):
    """Whether it takes pods, too."""
    return reports(node) and not (node.get("spec") or {}).get("unschedulable")


def ordinal(name):
    """The number at the end of a name."""
    return int(name.rsplit("-", 1)[1])


def restarts_its_group(pod):
    """RecreateGroupOnPodRestart: whether a pod goes, or one of its containers has restarted."""
    statuses = (pod.get("status") or {}).get("containerStatuses", [])
    return "deletionTimestamp" in pod["metadata"] or any(each.get("restartCount") for each in statuses)


def revision_of(pod):
    """The revision of a LeaderWorkerSet that a pod is of."""
    return pod["metadata"]["labels"][LEADER + "template-revision-hash"]


def bounds(spec):
    """``(maxSurge, maxUnavailable)`` of a Deployment as numbers; a quarter, up and down, by default."""
    given = (spec.get("strategy") or {}).get("rollingUpdate") or {}
    return tuple(
        share(given.get(key, "25%"), spec.get("replicas", 1), up)
        for key, up in (("maxSurge", 99), ("maxUnavailable", 0))
    )


def share(value, whole, up):
    """A number, or a percentage of ``whole``, rounded up with ``up``."""
    return value if isinstance(value, int) else (int(value.rstrip("%")) * whole + up) // 100


def ready(pod):
    """Whether the pod has this condition."""
    conditions = (pod.get("status") or {}).get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def revision(role):
    """A hash of the templates of a role or a Deployment, without the number of replicas."""
    parts = {key: role.get(key) for key in ("template", "entryTemplate", "workerTemplate", "workerReplicas")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:10]


def condition(kind, holds, reason):
    """A condition."""
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": "written by a fake controller",
        "lastTransitionTime": now(),
    }
