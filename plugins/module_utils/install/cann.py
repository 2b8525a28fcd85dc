# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installing CANN packages: decide from what is on disk, run the installer, believe only what can be read back.

An installer's exit status proves nothing: an ops package called with an option that it does not know prints its usage
and exits 0, and without ``--quiet`` the licence question ends it. Runs on Python 3.7.
"""

from __future__ import annotations

import os
import typing as t

from ..host import ascend_software as software

LOGS = ("/var/log/ascend_seclog/ascend_toolkit_install.log", "~/var/log/ascend_seclog/ascend_toolkit_install.log")
Run = t.Callable[..., t.Any]


class InstallError(Exception):
    """A package could not be installed; the message names it, says what was seen, and what to do."""


def marker(root, package):
    # type: (str, software.Package) -> str
    """The file that stands while a package is being installed: found later, it means that the last try broke off."""
    return os.path.join(root, f".{package.name}.installing")


def is_installed(root, package):
    # type: (str, software.Package) -> bool
    """Whether the package's version is whole: its info says so, and no broken try is marked."""
    return not os.path.exists(marker(root, package)) and is_whole(root, package)


def is_whole(root, package):
    # type: (str, software.Package) -> bool
    """Whether the package's own files say that its version is there."""
    found = software.installed(root, package.arch)
    kinds = ("toolkit", "kernels", "nnal") if package.kind == "cann" else (package.kind,)
    return all(package.version in found[kind] for kind in kinds)


def command(root, package, for_all, action):
    # type: (str, software.Package, bool, str) -> t.List[str]
    """The installer's argv. ``--full`` is never used: ops packages take it, install nothing, and exit 0."""
    argv = ["bash", package.path, "--" + action, "--quiet", "--install-path=" + root]
    if for_all and action == "install":
        argv.append("--install-for-all")
    if package.kind == "nnal" and software.environment(root):
        # NNAL's installer asks the toolkit's environment for its place.
        return ["bash", "-c", 'source "$1" && shift && exec "$@"', "install"] + software.environment(root)[:1] + argv
    return argv


def install(run, root, package, for_all, timeout):
    # type: (Run, str, software.Package, bool, float) -> None
    """Install one package; raises InstallError unless its version can be read back afterwards."""
    check = run(["bash", package.path, "--check"], timeout)
    if check.rc != 0:
        raise InstallError(f"{package.path}: the file is damaged (--check failed). Fetch it again. {tail(check)}")
    os.makedirs(root, exist_ok=True)
    mark = marker(root, package)
    if os.path.exists(mark):
        run(command(root, package, for_all, "uninstall"), timeout)  # what a broken try of ours left; it may be nothing
    with open(mark, "w", encoding="utf-8") as handle:
        handle.write("installation begun by ascend.inference.cann_package\n")
    done = run(command(root, package, for_all, "install"), timeout)
    if done.timed_out:
        raise InstallError(
            f"{package.name}: the installer did not end within {timeout} s. Run the play again to repair."
        )
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
    """The end of what the installer said, and of its log."""
    said = (output.stdout + output.stderr).strip().splitlines()[-lines:]
    for path in LOGS:
        try:
            with open(os.path.expanduser(path), encoding="utf-8", errors="replace") as handle:
                said += ["-- " + path] + handle.read().strip().splitlines()[-lines:]
        except OSError:
            continue
    return "It said: " + "\n".join(said) if said else "It said nothing."
