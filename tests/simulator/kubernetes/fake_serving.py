# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulates Kthena's ModelServing controller, after the source of v1.0.0 (pkg/model-serving-controller/controller).

As there, it decides by what it remembers of groups and roles, and not by the pods that it sees; and it looks at a ModelServing only when
something enqueues it: a change of its specification, and some events of its pods. Functions have the names of the source's.
"""

from __future__ import annotations

import copy
import hashlib
import json

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
        fresh.update(queued=False, failures=0, retry=0)
        is_new, memory = head["uid"] not in self.seen, self.seen.setdefault(head["uid"], fresh)
        found = [pod for pod in self.own(serving) if is_new and label(pod, "role-id")]
        for pod in sorted(found, key=lambda pod: -ordinal(label(pod, "role-id"))):  # syncAll lists them in any order
            self.know(memory, pod)
        if head.get("deletionTimestamp"):
            self.leave(serving, memory)
            return
        if memory["generation"] != head["generation"]:
            memory.update(generation=head["generation"], step=0, queued=True)
        memory["step"] += 1
        if memory["step"] == 1:  # for a while the status describes the old generation
            return
        self.watch(serving, memory)
        memory["retry"] -= 1
        if not memory["queued"] and memory["retry"] != 0:
            return
        target = revision(roles_of(serving))
        memory["queued"] = False
        if self.sync_groups(
            serving, memory, target
        ):  # reported in the controller's log only, and tried again later and later
            memory["failures"] += 1
            memory["retry"] = max(1, min(1000, 2 ** memory["failures"] // 200))  # AddRateLimited: 5 ms, doubled
            return
        memory.update(failures=0, retry=0)
        self.sync_roles(serving, memory, target)
        self.manage_rolling_update(serving, memory, target)
        self.update_status(serving, memory, target)

    def restart(self):
        """The controller starts anew: it knows what the labels of pods say, and looks at every ModelServing."""
        self.seen = {}

    @staticmethod
    def know(memory, pod):
        """AddServingGroupAndRole: a group is of the revision of the first pod that is seen of it."""
        if pod["metadata"].get("deletionTimestamp"):
            return
        fresh = {"revision": label(pod, "revision"), "status": CREATING, "roles": {}}
        group = memory["groups"].setdefault(ordinal(label(pod, "group-name")), fresh)
        role = {"hash": label(pod, "role-template-hash"), "status": CREATING}
        group["roles"].setdefault(label(pod, "role"), {}).setdefault(label(pod, "role-id"), role)

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
        for uid, pod in pods.items():
            before, memory["pods"][uid] = memory["pods"].get(uid), pod
            group = memory["groups"].get(ordinal(label(pod, "group-name")))
            if pod == before or pod["metadata"].get("deletionTimestamp") or not group:
                continue
            role = group["roles"].get(label(pod, "role"), {}).get(label(pod, "role-id"))
            if ready(pod):
                self.ready_pod(serving, memory, group, role, pod)
            elif has_failed(pod):
                self.error_pod(serving, memory, group, role, pod)
        self.after_grace(serving, memory)

    def ready_pod(self, serving, memory, group, role, pod):
        """handleReadyPod."""
        if role and role["status"] == CREATING and self.is_role_ready(serving, pod):
            role["status"] = RUNNING
        if self.is_group_ready(serving, group) and group["status"] != DELETING:
            group["status"] = RUNNING
            memory["queued"] = True

    def error_pod(self, serving, memory, group, role, pod):
        """handleErrorPod: the grace period of a pod that failed, or whose container restarted, begins, once for each name."""
        name = pod["metadata"]["name"]
        if name in memory["grace"]:
            return
        memory["grace"][name] = serving["spec"]["template"].get("restartGracePeriodSeconds") or 0
        if role and role["status"] == RUNNING:
            role["status"] = CREATING
        if group["status"] == RUNNING:
            group["status"] = CREATING
        memory["queued"] = True

    def after_grace(self, serving, memory):
        """handlePodAfterGraceTime: whatever pod has the name then is deleted if it is not ready; v1.0.0 does not compare the uid."""
        for name in list(memory["grace"]):
            memory["grace"][name] -= 1
            if memory["grace"][name] < 0:
                del memory["grace"][name]
                same = [pod for pod in self.own(serving) if pod["metadata"]["name"] == name]
                self.controller.terminate_all([pod for pod in same if not ready(pod)])

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
                memory["queued"] = True
        elif role and role["status"] == DELETING:
            if not self.of_role(serving, number, role_id):
                del group["roles"][name][role_id]
                memory["queued"] = True
        elif serving["spec"].get("recoveryPolicy") == "ServingGroupRecreate":
            self.delete_group(serving, memory, number)
        elif serving["spec"].get("recoveryPolicy", "RoleRecreate") == "RoleRecreate":
            if group["status"] == RUNNING:
                group["status"] = CREATING
            self.delete_role(serving, memory, number, name, role_id)

    def delete_group(self, serving, memory, number):
        """deleteServingGroup."""
        pods, group = self.own(serving, group_name=full(serving, number)), memory["groups"][number]
        if number < self.partition(serving):  # its ControllerRevision gets the roles of now, whatever revision it is of
            memory["revisions"][group["revision"]] = copy.deepcopy(roles_of(serving))
        group["status"] = DELETING
        self.controller.terminate_all(pods)
        if not pods:
            del memory["groups"][number]
            memory["queued"] = True

    def delete_role(self, serving, memory, number, name, role_id):
        """DeleteRole."""
        mine, pods = memory["groups"][number]["roles"].get(name, {}), self.of_role(serving, number, role_id)
        if role_id in mine and mine[role_id]["status"] != DELETING:
            mine[role_id]["status"] = DELETING
            self.controller.terminate_all(pods)
            if not pods:
                del mine[role_id]
                memory["queued"] = True

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
        """syncServingGroupReplicas: new groups get the next numbers, except those that the partition protects. Returns an error."""
        groups, wanted = memory["groups"], serving["spec"].get("replicas", 1)
        missing = wanted - len(groups)
        numbers = [number for number in range(min(self.partition(serving), wanted)) if number not in groups]
        next_one = max([*groups, *numbers], default=-1) + 1
        numbers += range(next_one, next_one + missing - len(numbers))
        for number in numbers if missing > 0 else ():
            is_kept = number < self.partition(serving)
            rev = (memory["current"] or target) if is_kept else target
            if not is_kept:  # only here a ControllerRevision is made
                memory["revisions"][target] = copy.deepcopy(roles_of(serving))
            roles = memory["revisions"].get(rev, roles_of(serving)) if is_kept else roles_of(serving)
            error = self.create_group(serving, memory, number, roles, rev)
            if error:
                return error
        kept = sorted(groups)[: self.partition(serving)]
        first = sorted(groups, key=lambda each: (each in kept, groups[each]["status"] == RUNNING, -each))
        for number in first[: max(0, -missing)]:
            self.delete_group(serving, memory, number)
        return ""

    def create_group(self, serving, memory, number, roles, rev):
        """CreatePodsForServingGroup: ends at the first pod that the server refuses; AddRole has made the group until then."""
        empty = {"revision": rev, "status": CREATING, "roles": {}}
        for role in roles:
            for index in range(role.get("replicas", 1)):
                role_id = f"{role['name']}-{index}"
                error = self.make(serving, number, role, role_id, rev)
                if error:
                    return error
                mine = memory["groups"].setdefault(number, empty)["roles"].setdefault(role["name"], {})
                mine[role_id] = {"hash": role_hash(role), "status": CREATING}
        memory["groups"].setdefault(number, empty)
        return ""

    def sync_roles(self, serving, memory, target):
        """syncRoleReplicas: all instances that lack get the template of now, whatever revision their group is of."""
        for index, number in enumerate(sorted(memory["groups"])):
            group = memory["groups"][number]
            is_kept = index < self.partition(serving)
            roles = memory["revisions"].get(group["revision"], roles_of(serving)) if is_kept else roles_of(serving)
            rev = group["revision"] if is_kept else target
            for role in roles if group["status"] != DELETING else ():
                found = group["roles"].setdefault(role["name"], {})
                names = sorted(found, key=ordinal)
                alive = [name for name in names if found[name]["status"] != DELETING]
                for name in alive:
                    self.make(serving, number, role, name, rev)
                lacking = role.get("replicas", 1) - len(names)
                if lacking > 0:
                    next_one = ordinal(names[-1]) + 1 if names else 0
                    self.scale_up(serving, group, number, role, range(next_one, next_one + lacking), rev)
                surplus = max(0, len(alive) - role.get("replicas", 1)) if lacking < 0 else 0
                first = sorted(alive, key=lambda name: (found[name]["status"] == RUNNING, -ordinal(name)))
                for name in first[:surplus]:
                    group["status"] = SCALING
                    self.delete_role(serving, memory, number, role["name"], name)

    def scale_up(self, serving, group, number, role, numbers, rev):
        """scaleUpRoles: an instance whose pods the server refuses is only logged, and tried again when something enqueues the ModelServing."""
        group["status"] = SCALING
        for index in numbers:
            role_id = f"{role['name']}-{index}"
            if not self.make(serving, number, role, role_id, rev):
                mine = group["roles"].setdefault(role["name"], {})
                mine[role_id] = {"hash": role_hash(role), "status": CREATING}

    def make(self, serving, number, role, role_id, rev):
        """CreatePodsByRole: the entry and its workers, as far as they are not there; returns why the server refuses one.

        A label of the template wins over Kthena's, its variables over those of the template, and the scheduler is the ModelServing's.
        """
        head, base = serving["metadata"], full(serving, number)
        if len(self.of_role(serving, number, role_id)) > role.get("workerReplicas", 0):
            return ""
        owner = {"apiVersion": serving["apiVersion"], "kind": "ModelServing", "name": head["name"], "uid": head["uid"]}
        owner.update(controller=True, blockOwnerDeletion=True)
        added = {
            "GROUP_SIZE": role.get("workerReplicas", 0) + 1,
            "ENTRY_ADDRESS": f"{base}-{role_id}-0.{head['namespace']}",
        }
        for index in range(role.get("workerReplicas", 0) + 1):
            template = role["workerTemplate"] if index else role["entryTemplate"]
            own = {"name": head["name"], "group-name": base, "role": role["name"], "role-id": role_id}
            own.update({"revision": rev, "role-template-hash": role_hash(role)})
            own.update({} if index else {"entry": "true"})
            given, spec = template.get("metadata") or {}, copy.deepcopy(template["spec"])
            labels = {**{PREFIX + key: own[key] for key in own}, **(given.get("labels") or {})}
            spec["schedulerName"] = serving["spec"].get("schedulerName", "volcano")
            for box in [*spec["containers"], *(spec.get("initContainers") or [])]:
                words = {**added, "WORKER_INDEX": index}
                box["env"] = [each for each in box.get("env", []) if each["name"] not in words]
                box["env"] += [{"name": key, "value": str(words[key])} for key in words]
            pod = {"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": {"phase": "Pending"}}
            pod["metadata"] = {"name": f"{base}-{role_id}-{index}", "labels": labels, "ownerReferences": [owner]}
            pod["metadata"]["annotations"] = dict(given.get("annotations") or {})
            error = self.controller.create_pod(head["namespace"], pod)
            if error:
                return error
        return ""

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
                self.update_roles(serving, memory, number, target)
            return
        going = len([1 for group in groups.values() if group["status"] != RUNNING and group["revision"] == target])
        most = (strategy.get("rollingUpdateConfiguration") or {}).get("maxUnavailable", 1)
        least = spec.get("replicas", 1) - share(most, spec.get("replicas", 1), 0)
        room = len(memory["groups"]) - least - going
        for number in list(reversed(old))[: max(0, room)]:
            if groups[number]["status"] != DELETING:
                self.delete_group(serving, memory, number)

    def update_roles(self, serving, memory, number, target):
        """deleteOutdatedRoles of one group."""
        group = memory["groups"][number]
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
            self.delete_role(serving, memory, number, name, item)

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
        before = (
            (serving.get("status") or {}).get("currentRevision"),
            (serving.get("status") or {}).get("updateRevision"),
        )
        if before != (memory["current"], target):  # CleanupOldControllerRevisions
            memory["revisions"] = {
                rev: roles for rev, roles in memory["revisions"].items() if rev in (memory["current"], target)
            }
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
                self.make(serving, 0, role, f"{role['name']}-0", revision(roles_of(serving)))


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
