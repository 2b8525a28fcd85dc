# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules for Kubernetes against the fake API server in this process: no socket, no library, no clock."""

from __future__ import annotations

import base64
import copy
import difflib
import json
import pathlib
import sys
import textwrap
import types
import zlib

import pytest

yaml = pytest.importorskip("yaml", reason="a target plans nothing")
pytest.importorskip("ansible.errors", reason="a target plans nothing")
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes import (
    arguments,
    cluster,
    kinds,
    quota,
    readiness,
    status,
    workloads,
)
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes import logs as pod_logs
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.errors import Refused, Unreachable
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.manifests import objects, pods
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.kthena_plans import plan

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "tests" / "simulator" / "kubernetes"))
import fake_api_server
import fake_shapes
import fake_store
from fake_api_server import Call
from fake_controller import Controller

PLAN = plan()
SCRIPTS = PLAN["kubernetes"]["roles"]["prefill"]["config_map"]
CONFIG_MAPS = sorted(item["metadata"]["name"] for item in PLAN["objects"] if item["kind"] == "ConfigMap")
VALUE = "a-value-of-the-test"
PODSECURITY = "violates PodSecurity restricted"
PLACES = sorted(
    f"{item['kind']}/{item['metadata']['name']}" for item in PLAN["objects"] if item["kind"] != "PodMonitor"
)  # what a cluster without the Prometheus operator gets
IS_READY = [{"type": "Ready", "status": "True"}]
NODES = {"allocatable": {"example.com/npu": "16"}, "conditions": IS_READY}


class Server:
    """The client that the modules get. ``fail`` may raise instead of an answer, ``calls`` has what was written."""

    def __init__(self, refuse_pods="", crds=True, deployments=True, more=False, main=False, nodes=2):
        self.store = fake_store.Store()
        kthena = [fake_api_server.own_crd(*crd, main) for crd in fake_api_server.OWN_CRDS] if crds else []
        known = kthena + (fake_shapes.CRDS if more else [])
        self.api = fake_api_server.Api(self.store, known, refuse_pods)
        self.controller = Controller(self.store, deployments=deployments)
        self.fail, self.written, self.seconds = lambda method, path, dry: None, [], 0
        self.add("namespaces", "", {"kind": "Namespace", "metadata": {"name": "serving"}})
        for number in range(1, nodes + 1):
            self.add("nodes", "", {"kind": "Node", "metadata": {"name": f"n{number}"}, "status": NODES})

    def request(self, method, path, query=None, body=None, form="application/json"):
        """As ``Client.request``."""
        dry = "dryRun" in (query or {})
        self.fail(method, path, dry)
        if method != "get" and not dry and "/selfsubject" not in path:
            self.written.append((method, path.rsplit("/", 1)[1]))
        text = "&".join(f"{key}={value}" for key, value in (query or {}).items())
        call = Call(self.api, f"{path}?{text}", form)
        try:
            call.route({"post": "create"}.get(method, method), copy.deepcopy(body))
        except fake_store.Refused as error:
            raise Refused(error.code, error.reason, error.message, error.wait) from error
        return json.loads(json.dumps(call.result))

    def text(self, method, path, query):
        """As ``Client.text``."""
        return self.request(method, path, query)

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
def module(monkeypatch, run_module, tmp_path):
    """``module(server, verb, **options)``: run a module against a server."""
    monkeypatch.setattr(arguments, "LIBRARY_ERROR", None)

    def run(server, verb, planned=PLAN, **options):
        monkeypatch.setattr(arguments, "Client", lambda kubeconfig, context: server)
        clock = types.SimpleNamespace(sleep=server.sleep, monotonic=lambda: server.seconds)
        monkeypatch.setattr(cluster, "time", clock)
        if verb == "deploy" and planned["kubernetes"]["secrets"]["keys"]:
            options.setdefault("secrets", {"api_key": VALUE})
        if verb == "verified":
            options.setdefault("directory", str(tmp_path))
        result = run_module(f"kubernetes_{verb}", plan=planned, poll=1, **options)
        assert VALUE not in json.dumps(result)
        assert base64.b64encode(VALUE.encode()).decode() not in json.dumps(result)
        return result

    return run


def well(result):
    """The result of a module that has not failed."""
    assert not result["failed"], result["msg"]
    return result


def deployed(module, **options):
    """A server to which the plan was deployed."""
    server = Server(**options)
    well(module(server, "deploy"))
    return server


def other_image(**changes):
    """The plan with another image for its engines."""
    return plan(image="mirror.example.com/ascend/vllm-ascend:v0.13.0-a3", **changes)


def test_deploy_applies_once_and_waits_until_it_serves(module):
    server = Server()
    done = well(module(server, "deploy"))
    assert set(done["created"]) == set(PLACES)
    assert done["progress"][0].startswith("the controller has observed generation None of 1")
    assert len([name for name in server.names("pods") if name.startswith("demo-router-")]) == 2
    status = server.store.get("deployments", "serving", "demo-router")["status"]
    assert status["availableReplicas"] == 2
    written = len(server.written)
    again = module(server, "deploy")
    assert (again["changed"], again["diff"], again["progress"]) == (False, [], [])
    assert len(server.written) == written


def test_an_unchanged_site_asks_little_and_a_busy_server_does_not_stop_it(module):
    """What site does: deploy, the addresses, logs for the verification, the record. Every third answer of a busy server is 429."""
    server, asked = Server(), []
    module(server, "deploy")
    module(server, "verified")
    server.fail = lambda method, path, dry: asked.append(path)
    steps = [
        ("deploy", {}),
        ("info", {"brief": True}),
        ("info", {"brief": True, "logs_since": 1790000000}),
        ("verified", {}),
    ]
    for verb, options in steps:
        assert not module(server, verb, **options).get("changed")
    assert len(asked) <= 70

    def busy(method, path, dry):
        asked.append(path)
        if len(asked) % 3 == 0:
            raise Refused(429, "TooManyRequests", "later", 1)

    server.fail, begin = busy, server.seconds
    for verb, options in steps:
        assert not module(server, verb, **options).get("failed")
    assert server.seconds - begin < 36, "more than a site takes on a real server that is not busy"


def test_the_difference_of_a_word_is_that_word(module):
    """A changed script is a new ConfigMap: it is compared with the one that it replaces."""
    server = Server()
    module(server, "deploy", plan(pools__decode__args={"max-num-seqs": 40}))
    done = module(server, "deploy", plan(pools__decode__args={"max-num-seqs": 32}))
    lines = []
    for item in done["diff"]:
        pair = [item[key].splitlines() for key in ("before", "after")]
        lines += [line for line in difflib.unified_diff(*pair, n=0, lineterm="") if line[:3] not in ("---", "+++")]
    assert any(line.startswith("-") and "--max-num-seqs 40" in line for line in lines)
    assert any(line.startswith("+") and "--max-num-seqs 32" in line for line in lines)
    assert len(lines) < 20, lines


def test_a_gang_of_instances_over_several_nodes_stays(module):
    """The server's rule: what would change or remove it is refused by the dry run, and a scaled role changes nothing."""
    server = Server(nodes=4)
    wide = {"pools__decode__data_parallel_size": 32}
    assert not module(server, "deploy")["failed"]
    assert not module(server, "deploy", plan(**wide))["failed"], "a gang may be added"
    assert not module(server, "deploy", plan(**wide, pools__prefill__instances=2))["failed"]
    before = len(server.written)
    done = module(server, "deploy")
    assert "gangPolicy is required once set" in done["msg"]
    assert len(server.written) == before


def of_image(server, text):
    """Names of the engines' pods whose image has this text."""
    pods = [item for item in server.store.list("pods") if "deletionTimestamp" not in item["metadata"]]
    found = [item["metadata"]["name"] for item in pods if text in item["spec"]["containers"][0]["image"]]
    return sorted(name for name in found if "-router-" not in name)


MIRROR = {"image": "mirror.example.com/ascend/vllm-ascend:v0.13.0-a3"}


@pytest.mark.parametrize("workload", ["kthena", "native"])
def test_a_drain_takes_one_pod_of_all_groups(module, workload):
    """A node with a worker too: its controller replaces the whole group, so until that is done no other group loses a pod."""
    server = Server(more=True, nodes=5)
    wide = plan(
        kubernetes__workload=workload,
        kubernetes__scheduler="volcano",
        pools__decode__data_parallel_size=32,
        pools__decode__instances=2,
    )
    assert not module(server, "deploy", wide).get("failed")
    budgets = {item["metadata"]["name"]: item["spec"] for item in server.store.list("poddisruptionbudgets")}
    assert "demo-prefill" not in budgets, "a drain takes the only instance"
    wanted = budgets["demo-decode"]["selector"]["matchLabels"].items()
    mine = [pod for pod in server.store.list("pods") if wanted <= pod["metadata"]["labels"].items()]
    assert len(mine) == 2 * wide["kubernetes"]["roles"]["decode"]["pods"] == 4, "entries and workers"
    assert budgets["demo-decode"]["minAvailable"] == 3


def test_devices_that_others_hold_are_not_planned_twice(module):
    """A second deployment on a full cluster; one's own pods, those that end and other resources do not count."""
    server = deployed(module)
    box = {
        "name": "x",
        "image": "x",
        "resources": {"limits": {"example.com/npu": "14"}, "requests": {"example.com/npu": "14"}},
    }
    for number, phase in ((1, "Running"), (2, "Running"), (1, "Succeeded")):
        head, spec = {"name": f"other-{number}-{phase.lower()}"}, {"nodeName": f"n{number}", "containers": [box]}
        server.add("pods", "theirs", {"kind": "Pod", "metadata": head, "spec": spec, "status": {"phase": phase}})
    more = plan(pools__decode__instances=2, kubernetes__host_network=False)
    written = len(server.written)
    done = module(server, "deploy", more)
    assert "2 nodes with 32 x example.com/npu, of which other pods hold 28, too few for all 3 pods" in done["msg"]
    assert len(server.written) == written
    done = module(server, "deploy", more, check_nodes=False, timeout=20)
    assert "Unschedulable: 0/2 nodes are available" in done["msg"], "without the check the scheduler says it"
    server.store.remove("pods", "theirs", "other-2-running")
    assert not module(server, "deploy", more)["failed"]


def test_a_partition_keeps_instances_of_the_old_revision(module):
    """The wait ends with them, their ConfigMaps stay, and the pods' own logs count; without the partition they follow."""
    server = Server(main=True)
    two = {"kubernetes__kthena_version": "main", "pools__decode__instances": 2}
    assert not module(server, "deploy", plan(**two))["failed"]
    well(module(server, "deploy", plan(**two, **MIRROR, kubernetes__partition=1)))
    assert of_image(server, "mirror") == ["demo-0-decode-1-0"]
    seen = module(server, "info", plan(**two, **MIRROR, kubernetes__partition=1), logs_since=0.0)
    assert (seen["ready"], seen["missing"]) == (True, [])
    assert "no pod of this revision" not in json.dumps(seen["logs"])
    changed_script = plan(**two, **MIRROR, kubernetes__partition=1, pools__decode__args={"max-num-seqs": 3})
    assert not module(server, "deploy", changed_script)["failed"]
    assert len([name for name in server.names("configmaps") if "-decode-" in name]) == 2
    assert not module(server, "deploy", plan(**two, **MIRROR))["failed"]
    assert len(of_image(server, "mirror")) == 3


def test_a_partition_keeps_groups(module):
    server = Server()
    two = {"kubernetes__groups": 2}
    assert not module(server, "deploy", plan(**two))["failed"]
    well(module(server, "deploy", plan(**two, **MIRROR, kubernetes__partition=1)))
    assert len(of_image(server, "mirror")) == 2
    assert len(of_image(server, "quay")) == 2


SCALED = {"decode": {"max": 4, "metrics": {"vllm:num_requests_waiting": 5}}}


def scale_decode(server, count):
    """As Kthena's autoscaler does."""
    live = server.store.get("modelservings", "serving", "demo")
    for role in live["spec"]["template"]["roles"]:
        role["replicas"] = count if role["name"] == "decode" else role["replicas"]
    spec = {"template": {"roles": live["spec"]["template"]["roles"]}}
    as_manager(server, "modelservings", "demo", "kthena-autoscaler", spec=spec)


def test_an_apply_that_fails_leaves_what_kthena_scaled_meanwhile(module):
    server, planned = Server(nodes=4), plan(kubernetes__autoscaling={"roles": SCALED})
    assert not module(server, "deploy", planned)["failed"]
    server.fail = router_fails(lambda: scale_decode(server, 3))
    done = module(server, "deploy", plan(kubernetes__autoscaling={"roles": SCALED}, **MIRROR))
    assert "have their previous content again" in done["msg"]
    roles = server.store.get("modelservings", "serving", "demo")["spec"]["template"]["roles"]
    found = {role["name"]: role for role in roles}
    assert found["decode"]["replicas"] == 3
    assert "mirror" not in str(roles)


def test_the_instances_that_kthena_scaled_are_left_alone(module):
    """What Kthena's autoscaler patches is another manager's, and roles are one field for the server."""
    server, planned = Server(nodes=4), plan(kubernetes__autoscaling={"roles": SCALED})
    done = well(module(server, "deploy", planned))
    assert "AutoscalingPolicy/demo" in done["created"]
    scale_decode(server, 3)
    assert "decode: 1 pods of 3" in module(server, "info", planned)["missing"]
    done = module(server, "deploy", planned)
    assert (done["failed"], done["changed"]) == (False, False), done
    assert len(of_image(server, "quay")) == 4
    well(module(server, "deploy", plan(kubernetes__autoscaling={"roles": SCALED}, **MIRROR)))
    assert len(of_image(server, "mirror")) == 4
    done = module(server, "deploy", plan(**MIRROR), force_conflicts=True)
    assert "AutoscalingPolicy/demo" in done["removed"]
    assert len(of_image(server, "mirror")) == 2


def test_a_pod_monitor_is_applied_where_the_cluster_has_the_kind(module):
    """Never an error where it does not; a warning if the inventory asks for one in any case."""
    server = Server(more=True)
    assert "PodMonitor/demo-engines" in module(server, "deploy")["created"]
    assert not module(server, "deploy")["changed"]
    assert "PodMonitor/demo-engines" in module(server, "remove")["removed"]
    server = Server()
    done = well(module(server, "deploy", plan(kubernetes__pod_monitor="always")))
    assert "No PodMonitor was applied: the cluster has no PodMonitor." in done["warnings"]


