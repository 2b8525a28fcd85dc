# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images in a bundle: the digests of the registry are kept, layers are fetched once, and each fault is named before anything is copied."""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import sys

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Output, ToolMissing
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import images
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import PlannedImage
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import (
    MANIFEST,
    BundleError,
    manifest,
    read,
    verify,
    write,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.placing import (
    ARCHIVE,
    archives,
    images_of_host,
    parts_of_images,
    prove_digests,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import FetchError, Store
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.text import table

NAME = "quay.io/ascend/vllm-ascend:v0.23.0-a3"
SCHEMA2 = "application/vnd.docker.distribution.manifest.v2+json"


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


class Skopeo:
    """A registry behind skopeo's command line: repositories with manifests by tag and digest, configurations and layers.

    As strict as skopeo: copies by digest only what is asked, keeps blobs that have the name, and leaves a converted configuration behind.
    """

    def __init__(self):
        self.texts, self.blobs, self.copied, self.asked, self.times = {}, {}, [], [], []
        self.trickles = False

    def image(self, name, layers, architecture="arm64", repository="quay.io/ascend/vllm-ascend"):
        """Add an image; its manifest's digest."""
        config = json.dumps({"architecture": architecture, "os": "linux", "name": name})
        entries = [{"mediaType": "x", "digest": digest(layer), "size": len(layer)} for layer in layers]
        self.blobs.update({digest(layer): layer for layer in layers})
        config_entry = {"mediaType": "c", "digest": digest(config.encode()), "size": len(config)}
        text = json.dumps({"schemaVersion": 2, "mediaType": SCHEMA2, "config": config_entry, "layers": entries})
        for reference in (f"{repository}:{name}", f"{repository}@{digest(text.encode())}"):
            self.texts[f"docker://{reference}"] = (text, config)
        return digest(text.encode())

    def list_(self, name, digests, repository="quay.io/ascend/vllm-ascend"):
        """Add a list of images {architecture: digest}."""
        listed = [{"digest": each, "platform": {"architecture": key, "os": "linux"}} for key, each in digests.items()]
        self.texts[f"docker://{repository}:{name}"] = (json.dumps({"manifests": listed}), "")

    def __call__(self, argv, timeout, env, **limits):
        self.asked.append(argv)
        self.times.append(timeout)
        if argv[1] == "copy":
            return Output(argv, None, "", "", True) if self.trickles else self.copy(argv)
        if argv[-1] not in self.texts:
            return Output(argv, 1, "", 'level=fatal msg="manifest unknown"', False)
        return Output(argv, 0, self.texts[argv[-1]]["--config" in argv], "", False)

    def copy(self, argv):
        blobs = pathlib.Path(argv[argv.index("--dest-shared-blob-dir") + 1]) / "sha256"
        for layer in json.loads(self.texts[argv[-2]][0])["layers"]:
            place = blobs / layer["digest"][7:]
            if not place.exists():
                self.copied.append(layer["digest"])
                place.write_bytes(self.blobs[layer["digest"]])
        (blobs / ("0" * 64)).write_text("{}")
        return Output(argv, 0, "", "", False)


@pytest.fixture
def skopeo():
    return Skopeo()


def found(skopeo, name=NAME, machine="aarch64"):
    return images.Registry(skopeo).find(PlannedImage(name, machine))


def test_the_image_of_the_machine_is_taken_out_of_a_list_by_its_digest(skopeo):
    wanted = skopeo.image("arm", [b"one", b"layer"])
    skopeo.list_("v0.23.0-a3", {"amd64": skopeo.image("amd", [b"x"], "amd64"), "arm64": wanted})
    image = found(skopeo)
    assert (image.digest, image.size) == (wanted, sum(image.parts.values()))
    top = skopeo.texts["docker://" + NAME][0].encode()
    assert image.origin == f"docker://quay.io/ascend/vllm-ascend@{digest(top)}"
    assert found(skopeo, machine="x86_64").config == skopeo.texts[skopeo.asked[-1][-1]][1]


def test_names_are_completed_as_docker_does(skopeo):
    skopeo.image("1", [b"x"], repository="docker.io/library/tiny")
    assert found(skopeo, "tiny:1").name == "tiny:1"
    skopeo.image("latest", [b"x"], repository="localhost:5000/tiny")
    assert found(skopeo, "localhost:5000/tiny").origin.startswith("docker://localhost:5000/tiny@sha256:")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda skopeo: None, "manifest unknown.*skopeo login"),
        (lambda skopeo: skopeo.image("v0.23.0-a3", [b"x"], "amd64"), "is for amd64, and the hosts need arm64"),
        (lambda skopeo: skopeo.list_("v0.23.0-a3", {"amd64": "sha256:" + 64 * "0"}), "is for amd64"),
        (
            lambda skopeo: skopeo.list_("v0.23.0-a3", {"arm64": "sha256:../../etc/passwd"}),
            "is for arm64, and the hosts need arm64",
        ),
        (lambda skopeo: skopeo.texts.update({"docker://" + NAME: ("<html>", "")}), "not JSON"),
        (lambda skopeo: skopeo.texts.update({"docker://" + NAME: ('{"fsLayers": []}', "")}), "another form"),
    ],
)
def test_what_the_registry_does_not_have_is_named(skopeo, change, text):
    change(skopeo)
    with pytest.raises(FetchError, match=text):
        found(skopeo)


