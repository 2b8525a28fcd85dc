# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files of a bundle a host gets, whether they fit on its disk, and how Python environments are installed from them."""

from __future__ import annotations

import hashlib
import json
import os
import typing as t

from ...module_utils.install.bundle_images import DIGEST
from ...module_utils.install.venv_options import lock_name
from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.tools.text import visible
from ..releases.build_archives import build_archives
from ..releases.cann import cann_packages, missing_packages
from .checkouts import Checkout
from .distribution import Distribution
from .images import BLOBS
from .manifest import BundleError, files_for, read, require_unchanged, serving
from .platform import Platform

KINDS = ("wheel", "sdist", "cann", "source")
KINDS_OF_DISTRIBUTION = ("deb", "rpm", "key", "repository")
MOST_LIST = 4 * 2**20  # bytes of a list of manifests, as registries limit it
MARGIN = 256 * 2**20  # bytes that stay free for logs and temporary files
ARCHIVE = (
    2**30
)  # bytes after which another archive begins: images have many GiB, and each host's archive is on the controller's disk
AGAIN = "run the playbook bundle again with this inventory on the machine with internet, and bring the new bundle"


def files_of_host(data: t.Mapping[str, t.Any], host: t.Mapping[str, str], name: str) -> tuple[str, dict[str, t.Any]]:
    """(platform of the bundle, {file name: {path, sha256, size}}) for a host; raises ``BundleError`` if no platform serves it."""
    known = ", ".join(Platform(**each).name for each in data["platforms"]) or "none"
    title = f"machine {host['machine']}, Python {host['python']}, glibc {host['glibc'] or 'unknown'}"
    platform = serving(data, Platform(host["machine"], host["python"], host["glibc"])) if host["glibc"] else ""
    if not platform:
        raise BundleError(
            f"{name} has {title}, and the bundle has files for: {known}. [bundle_platform] They would not run there. Fix: set "
            f"inference_bundle_platform for this host, then {AGAIN}; or let Ansible use another interpreter on the host"
        )
    return platform, files_for(data, platform, KINDS)


def packages_of_host(
    data: t.Mapping[str, t.Any], host: Distribution | None, lacking: t.Sequence[str], name: str
) -> dict[str, t.Any]:
    """The packages that a host gets, with their index: none if it lacks none, or if the bundle has no packages of any distribution.

    Raises ``BundleError`` if it has them for other distributions only, or not all that the host lacks.
    """
    entries = {_distribution(entry): entry["names"] for entry in data.get("distributions", [])}
    if not lacking or not entries:
        return {}
    if host not in entries:
        known = ", ".join(each.title for each in sorted(entries))
        raise BundleError(
            f"{name} lacks packages of its distribution ({', '.join(lacking)}) and has {host.title if host else 'an unknown one'}; the bundle has "
            f"packages for: {known}. [bundle_distribution] They would not fit. Fix: set distribution in inference_bundle_platform for this host, "
            f"then {AGAIN}; or install these packages on the host"
        )
    absent = [package for package in lacking if package not in entries[host]]
    if absent:
        raise BundleError(
            f"{name} lacks packages of its distribution that the bundle does not have for {host.title}: {', '.join(absent)}. [bundle_stale] It "
            f"was made for another plan. Fix: {AGAIN}"
        )
    return files_for(data, host.platform, KINDS_OF_DISTRIBUTION)


def has_packages(data: t.Mapping[str, t.Any], host: Distribution) -> bool:
    """Whether the bundle has packages of a host's distribution."""
    return host in map(_distribution, data.get("distributions", []))


def keys_of_packages(data: t.Mapping[str, t.Any], packages: t.Mapping[str, t.Any]) -> list[str]:
    """The names of the keys among a host's files, with which the signatures of its packages are compared; none for packages without."""
    return sorted({entry["name"] for entry in data["items"] if entry["kind"] == "key"} & {*packages})


def refused_of_dnf(host: Distribution, lacking: t.Sequence[str], name: str) -> None:
    """Raise ``BundleError`` for packages that a host with dnf cannot install from its own sources, if the bundle has none of its distribution."""
    if lacking:
        raise BundleError(
            f"{name} has {host.title} and lacks packages that none of its package sources offers: {', '.join(lacking)}. [bundle_distribution] The "
            "bundle has none of this distribution, and their installation would fail later. Fix: set distribution in inference_bundle_platform for "
            f"this host, then {AGAIN}; or let the host use a mirror in the rack or the installation medium (/etc/yum.repos.d), or install them "
            f"by hand: dnf install {' '.join(lacking)}"
        )


def _distribution(entry: t.Mapping[str, t.Any]) -> Distribution:
    return Distribution(entry["name"], entry["version"], entry["machine"])