def place(thing):
    return f"{thing['kind']}/{thing['metadata']['name']}"


def test_check_mode_writes_nothing_and_shows_what_it_would(module):
    server = Server()
    done = well(module(server, "deploy", check=True))
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


EVERY_KIND = [
    {"kubernetes__router": {"mode": "kthena_router"}, "pools": dict.fromkeys(("prefill", "decode"), {"instances": 2})},
    {"kubernetes__workload": "native", "pools__decode__data_parallel_size": 32, "kubernetes__host_network": False},
    {"kubernetes__autoscaling": {"roles": {"decode": {"max": 4, "metrics": {"vllm:num_requests_waiting": 5}}}}},
]


def test_a_stranger_s_object_of_any_kind_is_neither_written_nor_removed(module):
    """Without labels, and with those of another deployment."""
    found = {
        item["kind"]: (planned, item)
        for planned in map(lambda each: plan(**each), EVERY_KIND)
        for item in planned["objects"]
    }
    assert set(found) == set(kinds.OWN) - {"Secret"}
    for labels in ({}, {"app.kubernetes.io/managed-by": "ascend.inference", "app.kubernetes.io/part-of": "other"}):
        for kind, (planned, item) in found.items():
            server, plural = Server(more=True, nodes=8), kinds.KINDS[kind][1]
            theirs = dict(copy.deepcopy(item), metadata={"name": item["metadata"]["name"], "labels": labels})
            server.store.create(plural, "serving", theirs)
            before = server.store.get(plural, "serving", item["metadata"]["name"])
            done = module(server, "deploy", planned)
            assert f"{place(item)}: the object exists in serving and was not made by this role" in done["msg"], kind
            assert server.written == []
            assert not module(server, "remove", planned, timeout=1)["removed"]
            assert server.store.get(plural, "serving", item["metadata"]["name"]) == before, kind


def test_a_record_of_somebody_else_stays_unless_it_is_adopted(module):
    server = deployed(module)
    theirs = {"kind": "ConfigMap", "metadata": {"name": "demo-verified"}, "data": {"a": "b"}}
    server.add("configmaps", "serving", theirs)
    assert "ConfigMap/demo-verified was not made by this collection" in module(server, "verified")["msg"]
    module(server, "remove")
    assert server.names("configmaps") == ["demo-verified"]
    assert not module(server, "deploy", adopt=True)["failed"]
    assert module(server, "verified", adopt=True)["changed"]
    assert not module(server, "verified")["changed"]


@pytest.mark.parametrize(
    "what", ["Secret/demo-secrets", "ConfigMap/demo-verified", f"ConfigMap/{SCRIPTS}", "Service/demo-router"]
)
def test_nothing_is_written_while_one_object_is_not_ours(module, what):
    """The Secret and the record of verified plans are checked like all others."""
    planned, server = with_secret(), Server()
    kind, name = what.split("/")
    plural = {"Secret": "secrets", "ConfigMap": "configmaps", "Service": "services"}[kind]
    content = {"spec": {"ports": [{"port": 81}]}} if kind == "Service" else {"data": {"db_password": "eA=="}}
    server.add(plural, "serving", {"kind": kind, "metadata": {"name": name}, **content})
    done = module(server, "deploy", planned)
    assert done["failed"]
    assert f"{what}: the object exists in serving and was not made by this role" in done["msg"]
    assert server.written == []
    assert not module(server, "deploy", planned, adopt=True)["failed"]


def with_secret(**changes):
    """A plan that needs a value for ``api_key``."""
    planned = plan(**changes)
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


def test_a_secret_of_somebody_else_is_read_and_neither_written_nor_removed(module):
    server = Server()
    planned = plan(secrets={"api_key": VALUE}, kubernetes__secrets={"existing": "of-vault"})
    done = module(server, "deploy", planned, secrets={})
    assert "Secret/of-vault: it does not exist in namespace serving" in done["msg"]
    data = {"other": "eA==", "api_key": ""}  # engines would take an empty one for none
    server.add("secrets", "serving", {"kind": "Secret", "metadata": {"name": "of-vault"}, "data": data})
    assert "it lacks a value of api_key" in module(server, "deploy", planned, secrets={})["msg"]
    assert server.written == []
    server.store.remove("secrets", "serving", "of-vault")
    theirs = {"kind": "Secret", "metadata": {"name": "of-vault"}, "data": {"api_key": "eA=="}}
    server.add("secrets", "serving", theirs)
    before = server.store.get("secrets", "serving", "of-vault")
    well(module(server, "deploy", planned, secrets={}))
    module(server, "remove", planned)
    assert server.store.get("secrets", "serving", "of-vault") == before
    server.fail = refuse("get", "secrets/of-vault", Refused(403, "Forbidden", "no"))
    done = module(server, "deploy", planned, secrets={})
    assert "Cannot read Secret of-vault" in " ".join(done["warnings"])


def test_manifests_that_another_manager_applied_serve_and_are_recorded(module, monkeypatch):
    """GitOps: nothing of the modules is needed to serve; verified and rollback work, and deploy changes nothing."""
    server = Server()
    with monkeypatch.context() as other:
        other.setattr(cluster, "FIELD_MANAGER", "argocd")
        for item in objects(PLAN):
            if place(item) in PLACES:
                cluster.Cluster(server, "serving").apply(item)
    server.sleep(12)
    assert module(server, "info")["ready"]
    assert server.store.get("deployments", "serving", "demo-router")["status"]["availableReplicas"] == 2
    assert module(server, "verified")["changed"]
    for check in (True, False):
        done = module(server, "deploy", check=check)
        assert (done["failed"], done["changed"]) == (False, False)


def test_what_another_manager_set_to_the_same_is_no_conflict(module):
    """Defaults that an older manifest leaves out differ for the server inside a list that has one owner."""
    server, older = Server(), copy.deepcopy(PLAN)
    for item in older["objects"]:
        if item["kind"] == "ModelServing":
            for role in item["spec"]["template"]["roles"]:
                role["entryTemplate"]["spec"]["containers"][0]["ports"][0].pop("protocol")
    module(server, "deploy")
    server.store.applied = {key: {"argocd": value["ascend-inference"]} for key, value in server.store.applied.items()}
    done = module(server, "deploy", older)
    assert (done["failed"], done["changed"]) == (False, False), done["msg"]
    other = copy.deepcopy(older)
    other["objects"][-2]["spec"]["schedulerName"] = "other"
    assert "conflict" in module(server, "deploy", other)["msg"]


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
    assert "would be created" in " ".join(done["warnings"])
    assert server.written == []
    well(module(server, "deploy", create_namespace=True))
    assert server.written[0] == ("patch", "serving")


def refuse(verb, name, error, of_dry_runs=None, before=lambda: None):
    """A server's failure for one object: of dry runs, of real writes or of both; ``before`` happens first."""

    def fail(method, path, dry):
        if method == verb and path.endswith(name) and of_dry_runs in (None, dry):
            before()
            raise error

    return fail


def router_fails(before=lambda: None):
    """The last object of a plan cannot be written."""
    return refuse("patch", "deployments/demo-router", Refused(500, "InternalError", "later"), False, before)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("services/demo-router", "Service/demo-router"),
        ("deployments/demo-router", "Deployment/demo-router"),
        ("modelservings/demo", "ModelServing/demo"),
        (f"configmaps/{SCRIPTS}", f"ConfigMap/{SCRIPTS}"),
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


ACCEPTED = {  # errors in pods whose findings the user accepts, and the server's words
    "probe": ("container", {"readinessProbe": {"httpGet": None, "periodSeconds": 1}}, "must specify a handler type"),
    "field of a probe": ("container", {"readinessProbe": {"periodSecond": 1}}, "unknown field"),
    "port's name": ("container", {"ports": [{"containerPort": 1, "name": "n" * 16}]}, "more than 15 characters"),
    "variable": (
        "container",
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.nodeIP"}}}]},
        "Unsupported value",
    ),
    "sub path": (
        "container",
        {"volumeMounts": [{"name": "model", "mountPath": "/m", "subPath": "../x"}]},
        "must not contain",
    ),
    "restart policy": ("spec", {"restartPolicy": "always"}, "spec.restartPolicy: Unsupported value"),
    "toleration": ("spec", {"tolerations": [{"operator": "Exists", "value": "v"}]}, "value must be empty"),
    "field of a toleration": ("spec", {"tolerations": [{"keys": "x"}]}, 'unknown field "spec.tolerations[0].keys"'),
}


@pytest.mark.parametrize("what", ACCEPTED)
@pytest.mark.parametrize("workload", ["kthena", "native"])
def test_what_the_user_accepts_the_dry_run_refuses(module, what, workload):
    """Without an error of the server a ModelServing would be accepted and its pods never created, or a field be dropped."""
    part, values, expected = ACCEPTED[what]
    server = Server()
    wrong = {"kubernetes__pods": {"decode": {part: values}}, "rules_ignore": ["K8S-MANIFEST"]}
    done = module(server, "deploy", plan(**wrong, kubernetes__workload=workload))
    assert "The server would refuse Pod/demo-" in done["msg"], done
    assert expected in done["msg"]
    assert server.written == []


def test_a_field_that_the_server_does_not_know_is_refused_at_once(module):
    """The server answers an apply of it with 500, which is no reason to ask again."""
    planned, server = copy.deepcopy(PLAN), Server(more=True)
    monitor = next(item for item in planned["objects"] if item["kind"] == "PodMonitor")
    monitor["spec"]["selektor"] = {}
    done = module(server, "deploy", planned)
    assert "The server would refuse PodMonitor/demo-engines, so nothing was applied." in done["msg"]
    assert ".spec.selektor: field not declared in schema" in done["msg"]
    assert (server.written, server.seconds) == ([], 0)


def test_a_user_of_one_namespace_may_deploy(module):
    """Who may not read CRDs, nodes, the namespace and events may still deploy."""
    server = Server()

    def fail(method, path, dry):
        if any(part in path for part in ("customresourcedefinitions", "/nodes", "namespaces/serving?", "events")):
            raise Refused(403, "Forbidden", "no")
        if path.endswith("/namespaces/serving") or path.endswith("modelroutes"):
            raise Refused(403, "Forbidden", "no")

    server.fail = fail
    done = well(module(server, "deploy"))
    assert "Cannot list nodes" in " ".join(done["warnings"])
    assert module(server, "info")["hidden"] == ["ModelRoute", "crds", "namespace", "nodes"]


def test_a_server_that_is_away_is_not_called_a_refusal(module):
    server = Server()
    server.fail = refuse("patch", "/demo", Unreachable("https://x does not answer"))
    done = module(server, "deploy")
    assert "could not be dry-run, and nothing was applied. https://x does not answer" in done["msg"]
    assert "refuse" not in done["msg"]
    assert server.written == []


def test_a_failed_apply_leaves_what_was(module):
    """With the webhook down after the dry run, what was written before it goes again, and what runs keeps its scripts."""
    server = Server()
    server.fail = fail = refuse("patch", "modelservings/demo", Refused(500, "", "failed calling webhook"), False)
    done = module(server, "deploy")
    assert "ModelServing/demo was not applied: failed calling webhook" in done["msg"]
    assert f"ConfigMap/{SCRIPTS}" in done["msg"] and "have their previous content again" in done["msg"]
    assert server.names("configmaps") == server.names("services") == []
    assert not done["changed"]

    server.fail = lambda method, path, dry: None
    module(server, "deploy")
    server.fail = fail
    changed = plan(pools__decode__args={"max-num-seqs": 7})
    done = module(server, "deploy", changed)
    assert done["failed"]
    assert server.names("configmaps") == CONFIG_MAPS
    server.fail = lambda method, path, dry: None
    assert not module(server, "deploy")["changed"]
    assert not module(server, "deploy", changed)["failed"]


def test_an_object_whose_answer_got_lost_is_taken_back_too(module):
    """The server has applied it, and nobody knows."""
    server = deployed(module)
    before = server.store.get("modelservings", "serving", "demo")["spec"]
    request, end = server.request, server.seconds + cluster.AWAY

    def unheard(method, path, query=None, body=None, form="application/json"):
        answer = request(method, path, query, body, form)
        if (
            method == "patch"
            and path.endswith("modelservings/demo")
            and "dryRun" not in query
            and server.seconds <= end
        ):
            raise Unreachable("the connection ended")
        return answer

    server.request = unheard
    done = module(server, "deploy", other_image())
    assert "ModelServing/demo was not applied: the connection ended" in done["msg"]
    assert "have their previous content again" in done["msg"]
    assert server.store.get("modelservings", "serving", "demo")["spec"] == before


def as_manager(server, plural, name, manager, **content):
    """Apply fields of an object as another manager does."""
    thing = server.store.get(plural, "serving", name)
    head = {"name": name, "namespace": "serving", **content.pop("metadata", {})}
    manifest = {"apiVersion": thing["apiVersion"], "kind": thing["kind"], "metadata": head, **content}
    server.store.apply(plural, "serving", manifest, manager, True, False, server.api.judge)


@pytest.mark.parametrize("force", [False, True])
def test_a_failed_apply_leaves_the_fields_of_others(module, force):
    """Annotations of other managers, also those that come while it runs; with force also what was taken from them comes back."""
    server = deployed(module)
    if force:
        as_manager(server, "modelservings", "demo", "operator", spec={"recoveryPolicy": "None"})
    as_manager(server, "modelservings", "demo", "before", metadata={"annotations": {"before": "theirs"}})
    during = {"annotations": {"during": "theirs"}}
    server.fail = router_fails(lambda: as_manager(server, "modelservings", "demo", "during", metadata=during))
    before = server.store.get("modelservings", "serving", "demo")
    assert "have their previous content again" in module(server, "deploy", other_image(), force_conflicts=force)["msg"]
    found = server.store.get("modelservings", "serving", "demo")
    assert found["spec"] == before["spec"]
    assert found["metadata"]["annotations"] == {**before["metadata"]["annotations"], "during": "theirs"}
    mine = server.store.applied["modelservings", "serving", "demo"]["ascend-inference"]
    assert "before" not in mine["metadata"]["annotations"], "what others own does not become ours"
    server.fail = lambda method, path, dry: None
    assert module(server, "deploy", other_image(), force_conflicts=force).get("updated"), "the next one can go on"


