# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubernetes runtime against the fake API server: the whole cycle as its user runs it, and the messages when it fails.

Needs ansible-playbook with the Python library ``kubernetes`` beside it; skipped with a message where they are missing.
tests/unit/plugins/modules/test_kubernetes_modules.py tests what the modules do by themselves, with the same fake but without a
socket. With the CRD files of Kthena in the directory that ASCEND_KTHENA_CRDS names the fake validates with them.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import subprocess
import tarfile

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.manifests import objects
from ansible_collections.ascend.inference.tests.e2e import _kthena as cluster_of
from ansible_collections.ascend.inference.tests.e2e import _secrets
from ansible_collections.ascend.inference.tests.e2e._kthena import (
    CORE,
    DEPLOYMENTS,
    MOST,
    NETWORKING,
    WORKLOAD,
    changed,
)

pytestmark = pytest.mark.skipif(
    not cluster_of.has_kubernetes(),
    reason="needs ansible-playbook and the Python library kubernetes in one environment",
)
LOUD = ("-vvv", "--diff")  # everything that a run can print; only where the test looks for secrets
NODES = [part for number in (1, 2) for part in ("--node", f"node{number}=huawei.com/ascend-1980:16")]
MIRROR = "mirror.example.com/ascend/vllm-ascend:v0.13.0-a3"
BROKEN = "example.com/broken:v0.13.0-a3"
THEIRS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-another-owner"}, "data": {"a": "b"}}
UNMANAGED = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "deepseek-pd-router"},
    "spec": {"ports": [{"port": 81}]},
}
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: ascend.inference.kthena}
      vars:
        kthena_plan: "{{ hostvars[inventory_hostname] | ascend.inference.launch_plan(hostvars, {'one': [inventory_hostname]}) }}"
"""


@pytest.fixture
def cluster(tmp_path):
    """A cluster with three nodes of 16 NPUs and one of none, and engines where its pods are.

    kthena-router has one port for both roles, so each of three instances needs a node of its own.
    """
    network = f"127.{20 + os.getpid() % 200}.{os.getpid() // 200 % 250 + 1}"
    nodes = [*NODES, "--node", "node3=huawei.com/ascend-1980:16", "--node", "control"]
    arguments = [*cluster_of.crds(), *nodes, "--pod-network", network]
    started = cluster_of.Fake(tmp_path, *arguments, model="ds_r1")
    yield started
    started.stop()


def two_decodes(variables):
    """Two decode instances."""
    variables["inference_pools"]["decode"]["instances"] = 2


def other_image(variables):
    """And all of them from a mirror."""
    two_decodes(variables)
    variables["inference_image"] = MIRROR


def broken_decode(variables):
    """Two decode instances, and decode's image is one that nobody can pull."""
    two_decodes(variables)
    variables["inference_kubernetes"]["pods"] = {"decode": {"container": {"image": BROKEN}}}


def kthena_router(variables):
    """And requests come through kthena-router."""
    other_image(variables)
    variables["inference_kubernetes"]["router"] = {"mode": "kthena_router"}
    for pool in variables["inference_pools"].values():
        pool["ports"].pop("api")
        pool["args"]["additional-config"] = {}


def replaced_pod_is_followed(cluster):
    """While requests come, a decode pod is deleted; Ansible does nothing, and the new pod gets requests."""
    name, uid = next(item for item in cluster.engines().items() if "-decode-" in item[0])
    cluster.send("DELETE", CORE + "pods/" + name)
    answers = [cluster.ask("ds_r1") for dummy in range(60)]
    assert answers.count(200) >= 59, answers
    cluster.wait(lambda: uid not in cluster.engines().values() and len(cluster.addresses()) == 5)
    assert len(cluster.engines()) == 3


