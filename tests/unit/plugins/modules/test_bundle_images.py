# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module bundle_images: images are loaded from the files of a bundle, and what the engine has afterwards is proved by its id."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import bundle_images
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import ToolMissing

NAME = "quay.io/ascend/vllm-ascend:v1"
# As the engine of Docker 20.10: untars, reads manifest.json, compares the layers with the configuration, names the configuration's digest.
ENGINE = """#!@PYTHON@
import gzip, hashlib, json, os, sys, tarfile
folder, argv = "@FOLDER@", sys.argv[1:]
state = os.path.join(folder, "state.json")
images = json.load(open(state)) if os.path.exists(state) else {}
if argv[:2] == ["image", "inspect"]:
    known = images.get(argv[-1])
    print(known or "")
    sys.exit(0 if known else 1)
if argv[0] == "info":
    print(folder)
    sys.exit(0)
assert argv == ["load", "--quiet"], argv
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as archive:
    files = {member.name: archive.extractfile(member).read() for member in archive}
if "manifest.json" not in files:
    sys.exit("open manifest.json: no such file or directory")
for entry in json.loads(files["manifest.json"].decode()):
    config = json.loads(files[entry["Config"]].decode())
    layers = [gzip.decompress(files[layer]) for layer in entry["Layers"]]
    if ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers] != config["rootfs"]["diff_ids"]:
        sys.exit("invalid diffID for layer 0")
    index = json.loads(files["index.json"].decode())["manifests"]
    for name in entry["RepoTags"]:
        assert "@" not in name and name.count(":") >= 1 and name in [each["annotations"]["io.containerd.image.name"] for each in index]
        id_ = "sha256:" + hashlib.sha256(files[entry["Config"]]).hexdigest()
        images[name[len("docker.io/library/"):] if name.startswith("docker.io/library/") else name] = id_
json.dump(images, open(state, "w"))
print("Loaded")
"""


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def add(folder, content):
    """Write a part as bundle_files places it; its digest."""
    (folder / digest(content)[7:]).write_bytes(content)
    return digest(content)


def made(folder, name=NAME, layers=(b"base", b"more")):
    """The files of an image in ``folder``; the image as a manifest names it."""
    folder.mkdir(exist_ok=True)
    stored = []
    for layer in layers:
        with io.BytesIO() as stream:
            with tarfile.open(fileobj=stream, mode="w") as archive:
                member = tarfile.TarInfo("file")
                member.size = len(layer)
                archive.addfile(member, io.BytesIO(layer))
            stored.append(stream.getvalue())
    root = {"type": "layers", "diff_ids": [digest(layer) for layer in stored]}
    config = add(folder, json.dumps({"architecture": "arm64", "os": "linux", "rootfs": root}).encode())
    entries = [{"digest": add(folder, gzip.compress(layer))} for layer in stored]
    text = json.dumps({"schemaVersion": 2, "config": {"digest": config}, "layers": entries})
    return {"name": name, "digest": add(folder, text.encode()), "config": config}


@pytest.fixture
def engine(tmp_path):
    program = tmp_path / "docker"
    program.write_text(ENGINE.replace("@PYTHON@", sys.executable).replace("@FOLDER@", str(tmp_path)))
    program.chmod(0o755)
    return str(program)


def test_images_are_loaded_once_from_their_files(tmp_path, run_module, engine):
    directory = tmp_path / "cache"
    images = [made(directory), made(directory, "tiny:1", (b"base", b"other"))]
    given = {"directory": str(directory), "images": images, "engine": engine}
    checked = run_module("bundle_images", check=True, **given)
    assert checked["changed"] and checked["loaded"] == [NAME, "tiny:1"] and not (tmp_path / "state.json").exists()
    done = run_module("bundle_images", **given)
    assert done["changed"] and done["loaded"] == [NAME, "tiny:1"]
    again = run_module("bundle_images", **given)
    assert (again["changed"], again["loaded"]) == (False, [])


def test_an_image_by_digest_gets_a_tag(tmp_path, run_module, engine):
    image = made(tmp_path / "cache", "quay.io/ascend/vllm-ascend:v1@sha256:" + 64 * "a")
    given = {"directory": str(tmp_path / "cache"), "images": [image], "engine": engine}
    local = "quay.io/ascend/vllm-ascend:sha256-" + 64 * "a"
    assert run_module("bundle_images", **given)["names"] == [local]
    assert json.loads((tmp_path / "state.json").read_text()) == {local: image["config"]}
    assert not run_module("bundle_images", **given)["changed"]


def test_another_image_of_the_name_is_replaced(tmp_path, run_module, engine):
    image = made(tmp_path / "cache")
    (tmp_path / "state.json").write_text(json.dumps({NAME: "sha256:" + "0" * 64}))
    done = run_module("bundle_images", directory=str(tmp_path / "cache"), images=[image], engine=engine)
    assert done["loaded"] == [NAME] and json.loads((tmp_path / "state.json").read_text())[NAME] == image["config"]


