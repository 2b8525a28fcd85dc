# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest of a bundle: every file with its origin, SHA-256 and size; and whether a bundle's files are those of its manifest."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import re
import typing as t

from ...module_utils.files import listing
from ...module_utils.install.bundle_images import DIGEST
from ...module_utils.install.venv import write_atomically
from ..description.findings import Finding
from .platform import MACHINES, Platform, platform_of
from .store import sha256_of

MANIFEST, SUMS, SIGNATURE = "manifest.json", "SHA256SUMS", "SHA256SUMS.asc"
FORMAT = 1
PATH = re.compile(
    r"blobs/[0-9a-f]{64}/[\w+!-][\w.+!-]*|locks/[\w.+-]+/[\w.+-]+\.txt|[\w-]+\.(?:sh|py)"
    r"|images/(?:blobs/sha256/[0-9a-f]{64}|index\.json|oci-layout)"
)
NAME = re.compile(r"[\w+!-][\w.+!-]*")  # of a file on a host
MODEL, MODELS = "model", "models"  # kind of the files of models, and their folder
READ = (
    64 * 2**20
)  # bytes of a file of a model; of larger ones only the size is compared here, because hosts compare each byte with the record
IMAGE = re.compile(r"\w[\w./:@-]*", re.ASCII)  # of an image
KEYS = {
    "kind": str,
    "name": str,
    "version": str,
    "platforms": list,
    "origin": str,
    "sha256": str,
    "size": int,
    "path": str,
}
WHY = "What is changed or incomplete must not reach a host: packages of CANN and of Python run code there."
BASE = (
    "this bundle has only what an older one lacks: copy it over a whole copy of the bundle whose manifest.json had the SHA-256 {}, or run the "
    "playbook bundle without inference_bundle_base"
)
AGAIN = "copy the bundle again from the machine that made it, or run the playbook bundle there again"


class BundleError(ValueError):
    """A bundle cannot be read at all; the text says why and names the fix."""


def item(kind: str, name: str, origin: str, sha256: str, size: int, path: str, **more: t.Any) -> dict[str, t.Any]:
    """One entry of a manifest; ``more`` may have version, platforms, published (whether somebody published the SHA-256)."""
    return {
        "kind": kind,
        "name": name,
        "version": more.get("version", ""),
        "platforms": sorted(more.get("platforms", [])),
        "origin": origin,
        "sha256": sha256,
        "size": size,
        "path": path,
        "published": more.get("published", True),
    }


def manifest(
    head: t.Mapping[str, t.Any], items: t.Iterable[t.Mapping[str, t.Any]], platforms: t.Iterable[Platform]
) -> dict[str, t.Any]:
    """The manifest as plain data; ``head`` has what it says of the plan and the collection."""
    found = sorted(items, key=lambda each: (each["kind"], each["name"], each["sha256"], each["path"]))
    return {"format": FORMAT, **head, "platforms": [each.as_dict() for each in sorted(platforms)], "items": found}


def write(folder: str, data: t.Mapping[str, t.Any]) -> bool:
    """Write manifest and SHA256SUMS; whether they differ from what was there."""
    text = json.dumps(data, indent=1, sort_keys=True) + "\n"
    changed = _write(os.path.join(folder, MANIFEST), text)
    sums = {each["path"]: each["sha256"] for each in data["items"]}
    sums[MANIFEST] = sha256_of(os.path.join(folder, MANIFEST))
    lines = "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(sums.items()))
    return _write(os.path.join(folder, SUMS), lines) or changed


