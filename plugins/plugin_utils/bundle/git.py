# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sources in a bundle: a repository at one commit with its submodules, fetched by git and packed as an archive.

The archive has the history's end (``.git``), because packages take their version from the tag, but no settings of git: these may have a
password, and commands that git runs.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tarfile
import tempfile
import typing as t
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from ...module_utils.install.index_credentials import without_credentials
from ...module_utils.tools.runner import ToolMissing, execute
from ...module_utils.tools.text import visible
from .archives import Given, cmake_files, embed, same, unknown
from .checkouts import Checkout
from .manifest import item
from .sources import answered
from .store import FetchError, Store, blob

COMMIT = re.compile(r"[0-9a-f]{40}")
CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
OWN = {"HEAD", "index", "objects", "packed-refs", "refs", "shallow"}  # what stays below .git
# Git asks this program with a prompt such as "Username for 'https://host': ". Arguments can be read by all users of a machine, an environment cannot.
ASK = """\
#!/bin/sh
case $1 in
    *"//$ASCEND_GIT_SERVER'"* | *"@$ASCEND_GIT_SERVER'"*) ;;
    *) exit 1 ;; # another server, such as that of a submodule
esac
case $1 in
    Username*) printf '%s\\n' "$ASCEND_GIT_USER" ;;
    *) printf '%s\\n' "$ASCEND_GIT_PASSWORD" ;;
esac
"""
FIX = "check the address, the reference and the access of git on this machine (git ls-remote)"


@dataclass(frozen=True, order=True)
class Source:
    """A checkout at one commit. ``refspec``: what is fetched for it; ``depth``: whether the commit alone is enough."""

    checkout: Checkout
    commit: str
    refspec: str
    depth: bool

    @property
    def name(self) -> str:
        """The file in the bundle."""
        return self.checkout.archive

    @property
    def version(self) -> str:
        """The commit, for the list and the manifest."""
        return self.commit

    @property
    def origin(self) -> str:
        """The repository without user and password."""
        return self.checkout.origin

    sha256 = ""  # nobody publishes one of an archive that is made here


