# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules for Kubernetes against the fake API server in this process: no socket, no library, no clock."""

from __future__ import annotations

import base64
import copy
import json
import pathlib
import sys
import types

import pytest

pytest.importorskip("yaml", reason="a target plans nothing")
pytest.importorskip("ansible.errors", reason="a target plans nothing")
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes import arguments, cluster
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.errors import Refused, Unreachable
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.kthena_plans import plan

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests" / "simulator" / "kubernetes"))
import fake_api_server
import fake_store
from fake_controller import Controller

PLAN = plan()
VALUE = "a-value-of-the-test"
PODSECURITY = "violates PodSecurity restricted"
NODES = {"allocatable": {"example.com/npu": "16"}}


class Call(fake_api_server.Handler):
    """One request to the fake, without a socket."""

    def __init__(self, api, path, form):
        self.api, self.path, self.headers = api, path, {"Content-Type": form}

    def answer(self, code, body):
        """Keep the answer."""
        self.result = body


class Server:
    """The client that the modules get. ``fail`` may raise instead of an answer, ``calls`` has what was written."""

    def __init__(self, refuse_pods="", crds=True, deployments=True):
        self.store = fake_store.Store()
        known = fake_api_server.load_crds("") if crds else []
        self.api = fake_api_server.Api(self.store, known, refuse_pods)
        self.controller = Controller(self.store, deployments=deployments)
        self.fail, self.written, self.seconds = lambda method, path, dry: None, [], 0
        self.add("namespaces", "", {"kind": "Namespace", "metadata": {"name": "serving"}})
        for number in (1, 2):
            self.add("nodes", "", {"kind": "Node", "metadata": {"name": f"n{number}"}, "status": NODES})

    def request(self, method, path, query=None, body=None, form="application/json"):
        """As ``Client.request``."""
        dry = "dryRun" in (query or {})
        self.fail(method, path, dry)
        if method != "get" and not dry:
            self.written.append((method, path.rsplit("/", 1)[1]))
        text = "&".join(f"{key}={value}" for key, value in (query or {}).items())
        call = Call(self.api, f"{path}?{text}", form)
        try:
            call.route({"post": "create"}.get(method, method), copy.deepcopy(body))
        except fake_store.Refused as error:
            raise Refused(error.code, error.reason, error.message) from error
        return json.loads(json.dumps(call.result))

    def sleep(self, seconds):
        """A second is a step of the controllers."""
        for dummy in range(int(seconds)):
            self.seconds += 1
            self.controller.step()

    def add(self, plural, namespace, thing):
        """Make an object, as somebody else."""
        self.store.create(plural, namespace, {"apiVersion": "v1", **thing})

    def names(self, plural):
        """Names of objects in the namespace."""
        return [item["metadata"]["name"] for item in self.store.list(plural, "serving")]

    def images(self):
        """Images of the pods that nobody ends."""
        pods = [item for item in self.store.list("pods") if "deletionTimestamp" not in item["metadata"]]
        return sorted({item["spec"]["containers"][0]["image"] for item in pods})


@pytest.fixture
def module(monkeypatch, run_module):
    """``module(server, verb, **options)``: run a module against a server."""
    monkeypatch.setattr(arguments, "LIBRARY_ERROR", None)

    def run(server, verb, planned=PLAN, **options):
        monkeypatch.setattr(arguments, "Client", lambda kubeconfig, context: server)
        clock = types.SimpleNamespace(sleep=server.sleep, monotonic=lambda: server.seconds)
        monkeypatch.setattr(cluster, "time", clock)
        if verb == "deploy" and planned["kubernetes"]["secrets"]["keys"]:
            options.setdefault("secrets", {"api_key": VALUE})
        result = run_module(f"kubernetes_{verb}", plan=planned, poll=1, **options)
        assert VALUE not in json.dumps(result)
        assert base64.b64encode(VALUE.encode()).decode() not in json.dumps(result)
        return result

    return run


def other_image():
    """The plan with another image for its engines."""
    return plan(image="mirror.example.com/ascend/vllm-ascend:v0.13.0-a3")


def test_deploy_applies_once_and_waits_until_it_serves(module):
    server = Server()
    done = module(server, "deploy")
    assert not done["failed"], done["msg"]
    assert set(done["created"]) == {*map(place, PLAN["objects"])}
    assert done["progress"][0].startswith("the controller has observed generation None of 1")
    targets = server.store.get("configmaps", "serving", "demo-targets")["data"]
    assert all(targets.values())
    status = server.store.get("deployments", "serving", "demo-router")["status"]
    assert status["availableReplicas"] == 1
    written = len(server.written)
    again = module(server, "deploy")
    assert (again["changed"], again["diff"], again["progress"]) == (False, [], [])
    assert len(server.written) == written + len(PLAN["objects"])