def test_a_failed_apply_keeps_what_others_took_meanwhile(module):
    """A field that somebody takes between the apply and its failure stays theirs, and the others are restored all the same."""
    server = deployed(module)
    server.fail = router_fails(
        lambda: as_manager(server, "services", "demo-router", "somebody", spec={"type": "NodePort"})
    )
    router = {"service_type": "LoadBalancer", "replicas": 3}
    done = module(server, "deploy", plan(kubernetes__router=router, pools__decode__args={"max-num-seqs": 7}))
    assert "Service/demo-router could not be restored: Apply failed with 1 conflict" in done["msg"]
    assert server.store.get("services", "serving", "demo-router")["spec"]["type"] == "NodePort"
    assert server.names("configmaps") == CONFIG_MAPS


@pytest.mark.parametrize("immutable", [True, False])
def test_a_config_map_that_somebody_made_again_is_refused_with_the_fix(module, immutable):
    """Its name tells its content, so neither is it written over nor taken for what was planned."""
    server = deployed(module)
    made = server.store.get("configmaps", "serving", SCRIPTS)
    made.update(data=dict.fromkeys(made["data"], "exit 1"), immutable=immutable)
    for key in ("uid", "resourceVersion", "managedFields"):
        made["metadata"].pop(key, None)
    server.store.remove("configmaps", "serving", SCRIPTS)
    if immutable:
        server.add("configmaps", "serving", made)
    else:
        server.store.apply("configmaps", "serving", made, "kubectl", True, False, server.api.judge)
    written = len(server.written)
    done = module(server, "deploy")
    assert f"The server would refuse ConfigMap/{SCRIPTS}, so nothing was applied." in done["msg"]
    assert ("immutable" if immutable else "conflict") in done["msg"]
    assert f"kubectl -n serving delete configmap {SCRIPTS}" in done["msg"]
    assert len(server.written) == written


def test_a_config_map_goes_when_no_pod_mounts_it(module):
    """A failed update keeps the scripts of the pods that still run; a finished one removes them."""
    server = deployed(module)
    old = PLAN["kubernetes"]["roles"]["decode"]["config_map"]
    args = {"args": {"max-num-seqs": 7}}
    decode = {"container": {"image": "example.com/broken:v0.13.0-a3"}}
    broken = plan(pools__decode=args, kubernetes__pods={"decode": decode})
    assert module(server, "deploy", broken, stuck_timeout=5)["failed"]
    assert old in server.names("configmaps")
    changed = plan(pools__decode=args)
    assert f"ConfigMap/{old}" in module(server, "deploy", changed)["removed"]

    pod = {"metadata": {"name": "p", "labels": {"modelserving.volcano.sh/name": "demo"}}, "kind": "Pod"}
    volumes = [{"name": "config", "configMap": {"name": "demo-decode-0123456789"}}]
    server.add("pods", "serving", dict(pod, spec={"containers": [{"name": "c", "image": "i"}], "volumes": volumes}))
    head = {"name": "demo-decode-0123456789", "labels": changed["objects"][0]["metadata"]["labels"]}
    server.add("configmaps", "serving", {"kind": "ConfigMap", "metadata": head})
    assert not module(server, "deploy", changed, timeout=3)["removed"], "a pod of a partition mounts it"
    server.store.remove("pods", "serving", "p")
    assert module(server, "deploy", changed)["removed"] == ["ConfigMap/demo-decode-0123456789"]


def test_a_record_that_cannot_be_read_is_not_taken_for_none(module):
    server = deployed(module)

    def lose():
        server.fail = refuse("get", "configmaps/demo-verified", Refused(403, "Forbidden", "no right"))

    meanwhile(server, waiting_for(server), lose)
    broken = plan(kubernetes__pods={"decode": {"container": {"image": "example.com/broken:v0.13.0-a3"}}})
    done = module(server, "deploy", broken, stuck_timeout=30)
    assert (
        "Whether a plan was verified before is not known" in done["msg"] and "No plan was verified" not in done["msg"]
    )


def test_engines_that_do_not_get_ready_are_explained(module):
    server = deployed(module)
    broken = plan(kubernetes__pods={"decode": {"container": {"image": "example.com/broken:v0.13.0-a3"}}})
    done = module(server, "deploy", broken, stuck_timeout=30)
    assert "kthena_stuck_timeout: waiting does not help demo-0-decode-0-0: ImagePullBackOff" in done["msg"]
    assert 'ImagePullBackOff Back-off pulling image "example.com/broken:v0.13.0-a3"' in done["msg"]
    assert "No plan was verified before. Fix: correct the inventory" in done["msg"]
    assert server.seconds < 60
    assert "ModelServing/demo" in done["updated"]
    found = module(server, "info", broken)
    assert not found["ready"]
    assert "Back-off pulling image" in found["diagnosis"]


BROKEN = {"decode": {"container": {"image": "example.com/broken:1"}}}


@pytest.mark.parametrize("instances", [1, 2, 4])
def test_the_way_back_from_a_failed_update_ends_by_itself(module, instances):
    """Kthena leaves the broken pod of an update that did not end, if its role has several."""
    server, first = Server(nodes=5), plan(pools__decode__instances=instances)
    module(server, "deploy", first)
    module(server, "verified", first)
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in server.store.list("pods")}
    failed = module(
        server, "deploy", plan(pools__decode__instances=instances, kubernetes__pods=BROKEN), stuck_timeout=30
    )
    assert "The playbook kubernetes_rollback brings" in failed["msg"]
    begin = server.seconds
    done = well(module(server, "deploy", module(server, "verified", first, state="read")["previous_plan"]))
    assert server.seconds - begin < 60, "as long as stuck_timeout for a pod that it may delete at once"
    assert server.images() == [first["kubernetes"]["roles"]["decode"]["image"]]
    after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in server.store.list("pods")}
    assert len(before.items() & after.items()) == len(before) - 1, "a pod that served was replaced"
    left = [name for name in done["removed"] if name.startswith("Pod/")]
    assert len(left) == (instances > 1)
    assert not left or "ImagePullBackOff), and has not been replaced" in " ".join(done["warnings"])


def test_with_the_recovery_policy_none_the_way_back_ends_too(module):
    """Kthena makes no deleted pod again until the specification changes."""
    server, first = Server(nodes=5), plan(pools__decode__instances=2, kubernetes__recovery_policy="None")
    module(server, "deploy", first)
    module(server, "verified", first)
    broken = plan(pools__decode__instances=2, kubernetes__recovery_policy="None", kubernetes__pods=BROKEN)
    assert module(server, "deploy", broken, stuck_timeout=30)["failed"]
    begin = server.seconds
    done = well(module(server, "deploy", first))
    assert server.seconds - begin < 90
    assert server.images() == [first["kubernetes"]["roles"]["decode"]["image"]]
    assert "Kthena lacks pods of decode and does not try again by itself." in " ".join(done["warnings"])
    live = server.store.get("modelservings", "serving", "demo")
    assert live["spec"]["template"]["restartGracePeriodSeconds"] == 60
    assert not module(server, "deploy", first)["changed"]


@pytest.mark.parametrize("pods", [3, 2])
def test_the_same_plan_again_makes_the_pods_that_a_quota_refused(module, pods):
    """The first time the controller only logs what the server refuses; the same plan again changes nothing that it looks at."""
    server, planned = Server(nodes=5), plan(pools__decode__instances=3)
    module(server, "deploy", planned)
    for pod in server.store.list("pods"):
        if "router" not in pod["metadata"]["name"]:
            server.store.remove("pods", "serving", pod["metadata"]["name"])
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": str(2 + pods)}}}
    server.add("resourcequotas", "serving", {"kind": "ResourceQuota", **quota})
    server.sleep(60)
    engines = [name for name in server.names("pods") if "-router-" not in name]
    assert len(engines) < 4, "the quota has room for fewer"
    server.store.remove("resourcequotas", "serving", "q")
    server.sleep(60)
    assert [name for name in server.names("pods") if "-router-" not in name] == engines
    begin, done = server.seconds, module(server, "deploy", planned)
    assert not done["failed"], done["msg"]
    assert server.seconds - begin < 60
    assert "ModelServing/demo was changed and changed back" in " ".join(done["warnings"])


def test_the_way_back_replaces_what_already_serves_one_by_one(module):
    """A run that was ended in mid-update: Kthena calls the group complete though two instances are of the other revision."""
    server, first = Server(nodes=5), plan(pools__decode__instances=4)
    module(server, "deploy", first)
    other = plan(pools__decode__instances=4, pools__decode__args={"max-num-seqs": 7})
    mark = other["kubernetes"]["roles"]["decode"]["config_map"]
    assert module(server, "deploy", other, pause=17)["waiting"]
    of_other = [pod for pod in server.store.list("pods") if mark in str(pod["spec"])]
    assert 1 < len(of_other) < 4
    least, step = [4], server.controller.step

    def looked():
        step()
        pods = [pod for pod in server.store.list("pods") if "-decode-" in pod["metadata"]["name"]]
        least.append(
            len([pod for pod in pods if readiness.is_ready(pod) and "deletionTimestamp" not in pod["metadata"]])
        )

    server.controller.step = looked
    well(module(server, "deploy", first))
    assert not any(mark in str(pod["spec"]) for pod in server.store.list("pods"))
    assert min(least) == 3, "more than one instance was away at once"


@pytest.mark.parametrize("back", [False, True])
def test_a_controller_that_starts_anew_in_mid_update_leaves_nothing_of_another_plan(module, back):
    """It may take a group for updated, or for not updated, by the pod that it sees first."""
    server, first = Server(nodes=5), plan(pools__decode__instances=4)
    other = plan(pools__decode__instances=4, pools__decode__args={"max-num-seqs": 7})
    module(server, "deploy", first)
    assert module(server, "deploy", other, pause=17)["waiting"]
    server.controller.servings.restart()
    wanted, gone = (first, other) if back else (other, first)
    well(module(server, "deploy", wanted, **({} if back else {"resume": {}})))
    mark = gone["kubernetes"]["roles"]["decode"]["config_map"]
    assert not any(mark in str(pod["spec"]) for pod in server.store.list("pods"))


def test_a_group_that_was_refused_for_long_is_made_soon_when_there_is_room(module):
    """Kthena tries a refused group later and later, in the end after a quarter of an hour."""
    server = Server()
    admit = server.controller.create_pod
    server.controller.create_pod = lambda space, pod: (
        "forbidden" if server.seconds < 200 and "-router-" not in str(pod["metadata"]) else admit(space, pod)
    )
    assert module(server, "deploy", timeout=190, stuck_timeout=2000)["failed"]
    server.sleep(20)
    begin, done = server.seconds, module(server, "deploy")
    assert not done["failed"], done["msg"]
    assert server.seconds - begin < 60


def test_a_role_that_only_a_failed_update_had_goes(module):
    server = Server(nodes=3)
    first = plan(pools__decode__instances=2)
    module(server, "deploy", first)
    more = plan(pools__decode__instances=2, kubernetes__pods=BROKEN)
    (serving,) = [item for item in more["objects"] if item["kind"] == "ModelServing"]
    extra = {**copy.deepcopy(serving["spec"]["template"]["roles"][0]), "name": "extra"}
    extra["entryTemplate"]["spec"]["containers"][0]["resources"] = {}
    extra["entryTemplate"]["spec"]["containers"][0].pop("ports")
    serving["spec"]["template"]["roles"].append(extra)
    module(server, "deploy", more, stuck_timeout=20)
    assert any("-extra-" in name for name in server.names("pods"))
    assert "Pod/demo-0-extra-0-0" in module(server, "deploy", first)["removed"]
    server.sleep(5)
    assert not any("-extra-" in name for name in server.names("pods"))


def test_a_user_who_may_not_delete_pods_is_told_the_command_at_once(module):
    server, first = Server(nodes=3), plan(pools__decode__instances=2)
    module(server, "deploy", first)
    module(server, "verified", first)
    module(server, "deploy", plan(pools__decode__instances=2, kubernetes__pods=BROKEN), stuck_timeout=30)

    def fail(method, path, dry):
        if method == "delete" and "/pods/" in path:
            raise Refused(403, "Forbidden", "pods is forbidden")

    server.fail, begin = fail, server.seconds
    done = module(server, "deploy", first, stuck_timeout=40)
    assert server.seconds - begin < 30
    assert "waiting does not help demo-0-decode-1-0: of another revision, ImagePullBackOff" in done["msg"]
    assert "kubectl -n serving delete pod demo-0-decode-1-0" in " ".join(done["warnings"])
    assert "kubernetes_rollback" not in done["msg"], "it would do the same again"


def test_a_crash_loop_that_kthena_cuts_short_ends_the_wait(module):
    """It deletes a pod that is not ready a minute after a restart, so no pod ever shows more than a few restarts."""
    server = Server()
    started = server.controller.started

    def once(pod):
        status = started(pod)
        status["containerStatuses"][0]["restartCount"] = min(1, status["containerStatuses"][0]["restartCount"])
        return status

    server.controller.started = once
    done = module(server, "deploy", plan(kubernetes__pods={"decode": {"container": {"image": "example.com/crash:1"}}}))
    assert "waiting does not help decode: restarted 3 times" in done["msg"]
    assert 120 < server.seconds < 250


def test_the_wait_tells_the_time_of_all_slices(module):
    server = Server()
    broken = plan(kubernetes__pods=BROKEN)
    done = module(server, "deploy", broken, pause=20, stuck_timeout=1000, timeout=60)
    done = module(server, "deploy", broken, resume=done["stuck"], waited=40, stuck_timeout=1000, timeout=60)
    assert "The wait ended after 60 s (kthena_timeout)." in done["msg"]


def test_a_crash_loop_ends_the_wait_with_the_end_of_the_log(module):
    server = Server()
    crashing = plan(kubernetes__pods={"decode": {"container": {"image": "example.com/crash:1"}}})
    crashing["known_issues"] = [
        {"number": "1", "signs": "LOG-DEVICE-HELD", "text": "known issue of the NPU"},
        {"number": "2", "signs": "LOG-SHAPES", "text": "known issue of shapes"},
    ]
    done = module(server, "deploy", crashing, stuck_timeout=10)
    assert "It looks like a known issue of the NPU" in done["msg"]
    assert "known issue of shapes" not in done["msg"]
    for text in ("CrashLoopBackOff", "decode exited with 1 (Error)", "last lines of decode", "RuntimeError: no NPU"):
        assert text in done["msg"]
    assert ": Likely cause: another process or container holds the NPU. [LOG-DEVICE-HELD]" in done["msg"]
    assert server.seconds < 40


