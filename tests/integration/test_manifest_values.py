# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a plan reach pods as they are: the text of the manifests is read by the models of the Kubernetes API, and the scripts are run by bash."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import types

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest_text import manifests
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.script import script
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family
from ansible_collections.ascend.inference.tests.unit.test_awkward_values import AWKWARD, SHOW

client = pytest.importorskip("kubernetes.client", reason="needs the library of the role kthena")
# The workload whose objects are all of Kubernetes itself, and words that other readers of YAML take for numbers, dates or booleans.
CHANGES = {
    "inference_kubernetes": {
        "namespace": "serving",
        "workload": "native",
        "annotations": {
            "a": "1e5",
            "b": 'it\'s "quoted" # no comment',
            "c": "yes",
            "d": "2026-01-01",
            "e": "a: b",
            "f": " x ",
        },
        "node_selector": {"example.com/zone": "0128"},
    },
    "inference_env": {"A": "%h $HOME ${POD_NAME} `id`", "B": "a\\b 'c' \"d\""},
}
VERSION = re.compile(r"(?:(?P<group>[\w.-]+)/)?v(?P<version>\w+)")


def written():
    """The objects as the text of the manifests has them, and the plan."""
    plan = launch_plan(*family("kubernetes", CHANGES))
    return list(yaml.safe_load_all(manifests(plan))), plan


def test_the_models_of_the_api_keep_every_value():
    """A key that the API does not know would be dropped, a value of another type refused."""
    found, _plan = written()
    kinds = {item["kind"] for item in found}
    assert {"ConfigMap", "Service"} < kinds, kinds
    api = client.ApiClient()
    read = (
        api._ApiClient__deserialize
    )  # what deserialize does with the parsed answer of a server; its own arguments differ by version
    known = [item for item in found if hasattr(client, f"V1{item['kind']}")]
    assert {item["kind"] for item in found} - {item["kind"] for item in known} <= {"PodMonitor", "ModelServing"}
    for item in known:
        model = read(item, f"V1{item['kind']}")
        assert api.sanitize_for_serialization(model) == item


def test_awkward_annotations_are_texts():
    found, _plan = written()
    (annotations,) = {
        json.dumps(part["metadata"]["annotations"])
        for item in found
        for part in _templates(item)
        if "f" in part.get("metadata", {}).get("annotations", {})
    }
    wanted = CHANGES["inference_kubernetes"]["annotations"]
    assert wanted.items() <= json.loads(annotations).items()


def _templates(value):
    """All objects in an object that have metadata."""
    if isinstance(value, dict):
        if "metadata" in value:
            yield value
        for item in value.values():
            yield from _templates(item)
    if isinstance(value, list):
        for item in value:
            yield from _templates(item)


def test_each_value_arrives_in_the_pods_program(tmp_path):
    service = types.SimpleNamespace(
        address="192.0.2.9",
        kind="decode",
        source=(),
        env={**AWKWARD, "SEEN": str(tmp_path / "seen"), "OF_THE_POD": "http://192.0.2.9:1 ${POD_IP} ${NO_SUCH}"},
        argv=(sys.executable, "-c", SHOW, *AWKWARD.values(), "--host", "192.0.2.9"),
    )
    (tmp_path / "run.sh").write_text(script(service, ()), encoding="utf-8")
    environment = {"PATH": "/usr/bin:/bin", "POD_IP": "10.1.2.3"}
    subprocess.run(["/bin/bash", str(tmp_path / "run.sh")], env=environment, check=True)
    arguments, found = json.loads((tmp_path / "seen").read_text(encoding="utf-8"))
    assert arguments == [*AWKWARD.values(), "--host", "10.1.2.3"]
    assert {name: found.get(name) for name in AWKWARD} == AWKWARD
    assert found["OF_THE_POD"] == "http://10.1.2.3:1 10.1.2.3 ${NO_SUCH}"
