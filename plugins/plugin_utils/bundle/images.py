# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Container images in a bundle: one OCI layout in images/, with manifests and configurations as the registry has them.

skopeo fetches the layers into the layout. It would convert manifests of Docker's older form and so change their digests, so that the manifest and
the configuration, whose digest is the image's id in Docker, are read and stored as they are (skopeo-inspect(1), option --raw).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import typing as t
from dataclasses import dataclass

from ...module_utils.install.bundle_images import DIGEST, OCI_MANIFEST
from ...module_utils.install.venv import write_atomically
from ...module_utils.tools.image_name import full_name, repository_of
from ...module_utils.tools.runner import ToolMissing, environment, execute
from .contents import PlannedImage
from .manifest import item
from .store import FetchError, Store, folder_in

ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}  # names of Go, which images use
LAYOUT, BLOBS = "images", "images/blobs/sha256"
INSPECT, COPY, LONGEST_COPY = 300, 1800, 24 * 3600  # seconds
# Bytes a second below which nobody waits for the end: a registry that sends a byte now and then would hold the run for a day.
SLOWEST = 128 * 1024
RETRIES = "3"
# Bytes that a file of skopeo may have in any case: a manifest in another form is longer than the registry's.
LEAST = 2**20
LARGEST = 2**50  # bytes of one layer; what says more is no size
NETWORK = "check its name, and network, proxy and login (skopeo login) of this machine, then run the playbook again; it goes on with the rest"


