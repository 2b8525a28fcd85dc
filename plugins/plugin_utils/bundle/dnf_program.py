# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of openEuler and others with dnf: the closure of names, resolved and fetched by dnf, their signatures, and an index by createrepo_c.

dnf runs with a configuration and a root folder of its own, in which nothing is installed, so that the closure depends on nothing that this
machine has. Repositories may have passwords: they stand in a file of this user outside of the bundle, in no argument and in no message.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import io
import os
import re
import shutil
import typing as t
from dataclasses import replace
from http.client import HTTPException
from urllib.parse import quote, unquote, urlsplit

from ansible.module_utils.urls import open_url

from ...module_utils.install.index_credentials import without_credentials
from ...module_utils.tools.bounded_copy import Endless, bounded_copy
from ...module_utils.tools.runner import ToolMissing, environment, execute
from ...module_utils.tools.served import Served
from .distribution import Wish
from .dnf import (
    PACKED,
    Repository,
    Rpm,
    addresses,
    chosen,
    conf_text,
    records,
    repo_text,
    repositories,
    secrets,
    unfit_release,
)
from .sources import VARIABLE, answered, bring, require_sources
from .store import TIMEOUT as ANSWER
from .store import FetchError, Store

PROGRAMS = ("dnf", "rpmkeys", "createrepo_c")
INDEX = ("repomd.xml", "primary.xml.gz", "filelists.xml.gz", "other.xml.gz")  # as createrepo_c names them
MOST_KEY = 2**20  # bytes
PLUGINS = ("--disableplugin=*", "--enableplugin=download")  # others add repositories of this machine
FIX = f"check {VARIABLE}, and network and proxy of this machine"
# Also of a package without any signature; older versions of rpm do not know it, and say nothing of signatures then.
LEVEL = ["--define", "_pkgverify_level all"]