def place(thing):
    return f"{thing['kind']}/{thing['metadata']['name']}"


def test_check_mode_writes_nothing_and_shows_what_it_would(module):
    server = Server()
    done = module(server, "deploy", check=True)
    assert not done["failed"], done["msg"]
    assert server.written == []
    assert done["changed"]
    assert {item["after_header"] for item in done["diff"]} == set(done["created"])
    assert "vllm serve" in json.dumps(done["diff"])
    module(server, "deploy")
    done = module(server, "deploy", other_image(), check=True)
    texts = {item["after_header"]: (item["before"], item["after"]) for item in done["diff"]}
    before, after = texts["ModelServing/demo"]
    assert "mirror.example.com" in after
    assert "mirror.example.com" not in before
    assert "managedFields" not in after + before
    assert module(server, "remove", check=True)["removed"]
    assert len(server.names("modelservings")) == 1


@pytest.mark.parametrize(
    "what", ["Secret/demo-secrets", "ConfigMap/demo-verified", "ConfigMap/demo-cm", "Service/demo-router"]
)
def test_nothing_is_written_while_one_object_is_not_ours(module, what):
    """The Secret and the record of verified plans are checked like all others."""
    planned, server = with_secret(), Server()
    kind, name = what.split("/")
    plural = {"Secret": "secrets", "ConfigMap": "configmaps", "Service": "services"}[kind]
    server.add(plural, "serving", {"kind": kind, "metadata": {"name": name}, "data": {"db_password": "x"}, "spec": {}})
    done = module(server, "deploy", planned)
    assert done["failed"]
    assert f"{what}: the object exists in serving and was not made by this role" in done["msg"]
    assert server.written == []
    assert not module(server, "deploy", planned, adopt=True)["failed"]


def with_secret():
    """A plan that needs a value for ``api_key``."""
    planned = copy.deepcopy(PLAN)
    planned["kubernetes"]["secrets"]["keys"] = ["api_key"]
    return planned


def test_a_secret_is_applied_and_never_shown(module):
    server, planned = Server(), with_secret()
    done = module(server, "deploy", planned)
    assert "Secret/demo-secrets" in done["created"]
    data = server.store.get("secrets", "serving", "demo-secrets")["data"]
    assert base64.b64decode(data["api_key"]).decode() == VALUE
    assert "Secret/demo-secrets" not in [item["after_header"] for item in done["diff"]]
    assert not module(server, "deploy", planned)["changed"]
    done = module(server, "remove", planned)
    assert "Secret/demo-secrets" in done["removed"]


def test_every_reason_against_a_plan_at_once(module):
    server = Server()
    server.store.remove("nodes", "", "n2")
    server.store.remove("nodes", "", "n1")
    server.add("nodes", "", {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8"}}})
    server.store.remove("customresourcedefinitions", "", "modelservings.workload.serving.volcano.sh")
    server.store.remove("namespaces", "", "serving")
    done = module(server, "deploy", with_secret(), secrets={})
    for text in ("api_key", "helm install kthena", "kubectl create namespace serving", "they offer no devices"):
        assert text in done["msg"]


def test_a_namespace_is_made_on_request(module):
    server = Server()
    server.store.remove("namespaces", "", "serving")
    done = module(server, "deploy", check=True, create_namespace=True)
    assert done["created"] == ["Namespace/serving"]
    assert "would be created" in done["warnings"][0]
    assert server.written == []
    done = module(server, "deploy", create_namespace=True)
    assert not done["failed"], done["msg"]
    assert server.written[0] == ("patch", "serving")


def refuse(verb, name, error, only_dry=False):
    """A server's failure for one object."""

    def fail(method, path, dry):
        if method == verb and path.endswith(name) and (dry or not only_dry):
            raise error

    return fail


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("services/demo-router", "Service/demo-router"),
        ("deployments/demo-router", "Deployment/demo-router"),
        ("modelservings/demo", "ModelServing/demo"),
        ("configmaps/demo-targets", "ConfigMap/demo-targets"),
    ],
)
def test_nothing_is_written_before_all_of_it_passed_the_dry_run(module, name, expected):
    server = Server()
    server.fail = refuse("patch", name, Refused(422, "Invalid", "spec.x: Invalid value"))
    done = module(server, "deploy")
    assert (
        f"The server would refuse {expected}, so nothing was applied. It reports: spec.x: Invalid value" in done["msg"]
    )
    assert server.written == []


