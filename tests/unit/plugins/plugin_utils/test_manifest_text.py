# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests as text: the same for every reader of YAML."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.module_utils.kubernetes.manifests import objects
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes.manifest_text import (
    manifest_files,
    manifests,
)
from ansible_collections.ascend.inference.tests.unit.ansible_text import as_ansible
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.kthena_plans import plan


def text_of(value):
    """A plan with one object that holds the value, as text."""
    config_map = {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": value}}
    return manifests({**plan(), "objects": [config_map]})


@pytest.mark.parametrize(
    "word", ["1e5", "12e4567", "0128", "0o17", "0x1F", "1_000", "8", ".5", "", "true", "no", "null"]
)
def test_a_string_that_looks_like_something_else_is_quoted(word):
    assert f"a: '{word}'\n" in text_of(word)


@pytest.mark.parametrize("word", ["350Gi", "v0.13.0", "mooncake", "1h30m", "127.0.0.1"])
def test_other_words_stand_as_they_are(word):
    assert f"a: {word}\n" in text_of(word)


def test_the_plans_objects_come_back_and_scripts_can_be_read():
    planned = plan(kubernetes__pod_monitor="never")
    text = manifests(planned)
    assert list(yaml.safe_load_all(text)) == objects(planned)
    assert text.startswith("---\n") and text.endswith("\n...\n")
    assert "  prefill.sh: |\n    #!/bin/bash\n" in text
    assert "&id" not in text
    assert "containers:\n          - name: prefill\n            image: " in text, "in the order that people write"


def test_texts_of_ansible_are_written_as_texts():
    planned = plan(kubernetes__pod_monitor="always")
    assert manifests(as_ansible(planned)) == manifests(planned)
    assert manifest_files(as_ansible(planned)) == manifest_files(planned)


@pytest.mark.parametrize(("monitors", "written"), [("auto", False), ("always", True), ("never", False)])
def test_a_kind_that_a_cluster_may_lack_is_written_only_on_request(monitors, written):
    planned = plan(kubernetes__pod_monitor=monitors)
    assert ("kind: PodMonitor" in manifests(planned)) == written
    assert any(name.startswith("podmonitor-") for name in manifest_files(planned)) == written


def test_the_files_are_all_objects_under_names_that_stay():
    always = {"kubernetes__pod_monitor": "always"}
    plans = [plan(pools__decode__args={"max-num-seqs": number}, **always) for number in (8, 9)]
    first, changed = map(manifest_files, plans)
    assert list(first) == list(changed)
    assert {name for name in first if first[name] != changed[name]} == {
        "configmap-decode.yaml",
        "modelserving-engines.yaml",
    }
    kustomization = yaml.safe_load(first["kustomization.yaml"])
    found = [yaml.safe_load(first[name]) for name in kustomization["resources"]]
    annotations = [item["metadata"].pop("annotations") for item in found if item.get("immutable")]
    assert found == objects(plans[0])
    assert len(annotations) == 3, "pods of the old revision still mount what git no longer has"
    for each in annotations:
        assert each["argocd.argoproj.io/sync-options"] == "Prune=false"
        assert each["kustomize.toolkit.fluxcd.io/prune"] == "disabled"


def test_no_file_has_a_secret_and_one_that_is_made_elsewhere_is_named():
    with pytest.raises(ValueError, match="set inference_kubernetes.secrets.existing"):
        manifest_files(plan(secrets={"api_key": "s3cret-word"}))
    planned = plan(secrets={"api_key": "s3cret-word"}, kubernetes__secrets={"existing": "of-vault"})
    text = "".join(manifest_files(planned).values())
    assert "name: of-vault" in text
    assert "s3cret-word" not in text
