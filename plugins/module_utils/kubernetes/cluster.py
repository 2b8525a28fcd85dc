# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of one namespace: read, applied by the server's own merge under our field manager, created, removed."""

from __future__ import annotations

import re
import time

from .changes import content
from .client import APPLY
from .errors import KubernetesProblem, Refused, Unreachable
from .kinds import KINDS, REVIEW, RULES, path_of

FIELD_MANAGER = "ascend-inference"
FORCED = {"fieldManager": FIELD_MANAGER, "force": "true"}
LOG_LINES, LOG_BYTES = 15, 4000
BYTES_OF_LINE = 400  # for which the server cuts a longer log
ATTEMPTS = 3  # of a request that the server is unable to answer at the moment
UNSEEN = 2  # the same of a server that has never answered
TAKEN = "Fix: set these fields in the inventory as they are, or run with kthena_force_conflicts=true to set them back"
NEWEST = (99, 0)
AWAY = 60  # seconds for which a server that has answered before may be away, as while it restarts


class Cluster:
    """What a module does with a server; ``client`` has ``request``. With ``check`` every write is a dry run."""

    def __init__(self, client, namespace, force=False, poll=5, check=False):
        self.client, self.namespace, self.force = client, namespace, force
        self.poll, self.check, self.has_answered = poll, check, False
        self.rules = None  # of the user in the namespace, once they are asked for
        self.sleep, self.now = time.sleep, time.monotonic

    def get(self, kind, name):
        """An object, or None if it, its kind or its namespace is not there."""
        return self._unless_missing("get", path_of(kind, self.namespace, name))

    def serves(self, kind):
        """Whether the server has a kind, by its discovery, which every user may read; None if this one may not."""
        version, plural, dummy = KINDS[kind]
        try:
            found = self._request("get", "/apis/" + version).get("resources") or []
        except Refused as error:
            if error.code not in (403, 404):
                raise
            return None if error.code == 403 else False
        return any(item.get("name") == plural for item in found)

    def version(self):
        """``(major, minor)`` of the server, also of a minor such as ``26+``; the newest if it does not tell."""
        try:
            found = self._request("get", "/version")
            return tuple(int(re.match("[0-9]+", found[key]).group()) for key in ("major", "minor"))
        except (AttributeError, KeyError, TypeError, Refused):
            return NEWEST

    def everywhere(self, kind):
        """The objects of a kind in all namespaces, as the server has them at hand."""
        return self._request("get", path_of(kind, ""), {"resourceVersion": "0"}).get("items") or []

    def list(self, kind, labels=None, fields=""):
        """The objects of a kind that have these labels; none if the kind is not there."""
        query = {}
        if labels:
            query["labelSelector"] = ",".join(f"{key}={labels[key]}" for key in sorted(labels))
        if fields:
            query["fieldSelector"] = fields
        found = self._unless_missing("get", path_of(kind, self.namespace), query) or {}
        items = found.get("items") or []
        return [dict(item, kind=kind, apiVersion=KINDS[kind][0]) for item in items]  # a list's items have neither

    def log(self, pod, container, previous, lines=LOG_LINES):
        """The last lines of a container's log, or of the one before its last restart; empty if they cannot be read."""
        query = {"tailLines": str(lines), "limitBytes": str(max(LOG_BYTES, BYTES_OF_LINE * lines))}
        if previous:
            query["previous"] = "true"
        try:
            return self.read_log(pod, container, query)
        except KubernetesProblem:
            return ""

    def read_log(self, pod, container, query):
        """A container's log; ``query`` has the server's options, such as ``sinceSeconds``."""
        path = path_of("Pod", self.namespace, pod) + "/log"
        return self.client.text("get", path, dict(query, container=container))

    def may(self, verb, kind):
        """Whether the user may do this with objects of a kind in the namespace.

        Also true if the server refuses the question: then the request itself is answered.
        """
        version, plural, dummy = KINDS[kind]
        if self._has_rule(verb, version.rpartition("/")[0], plural):
            return True  # else it is asked for: the list may be incomplete, as an authorizer may be a webhook
        asked = {"namespace": self.namespace, "verb": verb, "group": version.rpartition("/")[0], "resource": plural}
        review = {"apiVersion": KINDS[REVIEW][0], "kind": REVIEW, "spec": {"resourceAttributes": asked}}
        try:
            answer = self._request("post", path_of(REVIEW, self.namespace), {}, review)
        except Refused as error:
            if error.is_passing():
                raise
            return True
        return bool(answer["status"]["allowed"])

    def _has_rule(self, verb, group, plural):
        """Whether one of the user's rules, which are read once, allows it for all names."""
        if self.rules is None:
            review = {"apiVersion": KINDS[RULES][0], "kind": RULES, "spec": {"namespace": self.namespace}}
            try:
                answer = self._request("post", path_of(RULES, self.namespace), {}, review)
                self.rules = (answer.get("status") or {}).get("resourceRules") or []
            except Refused as error:
                if error.is_passing():
                    raise
                self.rules = []
        wanted = {"verbs": verb, "apiGroups": group, "resources": plural}
        return any(
            not rule.get("resourceNames") and all({wanted[key], "*"} & set(rule.get(key) or []) for key in wanted)
            for rule in self.rules
        )

    def apply(self, manifest, dry=False, force=None):
        """Server-side apply; returns the object as it is then, or in a dry run would be."""
        query = {"fieldManager": FIELD_MANAGER}
        if self.force if force is None else force:
            query["force"] = "true"
        try:
            return self._write("patch", self._path(manifest), query, manifest, dry, APPLY)
        except Refused as error:
            immutable = manifest.get("immutable")  # nobody can take its fields over; the caller names what helps
            if error.code != 409 or immutable or not str(error).startswith("Apply failed with"):
                raise
            same = self._as_it_is(manifest)
            if same:
                return same
            raise Refused(409, error.reason, f"{error}. {TAKEN}") from error

    def _as_it_is(self, manifest):
        """The object, if taking its fields over would change nothing: who has set them has set what we would. None if it would."""
        try:
            live = self.get(manifest["kind"], manifest["metadata"]["name"])
            forced = self._write("patch", self._path(manifest), FORCED, manifest, True, APPLY)
        except Refused:
            return None
        return live if live and content(live) == content(forced) else None

    def create(self, manifest, dry=False):
        """Create an object."""
        return self._write("post", path_of(manifest["kind"], self.namespace), {}, manifest, dry)

    def delete(self, thing, dry=False):
        """Remove an object; nothing happens if it is gone.

        In the foreground Kthena's controller would make the pods once more while the ModelServing goes.
        """
        query = {"propagationPolicy": "Background", **({"dryRun": "All"} if dry or self.check else {})}
        # A pod that is made again may have the same name.
        only = {"preconditions": {"uid": thing["metadata"]["uid"]}} if thing["kind"] == "Pod" else None
        self._unless_missing("delete", self._path(thing), query, only)

    def _path(self, thing):
        return path_of(thing["kind"], self.namespace, thing["metadata"]["name"])

    def _write(self, method, path, query, body, dry, form="application/json"):
        if dry or self.check:
            query = {**query, "dryRun": "All"}
        # By default the server drops an unknown field of a new object.
        return self._request(method, path, {**query, "fieldValidation": "Strict"}, body, form)

    def _unless_missing(self, *request):
        """The answer; None if the server does not have what the path names."""
        try:
            return self._request(*request)
        except Refused as error:
            if error.code != 404:
                raise
            return None

    def _request(self, method, path, query=None, body=None, form="application/json"):
        begin, attempt = self.now(), 1
        while True:
            try:
                answer = self.client.request(method, path, query, body, form)
                self.has_answered = True
                return answer
            except (Refused, Unreachable) as error:
                is_away = isinstance(error, Unreachable)
                self.has_answered = self.has_answered or not is_away
                most = ATTEMPTS if self.has_answered else UNSEEN
                is_late = attempt >= most and not (self.has_answered and self.now() - begin < AWAY)
                if is_late or not (is_away or error.is_passing()):
                    raise
                attempt += 1
                self.sleep(min(error.wait, AWAY) or max(self.poll, 1))