def time_for(size: int) -> int:
    """Seconds that fetching ``size`` bytes may take: half an hour for retries and what is not data, and the bytes at the slowest rate."""
    return min(COPY + size // SLOWEST, LONGEST_COPY)


def digest_of(text: str) -> str:
    """The digest of a manifest or a configuration."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class Image:
    """One image for one machine, as its registry has it. ``origin`` has the digest that the name had in the registry.

    ``listing``: the list of manifests that a name with a digest is of; it proves on the other side that the manifest is the planned one.
    """

    name: str
    machine: str
    origin: str
    manifest: str
    config: str
    listing: str = ""

    @property
    def texts(self) -> list[str]:
        """Everything but the layers."""
        return [text for text in (self.manifest, self.config, self.listing) if text]

    @property
    def digest(self) -> str:
        """The digest of the manifest for this machine."""
        return digest_of(self.manifest)

    @property
    def layers(self) -> dict[str, int]:
        """{digest: bytes} of the layers."""
        return {layer["digest"]: int(layer["size"]) for layer in json.loads(self.manifest)["layers"]}

    @property
    def parts(self) -> dict[str, int]:
        """{digest: bytes} of everything: manifest, configuration, list of manifests, layers."""
        texts = {digest_of(text): len(text.encode("utf-8")) for text in self.texts}
        return {**texts, **self.layers}

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum(self.parts.values())

    @property
    def sha256(self) -> str:
        """The digest without its prefix, as lists of files show it."""
        return self.digest.partition(":")[2]

    def as_dict(self) -> dict[str, t.Any]:
        """The image in a bundle's manifest."""
        found = {"name": self.name, "machine": self.machine, "digest": self.digest, "config": digest_of(self.config)}
        return {**found, "parts": list(self.parts)}


class Registry:
    """Images of registries through skopeo, with its configuration: logins, proxies, policies."""

    def __init__(self, run: t.Callable[..., t.Any] = execute) -> None:
        self.run = run

    def find(self, planned: PlannedImage) -> Image:
        """The image that a name has for a machine; raises ``FetchError``."""
        name, architecture = planned.name, ARCHITECTURES[planned.machine]
        manifest = self._inspect(name, full_name(name))
        planned_digest = name.partition("@")[2]
        if planned_digest not in ("", digest_of(manifest)):
            raise FetchError(f"{name}: the registry's manifest is not the planned one. Fix: check the registry")
        origin = f"docker://{repository_of(full_name(name))}@{digest_of(manifest)}"
        data, listing = _parsed(name, manifest), ""
        if "manifests" in data:
            listing = manifest if planned_digest else ""
            manifest = self._chosen(name, architecture, data["manifests"])
            data = _parsed(name, manifest)
        if problem := _odd(data):
            raise FetchError(
                f"{name} has a manifest of another form than Docker's schema 2 or OCI: {problem}. Fix: push it again"
            )
        config = self._inspect(name, f"{repository_of(full_name(name))}@{digest_of(manifest)}", "--config")
        if digest_of(config) != data["config"].get("digest"):
            raise FetchError(
                f"{name}: the registry's configuration is not that of the manifest. Fix: check the registry"
            )
        found = str(_parsed(name, config).get("architecture"))
        if found != architecture:
            raise FetchError(_of_another(name, architecture, [found]))
        return Image(name, planned.machine, origin, manifest, config, listing)

    def _chosen(self, name: str, architecture: str, listed: t.Any) -> str:
        """The manifest for an architecture out of a list of them."""
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise FetchError(f"{name} has a list of manifests of another form. Fix: push it again")
        platforms = [
            (each["platform"] if isinstance(each.get("platform"), dict) else {}, str(each.get("digest")))
            for each in listed
        ]
        linux = [(each.get("architecture"), digest) for each, digest in platforms if each.get("os") == "linux"]
        digests = [digest for known, digest in linux if known == architecture and DIGEST.fullmatch(digest)]
        if not digests:
            raise FetchError(_of_another(name, architecture, [str(known) for known, _digest in linux]))
        manifest = self._inspect(name, f"{repository_of(full_name(name))}@{digests[0]}")
        if digest_of(manifest) != digests[0]:
            raise FetchError(f"{name}: the registry's manifest is not {digests[0]}. Fix: check the registry")
        return manifest

    def _inspect(self, name: str, reference: str, *options: str) -> str:
        return str(self._skopeo(name, INSPECT, "inspect", "--raw", *options, "docker://" + reference))

    def copy(self, image: Image, folder: str, blobs: str) -> None:
        """Fetch the layers that ``blobs`` lacks; ``folder`` gets a layout of skopeo's own that nobody needs. Raises ``FetchError``."""
        argv = [
            "copy",
            "--quiet",
            "--remove-signatures",
            "--retry-times",
            RETRIES,
            "--dest-oci-accept-uncompressed-layers",
        ]
        argv += [
            "--override-os",
            "linux",
            "--override-arch",
            ARCHITECTURES[image.machine],
            "--dest-shared-blob-dir",
            blobs,
        ]
        source = f"docker://{repository_of(full_name(image.name))}@{image.digest}"
        # skopeo compares the size of a layer when it has all of it.
        largest = max([*image.parts.values(), LEAST])
        self._skopeo(image.name, time_for(image.size), *argv, source, f"oci:{folder}:image", largest=largest)

    def _skopeo(self, name: str, timeout: int, *argv: str, **limits: int) -> str:
        try:
            done = self.run(["skopeo", *argv], timeout, environment(), **limits)
        except ToolMissing as error:
            raise FetchError(f"{error}. Fix: install skopeo on this machine; it fetches container images") from error
        if done.timed_out:
            raise FetchError(f"{name}: skopeo {argv[0]} did not end within {timeout} s. Fix: {NETWORK}")
        if done.rc != 0 and limits and "file too large" in done.stderr.lower():
            raise FetchError(
                f"{name}: the registry sends a larger layer than the manifest says, which may have no end. It was not kept. Fix: check the registry"
            )
        if done.rc != 0:
            raise FetchError(f"{name} cannot be fetched: {done.stderr.strip()[-600:]}. Fix: {NETWORK}")
        return str(done.stdout)


def _parsed(name: str, text: str) -> dict[str, t.Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FetchError(f"{name}: the registry's answer is not JSON: {error}. Fix: check the registry") from error
    if not isinstance(found, dict):
        raise FetchError(f"{name}: the registry's answer has another form. Fix: check the registry")
    return found


def _odd(data: t.Mapping[str, t.Any]) -> str:
    """What is wrong with the form of a manifest of one image; empty if nothing is. Registries may answer anything."""
    if "manifests" in data:
        return "it is a list of manifests in a list of manifests"
    if not _is_part(data.get("config")):
        return "its configuration has no digest and size"
    layers = data.get("layers")
    if not isinstance(layers, list) or not all(_is_part(layer) for layer in layers):
        return "it has no layers with digest and size"
    return "" if isinstance(data.get("mediaType", ""), str) else "its mediaType is no text"


def _is_part(entry: t.Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("digest"), str):
        return False
    size = entry.get("size")
    whole = isinstance(size, int) and not isinstance(size, bool)
    return bool(DIGEST.fullmatch(entry["digest"])) and whole and 0 <= size <= LARGEST


def _of_another(name: str, wanted: str, known: t.Sequence[str]) -> str:
    return (
        f"{name} is for {', '.join(sorted(known)) or 'no Linux'}, and the hosts need {wanted}; it would not start there. Fix: name an image "
        "that has this architecture (inference_image), or correct machine in inference_bundle_platform"
    )


def fetch(image: Image, registry: Registry, store: Store) -> None:
    """Bring the parts of an image into the layout; layers that are there, or in the older bundle, are not fetched. Raises ``FetchError``."""
    blobs = folder_in(store.folder, *BLOBS.split("/"))
    for text in image.texts:
        write_atomically(_place(store.folder, digest_of(text)), text)
    older = [digest for digest, size in image.layers.items() if store.base and _complete(store.base, digest, size)]
    lacking = {digest: size for digest, size in image.layers.items() if not _complete(store.folder, digest, size)}
    wanted = {digest: size for digest, size in lacking.items() if digest not in older}
    if not wanted:
        return
    scratch = os.path.join(folder_in(store.folder, "incomplete"), "image")  # on the same disk: skopeo renames
    shutil.rmtree(scratch, ignore_errors=True)
    os.mkdir(scratch)
    before = {*os.listdir(blobs), *(digest.partition(":")[2] for digest in image.parts)}
    try:
        with _borrowed(store, [digest for digest in older if digest in lacking]):
            for digest in wanted:  # of another size: skopeo takes what has the name
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(_place(store.folder, digest))
            registry.copy(image, scratch, os.path.dirname(blobs))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        for name in {*os.listdir(blobs)} - before:  # the manifest and configuration that skopeo converted
            os.unlink(os.path.join(blobs, name))
    for digest, size in wanted.items():
        if not _complete(store.folder, digest, size):
            raise FetchError(f"{image.name}: skopeo did not fetch the layer {digest}. Fix: run the playbook again")
    store.fetched.append(f"{image.name} for {image.machine}")
    store.fetched_bytes += sum(wanted.values())


@contextlib.contextmanager
def _borrowed(store: Store, digests: t.Sequence[str]) -> t.Iterator[None]:
    """Let layers of the older bundle be seen in this one, so that they are not fetched."""
    places = [_place(store.folder, digest) for digest in digests]
    for digest, place in zip(digests, places, strict=True):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)
        os.symlink(os.path.abspath(_place(store.base, digest)), place)
    try:
        yield
    finally:
        for place in places:
            os.unlink(place)


def _place(folder: str, digest: str) -> str:
    return os.path.join(folder, BLOBS, digest.partition(":")[2])


def _complete(folder: str, digest: str, size: int) -> bool:
    path = _place(folder, digest)
    return os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) == size