def test_the_time_that_a_pod_is_stuck_goes_on_in_the_next_slice(module):
    server = Server()
    broken = plan(kubernetes__pods={"decode": {"container": {"image": "example.com/broken:1"}}})
    done = module(server, "deploy", broken, pause=20)
    assert done["waiting"]
    (seconds,) = done["stuck"].values()
    assert 5 < seconds < 20
    before = server.seconds
    done = module(server, "deploy", broken, resume=done["stuck"], stuck_timeout=25)
    assert done["failed"]
    assert server.seconds - before == 25 - seconds


QUOTA = {"kind": "ResourceQuota", "metadata": {"name": "q"}}


def test_a_quota_has_room_for_what_runs_already(module):
    server = Server()
    router = {"limits": {"memory": "1Gi", "cpu": "1"}, "replicas": 1}
    server.add("resourcequotas", "serving", dict(QUOTA, spec={"hard": {"cpu": "9", "pods": "3"}}))
    assert not module(server, "deploy", plan(kubernetes__router=router))["failed"]
    other = plan(kubernetes__router=router, pools__decode__args={"max-num-seqs": 7})
    well(module(server, "deploy", other))
    more, written = plan(kubernetes__router=router, pools__decode__instances=2), len(server.written)
    assert "the plan needs 4 more cpu, and 0 of 9 are free" in module(server, "deploy", more)["msg"]
    assert "the plan needs 1 more pods" in module(server, "deploy", more)["msg"]
    assert len(server.written) == written


def test_a_pod_that_has_ended_makes_no_room_in_a_quota(module):
    """The quota no longer counts it, so it must not count as one that the plan replaces."""
    server, first = Server(crds=False), plan(kubernetes__workload="native")
    assert not module(server, "deploy", first)["failed"]
    name = next(name for name in server.names("pods") if "-decode-" in name)
    server.store.set_status("pods", "serving", name, failed_as(None, "Evicted"))
    head, hard = {"name": "q"}, {"pods": "3"}
    quota = {"kind": "ResourceQuota", "metadata": head, "spec": {"hard": hard}, "status": {"used": hard}}
    server.add("resourcequotas", "serving", quota)
    done = module(server, "deploy", first)
    assert "ResourceQuota/q: the plan needs 1 more pods, and 0 of 3 are free" in done["msg"], done


def test_an_update_of_the_router_needs_room_for_one_more_of_its_pods(module):
    """The server accepts the update, and it never begins; one that changes nothing of the router needs no room."""
    server, other = Server(), plan(kubernetes__router={"limits": {"cpu": "3"}})
    server.add("resourcequotas", "serving", dict(QUOTA, spec={"hard": {"pods": "4", "limits.cpu": "30"}}))
    assert not module(server, "deploy")["failed"]
    written = len(server.written)
    done = module(server, "deploy", other)
    text = "ResourceQuota/q: the update of Deployment/demo-router needs 1 more pods, and 0 of 4 are free; nothing was applied"
    assert text in done["msg"] and "limits.cpu" not in done["msg"] and len(server.written) == written
    assert not module(server, "deploy", other_image(kubernetes__router={"image": image_of(PLAN)}))["failed"]
    first = next(name for name in server.names("pods") if "-router-" in name)
    server.store.objects["pods", "serving", first]["metadata"]["deletionTimestamp"] = "2026-11-23T10:00:00Z"
    assert not module(server, "deploy", other, check=True)["failed"], "a pod is just leaving"
    quota = server.store.get("resourcequotas", "serving", "q")
    quota["spec"]["hard"]["pods"] = "5"
    server.store.replace("resourcequotas", "serving", quota)
    assert not module(server, "deploy", other)["failed"]


def image_of(planned):
    """The image of the plan's router."""
    (router,) = [item for item in planned["objects"] if item["kind"] == "Deployment"]
    return router["spec"]["template"]["spec"]["containers"][0]["image"]


def test_a_quota_that_others_use_up_meanwhile_is_named_by_the_server(module):
    server = Server()
    seen = []

    def fail(method, path, dry):
        if method == "patch" and path.endswith("modelservings/demo") and not dry and not seen:
            seen.append(True)
            server.add("resourcequotas", "serving", dict(QUOTA, spec={"hard": {"requests.cpu": "5"}}))

    server.fail = fail
    done = module(server, "deploy", plan(kubernetes__router={"mode": "none"}))
    assert "the server refuses pods: " in done["msg"]
    assert "exceeded quota: q, requested: requests.cpu=4, used: requests.cpu=4, limited: requests.cpu=5" in done["msg"]
    assert "waiting does not help decode: the server refuses its pods" in done["msg"]
    assert 60 <= server.seconds < 70, "it waited for the timeout"


def test_pods_that_the_server_refuses_to_a_controller_end_the_wait(module):
    """One more instance of a role that has some, with a quota whose scope is not summed before."""
    server, quota = Server(), dict(QUOTA, spec={"hard": {"requests.cpu": "9"}, "scopes": ["NotTerminating"]})
    bare = {"kubernetes__router": {"mode": "none"}}
    assert not module(server, "deploy", plan(**bare))["failed"]
    server.add("resourcequotas", "serving", quota)
    done = module(server, "deploy", plan(**bare, pools__decode__instances=2), stuck_timeout=10)
    assert "decode: 1 pods of 2" in done["msg"]
    assert "exceeded quota: q" in done["msg"]
    assert "waiting does not help decode: the server refuses its pods" in done["msg"]
    done = module(server, "deploy", plan(**bare, **MIRROR), stuck_timeout=1)
    assert not done["failed"], "the pods that are replaced fill the quota for a while"


def test_a_router_whose_pods_the_server_refuses_is_explained_early(module):
    server, less = Server(), {"limits": {"cpu": "1", "memory": "1Gi"}, "replicas": 1}
    assert not module(server, "deploy", plan(kubernetes__router=less))["failed"]
    server.add("resourcequotas", "serving", dict(QUOTA, spec={"hard": {"pods": "3"}, "scopes": ["NotTerminating"]}))
    before = server.seconds
    done = module(server, "deploy", plan(kubernetes__router=dict(less, run_as_root=True)), stuck_timeout=10)
    assert "waiting does not help demo-router: the server refuses its pods" in done["msg"]
    assert "the server refuses pods: pods " in done["msg"] and "exceeded quota: q, requested: pods=1" in done["msg"]
    assert server.seconds - before < 20


def test_the_pods_of_one_role_are_missed_early(module):
    """Its controller makes those of the other role only."""
    server = Server()
    create = server.controller.create_pod
    server.controller.create_pod = lambda namespace, pod: (
        create(namespace, pod) if "-decode-" not in pod["metadata"]["name"] else ""
    )
    done = module(server, "deploy", stuck_timeout=5)
    assert "waiting does not help decode: its controller makes no pods)" in done["msg"]
    assert 10 <= server.seconds < 20


def test_a_role_that_was_scaled_to_nothing_misses_no_pods(module):
    planned = copy.deepcopy(PLAN)
    planned["kubernetes"]["roles"]["decode"]["replicas"] = 0
    for item in planned["objects"]:
        if item["kind"] == "ModelServing":
            role = next(role for role in item["spec"]["template"]["roles"] if role["name"] == "decode")
            role["replicas"] = 0
            role.pop("maxUnavailable")  # the webhook wants no more than replicas
    well(module(Server(), "deploy", planned, stuck_timeout=3))


def guide_role():
    """The rules of the Role in the guide."""
    text = (ROOT / "docs/docsite/rst/guide_kthena.rst").read_text(encoding="utf-8")
    block = text[text.index("   apiVersion: rbac.authorization.k8s.io/v1") :]
    block = block[: block.index("\n\n")]
    return yaml.safe_load(textwrap.dedent(block))["rules"]


def test_the_role_of_the_guide_is_enough_for_the_whole_cycle(module):
    server, planned = Server(), with_secret()
    server.api.rights = guide_role()
    done = well(module(server, "deploy", planned))
    assert len(done["warnings"]) == 5  # nodes, Deployments of all namespaces, and pods of three templates
    assert 'cannot create resource "pods"' in " ".join(done["warnings"])
    assert not module(server, "verified", planned)["failed"]
    assert module(server, "info", planned)["hidden"] == ["crds", "namespace", "nodes"]
    crash = {"decode": {"container": {"image": "example.com/crash:1"}}}
    done = module(server, "deploy", plan(kubernetes__pods=crash), stuck_timeout=5)
    assert "RuntimeError: no NPU" in done["msg"]
    well(module(server, "remove", planned))
    assert server.names("modelservings") == server.names("deployments") == server.names("secrets") == []


def test_all_missing_rights_are_named_at_once_with_a_role_that_is_enough(module):
    """The Role of the message is used as it is; nothing was tried before."""
    server, planned = Server(), with_secret()
    server.api.rights = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    asked = []
    server.fail = lambda method, path, dry: asked.append((method, path.rsplit("/", 1)[1]))
    done = module(server, "deploy", planned)
    assert {path for dummy, path in asked} == {"selfsubjectrulesreviews", "selfsubjectaccessreviews"}
    assert "the user may not: get, list, create, patch, delete deployments;" in done["msg"]
    assert "create, patch, delete configmaps" in done["msg"] and "list pods" in done["msg"]
    server.fail = lambda method, path, dry: None
    text = done["msg"][done["msg"].index("apiVersion: rbac") :]
    found = yaml.safe_load(text)
    assert found["metadata"]["namespace"] == "serving"
    server.api.rights = found["rules"]
    assert not module(server, "deploy", planned)["failed"]
    assert not module(server, "remove", planned)["failed"]


def test_a_pod_monitor_that_the_user_may_not_write_is_left_out(module):
    server = Server(more=True)
    server.api.rights = [rule for rule in guide_role() if "podmonitors" not in rule["resources"]]
    done = well(module(server, "deploy", plan(kubernetes__pod_monitor="auto")))
    assert (
        "No PodMonitor was applied: the user may not get, list, create, patch, delete podmonitors." in done["warnings"]
    )
    assert server.names("podmonitors") == []


def test_a_server_that_answers_no_question_about_rights_is_asked_for_the_object(module):
    server = Server()
    server.fail = refuse("post", "reviews", Refused(403, "Forbidden", "no"))
    assert not module(server, "deploy")["failed"]


def test_questions_about_rights_that_are_not_answered_at_the_moment_are_not_asked_one_by_one(module):
    server = Server()
    server.fail = refuse("post", "reviews", Refused(503, "Unavailable", "no authorizer"))
    done = module(server, "deploy")
    assert "no authorizer" in done["msg"]
    assert server.seconds < 70


def test_logs_of_pods_are_judged_like_those_of_hosts(module):
    """Red flags and transfers since the mark, causes in the last lines; pods of another revision are not read."""
    server, now = Server(), 1790000000
    module(server, "deploy")
    texts = {"decode": "Mooncake transfer failed, ret: -1\nKV cache transfer for request 7 took 1.5 ms.\n"}
    texts["prefill"] = "RuntimeError: NPU out of memory. Tried to allocate 2 GiB\n"
    server.api.logs = lambda pod: next((texts[role] for role in texts if role in pod), "")
    logs = module(server, "info", logs_since=now)["logs"]
    assert sorted(logs) == ["decode-0", "prefill-0", "router"]
    assert logs["decode-0"]["red_flags"] == ["Mooncake transfer failed, ret: -1"]
    assert logs["decode-0"]["transfer_ms"] == [1.5]
    assert [cause["path"] for cause in logs["prefill-0"]["causes"]] == ["prefill-0"]
    assert logs["router"]["tail"] == ["the log of router"] * 2, "there are two pods"
    assert all(log["readable"] for log in logs.values())
    logs = module(server, "info", other_image(), logs_since=now)["logs"]
    assert (logs["decode-0"]["readable"], logs["decode-0"]["problem"]) == (False, "no pod of this revision runs it")
    server.fail = refuse("get", "log", Refused(403, "Forbidden", "pods/log is forbidden"))
    logs = module(server, "info", logs_since=now)["logs"]
    assert logs["decode-0"]["problem"] == "pods/log is forbidden"


def test_a_pod_with_a_huge_or_unreadable_log_hides_no_lines_of_others(module, monkeypatch):
    server, text, asked = Server(), Server.text, []
    module(server, "deploy")
    routers = sorted(
        item["metadata"]["name"] for item in server.store.list("pods") if "router" in item["metadata"]["name"]
    )

    def read(method, path, query):
        pod = path.rsplit("/", 2)[1]
        asked.append(query["limitBytes"])
        if pod == routers[0]:
            raise Refused(400, "BadRequest", "it is waiting to start")
        return "Instance x was not added to the proxy\n" if pod in routers else text(server, method, path, query)

    server.text = read
    router = module(server, "info", logs_since=1790000000)["logs"]["router"]
    assert router["red_flags"] == ["Instance x was not added to the proxy"]
    assert (router["readable"], router["problem"]) == (False, "it is waiting to start")
    assert set(asked) == {str(pod_logs.MOST_LOG)}
    monkeypatch.setattr(pod_logs, "MOST_LOG", 10)
    decode = module(server, "info", logs_since=1790000000)["logs"]["decode-0"]
    assert not decode["readable"] and "more than 0 MiB" in decode["problem"]


def test_a_log_of_a_pod_does_not_write_to_the_terminal(module):
    server = Server()
    server.api.logs = lambda pod: "\x1b]0;made up\x07\n"
    crashing = plan(kubernetes__pods={"decode": {"container": {"image": "example.com/crash:1"}}})
    msg = module(server, "deploy", crashing, stuck_timeout=5)["msg"]
    assert "\\x1b]0;made up\\x07" in msg and "\x1b" not in msg


def test_a_log_is_asked_for_by_seconds_and_with_the_container_before_a_restart(module, monkeypatch):
    """Clocks of the nodes may differ from the one of this machine."""
    server, queries = Server(), []
    crash = {"decode": {"container": {"image": "example.com/crash:1"}}}
    crashing = plan(kubernetes__pods=crash)
    module(server, "deploy", crashing, stuck_timeout=5)
    text = server.text
    server.text = lambda method, path, query: (
        queries.append((path.rsplit("/", 2)[1], query)) or text(method, path, query)
    )
    monkeypatch.setattr(pod_logs.time, "time", lambda: 1790000030.5)
    module(server, "info", crashing, logs_since=1790000000)
    asked = [query for pod, query in queries if "-decode-" in pod]
    assert [query.get("previous") for query in asked] == ["true", None] * 2
    assert [query.get("sinceSeconds") for query in asked] == [None, None, "31", "31"]