PART = {"digest": "sha256:" + 64 * "0", "size": 1}
WHOLE = {"config": PART, "layers": [PART]}


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        pytest.param("[" * 100000, "not JSON", id="deep"),
        pytest.param('{"layers":' * 30000, "not JSON", id="deep objects"),
        ("[]", "another form"),
        ("{}", "its configuration has no digest"),
        ({**WHOLE, "config": None}, "its configuration has no digest"),
        ({**WHOLE, "config": "sha256:" + 64 * "0"}, "its configuration has no digest"),
        ({**WHOLE, "config": {"digest": ["x"], "size": 1}}, "its configuration has no digest"),
        ({"config": PART}, "no layers with digest and size"),
        ({**WHOLE, "layers": None}, "no layers"),
        ({**WHOLE, "layers": {"digest": "x"}}, "no layers"),
        ({**WHOLE, "layers": "xy"}, "no layers"),
        ({**WHOLE, "layers": [None]}, "no layers"),
        ({**WHOLE, "layers": [{"digest": PART["digest"]}]}, "no layers"),
        ({**WHOLE, "layers": [{**PART, "size": "1"}]}, "no layers"),
        ({**WHOLE, "layers": [{**PART, "size": -1}]}, "no layers"),
        ({**WHOLE, "layers": [{**PART, "size": True}]}, "no layers"),
        ({**WHOLE, "layers": [{**PART, "size": 10**30}]}, "no layers"),
        ({**WHOLE, "layers": [{**PART, "size": float("nan")}]}, "no layers"),
        ({**WHOLE, "layers": [{**PART, "digest": "sha256:../../x"}]}, "no layers"),
        ({**WHOLE, "mediaType": ["x"]}, "mediaType"),
        ({"manifests": None}, "list of manifests of another form"),
        ({"manifests": {"digest": 1}}, "list of manifests of another form"),
        ({"manifests": ["x"]}, "list of manifests of another form"),
        ({"manifests": [{"platform": "linux"}]}, "is for no Linux"),
        ({"manifests": [{"platform": {"os": "linux", "architecture": ["arm64"]}}]}, "the hosts need arm64"),
        ({"manifests": []}, "is for no Linux"),
    ],
)
def test_manifests_of_odd_forms_get_one_clear_message(skopeo, manifest, text):
    written = manifest if isinstance(manifest, str) else json.dumps(manifest)
    skopeo.texts["docker://" + NAME] = (written, "{}")
    with pytest.raises(FetchError, match=text):
        found(skopeo)


def test_a_list_within_a_list_is_not_followed(skopeo):
    text = json.dumps({"manifests": [{"digest": "sha256:" + 64 * "0", "platform": {"os": "linux"}}]})
    skopeo.texts[f"docker://quay.io/ascend/vllm-ascend@{digest(text.encode())}"] = (text, "")
    skopeo.list_("v0.23.0-a3", {"arm64": digest(text.encode())})
    with pytest.raises(FetchError, match="a list of manifests in a list of manifests"):
        found(skopeo)


@pytest.mark.parametrize("config", ["[]", "null", "[" * 100000, '{"architecture": {"x": 1}}'], ids=len)
def test_a_configuration_of_an_odd_form_gets_one_clear_message(skopeo, config):
    text = json.dumps({"config": {"digest": digest(config.encode()), "size": 1}, "layers": []})
    skopeo.texts["docker://" + NAME] = (text, "")
    skopeo.texts[f"docker://quay.io/ascend/vllm-ascend@{digest(text.encode())}"] = (text, config)
    with pytest.raises(FetchError):
        found(skopeo)


