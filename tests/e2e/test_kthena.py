# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role kthena against the fake API server: the whole cycle, and what it says when something is wrong.

Needs ansible-playbook with the Python library ``kubernetes`` beside it and the collection kubernetes.core; skipped, and it
says so, where they are missing. With the CRD files of Kthena in the directory that ASCEND_KTHENA_CRDS names (or in
``../shared/kthena/crds/v1.0.0`` beside the repository) the fake judges by them.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

import pytest
import yaml

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[2]
FAKE = ROOT / "tests" / "simulator" / "kubernetes" / "fake_api_server.py"
PLAYBOOK = pathlib.Path(
    os.environ.get("ASCEND_ANSIBLE_PLAYBOOK", pathlib.Path(sys.executable).parent / "ansible-playbook")
)
PATIENCE = 900
PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  tasks:
    - ansible.builtin.set_fact:
        inference_plan: "{{ hostvars['localhost'] | ascend.inference.launch_plan(hostvars, groups) }}"
    - ansible.builtin.include_role: {name: ascend.inference.kthena}
      vars: {kthena_plan: "{{ inference_plan }}"}
    - ansible.builtin.copy:
        content: "{{ kthena_resolved_plan | to_nice_json }}"
        dest: "{{ playbook_dir }}/resolved.json"
        mode: "0600"
      when: kthena_resolved_plan is defined
"""


def has_kubernetes():
    """Whether the Ansible in use can talk to a cluster."""
    python = PLAYBOOK.parent / "python"
    tried = subprocess.run([str(python), "-c", "import kubernetes, yaml"], capture_output=True, check=False)
    return PLAYBOOK.exists() and tried.returncode == 0


pytestmark = pytest.mark.skipif(
    not has_kubernetes(), reason="needs ansible-playbook and the Python library kubernetes in one environment"
)


def crds():
    """Where Kthena's CRD files lie, if they are here."""
    for path in (os.environ.get("ASCEND_KTHENA_CRDS", ""), ROOT.parent / "shared/kthena/crds/v1.0.0"):
        if path and pathlib.Path(path).is_dir():
            return ["--crds", str(path)]
    return []


class Cluster:
    """A fake API server, and Ansible in front of it."""

    def __init__(self, directory, *arguments):
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self.log = (directory / "fake.log").open("w")
        command = [str(PLAYBOOK.parent / "python"), str(FAKE), "--kubeconfig", str(self.kubeconfig), *arguments]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        until = time.time() + 120
        while not self.kubeconfig.exists() and time.time() < until and self.process.poll() is None:
            time.sleep(0.2)
        self.url = yaml.safe_load(self.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        (directory / "play.yml").write_text(PLAY)
        shutil.copytree(ROOT / "inventories/seed_kthena", directory / "inventory")

    def stop(self):
        """End the server."""
        self.process.terminate()
        self.process.wait(30)
        self.log.close()

    def get(self, path):
        """What the server has."""
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return json.load(answer)

    def pods(self):
        """Names and uids of the pods."""
        items = self.get("/api/v1/namespaces/default/pods")["items"]
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in items}

    def names(self, path):
        """Names of the objects of one kind."""
        return [one["metadata"]["name"] for one in self.get(path)["items"]]

    def serving(self):
        """The ModelServing."""
        base = "/apis/workload.serving.volcano.sh/v1alpha1/namespaces/default/modelservings/"
        return self.get(base + "deepseek-pd")

    def play(self, state="present", change=None, arguments=(), good=True, **variables):
        """Run the role; returns its output and how many tasks changed something."""
        words = yaml.safe_load((ROOT / "inventories/seed_kthena/group_vars/all.yml").read_text())
        if change:
            change(words)
        words.update(kthena_state=state, kthena_kubeconfig=str(self.kubeconfig), kthena_poll=1, **variables)
        words_file = self.directory / "words.json"
        words_file.write_text(json.dumps(words))
        environment = {
            **os.environ,
            "ANSIBLE_HOME": str(self.directory / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
            "TMPDIR": str(self.directory),
        }
        command = [str(PLAYBOOK), "-i", str(self.directory / "inventory"), "-e", f"@{words_file}", *arguments]
        command.append(str(self.directory / "play.yml"))
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False, cwd=self.directory
        )
        assert (ran.returncode == 0) == good, ran.stdout[-6000:] + ran.stderr[-2000:]
        return ran.stdout + ran.stderr

    def resolved(self):
        """The plan with addresses that the role handed on."""
        return json.loads((self.directory / "resolved.json").read_text())