def test_pods_that_the_server_refuses_are_all_named_and_the_router_s_is_one_of_them(module):
    server = Server(refuse_pods=PODSECURITY)
    done = module(server, "deploy")
    for name in ("demo-prefill-entry-check", "demo-decode-entry-check", "demo-router-check"):
        assert f'pods "{name}" is forbidden: {PODSECURITY}' in done["msg"]
    assert server.written == []


def test_a_user_who_may_not_create_pods_may_deploy(module):
    server = Server()
    text = 'pods is forbidden: User "limited" cannot create resource "pods" in API group "" in the namespace "serving"'
    server.fail = refuse("post", "/pods", Refused(403, "Forbidden", text))
    done = module(server, "deploy")
    assert not done["failed"], done["msg"]
    assert text in done["warnings"][0]


def test_a_user_of_one_namespace_may_deploy(module):
    """Who may not read CRDs, nodes, the namespace and events may still deploy."""
    server = Server()

    def fail(method, path, dry):
        if any(part in path for part in ("customresourcedefinitions", "/nodes", "namespaces/serving?", "events")):
            raise Refused(403, "Forbidden", "no")
        if path.endswith("/namespaces/serving") or path.endswith("modelroutes"):
            raise Refused(403, "Forbidden", "no")

    server.fail = fail
    done = module(server, "deploy")
    assert not done["failed"], done["msg"]
    assert "Cannot list nodes" in done["warnings"][0]
    assert module(server, "info")["hidden"] == ["ModelRoute", "crds", "namespace", "nodes"]


def test_a_server_that_is_away_is_asked_again_and_not_called_a_refusal(module):
    server, failures = Server(), [Unreachable("gone"), Refused(503, "Unavailable", "later")]

    def fail(method, path, dry):
        if dry and failures:
            raise failures.pop()

    server.fail = fail
    assert not module(server, "deploy")["failed"]

    server = Server()
    server.fail = refuse("patch", "/demo", Unreachable("https://x does not answer"))
    done = module(server, "deploy")
    assert "could not be dry-run, and nothing was applied. https://x does not answer" in done["msg"]
    assert "refuse" not in done["msg"]
    assert server.written == []


def test_a_failed_apply_leaves_what_was(module):
    """With the webhook down after the dry run, the start scripts get back what they had, or go if there were none."""
    server = Server()

    def fail(method, path, dry):
        if method == "patch" and path.endswith("modelservings/demo") and not dry:
            raise Refused(500, "InternalError", "failed calling webhook")

    server.fail = fail
    done = module(server, "deploy")
    assert "ModelServing/demo was not applied: failed calling webhook" in done["msg"]
    assert "(ConfigMap/demo-cm) have their previous content again" in done["msg"]
    assert server.names("configmaps") == []
    assert not done["changed"]

    server.fail = lambda method, path, dry: None
    module(server, "deploy")
    before = server.store.get("configmaps", "serving", "demo-cm")
    server.fail = fail
    changed = plan(pools__decode__args={"max-num-seqs": 7})
    done = module(server, "deploy", changed)
    assert done["failed"]
    after = server.store.get("configmaps", "serving", "demo-cm")
    assert (after["data"], after["metadata"]["annotations"]) == (before["data"], before["metadata"]["annotations"])
    server.fail = lambda method, path, dry: None
    assert not module(server, "deploy")["changed"]
    assert not module(server, "deploy", changed)["failed"]


def test_engines_that_do_not_get_ready_are_explained(module):
    server = Server()
    module(server, "deploy")
    broken = plan(kubernetes__pods={"decode": {"container": {"image": "example.com/broken:v0.13.0-a3"}}})
    done = module(server, "deploy", broken, timeout=30)
    assert 'ImagePullBackOff Back-off pulling image "example.com/broken:v0.13.0-a3"' in done["msg"]
    assert "kubernetes_rollback" in done["msg"]
    assert server.seconds < 60
    assert "ModelServing/demo" in done["updated"]
    found = module(server, "info", broken)
    assert not found["ready"]
    assert "Back-off pulling image" in found["diagnosis"]


def test_a_controller_that_makes_no_pods_is_named_early(module):
    server = Server()
    server.controller.serve = lambda serving: None
    done = module(server, "deploy", pods_timeout=10)
    assert "kthena-controller-manager" in done["msg"]
    assert 10 <= server.seconds < 15