def test_the_id_of_containerd_s_storage_is_accepted(tmp_path, run_module, engine):
    image = made(tmp_path / "cache")
    (tmp_path / "state.json").write_text(json.dumps({NAME: image["digest"]}))
    done = run_module("bundle_images", directory=str(tmp_path / "cache"), images=[image], engine=engine)
    assert not done["changed"]


def test_another_id_after_loading_is_an_error(tmp_path, run_module, engine):
    image = {**made(tmp_path / "cache"), "config": "sha256:" + "0" * 64}
    done = run_module("bundle_images", directory=str(tmp_path / "cache"), images=[image], engine=engine)
    assert done["failed"] and "[bundle_image_id]" in done["msg"] and "expected sha256:0000" in done["msg"]


def test_what_cannot_be_loaded_is_an_error(tmp_path, run_module, engine):
    directory = tmp_path / "cache"
    image = made(directory)
    given = {"directory": str(directory), "images": [image], "engine": engine}
    layer = json.loads((directory / image["digest"][7:]).read_text())["layers"][0]["digest"]
    (directory / layer[7:]).write_bytes(gzip.compress(b"another"))
    assert "invalid diffID" in run_module("bundle_images", **given)["msg"]
    (directory / layer[7:]).unlink()
    done = run_module("bundle_images", **given)
    assert done["failed"] and layer[7:] in done["msg"] and not (tmp_path / "state.json").exists()
    (directory / image["digest"][7:]).write_text(json.dumps({"config": {"digest": "sha256:../../x"}, "layers": []}))
    assert "names a part 'sha256:../../x'" in run_module("bundle_images", **given)["msg"]
    missing = run_module("bundle_images", **{**given, "images": [made(directory)], "engine": str(tmp_path / "absent")})
    assert missing["failed"] and "cannot be started" in missing["msg"]


def test_too_small_a_disk_of_the_engine_is_named_before_loading(tmp_path, run_module, engine, monkeypatch):
    from ansible_collections.ascend.inference.plugins.module_utils.install import bundle_images

    image = made(tmp_path / "cache")
    needed = 2 * sum(file.stat().st_size for file in (tmp_path / "cache").iterdir())
    monkeypatch.setattr(bundle_images, "free", lambda path: needed - 1)
    with pytest.raises(bundle_images.ImagesError, match=r"\[bundle_space\]"):
        bundle_images.load(engine, str(tmp_path / "cache"), [image], 60)
    assert not os.path.exists(str(tmp_path / "state.json"))
    monkeypatch.setattr(bundle_images, "free", lambda path: needed)
    bundle_images.load(engine, str(tmp_path / "cache"), [image], 60)
    assert os.path.exists(str(tmp_path / "state.json"))


def test_parts_of_images_that_the_engine_has_are_not_copied(tmp_path, run_module, engine):
    folder = tmp_path / "source"
    one, two = made(folder), made(folder, "tiny:1", (b"base", b"other"))
    parts = {image["name"]: parts_of(folder, image) for image in (one, two)}
    files = {name: {"sha256": name, "size": (folder / name).stat().st_size} for each in parts.values() for name in each}
    given = {
        "directory": str(tmp_path / "cache"),
        "files": files,
        "images": [one, two],
        "parts": parts,
        "engine": engine,
    }
    assert run_module("bundle_files", **given)["missing"] == sorted(files)
    (tmp_path / "state.json").write_text(json.dumps({NAME: one["config"]}))
    assert run_module("bundle_files", **given)["missing"] == sorted(parts["tiny:1"])


def parts_of(folder, image):
    manifest = json.loads((folder / image["digest"][7:]).read_text())
    digests = [image["digest"], image["config"]] + [layer["digest"] for layer in manifest["layers"]]
    return [each[7:] for each in digests]


@pytest.mark.parametrize(
    ("rc", "output", "found"),
    [
        (0, "sha256:ab\n", "sha256:ab"),
        (0, "ab\n", "sha256:ab"),  # podman
        (0, "\n", ""),
        (1, "sha256:ab\n", ""),
        (None, "", ""),
    ],
)
def test_the_id_of_an_image(monkeypatch, rc, output, found):
    def execute(argv, *_more):
        if rc is None:
            raise ToolMissing("docker")
        return type("Done", (), {"rc": rc, "stdout": output})()

    monkeypatch.setattr(bundle_images, "execute", execute)
    assert bundle_images.identity("docker", NAME) == found


@pytest.mark.parametrize("known", ["config", "digest", ""])
def test_an_image_that_the_engine_has_changes_nothing(run_module, tmp_path, monkeypatch, known):
    """With containerd's storage the id is the digest of the manifest."""
    image = made(tmp_path / "parts")
    monkeypatch.setattr(bundle_images, "identity", lambda *_arguments: image.get(known, ""))
    options = {"directory": str(tmp_path / "parts"), "images": [image]}
    found = run_module("bundle_images", check=True, **options)
    assert found["changed"] is not bool(known) and found["loaded"] == ([] if known else [NAME])
    assert (found["diff"] == {}) if known else (found["diff"]["after"] == NAME + "\n")
