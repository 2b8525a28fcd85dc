# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates what makes pods (for ModelServings see fake_serving.py), schedules, starts and ends them."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import threading
import time

import fake_pods
from fake_serving import Servings, label, ready, share
from fake_store import Refused, now

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
        self.seen, self.servings, self.tried = {}, Servings(self), {}
        self.next_address, self.leaving = 1, 2

    def run(self):
        """Run the loop until the process ends."""
        while True:
            time.sleep(self.pace)
            self.step()

    def step(self):
        """Look at everything once."""
        with self.store.lock:
            for serving in self.store.list("modelservings"):
                self.servings.serve(serving)
            self.orphans()
            self.store.fresh.clear()
            self.nodes()
            self.pods()
            self.quotas()
            self.lead()
            if self.deployments:
                self.deploy()

    def orphans(self):
        """Remove pods whose ModelServing, Deployment or LeaderWorkerSet no longer exists, and Services of the last."""
        names = {(item["metadata"]["namespace"], item["metadata"]["name"]) for item in self.store.list("modelservings")}
        owning = [
            item for kind in ("deployments", "leaderworkersets", "modelservings") for item in self.store.list(kind)
        ]
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
        """Start the termination of a pod; it is removed ``leaving`` steps later."""
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
                if memory["going"] > self.leaving:
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
        """Put a pod on a node that is up and has room; returns whether it got one. Volcano binds no pod of a group before enough of it fit."""
        head, (least, group), self.tried = pod["metadata"], self.gang(pod), {}
        for each in [pod, *group]:
            up = [item for item in self.store.list("nodes") if is_up(item) and self.has_room(item, each)]
            held = {name: len(self.on(name)) for name in (item["metadata"]["name"] for item in up)}
            name = each["spec"].get("nodeName") or min(held, key=lambda name: (held[name], name), default="")
            self.tried.update({each["metadata"]["uid"]: name} if name else {})
        count, node, self.tried = len(self.tried), self.tried.get(head["uid"]), {}
        if node and count >= least:
            self.store.replace("pods", head["namespace"], dict(pod, spec={**pod["spec"], "nodeName": node}))
            return True
        text = f"0/{len(self.store.list('nodes'))} nodes are available: insufficient devices or free ports."
        refused = condition("PodScheduled", False, "Unschedulable")
        if not (pod.get("status") or {}).get("conditions"):
            text = f"pod group is not ready, {count} of {least} minAvailable fit." if node else text
            status = dict(pod.get("status") or {}, conditions=[dict(refused, message=text)])
            self.store.set_status("pods", head["namespace"], head["name"], status)
        return False

    def gang(self, pod):
        """minMember of the PodGroup of a pod (Kthena's calculateRequirements), and the other pods of its serving group that stay."""
        if not label(pod, "group-name") or pod["spec"].get("schedulerName") != "volcano":
            return 1, []
        serving = self.store.get("modelservings", pod["metadata"]["namespace"], label(pod, "name"))
        template, least = serving["spec"]["template"], 0
        for role in template["roles"]:
            count = role.get("replicas", 1)
            given = ((template.get("gangPolicy") or {}).get("minRoleReplicas") or {}).get(role["name"], count)
            least += (role.get("workerReplicas", 0) + 1) * min(count, given)
        pods = self.servings.own(serving, group_name=label(pod, "group-name"))
        pods = [each for each in pods if each["metadata"]["uid"] != pod["metadata"]["uid"]]
        return least, [
            each for each in pods if not fake_pods.has_ended(each) and "deletionTimestamp" not in each["metadata"]
        ]

    def on(self, node):
        """The pods of a node that hold something of it."""
        return [
            pod
            for pod in self.store.list("pods")
            if self.tried.get(pod["metadata"]["uid"], pod["spec"].get("nodeName")) == node
            and not fake_pods.has_ended(pod)
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
            found = fake_pods.problems(pod["spec"])
            if found:
                raise Refused(422, "Invalid", f'Pod "{pod["metadata"]["name"]}" is invalid: {"; ".join(found)}')
            self.store.create("pods", namespace, pod)
        except Refused as error:
            return "" if error.code == 409 else error.message  # it exists, or is still terminating
        return ""


def reports(node):
    """Whether a node says that it is ready."""
    conditions = (node.get("status") or {}).get("conditions", [])
    return [item["status"] for item in conditions if item["type"] == "Ready"] == ["True"]


def is_up(node):
    """Whether it takes pods, too."""
    return reports(node) and not (node.get("spec") or {}).get("unschedulable")


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
