# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates Kthena's ModelServing controller, after the source of v1.0.0 (pkg/model-serving-controller/controller).

As there, it decides by what it remembers of groups and roles, and not by the pods that it sees. Functions have the names of the source's.
"""

from __future__ import annotations

import copy
import hashlib
import json

import fake_pods
from fake_store import now

PREFIX = "modelserving.volcano.sh/"
RUNNING, CREATING, SCALING, DELETING = "Running", "Creating", "Scaling", "Deleting"
REASONS = {"Available": "AllGroupsReady", "Progressing": "GroupProgressing", "UpdateInProgress": "GroupsUpdating"}


class Servings:
    """Reconciles ModelServings; ``controller`` has the pods' ``terminate``, ``create_pod`` and ``store``."""

    def __init__(self, controller):
        self.controller, self.store, self.seen = controller, controller.store, {}

    def serve(self, serving):
        """One step of one ModelServing."""
        head = serving["metadata"]
        fresh = {"groups": {}, "revisions": {}, "pods": {}, "grace": {}, "step": 0, "generation": 0, "current": ""}
        memory = self.seen.setdefault(head["uid"], fresh)
        if head.get("deletionTimestamp"):
            self.leave(serving, memory)
            return
        if memory["generation"] != head["generation"]:
            memory.update(generation=head["generation"], step=0)
        memory["step"] += 1
        # For a while the status describes the old generation; refused pods are reported in the controller's log only.
        if memory["step"] == 1 or any(map(refusals, roles_of(serving))):
            return
        self.watch(serving, memory)
        target = revision(roles_of(serving))
        self.sync_groups(serving, memory, target)
        self.sync_roles(serving, memory, target)
        self.manage_rolling_update(serving, memory, target)
        self.update_status(serving, memory, target)

    def own(self, serving, **labels):
        """The serving's pods with these labels."""
        wanted = {PREFIX + "name": serving["metadata"]["name"]}
        wanted.update({PREFIX + key.replace("_", "-"): value for key, value in labels.items()})
        space = serving["metadata"]["namespace"]
        return self.store.list("pods", space, lambda pod: wanted.items() <= pod["metadata"].get("labels", {}).items())

    def of_role(self, serving, group, role_id):
        """The pods of one instance of a role in a group."""
        return self.own(serving, group_name=full(serving, group), role_id=role_id)

    # Events of pods

    def watch(self, serving, memory):
        """updatePod and deletePod: what has happened to pods since the last step."""
        pods = {pod["metadata"]["uid"]: pod for pod in self.own(serving) if label(pod, "group-name")}
        for uid in [uid for uid in memory["pods"] if uid not in pods]:
            self.delete_pod(serving, memory, memory["pods"].pop(uid))
            memory["grace"].pop(uid, None)
        for uid, pod in pods.items():
            memory["pods"][uid] = pod
            group = memory["groups"].get(ordinal(label(pod, "group-name")))
            if pod["metadata"].get("deletionTimestamp") or not group:
                continue
            role = group["roles"].get(label(pod, "role"), {}).get(label(pod, "role-id"))
            if ready(pod) and role and role["status"] == CREATING and self.is_role_ready(serving, pod):
                role["status"] = RUNNING
            if ready(pod) and self.is_group_ready(serving, group) and group["status"] != DELETING:
                group["status"] = RUNNING
            elif has_failed(pod) and not ready(pod):
                self.error_pod(serving, memory, group, role, pod)

    def error_pod(self, serving, memory, group, role, pod):
        """handleErrorPod: a pod that failed, or whose container restarted, is deleted unless it is ready after the grace period."""
        memory["grace"][pod["metadata"]["uid"]] = memory["grace"].get(pod["metadata"]["uid"], 0) + 1
        if role and role["status"] == RUNNING:
            role["status"] = CREATING
        if group["status"] == RUNNING:
            group["status"] = CREATING
        if memory["grace"][pod["metadata"]["uid"]] > (
            serving["spec"]["template"].get("restartGracePeriodSeconds") or 0
        ):
            self.controller.terminate(pod)

    def delete_pod(self, serving, memory, pod):
        """deletePod, with handleDeletionInProgress and handleDeletedPod."""
        number, name, role_id = ordinal(label(pod, "group-name")), label(pod, "role"), label(pod, "role-id")
        group = memory["groups"].get(number)
        role = group["roles"].get(name, {}).get(role_id) if group else None
        if not group:
            return
        if group["status"] == DELETING:
            if not self.own(serving, group_name=full(serving, number)):
                del memory["groups"][number]
        elif role and role["status"] == DELETING:
            if not self.of_role(serving, number, role_id):
                del group["roles"][name][role_id]
        elif serving["spec"].get("recoveryPolicy") == "ServingGroupRecreate":
            self.delete_group(serving, memory, number)
        elif serving["spec"].get("recoveryPolicy", "RoleRecreate") == "RoleRecreate":
            if group["status"] == RUNNING:
                group["status"] = CREATING
            self.delete_role(serving, group, number, name, role_id)

    def delete_group(self, serving, memory, number):
        """deleteServingGroup."""
        pods = self.own(serving, group_name=full(serving, number))
        memory["groups"][number]["status"] = DELETING
        self.controller.terminate_all(pods)
        if not pods:
            del memory["groups"][number]

    def delete_role(self, serving, group, number, name, role_id):
        """DeleteRole."""
        role, pods = group["roles"].get(name, {}).get(role_id), self.of_role(serving, number, role_id)
        if role:
            role["status"] = DELETING
            self.controller.terminate_all(pods)
            if not pods:
                del group["roles"][name][role_id]

    def is_role_ready(self, serving, pod):
        """checkRoleReady: never of a role that the specification does not have."""
        sizes = {role["name"]: role.get("workerReplicas", 0) + 1 for role in roles_of(serving)}
        pods = self.of_role(serving, ordinal(label(pod, "group-name")), label(pod, "role-id"))
        return len([item for item in pods if ready(item)]) == sizes.get(label(pod, "role"))

    @staticmethod
    def is_group_ready(serving, group):
        """checkServingGroupReady: looks at the roles of the specification only, and not at their revision."""
        wanted = {role["name"]: [RUNNING] * role.get("replicas", 1) for role in roles_of(serving)}
        return all(
            [role["status"] for role in group["roles"].get(name, {}).values()] == wanted[name] for name in wanted
        )

    # Numbers

    def sync_groups(self, serving, memory, target):
        """syncServingGroupReplicas: new groups get the next numbers, except those that the partition protects."""
        groups, wanted = memory["groups"], serving["spec"].get("replicas", 1)
        missing = wanted - len(groups)
        numbers = [number for number in range(min(self.partition(serving), wanted)) if number not in groups]
        next_one = max([*groups, *numbers], default=-1) + 1
        numbers += range(next_one, next_one + missing - len(numbers))
        for number in numbers if missing > 0 else ():
            rev = (memory["current"] or target) if number < self.partition(serving) else target
            roles = memory["revisions"].setdefault(rev, copy.deepcopy(roles_of(serving)))
            groups[number] = {"revision": rev, "status": CREATING, "roles": {}}
            for role in roles:
                self.scale_up(serving, groups[number], number, role, range(role.get("replicas", 1)))
        kept = sorted(groups)[: self.partition(serving)]
        first = sorted(groups, key=lambda each: (each in kept, groups[each]["status"] == RUNNING, -each))
        for number in first[: max(0, -missing)]:
            self.delete_group(serving, memory, number)

    def sync_roles(self, serving, memory, target):
        """syncRoleReplicas: all instances that lack get the template of now, whatever revision their group is of."""
        memory["revisions"][target] = copy.deepcopy(roles_of(serving))
        for index, number in enumerate(sorted(memory["groups"])):
            group = memory["groups"][number]
            is_kept = index < self.partition(serving)
            roles = memory["revisions"].get(group["revision"], roles_of(serving)) if is_kept else roles_of(serving)
            for role in roles if group["status"] != DELETING else ():
                found = group["roles"].setdefault(role["name"], {})
                names = sorted(found, key=ordinal)
                alive = [name for name in names if found[name]["status"] != DELETING]
                for name in alive:
                    self.make(serving, number, role, name)
                lacking = role.get("replicas", 1) - len(names)
                if lacking > 0:
                    next_one = ordinal(names[-1]) + 1 if names else 0
                    self.scale_up(serving, group, number, role, range(next_one, next_one + lacking))
                    group["status"] = SCALING
                surplus = max(0, len(alive) - role.get("replicas", 1)) if lacking < 0 else 0
                first = sorted(alive, key=lambda name: (found[name]["status"] == RUNNING, -ordinal(name)))
                for name in first[:surplus]:
                    group["status"] = SCALING
                    self.delete_role(serving, group, number, role["name"], name)

    def scale_up(self, serving, group, number, role, numbers):
        """scaleUpRoles."""
        for index in numbers:
            role_id = f"{role['name']}-{index}"
            self.make(serving, number, role, role_id)
            mine = group["roles"].setdefault(role["name"], {})
            mine[role_id] = {"hash": role_hash(role), "status": CREATING}

    def make(self, serving, number, role, role_id):
        """CreatePodsByRole: the entry and its workers, as far as they are not there."""
        name, base = serving["metadata"]["name"], full(serving, number)
        if len(self.of_role(serving, number, role_id)) > role.get("workerReplicas", 0):
            return
        for index in range(role.get("workerReplicas", 0) + 1):
            template = role["workerTemplate"] if index else role["entryTemplate"]
            own = {"name": name, "group-name": base, "role": role["name"], "role-id": role_id}
            own.update({"revision": revision(roles_of(serving)), "role-template-hash": role_hash(role)})
            own.update({} if index else {"entry": "true"})
            head = copy.deepcopy(template.get("metadata") or {})
            labels = {**(head.get("labels") or {}), **{PREFIX + key: own[key] for key in own}}
            head.update(name=f"{base}-{role_id}-{index}", labels=labels)
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": copy.deepcopy(template["spec"])}
            self.controller.create_pod(serving["metadata"]["namespace"], dict(pod, status={"phase": "Pending"}))

    # Updates

    @staticmethod
    def partition(serving):
        """modelServingPartition."""
        rolling = (serving["spec"].get("rolloutStrategy") or {}).get("rollingUpdateConfiguration") or {}
        return share(rolling.get("partition", 0), serving["spec"].get("replicas", 1), 99)

    def manage_rolling_update(self, serving, memory, target):
        """manageRollingUpdate: a group that is of the target is left alone, also if it does not run and roles of it are of another."""
        spec, strategy = serving["spec"], serving["spec"].get("rolloutStrategy") or {}
        numbers = sorted(memory["groups"])[self.partition(serving) :]
        groups = {number: memory["groups"][number] for number in numbers}
        old = [number for number in groups if groups[number]["revision"] != target]
        old.sort(key=lambda number: (groups[number]["status"] != RUNNING, number))  # deleted from the end
        if strategy.get("type") == "RoleRollingUpdate":
            for number in reversed(old):
                self.update_roles(serving, groups[number], number, target)
            return
        going = len([1 for group in groups.values() if group["status"] != RUNNING and group["revision"] == target])
        most = (strategy.get("rollingUpdateConfiguration") or {}).get("maxUnavailable", 1)
        least = spec.get("replicas", 1) - share(most, spec.get("replicas", 1), 0)
        room = len(memory["groups"]) - least - going
        for number in list(reversed(old))[: max(0, room)]:
            if groups[number]["status"] != DELETING:
                self.delete_group(serving, memory, number)

    def update_roles(self, serving, group, number, target):
        """deleteOutdatedRoles of one group."""
        wanted, chosen, is_outdated = {role["name"]: role for role in roles_of(serving)}, [], False
        for name, role in wanted.items():
            found = group["roles"].get(name, {})
            names = sorted(found, key=ordinal)
            kept = names[: share(role.get("partition", 0), role.get("replicas", 1), 99)]
            old = [
                item for item in names if found[item]["status"] != DELETING and found[item]["hash"] != role_hash(role)
            ]
            is_outdated = is_outdated or bool(old)
            going = [
                i for i in names if found[i]["status"] == DELETING or (i not in old and found[i]["status"] != RUNNING)
            ]
            room = len(old)
            if "maxUnavailable" in role:
                count = role.get("replicas", 1)
                room = max(0, len(names) - max(0, count - share(role["maxUnavailable"], count, 0)) - len(going))
            old = sorted(set(old) - set(kept), key=lambda item: (found[item]["status"] == RUNNING, -ordinal(item)))
            chosen += [(name, item) for item in old[:room]]
        gone = [(name, item) for name in group["roles"] if name not in wanted for item in group["roles"][name]]
        gone = [(name, item) for name, item in gone if group["roles"][name][item]["status"] != DELETING]
        if not is_outdated and not gone:
            group["revision"] = target
        for name, item in chosen + gone:
            self.delete_role(serving, group, number, name, item)

    # Status

    def update_status(self, serving, memory, target):
        """UpdateModelServingStatus: counts groups by their own revision."""
        groups = [memory["groups"][number] for number in sorted(memory["groups"])]
        for group in groups:
            if group["status"] not in (DELETING, RUNNING) and self.is_group_ready(serving, group):
                group["status"] = RUNNING
        running = [group for group in groups if group["status"] == RUNNING]
        standing = [group for group in groups if group["status"] != DELETING]
        updated = [group for group in standing if group["revision"] == target]
        old = [group["revision"] for group in standing if group not in updated]
        if memory["current"] not in old:
            memory["current"] = target if not old else max(sorted(old), key=old.count)
        status = {
            "observedGeneration": serving["metadata"]["generation"],
            "replicas": len(groups),
            "updatedReplicas": len(updated),
            "availableReplicas": len(running),
            "currentReplicas": len(old) or len(updated),
            "currentRevision": memory["current"],
            "updateRevision": target,
        }
        kind = "UpdateInProgress" if len(old) > self.partition(serving) else "Progressing"
        status["conditions"] = conditions(serving, "Available" if len(running) == len(groups) else kind)
        self.store.set_status("modelservings", serving["metadata"]["namespace"], serving["metadata"]["name"], status)

    def leave(self, serving, memory):
        """Deletion in the foreground: pods are deleted, created once more, and deleted again."""
        if self.own(serving):
            self.controller.terminate_all(self.own(serving))
        elif memory.get("again"):
            self.store.remove("modelservings", serving["metadata"]["namespace"], serving["metadata"]["name"])
        else:
            memory["again"] = True
            for role in roles_of(serving):
                self.make(serving, 0, role, f"{role['name']}-0")


