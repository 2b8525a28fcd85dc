# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of Python packages that a platform needs, with addresses, sizes and hashes, from a lock that uv writes (PEP 751)."""

from __future__ import annotations

import os
import re
import typing as t
from dataclasses import dataclass, replace
from urllib.parse import unquote, urldefrag, urljoin

from ...module_utils.install.index_credentials import with_credentials, without_credentials
from ...module_utils.install.package_lock import signed
from ...module_utils.install.resolution import Resolver, Unresolved, environment_of, name_of, normal
from ...module_utils.install.venv_options import ARGUMENTS, wanted
from .contents import Environment

try:
    import tomllib
except ImportError:  # Python 3.10
    try:
        import tomli as tomllib  # type: ignore[no-redef]
    except ImportError:
        tomllib = None  # type: ignore[assignment]

DEFAULTS = {name: option.get("default", "") for name, option in ARGUMENTS.items()}


@dataclass(frozen=True, order=True)
class PackageFile:
    """One wheel or source distribution. ``address`` may contain credentials; ``size`` is in bytes, None if the index does not say."""

    package: str
    version: str
    name: str
    address: str
    sha256: str = ""
    size: int | None = None

    @property
    def origin(self) -> str:
        """The address without credentials and fragment."""
        return urldefrag(without_credentials(self.address)).url

    @property
    def built(self) -> bool:
        """Whether hosts build it."""
        return not self.name.endswith(".whl")


class Resolution:
    """Resolves environments with uv in ``folder``; versions of earlier layers of the same environment are preferred.

    ``listing`` is the output of 'pip config list', whose indexes are used. ``run(argv, env) -> (rc, output)``.
    """

    def __init__(self, uv: str, run: t.Callable[..., tuple[int, str]], folder: str, listing: str) -> None:
        self.uv, self.run, self.folder, self.listing = uv, run, folder, listing
        self.layers: dict[tuple[str, str], str] = {}

    def files(self, environment: Environment) -> list[PackageFile]:
        """The files of one environment; raises ``Unresolved``, also for a package without a file for the platform."""
        if tomllib is None:
            raise Unresolved("making a bundle needs Python 3.11 or newer on the controller, or its package tomli")
        options = {**DEFAULTS, **environment.options}
        place = (str(options["path"]), environment.platform.name)
        try:
            text = self._locked(environment, options, place, [])
        except Unresolved as error:
            if not options["fallback_index_urls"]:
                raise
            first = error
            try:
                text = self._locked(environment, options, place, options["fallback_index_urls"])
            except Unresolved as again:
                raise Unresolved(f"{first}\nAgain, with {' '.join(options['fallback_index_urls'])}: {again}") from again
        if options["path"]:
            self.layers[place] = merged(self.layers.get(place, ""), text)
        built = {normal(name) for name in options["no_binary"]}
        indexes = self._indexes(options)
        found = [
            chosen(package, environment, normal(package["name"]) in built, self.folder)
            for package in tomllib.loads(text).get("packages", [])
        ]
        return [replace(item, address=with_credentials(item.address, indexes)) for item in found]

    def _indexes(self, options: dict[str, t.Any]) -> list[str]:
        """The URLs of all indexes that may have been asked, some with user and password."""
        env = environment_of(options, self.listing)
        asked = [*env.get("UV_DEFAULT_INDEX", "").split(), *env.get("UV_EXTRA_INDEX_URL", "").split()]
        return [*asked, *options["fallback_index_urls"], *options["package_indexes"]]

    def _locked(
        self, environment: Environment, options: dict[str, t.Any], place: tuple[str, str], more: list[str]
    ) -> str:
        env = environment_of(options, self.listing)
        if more:
            env["UV_EXTRA_INDEX_URL"] = " ".join([env.get("UV_EXTRA_INDEX_URL", ""), *more]).strip()
        metadata = {
            pinned: needs for pinned, needs in options["metadata"].items() if needs
        }  # without those not collected
        _require_known(options["requirements"], metadata)
        resolver = Resolver(self.uv, self.run, self.folder, environment.platform.uv_options(), env)
        wish = {**options, "alone": environment.alone}
        if environment.alone:
            return resolver.locked(wish, {}, {requirement: [] for requirement in options["requirements"]})
        _packages, sources = resolver.resolve(options, options["package_indexes"], metadata)
        return resolver.locked(wish, sources, metadata, self.layers.get(place, ""))


def _require_known(requirements: t.Iterable[str], metadata: t.Iterable[str]) -> None:
    """Raise ``Unresolved`` for sources whose requirements are not known: they are not on this machine, so that uv could not ask their build."""
    known = {name_of(pinned) for pinned in metadata}
    unknown = [text for text in requirements if " @ " in text and name_of(text) not in known]
    if unknown:
        raise Unresolved(
            f"it is not known what {', '.join(unknown)} requires, so that the bundle would not be complete. Fix: use a stable release "
            "(inference_release), its image (inference_runtime: docker), or wheels of your own (inference_engine_install: site)"
        )


def merged(known: str, text: str) -> str:
    """Two locks as one: of a package in both, the entry of the second."""
    entries: dict[str, str] = {}
    head = ""
    for lock in (known, text):
        first, *sections = re.split(r"(?m)^(?=\[\[packages\]\])", lock)
        head = first or head
        for section in sections:
            found = re.search(r'(?m)^name = "(.+)"', section)
            if found:
                entries[found.group(1)] = section.rstrip("\n") + "\n\n"
    return head + "".join(entries[name] for name in sorted(entries))


def chosen(package: t.Mapping[str, t.Any], environment: Environment, built: bool, folder: str) -> PackageFile:
    """The file of a package that a host would take: the best wheel, or the source distribution. Raises ``Unresolved``."""
    wheels = {named(entry): entry for entry in ([] if built else package.get("wheels", []))}
    best = environment.platform.best(wheels)
    entry = wheels[best] if best else package.get("sdist") or package.get("archive")
    if not entry:
        raise Unresolved(f"{package['name']} {package.get('version', '')} has no file for {environment.platform.name}")
    address = entry.get("url") or "file://" + os.path.abspath(os.path.join(folder, entry["path"]))
    address = urljoin("file:///", address)
    size = entry.get("size")
    if size is None and address.startswith("file:"):
        size = os.path.getsize(unquote(urldefrag(address).url[len("file://") :]))
    sha256 = entry.get("hashes", {}).get("sha256", "")
    return PackageFile(package["name"], package.get("version", ""), named(entry), address, sha256, size)


def named(entry: t.Mapping[str, t.Any]) -> str:
    """The name of a lock's file; ValueError if it is not the name of a file."""
    name = str(entry.get("name") or unquote(urldefrag(entry.get("url") or entry.get("path")).url.rpartition("/")[2]))
    if not re.fullmatch(r"[\w.+!-]+", name) or name.startswith("."):
        raise ValueError(f"the index names a file {name!r}")
    return name


def lock_text(files: t.Iterable[PackageFile], options: t.Mapping[str, t.Any]) -> str:
    """The lock that hosts install: exactly these files, by their hashes."""
    lines = [f"{item.package}=={item.version} \\\n    --hash=sha256:{item.sha256}\n" for item in sorted(files)]
    lines += [f"{text}\n" for text in options["requirements"] if " @ " in text]  # sources in the bundle
    return signed("".join(lines), wanted({**DEFAULTS, **options}))


def with_hash(item: PackageFile, sha256: str, size: int) -> PackageFile:
    """The file after it was fetched."""
    return replace(item, sha256=sha256, size=size)