def images_of_host(
    data: t.Mapping[str, t.Any], names: t.Iterable[str], machine: str, host: str
) -> list[dict[str, t.Any]]:
    """The bundle's entries of the images that a host runs; raises ``BundleError`` for one that it has not for this machine."""
    found = []
    for name in names:
        known = {image["machine"]: image for image in data.get("images", []) if image["name"] == name}
        if not known:
            raise BundleError(
                f"{host} runs the image {name}, and the bundle has no such image. [bundle_stale] Fix: {AGAIN}"
            )
        if machine not in known:
            raise BundleError(
                f"{host} has machine {machine}, and the bundle has the image {name} for: {', '.join(sorted(known))}. [bundle_platform] It would "
                f"not start there. Fix: set machine in inference_bundle_platform for this host, then {AGAIN}"
            )
        found.append(known[machine])
    return found


def prove_digests(bundle: str, images: t.Iterable[t.Mapping[str, t.Any]]) -> None:
    """Raise ``BundleError`` for an image that is planned by digest if the bundle has another one under this name."""
    for image in images:
        planned = image["name"].partition("@")[2]
        if planned not in ("", image["digest"]) and image["digest"] not in _listed(bundle, planned):
            raise BundleError(
                f"the image {image['name']} of the bundle has the manifest {image['digest']}, and nothing in the bundle proves that it is of this "
                f"digest. [bundle_image_digest] Other software could run than is planned. Fix: {AGAIN}"
            )