def lost_node_is_followed(cluster):
    """A node with a decode pod dies under load: the other one serves. When the node is back, empty, its pod is made again."""
    pods = {item["metadata"]["name"]: item for item in cluster.get(CORE + "pods")["items"]}
    places = {name: pods[name]["spec"]["nodeName"] for name in pods}
    (prefill,) = (places[name] for name in places if "-prefill-" in name)
    lost = next(name for name in places if "-decode-" in name and places[name] != prefill)
    node, uid = "/api/v1/nodes/" + places[lost], pods[lost]["metadata"]["uid"]
    before = cluster.get(node)
    cluster.send("PATCH", node + "/status", {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})
    answers = [cluster.ask("ds_r1") for dummy in range(60)]
    assert answers.count(200) >= 59, answers
    assert cluster.engines()[lost] == uid, "the cluster does not know whether it still runs"
    cluster.send("DELETE", node)
    cluster.send("POST", "/api/v1/nodes", {**before, "metadata": {"name": places[lost]}})
    cluster.wait(lambda: uid not in cluster.engines().values() and len(cluster.addresses()) == 5)
    assert len(cluster.engines()) == 3


def of_role(pods, role):
    """Those pods of one role."""
    return {name: pods[name] for name in pods if f"-{role}-" in name}


def test_the_whole_cycle(cluster):
    """Check, deploy, again, scale, a broken update, roll back, another image and router, remove."""
    cluster.send("POST", CORE + "configmaps", THEIRS)
    cluster.play("site", "--check")
    assert cluster.pods() == {}, "check mode created something"
    assert cluster.names(CORE + "configmaps") == ["of-another-owner"], "check mode created something"

    output = cluster.play("site", *LOUD)
    first = cluster.engines()
    assert sorted(first) == ["deepseek-pd-0-decode-0-0", "deepseek-pd-0-prefill-0-0"]
    assert "VERIFIED: ds_r1" in output
    assert "prompt tokens were transferred" in output, "no request went through the proxy to both engines"
    assert "no red flag in 3 logs, a transfer line for each of " in output, "the logs of the pods were not judged"
    coded = cluster.get(CORE + "secrets/deepseek-pd-secrets")["data"]["api_key"]
    assert base64.b64decode(coded).decode() == cluster_of.SECRET

    output = cluster.play("site")
    assert changed(output) == 0, "the second run changed something"
    assert "VERIFIED" in output
    assert cluster.engines() == first

    output = cluster.play("site", "--diff", change=two_decodes)
    assert '+          "replicas": 2' in output, "--diff did not show the change"
    second = cluster.engines()
    assert first.items() < second.items(), "scaling touched pods that were there"
    assert len(second) == 3
    assert "pairs of ranks transferred KV" in output
    assert "decode-1 rank 0" in output, "the proxy does not know the new pod"
    image = cluster.images()
    replaced_pod_is_followed(cluster)
    lost_node_is_followed(cluster)
    second = cluster.engines()

    output = cluster.play("deploy", *LOUD, change=broken_decode, good=False, kthena_stuck_timeout=1)
    assert f'Back-off pulling image "{BROKEN}"' in output.replace("\\", "")
    assert "older revision" in output or "pods are ready" in output
    assert of_role(cluster.pods(), "prefill") == of_role(second, "prefill"), "a change of decode touched prefill"

    output = cluster.play("kubernetes_rollback", change=broken_decode, kthena_stuck_timeout=20)
    assert "and has not been replaced for too long" in " ".join(output.split())
    assert cluster.images() == image
    assert of_role(cluster.pods(), "prefill") == of_role(second, "prefill"), "the rollback touched prefill"
    assert "VERIFIED" in output

    cluster.play("deploy", change=kthena_router)
    assert cluster.images() == {"prefill": MIRROR, "decode": MIRROR}
    assert not set(cluster.pods().values()) & set(second.values())
    assert cluster.names(NETWORKING + "modelservers") == ["deepseek-pd"]
    assert cluster.names(NETWORKING + "modelroutes") == ["deepseek-pd"]
    assert cluster.names(DEPLOYMENTS) == [], "the previous proxy still exists"

    cluster.play("remove", "--diff")
    assert cluster.pods() == {}
    assert cluster.names(WORKLOAD) == []
    assert cluster.names(NETWORKING + "modelservers") == []
    assert cluster.names(CORE + "configmaps") == ["of-another-owner"]
    assert cluster.names(CORE + "secrets") == []
    # Every output, Ansible's log and facts, and the plans that the runs kept.
    assert list(_secrets.files([str(cluster.directory)])) == [str(cluster.directory / cluster_of.VARIABLES_FILE)]