def changed(output):
    """The recap's number of changes."""
    return int(output.rsplit("changed=", 1)[1].split()[0])


@pytest.fixture
def cluster(tmp_path):
    """A cluster with two nodes of 16 NPUs and one of none."""
    nodes = [part for number in (1, 2) for part in ("--node", f"node{number}=huawei.com/ascend-1980:16")]
    one = Cluster(tmp_path, *crds(), *nodes, "--node", "control")
    yield one
    one.stop()


def image(name):
    """A change of the words: another image for all."""
    return lambda words: words.update(inference_image=name)


def two_decodes(words):
    """A change of the words: two decode instances."""
    words["inference_pools"]["decode"]["instances"] = 2


def test_the_whole_cycle(cluster):
    """Deploy, again, scale, update, roll back, remove."""
    cluster.play(arguments=("--check", "--diff"))
    assert cluster.pods() == {}, "check mode made something"

    assert changed(cluster.play()) > 0
    first = cluster.pods()
    assert sorted(first) == ["deepseek-pd-0-decode-0-0", "deepseek-pd-0-prefill-0-0"]
    plan = cluster.resolved()
    assert "${" not in json.dumps(plan["verify"]), "an address is missing"
    assert plan["verify"]["entry"]["url"].startswith("http://10.96.0."), "the Service's address is missing"
    targets = cluster.get("/api/v1/namespaces/default/configmaps/deepseek-pd-targets")["data"]
    assert sorted(targets) == ["DECODE_0", "PREFILL_0"]
    assert all(targets.values())
    cluster.play("verified")

    assert changed(cluster.play()) == 0, "the second run changed something"
    assert cluster.pods() == first

    cluster.play(change=two_decodes)
    second = cluster.pods()
    assert first.items() < second.items(), "scaling touched pods that were there"
    assert len(second) == 3
    assert cluster.get("/api/v1/namespaces/default/configmaps/deepseek-pd-targets")["data"]["DECODE_1"]
    cluster.play("verified", change=two_decodes)

    def other(words):
        two_decodes(words)
        image("quay.io/ascend/vllm-ascend:v0.13.0rc3-a3")(words)

    output = cluster.play(change=other, arguments=("--diff",))
    assert "v0.13.0rc3-a3" in output, "--diff did not show the change"
    assert not set(cluster.pods().values()) & set(second.values())
    cluster.play("verified", change=other)

    cluster.play("rolled_back", change=other)
    roles = cluster.serving()["spec"]["template"]["roles"]
    assert {role["entryTemplate"]["spec"]["containers"][0]["image"] for role in roles} == {
        "quay.io/ascend/vllm-ascend:v0.13.0-a3"
    }
    assert len(cluster.pods()) == 3

    cluster.play("absent", arguments=("--check",))
    assert len(cluster.pods()) == 3
    cluster.play("absent")
    assert cluster.pods() == {}
    assert cluster.names("/api/v1/namespaces/default/configmaps") == []
    assert cluster.names("/apis/apps/v1/namespaces/default/deployments") == []
    assert changed(cluster.play("absent")) == 0


def test_a_broken_image_is_explained_and_rolled_back(cluster):
    """The wait ends with the pod's reason and its event; the last verified plan comes back."""
    cluster.play()
    cluster.play("verified")
    output = cluster.play(change=image("example.com/broken:1"), good=False, kthena_timeout=20)
    assert "ImagePullBackOff" in output
    assert "older revision" in output or "are ready" in output or "not Available" in output
    cluster.play("rolled_back", change=image("example.com/broken:1"))
    roles = cluster.serving()["spec"]["template"]["roles"]
    assert "broken" not in json.dumps(roles)


