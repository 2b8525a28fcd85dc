# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three hosts on this machine: each has an address of its own, a folder of its own at the same path, and its own processes.

The addresses are in a network namespace that the test and all that it starts live in; folder and processes are in namespaces that the host's "sudo" enters.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys
import typing as t

ADDRESSES = {"n1": "192.0.2.1", "n2": "192.0.2.2", "n3": "192.0.2.3"}
ALL = {**ADDRESSES, "n4": "192.0.2.4"}  # the last one is only for a rack
NET = 0x40000000  # CLONE_NEWNET
# Its processes end with the first one, when the test closes its input. That one ignores SIGCHLD, so that none stays as a zombie.
FIRST = "import os, signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execvp('cat', ['cat'])"
START = f"""mount --bind "$1" "$2" && echo && exec {sys.executable} -c "{FIRST}\""""
HOST = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", START, "sh"]
SUDO = """#!/bin/sh
while [ "$1" != /bin/sh ]; do shift; done
exec nsenter --target={inside} --mount --pid --wd="$PWD" "$@"
"""


def possible() -> bool:
    """Whether this user can make namespaces."""
    argv = ["unshare", "--net", "--mount", "--pid", "--fork", "true"]
    return subprocess.run(argv, check=False, capture_output=True).returncode == 0


@contextlib.contextmanager
def network() -> t.Iterator[None]:
    """This thread, and what it starts, in a network namespace with the hosts' addresses. ANSIBLE_BECOME_ALLOW_SAME_USER has to be 1."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", encoding="ascii") as before:
        assert libc.unshare(NET) == 0, os.strerror(ctypes.get_errno())
        try:
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            for address in ADDRESSES.values():
                subprocess.run(["ip", "address", "add", f"{address}/24", "dev", "lo"], check=True)
            yield
        finally:
            assert libc.setns(before.fileno(), NET) == 0, os.strerror(ctypes.get_errno())


def host(
    opened: contextlib.ExitStack, folder: pathlib.Path, name: str, own: pathlib.Path, seen_at: pathlib.Path
) -> dict[str, t.Any]:
    """Start a host that sees the folder ``own`` at the path ``seen_at``; its variables in an inventory. It ends with ``opened``."""
    argv = [*HOST, own, seen_at]
    holder = opened.enter_context(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    assert holder.stdout.readline() == b"\n"
    inside = pathlib.Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().strip()
    sudo = folder / f"sudo-{name}"
    sudo.write_text(SUDO.format(inside=inside), encoding="utf-8")
    sudo.chmod(0o755)
    return {
        "ansible_connection": "local",
        "ansible_host": ALL[name],
        "ansible_python_interpreter": sys.executable,
        "ansible_become": True,
        "ansible_become_exe": str(sudo),
    }