def conditions(serving, holds):
    """SetCondition: the one that holds is true; Available and the two others exclude each other."""
    found = {item["type"]: dict(item) for item in (serving.get("status") or {}).get("conditions", [])}
    for item in found.values():
        if item["status"] == "True" and item["type"] != holds and "Available" in (item["type"], holds):
            item["status"] = "False"
    if found.get(holds, {}).get("status") != "True":
        found[holds] = {"type": holds, "status": "True", "reason": REASONS[holds], "lastTransitionTime": now()}
        found[holds]["message"] = "written by a fake controller"
    return list(found.values())


def roles_of(serving):
    """The roles of the specification."""
    return serving["spec"]["template"]["roles"]


def refusals(role):
    """The reasons why the server rejects the role's pods."""
    templates = [role["entryTemplate"]] + ([role["workerTemplate"]] if role.get("workerReplicas") else [])
    return [problem for template in templates for problem in fake_pods.problems(template["spec"])]


def full(serving, group):
    """The name of a group."""
    return f"{serving['metadata']['name']}-{group}"


def label(thing, name):
    """One of Kthena's labels."""
    return thing["metadata"].get("labels", {}).get(PREFIX + name, "")


def ordinal(name):
    """The number at the end of a name."""
    return int(name.rsplit("-", 1)[1])


def share(value, whole, up):
    """A number, or a percentage of ``whole``, rounded up with ``up``."""
    return value if isinstance(value, int) else (int(value.rstrip("%")) * whole + up) // 100


def ready(pod):
    """Whether the pod has this condition."""
    found = (pod.get("status") or {}).get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in found)


def has_failed(pod):
    """IsPodFailed, or ContainerRestarted."""
    status = pod.get("status") or {}
    return status.get("phase") == "Failed" or any(
        each.get("restartCount") for each in status.get("containerStatuses", [])
    )


def role_hash(role):
    """CalRoleTemplateHash: without the numbers of instances."""
    parts = {key: role[key] for key in role if key not in ("replicas", "maxUnavailable", "partition")}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:10]


def revision(roles):
    """ModelServingRevision."""
    return hashlib.sha256("".join(map(role_hash, roles)).encode()).hexdigest()[:10]