def test_changing_one_pool_leaves_the_other_alone(cluster):
    """A start script of one role changes: only that role's pods are replaced."""
    cluster.play()
    before = cluster.pods()

    def change(words):
        words["inference_pools"]["decode"]["args"]["max-num-seqs"] = 48

    cluster.play(change=change)
    after = cluster.pods()
    assert after["deepseek-pd-0-prefill-0-0"] == before["deepseek-pd-0-prefill-0-0"]
    assert after["deepseek-pd-0-decode-0-0"] != before["deepseek-pd-0-decode-0-0"]


def test_what_others_made_is_left_alone(cluster):
    """An object of a planned name without our labels is refused, not taken over."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deepseek-pd-cm"}, "data": {"a": "b"}}
    request = urllib.request.Request(
        cluster.url + "/api/v1/namespaces/default/configmaps", json.dumps(body).encode(), method="POST"
    )
    urllib.request.urlopen(request, timeout=30).close()
    assert "were not made by this role" in cluster.play(good=False)
    assert cluster.get("/api/v1/namespaces/default/configmaps/deepseek-pd-cm")["data"] == {"a": "b"}
    cluster.play("absent")
    assert cluster.names("/api/v1/namespaces/default/configmaps") == ["deepseek-pd-cm"]


def test_kthena_router_replaces_the_proxy(cluster):
    """ModelServer and ModelRoute come, and the proxy of before goes."""

    def change(words):
        words["inference_kubernetes"]["router"] = {"mode": "kthena_router"}
        for pool in words["inference_pools"].values():
            pool["ports"].pop("api")
            pool["args"]["additional-config"] = {}

    cluster.play()
    cluster.play(change=change)
    networking = "/apis/networking.serving.volcano.sh/v1alpha1/namespaces/default/"
    assert cluster.names(networking + "modelservers") == ["deepseek-pd"]
    assert cluster.names(networking + "modelroutes") == ["deepseek-pd"]
    assert cluster.names("/apis/apps/v1/namespaces/default/deployments") == []


@pytest.mark.parametrize(
    ("arguments", "change", "said"),
    [
        (("--no-crds",), None, "helm install kthena"),
        (("--node", "n1=huawei.com/Ascend910:16"), None, "they offer huawei.com/Ascend910"),
        (("--node", "n1=huawei.com/ascend-1980:8"), None, "too few for all"),
        (
            (),
            lambda words: words["inference_kubernetes"].update(namespace="nowhere"),
            "kubectl create namespace nowhere",
        ),
    ],
)
def test_preflight_says_what_is_missing(tmp_path, arguments, change, said):
    """Nothing is applied, and the message has the way out."""
    cluster = Cluster(tmp_path, *arguments)
    try:
        assert said in " ".join(cluster.play(change=change, good=False).split())
        assert cluster.names("/api/v1/configmaps") == []
    finally:
        cluster.stop()


def test_a_pod_that_the_server_refuses_stops_before_the_serving(cluster):
    """The server's own dry run is asked, whatever the planner thinks."""

    def change(words):
        words["inference_kubernetes"]["serving"] = {"template": {"networkTopology": {"rolePolicy": {"mode": "soft"}}}}

    cluster.play(change=change)
    assert cluster.serving()["spec"]["template"]["networkTopology"] == {"rolePolicy": {"mode": "soft"}}


def test_without_a_controller_of_deployments_the_engines_come_all_the_same(tmp_path):
    """The router is reported, not waited for."""
    cluster = Cluster(tmp_path, "--no-deployments")
    try:
        assert "No controller has looked at Deployment" in cluster.play()
        assert len(cluster.pods()) == 2
    finally:
        cluster.stop()