def _listed(bundle: str, digest: str) -> list[str]:
    """The digests in the list of manifests that has this digest; none if the bundle has no such list."""
    if not DIGEST.fullmatch(digest):
        return []
    try:
        with open(os.path.join(bundle, BLOBS, digest.partition(":")[2]), "rb") as stream:
            content = stream.read(MOST_LIST)
        if "sha256:" + hashlib.sha256(content).hexdigest() != digest:
            return []
        return [str(each["digest"]) for each in json.loads(content)["manifests"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def parts_of_images(data: t.Mapping[str, t.Any], images: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """The files of images by name: {name: {path, sha256, size}}; raises ``BundleError`` if the manifest lacks one."""
    known = {entry["sha256"]: entry for entry in data["items"] if entry["kind"] == "image"}
    found = {}
    for image in images:
        for digest in image["parts"]:
            entry = known.get(digest.partition(":")[2])
            if not entry:
                raise BundleError(
                    f"the manifest of the bundle lacks the part {digest} of {image['name']}. Fix: {AGAIN}"
                )
            found[entry["name"]] = {key: entry[key] for key in ("path", "sha256", "size")}
    return found


def archives(files: t.Mapping[str, t.Any], names: t.Iterable[str]) -> list[list[str]]:
    """The names in groups, each for one archive of at most about ARCHIVE bytes; a larger file has its own."""
    groups: list[list[str]] = []
    size = 0
    for name in names:
        if not groups or size + files[name]["size"] > ARCHIVE:
            groups.append([])
            size = 0
        groups[-1].append(name)
        size += files[name]["size"]
    return groups


def lacking_space(
    files: t.Mapping[str, t.Any], names: t.Iterable[str], free: int, directory: str, host: str, archived: bool = True
) -> None:
    """Raise ``BundleError`` if the missing files do not fit: those of one archive are there twice while it is unpacked."""
    sizes = [sum(files[name]["size"] for name in group) for group in archives(files, names)]
    needed = sum(sizes) + (max(sizes, default=0) if archived else 0)
    if needed and needed + MARGIN > free:
        raise BundleError(
            f"{host} has {free // 2**20} MiB free for {directory}, and the files of the bundle need {(needed + MARGIN) // 2**20} MiB while "
            "they are copied. [bundle_space] Nothing was copied. Fix: free space there, or set inference_bundle_directory to a larger disk"
        )


def require_sources(data: t.Mapping[str, t.Any], wanted: t.Iterable[Checkout], host: str) -> None:
    """Raise ``BundleError`` unless the bundle has the sources that a host builds, from the repositories that it would clone."""
    known = {entry["name"]: entry for entry in data["items"] if entry["kind"] == "source"}

    def held(each: Checkout) -> bool:
        entry = known.get(each.archive, {})
        return entry.get("origin") == each.origin and (
            not lacking_archives(each) or isinstance(entry.get("archives"), list)
        )

    def lacking_archives(each: Checkout) -> bool:
        """Whether a build stops after minutes with the sources of an older version's bundle, which have no archives. Unknown releases may."""
        return each.fetches and (not each.release or bool(build_archives(each.release)))

    absent = [f"{each.origin} at {each.ref}" for each in wanted if not held(each)]
    if absent:
        raise BundleError(
            f"{host} builds sources that the bundle does not have: {', '.join(absent)}. [bundle_stale] It was made for another plan, or by an older "
            f"version of this collection without the archives that a build fetches. Fix: {AGAIN}"
        )


def fetching_builds(data: t.Mapping[str, t.Any], wanted: t.Iterable[Checkout], host: str) -> list[str]:
    """Warnings of builds on a host that may fetch what is no part of the bundle: their files of CMake name it, perhaps for an option that is off."""
    known = {entry["name"]: entry for entry in data["items"] if entry["kind"] == "source"}
    found = {each.folder: known.get(each.archive, {}).get("downloads", []) for each in wanted}
    return [
        f"{host}: CMake of {folder} may fetch {', '.join(map(visible, addresses))}, which is not in the bundle. If the build asks for it, it stops on a "
        "host without a route. Fix: if it does, install it on the host, or leave out the option that needs it"
        for folder, addresses in found.items()
        if addresses
    ]


def lacking_of_cann(
    plan: t.Mapping[str, t.Any], host: str, machine: str, known: t.Mapping[str, t.Any], installed: t.Mapping[str, t.Any]
) -> list[str]:
    """The packages of CANN that the role cann would install on a host. ``installed`` is the result of installed_info."""
    kinds = {service["kind"] for service in plan["services"] if service["host"] == host}
    method = known.get("cann_method") or "run"
    if not plan["engine_facts"]["npus"] or method != "run" or not kinds & {*ENGINE_KINDS, "mooncake_master"}:
        return []
    cann = plan["software"]["cann"]
    hardware = next(each["hardware"] for each in plan["hosts"] if each["name"] == host)
    found = (installed.get("cann") or {}).get(cann["path"]) or {}
    return missing_packages(cann_packages(cann["version"], hardware, machine), found)


def require_cann(data: t.Mapping[str, t.Any], files: t.Collection[str], lacking: t.Sequence[str], host: str) -> None:
    """Raise ``BundleError`` if the bundle has packages of CANN, but not those that a host lacks; without any, they come from elsewhere."""
    known = sorted({entry["name"] for entry in data["items"] if entry["kind"] == "cann"})
    absent = [name for name in lacking if name not in files]
    if known and absent:
        raise BundleError(
            f"{host} lacks packages of CANN that the bundle does not have for it: {', '.join(absent)}; it has {', '.join(known)}. [bundle_stale] "
            f"It was made for another plan. Fix: {AGAIN}"
        )


def checksums_of_cann(data: t.Mapping[str, t.Any], files: t.Mapping[str, t.Any]) -> dict[str, str]:
    """The packages of CANN among a host's files, as the variable ``cann_checksums`` has them."""
    names = {entry["name"] for entry in data["items"] if entry["kind"] == "cann"}
    return {name: f"sha256:{each['sha256']}" for name, each in sorted(files.items()) if name in names}


def lock_of(bundle: str, host: t.Mapping[str, t.Any], options: t.Mapping[str, t.Any]) -> str:
    """The lock of an environment in the bundle that this run has verified; empty if it has none. Raises ``BundleError`` for another one."""
    name = f"locks/{host['platform']}/{lock_name(options)}"
    entries = read(bundle, host["manifest_sha256"])["items"]
    known = [entry["sha256"] for entry in entries if entry["kind"] == "lock" and entry["path"] == name]
    if not known:
        return ""
    path = os.path.join(bundle, name)
    try:
        with open(path, "rb") as stream:
            content = stream.read()
        require_unchanged(path, hashlib.sha256(content).hexdigest(), known[0])
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BundleError(f"{path} cannot be read: {error}. Fix: {AGAIN}") from error


def stale(bundle: str, host: t.Mapping[str, t.Any], options: t.Mapping[str, t.Any]) -> str:
    """What is wrong if the bundle was made for another plan, or changed since it was verified; empty if it has the lock of the environment."""
    try:
        if lock_of(bundle, host, options):
            return ""
    except BundleError as error:
        return str(error)
    return (
        f"{options['path']}, layer {options['layer']}: the bundle has no lock of {', '.join(options['requirements'])} for {host['platform']}. "
        f"[bundle_stale] It was made for another plan. Fix: {AGAIN}"
    )


def from_bundle(
    bundle: str, host: t.Mapping[str, t.Any] | None, options: t.Mapping[str, t.Any]
) -> tuple[dict[str, t.Any], str]:
    """(options of python_venv that install from the files of a bundle and from nothing else, what prevents that or an empty text).

    ``host`` has the platform of the bundle, the SHA-256 of its manifest and the directory of its files on the host; None before they are copied.
    """
    if not host:
        problem = (
            f"inference_bundle is set, but this run did not copy its files before {options['path']} was installed."
        )
        return {}, f"{problem} Fix: run the playbook prepare or site"
    problem = stale(bundle, host, options)
    found = {
        "no_index": True,
        "find_links": [host["directory"]],
        "index_url": "",
        "extra_index_urls": [],
        "fallback_index_urls": [],
        "package_indexes": {},
        "hashes": "" if problem else lock_of(bundle, host, options),
    }
    return found, problem
