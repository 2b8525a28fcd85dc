# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way this collection runs a vendor tool: a hard time limit, the tool's whole process group killed, both streams kept.

``run(argv, timeout, stdin=None, env=None) -> Output`` is the contract that tests replace. npu-smi and hccn_tool can hang for
300 seconds on a chip that dropped off the bus, ask y/n on stdin, and print errors on either stream with any exit status, so
nothing here judges an answer: that is the parsers' work.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections import namedtuple

Output = namedtuple("Output", "argv rc stdout stderr timed_out")

# Where the driver package puts the tools when they aren't in PATH (a non-login SSH session often lacks these).
PLACES = ("/usr/local/bin", "/usr/local/sbin", "/usr/local/Ascend/driver/tools", "/usr/bin", "/usr/sbin")
# libc_sec.so lives only in common, libdrvdsmi_host.so only in driver: without them the loader stops npu-smi with status 127.
LIBRARIES = (
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/lib64/common",
    "/usr/local/Ascend/driver/lib64/driver",
)
GRACE = 5  # seconds to collect what is left after a kill; a process in uninterruptible sleep is then left behind


class ToolMissing(Exception):
    """The executable isn't there; the message says where it was looked for and what to do."""


def find_executable(name, given=None):
    """Path of the tool: ``given`` if the user named one, else from PATH and the driver's usual places."""
    if given:
        found = shutil.which(given)
        if not found:
            raise ToolMissing(f"executable={given}: there is no such executable file")
        return found
    path = os.pathsep.join([os.environ.get("PATH", os.defpath)] + list(PLACES))
    found = shutil.which(name, path=path)
    if not found:
        places = ", ".join(PLACES)
        raise ToolMissing(
            f"{name} was found neither in PATH nor in {places}. Install the Ascend driver on this host, in a container mount "
            f"the tool from the host, or name it with the option 'executable'."
        )
    return found


def environment(extra=None):
    """The process environment with the driver's libraries findable, messages untranslated, and ``extra`` on top."""
    env = dict(os.environ)
    known = [entry for entry in env.get("LD_LIBRARY_PATH", "").split(os.pathsep) if entry]
    added = [entry for entry in LIBRARIES if entry not in known and os.path.isdir(entry)]
    if known or added:
        env["LD_LIBRARY_PATH"] = os.pathsep.join(known + added)
    env.update(LC_ALL="C", LANGUAGE="C")
    env.update(extra or {})
    return env


def run(argv, timeout, stdin=None, env=None):
    """Run ``argv`` for at most ``timeout`` seconds and return its :class:`Output`.

    ``stdin`` is text for the tool's prompts (None: end of file at once). ``env`` is added to :func:`environment`.
    After a time-out ``timed_out`` is true and ``rc`` is None. A program that can't be started raises ToolMissing.
    """
    # Not AnsibleModule.run_command: what hangs has to be killed with its children, and threads share this.
    try:
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            argv,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(env),
            start_new_session=True,
        )
    except OSError as error:
        raise ToolMissing(f"{argv[0]} cannot be started: {error.strerror or error}") from error
    text = None if stdin is None else stdin.encode()
    try:
        out, err = process.communicate(text, timeout=timeout)
        return Output(argv, process.returncode, _decode(out), _decode(err), False)
    except subprocess.TimeoutExpired:
        out, err = _kill(process)
        return Output(argv, None, _decode(out), _decode(err), True)


def _kill(process):
    with contextlib.suppress(ProcessLookupError):  # it may end between the time-out and the kill
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdout, process.stderr):
            pipe.close()
        return b"", b""


def _decode(data):
    return (data or b"").decode("utf-8", "replace")


class Tool:
    """A found tool with its time limit: what modules hand to the gathering code. ``tool(args) -> Output``."""

    def __init__(self, path, timeout, runner=run):
        self.path, self.timeout, self._runner = path, timeout, runner

    def __call__(self, args, stdin=None):
        return self._runner([self.path] + list(args), self.timeout, stdin=stdin)


def tool_of(module, name):
    """The adapter to AnsibleModule: the :class:`Tool` that the options ``executable`` and ``timeout`` describe."""
    return Tool(find_executable(name, module.params["executable"]), module.params["timeout"])