def test_a_router_that_nobody_runs_is_a_warning_and_one_that_fails_is_not(module):
    server = Server(deployments=False)
    done = module(server, "deploy", seen_timeout=5)
    assert not done["failed"]
    assert "No controller has observed Deployment demo-router within 5 s" in done["warnings"][0]

    server = Server()
    server.controller.deploy = lambda: [
        server.store.set_status("deployments", "serving", "demo-router", {"observedGeneration": 1, "replicas": 1})
    ]
    done = module(server, "deploy", router_timeout=5)
    assert "Deployment demo-router is not after 5 s" in done["msg"]
    assert "availableReplicas is 0 of 1" in done["msg"]


def test_a_wait_can_be_gone_on_with(module):
    server = Server()
    done = module(server, "deploy", pause=2)
    assert (done["waiting"], done["pods_seen"], done["failed"]) == (True, True, False)
    assert "ModelServing/demo" in done["created"]
    before = len(server.written)
    done = module(server, "deploy", resume=True)
    assert not done["waiting"]
    assert ("patch", "demo") not in server.written[before:]
    assert "Deployment/demo-router" in done["created"]


def test_what_is_no_longer_planned_goes(module):
    server = Server()
    module(server, "deploy")
    server.add("configmaps", "serving", {"kind": "ConfigMap", "metadata": {"name": "of-somebody-else"}})
    done = module(server, "deploy", plan(kubernetes__router={"mode": "none"}))
    assert done["removed"] == ["Deployment/demo-router", "Service/demo-router", "ConfigMap/demo-targets"]
    assert server.names("deployments") == []
    assert "of-somebody-else" in server.names("configmaps")


def test_verified_plans_are_recorded_and_read(module):
    server, second = Server(), other_image()
    module(server, "deploy")
    assert not module(server, "verified", check=True)["failed"]
    assert server.names("configmaps") == ["demo-cm", "demo-targets"]
    assert module(server, "verified")["changed"]
    assert not module(server, "verified")["changed"]
    done = module(server, "verified", state="read")
    assert "a rollback is not possible" in done["msg"]
    assert "another plan" in module(server, "verified", second)["msg"]
    module(server, "deploy", second)
    assert module(server, "verified", second, state="read")["previous_plan"] == PLAN
    assert not module(server, "deploy", PLAN)["failed"]
    assert server.images() == [PLAN["kubernetes"]["roles"]["decode"]["image"]]


def test_a_record_of_somebody_else_is_not_written(module):
    server = Server()
    module(server, "deploy")
    server.add(
        "configmaps", "serving", {"kind": "ConfigMap", "metadata": {"name": "demo-verified"}, "data": {"a": "b"}}
    )
    assert "was not made by this collection" in module(server, "verified")["msg"]
    module(server, "remove")
    assert server.names("configmaps") == ["demo-verified"]


def test_remove_keeps_configuration_until_pods_are_gone(module):
    server = Server()
    module(server, "deploy")
    server.controller.orphans = lambda: None
    done = module(server, "remove", timeout=5)
    assert "Pods are still there after 5 s: demo-0-decode-0-0" in done["msg"]
    assert "demo-cm" in server.names("configmaps")
    del server.controller.orphans
    done = module(server, "remove")
    assert done["removed"] == ["ConfigMap/demo-cm", "ConfigMap/demo-targets"]
    assert server.names("configmaps") == server.names("modelservings") == server.names("pods") == []
    assert not module(server, "remove")["changed"]


def test_info_has_all_of_it_in_one_call(module):
    server = Server()
    done = module(server, "info", require_pods=True)
    assert "has no pods of demo. Deploy it first" in done["msg"]
    assert not module(server, "info", require_pods=True, check=True)["failed"]
    module(server, "deploy")
    done = module(server, "info")
    assert (done["ready"], done["missing"], done["diagnosis"], done["hidden"]) == (True, [], "", [])
    assert (done["kthena_version"], done["nodes"], done["namespace_exists"]) == (
        "v1.0.0",
        {"n1": "16", "n2": "16"},
        True,
    )
    assert done["objects"] == sorted(map(place, PLAN["objects"]))
    assert [item["role"] for item in done["pods"]] == ["decode", "prefill"]
    assert done["resolved_plan"]["verify"]["entry"]["url"].startswith("http://10.96.0.")
    assert all(item["address"] in json.dumps(done["resolved_plan"]["verify"]) for item in done["pods"])


def test_what_is_missing_on_this_machine_is_said(module, monkeypatch, run_module):
    monkeypatch.setattr(arguments, "LIBRARY_ERROR", "Traceback")
    done = run_module("kubernetes_info", plan=PLAN)
    assert "pip install 'kubernetes>=24.2'" in done["msg"]
    monkeypatch.setattr(arguments, "LIBRARY_ERROR", None)
    done = run_module("kubernetes_info", plan={"runtime": "systemd"})
    assert "The plan is for the runtime systemd" in done["msg"]