def test_each_playbook_alone(cluster):
    """The playbooks of a cluster plan for themselves; verify is kubernetes_verified, and the cycle has the rollback."""
    cluster.play("check")
    assert cluster.names(CORE + "configmaps") == cluster.names(WORKLOAD) == [], "check created something"
    cluster.play("kubernetes")
    assert len(cluster.engines()) == 2
    assert "VERIFIED: ds_r1" in cluster.play("verify")
    output = cluster.play("status", inference_status_fail=False)
    assert "3 of 3 services run" in output, output
    assert "decode-0" in output
    archive, before = cluster.directory / "case.tar.gz", cluster.pods()
    output = cluster.play("logs", inference_logs_file=str(archive))
    assert " of 1 host, " in output
    with tarfile.open(archive) as found:
        assert any(name.endswith("/cluster/deepseek-pd-0-decode-0-0-decode.log") for name in found.getnames())
    assert "role decode has one instance" in cluster.play("restart", good=False)
    assert cluster.pods() == before
    cluster.play("restart", inference_allow_pause=True)
    assert not set(before.values()) & set(cluster.pods().values())
    assert changed(cluster.play("deploy")) == 0
    cluster.play("kubernetes_remove")
    assert cluster.pods() == {}
    assert cluster.names(WORKLOAD) == []


def native(variables):
    """Deployments instead of a ModelServing, two decode instances."""
    two_decodes(variables)
    variables["inference_kubernetes"]["workload"] = "native"


def native_mirror(variables):
    """And another image."""
    native(variables)
    variables["inference_image"] = MIRROR


@pytest.mark.long
def test_the_cycle_without_kthena(tmp_path):
    """Check, deploy, again, another image, roll back, status, remove; the logs of pods are judged."""
    network = f"127.{20 + os.getpid() % 200}.{os.getpid() // 200 % 250 + 1}"
    cluster = cluster_of.Fake(tmp_path, "--no-crds", "--more-crds", *NODES, "--pod-network", network, model="ds_r1")
    try:
        cluster.play("site", "--check", change=native)
        assert cluster.pods() == {}, "check mode created something"
        output = cluster.play("site", change=native)
        assert "VERIFIED: ds_r1" in output
        assert "decode-1 rank 0" in output, "the proxy does not know both"
        assert "no red flag in 4 logs, a transfer line for each of " in output, "the logs of the pods were not judged"
        assert cluster.names(DEPLOYMENTS) == [f"deepseek-pd-{name}" for name in ("decode", "prefill", "router")]
        first = cluster.pods()
        assert changed(cluster.play("site", change=native)) == 0
        assert cluster.pods() == first
        cluster.play("deploy", change=native_mirror)
        assert not set(cluster.engines().values()) & set(first.values())
        assert "VERIFIED" in cluster.play("kubernetes_rollback", change=native_mirror)
        output = cluster.play("status", change=native, inference_status_fail=False)
        assert "4 of 4 services run" in output, output
        cluster.play("remove", change=native)
        assert (
            cluster.names(DEPLOYMENTS) == cluster.names(CORE + "configmaps") == cluster.names(CORE + "services") == []
        )
    finally:
        cluster.stop()


PLAYBOOKS = ("site", "kubernetes_rollback")
MORE = ("verify", "upgrade", "remove", "kubernetes", "kubernetes_verified", "kubernetes_remove")


@pytest.fixture(scope="module")
def planned_before(tmp_path_factory):
    """The folder of a run that planned well, with its fact cache."""
    folder = tmp_path_factory.mktemp("planned")
    ran = cluster_of.run(folder, "-i", cluster_of.SEED, "ascend.inference.plan")
    assert ran.returncode == 0, ran.stdout
    return folder


