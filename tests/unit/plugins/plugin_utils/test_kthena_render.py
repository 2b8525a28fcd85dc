# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as Kubernetes objects, held against objects written by hand."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.manifests import pods, record
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.names import common_labels
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes import stalled
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest.check import check_manifest
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.script import quoted
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.kthena_plans import objects, plan, roles

OURS = {"app.kubernetes.io/part-of": "demo"}
NAMED = {"managed-by": "ascend.inference", "name": "vllm-ascend", "version": "0.13.0"}
SHOWN = {**OURS, **{f"app.kubernetes.io/{key}": NAMED[key] for key in NAMED}}
PROBE = {"httpGet": {"path": "/health", "port": 7200, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 2}
STALLED = (
    "python3 -IS /workspace/probe/stalled.py --port 7200 --model tiny --after 540 --running vllm:num_requests_running"
    " --work vllm:prompt_tokens_total --work vllm:generation_tokens_total --work vllm:iteration_tokens_total_count"
)
LEAVE = " --leave 300 --pending vllm:num_requests_waiting --pending vllm:kv_cache_usage_perc"
PREFILL = {
    "hostNetwork": True,
    "terminationGracePeriodSeconds": 370,
    "containers": [
        {
            "name": "prefill",
            "image": "quay.io/ascend/vllm-ascend:v0.13.0-a3",
            "command": ["/bin/bash"],
            "args": ["-c", "cd /workspace && exec ./prefill.sh"],
            "env": [
                {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                {
                    "name": "GROUP_NAME",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['modelserving.volcano.sh/group-name']"}},
                },
                {
                    "name": "ROLE_ID",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['modelserving.volcano.sh/role-id']"}},
                },
            ],
            "resources": {
                "limits": {"cpu": "8", "memory": "20Gi", "example.com/npu": "4"},
                "requests": {"cpu": "4", "memory": "10Gi", "example.com/npu": "4"},
            },
            "volumeMounts": [
                {"name": "model", "mountPath": "/data/models"},
                {"name": "dshm", "mountPath": "/dev/shm"},
                {"name": "hccn-conf", "mountPath": "/etc/hccn.conf"},
                {"name": "hccn-tool", "mountPath": "/usr/local/Ascend/driver/tools/hccn_tool"},
                {"name": "ascend-install-info", "mountPath": "/etc/ascend_install.info"},
                {"name": "config", "mountPath": "/workspace/prefill.sh", "subPath": "prefill.sh"},
                {"name": "config", "mountPath": "/workspace/shell.sh", "subPath": "prefill-shell.sh"},
                {"name": "probe", "mountPath": "/workspace/probe"},
            ],
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"add": ["DAC_OVERRIDE"], "drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "lifecycle": {"preStop": {"exec": {"command": ["/bin/bash", "-c", f"sleep 10; {STALLED}{LEAVE}"]}}},
            "ports": [{"containerPort": 7200, "name": "server", "protocol": "TCP"}],
            "startupProbe": {**PROBE, "failureThreshold": 180},
            "readinessProbe": {**PROBE, "failureThreshold": 3},
            "livenessProbe": {
                "exec": {"command": ["/bin/bash", "-c", f"{STALLED}; [ $? -ne 3 ]"]},
                "periodSeconds": 30,
                "timeoutSeconds": 30,
                "failureThreshold": 3,
            },
        }
    ],
    "volumes": [
        {"name": "model", "hostPath": {"path": "/data/models", "type": "Directory"}},
        {"name": "dshm", "emptyDir": {"medium": "Memory"}},
        {"name": "hccn-conf", "hostPath": {"path": "/etc/hccn.conf"}},
        {"name": "hccn-tool", "hostPath": {"path": "/usr/local/Ascend/driver/tools/hccn_tool"}},
        {"name": "ascend-install-info", "hostPath": {"path": "/etc/ascend_install.info"}},
        {"name": "config", "configMap": {"name": "demo-prefill-HASH", "defaultMode": 493}},
        {"name": "probe", "configMap": {"name": "demo-probe"}},
    ],
}
ROUTER_SCRIPT = """\
#!/bin/bash
# Starts router. Written by ascend.inference: changes here are lost.
set -eu
export TORCH_DEVICE_BACKEND_AUTOLOAD=0
exec python3 /workspace/forwarder.py \\
  --engine 127.139.32.1:7300=demo-decode.serving.svc/0/1 \\
  --engine 127.139.0.1:7200=demo-prefill.serving.svc/0/1 \\
  -- python3 /vllm-workspace/vllm-ascend/examples/disaggregated_prefill_v1/load_balance_proxy_server_example.py \\
  --host "${POD_IP}" \\
  --port 8000 \\
  --prefiller-hosts 127.139.0.1 \\
  --prefiller-ports 7200 \\
  --decoder-hosts 127.139.32.1 \\
  --decoder-ports 7300
"""


def scripts(planned):
    """The start scripts and files of all pods."""
    return {key: item["data"][key] for item in objects(planned, "ConfigMap") for key in item["data"]}


def place(thing):
    """``KIND/NAME``, without the hash of a ConfigMap."""
    name = thing["metadata"]["name"]
    return f"{thing['kind']}/{re.sub('-[0-9a-f]{10}$', '', name)}"


def test_the_model_serving():
    serving = objects(plan(), "ModelServing")[0]
    template = serving["spec"].pop("template")
    assert serving == {
        "apiVersion": "workload.serving.volcano.sh/v1alpha1",
        "kind": "ModelServing",
        "metadata": {
            "name": "demo",
            "namespace": "serving",
            "labels": {**SHOWN, "app.kubernetes.io/component": "engines"},
        },
        "spec": {
            "replicas": 1,
            "schedulerName": "volcano",
            "recoveryPolicy": "RoleRecreate",
            "rolloutStrategy": {"type": "RoleRollingUpdate"},
        },
    }
    assert template["restartGracePeriodSeconds"] == 60
    prefill = template["roles"][0]
    name = plan()["kubernetes"]["roles"]["prefill"]["config_map"]
    found = json.loads(json.dumps(prefill["entryTemplate"]).replace(name, "demo-prefill-HASH"))
    assert found == {"metadata": {"labels": {**SHOWN, "app.kubernetes.io/component": "prefill"}}, "spec": PREFILL}
    assert {key: prefill[key] for key in prefill if key != "entryTemplate"} == {
        "name": "prefill",
        "replicas": 1,
        "workerReplicas": 0,
        "maxUnavailable": 1,
    }


def test_apply_order_and_what_is_printed_is_right():
    planned = plan()
    assert [place(item) for item in planned["objects"]] == [
        "ConfigMap/demo-decode",
        "ConfigMap/demo-prefill",
        "ConfigMap/demo-router",
        "ConfigMap/demo-probe",
        "Service/demo-decode",
        "Service/demo-prefill",
        "Service/demo-router",
        "PodDisruptionBudget/demo-router",
        "NetworkPolicy/demo-router",
        "PodMonitor/demo-engines",
        "ModelServing/demo",
        "Deployment/demo-router",
    ]
    assert [item.text() for each in planned["objects"] for item in check_manifest(each)] == []


def test_start_scripts_take_addresses_from_the_pod():
    data = scripts(plan())
    assert data["router.sh"] == ROUTER_SCRIPT
    lines = data["prefill.sh"].splitlines()
    assert 'export HCCL_IF_IP="${POD_IP}"' in lines
    assert "export HCCL_SOCKET_IFNAME=eth7" in lines
    assert '  --host "${POD_IP}" \\' in lines
    assert not [line for line in lines if "ASCEND_RT_VISIBLE_DEVICES" in line or "ASCEND_INFERENCE_SERVICE" in line]


def run(text, **environment):
    """Run a start script with a stand-in that prints its arguments as JSON; returns them."""
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("needs bash")
    stand_in = 'vllm() { python3 -c "import json, sys; print(json.dumps(sys.argv[1:]))" "$@"; }\n'
    ran = subprocess.run(
        [bash, "-c", stand_in + text.replace("exec vllm", "vllm")],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **environment},
        check=True,
    )
    return json.loads(ran.stdout)


def test_a_start_script_runs_and_says_who_it_is():
    words = run(scripts(plan())["prefill.sh"], POD_IP="10.1.2.3", GROUP_NAME="demo-4", ROLE_ID="prefill-1")
    assert words[words.index("--host") + 1] == "10.1.2.3"
    config = json.loads(words[words.index("--kv-transfer-config") + 1])
    assert config["kv_role"] == "kv_producer"
    assert config["kv_connector_module_path"] == "vllm_ascend.distributed.mooncake_connector"
    assert config["engine_id"].startswith("demo-4_prefill-1_")
    again = run(scripts(plan())["prefill.sh"], POD_IP="10.1.2.3", GROUP_NAME="demo-4", ROLE_ID="prefill-1")
    other = json.loads(again[again.index("--kv-transfer-config") + 1])
    assert other["engine_id"] != config["engine_id"], "decode would read the memory of the engine before"


@pytest.mark.parametrize(
    ("release", "module"),
    [
        ("0.13.0", "vllm_ascend.distributed.mooncake_connector"),
        ("0.18.0", "vllm_ascend.distributed.kv_transfer.kv_p2p.mooncake_connector"),
        ("0.23.0", None),  # here it would hide the registered name
    ],
)
def test_the_connectors_module_is_the_releases(release, module):
    words = run(scripts(plan(release=release))["decode.sh"], POD_IP="1.1.1.1", GROUP_NAME="g", ROLE_ID="r")
    assert json.loads(words[words.index("--kv-transfer-config") + 1]).get("kv_connector_module_path") == module


def test_words_of_the_shell_are_literal_but_for_known_names():
    assert quoted("it's ${POD_IP} and $HOME", {"POD_IP"}) == """'it'"'"'s '"${POD_IP}"' and $HOME'"""
    assert quoted("${OTHER}", {"POD_IP"}) == "'${OTHER}'"
    assert quoted("", set()) == "''"


def test_scaling_changes_numbers_and_no_template():
    first, two = plan(), plan(pools__decode__instances=2)
    assert roles(two)["decode"]["replicas"] == 2
    for name in ("prefill", "decode"):
        assert roles(first)[name]["entryTemplate"] == roles(two)[name]["entryTemplate"]
    assert "127.139.32.2:7300=demo-decode.serving.svc/1/2" in scripts(two)["router.sh"]
    assert "--decoder-hosts 127.139.32.1 127.139.32.2" in scripts(two)["router.sh"]


def test_a_changed_script_is_another_config_map_of_its_own_role_only():
    first, two = plan(), plan(pools__decode__args={"max-num-seqs": 9})
    assert roles(first)["prefill"] == roles(two)["prefill"]
    names = [{item["metadata"]["name"] for item in objects(each, "ConfigMap")} for each in (first, two)]
    (name,) = names[1] - names[0]
    assert name.startswith("demo-decode-")
    assert name in json.dumps(roles(two)["decode"]["entryTemplate"]["spec"]["volumes"])
    fixed = {item["metadata"]["name"] for item in objects(two, "ConfigMap") if not item.get("immutable")}
    assert fixed == {"demo-probe"}


def test_another_version_of_the_probe_replaces_no_engine(monkeypatch):
    """Not even its code: a container sees the new file, because the ConfigMap is mounted as a whole."""
    first, text = plan(), pathlib.Path(stalled.__file__).read_text(encoding="utf-8")
    monkeypatch.setattr(pathlib.Path, "read_text", lambda *of, **more: text.replace("QUIET = 60.0", "QUIET = 61.0 # x"))
    two = plan()
    (probe,) = [item for item in objects(two, "ConfigMap") if item["metadata"]["name"] == "demo-probe"]
    assert "QUIET = 61.0 # x" in probe["data"]["stalled.py"]
    assert roles(first) == roles(two)
    box = roles(two)["decode"]["entryTemplate"]["spec"]["containers"][0]
    assert {"name": "probe", "mountPath": "/workspace/probe"} in box["volumeMounts"]


def test_everything_has_the_common_labels_and_selectors_none_that_another_tool_writes():
    for changes in ({}, {"kubernetes__workload": "native"}, {"kv_transfer": "mooncake+store"}):
        planned = plan(**changes)
        for thing in [*planned["objects"], *pods(planned), record(planned, {})]:
            held = thing["metadata"]["labels"]
            assert SHOWN.items() <= held.items() and held["app.kubernetes.io/component"], thing["metadata"]["name"]
        for thing in objects(planned, "Deployment"):
            assert set(thing["spec"]["selector"]["matchLabels"]) == {
                "app.kubernetes.io/part-of",
                "app.kubernetes.io/component",
            }


def test_a_label_of_the_user_goes_before_what_is_only_shown():
    own = {"app.kubernetes.io/name": "chat", "app.kubernetes.io/part-of": "shop", "team": "a"}
    found = roles(plan(kubernetes__labels=own))["decode"]["entryTemplate"]["metadata"]["labels"]
    assert (found["app.kubernetes.io/name"], found["app.kubernetes.io/part-of"], found["team"]) == ("chat", "demo", "a")


@pytest.mark.parametrize(("release", "shown"), [("0.13.0+own/1", "0.13.0-own-1"), ("x" * 70, "x" * 63), ("1-", "1")])
def test_the_version_is_a_valid_label(release, shown):
    assert common_labels("d", "c", release)["app.kubernetes.io/version"] == shown


def test_pods_end_after_their_last_requests():
    """A worker asks the pod that has the API, until nothing is left there."""
    role = roles(plan(pools__decode__data_parallel_size=32, kubernetes__drain_timeout=20))["decode"]
    found = [role[key]["spec"] for key in ("entryTemplate", "workerTemplate")]
    hooks = {pod["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][2] for pod in found}
    assert len(hooks) == 1 and "--port 7300 " in hooks.pop()
    assert [pod["terminationGracePeriodSeconds"] for pod in found] == [90, 90]
    none = roles(plan(kubernetes__drain_timeout=0))["decode"]["entryTemplate"]["spec"]
    assert "lifecycle" not in none["containers"][0]
    assert none["terminationGracePeriodSeconds"] == 60
    both = roles(plan(kubernetes__drain_timeout=0, kubernetes__stalled_after=0))["decode"]["entryTemplate"]["spec"]
    assert not [item for item in both["volumes"] if item["name"] == "probe"]


def test_the_router_finds_the_pods_of_each_role_that_are_ready():
    spec = objects(plan(), "Service")[0]["spec"]
    labels = {"name": "demo", "role": "decode", "entry": "true"}
    assert spec["selector"] == {f"modelserving.volcano.sh/{key}": labels[key] for key in labels}
    assert (spec["clusterIP"], spec.get("publishNotReadyAddresses", False)) == ("None", False)
    pod = objects(plan(), "Deployment")[0]["spec"]["template"]["spec"]
    mounts = {item["mountPath"]: item.get("subPath") for item in pod["containers"][0]["volumeMounts"]}
    assert "def lookup(" in scripts(plan())[mounts["/workspace/forwarder.py"]]
    on_node = objects(plan(kubernetes__router={"host_network": True}), "Deployment")[0]["spec"]["template"]["spec"]
    assert on_node["dnsPolicy"] == "ClusterFirstWithHostNet", "cluster names are unknown there"
    other = plan(deployment="other", kubernetes__router={"host_network": True})
    assert "127.139." not in scripts(other)["router.sh"], "two routers on one node would listen at the same addresses"


def test_v0_4_0_has_no_max_unavailable():
    planned = plan(kubernetes__kthena_version="v0.4.0")
    assert all("maxUnavailable" not in role for role in roles(planned).values())
    assert [item for each in planned["objects"] for item in check_manifest(each, "v0.4.0")] == []


def test_an_instance_over_two_nodes_has_a_worker():
    planned = plan(pools__decode__data_parallel_size=32)
    role = roles(planned)["decode"]
    assert role["workerReplicas"] == 1
    entry, worker = (role[key]["spec"] for key in ("entryTemplate", "workerTemplate"))
    assert entry["dnsPolicy"] == worker["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert worker["containers"][0]["args"][1] == "cd /workspace && exec ./decode-${WORKER_INDEX}.sh"
    assert "readinessProbe" not in worker["containers"][0]
    script = scripts(planned)["decode-1.sh"]
    assert '--data-parallel-address "${ENTRY_IP}"' in script
    assert 'echo "${ENTRY_IP}" > "${TMPDIR:-/tmp}/ascend-inference-entry"' in script, "whom it asks before it ends"
    assert "--data-parallel-start-rank 16" in script
    assert "--headless" in script
    assert [item.text() for each in planned["objects"] for item in check_manifest(each)] == []


def test_groups_multiply_instances_and_not_roles():
    planned = plan(kubernetes__groups=2)
    spec = objects(planned, "ModelServing")[0]["spec"]
    assert spec["replicas"] == 2
    assert spec["rolloutStrategy"] == {"type": "ServingGroupRollingUpdate"}, "all groups would lose a role at once"
    assert [item.text() for each in planned["objects"] for item in check_manifest(each)] == []
    assert roles(planned)["decode"]["replicas"] == 1
    prefill = [item["address"] for item in planned["services"] if item["kind"] == "prefill"]
    assert prefill == ["prefill-0.pod", "prefill-1.pod"]
    assert "/1/2" in scripts(planned)["router.sh"]


def test_kthena_router_has_one_port_and_separate_nodes():
    own = {"prefill": {"tensor_parallel_size": 2}, "decode": {"tensor_parallel_size": 2}}
    planned = plan(kubernetes__router={"mode": "kthena_router"}, pools=own)
    kinds = ["ConfigMap"] * 3 + ["PodMonitor", "ModelServing", "ModelServer", "ModelRoute"]
    assert [item["kind"] for item in planned["objects"]] == kinds
    spec = objects(planned, "ModelServer")[0]["spec"]
    assert spec["trafficPolicy"]["retry"] == {"attempts": 3, "retryInterval": "150ms"}
    assert spec["workloadPort"] == {"port": 7100, "protocol": "http"}
    assert spec["kvConnector"] == {"type": "mooncake"}
    anti = roles(planned)["decode"]["entryTemplate"]["spec"]["affinity"]["podAntiAffinity"]
    term = anti["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert term["labelSelector"]["matchLabels"]["modelserving.volcano.sh/role"] == "prefill"
    assert [item.text() for each in planned["objects"] for item in check_manifest(each)] == []


def test_a_store_brings_its_master_into_the_cluster():
    planned = plan(kv_transfer="mooncake+store")
    places = {place(item) for item in planned["objects"]}
    assert places > {f"{kind}/demo-mooncake-master" for kind in ("ConfigMap", "Service", "Deployment")}
    assert "demo-mooncake-master.serving.svc:" in scripts(planned)["prefill-mooncake.json"]
    assert '--rpc_address="${POD_IP}"' in scripts(planned)["mooncake-master.sh"]


def test_a_secret_is_referred_to_and_never_printed():
    planned = plan(secrets={"api_key": "s3cret-word"})
    env = roles(planned)["prefill"]["entryTemplate"]["spec"]["containers"][0]["env"]
    assert {
        "name": "VLLM_API_KEY",
        "valueFrom": {"secretKeyRef": {"name": "demo-secrets", "key": "api_key"}},
    } in env
    assert "s3cret-word" not in json.dumps(planned)


def test_the_users_patches_go_on_top_and_are_judged():
    patch = {"decode": {"spec": {"priorityClassName": "high"}, "container": {"imagePullPolicy": "Always"}}}
    spec = roles(plan(kubernetes__pods=patch))["decode"]["entryTemplate"]["spec"]
    assert spec["priorityClassName"] == "high"
    assert spec["containers"][0]["imagePullPolicy"] == "Always"


def test_the_plan_is_equal_however_it_is_written():
    assert json.dumps(plan()) == json.dumps(plan())
    text = yaml.safe_dump(plan()["objects"])
    assert "&id" not in text, "objects share parts: their YAML is unreadable"


def test_the_router_is_spread_limited_and_unprivileged():
    spec = objects(plan(), "Deployment")[0]["spec"]
    pod, (container,) = spec["template"]["spec"], spec["template"]["spec"]["containers"]
    assert spec["replicas"] == 2
    assert pod["topologySpreadConstraints"][0]["labelSelector"] == spec["selector"]
    assert container["resources"]["limits"] == {"cpu": "4", "memory": "8Gi"}
    assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["seccompProfile"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert pod["terminationGracePeriodSeconds"] == 335
    for changes in ({"router": {"port": 80}}, {"kubernetes__router": {"run_as_root": True}}):
        rooted = objects(plan(**changes), "Deployment")[0]["spec"]["template"]["spec"]
        assert "securityContext" not in rooted
    limited = objects(plan(kubernetes__router={"limits": {"cpu": "1"}}), "Deployment")[0]["spec"]["template"]["spec"]
    assert limited["containers"][0]["resources"] == {"limits": {"cpu": "1"}}


def test_a_drain_takes_one_of_several():
    planned = plan(pools__decode__instances=3, kubernetes__router={"replicas": 1})
    (budget,) = objects(planned, "PodDisruptionBudget")
    assert (budget["metadata"]["name"], budget["spec"]["minAvailable"]) == ("demo-decode", 2)
    assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow", "a drain waits for pods that never get ready"
    assert budget["spec"]["selector"]["matchLabels"]["modelserving.volcano.sh/role"] == "decode"
    assert [item.text() for item in check_manifest(budget)] == []


ENGINE_LABELS = json.dumps({"modelserving.volcano.sh/name": "demo"})
OTHERS = {"podSelector": {"matchLabels": OURS}}
PROMETHEUS = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
GATEWAY = {"ipBlock": {"cidr": "192.0.2.0/24"}}


def policies(planned):
    """The ingress rules of each NetworkPolicy, by the pods that it is for."""
    found = objects(planned, "NetworkPolicy")
    assert [item.text() for each in found for item in check_manifest(each)] == []
    return {
        json.dumps(item["spec"]["podSelector"]["matchLabels"], sort_keys=True): item["spec"]["ingress"]
        for item in found
    }


def test_pods_on_the_network_of_their_node_have_no_policy():
    """The router's port is open to everybody; what engines call comes from addresses of nodes."""
    ((selector, rules),) = policies(plan(kv_transfer="mooncake+store")).items()
    assert json.loads(selector) == {**OURS, "app.kubernetes.io/component": "router"}
    assert rules == [{"ports": [{"protocol": "TCP", "port": 8000}]}]
    (rule,) = next(iter(policies(plan(kubernetes__network={"clients": [GATEWAY]})).values()))
    assert rule["from"] == [GATEWAY]
    assert policies(plan(kubernetes__router={"host_network": True})) == {}
    # That of vllm-router has metrics of its own, which a PodMonitor reads.
    measured = {"router__flavour": "vllm_router", "kubernetes__router": {"image": "example.com/router:1"}}
    network = {"clients": [GATEWAY], "observers": [PROMETHEUS]}
    (rules,) = policies(plan(**measured, kubernetes__network=network)).values()
    assert [rule["from"] for rule in rules] == [[GATEWAY], [PROMETHEUS]]
    assert [rule["ports"][0]["port"] for rule in rules] == [8000, 8010]
    assert policies(plan(kubernetes__network={"policies": False})) == {}


def test_engines_with_addresses_of_their_own_are_reached_by_the_deployment_only():
    own = {"kubernetes__host_network": False, "kv_transfer": "mooncake+store"}
    found = policies(plan(**own))
    apis = [{"protocol": "TCP", "port": port} for port in (7300, 7200)]
    engines = found[ENGINE_LABELS]
    former = {
        "podSelector": {"matchLabels": {"modelserving.volcano.sh/name": "demo"}}
    }  # pods of an older version have no label of ours
    assert engines == [{"from": [former, OTHERS]}, {"ports": apis}]
    found = policies(plan(**own, kubernetes__network={"observers": [PROMETHEUS]}))
    assert found[ENGINE_LABELS][1] == {"ports": apis, "from": [PROMETHEUS]}
    inside, metrics = found[json.dumps({**OURS, "app.kubernetes.io/component": "mooncake-master"}, sort_keys=True)]
    assert inside["from"] == [former, OTHERS]
    assert metrics["from"] == [PROMETHEUS]
    assert metrics["ports"][0] in inside["ports"] and len(inside["ports"]) > 1


def test_a_pod_monitor_asks_the_engines_and_the_store():
    found = {
        item["metadata"]["name"]: item["spec"] for item in objects(plan(kv_transfer="mooncake+store"), "PodMonitor")
    }
    assert sorted(found) == ["demo-engines", "demo-mooncake-master"]
    assert found["demo-engines"] == {
        "selector": {"matchLabels": {"modelserving.volcano.sh/name": "demo"}},
        "podMetricsEndpoints": [{"port": "server", "path": "/metrics"}],
    }
    ports = roles(plan())["decode"]["entryTemplate"]["spec"]["containers"][0]["ports"]
    assert [port["name"] for port in ports] == ["server"]
    assert objects(plan(kubernetes__pod_monitor="never"), "PodMonitor") == []


def test_instances_over_several_nodes_start_whole_and_one_pair_is_enough():
    def gang(**changes):
        return objects(plan(**changes), "ModelServing")[0]["spec"]["template"].get("gangPolicy")

    wide = {"pools__decode__data_parallel_size": 32}
    assert gang(**wide) == {"minRoleReplicas": {"prefill": 1, "decode": 1}}
    assert gang() is None, "Kthena then starts all at once"
    assert gang(**wide, kubernetes__scheduler="default-scheduler") is None


NATIVE = {"kubernetes__workload": "native"}


def test_without_kthena_a_role_is_a_deployment_from_the_same_template():
    planned = plan(**NATIVE, pools__decode__instances=2)
    assert [place(item) for item in planned["objects"]][-3:] == [
        "Deployment/demo-prefill",
        "Deployment/demo-decode",
        "Deployment/demo-router",
    ]
    assert [item.text() for each in planned["objects"] for item in check_manifest(each)] == []
    spec = objects(planned, "Deployment")[1]["spec"]
    mine = {**OURS, "app.kubernetes.io/component": "decode"}
    assert (spec["replicas"], spec["selector"]) == (2, {"matchLabels": mine})
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}, "there are no spare devices"
    template = spec["template"]
    assert template["metadata"]["labels"] == {**SHOWN, **mine}
    theirs = roles(plan(pools__decode__instances=2))["decode"]["entryTemplate"]["spec"]
    fields = {
        item["name"]: item["valueFrom"]["fieldRef"]["fieldPath"]
        for item in template["spec"]["containers"][0].pop("env")
    }
    del theirs["containers"][0]["env"]
    assert template["spec"] == theirs
    assert fields["ROLE_ID"] == "metadata.name"
    assert fields["GROUP_NAME"] == "metadata.labels['app.kubernetes.io/part-of']"
    assert scripts(planned) == scripts(plan(pools__decode__instances=2))
    assert planned["kubernetes"]["roles"] == plan(pools__decode__instances=2)["kubernetes"]["roles"]
    selectors = {item["metadata"]["name"]: item["spec"]["selector"] for item in objects(planned, "Service")}
    assert selectors["demo-decode"] == mine
    budget = next(item for item in objects(planned, "PodDisruptionBudget") if item["metadata"]["name"] == "demo-decode")
    assert budget["spec"]["selector"] == {"matchLabels": mine}


def test_without_kthena_instances_over_several_nodes_are_a_leader_worker_set():
    planned = plan(**NATIVE, pools__decode__data_parallel_size=32, kubernetes__scheduler="volcano")
    (item,) = objects(planned, "LeaderWorkerSet")
    assert [found.text() for each in planned["objects"] for found in check_manifest(each)] == []
    inner = item["spec"]["leaderWorkerTemplate"]
    assert (item["metadata"]["name"], item["spec"]["replicas"], inner["size"]) == ("demo-decode-nodes", 1, 2)
    headless = next(each for each in objects(planned, "Service") if each["metadata"]["name"] == "demo-decode")
    assert headless["spec"]["selector"]["leaderworkerset.sigs.k8s.io/worker-index"] == "0"
    assert item["metadata"]["name"] not in {each["metadata"]["name"] for each in objects(planned, "Service")}
    for key in ("leaderTemplate", "workerTemplate"):
        assert inner[key]["spec"]["schedulerName"] == "volcano"
    script = inner["workerTemplate"]["spec"]["containers"][0]["args"][1]
    assert script == (
        "export ENTRY_ADDRESS=${LWS_LEADER_ADDRESS} WORKER_INDEX=${LWS_WORKER_INDEX} && "
        "cd /workspace && exec ./decode-${WORKER_INDEX}.sh"
    )
    wrong = json.loads(json.dumps(item))
    del wrong["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["volumes"]
    assert check_manifest(wrong)


def test_without_kthena_policies_and_monitors_select_by_our_labels():
    planned = plan(**NATIVE, kubernetes__host_network=False, kubernetes__separate_roles=True)
    rule = {"key": "app.kubernetes.io/component", "operator": "In", "values": ["prefill", "decode"]}
    found = {item["metadata"]["name"]: item["spec"] for item in objects(planned, "NetworkPolicy")}
    assert found["demo-engines"]["podSelector"] == {"matchLabels": OURS, "matchExpressions": [rule]}
    assert found["demo-engines"]["ingress"][0] == {"from": [OTHERS]}
    assert objects(planned, "PodMonitor")[0]["spec"]["selector"] == found["demo-engines"]["podSelector"]
    assert "modelserving.volcano.sh" not in json.dumps(planned["objects"])


def test_a_partition_is_of_groups_or_of_each_role():
    """Kthena's API: the first N keep their revision. A role's is a field of main."""
    planned = plan(kubernetes__partition=1, kubernetes__kthena_version="main")
    assert [role["partition"] for role in roles(planned).values()] == [1, 1]
    assert objects(planned, "ModelServing")[0]["spec"]["rolloutStrategy"] == {"type": "RoleRollingUpdate"}
    planned = plan(kubernetes__partition=1, kubernetes__groups=2)
    rolling = {"maxUnavailable": 1, "partition": 1}
    strategy = {"type": "ServingGroupRollingUpdate", "rollingUpdateConfiguration": rolling}
    assert objects(planned, "ModelServing")[0]["spec"]["rolloutStrategy"] == strategy
    assert planned["kubernetes"]["kept_groups"] == 1
    given = {"rolloutStrategy": {"rollingUpdateConfiguration": {"partition": "50%"}}}
    assert plan(kubernetes__serving=given, kubernetes__groups=3)["kubernetes"]["kept_groups"] == 2


def test_an_autoscaling_policy():
    scaled = {"decode": {"max": 4, "metrics": {"vllm:num_requests_waiting": 5}}}
    policy = {"behavior": {"scaleDown": {"stabilizationWindow": "10m"}}}
    planned = plan(kubernetes__autoscaling={"roles": scaled, "policy": policy}, pools__decode__instances=2)
    (found,) = objects(planned, "AutoscalingPolicy")
    assert check_manifest(found) == check_manifest(found, "main") == []
    metric = "vllm:num_requests_waiting"
    source = {"name": metric, "uri": "/metrics", "port": 7300}
    source["labelSelector"] = {"matchLabels": {"modelserving.volcano.sh/entry": "true"}}
    role = {"minReplicas": 2, "maxReplicas": 4, "metrics": [{"name": metric, "targetValue": "5"}]}
    role["metricSources"] = {metric: {"pod": source}}
    target = {"targetRef": {"kind": "ModelServing", "name": "demo"}, "roles": {"decode": role}}
    assert found["spec"] == {"disaggregatedTarget": target, **policy}
    assert roles(planned)["decode"]["replicas"] == 2


def box_of(**settings):
    """Prefill's pod with settings of the user."""
    spec = roles(plan(kubernetes__pods={"prefill": settings}))["prefill"]["entryTemplate"]["spec"]
    return spec, spec["containers"][0]


def test_what_the_user_sets_replaces_what_excludes_it():
    http = {"httpGet": {"path": "/x", "port": 7200}}
    box = box_of(
        container={
            "livenessProbe": http,
            "readinessProbe": {"exec": {"command": ["true"]}},
            "lifecycle": {"preStop": {"sleep": {"seconds": 7}}},
        }
    )[1]
    assert box["livenessProbe"] == {**http, "periodSeconds": 30, "timeoutSeconds": 30, "failureThreshold": 3}
    assert "httpGet" not in box["readinessProbe"]
    assert box["lifecycle"]["preStop"] == {"sleep": {"seconds": 7}}
    for wish in ({"privileged": True}, {"capabilities": {"add": ["SYS_ADMIN"]}}):
        assert "allowPrivilegeEscalation" not in box_of(container={"securityContext": wish})[1]["securityContext"]


@pytest.mark.parametrize(("given", "most"), [(30, 0), (70, 0), (100, 30), (1000, 300)])
def test_the_last_requests_get_no_more_time_than_the_pod(given, most):
    """Else the node would end the engine 2 seconds after its signal."""
    spec, box = box_of(spec={"terminationGracePeriodSeconds": given})
    assert spec["terminationGracePeriodSeconds"] == given
    assert (f" --leave {most} " in str(box["lifecycle"])) if most else "lifecycle" not in box
