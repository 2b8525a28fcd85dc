# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Models in a bundle: what the manifest says of them, and what a changed one is refused with."""

from __future__ import annotations

import hashlib

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import manifest, models
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import not_held

SOURCE = "modelscope:o/m@v1"
FILES = {"config.json": b"{}", "figures/a b.txt": b"x", "模型.safetensors": b"weights"}


@pytest.fixture(name="bundle")
def _bundle(tmp_path):
    folder = tmp_path / "models/m"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    rows = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in FILES.items()
    ]
    (folder / listing.RECORD).write_text(listing.text(SOURCE, "c1", rows), encoding="utf-8")
    (folder / listing.RECORD).chmod(0o644)
    return tmp_path


def read(bundle):
    manifest.write(str(bundle), manifest.manifest({}, models.items(str(bundle), ["m"]), []))
    return manifest.read(str(bundle))


def test_the_manifest_has_each_file_and_the_record(bundle):
    data = read(bundle)
    assert {each["path"] for each in data["items"]} == {f"models/m/{name}" for name in (*FILES, listing.RECORD)}
    assert all(each["origin"] == SOURCE for each in data["items"])
    assert manifest.verify(str(bundle), data) == []
    digest = listing.read(str(bundle / "models/m"))["digest"]
    assert models.held(str(bundle), data) == {"m": {"source": SOURCE, "revision": "c1", "digest": digest}}
    assert manifest.files_for(data, "any", ("wheel", "cann")) == {}  # hosts get a model from the role model


def test_a_file_that_is_missing_or_changed_is_named(bundle, monkeypatch):
    data = read(bundle)
    weights = bundle / "models/m/模型.safetensors"
    weights.write_bytes(b"WEIGHTS")
    assert [each.id for each in manifest.verify(str(bundle), data)] == ["bundle_file_changed"]
    monkeypatch.setattr(manifest, "READ", 6)  # as if it were large: who gets it compares
    assert manifest.verify(str(bundle), data) == []
    weights.write_bytes(b"WEIGHT")
    assert [each.id for each in manifest.verify(str(bundle), data)] == ["bundle_file_size"]
    weights.unlink()
    assert [each.id for each in manifest.verify(str(bundle), data)] == ["bundle_file_missing"]
    with pytest.raises(manifest.BundleError, match="模型.safetensors is missing.*run the playbook bundle again"):
        models.items(str(bundle), ["m"])
    with pytest.raises(manifest.BundleError, match="it has no record"):
        models.items(str(bundle), ["other"])


def test_a_record_of_other_files_is_refused(bundle):
    data = read(bundle)
    rows = [{"name": "config.json", "size": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}]
    (bundle / "models/m" / listing.RECORD).write_text(listing.text(SOURCE, "c1", rows), encoding="utf-8")
    with pytest.raises(manifest.BundleError, match="names other files than the manifest"):
        models.held(str(bundle), data)


@pytest.mark.parametrize(
    ("name", "folder", "path"),
    [
        ("../x", "m", "models/m/../x"),
        ("x", "..", "models/../x"),
        ("x", "m/n", "models/m/n/x"),
        ("x", "m", "blobs/x"),
        ("a\nb", "m", "models/m/a\nb"),
        (".cache/x", "m", "models/m/.cache/x"),
    ],
)
def test_a_path_elsewhere_is_no_file_of_a_model(bundle, name, folder, path):
    data = read(bundle)
    data["items"].append(manifest.item("model", name, SOURCE, "a" * 64, 1, path, version=folder))
    manifest.write(str(bundle), data)
    with pytest.raises(manifest.BundleError, match="items of another form"):
        manifest.read(str(bundle))


@pytest.mark.parametrize(
    ("source", "held", "text"),
    [
        (SOURCE, (), "the model /models/m (inference_bundle_model: true fetches it)"),
        ("", (), "the model /models/m"),
        (SOURCE, ("m",), None),
        ("tiny", (), None),
    ],
)
def test_the_list_says_whether_the_model_is_there(source, held, text):
    plan = {"hosts": [], "model": {"path": "/models/m", "source": source}, "engine_facts": {"npus": False}}
    plan.update(services=[], software={}, runtime_facts={})
    assert not_held(plan, {}, held) == ([text] if text else [])