@pytest.mark.parametrize("playbook", [*PLAYBOOKS, *(pytest.param(name, marks=pytest.mark.long) for name in MORE)])
def test_a_refused_plan_is_the_only_error(planned_before, playbook):
    """Later plays add no errors, and none continues with cached facts of the previous run. remove also says why it cannot use the hosts' own plans."""
    misspelt = ("-e", json.dumps({"inference_deployment": "My Service"}))
    ran = cluster_of.run(planned_before, "-i", cluster_of.SEED, *misspelt, f"ascend.inference.{playbook}")
    assert ran.returncode != 0
    assert ran.stdout.count("[DEPLOYMENT-NAME]") == 1, ran.stdout
    own = playbook == "remove"
    assert ran.stdout.count("fatal: ") == 1 + own, ran.stdout
    assert ("The hosts' own plans are not used either" in " ".join(ran.stdout.split())) == own
    assert "has no plan" not in ran.stdout


CASES = {  # name: arguments of the fake, inference_kubernetes, expected message
    "away": ((), {}, "of context (current) of"),
    "no_kthena": (("--no-crds",), {}, "helm install kthena"),
    "refused": (
        ("--refuse-pods", "violates PodSecurity restricted"),
        {},
        "is forbidden: violates PodSecurity restricted",
    ),
    "unmanaged": ((), {}, "Service/deepseek-pd-router: the object exists in default and was not made by this role"),
}
TOPOLOGY = {"networkTopology": {"rolePolicy": {"mode": "soft"}}}


def test_missing_requirements_are_reported_before_any_change(tmp_path):
    """One run over several clusters: each but the last two fails with its message and applies nothing; unit tests have more.

    The first of these two is too busy at first, and is asked again when it says so.
    """
    cases = {**CASES, "topology": (("--busy", "4"), {"serving": {"template": TOPOLOGY}}, "")}
    cases["several_nodes"] = (("--no-crds", "--more-crds"), {"workload": "native"}, "")
    fakes = {name: cluster_of.Fake(tmp_path / name, *cases[name][0]) for name in cases}
    try:
        fakes["unmanaged"].send("POST", CORE + "services", UNMANAGED)
        fakes["away"].stop()
        output = run_over(tmp_path, cases, fakes)
        for name, (_unused, _variables, expected) in CASES.items():
            assert expected in cluster_of.message(output, name), (
                f"{name}: {cluster_of.message(output, name)}\n{output[-8000:]}"
            )
            if name == "away":
                continue
            assert fakes[name].names("/api/v1/configmaps") == [], name
            if name != "no_kthena":
                assert fakes[name].names(WORKLOAD) == [], name
        ports = fakes["unmanaged"].get(CORE + "services/deepseek-pd-router")["spec"]["ports"]
        assert [port["port"] for port in ports] == [81], "it is as it was"
        assert cluster_of.message(output, "topology") == ""
        assert len(fakes["topology"].pods()) == 4
        serving = fakes["topology"].get(WORKLOAD + "/deepseek-pd")
        assert serving["spec"]["template"]["networkTopology"] == TOPOLOGY["networkTopology"]
        assert cluster_of.message(output, "several_nodes") == ""
        a_group_of_nodes_starts_and_restarts_as_one(fakes["several_nodes"], tmp_path)
    finally:
        for name, fake in fakes.items():
            if name != "away":
                fake.stop()


def a_group_of_nodes_starts_and_restarts_as_one(fake, directory):
    """A LeaderWorkerSet of decode over two nodes: the worker's own command finds its leader; when it ends, both are made again."""
    name = "deepseek-pd-decode-nodes-0"
    before = of_role(fake.pods(), "decode")
    assert sorted(before) == [name, f"{name}-1"]
    words = started(fake, f"{name}-1", directory)
    assert words[words.index("--data-parallel-address") + 1] == "10.0.0.77"
    assert "--headless" in words
    assert words[words.index("--data-parallel-start-rank") + 1] == "8"
    assert "--headless" not in started(fake, name, directory)
    fake.send("DELETE", CORE + f"pods/{name}-1")
    fake.wait(lambda: not set(of_role(fake.pods(), "decode").values()) & set(before.values()))
    fake.wait(lambda: sorted(of_role(fake.pods(), "decode")) == sorted(before))
    assert len(of_role(fake.pods(), "prefill")) == 1


