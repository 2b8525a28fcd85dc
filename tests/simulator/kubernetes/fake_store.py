# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of the fake API server: kept in memory, numbered, watched, merged by server-side apply."""

from __future__ import annotations

import copy
import threading
import time
import uuid

GENERATED = ("ModelServing", "Deployment", "LeaderWorkerSet")


class Refused(Exception):
    """The answer to a request that the server refuses."""

    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

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
            applied, thing = thing, copy.deepcopy(thing)  # the manager does not own fields that the server fills in
            others = {name: value for name, value in self.applied.get(key, {}).items() if name != manager}
            before = self.applied.get(key, {}).get(manager, {})
            live = self.objects.get(key)
            if live is None:
                judge(thing, None)
                result = self.create(plural, namespace, thing, dry_run)
            else:
                conflicts = [path for value in others.values() for path in _conflicts(value, live, thing, "")]
                if conflicts and not force:
                    raise Refused(409, "Conflict", "Apply failed with conflicts: " + ", ".join(sorted(set(conflicts))))
                kept = _without(copy.deepcopy(live), before, thing, list(others.values()))
                merged = _merged(kept, thing)
                judge(merged, live)
                result = self.replace(plural, namespace, merged, dry_run)
            if not dry_run:
                if live is not None:
                    self.applied[key] = {name: _released(value, live, thing) for name, value in others.items()}
                self.applied.setdefault(key, {})[manager] = copy.deepcopy(applied)
            return result

    def managed(self, plural, namespace, thing):
        """The object with ``managedFields`` of each manager that applied it; lists are one value, as in ``apply``."""
        head = thing["metadata"]
        with self.lock:
            applied = self.applied.get((plural, namespace, head["name"]), {})
            found = [
                {
                    "manager": name,
                    "operation": "Apply",
                    "apiVersion": thing.get("apiVersion"),
                    "fieldsType": "FieldsV1",
                    "fieldsV1": _fields(applied[name]),
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


IDENTITY = ("apiVersion", "kind", "name", "namespace")  # belongs to nobody


def _fields(value, depth=0):
    """``fieldsV1`` of what a manager applied."""
    if not isinstance(value, dict):
        return {}
    return {"f:" + name: _fields(value[name], depth + 1) for name in value if depth > 1 or name not in IDENTITY}


def _merged(base, over):
    if not isinstance(base, dict) or not isinstance(over, dict):
        return copy.deepcopy(over)
    result = dict(base)
    for name in over:
        result[name] = _merged(base[name], over[name]) if name in base else copy.deepcopy(over[name])
    return result


def _without(live, before, after, others):
    """``live`` without fields that ``before`` set and ``after`` does not, unless another manager sets them."""
    if not isinstance(live, dict) or not isinstance(before, dict):
        return live
    for name in before:
        theirs = [other[name] for other in others if isinstance(other, dict) and name in other]
        if name not in after:
            if not theirs:
                live.pop(name, None)
        elif name in live and isinstance(after, dict) and isinstance(after[name], dict):
            live[name] = _without(live[name], before[name], after[name], theirs)
    return live


def _released(theirs, live, wanted):
    """What another manager applied, without the fields that an apply by force takes from it."""
    if not isinstance(theirs, dict) or not isinstance(wanted, dict) or not isinstance(live, dict):
        return theirs
    lost = [name for name in theirs if name in wanted and list(_conflicts({name: theirs[name]}, live, wanted, ""))]
    kept = {name: _released(theirs[name], live.get(name), wanted.get(name)) for name in theirs}
    return {name: kept[name] for name in kept if name not in lost or isinstance(kept[name], dict)}


def _conflicts(theirs, live, wanted, path):
    if isinstance(theirs, dict) and isinstance(wanted, dict) and isinstance(live, dict):
        for name in theirs:
            if name in wanted and name in live and name not in ("apiVersion", "kind", "name", "namespace"):
                yield from _conflicts(theirs[name], live[name], wanted[name], path + "." + name)
    elif live != wanted:
        yield path
