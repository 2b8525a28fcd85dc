# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What apt and dnf have in common as sources of packages of distributions: how they are asked, and what the list of a bundle asks them."""

from __future__ import annotations

import os
import shlex
import shutil
import typing as t

from ...module_utils.install.index_credentials import without_credentials
from ...module_utils.tools.text import visible
from .distribution import Wish
from .store import FetchError, Store, sha256_of

TIMEOUT = 3600  # seconds
SHOWN = 800  # characters of each stream of a program that failed
VARIABLE = "inference_bundle_sources"


class Package(t.Protocol):
    """One package: ``name`` is that of its file in the bundle, ``spec`` what its program calls it, ``origin`` its address without
    credentials, ``size`` in bytes."""

    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def sha256(self) -> str: ...
    @property
    def size(self) -> int: ...


class Fetcher(t.Protocol):
    """Packages of one family of distributions. ``kind`` is that of the manifest's items, ``needs`` says what this machine has to have."""

    kind: str
    needs: str

    def usable(self) -> bool:
        """Whether this machine has the programs."""

    def closure(self, wish: Wish) -> list[t.Any]:
        """The packages and all that they need. Raises ``FetchError``."""

    def fetch(self, wish: Wish, packages: t.Sequence[t.Any], store: Store) -> None:
        """Bring the packages into the store; those that are there are not fetched. Raises ``FetchError``."""

    def index(self, wish: Wish, packages: t.Sequence[t.Any], store: Store) -> list[tuple[str, str]]:
        """(kind, path) of the files with which hosts find the packages, written outside of the store. Raises ``FetchError``."""


def known(folder: str) -> dict[str, str]:
    """{SHA-256: path} of the files of a folder."""
    paths = [os.path.join(folder, name) for name in os.listdir(folder)]
    return {sha256_of(path): path for path in paths if os.path.isfile(path)}


def bring(
    wish: Wish,
    packages: t.Sequence[t.Any],
    store: Store,
    download: t.Callable[[list[str], str], None],
    accept: t.Callable[[dict[t.Any, str]], None] | None = None,
) -> None:
    """Bring packages into the store, and those of an interrupted run from where it put them. Raises ``FetchError``.

    ``download(specs, folder)`` lets the program write files; those of an index's SHA-256 are kept. ``accept({package: path})`` judges all of
    them, also those of earlier runs, before one is kept.
    """
    lacking = [package for package in packages if not store.has(package.name, package.sha256, package.size)]
    folder = os.path.join(store.folder, "incomplete", wish.distribution.platform)
    os.makedirs(folder, exist_ok=True)
    kept = known(folder)
    wanted = [package.spec for package in lacking if package.sha256 not in kept]
    if wanted:
        download(wanted, folder)
        kept = known(folder)
    for package in lacking:
        if package.sha256 not in kept:
            raise FetchError(
                f"{package.origin} is not what the index of {wish.distribution.title} says. Fix: check the mirror"
            )
    if accept:
        stored = {package: store.place(package.name, package.sha256) for package in packages}
        accept({**stored, **{package: kept[package.sha256] for package in lacking}})
    for package in lacking:
        store.get(package.name, kept[package.sha256], package.sha256, package.size)
    shutil.rmtree(folder)


def this_distribution(system: str) -> tuple[str, ...]:
    """ID and VERSION_ID of the machine whose root folder is ``system``; empty if it does not say."""
    try:
        with open(os.path.join(system, "etc/os-release"), encoding="utf-8") as stream:
            fields = dict(line.split("=", 1) for line in shlex.split(stream.read(), comments=True) if "=" in line)
    except (OSError, ValueError):
        return ()
    return (fields.get("ID", ""), fields.get("VERSION_ID", ""))


def require_sources(wish: Wish, system: str, places: str) -> None:
    """Raise ``FetchError`` for a wish without files of sources unless this machine has the same distribution, and so its own."""
    here = this_distribution(system)
    if wish.sources or (wish.distribution.name, wish.distribution.version) == here:
        return
    raise FetchError(
        f"this machine has {' '.join(here) or 'an unknown distribution'}, and the hosts have {wish.distribution.title}. Fix: set "
        f"{VARIABLE} to copies of their files of package sources ({places})"
    )


def answered(
    run: t.Callable[..., t.Any], argv: t.Sequence[str], env: t.Mapping[str, str], title: str, fix: str, **more: t.Any
) -> str:
    """The output of a program that succeeded. Raises ``FetchError`` with its last words, without user and password of any address.

    ``title`` names what it was asked for. ``more``: ``cwd``, and ``secrets``, texts that are left out of the message.
    """
    done = run([*argv], TIMEOUT, dict(env), cwd=more.get("cwd"))
    if not done.timed_out and done.rc == 0:
        return str(done.stdout)
    # What is unavailable is in the first stream, the verdict in the second.
    output = f"{done.stdout.strip()[-SHOWN:]}\n{done.stderr.strip()[-SHOWN:]}"
    reason = f"it did not end in {TIMEOUT} s" if done.timed_out else visible(output.strip())
    for secret in sorted(more.get("secrets", ()), key=len, reverse=True):
        reason = reason.replace(secret, "***")
    raise FetchError(f"{argv[0]} cannot get {title}: {without_credentials(reason)}. Fix: {fix}")