def items(images: t.Sequence[Image], folder: str) -> list[dict[str, t.Any]]:
    """Write the index of the layout; the manifest's items of all parts, each once."""
    found: dict[str, dict[str, t.Any]] = {}
    for image in images:
        for digest, size in image.parts.items():
            sha256 = digest.partition(":")[2]
            new = item("image", sha256, image.origin, sha256, size, f"{BLOBS}/{sha256}", version=image.name)
            entry = found.setdefault(digest, new)
            entry["platforms"] = sorted({*entry["platforms"], image.machine})
    index = json.dumps({"schemaVersion": 2, "manifests": [_described(image) for image in images]}, indent=1)
    texts = {"index.json": index + "\n", "oci-layout": '{"imageLayoutVersion": "1.0.0"}\n'} if images else {}
    for name, text in texts.items():
        write_atomically(os.path.join(folder, LAYOUT, name), text)
        sha256 = digest_of(text).partition(":")[2]
        found[name] = item("layout", name, "written here", sha256, len(text.encode()), f"{LAYOUT}/{name}")
    return list(found.values())


def _described(image: Image) -> dict[str, t.Any]:
    """The descriptor of an image in the layout's index (OCI image specification)."""
    kind = json.loads(image.manifest).get("mediaType", OCI_MANIFEST)
    return {
        "mediaType": kind,
        "digest": image.digest,
        "size": len(image.manifest.encode("utf-8")),
        "platform": {"architecture": ARCHITECTURES[image.machine], "os": "linux"},
        "annotations": {"org.opencontainers.image.ref.name": image.name},
    }
