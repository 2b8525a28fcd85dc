# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fake Kubernetes API server for the tests of the role kthena. README.md describes its scope."""

from __future__ import annotations

import argparse
import copy
import functools
import glob
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fake_pods
import fake_schema
import fake_shapes
import fake_webhook
from fake_controller import Controller
from fake_store import Refused, Store, now

REVIEW = "SelfSubjectAccessReview"
CRDS = "customresourcedefinitions"
PAUSE = 2  # seconds that a busy server asks for
PLAIN = {
    "v1": [
        ("namespaces", "Namespace", False),
        ("nodes", "Node", False),
        ("pods", "Pod", True),
        ("configmaps", "ConfigMap", True),
        ("secrets", "Secret", True),
        ("services", "Service", True),
        ("events", "Event", True),
        ("resourcequotas", "ResourceQuota", True),
        ("serviceaccounts", "ServiceAccount", True),
    ],
    "scheduling.k8s.io/v1": [("priorityclasses", "PriorityClass", False)],
    "apps/v1": [("deployments", "Deployment", True)],
    "policy/v1": [("poddisruptionbudgets", "PodDisruptionBudget", True)],
    "networking.k8s.io/v1": [("networkpolicies", "NetworkPolicy", True)],
    "authorization.k8s.io/v1": [
        ("selfsubjectaccessreviews", REVIEW, False),
        ("selfsubjectrulesreviews", "SelfSubjectRulesReview", False),
    ],
    "apiextensions.k8s.io/v1": [("customresourcedefinitions", "CustomResourceDefinition", False)],
}
OWN_CRDS = (
    ("workload.serving.volcano.sh", "modelservings", "ModelServing"),
    ("workload.serving.volcano.sh", "autoscalingpolicies", "AutoscalingPolicy"),
    ("networking.serving.volcano.sh", "modelservers", "ModelServer"),
    ("networking.serving.volcano.sh", "modelroutes", "ModelRoute"),
    ("scheduling.volcano.sh", "podgroups", "PodGroup"),
)
NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
VALUE = re.compile(r"([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
QUALIFIED = re.compile(f"({NAME.pattern}/)?[A-Za-z0-9]([-\\w.]{{0,61}}[A-Za-z0-9])?", re.ASCII)
FIELD = re.compile("(metadata.name|type)(!?=)=?(.*)")  # the second is an Event's
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def own_crd(group, plural, kind, main=False):
    """A CRD that accepts any field; it has the roles' fields that identify its version, of v1.0.0 or of the main branch."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    port = {**free, "properties": {"protocol": {"type": "string", "default": "TCP"}}}
    amounts = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}
    resources = {**free, "properties": {"limits": amounts, "requests": amounts}}
    container = {**free, "properties": {"ports": {"type": "array", "items": port}, "resources": resources}}
    pod = {**free, "properties": {"containers": {"type": "array", "items": container}}}
    part = {**free, "properties": {"spec": pod}}
    role = {
        "type": "object",
        "properties": {"maxUnavailable": {"x-kubernetes-int-or-string": True}, "name": {"type": "string"}},
    }
    role["properties"].update(
        entryTemplate=part, workerTemplate=part
    )  # as the CRD: a default inside the one list of roles
    if main:
        role["properties"]["partition"] = {"x-kubernetes-int-or-string": True}
    least = {"type": "object", "additionalProperties": {"type": "integer"}}
    least["x-kubernetes-validations"] = [{"rule": "self == oldSelf", "message": "minRoleReplicas is immutable"}]
    gang = {"type": "object", "properties": {"minRoleReplicas": least}}
    template = {"type": "object", "properties": {"roles": {"type": "array", "items": role}, "gangPolicy": gang}}
    kept = "!has(oldSelf.gangPolicy) || has(self.gangPolicy)"
    template["x-kubernetes-validations"] = [{"rule": kept, "message": "gangPolicy is required once set"}]
    rollout = {"type": "object", "properties": {"type": {"type": "string", "enum": ["RoleRollingUpdate"]}}}
    spec = dict(free, properties={"template": template, "rolloutStrategy": rollout})
    for item in (role, template, rollout):
        item["x-kubernetes-preserve-unknown-fields"] = True
    rollout["properties"]["type"].pop("enum")
    return fake_shapes.crd(group, plural, kind, spec, "v1beta1" if kind == "PodGroup" else "v1alpha1")


def load_crds(directory):
    """The CRDs of a directory, or the built-in ones."""
    if not directory:
        return [own_crd(*crd) for crd in OWN_CRDS]
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found = []
    for path in sorted(glob.glob(os.path.join(directory, "*.yaml"))):
        with open(path, encoding="utf-8") as stream:
            documents = yaml.load_all(stream, loader)
            found += [
                document for document in documents if document and document.get("kind") == "CustomResourceDefinition"
            ]
    return found


class Api:
    """The known resources and their validation."""

    def __init__(self, store, crds, refuse_pods=""):
        self.store, self.refuse_pods = store, refuse_pods
        self.logs = lambda pod: ""
        self.minor = 36  # of the server's version
        self.busy = 0  # requests that it is too busy to answer
        self.seen = set()  # (verb, group, resource, whether in a namespace) of all requests
        self.rights = None  # rules of a Role for the only user; None: may do everything
        self.resources = {version: list(rows) for version, rows in PLAIN.items()}
        self.schemas, self.custom = dict(fake_shapes.BUILT_IN), {}
        for crd in crds:
            spec = crd["spec"]
            version = f"{spec['group']}/{spec['versions'][0]['name']}"
            names = spec["names"]
            self.resources.setdefault(version, []).append((names["plural"], names["kind"], True))
            self.schemas[names["kind"]] = spec["versions"][0]["schema"]["openAPIV3Schema"]
            self.custom[version, names["plural"]] = crd["metadata"]["name"]
            store.create("customresourcedefinitions", "", crd)

    def version(self):
        """Of the server; clouds write a plus after the minor."""
        return {"major": "1", "minor": f"{self.minor}+", "gitVersion": f"v1.{self.minor}.0-fake", "platform": "fake"}

    def row(self, version, plural):
        """The resource, or Refused with 404."""
        for item in self.rows(version):
            if item[0] == plural:
                return item
        raise Refused(404, "NotFound", "the server could not find the requested resource")

    def rows(self, version):
        """The resources of a version; those of a CRD as long as it is there and has this version."""
        crds = {item["metadata"]["name"]: item["spec"]["versions"] for item in self.store.list(CRDS)}
        return [
            row
            for row in self.resources.get(version, [])
            if (version, row[0]) not in self.custom
            or any(version.endswith("/" + each["name"]) for each in crds.get(self.custom[version, row[0]], []))
        ]

    def resource_list(self, version):
        """The answer to discovery of one version."""
        rows = self.rows(version)
        if not rows:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": version,
            "resources": [
                {"name": plural, "singularName": kind.lower(), "namespaced": spaced, "kind": kind, "verbs": VERBS}
                for plural, kind, spaced in rows
            ],
        }

    def groups(self):
        """The answer to discovery of groups."""
        found = []
        for version in sorted(self.resources):
            if "/" in version:
                served = {"groupVersion": version, "version": version.split("/")[1]}
                found.append({"name": version.split("/")[0], "versions": [served], "preferredVersion": served})
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}

    def allows(self, verb, group, plural, namespace):
        """Whether the user's Role allows it; a Role is of one namespace."""
        return self.rights is None or any(
            group in rule["apiGroups"] and plural in rule["resources"] and verb in rule["verbs"]
            for rule in (self.rights if namespace else [])
        )

    def permit(self, verb, version, plural, namespace):
        """Refused if the user's Role does not allow it; everybody may ask what is allowed."""
        group = version.split("/")[0] if "/" in version else ""
        self.seen.add((verb, group, plural, bool(namespace)))
        if plural.startswith("selfsubject") or self.allows(verb, group, plural, namespace):
            return
        scope = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        text = f'{plural} is forbidden: User "limited" cannot {verb} resource "{plural}" in API group "{group}" {scope}'
        raise Refused(403, "Forbidden", text)

    def exists(self, plural, namespace, name):
        """Whether there is such an object."""
        try:
            self.store.get(plural, namespace, name)
        except Refused:
            return False
        return True

    def judge(self, thing, old):
        """Fill in defaults and reject invalid objects; pods by special rules, custom resources by their CRD."""
        kind, name = thing.get("kind"), thing.get("metadata", {}).get("name", "")
        found = []
        if not NAME.fullmatch(name):
            found.append(f"metadata.name: Invalid value: {name!r}: a lowercase RFC 1123 subdomain")
        heads = [thing["metadata"]] + [((thing.get("spec") or {}).get("template") or {}).get("metadata") or {}]
        for key, value in [pair for head in heads for pair in (head.get("labels") or {}).items()]:
            if not QUALIFIED.fullmatch(key) or not VALUE.fullmatch(value):
                found.append(
                    f"metadata.labels: Invalid value: {key}: {value!r}: must be 63 characters or less, and consist of ..."
                )
        schema = fake_shapes.known_to(self.minor, kind) or self.schemas.get(kind)
        if schema:
            fake_schema.default(schema, thing)
            body = {key: value for key, value in thing.items() if key not in ("apiVersion", "kind", "metadata")}
            before = {key: value for key, value in (old or {}).items() if key in body}
            found += fake_schema.problems(schema, body, before)
            unknown = [text for text in found if text.endswith(fake_schema.UNKNOWN)]
            if unknown:  # a plain error inside the server's apply
                where = f"{thing['metadata'].get('namespace', '')}/{name}; {thing.get('apiVersion')}, Kind={kind}"
                raise Refused(500, "", f"failed to create typed patch object ({where}): .{unknown[0]}")
        if kind == "Pod" and self.refuse_pods:
            raise Refused(403, "Forbidden", f'pods "{name}" is forbidden: {self.refuse_pods}')
        if kind == "Pod":
            shape = fake_schema.problems(fake_shapes.POD, thing.get("spec", {}), None, "spec")
            found += [text for text in shape if not text.endswith(fake_schema.UNKNOWN)]
            found += fake_pods.problems(thing.get("spec", {}))
            fake_pods.admitted(self.store, thing["metadata"].get("namespace", ""), thing)
        fake_shapes.default(thing)
        found += fake_shapes.problems(thing) + fake_shapes.frozen(thing, old or {})
        if kind == "Service":
            thing["spec"].setdefault("clusterIP", f"10.96.0.{len(self.store.list('services')) + 10}")
        if found:
            raise Refused(422, "Invalid", f'The {kind} "{name}" is invalid: {"; ".join(found)}')
        if kind == "ModelServing":
            fake_webhook.admit(thing)


def is_within(line, seconds):
    """Whether a line of a log is not older; the time is its own, as a kubelet's time of a line is unavailable here."""
    found = re.match(r"\w+ (\d\d-\d\d \d\d:\d\d:\d\d) ", line)
    if not seconds or not found:
        return True
    stamp = time.mktime(time.strptime(f"{time.strftime('%Y')}-{found.group(1)}", "%Y-%m-%d %H:%M:%S"))
    return stamp >= int(time.time()) - int(seconds)


def log_file(directory, pod):
    """The log that the engine of a pod writes; empty if there is none."""
    try:
        with open(os.path.join(directory, pod + ".log"), encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def matcher(query):
    """A test for label selectors of the forms that clients use here."""
    parts = [part for part in query.get("labelSelector", [""])[0].split(",") if part]
    fields = [FIELD.fullmatch(part) for part in query.get("fieldSelector", [""])[0].split(",") if part]
    if not all(fields):
        raise Refused(400, "BadRequest", "field label not supported")

    def matches(thing):
        labels = thing["metadata"].get("labels") or {}
        for part in parts:
            key, _unused, value = part.replace("==", "=").partition("=")
            if labels.get(key) != value:
                return False
        seen = {"metadata.name": thing["metadata"]["name"], "type": thing.get("type")}
        return all((seen[field[1]] == field[3]) == (field[2] == "=") for field in fields)

    return matches


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    api = None

    def log_message(self, *args):
        """Disable logging."""

    def answer(self, code, body, headers=None):
        """Send JSON, or text as it is."""
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(code)
        common = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, value in {**common, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        """The request's body as YAML, which includes JSON."""
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return yaml.safe_load(data) if data else {}

    def handle_request(self, verb):
        """Respond to a request, or return the error."""
        body = self.body()
        try:
            self.route(verb, body)
        except Refused as error:
            headers = {"Retry-After": str(error.wait)} if error.wait else {}
            if error.code == 429:  # priority and fairness answers in plain words
                return self.answer(429, error.message + "\n", {**headers, "Content-Type": "text/plain; charset=utf-8"})
            self.answer(error.code, error.status(), headers)

    do_GET = functools.partialmethod(handle_request, "get")
    do_POST = functools.partialmethod(handle_request, "create")
    do_PATCH = functools.partialmethod(handle_request, "patch")
    do_PUT = functools.partialmethod(handle_request, "update")
    do_DELETE = functools.partialmethod(handle_request, "delete")

    def route(self, verb, body):
        """Find the requested resource."""
        with self.api.store.lock:
            self.api.busy, is_busy = max(0, self.api.busy - 1), self.api.busy > 0
        if is_busy:  # API priority and fairness
            raise Refused(429, "TooManyRequests", "Too many requests, please try again later.", PAUSE)
        url = urlsplit(self.path)
        query, parts = parse_qs(url.query), [part for part in url.path.split("/") if part]
        if parts == ["version"]:
            return self.answer(200, self.api.version())
        if parts == ["api"]:
            return self.answer(200, {"kind": "APIVersions", "versions": ["v1"]})
        if parts == ["apis"]:
            return self.answer(200, self.api.groups())
        size = 2 if parts[:1] == ["api"] else 3
        version, rest = "/".join(parts[1:size]), parts[size:]
        if not rest:
            return self.answer(200, self.api.resource_list(version))
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        plural, kind, spaced = self.api.row(version, rest[0])
        name = rest[1] if len(rest) > 1 else ""
        if namespace and verb in ("create", "patch"):
            around = self.api.store.get("namespaces", "", namespace)
            if "deletionTimestamp" in around["metadata"] and not self.api.exists(plural, namespace, name):
                text = f'{plural} "{name or (body or {})["metadata"]["name"]}" is forbidden: unable to create new content in '
                raise Refused(403, "Forbidden", f"{text}namespace {namespace} because it is being terminated")
        dry = "All" in query.get("dryRun", []) or (body or {}).get("dryRun") == ["All"]
        needed = ["list" if verb == "get" and not name else verb]
        if verb == "patch" and not self.api.exists(plural, namespace, name):
            needed.append("create")  # server-side apply of a new object
        for each in needed:
            self.api.permit(each, version, "/".join([plural, *rest[2:]]), namespace if spaced else "")
        call = getattr(self, "on_" + verb)
        return call(version, plural, kind, (namespace if spaced else "") or "", name, query, body, dry)

    def on_get(self, version, plural, kind, namespace, name, query, body, dry):
        """One object, a list, or a watch."""
        store = self.api.store
        if name and urlsplit(self.path).path.endswith(f"/pods/{name}/log"):
            return self.log(store.get(plural, namespace, name), query)
        if name:
            return self.answer(200, store.managed(plural, namespace, store.get(plural, namespace, name)))
        if query.get("watch", ["false"])[0] in ("true", "1", "True"):
            return self.watch(plural, namespace, matcher(query), query)
        found = store.list(plural, namespace or None, matcher(query))
        items = [store.managed(plural, item["metadata"].get("namespace", ""), item) for item in found]
        if version in PLAIN:  # items of built-in kinds do not say what they are
            items = [{key: item[key] for key in item if key not in ("apiVersion", "kind")} for item in items]
        head = {"resourceVersion": str(store.version)}
        return self.answer(200, {"kind": kind + "List", "apiVersion": version, "metadata": head, "items": items})

    def log(self, pod, query):
        """A container's log; only one that has restarted has a previous one."""
        name, container = pod["metadata"]["name"], query["container"][0]
        if container not in [box["name"] for box in pod["spec"]["containers"]]:
            raise Refused(400, "BadRequest", f"container {container} is not valid for pod {name}")
        for key in ("sinceSeconds", "limitBytes"):
            if int(query.get(key, ["1"])[0]) < 1:
                raise Refused(422, "Invalid", f"{key}: Invalid value: must be greater than 0")
        status = (pod["status"].get("containerStatuses") or [{"state": {"waiting": {}}}])[0]
        if "waiting" in status["state"] and "lastState" not in status:
            text = f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating'
            raise Refused(400, "BadRequest", text)
        if query.get("previous", ["false"])[0] == "true" and "lastState" not in status:
            text = f'previous terminated container "{container}" in pod "{name}" not found'
            raise Refused(400, "BadRequest", text)
        text = self.api.logs(name) or f"the log of {container}\n"
        if "lastState" in status:
            text += "EL0005: [PID: 7] 2026-11-01-10:00:00.1.1 The resources are busy.\n"
            text += "RuntimeError: no NPU\n"
        lines = [line for line in text.splitlines(True) if is_within(line, query.get("sinceSeconds", [""])[0])]
        text = "".join(lines[-int(query.get("tailLines", ["100000"])[0]) :])
        self.answer(200, text.encode()[: int(query.get("limitBytes", [str(2**40)])[0])].decode("utf-8", "replace"))

    def watch(self, plural, namespace, matches, query):
        """Send changes, one per line, until the timeout."""
        store, sent = self.api.store, int(query.get("resourceVersion", ["0"])[0] or 0)
        until = time.time() + float(query.get("timeoutSeconds", ["30"])[0])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while time.time() < until:
            with store.lock:
                fresh = [event for event in store.events if event[0] > sent]
                if not fresh:
                    store.changed.wait(0.5)
                    continue
            for number, kind, key, thing in fresh:
                sent = number
                if key[0] == plural and namespace in ("", key[1]) and matches(thing):
                    self.wfile.write(json.dumps({"type": kind, "object": thing}).encode() + b"\n")
                    self.wfile.flush()

    def on_create(self, version, plural, kind, namespace, name, query, body, dry):
        """Create an object; a review is answered and not kept."""
        if kind == REVIEW:
            body.setdefault("metadata", {}).setdefault("name", "unnamed")
            self.api.judge(body, None)
            asked = body["spec"]["resourceAttributes"]
            holds = self.api.allows(*(asked.get(key, "") for key in ("verb", "group", "resource", "namespace")))
            return self.answer(201, dict(body, status={"allowed": holds}))
        if kind == "SelfSubjectRulesReview":
            everything = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]
            rules = everything if self.api.rights is None else self.api.rights
            return self.answer(
                201, dict(body, status={"resourceRules": rules, "nonResourceRules": [], "incomplete": False})
            )
        if kind == "Pod" and query.get("fieldValidation") == ["Strict"]:  # else they are dropped
            found = fake_schema.problems(fake_shapes.POD, body.get("spec", {}), None, "spec")
            unknown = [text.split(": ")[0] for text in found if text.endswith(fake_schema.UNKNOWN)]
            if unknown:
                text = f'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "{unknown[0]}"'
                raise Refused(400, "BadRequest", text)
        if namespace:
            fake_pods.within_counts(self.api.store, namespace, plural, version, body["metadata"]["name"])
        given = copy.deepcopy(body)
        self.api.judge(body, None)
        made = self.api.store.create(plural, namespace, body, dry)
        if not dry:
            self.api.store.updated(plural, namespace, None, given, self.manager(query))
        self.answer(201, made)

    def manager(self, query):
        """The name of the user's field manager: as given, else the program's."""
        return query.get("fieldManager", [self.headers.get("User-Agent", "unknown").split("/")[0]])[0]

    def on_patch(self, version, plural, kind, namespace, name, query, body, dry):
        """Server-side apply or a merge patch; a custom resource does not support a strategic merge patch."""
        store, form = self.api.store, self.headers.get("Content-Type", "")
        if "apply-patch" in form:
            if "managedFields" in body.get("metadata", {}):
                raise Refused(400, "BadRequest", "metadata.managedFields must be nil")
            manager = query.get("fieldManager", [""])[0]
            force = query.get("force", ["false"])[0].lower() == "true"
            judge = self.api.judge
            if not self.api.exists(plural, namespace, name) and namespace:
                fake_pods.within_counts(store, namespace, plural, version, name)
            if kind == "Namespace" and not dry and not self.api.exists(plural, namespace, name):
                store.fresh.add(name)
            return self.answer(200, store.apply(plural, namespace, body, manager, force, dry, judge))
        if "strategic" in form and kind in self.api.schemas:
            raise Refused(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
        old = store.get(plural, namespace, name)
        if urlsplit(self.path).path.endswith(f"/{name}/status"):
            store.set_status(plural, namespace, name, merge_patch(old.get("status") or {}, body["status"]))
            return self.answer(200, store.get(plural, namespace, name))
        return self.change(plural, namespace, merge_patch(copy.deepcopy(old), body), old, query, dry)

    def change(self, plural, namespace, thing, old, query, dry):
        """Write another content of an object, unless somebody has since the client read it."""
        version = thing["metadata"].get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            text = (
                f'Operation cannot be fulfilled on {plural} "{old["metadata"]["name"]}": the object has been modified; '
            )
            raise Refused(409, "Conflict", text + "please apply your changes to the latest version and try again")
        self.api.judge(thing, old)
        result = self.api.store.replace(plural, namespace, thing, dry)
        if not dry:
            self.api.store.updated(plural, namespace, old, result, self.manager(query))
        return self.answer(200, result)

    def on_update(self, version, plural, kind, namespace, name, query, body, dry):
        """Replace an object."""
        old = self.api.store.get(plural, namespace, name)
        self.change(plural, namespace, body, old, query, dry)

    def on_delete(self, version, plural, kind, namespace, name, query, body, dry):
        """Remove an object; a pod ends later, one with finalizers when they go, in the foreground a ModelServing when its pods are gone."""
        store = self.api.store
        thing = store.get(plural, namespace, name)
        wanted = ((body or {}).get("preconditions") or {}).get("uid", thing["metadata"].get("uid"))
        if wanted != thing["metadata"].get("uid"):
            text = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {thing['metadata']['uid']}"
            raise Refused(409, "Conflict", f'Operation cannot be fulfilled on {plural} "{name}": {text}')
        policy = (body or {}).get("propagationPolicy") or query.get("propagationPolicy", ["Background"])[0]
        if not dry and kind == "ModelServing" and policy == "Foreground":
            thing["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["foregroundDeletion"])
            store.replace(plural, namespace, thing)
        elif not dry and (kind == "Pod" or thing["metadata"].get("finalizers")):
            thing["metadata"].setdefault("deletionTimestamp", now())
            store.replace(plural, namespace, thing)
        elif not dry:
            store.remove(plural, namespace, name)
        self.answer(200, thing)


class Call(Handler):
    """One request of a test, without a socket."""

    def __init__(self, api, path, form="", agent="unknown"):
        self.api, self.path, self.headers = api, path, {"Content-Type": form, "User-Agent": agent}

    def answer(self, code, body, headers=None):
        """Keep the answer."""
        self.result = body


def merge_patch(base, patch):
    """RFC 7386."""
    if not isinstance(base, dict) or not isinstance(patch, dict):
        return patch
    for name in patch:
        if patch[name] is None:
            base.pop(name, None)
        else:
            base[name] = merge_patch(base.get(name), patch[name])
    return base


def node(text):
    """``NAME=RESOURCE:COUNT`` as a node."""
    name, _unused, offer = text.partition("=")
    resource, _unused, count = offer.rpartition(":")
    amounts = {"cpu": "192", "memory": "1500Gi"}
    if resource:
        amounts[resource] = count
    status = {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def write_kubeconfig(path, url):
    """A kubeconfig for the fake."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fake", "cluster": {"server": url}}],
        "users": [{"name": "fake", "user": {"token": "fake"}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
        "current-context": "fake",
    }
    with open(path, "w", encoding="utf-8") as stream:
        yaml.safe_dump(config, stream)


def main():
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--kubeconfig", required=True, help="written once the server answers")
    parser.add_argument("--crds", default="", help="directory of CRD files; without it CRDs accept any field")
    parser.add_argument("--no-crds", action="store_true", help="a cluster without Kthena")
    parser.add_argument("--more-crds", action="store_true", help="also the kinds of fake_shapes.py")
    parser.add_argument("--logs", default="", help="folder with the logs of engines, POD.log")
    parser.add_argument("--node", action="append", default=[], help="NAME=RESOURCE:COUNT")
    parser.add_argument("--namespace", action="append", default=["default"])
    parser.add_argument("--refuse-pods", default="", help="a reason for which an admission plugin refuses every pod")
    parser.add_argument("--pod-network", default="10.9.0", help="three numbers of the pods' and nodes' addresses")
    parser.add_argument("--busy", type=int, default=0, help="number of requests that get 429 first")
    parser.add_argument("--pace", type=float, default=0.2, help="seconds of a controller's step")
    options = parser.parse_args()
    store = Store()
    crds = ([] if options.no_crds else load_crds(options.crds)) + (fake_shapes.CRDS if options.more_crds else [])
    Handler.api = Api(store, crds, options.refuse_pods)
    Handler.api.logs = lambda pod: log_file(options.logs, pod)
    Handler.api.busy = options.busy
    for name in options.namespace:
        store.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for text in options.node:
        store.create("nodes", "", node(text))
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    Controller(store, options.pace, network=options.pod_network).start()
    write_kubeconfig(options.kubeconfig, f"http://127.0.0.1:{server.server_address[1]}")
    server.serve_forever()


if __name__ == "__main__":
    main()