def test_an_image_by_digest_is_the_planned_one_or_refused(skopeo):
    wanted = skopeo.image("v0.23.0-a3", [b"x"])
    name = f"quay.io/ascend/vllm-ascend:v0.23.0-a3@{wanted}"
    image = found(skopeo, name)
    assert (image.name, image.digest) == (name, wanted) and image.origin.endswith(f"vllm-ascend@{wanted}")
    skopeo.texts[f"docker://quay.io/ascend/vllm-ascend@{wanted}"] = ('{"schemaVersion": 2}', "{}")
    with pytest.raises(FetchError, match="manifest is not the planned one"):
        found(skopeo, name)


def test_another_configuration_or_manifest_than_its_digest_says_is_refused(skopeo):
    wanted = skopeo.image("v0.23.0-a3", [b"x"])
    place = f"docker://quay.io/ascend/vllm-ascend@{wanted}"
    skopeo.texts[place] = (skopeo.texts[place][0], "{}")
    with pytest.raises(FetchError, match="configuration is not that of the manifest"):
        found(skopeo)
    skopeo.list_("v0.23.0-a3", {"arm64": wanted})
    skopeo.texts[place] = ("{}", "{}")
    with pytest.raises(FetchError, match=f"manifest is not {wanted}"):
        found(skopeo)


def test_without_skopeo_the_fix_is_named():
    def missing(argv, timeout, env):
        raise ToolMissing("skopeo cannot be started: No such file or directory")

    with pytest.raises(FetchError, match="Fix: install skopeo"):
        found(missing)


def bundled(skopeo, folder, *names, base=""):
    """A bundle with images; its store."""
    store, listed = Store(str(folder), base), [found(skopeo, name) for name in names]
    for image in listed:
        images.fetch(image, images.Registry(skopeo), store)
    head = {"images": [image.as_dict() for image in listed]}
    write(str(folder), manifest(head, images.items(listed, str(folder)), []))
    return store


