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
import json
import os

import pytest
import yaml
from ansible_collections.ascend.inference.tests.e2e import _kthena as cluster_of
from ansible_collections.ascend.inference.tests.e2e import _secrets
from ansible_collections.ascend.inference.tests.e2e._kthena import CORE, DEPLOYMENTS, NETWORKING, WORKLOAD, changed

pytestmark = pytest.mark.skipif(
    not cluster_of.has_kubernetes(),
    reason="needs ansible-playbook and the Python library kubernetes in one environment",
)
LOUD = ("-vvv", "--diff")  # everything that a run can print; only where the test looks for secrets
NODES = [part for number in (1, 2) for part in ("--node", f"node{number}=huawei.com/ascend-1980:16")]
MIRROR = "mirror.example.com/ascend/vllm-ascend:v0.13.0-a3"
BROKEN = "example.com/broken:v0.13.0-a3"
UNMANAGED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deepseek-pd-cm"}, "data": {"a": "b"}}
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
    """A cluster with two nodes of 16 NPUs and one of none, and engines where its pods are."""
    network = f"127.{20 + os.getpid() % 200}.{os.getpid() // 200 % 250 + 1}"
    arguments = [*cluster_of.crds(), *NODES, "--node", "control", "--pod-network", network]
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


def of_role(pods, role):
    """Those pods of one role."""
    return {name: pods[name] for name in pods if f"-{role}-" in name}


def test_the_whole_cycle(cluster):
    """Check, deploy, again, scale, a broken update, roll back, another image and router, remove."""
    cluster.post(CORE + "configmaps", {**UNMANAGED, "metadata": {"name": "of-another-owner"}})
    cluster.play("site", "--check")
    assert cluster.pods() == {}, "check mode created something"
    assert cluster.names(CORE + "configmaps") == ["of-another-owner"], "check mode created something"

    output = cluster.play("site", *LOUD)
    first = cluster.pods()
    assert sorted(first) == ["deepseek-pd-0-decode-0-0", "deepseek-pd-0-prefill-0-0"]
    assert "VERIFIED: ds_r1" in output
    assert "prompt tokens were transferred" in output, "no request went through the proxy to both engines"
    targets = cluster.get(CORE + "configmaps/deepseek-pd-targets")["data"]
    assert sorted(targets) == ["DECODE_0", "PREFILL_0"]
    assert all(targets.values())
    coded = cluster.get(CORE + "secrets/deepseek-pd-secrets")["data"]["api_key"]
    assert base64.b64decode(coded).decode() == cluster_of.SECRET

    output = cluster.play("site")
    assert changed(output) == 0, "the second run changed something"
    assert "VERIFIED" in output
    assert cluster.pods() == first

    output = cluster.play("site", "--diff", change=two_decodes)
    assert '+          "replicas": 2' in output, "--diff did not show the change"
    second = cluster.pods()
    assert first.items() < second.items(), "scaling touched pods that were there"
    assert len(second) == 3
    assert cluster.get(CORE + "configmaps/deepseek-pd-targets")["data"]["DECODE_1"]
    assert "pairs of ranks transferred KV" in output
    assert "decode-1 rank 0" in output, "the proxy does not know the new pod"
    image = cluster.images()

    output = cluster.play("deploy", *LOUD, change=broken_decode, good=False, kthena_timeout=15)
    assert f'Back-off pulling image "{BROKEN}"' in output.replace("\\", "")
    assert "older revision" in output or "pods are ready" in output
    assert of_role(cluster.pods(), "prefill") == of_role(second, "prefill"), "a change of decode touched prefill"

    output = cluster.play("kubernetes_rollback", change=broken_decode)
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
    cluster.play("kubernetes")
    assert len(cluster.pods()) == 2
    assert "VERIFIED: ds_r1" in cluster.play("verify")
    output = cluster.play("status", good=False)  # it knows nothing about pods, and names the command that does
    assert "Fix: kubectl -n default get modelserving,pods" in output
    cluster.play("kubernetes_remove")
    assert cluster.pods() == {}
    assert cluster.names(WORKLOAD) == []


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
    """Later plays add no errors, and none continues with cached facts of the previous run."""
    misspelt = ("-e", json.dumps({"inference_deployment": "My Service"}))
    ran = cluster_of.run(planned_before, "-i", cluster_of.SEED, *misspelt, f"ascend.inference.{playbook}")
    assert ran.returncode != 0
    assert ran.stdout.count("[DEPLOYMENT-NAME]") == 1, ran.stdout
    assert ran.stdout.count("fatal: ") == 1, ran.stdout
    assert "has no plan" not in ran.stdout