def test_a_support_case_has_the_log_of_each_container_and_of_the_one_before_a_restart(module):
    server = Server()
    server.api.logs = lambda pod: f"a line of {pod}\nprompt: what is sesame-0815\n"
    module(
        server,
        "deploy",
        plan(kubernetes__pods={"decode": {"container": {"image": "example.com/crash:1"}}}),
        stuck_timeout=5,
    )
    found = module(server, "info", support={"secrets": ["sesame-0815"]})["support"]
    parts = dict(json.loads(zlib.decompress(base64.b64decode(found["parts"]))))
    assert "RuntimeError: no NPU" in parts["demo-0-decode-0-0-decode.previous.log"]
    assert "a line of demo-0-prefill-0-0" in parts["demo-0-prefill-0-0-prefill.log"]
    assert "demo-0-prefill-0-0-prefill.previous.log" not in parts, "it has not restarted"
    assert "sesame" not in str(parts) and found["left_out"]["secrets"] + found["left_out"]["texts"] > 0
    assert "CrashLoopBackOff" in parts["pods.txt"]
    assert found["problem"] == ""
    assert module(Server(), "info", support={})["support"]["problem"] == "namespace serving has no pods of demo"


def test_a_controller_that_makes_no_pods_is_named_early(module):
    server = Server()
    server.controller.servings.serve = lambda serving: None
    done = module(server, "deploy", stuck_timeout=5)
    assert "kthena-controller-manager" in done["msg"]
    assert "waiting does not help decode: its controller makes no pods, prefill: its" in done["msg"]
    assert 10 <= server.seconds < 15


def test_a_router_that_nobody_runs_or_that_does_not_start_is_no_success(module):
    server = Server(deployments=False)
    done = module(server, "deploy", router_timeout=5)
    assert done["failed"]
    assert (
        "Deployment demo-router is not after 5 s (kthena_router_timeout): no controller has observed it" in done["msg"]
    )

    server = Server()
    started = server.controller.started
    server.controller.started = lambda pod: dict(started(pod), **({} if "role" in str(pod) else {"conditions": []}))
    done = module(server, "deploy", router_timeout=5)
    assert "Deployment demo-router is not after 5 s" in done["msg"]
    assert "availableReplicas is 0 of 2" in done["msg"]


@pytest.mark.parametrize(
    ("image", "reason", "text"),
    [
        ("broken", "ImagePullBackOff", 'event Pod/{}: Failed: Back-off pulling image "example.com/broken:1"'),
        ("crash", "CrashLoopBackOff", "RuntimeError: no NPU"),
    ],
)
def test_a_router_that_cannot_start_is_explained_as_soon_as_an_engine(module, image, reason, text):
    server = Server()
    broken = plan(kubernetes__router={"image": f"example.com/{image}:1"})
    done = module(server, "deploy", broken, stuck_timeout=30)
    name = next(name for name in server.names("pods") if "-router-" in name)
    assert f"waiting does not help {name}: {reason}" in done["msg"]
    assert f"  pod {name}: Pending, router waits: {reason}" in done["msg"]
    assert text.format(name) in done["msg"]
    assert server.seconds < 60


def test_a_wait_can_be_gone_on_with(module):
    server = Server()
    done = module(server, "deploy", pause=2)
    assert (done["waiting"], done["failed"]) == (True, False)
    assert "ModelServing/demo" in done["created"]
    before = len(server.written)
    done = module(server, "deploy", resume={})
    assert not done["waiting"]
    assert server.written[before:] == []


def test_what_is_no_longer_planned_goes(module):
    server = deployed(module)
    server.add("configmaps", "serving", {"kind": "ConfigMap", "metadata": {"name": "of-somebody-else"}})
    done = module(server, "deploy", plan(kubernetes__router={"mode": "none"}))
    router = next(name for name in CONFIG_MAPS if "router" in name)
    services = [f"Service/demo-{name}" for name in ("decode", "prefill", "router")]
    assert done["removed"] == [
        "Deployment/demo-router",
        *services,
        "PodDisruptionBudget/demo-router",
        "NetworkPolicy/demo-router",
        f"ConfigMap/{router}",
    ]
    assert server.names("deployments") == []
    assert "of-somebody-else" in server.names("configmaps")


def test_verified_plans_are_recorded_and_read(module):
    server, second = Server(), other_image()
    module(server, "deploy")
    assert not module(server, "verified", check=True)["failed"]
    assert server.names("configmaps") == CONFIG_MAPS
    assert module(server, "verified")["changed"]
    assert not module(server, "verified")["changed"]
    done = module(server, "verified", state="read")
    assert "a rollback is not possible" in done["msg"]
    assert "another plan" in module(server, "verified", second)["msg"]
    module(server, "deploy", second)
    assert module(server, "verified", second, state="read")["previous_plan"] == PLAN
    assert not module(server, "deploy", PLAN)["failed"]
    assert server.images() == [PLAN["kubernetes"]["roles"]["decode"]["image"]]


def test_remove_keeps_configuration_until_pods_are_gone(module):
    server = deployed(module)
    server.controller.orphans = lambda: None
    done = module(server, "remove", timeout=5)
    assert "Pods are still there after 5 s: demo-0-decode-0-0" in done["msg"]
    assert done["changed"] and "ModelServing/demo" in done["removed"], "what went is told though it failed"
    assert SCRIPTS in server.names("configmaps")
    del server.controller.orphans
    done = module(server, "remove")
    assert done["removed"] == [f"ConfigMap/{name}" for name in CONFIG_MAPS]
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
    assert done["objects"] == PLACES
    assert [item["role"] for item in done["pods"]] == ["decode", "prefill"]
    assert done["resolved_plan"]["verify"]["entry"]["url"].startswith("http://10.96.0.")
    assert all(item["address"] in json.dumps(done["resolved_plan"]["verify"]) for item in done["pods"])


@pytest.fixture
def answers(monkeypatch):
    """What engines and router answer: all of them are well."""
    asked = []

    def ask(target, path, body, timeout):
        asked.append(target.url + path)
        bodies = {"/version": '{"version": "0.13.0"}', "/metrics": "vllm:num_requests_running 2.0\n"}
        return Reply(200, bodies.get(path, "{}"), 0.1, "")

    monkeypatch.setattr(status, "ask", ask)
    return asked


def test_the_status_has_a_row_for_each_service(module, answers):
    server = Server()
    done = module(server, "info", query_services=True)
    assert done["findings"] == ["the cluster has no ModelServing/demo in serving. Fix: run site"]
    assert [row["state"] for row in done["services"]] == ["absent"] * 3
    module(server, "deploy")
    del answers[:]
    done = module(server, "info", query_services=True)
    rows = {row["service"]: row for row in done["services"]}
    assert sorted(rows) == ["decode-0", "prefill-0", "router"]
    assert done["findings"] == [text for row in done["services"] for text in row["findings"]] == []
    assert {row["state"] for row in done["services"]} == {"running"}
    assert (done["nodes"], done["devices_held"]) == ({"n1": "16", "n2": "16"}, {})
    box = {"name": "x", "image": "x", "resources": {"limits": {"example.com/npu": "3"}}}
    spec = {"nodeName": "n2", "containers": [box]}
    server.add("pods", "theirs", {"kind": "Pod", "metadata": {"name": "x"}, "spec": spec, "status": {}})
    assert module(server, "info", query_services=True)["devices_held"] == {"n2": 3}
    server.fail = refuse("get", "/api/v1/pods", Refused(403, "Forbidden", "no"))
    seen = module(server, "info", query_services=True)
    assert seen["devices_held"] is None and "pods of all namespaces" in seen["hidden"]
    server.fail = lambda method, path, dry: None
    assert rows["decode-0"]["version"] == "0.13.0"
    assert rows["decode-0"]["requests"]["running"] == 2
    pods = {item["role"]: item["address"] for item in done["pods"]}
    assert f"http://{pods['decode']}:7300/health" in answers
    assert any(url.startswith("http://10.96.0.") and url.endswith(":8000/healthcheck") for url in answers)
    done = module(server, "info", plan(pools__decode__args={"max-num-seqs": 7}), query_services=True)
    texts = {row["service"]: " ".join(row["findings"]) for row in done["services"]}
    assert "deployed with other settings than the inventory" in texts["decode-0"]


def test_the_status_names_a_plan_that_was_not_verified(module, answers):
    server, other = Server(), plan(pools__decode__args={"max-num-seqs": 7})
    assert module(server, "info", query_services=True)["unverified"] == {}, "nothing is applied"
    module(server, "deploy")
    never = {"digest": PLAN["digest"], "release": PLAN["release"], "since": "", "verified": {}}
    assert module(server, "info", query_services=True)["unverified"] == never
    module(server, "verified")
    assert module(server, "info", query_services=True)["unverified"] == {}
    module(server, "deploy", other)
    last = {key: PLAN[key] for key in ("digest", "release")}
    found = module(server, "info", other, query_services=True)["unverified"]
    assert (found["digest"], found["verified"]) == (other["digest"], {**last, "since": ""})
    assert module(server, "info", query_services=True)["unverified"] == {}, (
        "a finding says that another plan is applied"
    )
    server.fail = refuse("get", "/configmaps/demo-verified", Refused(403, "Forbidden", "no"))
    assert module(server, "info", other, query_services=True)["unverified"] == {}


def test_the_status_says_what_a_pod_lacks_when_all_is_down(module, answers):
    server = Server()
    crash = {name: {"container": {"image": "example.com/crash:1"}} for name in ("decode", "prefill")}
    broken = plan(kubernetes__pods=crash)
    module(server, "deploy", broken, stuck_timeout=5)
    done = module(server, "info", broken, query_services=True)
    rows = {row["service"]: row for row in done["services"]}
    assert (rows["decode-0"]["state"], rows["decode-0"]["restarts"]) == ("waiting", 3)
    assert "CrashLoopBackOff" in " ".join(rows["decode-0"]["findings"])
    assert "RuntimeError: no NPU" in " ".join(rows["decode-0"]["log"])


def test_the_status_knows_pods_of_several_nodes_and_of_another_revision(module, answers):
    server = Server(nodes=3)
    wide = plan(pools__decode__data_parallel_size=32)
    well(module(server, "deploy", wide))
    done = module(server, "info", wide, query_services=True)
    assert [row["service"] for row in done["services"] if row["state"] == "running"] == [
        row["service"] for row in done["services"]
    ]
    assert len(done["services"]) == 4
    running = server.store.list("pods", "serving")
    entry, worker = sorted(
        (pod for pod in running if pod["metadata"]["labels"].get("modelserving.volcano.sh/role") == "decode"),
        key=lambda pod: pod["metadata"]["labels"].get("modelserving.volcano.sh/entry") != "true",
    )
    found = status.Pods(None, wide, [worker]).pods
    ranks = [service["name"] for service in wide["services"] if service["kind"] == "decode"]
    assert [found[name] for name in ranks] == [[], [worker]], (
        "a worker is not taken for an entry that is being replaced"
    )
    assert [status.Pods(None, wide, [worker, entry]).pods[name] for name in ranks] == [[entry], [worker]]
    server.controller.servings.manage_rolling_update = lambda *arguments: None  # no pod is replaced
    other = plan(pools__decode__data_parallel_size=32, pools__decode__args={"max-num-seqs": 7})
    module(server, "deploy", other, timeout=5)
    done = module(server, "info", other, query_services=True)
    old = [row["service"] for row in done["services"] if any("runs with other" in text for text in row["findings"])]
    assert old and all(name.startswith("decode") for name in old)


def test_what_is_missing_on_this_machine_is_said(module, monkeypatch, run_module):
    monkeypatch.setattr(arguments, "LIBRARY_ERROR", "Traceback")
    done = run_module("kubernetes_info", plan=PLAN)
    assert "pip install 'kubernetes>=24.2'" in done["msg"]
    monkeypatch.setattr(arguments, "LIBRARY_ERROR", None)
    done = run_module("kubernetes_info", plan={"runtime": "systemd"})
    assert "The plan is for the runtime systemd" in done["msg"]


NATIVE = {"kubernetes__workload": "native", "pools__decode__data_parallel_size": 32}


def native(**changes):
    """A plan without Kthena: prefill is a Deployment, decode a LeaderWorkerSet of two nodes."""
    return plan(**NATIVE, **changes)


def without_kthena(nodes=3):
    """A cluster with LeaderWorkerSet."""
    return Server(crds=False, more=True, nodes=nodes)


def of_role(server, role):
    """Names and uids of a role's pods."""
    pods = [item["metadata"] for item in server.store.list("pods", "serving")]
    return {head["name"]: head["uid"] for head in pods if head["labels"]["app.kubernetes.io/component"] == role}


def test_the_cycle_without_kthena(module, answers):
    """Deploy, again, status, logs, verified, scale, another image, roll back, remove."""
    server, first = without_kthena(4), native()
    done = well(module(server, "deploy", first))
    assert {"Deployment/demo-prefill", "LeaderWorkerSet/demo-decode-nodes"} < set(done["created"])
    assert not module(server, "deploy", first)["changed"]
    found = module(server, "info", first, query_services=True, logs_since=0)
    assert (found["ready"], found["hidden"], found["kthena_version"]) == (True, [], "")
    assert [item["role"] for item in found["pods"]] == ["decode", "decode", "prefill"]
    assert [row["state"] for row in found["services"]] == ["running"] * 4, found["services"]
    assert sorted(found["logs"]) == ["decode-0-0", "decode-0-1", "prefill-0", "router"]
    leader = next(item for item in found["pods"] if item["name"] == "demo-decode-nodes-0")
    assert found["resolved_plan"]["verify"]["decode"][0]["url"] == f"http://{leader['address']}:7300"
    assert module(server, "verified", first)["changed"]

    pods = {role: of_role(server, role) for role in ("prefill", "decode")}
    wide = native(pools__prefill__instances=2)
    assert not module(server, "deploy", wide)["failed"]
    assert pods["prefill"].items() < of_role(server, "prefill").items(), "scaling touched a pod that was there"
    assert of_role(server, "decode") == pods["decode"]

    second = native(image="mirror.example.com/ascend/vllm-ascend:v0.13.0-a3")
    well(module(server, "deploy", second))
    assert server.images() == ["mirror.example.com/ascend/vllm-ascend:v0.13.0-a3"]
    assert not set(of_role(server, "decode").values()) & set(pods["decode"].values())
    assert module(server, "verified", second, state="read")["previous_plan"] == first
    assert not module(server, "deploy", first)["failed"]
    assert server.images() == [first["kubernetes"]["roles"]["decode"]["image"]]
    well(module(server, "remove", first))
    server.sleep(3)
    for plural in ("deployments", "leaderworkersets", "services", "pods", "configmaps", "networkpolicies"):
        assert server.names(plural) == [], plural


