# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of a bundle in a host's container engine: which ones it has, and loading the others from the files of the bundle.

The archive that ``docker load`` reads is made while it reads: no further copy on the disk, and no further program on the host. It has the form of
``docker save`` since Docker 25: manifest.json for engines with their own storage (from Docker 1.10, which accept compressed layers), and the
layout of OCI for those that store images in containerd.
"""

from __future__ import annotations

import io
import json
import os
import re
import tarfile

from ..tools.image_name import full_name, loaded_name
from ..tools.runner import ToolMissing, environment, execute
from .bundle_files import free

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CHUNK = 2**20
ANSWER = 60  # seconds
MIB = 2**20


class ImagesError(Exception):
    """Images cannot be loaded; the text says why and names the fix."""


def identity(engine, name):
    """The id of a loaded image, 'sha256:...'; empty if the engine has no such image or does not answer."""
    try:
        done = execute([engine, "image", "inspect", "--format={{.Id}}", loaded_name(name)], ANSWER, environment())
    except ToolMissing:
        return ""
    found = done.stdout.strip() if done.rc == 0 else ""
    return found if not found or found.startswith("sha256:") else "sha256:" + found  # podman prints no prefix


def loaded(engine, images):
    """Names of those ``images`` ({name, digest, config}) that the engine has exactly as the bundle has them.

    The id of an image is the digest of its configuration, which names the content of each layer; with containerd's storage it is the
    digest of its manifest. The digests of a registry (RepoDigests) are lost when an image is loaded.
    """
    return [image["name"] for image in images if identity(engine, image["name"]) in (image["config"], image["digest"])]


def still_needed(params):
    """Those ``files`` that are not of images alone that the engine has: {name: {sha256, size}}."""
    if not params["images"]:
        return params["files"]
    have = loaded(params["engine"], params["images"])
    needed = {file for name, files in params["parts"].items() if name not in have for file in files}
    done = {file for files in params["parts"].values() for file in files} - needed
    return {name: wanted for name, wanted in params["files"].items() if name not in done}


def load(engine, directory, images, timeout):
    """Load ``images`` from the files of ``directory``, and compare their ids afterwards. Raises ``ImagesError``."""
    parts = {path_of(directory, digest) for image in images for digest in parts_of(directory, image)}
    _space(engine, images, sum(os.path.getsize(path) for path in parts))
    try:
        done = execute(
            [engine, "load", "--quiet"],
            timeout,
            environment(),
            stdin=lambda pipe: write(pipe, directory, images),
            merged=True,
        )
    except ToolMissing as error:
        raise ImagesError(f"{error}. Fix: install the container engine") from error
    names = ", ".join(image["name"] for image in images)
    if done.rc != 0:
        reason = f"it did not end in {timeout} s" if done.timed_out else done.stdout.strip()[-800:]
        raise ImagesError(f"{engine} load failed for {names}: {reason}")
    have = loaded(engine, images)
    wrong = [
        "{} has id {}, expected {}".format(image["name"], identity(engine, image["name"]) or "none", image["config"])
        for image in images
        if image["name"] not in have
    ]
    if wrong:
        raise ImagesError(
            "{}. [bundle_image_id] Other software would run than the bundle has. Fix: check which image the engine stores under this name "
            "({} image ls --digests --no-trunc)".format("; ".join(wrong), engine)
        )


def _space(engine, images, size):
    """Raise ``ImagesError`` if the engine's disk has not room for the images once more while they are unpacked: the least that it needs."""
    done = execute([engine, "info", "--format={{.DockerRootDir}}"], ANSWER, environment())
    root = done.stdout.strip() if done.rc == 0 else ""
    if os.path.isdir(root) and free(root) < 2 * size:
        raise ImagesError(
            "{} MiB are free for {}, and loading {} needs more than {} MiB. [bundle_space] Nothing was loaded. Fix: free space there, or move "
            "the engine's data (data-root in /etc/docker/daemon.json)".format(
                free(root) // MIB, root, ", ".join(image["name"] for image in images), 2 * size // MIB
            )
        )


def path_of(directory, digest):
    """The file of a digest 'sha256:HEX' in ``directory``."""
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        raise ImagesError(f"an image of the bundle names a part {digest!r}")
    return os.path.join(directory, digest.partition(":")[2])


def manifest_of(directory, image):
    """The manifest of an image."""
    with open(path_of(directory, image["digest"]), encoding="utf-8") as stream:
        return json.load(stream)


def parts_of(directory, image):
    """The digests of an image's manifest, configuration and layers."""
    manifest = manifest_of(directory, image)
    return [image["digest"], manifest["config"]["digest"]] + [layer["digest"] for layer in manifest["layers"]]


def write(stream, directory, images):
    """Write the archive for ``docker load`` into ``stream``, which needs no positions. What is incomplete lacks its last member."""
    with tarfile.open(fileobj=stream, mode="w|", bufsize=CHUNK) as archive:
        written, index, listed = set(), [], []
        for image in images:
            parts, name = parts_of(directory, image), full_name(loaded_name(image["name"]))
            for digest in parts:
                if digest not in written:
                    archive.add(path_of(directory, digest), arcname=_inside(digest))
                written.add(digest)
            listed.append(
                {"Config": _inside(parts[1]), "RepoTags": [name], "Layers": [_inside(each) for each in parts[2:]]}
            )
            notes = {
                "io.containerd.image.name": name,
                "org.opencontainers.image.ref.name": name.rpartition(":")[2],
            }
            kind = manifest_of(directory, image).get("mediaType", OCI_MANIFEST)
            size = os.path.getsize(path_of(directory, image["digest"]))
            index.append({"mediaType": kind, "digest": image["digest"], "size": size, "annotations": notes})
        _member(archive, "oci-layout", {"imageLayoutVersion": "1.0.0"})
        _member(archive, "index.json", {"schemaVersion": 2, "manifests": index})
        _member(archive, "manifest.json", listed)


def _inside(digest):
    return "blobs/" + digest.replace(":", "/")


def _member(archive, name, data):
    content = json.dumps(data).encode("utf-8")
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    archive.addfile(member, io.BytesIO(content))