CASES = {  # name: arguments of the fake, inference_kubernetes, expected message
    "away": ((), {}, "of context (current) of"),
    "no_kthena": (("--no-crds",), {}, "helm install kthena"),
    "refused": (
        ("--refuse-pods", "violates PodSecurity restricted"),
        {},
        "is forbidden: violates PodSecurity restricted",
    ),
    "unmanaged": ((), {}, "ConfigMap/deepseek-pd-cm: the object exists in default and was not made by this role"),
}
TOPOLOGY = {"networkTopology": {"rolePolicy": {"mode": "soft"}}}


def test_missing_requirements_are_reported_before_any_change(tmp_path):
    """One run over several clusters: each but the last fails with its message and applies nothing; unit tests have more."""
    cases = {**CASES, "no_deployments": (("--no-deployments",), {"serving": {"template": TOPOLOGY}}, "")}
    fakes = {name: cluster_of.Fake(tmp_path / name, *cases[name][0]) for name in cases}
    try:
        fakes["unmanaged"].post(CORE + "configmaps", UNMANAGED)
        fakes["away"].stop()
        output = run_over(tmp_path, cases, fakes)
        for name, (_unused, _variables, expected) in CASES.items():
            assert expected in cluster_of.message(output, name), (
                f"{name}: {cluster_of.message(output, name)}\n{output[-8000:]}"
            )
            if name == "away":
                continue
            kept = ["deepseek-pd-cm"] if name == "unmanaged" else []
            assert fakes[name].names("/api/v1/configmaps") == kept, name
            if name != "no_kthena":
                assert fakes[name].names(WORKLOAD) == [], name
        assert fakes["unmanaged"].get(CORE + "configmaps/deepseek-pd-cm")["data"] == {"a": "b"}
        assert "No controller has observed Deployment" in output
        assert cluster_of.message(output, "no_deployments") == ""
        assert len(fakes["no_deployments"].pods()) == 2
        serving = fakes["no_deployments"].get(WORKLOAD + "/deepseek-pd")
        assert serving["spec"]["template"]["networkTopology"] == TOPOLOGY["networkTopology"]
    finally:
        for name, fake in fakes.items():
            if name != "away":
                fake.stop()


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
    variables.update(
        ansible_connection="local",
        ansible_python_interpreter="{{ ansible_playbook_python }}",
        kthena_poll=1,
        kthena_seen_timeout=3,
    )
    (directory / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts, "vars": variables}}))
    (directory / "play.yml").write_text(PLAY)
    ran = cluster_of.run(directory, "-i", directory / "hosts.yml", "--forks", "4", directory / "play.yml")
    return ran.stdout


def test_the_manifests_are_printed_as_kubectl_takes_them(tmp_path):
    """inference_plan_only prints every object of the plan and ends; no cluster is asked."""
    file = tmp_path / "plan.json"
    options = ("-e", "inference_plan_only=true", "-e", f"inference_plan_file={file}")
    ran = cluster_of.run(tmp_path, "-i", cluster_of.SEED, *options, "ascend.inference.site")
    assert ran.returncode == 0, ran.stdout
    text = ran.stdout[ran.stdout.index("\n---\n") : ran.stdout.index("\n...\n")]
    assert list(yaml.safe_load_all(text)) == json.loads(file.read_text())["objects"]
    assert "\n    exec vllm serve /models/DeepSeek-R1-Distill-Qwen-1.5B \\\n" in text, "a script is no block"
    assert "[WARNING]" not in ran.stdout
    assert changed(ran.stdout) == 1, "more than the plan's file was written"