def test_a_group_over_several_nodes_restarts_as_a_whole(module):
    """As LeaderWorkerSet's controller does it; the other group is left alone, and the deployment is complete again by itself."""
    server, wide = without_kthena(5), native(pools__decode__instances=2)
    assert not module(server, "deploy", wide)["failed"]
    before = of_role(server, "decode")
    assert sorted(before) == [f"demo-decode-nodes-{name}" for name in ("0", "0-1", "1", "1-1")]
    worker = server.store.get("pods", "serving", "demo-decode-nodes-1-1")
    variables = {item["name"]: item.get("value") for item in worker["spec"]["containers"][0]["env"]}
    assert variables["LWS_LEADER_ADDRESS"] == "demo-decode-nodes-1.demo-decode-nodes.serving"
    assert (variables["LWS_GROUP_SIZE"], variables["LWS_WORKER_INDEX"]) == ("2", "1")
    status = worker["status"]
    status["containerStatuses"][0]["restartCount"] = 1
    server.store.set_status("pods", "serving", "demo-decode-nodes-1-1", dict(status, phase="Running "))
    server.sleep(3)
    assert "decode: 2 pods of 4" in module(server, "info", wide)["missing"]
    assert not module(server, "deploy", wide)["changed"]
    after = of_role(server, "decode")
    assert sorted(after) == sorted(before)
    assert {name for name in after if after[name] != before[name]} == {"demo-decode-nodes-1", "demo-decode-nodes-1-1"}


def failed_as(pod, reason):
    """The status that a kubelet leaves behind."""
    return {"phase": "Failed", "reason": reason, "message": "The node was low on it", "podIP": "10.9.9.9"}


def test_an_evicted_pod_is_a_record_and_no_pod_of_the_deployment(module, answers):
    """It stays with its labels, and its controller has made another; the same for the router."""
    server, first = Server(crds=False), plan(kubernetes__workload="native")
    assert not module(server, "deploy", first)["failed"]
    for name in server.names("pods"):
        if "-decode-" in name or "-router-" in name:
            pod = server.store.get("pods", "serving", name)
            server.store.set_status("pods", "serving", name, failed_as(pod, "Evicted"))
    found = module(server, "info", first)
    assert (found["ready"], found["missing"]) == (False, ["decode: 0 pods of 1"])
    assert "Failed, Evicted: The node was low on it" in found["diagnosis"]
    server.sleep(8)
    found = module(server, "info", first, query_services=True, logs_since=0)
    assert (found["ready"], found["missing"]) == (True, []), found["missing"]
    assert "10.9.9.9" not in json.dumps(found["resolved_plan"])
    assert [row["state"] for row in found["services"]] == ["running"] * 3, found["services"]
    done = module(server, "deploy", first)
    assert (done["failed"], done["changed"]) == (False, False), done


def test_pods_that_their_nodes_refuse_again_and_again_end_the_wait(module, monkeypatch):
    """A device plugin without healthy devices: each pod ends at once, and none ever has a container."""
    server, first = Server(crds=False), plan(kubernetes__workload="native")
    refused = failed_as(None, "UnexpectedAdmissionError")
    good = server.controller.started
    monkeypatch.setattr(
        server.controller, "started", lambda pod: good(pod) if "-router-" in pod["metadata"]["name"] else refused
    )
    done = module(server, "deploy", first, stuck_timeout=20)
    assert "waiting does not help decode: pods end again and again (UnexpectedAdmissionError)" in done["msg"], done[
        "msg"
    ]
    assert "Failed, UnexpectedAdmissionError: The node was low on it" in done["msg"]


def test_an_update_without_kthena_needs_no_more_devices_and_keeps_one_instance(module):
    server, first = without_kthena(), plan(kubernetes__workload="native", pools__decode__instances=2)
    module(server, "deploy", first)
    seen, step = [], server.controller.step

    def look():
        step()
        pods = [item for item in server.store.list("pods", "serving") if "decode" in item["metadata"]["name"]]
        mine = [item for item in pods if "deletionTimestamp" not in item["metadata"]]
        seen.append((len(mine), len([item for item in mine if readiness.is_ready(item)])))

    server.controller.step = look
    image = {"image": "mirror.example.com/ascend/vllm-ascend:v0.13.0-a3"}
    module(server, "deploy", plan(kubernetes__workload="native", pools__decode__instances=2, **image))
    assert max(count for count, dummy in seen) == 2
    assert min(ready for dummy, ready in seen) == 1


def test_a_broken_update_without_kthena_is_explained_and_taken_back(module):
    server, first = without_kthena(), native()
    module(server, "deploy", first)
    crash = {"decode": {"container": {"image": "example.com/crash:1"}}}
    done = module(server, "deploy", native(kubernetes__pods=crash), stuck_timeout=10)
    assert "waiting does not help demo-decode-nodes-0: restarted 3 times" in done["msg"]
    assert server.seconds < 200, "it waited for the timeout"
    assert "The engines of serving/demo did not become ready." in done["msg"]
    for text in ("CrashLoopBackOff", "last lines of decode", "RuntimeError: no NPU"):
        assert text in done["msg"]
    well(module(server, "deploy", first))
    server = without_kthena()
    server.controller.create_pod = lambda namespace, pod: None
    done = module(server, "deploy", first, stuck_timeout=2)
    assert "kthena-controller-manager" not in done["msg"]


def test_a_cluster_without_leader_worker_set_is_told_how_to_get_it(module):
    server = Server(crds=False)
    done = module(server, "deploy", native(), check_nodes=False)
    assert "[K8S-LWS]" in done["msg"] and "kubernetes-sigs/lws" in done["msg"]
    assert server.written == []
    well(module(server, "deploy", plan(kubernetes__workload="native")))


def test_engines_of_another_kind_have_to_go_first(module):
    server = deployed(module, more=True)
    done = module(server, "deploy", plan(kubernetes__workload="native"))
    assert "ModelServing/demo: the deployment's engines are of this kind" in done["msg"]
    server.controller.orphans = lambda: None
    done = module(server, "remove", plan(kubernetes__workload="native"), timeout=5)
    assert "Pods are still there after 5 s: demo-0-decode-0-0" in done["msg"]
    server = without_kthena()
    module(server, "deploy", native())
    assert (
        "LeaderWorkerSet/demo-decode-nodes: the dep"
        in module(server, "deploy", plan(**{**NATIVE, "pools__decode__data_parallel_size": 4}))["msg"]
    )


def test_the_guides_role_is_enough_without_kthena(module):
    server = without_kthena()
    server.api.rights = guide_role()
    well(module(server, "deploy", native()))
    server.api.rights = [rule for rule in guide_role() if "leaderworkersets" not in rule["resources"]]
    done = module(server, "deploy", native())
    assert "get, list, create, patch, delete leaderworkersets" in done["msg"]
    server.api.rights = yaml.safe_load(done["msg"][done["msg"].index("apiVersion: rbac") :])["rules"]
    assert not module(server, "remove", native())["failed"]


def test_both_kinds_of_engines_need_the_same():
    kthena = plan(pools__decode__data_parallel_size=32, pools__prefill__instances=3)
    assert quota.planned(kthena) == quota.planned(native(pools__prefill__instances=3))
    names = sorted(item["metadata"]["name"] for item in pods(native()))
    assert names == [
        f"demo-{part}-check" for part in ("decode-nodes-entry", "decode-nodes-worker", "prefill", "router")
    ]


def away(server, when, seconds=30):
    """The server does not answer for a while after the first request that ``when`` is true of; its controllers go on."""
    since = []

    def fail(method, path, dry):
        if not since and when(method, path, dry):
            since.append(server.seconds)
        if since and server.seconds - since[0] < seconds:
            raise Unreachable("https://x does not answer")

    server.fail = fail
    return since


AWAY = {
    "dry run": lambda method, path, dry: method == "patch" and dry,
    "first write": lambda method, path, dry: method == "patch" and not dry,
    "write of the engines": lambda method, path, dry: (
        path.endswith("modelservings/demo") and method == "patch" and not dry
    ),
    "wait for the router": lambda method, path, dry: path.endswith("deployments/demo-router") and method == "get",
}


@pytest.mark.parametrize("moment", AWAY)
def test_half_a_minute_without_the_server_costs_time_and_nothing_else(module, moment):
    server = Server()
    if moment == "wait for the router":
        module(server, "deploy")
    since = away(server, AWAY[moment])
    done = module(server, "deploy", other_image())
    assert since, "the moment did not come"
    assert not done["failed"], done["msg"]
    assert server.images() == [other_image()["kubernetes"]["roles"]["decode"]["image"]]


def test_what_a_server_that_stays_away_leaves_is_named(module):
    server = Server()
    away(
        server, lambda method, path, dry: path.endswith("services/demo-prefill") and method == "patch" and not dry, 1000
    )
    done = module(server, "deploy")
    written = [f"ConfigMap/{item['metadata']['name']}" for item in PLAN["objects"] if item["kind"] == "ConfigMap"]
    left = ", ".join([*written, "Service/demo-decode", "Service/demo-prefill"])
    assert f"{left} could not be restored: https://x does not answer. Run site" in done["msg"]
    assert done["changed"]
    server = Server()
    away(server, lambda method, path, dry: path.endswith("modelservings/demo") and bool(server.names("pods")), 1000)
    done = module(server, "deploy", timeout=100)
    assert "https://x does not answer\nAll objects are applied. After" in done["msg"]
    assert done["changed"]


def test_the_next_slice_and_a_removal_outlast_a_restart_of_the_server_too(module):
    server = Server()
    assert module(server, "deploy", pause=2)["waiting"]
    away(server, lambda method, path, dry: True)
    well(module(server, "deploy", resume={}))
    away(server, lambda method, path, dry: method == "delete")
    assert not module(server, "remove")["failed"]
    assert server.names("modelservings") == server.names("configmaps") == []


def test_a_server_that_never_answered_is_given_up_soon(module):
    server = Server()
    away(server, lambda method, path, dry: True, 1000)
    assert "does not answer" in module(server, "info")["msg"]
    assert server.seconds < 5


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ({"type": "PodReadyToStartContainers"}, "no volumes or no network"),  # a folder that a node lacks, for example
        ({"type": "PodScheduled", "reason": "Unschedulable", "message": "0/2 nodes"}, "Unschedulable: 0/2 nodes"),
        (None, "no scheduler"),
    ],
)
def test_a_pod_that_stays_pending_gets_more_time_and_then_ends_the_wait(module, condition, text):
    server = Server()
    waiting = {"name": "decode", "state": {"waiting": {"reason": "ContainerCreating"}}}
    held = [dict(condition or {}, status="False")]
    server.controller.started = lambda pod: {"phase": "Pending", "conditions": held, "containerStatuses": [waiting]}
    if not condition:
        server.controller.schedule = lambda pod: False
    done = module(server, "deploy", stuck_timeout=6)
    assert "waiting does not help demo-0-decode-0-0: " in done["msg"] and text in done["msg"]
    assert 30 <= server.seconds < 45


def test_a_cluster_without_volcano_is_a_warning(module):
    """Another scheduler may have its name; its own CRD tells the version."""
    server = Server()
    crd = server.store.get("customresourcedefinitions", "", "podgroups.scheduling.volcano.sh")
    assert module(server, "info")["volcano_version"] == ""
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for field, version in (("networkTopology", "v1.11.0"), ("subGroupPolicy", "v1.14.0")):
        fields.setdefault("properties", {})[field] = {}
        server.store.remove("customresourcedefinitions", "", "podgroups.scheduling.volcano.sh")
        server.store.create("customresourcedefinitions", "", crd)
        assert module(server, "info")["volcano_version"] == f"{version} or later"
    del server.api.resources["scheduling.volcano.sh/v1beta1"]
    done = module(server, "deploy")
    assert not done["failed"] and "The cluster has no Volcano" in done["warnings"][0]
    assert not module(server, "deploy", plan(kubernetes__scheduler="own"))["warnings"]


KEYED = {"secrets": {"api_key": VALUE}, "kubernetes__scheduler": "own"}


def marks(server):
    """The marks of the Secret in the engines' pods."""
    pods = [pod for pod in server.store.list("pods") if "-router-" not in pod["metadata"]["name"]]
    return {pod["metadata"].get("annotations", {}).get("ascend.inference/secrets") for pod in pods}


def test_a_changed_secret_rolls_the_pods_that_read_it_and_back(module):
    server, planned = Server(), plan(**KEYED)
    module(server, "deploy", planned)
    (first,) = marks(server)
    secret = server.store.get("secrets", "serving", "demo-secrets")["data"]
    assert len(first) == 16 and len(base64.b64decode(secret["mark-key"])) == 32, "whoever reads pods could try values"
    assert not module(server, "deploy", planned)["changed"]
    before = len(server.written)
    done = module(server, "deploy", planned, secrets={"api_key": "another"}, check=True)
    assert "The values of Secret/demo-secrets change, so all pods that read them are replaced" in done["warnings"][0]
    done = module(server, "deploy", planned, secrets={"api_key": "another"})
    assert "Nothing was changed. Fix: run it again with -e inference_allow_pause=true" in done["msg"]
    assert len(server.written) == before
    done = module(server, "deploy", planned, secrets={"api_key": "another"}, allow_pause=True)
    assert {"Secret/demo-secrets", "ModelServing/demo"} <= set(done["updated"]), done["msg"]
    (second,) = marks(server)
    assert second != first
    assert not module(server, "deploy", planned, secrets={"api_key": "another"})["changed"]
    assert not module(server, "deploy", planned, allow_pause=True)["failed"]
    assert marks(server) == {first}


def test_a_secret_of_an_older_version_rolls_nothing_until_its_values_change(module):
    server, planned = Server(), plan(**KEYED)
    module(server, "deploy", planned)
    thing = server.store.get("secrets", "serving", "demo-secrets")
    thing["data"].pop("mark-key")
    server.store.replace("secrets", "serving", thing)
    serving = server.store.get("modelservings", "serving", "demo")
    for role in serving["spec"]["template"]["roles"]:
        role["entryTemplate"]["metadata"].pop("annotations")
    server.store.replace("modelservings", "serving", serving)
    router = server.store.get("deployments", "serving", "demo-router")
    router["spec"]["template"]["metadata"].pop("annotations", None)
    server.store.replace("deployments", "serving", router)
    assert module(server, "deploy", planned)["updated"] == []


OPEN = {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "capabilities": {"add": None}}}