class Dnf:
    """dnf of this machine for other distributions and machines; files of each in a folder of their own below ``folder``."""

    kind = "rpm"
    needs = "dnf with its command download, rpmkeys or createrepo_c (Debian: dnf, dnf-plugins-core, rpm, createrepo-c)"

    def __init__(self, folder: str, run: t.Callable[..., t.Any] = execute, system: str = "/") -> None:
        self.folder, self.run, self.system = folder, run, system
        self.read: dict[Wish, list[Repository]] = {}

    def usable(self) -> bool:
        """Whether this machine has the programs, and dnf the command download."""
        if not all(shutil.which(program) for program in PROGRAMS):
            return False
        done = self.run(
            ["dnf", "--releasever=/", *PLUGINS, "download", "--help"], ANSWER, self._environment(), cwd=None
        )
        return bool(done.rc == 0 and not done.timed_out)

    def closure(self, wish: Wish) -> list[Rpm]:
        """The packages and all that they need and recommend. Raises ``FetchError``."""
        argv, title = self._prepared(wish), wish.distribution.title
        asked = ["repoquery", "--whatprovides", "system-release", "--queryformat", "release %{name} %{version}\n"]
        lines = self._must(wish, [*argv, *asked]).splitlines()  # among lines about its progress
        found = [line.partition(" ")[2] for line in lines if line.startswith("release ")]
        other = unfit_release(wish.distribution, found)
        if other:
            raise FetchError(
                f"the repositories for {title} are of another release: {other}. Fix: correct {VARIABLE}, or distribution in "
                "inference_bundle_platform"
            )
        machines = f"--arch={wish.distribution.machine},noarch"
        listed = self._must(wish, [*argv, "download", "--resolve", "--alldeps", "--urls", machines, *wish.names])
        named = {address: os.path.basename(unquote(urlsplit(address).path)) for address in addresses(listed)}
        if not named:
            raise FetchError(f"dnf names no packages of {title} for {', '.join(wish.names)}. Fix: {FIX}")
        self._unpack(wish)
        known = records(self._place(wish), {*named.values()})
        signed = {repository.name for repository in self._repositories(wish) if repository.signed}
        return sorted({chosen(address, known[name], signed, title) for address, name in named.items()})

    def _unpack(self, wish: Wish) -> None:
        """Unpack the indexes that Python cannot read."""
        for parent, _folders, names in os.walk(self._place(wish)):
            for path in [os.path.join(parent, name) for name in names if name.endswith(PACKED)]:
                argv = ["zstd", "--decompress", "--quiet", "--force", "-o", path.removesuffix(".zst"), path]
                try:
                    answered(self.run, argv, self._environment(), "the index of a repository", FIX)
                except ToolMissing as error:
                    raise FetchError(
                        f"{error}; an index of {wish.distribution.title} needs it. Fix: install zstd"
                    ) from error

    def fetch(self, wish: Wish, rpms: t.Sequence[Rpm], store: Store) -> None:
        """Bring the packages into the store; those that are there are not fetched. Raises ``FetchError``."""

        def download(specs: list[str], folder: str) -> None:
            self._must(wish, [*self._argv(wish), "download", "--destdir", folder, *specs])

        bring(wish, rpms, store, download, lambda paths: self._require_signed(wish, paths))

    def index(self, wish: Wish, rpms: t.Sequence[Rpm], store: Store) -> list[tuple[str, str]]:
        """The index of a repository with these packages; and the keys that signed them, if all are signed. Raises ``FetchError``."""
        folder = os.path.join(self._place(wish), "index")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for rpm in rpms:
            path = store.place(rpm.name, rpm.sha256)
            if rpm.time and path.startswith(os.path.join(store.folder, "")):
                with contextlib.suppress(OSError):  # the index says it, and is the same after each run
                    os.utime(path, (rpm.time, rpm.time))
            os.symlink(os.path.abspath(path), os.path.join(folder, rpm.name))
        steady = ["--no-database", "--simple-md-filenames", "--general-compress-type=gz"]
        steady += ["--revision=0", "--set-timestamp-to-revision"]
        env, title = self._environment(), f"an index of packages of {wish.distribution.title}"
        answered(self.run, ["createrepo_c", "--quiet", *steady, folder], env, title, "install another createrepo_c")
        paths = [os.path.join(folder, "repodata", name) for name in INDEX]
        absent = [os.path.basename(path) for path in paths if not os.path.isfile(path)]
        if absent:
            raise FetchError(f"createrepo_c did not write {', '.join(absent)}. Fix: install another createrepo_c")
        return [*(("repository", path) for path in paths), *(("key", path) for path in self._keys_of_all(wish, rpms))]

    def _keys_of_all(self, wish: Wish, rpms: t.Sequence[Rpm]) -> list[str]:
        """The files of the keys of the packages' repositories; none if one of them has no signed packages."""
        used = {rpm.repository for rpm in rpms}
        known = [each for each in self._repositories(wish) if each.name in used]
        if not known or not all(each.signed for each in known):
            return []
        return sorted({path for each in known for path in self._keys(wish, each)})

    def _require_signed(self, wish: Wish, paths: t.Mapping[Rpm, str]) -> None:
        """Raise ``FetchError`` for a package without a signature of its repository."""
        for repository in self._repositories(wish):
            own = {path: rpm for rpm, path in paths.items() if rpm.repository == repository.name}
            if not own or not repository.signed:
                continue
            base = self._database(wish, repository)
            done = self.run([*base, *LEVEL, "--checksig", *sorted(own)], ANSWER * 10, self._environment(), cwd=None)
            lines = dict(line.rsplit(": ", 1) for line in done.stdout.splitlines() if ": " in line)
            wrong = [rpm.spec for path, rpm in own.items() if not re.search(r"signatures OK$", lines.get(path, ""))]
            if wrong or done.timed_out or done.rc != 0:
                raise FetchError(
                    f"packages of {wish.distribution.title} have no valid signature of a key of the repository {repository.name}: "
                    f"{', '.join(sorted(wrong)[:5]) or 'rpmkeys failed'}. They were not kept. Fix: correct gpgkey in the file of the repository; "
                    "gpgcheck=0 there takes packages without signatures; rpmkeys has to be of rpm 4.14.2 or newer"
                )

    def _database(self, wish: Wish, repository: Repository) -> list[str]:
        """rpmkeys with the keys of one repository and no others."""
        place = os.path.join(self._place(wish), "rpm", hashlib.sha256(repository.name.encode()).hexdigest())
        base = ["rpmkeys", "--dbpath", place]
        if not os.path.isdir(place):
            paths = self._keys(wish, repository)
            os.makedirs(place)
            fix = f"gpgkey of the repository {repository.name} has to be a key in ASCII armor"
            answered(self.run, [*base, "--import", *paths], self._environment(), "keys of packages", fix)
        return base

    def _keys(self, wish: Wish, repository: Repository) -> list[str]:
        """The repository's keys as files, named by their content."""
        folder = os.path.join(self._place(wish), "keys")
        os.makedirs(folder, exist_ok=True)
        found = []
        for address in repository.keys:
            content = _key(address, repository)
            path = os.path.join(folder, f"RPM-GPG-KEY-{hashlib.sha256(content).hexdigest()[:16]}")
            with open(path, "wb") as stream:
                stream.write(content)
            found.append(path)
        return found

    def _place(self, wish: Wish) -> str:
        return os.path.abspath(os.path.join(self.folder, wish.distribution.platform))

    def _repositories(self, wish: Wish) -> list[Repository]:
        if wish not in self.read:
            require_sources(wish, self.system, "/etc/yum.repos.d/*.repo")
            own = sorted(glob.glob(os.path.join(glob.escape(self.system), "etc/yum.repos.d", "*.repo")))
            paths = [os.path.expanduser(source) for source in wish.sources] or own
            wrong = [path for path in paths if not path.endswith(".repo") or not os.path.isfile(path)]
            if wrong:
                raise FetchError(f"{wrong[0]} is no file NAME.repo of dnf. Fix: correct {VARIABLE}")
            self.read[wish] = repositories(paths, wish.distribution)
        return self.read[wish]

    def _prepared(self, wish: Wish) -> list[str]:
        """The beginning of dnf's arguments, after its files were written. Raises ``FetchError`` if nothing says where packages are."""
        place, given = self._place(wish), [self._with_own_keys(wish, each) for each in self._repositories(wish)]
        for name in ("repos", "vars", "cache", "persist", "log", "root"):
            os.makedirs(os.path.join(place, name), exist_ok=True)
        os.chmod(place, 0o700)
        _write_private(os.path.join(place, "dnf.conf"), conf_text(place, wish.distribution.machine))
        _write_private(os.path.join(place, "repos", "bundle.repo"), repo_text(given))
        return self._argv(wish)

    def _argv(self, wish: Wish) -> list[str]:
        place, distribution = self._place(wish), wish.distribution
        options = {"--config": f"{place}/dnf.conf", "--installroot": f"{place}/root"}
        options.update({"--releasever": distribution.version, "--forcearch": distribution.machine})
        # dnf asks before it takes a key for an index, and these keys are those that the user gave.
        asks = any(repository.signed_index for repository in self._repositories(wish))
        return [
            "dnf",
            *(f"{key}={value}" for key, value in options.items()),
            *PLUGINS,
            *(["--assumeyes"] if asks else []),
        ]

    def _with_own_keys(self, wish: Wish, repository: Repository) -> Repository:
        """A repository whose index is signed, with keys from where nobody changes them on the way: dnf would take them from anywhere."""
        if not repository.signed_index:
            return repository
        own = " ".join(f"file://{quote(path)}" for path in self._keys(wish, repository))
        return replace(repository, options={**repository.options, "gpgkey": own})

    def _must(self, wish: Wish, argv: list[str]) -> str:
        title = f"packages of {wish.distribution.title}"
        hidden = secrets(self._repositories(wish))
        return answered(self.run, argv, self._environment(), title, FIX, secrets=hidden)

    def _environment(self) -> dict[str, str]:
        """dnf is a program of the system's Python, and must not find modules of this one. Nor do a user's macros of rpm count (~/.rpmmacros)."""
        own = {key: value for key, value in environment().items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        return {**own, "HOME": os.path.abspath(self.folder)}


def _write_private(path: str, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)


def _key(address: str, repository: Repository) -> bytes:
    """The content of a key. Raises ``FetchError``, also for an address whose content others on the way could change."""
    parts = urlsplit(address)
    shown = without_credentials(address)
    if parts.scheme not in ("", "file", "https"):
        raise FetchError(
            f"the repository {repository.name} has its key at {shown}: whoever changes the key on the way can change the packages. Fix: write "
            "https:// or file:///PATH of a copy that you have compared"
        )
    content = io.BytesIO()
    try:
        if parts.scheme == "https":
            trusted = repository.options.get("sslcacert") or None
            with Served(lambda: open_url(address, timeout=ANSWER, ca_path=trusted)) as answer:
                bounded_copy(answer, content, MOST_KEY)
        else:
            with open(unquote(parts.path), "rb") as stream:
                bounded_copy(stream, content, MOST_KEY)
    except (OSError, Endless, HTTPException) as error:  # also that of an address
        raise FetchError(
            f"the key {shown} of the repository {repository.name} cannot be read: {error}. Fix: {FIX}"
        ) from error
    return content.getvalue()