class Git:
    """Finds and fetches sources in ``folder``, a folder for temporary files. ``run`` is runner.execute; ``given``: archives of builds."""

    def __init__(self, folder: str, run: t.Callable[..., t.Any] = execute, given: Given | None = None) -> None:
        self.folder, self.run, self.given = folder, run, given or Given()

    def _git(self, title: str, *argv: str, cwd: str | None = None, access: t.Mapping[str, str] | None = None) -> str:
        env = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(access or {})}
        try:
            return answered(self.run, ["git", *argv], env, title, FIX, cwd=cwd)
        except ToolMissing as error:
            raise FetchError(f"{title} need git on this machine. Fix: install git") from error

    def _access(self, repository: str) -> tuple[str, dict[str, str]]:
        """The address for git's arguments, and variables with which git gets the user and the password that it had."""
        parts = urlsplit(repository)
        if parts.scheme not in ("http", "https") or parts.username is None:
            return repository, {}
        ask = os.path.join(self.folder, "askpass")
        with open(ask, "w", encoding="utf-8") as stream:
            stream.write(ASK)
        os.chmod(ask, 0o700)
        secrets = {"USER": unquote(parts.username), "PASSWORD": unquote(parts.password or "")}
        named = {**secrets, "SERVER": parts.netloc.rpartition("@")[2]}
        return without_credentials(repository), {
            "GIT_ASKPASS": ask,
            **{f"ASCEND_GIT_{name}": value for name, value in named.items()},
        }

    def find(self, checkout: Checkout) -> Source:
        """The commit that a tag or branch names now; a whole commit is taken as it is. Raises ``FetchError``."""
        ref, title = checkout.ref, f"the sources {checkout.origin} at {checkout.ref}"
        if not checkout.valid:
            raise FetchError(f"{visible(title)} cannot be asked for. Fix: correct the variables of the roles")
        if COMMIT.fullmatch(ref):
            return Source(checkout, ref, "+refs/heads/*:refs/remotes/origin/*", False)
        names = [f"refs/tags/{ref}", f"refs/tags/{ref}^{{}}", f"refs/heads/{ref}"]
        address, access = self._access(checkout.repository)
        output = self._git(title, "ls-remote", "--", address, *names, access=access)
        found = dict(reversed(line.split("\t", 1)) for line in output.splitlines() if "\t" in line)
        tag, branch = found.get(names[1]) or found.get(names[0], ""), found.get(names[2], "")
        if not COMMIT.fullmatch(tag or branch):
            raise FetchError(f"{checkout.origin} has no tag and no branch {ref}. Fix: correct the variable of the role")
        if tag:
            return Source(checkout, tag, f"+{names[0]}:{names[0]}", True)
        return Source(
            checkout, branch, f"+{names[2]}:refs/remotes/origin/{ref}", False
        )  # its version is that of an older tag

    def fetch(self, source: Source, store: Store, known: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
        """The manifest's item of the archive. One of the same commit among ``known``, items of earlier bundles, is kept. Raises ``FetchError``."""
        for entry in known:
            alike = (entry["name"], entry["origin"], entry["version"]) == (source.name, source.origin, source.version)
            alike = alike and (not source.checkout.fetches or same(entry, self.given))
            if entry["kind"] == "source" and alike and store.has(source.name, entry["sha256"], entry["size"]):
                return dict(entry)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            tree = os.path.join(folder, source.checkout.folder)
            archive = os.path.join(folder, source.name)
            moment = self._checked_out(source, tree)
            fetched = self._with_archives(source, tree, folder) if source.checkout.fetches else {}
            without_settings(tree)
            pack(tree, archive, moment)
            sha256, size = store.add(source.name, archive)
        more = {"version": source.version, "platforms": [], "published": False}
        entry = item("source", source.name, source.origin, sha256, size, blob(sha256, source.name), **more)
        return {**entry, **fetched}

    def _with_archives(self, source: Source, tree: str, folder: str) -> dict[str, t.Any]:
        """Make the archives that its build fetches a part of the sources. Git takes the changed files as they were, so that the version stays.

        What the manifest says of them (``archives``), and the addresses of what cannot become a part (``downloads``).
        """
        archives, changed = embed(tree, folder, self.given)
        title = f"the sources {source.origin} at {source.checkout.ref}"
        known = set(self._git(title, "ls-files", "-z", cwd=tree).split("\0"))  # without files of submodules
        for path in known.intersection(changed):
            self._git(title, "update-index", "--assume-unchanged", "--", path, cwd=tree)
        return {"archives": archives, "downloads": unknown(cmake_files(tree))}

    def _checked_out(self, source: Source, tree: str) -> int:
        """Write the files of the commit and its submodules into ``tree``; the time of the commit in seconds since 1970."""
        title = f"the sources {source.origin} at {source.checkout.ref}"
        more = ["--depth", "1", "--no-tags"] if source.depth else ["--tags"]
        address, access = self._access(source.checkout.repository)
        self._git(title, "init", "--quiet", tree)
        self._git(title, "remote", "add", "--", "origin", address, cwd=tree)  # submodules may be beside it
        self._git(title, "fetch", "--quiet", *more, "origin", source.refspec, cwd=tree, access=access)
        self._git(title, "checkout", "--quiet", "--detach", source.commit, cwd=tree)
        self._git(title, "submodule", "--quiet", "update", "--init", "--recursive", cwd=tree, access=access)
        return int(self._git(title, "show", "--no-patch", "--format=%ct", "HEAD", cwd=tree).split()[-1])


def without_settings(tree: str) -> None:
    """Remove what git keeps of the fetch: addresses, hooks, logs, and the repositories of submodules, whose files stay."""
    own = os.path.join(tree, ".git")
    for name in os.listdir(own):
        path = os.path.join(own, name)
        if name not in OWN:
            shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    with open(os.path.join(own, "config"), "w", encoding="utf-8") as stream:
        stream.write(CONFIG)
    for folder, folders, files in os.walk(tree):
        if folder == tree:
            folders.remove(".git")
        for name in [name for name in folders if name == ".git"]:
            shutil.rmtree(os.path.join(folder, name))
            folders.remove(name)
        for name in [name for name in files if name == ".git"]:
            os.unlink(os.path.join(folder, name))


def pack(tree: str, archive: str, moment: int) -> None:
    """Pack a folder below its own name, with the owner root and one time for all files. Raises ``FetchError`` for other than files and links."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        if not (member.isfile() or member.isdir() or member.issym()):
            raise FetchError(
                f"the sources have {visible(member.name)}, which is neither a file nor a folder nor a link"
            )
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = moment
        member.mode = 0o755 if member.isdir() or member.mode & stat.S_IXUSR else 0o644
        return member

    with tarfile.open(archive, "w:gz", compresslevel=6) as opened:
        opened.add(tree, arcname=os.path.basename(tree), filter=plain)