def test_the_selector_of_a_deployment_stays_as_it_was_made(module):
    """The server lets nobody change it; one of an older version of the collection had a label more."""
    server = Server()
    older = plan()
    router = older["objects"][-1]
    mine = router["spec"]["selector"]["matchLabels"]
    mine["app.kubernetes.io/managed-by"] = "ascend.inference"
    module(server, "deploy", older)
    well(module(server, "deploy", other_image()))
    live = server.store.get("deployments", "serving", "demo-router")
    assert live["spec"]["selector"]["matchLabels"] == mine
    assert live["metadata"]["labels"]["app.kubernetes.io/version"] == "0.13.0"


CLOSED = {"host_network": False, "driver_mounts": False, "model_claim": "models"}


@pytest.mark.parametrize(
    ("level", "settings", "says"),
    [
        ("privileged", {}, ""),
        ("baseline", CLOSED, ""),
        ("restricted", {**CLOSED, "pods": {name: {"container": OPEN} for name in ("prefill", "decode")}}, ""),
        (
            "baseline",
            {},
            "namespace serving: it enforces the Pod Security Standard baseline, and pods of decode and prefill have hostNetwork, "
            "hostPath volumes (ascend-install-info, hccn-conf, hccn-tool, model)",
        ),
        (
            "restricted",
            CLOSED,
            "restricted, and pods of decode and prefill have the user root, capabilities that are kept",
        ),
    ],
)
def test_pods_keep_the_standard_of_their_namespace_or_are_refused_before(module, level, settings, says):
    """The server judges them as well: what is not refused before is accepted, and the other way round."""
    server = Server()
    space = server.store.get("namespaces", "", "serving")
    space["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": level}
    server.store.replace("namespaces", "", space)
    wanted = plan(**{f"kubernetes__{key}": settings[key] for key in settings})
    done = module(server, "deploy", wanted)
    assert done["failed"] == bool(says), done.get("msg")
    assert says in done["msg"] if says else server.names("pods")
    if says:
        assert "kubectl label --overwrite namespace serving" in done["msg"]
        assert ("enforce=privileged; or set host_network: false" in done["msg"]) == (settings is not CLOSED)
        assert server.written == []

        def hide(method, path, dry):
            if path.endswith("namespaces/serving"):
                raise Refused(403, "Forbidden", "namespaces is forbidden")

        server.fail = hide
        assert f'violates PodSecurity "{level}:latest"' in module(server, "deploy", wanted)["msg"]


def test_a_restart_replaces_the_pods_of_roles_and_later_runs_keep_it(module):
    server, planned = Server(nodes=3), plan(pools__decode__instances=2)
    done = module(server, "deploy", planned, restart=["decode-0"])
    assert "The cluster does not run this plan, so nothing was restarted. Fix: run site" in done["msg"]
    module(server, "deploy", planned)
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in server.store.list("pods")}
    done = module(server, "deploy", planned, restart=[])
    assert "role prefill has one instance, which serves nobody while it restarts. Nothing was changed." in done["msg"]
    done = module(server, "deploy", planned, restart=["decode-0"])
    assert done["updated"] == ["ModelServing/demo"], done["msg"]
    server.sleep(5)
    after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in server.store.list("pods")}
    kept = [name for name in before if before[name] == after.get(name)]
    assert len(kept) == len(before) - 2 and not any("-decode-" in name for name in kept)
    assert not module(server, "deploy", planned)["changed"], "the next run would restart it again"
    done = module(server, "deploy", planned, restart=["prefill-0", "router"], allow_pause=True)
    assert done["updated"] == ["ModelServing/demo", "Deployment/demo-router"]


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (("modelservings", "serving", "demo"), "ModelServing/demo"),
        (("namespaces", "", "serving"), "Namespace/serving"),
        (
            ("customresourcedefinitions", "", "modelservings.workload.serving.volcano.sh"),
            "CustomResourceDefinition/modelservings.workload.serving.volcano.sh",
        ),
    ],
)
def test_what_is_being_removed_is_waited_for_and_not_written(module, key, place):
    """An apply would be accepted, and the object go all the same; also with its namespace, or with all of its kind."""
    server = deployed(module)
    server.store.objects[key]["metadata"]["deletionTimestamp"] = "2026-11-23T10:00:00Z"
    server.controller.leave = lambda serving, memory: None
    written = len(server.written)
    done = module(server, "deploy")
    assert f"1. {place}: it is being removed" in done["msg"] and "\n2." not in done["msg"]
    assert len(server.written) == written


def test_a_kind_that_the_cluster_has_in_another_version_is_named(module):
    server = Server()
    crd = server.store.objects["customresourcedefinitions", "", "modelservings.workload.serving.volcano.sh"]
    crd["spec"]["versions"][0]["name"] = "v2"
    assert "the cluster serves it as v2, and the plan is for v1alpha1" in module(server, "deploy")["msg"]
    assert server.written == []


@pytest.mark.parametrize(
    ("since", "text"),
    [
        (lambda server, *call: len(server.written) > 1, "{} could not be restored: Renew its token"),
        (lambda server, *call: server.seconds > 1, "Renew its token\nAll objects are applied."),
        (lambda server, *call: call[0] == "delete", "Renew its token\nAll objects are applied."),
    ],
)
def test_credentials_that_expire_leave_no_doubt_about_what_was_done(module, since, text):
    """Between two writes, in the wait, and at the end, when what is no longer planned goes."""
    server, planned = Server(), plan(kubernetes__router={"mode": "none"})
    server.add(
        "configmaps", "serving", {"kind": "ConfigMap", "metadata": {**PLAN["objects"][0]["metadata"], "name": "old"}}
    )

    def fail(method, path, dry):
        if since(server, method):
            raise Refused(401, "Unauthorized", "Renew its token")

    server.fail = fail
    done = module(server, "deploy", planned)
    assert done["failed"] and done["changed"]
    names = sorted(item["metadata"]["name"] for item in planned["objects"] if item["kind"] == "ConfigMap")
    assert text.format(", ".join(f"ConfigMap/{name}" for name in names[:2])) in done["msg"]
    server.fail = lambda method, path, dry: None
    assert not module(server, "deploy", planned)["failed"]


def test_what_a_controller_made_with_copied_labels_goes_with_its_owner(module):
    server = deployed(module)
    copied = {"labels": server.store.get("services", "serving", "demo-router")["metadata"]["labels"]}
    owner = {"ownerReferences": [{"kind": "ModelServing", "name": "demo", "controller": True}]}
    server.add("services", "serving", {"kind": "Service", "metadata": {"name": "made", **copied, **owner}, "spec": {}})
    server.add("services", "serving", {"kind": "Service", "metadata": {"name": "left", **copied}, "spec": {}})
    assert module(server, "deploy")["removed"] == ["Service/left"]


def test_instances_with_the_network_of_their_node_need_nodes_of_their_own(module):
    """All pods of a role have the same ports, so the scheduler puts no two of them on one node."""
    server = Server()
    done = module(server, "deploy", plan(pools__decode__instances=3))
    assert "a pod of decode needs" in done["msg"] and "as the ports of a role's pods are the same" in done["msg"]
    assert server.written == []
    for settings in (
        {"kubernetes__host_network": False},
        {"kubernetes__workload": "native", "kubernetes__host_network": False},
    ):
        well(module(Server(), "deploy", plan(pools__decode__instances=3, **settings)))
    server.add("nodes", "", {"kind": "Node", "metadata": {"name": "n3"}, "status": NODES})
    assert not module(server, "deploy", plan(pools__decode__instances=3))["failed"]


@pytest.mark.parametrize("nodes", [0, 2])
def test_nodes_are_not_looked_at_if_that_is_not_wanted(module, nodes):
    """For clusters that add nodes when pods wait."""
    server, planned, asked = Server(nodes=nodes), plan(pools__decode__instances=3), []
    server.fail = lambda method, path, dry: asked.append(path)
    done = well(module(server, "deploy", planned, check=True, check_nodes=False))
    assert not [warning for warning in done["warnings"] if "nodes" in warning or "devices" in warning]
    assert "/api/v1/pods" not in asked, "what others hold was counted"
    otherwise = module(Server(nodes=nodes), "deploy", planned, check=True)
    assert otherwise["failed"] if nodes else "Cannot list nodes" in " ".join(otherwise["warnings"])


def kubectl(server, method, plural, name, body):
    """Create or change an object as somebody with kubectl does: the server notes who has set which field."""
    version = {"deployments": "apps/v1", "configmaps": "v1", "services": "v1"}[plural]
    path = kinds.path_of(
        {"deployments": "Deployment", "configmaps": "ConfigMap", "services": "Service"}[plural], "serving"
    )
    if method == "patch":
        server.request("patch", f"{path}/{name}", body=body, form="application/merge-patch+json")
    else:
        kind = {"deployments": "Deployment", "configmaps": "ConfigMap", "services": "Service"}[plural]
        server.request("post", path, body={"apiVersion": version, "kind": kind, "metadata": {"name": name}, **body})


def test_what_kubectl_made_is_taken_over_with_all_that_it_said(module):
    """Adopted, its fields are written over without a word about conflicts; when the apply fails they come back."""
    server = Server()
    ports = {"spec": {"selector": {"a": "b"}, "ports": [{"name": "http", "port": 9, "targetPort": 9}]}}
    kubectl(server, "post", "services", "demo-router", ports)
    kubectl(server, "post", "configmaps", "demo-verified", {"data": {"verified.json": "theirs"}})
    before = server.store.get("services", "serving", "demo-router")["spec"]
    server.fail = router_fails()
    assert "have their previous content again" in module(server, "deploy", adopt=True)["msg"]
    found = server.store.get("services", "serving", "demo-router")
    assert found["spec"] == before and not found["metadata"].get("labels")
    server.fail = lambda method, path, dry: None
    assert not module(server, "deploy", adopt=True)["failed"]
    spec = server.store.get("services", "serving", "demo-router")["spec"]
    assert spec["selector"]["app.kubernetes.io/part-of"] == "demo"
    assert module(server, "verified", adopt=True)["changed"]
    assert not module(server, "deploy")["changed"], "it is ours now"


def test_a_field_that_somebody_changed_is_named_with_both_ways_out(module):
    """kubectl scale and kubectl edit own what they set, and nothing is written over them unless that is asked for."""
    server = deployed(module)
    kubectl(server, "patch", "deployments", "demo-router", {"spec": {"replicas": 3}})
    written = len(server.written)
    done = module(server, "deploy")
    assert "Deployment/demo-router, so nothing was applied" in done["msg"]
    assert ".spec.replicas" in done["msg"] and "kthena_force_conflicts" in done["msg"] and '"unknown"' in done["msg"]
    assert len(server.written) == written
    assert module(server, "deploy", force_conflicts=True)["updated"] == ["Deployment/demo-router"]
    module(server, "verified")
    kubectl(server, "patch", "configmaps", "demo-verified", {"data": {"verified.json": "{}"}})
    done = module(server, "verified")
    assert done["failed"] and "kthena_force_conflicts" in done["msg"]
    assert module(server, "verified", force_conflicts=True)["changed"]


def test_a_router_moves_into_the_network_of_its_node_and_back(module):
    """The server keeps the defaults of a field that nobody set, so the strategy has to fit them in both directions."""
    server = Server(nodes=3)
    on_node = plan(kubernetes__router={"host_network": True})
    for planned in (PLAN, on_node, PLAN):
        assert not module(server, "deploy", planned)["failed"]
        strategy = server.store.get("deployments", "serving", "demo-router")["spec"]["strategy"]
        least = 0 if planned is on_node else "25%"
        assert (strategy["type"], strategy["rollingUpdate"]["maxSurge"]) == ("RollingUpdate", least)