def _write(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8") as stream:
            if stream.read() == text:
                return False
    except OSError:
        pass
    write_atomically(path, text)
    return True


def read(folder: str, sha256: str = "") -> dict[str, t.Any]:
    """The manifest of the bundle in ``folder``; raises ``BundleError``, also if it has another SHA-256 than the one given."""
    return read_with_digest(folder, sha256)[0]


def read_with_digest(folder: str, sha256: str = "") -> tuple[dict[str, t.Any], str]:
    """The same with the manifest's SHA-256, which whoever verified the bundle hands on to those who read it again."""
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, "rb") as stream:
            content = stream.read()
        digest = hashlib.sha256(content).hexdigest()
        require_unchanged(path, digest, sha256)
        data = json.loads(content)
    except OSError as error:
        raise BundleError(
            f"{folder} is no bundle: {MANIFEST} cannot be read ({error.strerror}). Fix: set inference_bundle to the folder that the "
            "playbook bundle made, on the controller; if it was carried in volumes, join all of them in their order"
        ) from error
    except BundleError:
        raise
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path} is not JSON: {error}. Fix: {AGAIN}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else None
        raise BundleError(
            f"{path} has format {found!r}, and this version of the collection reads {FORMAT}. Fix: make and use the bundle with the same "
            "version of the collection"
        )
    items, platforms = data.get("items"), data.get("platforms")
    wrong = (
        [str(index) for index, entry in enumerate(items) if not _valid(entry)] if isinstance(items, list) else ["all"]
    )
    if not isinstance(platforms, list) or any(platform_of(each, "")[1] for each in platforms):
        wrong.append("platforms")
    if not isinstance(data.get("distributions", []), list) or not all(
        map(_valid_distribution, data.get("distributions", []))
    ):
        wrong.append("distributions")
    if not isinstance(data.get("images", []), list) or not all(_valid_image(each) for each in data.get("images", [])):
        wrong.append("images")
    if wrong:
        raise BundleError(f"{path} has items of another form: {', '.join(wrong[:5])}. Fix: {AGAIN}")
    return data, digest


def require_unchanged(path: str, found: str, verified: str) -> None:
    """Raise ``BundleError`` if a file has another SHA-256 than when this run verified the bundle; an empty one is not compared."""
    if verified not in ("", found):
        raise BundleError(
            f"{path} has SHA-256 {found}, and it had {verified} when this run verified the bundle. [bundle_swapped] It was changed since, so "
            "nothing of it is used. Fix: find out who can write there, and run the playbook again"
        )


def _valid(entry: t.Any) -> bool:
    """Whether an entry has all keys, and a path within the bundle."""
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), kind) for key, kind in KEYS.items()):
        return False
    if entry["kind"] == "image" and not entry["name"] == entry["sha256"] == os.path.basename(entry["path"]):
        return False  # hosts find the parts of images by their digests
    if entry["kind"] == MODEL:
        return _valid_model(entry)
    return bool(PATH.fullmatch(entry["path"]) and NAME.fullmatch(entry["name"])) and ".." not in entry["path"]


def _valid_model(entry: t.Mapping[str, t.Any]) -> bool:
    """Whether the entry is a file of a model, in the folder that its version names; names of models have other letters than those of packages."""
    folder, name = entry["version"], entry["name"]
    fits = entry["path"] == f"{MODELS}/{folder}/{name}" and bool(NAME.fullmatch(folder)) and ".." not in folder
    return fits and (name == listing.RECORD or not listing.bad_name(name))


def _valid_distribution(entry: t.Any) -> bool:
    """Whether the entry of a distribution has its name, version, machine and names of packages."""
    texts = ("name", "version", "machine")
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("names"), list)
        and all(isinstance(entry.get(key), str) for key in texts)
    )


def _valid_image(entry: t.Any) -> bool:
    """Whether the entry of an image has a name, a machine and digests."""
    if not isinstance(entry, dict) or not isinstance(entry.get("parts"), list):
        return False
    digests = [entry.get("digest"), entry.get("config"), *entry["parts"]]
    fits = all(isinstance(each, str) and DIGEST.fullmatch(each) for each in digests)
    return fits and entry.get("machine") in MACHINES and bool(IMAGE.fullmatch(str(entry.get("name"))))


