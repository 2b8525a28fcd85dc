# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installation of CANN packages: compare with the disk, run the installer, verify by reading back.

An installer's exit status is not reliable: an ops package called with an unknown option prints its usage
and exits 0, and without ``--quiet`` it stops at the licence prompt. Runs on Python 3.7.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import typing as t

from ..files import own_folder
from ..files.trust import shared
from ..host import ascend_software as software

LOGS = ("/var/log/ascend_seclog/ascend_toolkit_install.log", "~/var/log/ascend_seclog/ascend_toolkit_install.log")
MARKER = (".", ".installing")  # around the name of a package
COPIES = ".ascend-inference-packages"  # below the folder of CANN, while a package is installed
CHUNK = 2**20
Run = t.Callable[..., t.Any]


class InstallError(Exception):
    """A package could not be installed; the message states the package, the error and the fix."""


def marker(root, package):
    # type: (str, software.Package) -> str
    """The marker file of a running installation: left behind, it means that the last attempt was interrupted."""
    return os.path.join(root, package.name.join(MARKER))


def state(root, arch):
    # type: (str, str) -> t.Dict[str, t.Any]
    """``{installed, interrupted}``: packages by kind and version, and file names of those whose last attempt was interrupted."""
    found = glob.glob(marker(glob.escape(root), software.Package("", "*", "", "", "", "")))
    names = [os.path.basename(path) for path in found]
    return {
        "installed": software.installed(root, arch),
        "interrupted": sorted(name[len(MARKER[0]) : -len(MARKER[1])] for name in names),
    }


def missing(packages, found):
    # type: (t.Iterable[software.Package], t.Dict[str, t.Any]) -> t.List[software.Package]
    """The packages that are not completely installed according to ``state``, in the order of installation."""
    left = [item for item in packages if item.name in found["interrupted"] or not _recorded(item, found["installed"])]
    return sorted(left, key=lambda item: software.ORDER.index(item.kind))


def is_installed(root, package):
    # type: (str, software.Package) -> bool
    """Whether the package's version is completely installed: by its info, and without a marker of an interrupted attempt."""
    return not missing([package], state(root, package.arch))


def is_whole(root, package):
    # type: (str, software.Package) -> bool
    """Whether the package's info files state that its version is installed."""
    return _recorded(package, software.installed(root, package.arch))


def _recorded(package, found):
    # type: (software.Package, t.Dict[str, t.Dict[str, t.Any]]) -> bool
    kinds = ("toolkit", "kernels", "nnal") if package.kind == "cann" else (package.kind,)
    return all(package.version in found[kind] for kind in kinds)


def command(root, package, for_all, action):
    # type: (str, software.Package, bool, str) -> t.List[str]
    """The installer's argv. ``--full`` is never used: ops packages accept it, install nothing, and exit 0."""
    argv = ["bash", package.path, "--" + action, "--quiet", "--install-path=" + root]
    if for_all and action == "install":
        argv.append("--install-for-all")
    if package.kind == "nnal" and software.environment(root):
        # NNAL's installer takes its path from the toolkit's environment.
        return ["bash", "-c", 'source "$1" && shift && exec "$@"', "install"] + software.environment(root)[:1] + argv
    return argv


@contextlib.contextmanager
def unchangeable(root, package, checksum):
    # type: (str, software.Package, str) -> t.Iterator[software.Package]
    """The package in a place where nobody else can swap it after it was compared: itself, or a compared copy that is removed afterwards.

    ``checksum``: ALGORITHM:HEX, or empty for a package that is not compared. Called under the lock of ``root``.
    """
    others = shared(package.path) or shared(os.path.dirname(package.path))
    if not checksum or not others:
        yield package
        return
    folder = os.path.join(root, COPIES)
    own_folder.end(folder)  # of a run that was killed
    try:
        copy = package._replace(path=os.path.join(own_folder.begin(folder, 0o700), package.name))
        found = _copied(package.path, copy.path, checksum.partition(":")[0])
        if found != checksum.partition(":")[2]:
            raise InstallError(
                f"{package.path} was changed after it was compared: its checksum is {found} now, expected {checksum}. It was not run. "
                f"Fix: find out who wrote to {others[0]}, and fetch the package again."
            )
        yield copy
    except own_folder.Foreign as error:
        raise InstallError(str(error)) from error
    finally:
        own_folder.end(folder)


def _copied(source, target, algorithm):
    # type: (str, str, str) -> str
    """Copy a file; the checksum of what was copied."""
    digest = hashlib.new(algorithm)
    with open(source, "rb") as original, open(target, "wb") as copy:
        for chunk in iter(lambda: original.read(CHUNK), b""):
            digest.update(chunk)
            copy.write(chunk)
    return digest.hexdigest()


def install(run, root, package, for_all, timeout):
    # type: (Run, str, software.Package, bool, float) -> None
    """Install one package; raises InstallError unless its version can be read back afterwards."""
    check = run(["bash", package.path, "--check"], timeout)
    if check.rc != 0:
        raise InstallError(f"{package.path}: the file is damaged (--check failed). Fetch it again. {tail(check)}")
    os.makedirs(root, exist_ok=True)
    mark = marker(root, package)
    if os.path.exists(mark):
        run(command(root, package, for_all, "uninstall"), timeout)  # remove the rest of an interrupted attempt, if any
    with open(mark, "w", encoding="utf-8") as handle:
        handle.write("installation started by ascend.inference.cann_package\n")
    done = run(command(root, package, for_all, "install"), timeout)
    if done.timed_out:
        raise InstallError(f"{package.name}: the installer timed out after {timeout} s. Run the play again to repair.")
    whole = is_whole(root, package)
    if done.rc != 0 or not whole:
        raise InstallError(
            "{}: the installer exited with {}, but version {} {} below {}. {}".format(
                package.name, done.rc, package.version, "is" if whole else "is not", root, tail(done)
            )
        )
    os.remove(mark)


def tail(output, lines=15):
    # type: (t.Any, int) -> str
    """The last lines of the installer's output and of its log."""
    end = (output.stdout + output.stderr).strip().splitlines()[-lines:]
    for path in LOGS:
        try:
            with open(os.path.expanduser(path), encoding="utf-8", errors="replace") as handle:
                end += ["-- " + path] + handle.read().strip().splitlines()[-lines:]
        except OSError:
            continue
    return "Output: " + "\n".join(end) if end else "No output."
