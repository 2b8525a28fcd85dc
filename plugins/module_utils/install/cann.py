# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installation of CANN packages: compare with the disk, run the installer, verify by reading back.

An installer's exit status is not reliable: an ops package called with an unknown option prints its usage
and exits 0, and without ``--quiet`` it stops at the licence prompt. Runs on Python 3.7.
"""

from __future__ import annotations

import os
import typing as t

from ..host import ascend_software as software

LOGS = ("/var/log/ascend_seclog/ascend_toolkit_install.log", "~/var/log/ascend_seclog/ascend_toolkit_install.log")
Run = t.Callable[..., t.Any]


class InstallError(Exception):
    """A package could not be installed; the message states the package, the error and the fix."""


def marker(root, package):
    # type: (str, software.Package) -> str
    """The marker file of a running installation: left behind, it means that the last attempt was interrupted."""
    return os.path.join(root, f".{package.name}.installing")


def is_installed(root, package):
    # type: (str, software.Package) -> bool
    """Whether the package's version is completely installed: by its info, and without a marker of an interrupted attempt."""
    return not os.path.exists(marker(root, package)) and is_whole(root, package)


def is_whole(root, package):
    # type: (str, software.Package) -> bool
    """Whether the package's info files state that its version is installed."""
    found = software.installed(root, package.arch)
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