def test_what_waits_for_its_finalizers_is_not_removed_again(module):
    server = deployed(module)
    labels = server.store.get("services", "serving", "demo-router")["metadata"]["labels"]
    head = {"name": "left", "labels": labels, "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]}
    server.add("services", "serving", {"kind": "Service", "metadata": head, "spec": {}})
    assert module(server, "deploy")["removed"] == ["Service/left"]
    assert not module(server, "deploy")["changed"]


@pytest.mark.parametrize("workload", ["kthena", "native"])
def test_a_node_that_dies_is_named_and_what_it_ran_comes_back(module, workload):
    """Kthena's pod has a fixed name, so it is made again when the node is back or gone; a Deployment's comes at once."""
    server = Server(nodes=4)
    planned = plan(kubernetes__workload=workload)
    module(server, "deploy", planned)
    pod = next(item for item in server.store.list("pods") if "decode" in item["metadata"]["name"])
    dead = pod["spec"]["nodeName"]
    down = {"allocatable": NODES["allocatable"], "conditions": [{"type": "Ready", "status": "Unknown"}]}
    server.store.set_status("nodes", "", dead, down)
    server.sleep(6)
    found = module(server, "info", planned)
    assert not found["ready"] and f"its node does not report: kubectl describe node {dead}" in found["diagnosis"]
    server.sleep(40)
    found = module(server, "info", planned)
    assert found["ready"] == (workload == "native")
    if workload == "kthena":
        done = module(server, "deploy", planned, timeout=20)
        assert f"kubectl delete node {dead}" in done["msg"], done["msg"]
    server.store.remove("nodes", "", dead)
    server.sleep(20)
    assert module(server, "info", planned)["ready"]
    assert not module(server, "deploy", planned)["failed"]
    assert not module(server, "remove", planned)["failed"]


def test_a_busy_server_is_asked_again_when_it_says(module):
    """API priority and fairness: 429 with Retry-After, of reads, questions, dry runs and writes alike."""
    server = Server()
    server.api.busy = 3
    assert not module(server, "info")["failed"]
    assert server.seconds == 3 * fake_api_server.PAUSE, "asked before the time, or later than needed"
    waits = []

    def fail(method, path, dry):
        if method == "patch" and path.endswith("modelservings/demo") and len(waits) < 4 and dry != (len(waits) > 1):
            waits.append(server.seconds)
            raise Refused(429, "TooManyRequests", "Too many requests, please try again later.", 7)

    server.fail = fail
    well(module(server, "deploy"))
    assert [later - first for first, later in (waits[:2], waits[2:])] == [7, 7]


def test_a_server_that_asks_for_an_hour_is_not_waited_for(module):
    server = Server()
    server.fail = refuse("get", "namespaces/serving", Refused(503, "Unavailable", "later", 3600))
    assert "later" in module(server, "info")["msg"]
    assert server.seconds <= 3 * cluster.AWAY


@pytest.mark.parametrize(("minor", "has"), [(25, False), (27, True), (36, True)])
def test_a_server_that_does_not_know_the_policy_of_evictions_gets_budgets_without_it(module, minor, has):
    server = Server(nodes=4)
    server.api.minor = minor
    done = well(module(server, "deploy", plan(pools__decode__instances=2)))
    found = server.store.list("poddisruptionbudgets", "serving")
    assert len(found) == 2 and {"unhealthyPodEvictionPolicy" in item["spec"] for item in found} == {has}
    assert ["older than Kubernetes 1.27" in text for text in done["warnings"]].count(True) == (not has)
    assert not module(server, "deploy", plan(pools__decode__instances=2))["changed"]
    server.fail = refuse("get", "version", Refused(403, "Forbidden", "no"))
    assert not module(Server(), "deploy")["failed"]


def test_what_admission_refuses_is_named_before_anything_is_written(module):
    """A service account or a priority class that is not there: no plan can know it, and controllers only log it."""
    for settings, text in (
        ({"kubernetes__service_account": "nobody-here"}, 'serviceaccount "nobody-here" not found'),
        (
            {"kubernetes__pods": {"decode": {"spec": {"priorityClassName": "nobody-here"}}}},
            "no PriorityClass with name nobody-here was found",
        ),
    ):
        server = Server()
        done = module(server, "deploy", plan(**settings))
        assert done["failed"] and text in done["msg"]
        assert server.written == []
        server.add("serviceaccounts", "serving", {"kind": "ServiceAccount", "metadata": {"name": "nobody-here"}})
        server.add("priorityclasses", "", {"kind": "PriorityClass", "metadata": {"name": "nobody-here"}})
        assert not module(server, "deploy", plan(**settings))["failed"]


@pytest.mark.parametrize(
    ("settings", "least"),
    [
        ({"router": {"mode": "kthena_router"}}, 3),
        ({"separate_roles": True, "host_network": False}, 2),
        ({"separate_roles": True, "host_network": False, "workload": "native"}, 2),
        ({"separate_roles": True, "workload": "native"}, 3),
    ],
)
def test_roles_that_share_no_node_are_counted_so(module, settings, least):
    """The anti-affinity between roles: with too few nodes the last pods would stay Pending."""
    changes = {f"kubernetes__{name}": settings[name] for name in settings}
    planned = plan(pools__decode__instances=2, pools__decode__ports={}, pools__prefill__ports={}, **changes)
    done = module(Server(nodes=least - 1), "deploy", planned)
    assert "a pod of prefill needs 4 on one node" in done["msg"]
    assert "as it shares no node with a pod of decode. [K8S-NODES]" in done["msg"]
    assert not module(Server(nodes=least), "deploy", planned, check=True)["failed"]
    done = module(Server(nodes=3), "deploy", planned)  # a scheduler that spreads pods may need one more
    assert not done["failed"], done["msg"]


BEYOND = {  # what the guide names beside the Role
    ("create", "", "pods", True),
    ("get", "apiextensions.k8s.io", "customresourcedefinitions", False),
    ("get", "", "namespaces", False),
    ("list", "", "nodes", False),
    ("list", "", "pods", False),
    ("list", "apps", "deployments", False),
}


def test_every_call_that_the_server_saw_is_in_the_role_of_the_guide(module, answers):
    """Of a user who may do everything, with each setting that has objects of its own, and the questions of a failure."""
    seen = set()
    ports = {"pools__decode__ports": {}, "pools__prefill__ports": {}}
    scaled = {"roles": {"decode": {"max": 2, "metrics": {"vllm:num_requests_waiting": "5"}}}}
    lives = [
        (Server(more=True), with_secret(kubernetes__pod_monitor="auto")),
        (Server(), plan(secrets={"api_key": VALUE}, kubernetes__secrets={"existing": "of-vault"})),
        (Server(nodes=4), plan(kubernetes__router={"mode": "kthena_router"}, kubernetes__autoscaling=scaled, **ports)),
        (without_kthena(4), native()),
    ]
    for server, planned in lives:
        server.api.seen = seen
        theirs = {"kind": "Secret", "metadata": {"name": "of-vault"}, "data": {"api_key": "eA=="}}
        server.add("secrets", "serving", theirs)
        well(module(server, "deploy", planned))
        assert not module(server, "info", planned, query_services=True, logs_since=0)["failed"]
        assert not module(server, "verified", planned)["failed"]
        module(server, "verified", planned, state="read")
        assert not module(server, "deploy", planned, pause=1, resume={})["failed"]
        broken = copy.deepcopy(planned)
        for item in broken["objects"]:
            for *_unused, template, _count in workloads.templates(item):
                template["spec"]["containers"][0]["image"] = "example.com/crash:1"
        for role in broken["kubernetes"]["roles"].values():
            role["image"] = "example.com/crash:1"
        assert module(server, "deploy", broken, stuck_timeout=3)["failed"]
        assert not module(server, "remove", planned)["failed"]
    listed = {
        (verb, group, resource, True)
        for rule in guide_role()
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    seen = {call for call in seen if not call[2].startswith("selfsubject")}  # which every user may
    assert seen - listed == BEYOND
    assert {(call[1], call[2]) for call in listed} <= {(call[1], call[2]) for call in seen}, "nobody asks for this"


def meanwhile(server, when, then):
    """``then`` happens once, before the first request that ``when`` is true of."""
    done = []

    def fail(method, path, dry):
        if not done and when(method, path, dry):
            done.append(path)
            then()

    server.fail = fail
    return done


def waiting_for(server, end="modelservings/demo"):
    """A test for the requests of a wait: for the engines, or for the router."""
    written = len(server.written)
    return lambda method, path, dry: (
        method == "get" and path.endswith("/" + end) and ("patch", "demo") in server.written[written:]
    )


@pytest.mark.parametrize("workload", ["kthena", "native"])
def test_a_node_that_dies_in_a_rolling_update_ends_the_wait_where_no_pod_can_follow(module, workload):
    """Kthena's pod keeps its name, so nothing comes until the node is back or gone; a Deployment's pod comes elsewhere."""
    server = Server(nodes=4)
    module(server, "deploy", plan(kubernetes__workload=workload))
    pod = next(item for item in server.store.list("pods") if "decode" in item["metadata"]["name"])
    dead = pod["spec"]["nodeName"]
    down = {"allocatable": NODES["allocatable"], "conditions": [{"type": "Ready", "status": "Unknown"}]}
    happened = meanwhile(
        server,
        lambda method, path, dry: method == "patch" and path.endswith("deployments/demo-router") and not dry,
        lambda: server.store.set_status("nodes", "", dead, down),
    )
    begin, second = server.seconds, other_image(kubernetes__workload=workload)
    done = module(server, "deploy", second)
    assert happened
    if workload == "kthena":
        name = pod["metadata"]["name"]
        assert f"waiting does not help {name}: its node does not report, and it stays" in done["msg"]
        assert f"kubectl delete node {dead}" in done["msg"]
        assert 5 * 60 <= server.seconds - begin < 6 * 60, "a node that restarts is back before"
        server.store.remove("nodes", "", dead)
        done = module(server, "deploy", second)
    assert not done["failed"], done["msg"]
    assert server.images() == [second["kubernetes"]["roles"]["decode"]["image"]]


def test_two_runs_at_once_do_not_wait_for_each_other(module):
    """The second plan replaces the first: its run ends well, and the first one says at once why it cannot."""
    server, second = Server(), other_image()
    (serving,) = [item for item in objects(second) if item["kind"] == "ModelServing"]
    path, query = kinds.path_of("ModelServing", "serving", "demo"), {"fieldManager": cluster.FIELD_MANAGER}
    apply = ("patch", path, query, serving, "application/apply-patch+yaml")
    happened = meanwhile(server, waiting_for(server), lambda: server.request(*apply))
    done = module(server, "deploy")
    assert happened and server.seconds < 10
    assert "ModelServing/demo got another plan while this run waited" in done["msg"] and done["changed"]
    assert not module(server, "deploy", second)["failed"]
    assert not module(server, "deploy", second)["changed"]


def test_a_run_in_the_middle_of_another_does_not_take_its_scripts(module):
    """The second run sees ConfigMaps that nothing names yet, and removes them; the first one, which ends last, has all it needs."""
    server, second = Server(), plan(pools__decode__args={"max-num-seqs": 7}, pools__prefill__args={"max-num-seqs": 7})
    ends = []
    meanwhile(
        server,
        lambda method, path, dry: method == "patch" and path.endswith("services/demo-prefill") and not dry,
        lambda: ends.append(module(server, "deploy", second)),
    )
    done = module(server, "deploy")
    assert not ends[0]["failed"] and f"ConfigMap/{SCRIPTS}" in ends[0]["removed"]
    assert not done["failed"], done["msg"]
    again = module(server, "deploy")
    assert again["created"] == again["updated"] == []
    assert server.names("configmaps") == CONFIG_MAPS


def test_a_run_whose_engines_got_another_plan_at_the_router_removes_nothing(module):
    server, second = Server(), plan(pools__decode__args={"max-num-seqs": 7})
    module(server, "deploy", plan(pools__decode__args={"max-num-seqs": 9}))
    meanwhile(server, waiting_for(server, "deployments/demo-router"), lambda: apply_all(server, second))
    done = module(server, "deploy")
    assert "got another plan" in done["msg"] and done["removed"] == []


def test_engines_that_somebody_removes_meanwhile_are_not_waited_for(module):
    server = Server()
    gone = meanwhile(server, waiting_for(server), lambda: server.store.remove("modelservings", "serving", "demo"))
    done = module(server, "deploy")
    assert gone and "ModelServing/demo was removed by somebody while this run waited for it" in done["msg"]
    assert server.seconds < 10
    assert not module(server, "deploy")["failed"]


def test_a_quota_of_objects_of_another_kind_leaves_nothing_behind(module):
    """Each ConfigMap alone fits in its dry run; the last one does not when they are written."""
    server = Server()
    server.add("resourcequotas", "serving", dict(QUOTA, spec={"hard": {"configmaps": "2"}}))
    done = module(server, "deploy")
    assert "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2" in done["msg"]
    assert "have their previous content again" in done["msg"] and server.names("configmaps") == []


def apply_all(server, planned):
    """What another run has applied."""
    for item in objects(planned):
        if item["kind"] != "PodMonitor":
            path, query = (
                kinds.path_of(item["kind"], "serving", item["metadata"]["name"]),
                {"fieldManager": "ascend-inference"},
            )
            server.request("patch", path, query, item, "application/apply-patch+yaml")


@pytest.mark.parametrize("is_first", [True, False])
def test_an_apply_that_fails_takes_nothing_back_from_another_run(module, is_first):
    """It would remove, or set back, what that run has applied and waits for."""
    server, second = Server(), other_image()
    if not is_first:
        module(server, "deploy", plan(pools__decode__args={"max-num-seqs": 7}, kubernetes__router={"replicas": 3}))

    def other_run():
        server.fail = lambda method, path, dry: None
        apply_all(server, second)

    server.fail = refuse("patch", "deployments/demo-router", Refused(422, "Invalid", "no"), False, other_run)
    done = module(server, "deploy")
    assert "Deployment/demo-router was not applied: no\nNothing was taken back, because another run" in done["msg"]
    assert done["changed"]
    done = module(server, "deploy", second)
    assert not done["failed"] and not done["created"] and not done["updated"], "the other run's objects were touched"


def test_a_user_of_one_namespace_is_told_what_the_cluster_lacks(module):
    """CRDs cannot be read by such a user; what the server offers can."""
    scaled = {"roles": {"decode": {"max": 2, "metrics": {"vllm:num_requests_waiting": "5"}}}}
    server = Server(crds=False)
    server.api.rights = guide_role()
    assert "helm install kthena" in module(server, "deploy")["msg"]
    server = Server()
    server.api.rights = guide_role()
    for name in ("modelroutes.networking.serving", "autoscalingpolicies.workload.serving"):
        server.store.remove("customresourcedefinitions", "", f"{name}.volcano.sh")
    ports = {"pools__decode__ports": {}, "pools__prefill__ports": {}}
    done = module(server, "deploy", plan(kubernetes__router={"mode": "kthena_router"}, **ports))
    assert "--set networking.enabled=true" in done["msg"]
    done = module(server, "deploy", plan(kubernetes__autoscaling=scaled))
    assert "the cluster does not have the kind AutoscalingPolicy" in done["msg"]
    assert server.written == []
    server.fail = refuse("get", "v1alpha1", Refused(403, "Forbidden", "no discovery"))
    assert not module(server, "deploy")["failed"], "what a user may not ask is no reason"
    server.fail = refuse("get", "monitoring.coreos.com/v1", Refused(403, "Forbidden", "no discovery"))
    assert not module(server, "deploy")["failed"], "what a deployment does without is left out"


@pytest.mark.parametrize("part", ["engines", "router"])
def test_what_finishes_its_requests_is_waited_for(module, part):
    """A new pod without free devices or ports of a node waits for the one that it replaces, for as long as that may take."""
    server = without_kthena(nodes=1)
    first = plan(kubernetes__workload="native", kubernetes__router={"host_network": True, "replicas": 1})
    assert not module(server, "deploy", first)["failed"]
    server.controller.leaving = 360
    image = "mirror.example.com/ascend/vllm-ascend:v0.13.0-a3"
    words = {
        "image": image,
        "kubernetes__router": {
            "host_network": True,
            "replicas": 1,
            "image": first["kubernetes"]["roles"]["decode"]["image"],
        },
    }
    if part == "router":
        words = {"kubernetes__router": {"host_network": True, "replicas": 1, "image": image}}
    well(module(server, "deploy", plan(kubernetes__workload="native", **words)))


@pytest.mark.parametrize("workload", ["kthena", "native"])
def test_a_label_of_the_user_hides_no_pod(module, workload):
    server, labels = (
        without_kthena() if workload == "native" else Server(),
        {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "x"},
    )
    older = plan(kubernetes__workload=workload)
    for item in older["objects"]:
        if item["kind"] == "Deployment":
            item["spec"]["selector"]["matchLabels"]["app.kubernetes.io/managed-by"] = "ascend.inference"
    assert not module(server, "deploy", older)["failed"]
    well(module(server, "deploy", plan(kubernetes__workload=workload, kubernetes__labels=labels), timeout=300))
    server = without_kthena() if workload == "native" else Server()
    well(module(server, "deploy", plan(kubernetes__workload=workload, kubernetes__labels=labels), timeout=300))
