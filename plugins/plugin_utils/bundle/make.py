# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a bundle: resolve the environments of its contents, list the files with sizes, fetch them, write the manifest."""

from __future__ import annotations

import os
import tarfile
import typing as t
from dataclasses import dataclass, field

from ...module_utils.install import bundle_server
from ...module_utils.install.resolution import Unresolved
from ...module_utils.install.venv import write_atomically
from ..description.findings import Finding
from ..releases.build_archives import build_archives
from . import controller, images, manifest
from .contents import Contents, Environment, NamedFile, PlannedImage
from .distribution import KINDS, Wish, not_carried
from .git import Git, Source
from .packages import PackageFile, Resolution, lock_text, tomllib, with_hash
from .platform import Platform
from .sources import Fetcher
from .store import FetchError, Store, blob, folder_in, sha256_of

MOST_SHOWN = 8  # addresses in one line
MOST_ROUNDS = 4  # packages that are built to build packages
SETUPTOOLS = ["setuptools >= 40.8.0"]  # of a source distribution that names none (PEP 518)
SOURCES = ("index_url", "extra_index_urls", "fallback_index_urls", "package_indexes", "find_links", "index_strategy")
WHY = "Hosts install without an index, so that everything has to be in the bundle."


@dataclass
class Listing:
    """The resolved contents: the files of each environment. Sizes are in bytes, None where the source does not say."""

    contents: Contents
    environments: list[tuple[Environment, list[PackageFile]]] = field(default_factory=list)
    images: list[images.Image] = field(default_factory=list)
    packages: list[tuple[Wish, list[t.Any]]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def rows(self) -> list[dict[str, t.Any]]:
        """Each file once, sorted by kind and name: kind, name, size, sha256, origin, platforms."""
        found: dict[tuple[str, str], dict[str, t.Any]] = {}
        for environment, files in self.environments:
            for file in files:
                _row(found, _kind(file, environment), file, environment.platform.name)
        for named in self.contents.files:
            _row(found, named.kind, named, named.platform)
        for wish, packages in self.packages:
            for package in packages:
                _row(found, KINDS[wish.distribution.family], package, wish.distribution.platform)
        for source in self.sources:
            _row(found, "source", source, "")
            for address, sha256 in build_archives(source.checkout.release).items():
                _row(found, "archive", NamedFile("archive", os.path.basename(address), address, sha256), "")
        for image in self.images:
            _row(found, "image", image, image.machine)
            found["image", f"{image.name} {image.sha256}"]["parts"] = image.parts
        return [found[key] for key in sorted(found)]


def _kind(file: PackageFile, environment: Environment) -> str:
    return "controller" if environment.controller else "sdist" if file.built else "wheel"


def _row(found: dict[tuple[str, str], dict[str, t.Any]], kind: str, file: t.Any, platform: str) -> None:
    """Add a file, or its further platform."""
    key = (kind, f"{file.name} {file.sha256}")
    row = found.setdefault(
        key,
        {
            "kind": kind,
            "name": file.name,
            "version": getattr(file, "version", ""),
            "size": getattr(file, "size", None),
            "sha256": file.sha256,
            "origin": file.origin,
            "platforms": [],
        },
    )
    if platform and platform not in row["platforms"]:
        row["platforms"].append(platform)


def listed(
    wanted: Contents, resolution: Resolution, registry: images.Registry, fetchers: t.Mapping[str, Fetcher], git: Git
) -> Listing:
    """Resolve every environment and distribution, and ask for every image and checkout; what is unavailable is a finding each."""
    result = Listing(wanted, findings=list(wanted.findings))
    for environment in wanted.environments:
        _resolve(result, resolution, environment)
    for planned in wanted.images:
        try:
            result.images.append(registry.find(planned))
        except FetchError as error:
            result.findings.append(_image_finding(planned, error))
    for checkout in wanted.checkouts:
        try:
            result.sources.append(git.find(checkout))
        except FetchError as error:
            result.findings.append(_source_finding(checkout.folder, error))
    for wish in wanted.wishes:
        fetcher = fetchers[wish.distribution.family]
        if not fetcher.usable():
            wanted.missing.append(not_carried(wish, f"this machine lacks {fetcher.needs}, which fetches them"))
            continue
        try:
            result.packages.append((wish, fetcher.closure(wish)))
        except FetchError as error:
            result.findings.append(_packages_finding(wish, error))
    return result


def _packages_finding(wish: Wish, error: FetchError) -> Finding:
    return Finding(f"packages of {wish.distribution.title}", "bundle_packages", str(error), "", "error", "", WHY)


def _source_finding(name: str, error: FetchError) -> Finding:
    return Finding(f"sources {name}", "bundle_sources_of_builds", str(error), "", "error", "", WHY)


def fetched_sources(
    listing: Listing, resolution: Resolution, git: Git, store: Store, known: t.Sequence[t.Mapping[str, t.Any]]
) -> tuple[list[dict[str, t.Any]], list[Finding]]:
    """Fetch the sources that hosts build; the manifest's items. ``listing`` gets the packages that their builds need.

    ``known``: items of earlier bundles, whose archives of the same commits are kept. What is unavailable is a finding each; what the
    builds may fetch by themselves is missing.
    """
    items: list[dict[str, t.Any]] = []
    findings = []
    for source in listing.sources:
        try:
            entry = git.fetch(source, store, known)
        except FetchError as error:
            findings.append(_source_finding(source.checkout.folder, error))
            continue
        items.append(entry)
        listing.contents.missing += _own_downloads(source, entry)
        if not source.checkout.python:
            continue
        for environment, _files in [*listing.environments]:
            if any(text.endswith(f"/{source.checkout.folder}") for text in environment.options["requirements"]):
                for build in _build(environment, source, store.place(source.name, entry["sha256"])):
                    _resolve(listing, resolution, build)
    return items, findings


def _own_downloads(source: Source, entry: t.Mapping[str, t.Any]) -> list[str]:
    """The line for what the build of a source may fetch and cannot be a part of it, which nobody knows before; none if it names nothing."""
    found = entry.get("downloads", [])
    more = f" and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    return [f"what CMake of {source.checkout.folder} may fetch: {', '.join(found[:MOST_SHOWN])}{more}"] if found else []


def fetched_packages(
    listing: Listing, fetchers: t.Mapping[str, Fetcher], store: Store
) -> tuple[list[dict[str, t.Any]], list[Finding]]:
    """Fetch the packages of distributions, and write the index of each; the manifest's items. What is unavailable is a finding each."""
    items: dict[tuple[str, str], dict[str, t.Any]] = {}
    findings = []
    for wish, packages in listing.packages:
        platform, fetcher = wish.distribution.platform, fetchers[wish.distribution.family]
        try:
            fetcher.fetch(wish, packages, store)
            more = fetcher.index(wish, packages, store)
        except FetchError as error:
            findings.append(_packages_finding(wish, error))
            continue
        for package in packages:
            _item(items, fetcher.kind, package, package.sha256, package.size, platform, True)
        for kind, path in more:
            name = os.path.basename(path)
            sha256, size = store.add(name, path)
            _item(items, kind, NamedFile(kind, name, "written here"), sha256, size, platform, True)
    return list(items.values()), findings


def distributions(listing: Listing) -> list[dict[str, t.Any]]:
    """What the manifest says of the distributions whose packages a bundle has."""
    return [{**wish.distribution.as_dict(), "names": list(wish.names)} for wish, _packages in listing.packages]


def _image_finding(planned: PlannedImage | images.Image, error: FetchError) -> Finding:
    return Finding(f"image {planned.name} for {planned.machine}", "bundle_image", str(error), "", "error", "", WHY)


def fetched_images(listing: Listing, registry: images.Registry, store: Store) -> list[Finding]:
    """Fetch the images; what is unavailable is a finding each."""
    findings = []
    for image in listing.images:
        try:
            images.fetch(image, registry, store)
        except FetchError as error:
            findings.append(_image_finding(image, error))
    return findings


def _resolve(result: Listing, resolution: Resolution, environment: Environment) -> None:
    try:
        result.environments.append((environment, resolution.files(environment)))
    except (Unresolved, ValueError) as error:
        fix = str(environment.options.get("advice") or "set an index that has the package (inference_index_url)")
        place = f"{environment.platform.name}: {environment.title}"
        result.findings.append(Finding(place, "bundle_unresolved", str(error), fix, "error", "", WHY))


def fetched(listing: Listing, resolution: Resolution, store: Store) -> tuple[list[dict[str, t.Any]], list[Finding]]:
    """Fetch everything; the manifest's items. ``listing`` gets the files that builds need, which only the distributions name."""
    items: dict[tuple[str, str], dict[str, t.Any]] = {}
    findings: list[Finding] = []
    done = 0
    for _round in range(MOST_ROUNDS):
        builds: list[Environment] = []
        new, done = listing.environments[done:], len(listing.environments)
        for place, (environment, files) in enumerate(new, done - len(new)):
            complete = []
            for file in files:
                try:
                    sha256, size = store.get(file.name, file.address, file.sha256, file.size)
                except FetchError as error:
                    findings.append(Finding(file.name, "bundle_fetch", str(error), "", "error", "", WHY))
                    continue
                complete.append(with_hash(file, sha256, size))
                _item(items, _kind(file, environment), file, sha256, size, environment.platform.name, bool(file.sha256))
                if file.built and environment.title != "proxy":
                    builds += _build(environment, file, store.place(file.name, sha256))
            listing.environments[place] = (environment, complete)
        for build in builds:
            _resolve(listing, resolution, build)
        if not builds:
            break
    else:
        problem = f"builds need packages that are built, more than {MOST_ROUNDS} times in a row"
        fix = "put a wheel of the package on an index or into a folder of find_links"
        findings.append(Finding(builds[0].title, "bundle_builds", problem, fix, "error", "", WHY))
    findings += listing.findings + _named(listing.contents.files, store, items)
    return list(items.values()), findings


def _named(files: t.Iterable[NamedFile], store: Store, items: dict[tuple[str, str], dict[str, t.Any]]) -> list[Finding]:
    """Fetch files that are known by their address."""
    findings = []
    for file in files:
        try:
            sha256, size = store.get(file.name, file.origin, file.sha256)
        except FetchError as error:
            findings.append(Finding(file.name, "bundle_fetch", str(error), "", "error", "", WHY))
            continue
        _item(items, file.kind, file, sha256, size, file.platform, bool(file.sha256))
    return findings


def _item(
    items: dict[tuple[str, str], dict[str, t.Any]],
    kind: str,
    file: t.Any,
    sha256: str,
    size: int,
    platform: str,
    published: bool,
) -> None:
    more = {"version": getattr(file, "version", ""), "published": published}
    new = manifest.item(kind, file.name, file.origin, sha256, size, blob(sha256, file.name), platforms=[], **more)
    entry = items.setdefault((sha256, file.name), new)
    entry["platforms"] = sorted({*entry["platforms"], platform})


def _build(environment: Environment, file: PackageFile | Source, path: str) -> list[Environment]:
    """The environment in which hosts build an archive of sources."""
    options = {key: environment.options[key] for key in SOURCES if key in environment.options}
    requires = build_requires(path)
    return [Environment(f"build of {file.name}", environment.platform, {**options, "requirements": requires})]


def build_requires(path: str) -> list[str]:
    """What an archive of sources (tar.gz) needs to be built, from its pyproject.toml."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.count("/") == 1 and member.name.endswith("/pyproject.toml"):
                stream = archive.extractfile(member)
                data = tomllib.loads(stream.read().decode("utf-8")) if stream else {}
                return list(data.get("build-system", {}).get("requires", SETUPTOOLS))
    return [*SETUPTOOLS, "wheel"]


def for_controller(platform: Platform, archives: t.Iterable[str], store: Store) -> list[dict[str, t.Any]]:
    """Add collections, the script that installs them, and the server for a rack; the manifest's items."""
    found = []
    for archive in archives:
        name = os.path.basename(archive)
        sha256, size = store.add(name, archive)
        found.append(manifest.item("collection", name, "installed here", sha256, size, blob(sha256, name)))
    with open(bundle_server.__file__, encoding="utf-8") as stream:
        server = stream.read()
    script = controller.script(platform, [entry["name"] for entry in found])
    return [
        *found,
        *(_script(store, name, text) for name, text in ((controller.SCRIPT, script), (controller.SERVER, server))),
    ]


def _script(store: Store, name: str, text: str) -> dict[str, t.Any]:
    """Write a program into the bundle; the manifest's item."""
    place = os.path.join(store.folder, name)
    write_atomically(place, text)
    return manifest.item("script", name, "written here", sha256_of(place), os.path.getsize(place), name)


def locks(listing: Listing, folder: str) -> list[dict[str, t.Any]]:
    """Write the lock of each environment into the bundle; the manifest's items."""
    found = []
    for environment, files in listing.environments:
        if not environment.lock:
            continue
        text, path = lock_text(files, environment.options), f"locks/{environment.platform.name}/{environment.lock}"
        folder_in(folder, *os.path.dirname(path).split("/"))
        place = os.path.join(folder, path)
        write_atomically(place, text)
        sha256, size = sha256_of(place), os.path.getsize(place)
        platforms = [environment.platform.name]
        found.append(manifest.item("lock", environment.lock, "resolved here", sha256, size, path, platforms=platforms))
    return found
