# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of the fake API server: kept in memory, numbered, watched, merged by server-side apply."""

from __future__ import annotations

import copy
import threading
import time
import uuid

import fake_fields

GENERATED = ("ModelServing", "Deployment", "LeaderWorkerSet", "AutoscalingPolicy", "ModelServer", "ModelRoute")
GENERATED += ("NetworkPolicy", "PodDisruptionBudget", "PodMonitor")
SERVERS = ("uid", "creationTimestamp", "generation", "resourceVersion", "managedFields", "deletionTimestamp")
UPDATE = "update:"  # before the name of a manager that did not apply


class Refused(Exception):
    """The answer to a request that the server refuses."""

    def __init__(self, code, reason, message, wait=0):
        super().__init__(message)
        self.code, self.reason, self.message, self.wait = code, reason, message, wait

    def status(self):
        """The answer's body."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        }


def now():
    """The time as Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Store:
    """All objects, by (plural, namespace, name)."""

    def __init__(self):
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.objects = {}
        self.applied = {}
        self.events = []
        self.fresh = set()  # namespaces without their service account
        self.version = 100

    def get(self, plural, namespace, name):
        """A copy of one object, or Refused with 404."""
        with self.lock:
            found = self.objects.get((plural, namespace, name))
            if found is None:
                raise Refused(404, "NotFound", f'{plural} "{name}" not found')
            return copy.deepcopy(found)

    def list(self, plural, namespace=None, matches=None):
        """Copies of all objects of a plural, in order of their names."""
        with self.lock:
            return [
                copy.deepcopy(self.objects[key])
                for key in sorted(self.objects, key=str)
                if key[0] == plural
                and (namespace is None or key[1] == namespace)
                and (matches is None or matches(self.objects[key]))
            ]

    def create(self, plural, namespace, thing, dry_run=False):
        """Add an object."""
        with self.lock:
            thing = copy.deepcopy(thing)
            head = thing["metadata"]
            key = (plural, namespace, head["name"])
            if key in self.objects:
                raise Refused(409, "AlreadyExists", f'{plural} "{head["name"]}" already exists')
            if namespace:
                head["namespace"] = namespace
            head.update(uid=str(uuid.uuid4()), creationTimestamp=now())
            if thing["kind"] in GENERATED + ("Pod",):
                head["generation"] = 1
            if dry_run:
                return thing
            self._put(key, thing, "ADDED")
            return copy.deepcopy(thing)

    def replace(self, plural, namespace, thing, dry_run=False, status=False):
        """Change an object; only a changed spec creates a new generation."""
        with self.lock:
            key = (plural, namespace, thing["metadata"]["name"])
            old = self.objects[key]
            thing = copy.deepcopy(thing)
            head = thing["metadata"]
            for name in ("uid", "creationTimestamp", "generation", "resourceVersion"):
                if name in old["metadata"]:
                    head[name] = old["metadata"][name]
            if not status and "status" in old:
                thing["status"] = old["status"]
            if thing == old:
                return copy.deepcopy(old)
            if thing["kind"] in GENERATED and thing.get("spec") != old.get("spec"):
                head["generation"] = old["metadata"]["generation"] + 1
            if dry_run:
                return thing
            self._put(key, thing, "MODIFIED")
            return copy.deepcopy(thing)

    def remove(self, plural, namespace, name):
        """Remove an object."""
        with self.lock:
            key = (plural, namespace, name)
            thing = self.objects.pop(key, None)
            self.applied.pop(key, None)
            if thing is not None:
                self.version += 1
                self._tell("DELETED", key, thing)

    def set_status(self, plural, namespace, name, status):
        """Write an object's status."""
        with self.lock:
            thing = self.objects.get((plural, namespace, name))
            if thing is not None and thing.get("status") != status:
                self.replace(plural, namespace, dict(thing, status=status), status=True)

    def apply(self, plural, namespace, thing, manager, force, dry_run, judge):
        """Server-side apply: fields that the manager no longer sets are removed; fields of other managers stay or cause a conflict."""
        with self.lock:
            key = (plural, namespace, thing["metadata"]["name"])
            try:
                applied = fake_fields.keyed(thing)  # the manager does not own fields that the server fills in
            except fake_fields.Twins as error:
                text = f"failed to create typed patch object ({namespace}/{key[2]}; {thing['apiVersion']}, Kind={thing['kind']}): {error}"
                raise Refused(500, "", text) from error
            owned, live = self.applied.get(key, {}), self.objects.get(key)
            others, before = {name: owned[name] for name in owned if name != manager}, owned.get(manager, {})
            if live is None:
                thing = copy.deepcopy(thing)
                judge(thing, None)
                result = self.create(plural, namespace, thing, dry_run)
            else:
                now_live = fake_fields.keyed(live)
                if not force:
                    self._refuse_conflicts(others, now_live, applied, live["apiVersion"])
                kept = fake_fields.without(copy.deepcopy(now_live), before, applied, list(others.values()))
                result = fake_fields.plain(fake_fields.merged(kept, applied))
                judge(result, live)
                result = self.replace(plural, namespace, result, dry_run)
                others = {name: fake_fields.released(others[name], now_live, applied) for name in others}
            if not dry_run:
                self.applied[key] = {**others, manager: copy.deepcopy(applied)}
            return result

    @staticmethod
    def _refuse_conflicts(others, live, wanted, version):
        """In the words of a server, which names each manager and its fields."""
        found = {name: sorted(fake_fields.conflicts(others[name], live, wanted, "")) for name in sorted(others)}
        found = {name: found[name] for name in found if found[name]}
        titles = {name: f'"{name.replace(UPDATE, "")}"' + f" using {version}" * (UPDATE in name) for name in found}
        paths = [path for name in found for path in found[name]]
        if len(paths) == 1:
            (name,) = found
            text = f"Apply failed with 1 conflict: conflict with {titles[name]}: {paths[0]}"
            raise Refused(409, "Conflict", text)
        if paths:
            parts = ["\n- ".join([f"conflicts with {titles[name]}:", *found[name]]) for name in found]
            text = f"Apply failed with {len(paths)} conflicts: " + "\n".join(parts)
            raise Refused(409, "Conflict", text)

    def updated(self, plural, namespace, before, after, manager):
        """Take note of who has set fields by another way than apply; nobody else owns them then."""
        with self.lock:
            key, old = (plural, namespace, after["metadata"]["name"]), fake_fields.keyed(before or {})
            fresh = fake_fields.keyed({name: after[name] for name in after if name != "status"})
            mine = {
                name: fake_fields.changed(old.get(name), fresh[name]) for name in fresh if fresh[name] != old.get(name)
            }
            for name in SERVERS:
                mine.get("metadata", {}).pop(name, None)
            owned, name = self.applied.setdefault(key, {}), UPDATE + manager
            for other in owned:
                owned[other] = fake_fields.released(owned[other], old, fresh)
            owned[name] = fake_fields.merged(owned.get(name, {}), mine)

    def managed(self, plural, namespace, thing):
        """The object with ``managedFields`` of each manager."""
        head = thing["metadata"]
        with self.lock:
            applied = self.applied.get((plural, namespace, head["name"]), {})
            found = [
                {
                    "manager": name.replace(UPDATE, ""),
                    "operation": "Update" if name.startswith(UPDATE) else "Apply",
                    "apiVersion": thing.get("apiVersion"),
                    "fieldsType": "FieldsV1",
                    "fieldsV1": fake_fields.fields(applied[name]),
                }
                for name in sorted(applied)
            ]
        return dict(thing, metadata=dict(head, managedFields=found)) if found else thing

    def _put(self, key, thing, kind):
        self.version += 1
        thing["metadata"]["resourceVersion"] = str(self.version)
        self.objects[key] = thing
        self._tell(kind, key, thing)

    def _tell(self, kind, key, thing):
        self.events.append((self.version, kind, key, copy.deepcopy(thing)))
        self.changed.notify_all()