def test_layers_are_shared_and_fetched_once(skopeo, tmp_path):
    skopeo.image("v0.23.0-a3", [b"base", b"a3"])
    skopeo.image("v0.23.0", [b"base", b"a2"])
    both = (NAME, NAME.replace("-a3", ""))
    first = bundled(skopeo, tmp_path, *both)
    assert skopeo.copied == [digest(b"base"), digest(b"a3"), digest(b"a2")]
    assert first.fetched_bytes == 8 and [each.rpartition(":")[2] for each in first.fetched] == [
        "v0.23.0-a3 for aarch64",
        "v0.23.0 for aarch64",
    ]
    (argv, *_others) = [argv for argv in skopeo.asked if argv[1] == "copy"]
    assert argv[2:8] == [
        *("--quiet", "--remove-signatures", "--retry-times", "3", "--dest-oci-accept-uncompressed-layers"),
        "--override-os",
    ]
    assert argv[8:11] == ["linux", "--override-arch", "arm64"] and argv[11] == "--dest-shared-blob-dir"
    copies = sum(argv[1] == "copy" for argv in skopeo.asked)
    assert bundled(skopeo, tmp_path, *both).fetched == []
    assert sum(argv[1] == "copy" for argv in skopeo.asked) == copies
    blobs = {path.name for path in (tmp_path / images.BLOBS).iterdir()}
    assert len(blobs) == 7 and "0" * 64 not in blobs, "what skopeo converted stays"
    assert verify(str(tmp_path), read(str(tmp_path))) == []
    assert json.loads((tmp_path / "images/oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads((tmp_path / "images/index.json").read_text())["manifests"]
    assert [(each["mediaType"], each["platform"]["architecture"]) for each in index] == [(SCHEMA2, "arm64")] * 2


def test_layers_of_an_older_bundle_that_are_here_as_well_stay_here(skopeo, tmp_path):
    skopeo.image("v0.23.0", [b"base", b"a2"])
    for folder in ("old", "new"):
        bundled(skopeo, tmp_path / folder, NAME.replace("-a3", ""))
    skopeo.image("v0.23.0-a3", [b"base", b"a3"])
    scratch = tmp_path / "new/incomplete/image"
    scratch.mkdir(parents=True)  # as a run that was killed leaves it
    (scratch / "index.json").write_text("{}")
    bundled(skopeo, tmp_path / "new", NAME, base=str(tmp_path / "old"))
    place = tmp_path / "new" / images.BLOBS / digest(b"base")[7:]
    assert place.read_bytes() == b"base" and not place.is_symlink() and not scratch.exists()


def test_a_truncated_layer_is_fetched_again(skopeo, tmp_path):
    skopeo.image("v0.23.0-a3", [b"base", b"a3"])
    bundled(skopeo, tmp_path, NAME)
    (tmp_path / images.BLOBS / digest(b"base")[7:]).write_bytes(b"b")
    bundled(skopeo, tmp_path, NAME)
    assert skopeo.copied[2:] == [digest(b"base")] and verify(str(tmp_path), read(str(tmp_path))) == []


def test_a_layer_larger_than_the_manifest_says_ends_skopeo(skopeo, tmp_path, monkeypatch):
    """A registry may send without an end; skopeo compares sizes when it has everything."""
    skopeo.image("v0.23.0-a3", [b"base" * 2**20])
    image, program = found(skopeo), tmp_path / "bin" / "skopeo"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfolder = sys.argv[sys.argv.index('--dest-shared-blob-dir') + 1] + '/sha256/'\n"
        "with open(folder + 'oci-put-blob1', 'wb') as stream:\n"
        "    for _number in range(64):\n        stream.write(bytes(2**20))\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    sizes = []

    class Watched(images.Registry):
        def copy(self, image, folder, blobs):
            try:
                super().copy(image, folder, blobs)
            finally:
                sizes.extend(path.stat().st_size for path in pathlib.Path(blobs).rglob("oci-put*"))

    with pytest.raises(FetchError, match="sends a larger layer than the manifest says.*Fix:"):
        images.fetch(image, Watched(), Store(str(tmp_path / "bundle")))
    assert sizes == [4 * 2**20]
    assert not [path.name for path in (tmp_path / "bundle").rglob("oci-put*")]


@pytest.mark.parametrize(
    ("size", "seconds"),
    [(0, 1800), (2**17 - 1, 1800), (2**17, 1801), (5 * 2**30, 42760), (15 * 2**30, 86400), (2**50, 86400)],
)
def test_a_copy_may_take_as_long_as_its_bytes_need_on_a_slow_line_but_no_more_than_a_day(size, seconds):
    assert images.time_for(size) == seconds


def test_a_registry_that_sends_a_byte_now_and_then_holds_a_small_image_half_an_hour(skopeo, tmp_path):
    skopeo.image("v0.23.0-a3", [b"one"])
    image = found(skopeo)
    skopeo.trickles = True
    with pytest.raises(FetchError, match=r"did not end within 1800 s\. Fix: check its name, and network"):
        images.fetch(image, images.Registry(skopeo), Store(str(tmp_path)))
    assert skopeo.times == [300, 300, 1800]
    assert os.listdir(tmp_path / "incomplete") == []


def test_the_index_is_written_into_no_file_of_others(skopeo, tmp_path):
    skopeo.image("v0.23.0-a3", [b"base"])
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "b" / "images").mkdir(parents=True)
    for name in ("index.json", "index.json.new", "oci-layout.new"):
        (tmp_path / "b" / "images" / name).symlink_to(precious)
    bundled(skopeo, tmp_path / "b", NAME)
    assert precious.read_text() == "mine" and verify(str(tmp_path / "b"), read(str(tmp_path / "b"))) == []


def test_layers_of_an_older_bundle_are_left_out(skopeo, tmp_path):
    skopeo.image("v0.23.0", [b"base", b"a2"])
    skopeo.image("v0.23.0-a3", [b"base", b"a3"])
    bundled(skopeo, tmp_path / "old", NAME.replace("-a3", ""))
    bundled(skopeo, tmp_path / "new", NAME, base=str(tmp_path / "old"))
    assert skopeo.copied == [digest(b"base"), digest(b"a2"), digest(b"a3")]
    new = tmp_path / "new" / images.BLOBS
    assert not os.path.lexists(new / digest(b"base")[7:]) and (new / digest(b"a3")[7:]).is_file()


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda path: path.write_bytes(b"bas?"), "bundle_file_changed"),
        (lambda path: path.write_bytes(b"bas"), "bundle_file_size"),
        (lambda path: path.unlink(), "bundle_file_missing"),
    ],
)
def test_damage_is_named_with_the_image(skopeo, tmp_path, change, name):
    skopeo.image("v0.23.0-a3", [b"base"])
    bundled(skopeo, tmp_path, NAME)
    change(tmp_path / images.BLOBS / digest(b"base")[7:])
    (finding,) = verify(str(tmp_path), read(str(tmp_path)))
    assert finding.id == name and finding.path == f"image {NAME}, part {digest(b'base')[7:19]}"