def verify(folder: str, data: t.Mapping[str, t.Any], digest: str = "", sums: str | None = None) -> list[Finding]:
    """Whether every file of the manifest is there, unchanged; and SHA256SUMS names the same.

    ``digest``: of the manifest that was read; ``sums``: the text of SHA256SUMS whose signature was verified. Without them the files are read.
    """
    base = data.get("base")
    fix = BASE.format(base) if isinstance(base, str) and re.fullmatch(r"[0-9a-f]{64}", base) else AGAIN
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        found = [finding for finding in pool.map(lambda entry: _judge(folder, entry, fix), data["items"]) if finding]
    return _sums(folder, data, digest or sha256_of(os.path.join(folder, MANIFEST)), sums) + found


def _judge(folder: str, entry: t.Mapping[str, t.Any], absent: str) -> Finding | None:
    """What is wrong with a file; ``absent`` is the fix if it is not there."""
    path, title = os.path.join(folder, entry["path"]), f"{entry['kind']} {entry['name']}"
    if entry["kind"] == "image":  # its parts have no names but digests
        title = f"image {entry['version']}, part {entry['name'][:12]}"

    def finding(name: str, problem: str, fix: str = AGAIN) -> Finding:
        return Finding(title, name, problem, fix, "error", "", WHY)

    if os.path.islink(path) or not os.path.isfile(path):
        return finding("bundle_file_missing", f"{entry['path']} is missing in {folder}", absent)
    size = os.path.getsize(path)
    if size != entry["size"]:
        return finding("bundle_file_size", f"{entry['path']} has {size} bytes, and the manifest says {entry['size']}")
    if entry["kind"] == MODEL and size > READ:
        return None
    try:
        sha256 = sha256_of(path)
    except OSError as error:
        return finding("bundle_file_unreadable", f"{entry['path']} cannot be read: {error.strerror}")
    if sha256 != entry["sha256"]:
        return finding(
            "bundle_file_changed", f"{entry['path']} has SHA-256 {sha256}, and the manifest says {entry['sha256']}"
        )
    return None


def _sums(folder: str, data: t.Mapping[str, t.Any], digest: str, sums: str | None) -> list[Finding]:
    """SHA256SUMS is what a signature is of: it has to name the same as the manifest."""
    try:
        text = sums
        if text is None:
            with open(os.path.join(folder, SUMS), encoding="utf-8") as stream:
                text = stream.read()
        lines = dict(reversed(line.split("  ", 1)) for line in text.splitlines())
    except (OSError, ValueError) as error:
        return [Finding(SUMS, "bundle_sums", f"it cannot be read: {error}", AGAIN, "error", "", WHY)]
    wanted = {each["path"]: each["sha256"] for each in data["items"]}
    wanted[MANIFEST] = digest
    wrong = sorted(path for path in {*wanted, *lines} if wanted.get(path) != lines.get(path))
    if not wrong:
        return []
    problem = f"it and {MANIFEST} differ: {', '.join(wrong[:5])}{' ...' if len(wrong) > 5 else ''}"
    return [Finding(SUMS, "bundle_sums", problem, AGAIN, "error", "", WHY)]


def serving(data: t.Mapping[str, t.Any], host: Platform) -> str:
    """The name of the bundle's platform for a host: that with the newest C library that the host has; empty if none serves it."""
    fitting = [platform for each in data["platforms"] if (platform := Platform(**each)).serves(host)]
    return max(fitting, key=lambda platform: tuple(map(int, platform.glibc.split(".")))).name if fitting else ""


def files_for(data: t.Mapping[str, t.Any], platform: str, kinds: t.Collection[str]) -> dict[str, dict[str, t.Any]]:
    """The files that a host of a platform gets, by name: {name: {path, sha256, size}}.

    Raises ``BundleError`` for two different files of one name.
    """
    found: dict[str, dict[str, t.Any]] = {}
    for entry in data["items"]:
        if entry["kind"] not in kinds or (entry["platforms"] and platform not in entry["platforms"]):
            continue
        if entry["name"] in found and found[entry["name"]]["sha256"] != entry["sha256"]:
            raise BundleError(
                f"the bundle has two different files {entry['name']} for {platform}. Fix: make one bundle for each of both"
            )
        found[entry["name"]] = {key: entry[key] for key in ("path", "sha256", "size")}
    return found