def started(fake, pod, directory):
    """The arguments of vLLM when a pod's container starts with the variables and files that it has; DNS knows the leader only."""
    spec = fake.get(CORE + "pods/" + pod)["spec"]
    box, folder = spec["containers"][0], directory / pod
    folder.mkdir()
    (scripts,) = [item["configMap"]["name"] for item in spec["volumes"] if item["name"] == "config"]
    data = fake.get(CORE + "configmaps/" + scripts)["data"]
    for mount in box["volumeMounts"]:
        if mount["name"] == "config":
            (folder / os.path.basename(mount["mountPath"])).write_text(
                data[mount["subPath"]].replace("/workspace", str(folder))
            )
    programs = {
        "vllm": 'printf "%s\\n" "$@"',
        "getent": '[ "$2" = deepseek-pd-decode-nodes-0.deepseek-pd-decode-nodes.default ] && echo "10.0.0.77 STREAM"',
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}\n")
    for path in folder.iterdir():
        path.chmod(0o755)
    variables = {item["name"]: item.get("value", "x") for item in box["env"]}
    command = [*box["command"], *(word.replace("/workspace", str(folder)) for word in box["args"])]
    environment = {**variables, "PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(folder)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=MOST, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def run_over(directory, cases, fakes):
    """The role for each case as a host of its own, all in one run."""
    variables, hosts = cluster_of.inventory_variables(), {}
    kubernetes = variables.pop("inference_kubernetes")
    for name in cases:
        own = {
            "inference_kubernetes": {**kubernetes, **cases[name][1]},
            "kthena_kubeconfig": str(fakes[name].kubeconfig),
        }
        hosts[name] = own
    wide = copy.deepcopy(variables["inference_pools"])
    wide["decode"].update(data_parallel_size=16, tensor_parallel_size=2)  # 32 of the 16 NPUs of a node
    hosts["several_nodes"]["inference_pools"] = wide
    variables.update(
        ansible_connection="local",
        ansible_python_interpreter="{{ ansible_playbook_python }}",
        kthena_poll=1,
    )
    (directory / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": variables}}))
    (directory / "play.yml").write_text(PLAY)
    ran = cluster_of.run(directory, "-i", directory / "hosts.yml", "--forks", "4", directory / "play.yml")
    return ran.stdout


def test_the_manifests_are_printed_as_kubectl_takes_them(tmp_path):
    """inference_plan_only prints every object of the plan and ends; no cluster is asked."""
    file = tmp_path / "plan.json"
    options = ("-e", "inference_plan_only=true", "-e", f"inference_plan_file={file}")
    options += ("-e", f"inference_manifests_dir={tmp_path}/deploy")
    ran = cluster_of.run(tmp_path, "-i", cluster_of.SEED, *options, "ascend.inference.site")
    assert ran.returncode == 0, ran.stdout
    text = ran.stdout[ran.stdout.index("\n---\n") : ran.stdout.index("\n...\n")]
    planned = [item for item in objects(json.loads(file.read_text())) if item["kind"] != "PodMonitor"]
    assert list(yaml.safe_load_all(text)) == planned, "a cluster may not have the kind PodMonitor"
    assert "\n    exec vllm serve /models/DeepSeek-R1-Distill-Qwen-1.5B \\\n" in text, "a script is no block"
    assert "[WARNING]" not in ran.stdout
    folder = tmp_path / "deploy"
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert [yaml.safe_load((folder / name).read_text())["kind"] for name in kustomization["resources"]][
        -1
    ] == "Deployment"
    assert changed(ran.stdout) == 3, "more than the plan's file and the manifests was written"


@pytest.mark.long
def test_manifests_of_a_folder_serve_without_ansible(cluster):
    """As Argo CD applies them; then verify proves the service, and site agrees with what is there."""
    folder = cluster.directory / "deploy"
    cluster.play("site", secret=False, inference_plan_only=True, inference_manifests_dir=str(folder))
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        cluster.apply(yaml.safe_load((folder / name).read_text()), "argocd")
    cluster.wait(lambda: cluster.ask("ds_r1") == 200)
    assert "VERIFIED: ds_r1" in cluster.play("verify", secret=False)
    cluster.play("check", secret=False)
    for playbook in ("deploy", "site"):
        assert changed(cluster.play(playbook, secret=False)) == 0