def test_a_host_gets_the_parts_of_its_images_or_the_reason(skopeo, tmp_path):
    skopeo.image("v0.23.0-a3", [b"base"])
    bundled(skopeo, tmp_path, NAME)
    data = read(str(tmp_path))
    (entry,) = images_of_host(data, [NAME], "aarch64", "node1")
    files = parts_of_images(data, [entry])
    assert len(files) == 3 and files[digest(b"base")[7:]]["path"] == f"{images.BLOBS}/{digest(b'base')[7:]}"
    with pytest.raises(BundleError, match=r"node1 has machine x86_64, and .* for: aarch64. \[bundle_platform\]"):
        images_of_host(data, [NAME], "x86_64", "node1")
    with pytest.raises(BundleError, match=r"\[bundle_stale\]"):
        images_of_host(data, [NAME + "-openeuler"], "aarch64", "node1")
    del data["items"][0]
    with pytest.raises(BundleError, match="lacks the part"):
        parts_of_images(data, [entry])


@pytest.mark.parametrize("is_list", [False, True])
def test_an_image_that_is_planned_by_digest_is_proved_to_be_of_it(skopeo, tmp_path, is_list):
    planned = skopeo.image("arm", [b"base"])
    if is_list:
        skopeo.list_("v0.23.0-a3", {"arm64": planned})
        text = skopeo.texts["docker://" + NAME]
        planned = digest(text[0].encode())
        skopeo.texts[f"docker://quay.io/ascend/vllm-ascend@{planned}"] = text
    name = f"{NAME}@{planned}"
    bundled(skopeo, tmp_path, name)
    data = read(str(tmp_path))
    (entry,) = images_of_host(data, [name], "aarch64", "node1")
    assert verify(str(tmp_path), data) == [] and len(parts_of_images(data, [entry])) == (4 if is_list else 3)
    prove_digests(str(tmp_path), [entry, {"name": NAME, "digest": "sha256:" + 64 * "0"}])
    with pytest.raises(BundleError, match=r"\[bundle_image_digest\]"):
        prove_digests(str(tmp_path), [{**entry, "digest": "sha256:" + 64 * "0"}])
    (tmp_path / images.BLOBS / planned[7:]).write_text(json.dumps({"manifests": [{"digest": "sha256:" + 64 * "0"}]}))
    with pytest.raises(BundleError, match=r"\[bundle_image_digest\]"):
        prove_digests(str(tmp_path), [{**entry, "digest": "sha256:" + 64 * "0"}])


@pytest.mark.parametrize(
    "change", [{"name": 64 * "0"}, {"path": f"images/blobs/sha256/{64 * '0'}"}, {"sha256": 64 * "0"}]
)
def test_a_part_of_an_image_is_named_by_its_digest(skopeo, tmp_path, change):
    skopeo.image("v0.23.0-a3", [b"base"])
    bundled(skopeo, tmp_path, NAME)
    data = read(str(tmp_path))
    next(each for each in data["items"] if each["kind"] == "image").update(change)
    (tmp_path / MANIFEST).write_text(json.dumps(data))
    with pytest.raises(BundleError, match="items of another form"):
        read(str(tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "sha256:../x"},
        {"parts": ["../x"]},
        {"parts": "x"},
        {"name": "../x"},
        {"machine": "mips"},
        {"config": None},
    ],
)
def test_a_manifest_cannot_name_other_parts(skopeo, tmp_path, change):
    skopeo.image("v0.23.0-a3", [b"base"])
    bundled(skopeo, tmp_path, NAME)
    data = read(str(tmp_path))
    data["images"][0].update(change)
    (tmp_path / MANIFEST).write_text(json.dumps(data))
    with pytest.raises(BundleError, match="items of another form: images"):
        read(str(tmp_path))


def test_the_list_counts_shared_layers_once():
    rows = [
        {"kind": "image", "name": name, "size": 3 * 2**20, "sha256": 64 * "0", "origin": "docker://quay.io/x@sha256:0", "parts": parts}
        for name, parts in (("a", {"1": 2**20, "2": 2**21}), ("b", {"1": 2**20, "3": 2**21}))
    ]  # fmt: skip
    text = table(rows, [])
    assert "image        3.0 MiB  a (quay.io, sha256:000000000000)" in text and "2 images: 5.0 MiB" in text


def test_large_files_are_sent_in_several_archives():
    sizes = {"a": ARCHIVE // 2, "b": ARCHIVE // 2, "c": 1, "d": ARCHIVE * 3, "e": 1}
    files = {name: {"size": size} for name, size in sizes.items()}
    assert archives(files, sizes) == [["a", "b"], ["c"], ["d"], ["e"]] and archives(files, []) == []
