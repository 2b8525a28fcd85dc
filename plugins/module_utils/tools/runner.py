# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only way in which this collection runs a command on a host: a time limit, the whole process group killed, bounded output.

``execute`` runs any command. ``run(argv, timeout, stdin=None, env=None) -> Output`` runs a vendor tool and is the contract that
tests replace. npu-smi and hccn_tool can hang for 300 seconds on a chip that dropped off the bus, ask y/n on stdin, and print
errors on either stream with any exit status, so output is evaluated only by the parsers.
"""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections import namedtuple

Output = namedtuple("Output", "argv rc stdout stderr timed_out")

# Paths of the driver's tools, which are often not in the PATH of non-login SSH sessions.
PLACES = ("/usr/local/bin", "/usr/local/sbin", "/usr/local/Ascend/driver/tools", "/usr/bin", "/usr/sbin")
# libc_sec.so lives only in common, libdrvdsmi_host.so only in driver: without them the loader stops npu-smi with status 127.
LIBRARIES = (
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/lib64/common",
    "/usr/local/Ascend/driver/lib64/driver",
)
GRACE = 5  # seconds to wait for a killed process; one in uninterruptible sleep is then abandoned
DRAIN = 0.5  # seconds to read the pipes after the tool has exited
MOST_OUTPUT = 4 * 2**20  # maximum number of bytes of one stream; the longest real output has about 60 KiB
MOST_LOG = 64 * 2**20  # bytes of a log or of an installation's output


class ToolMissing(OSError):
    """The executable is missing; the message contains the searched paths and the fix."""


def find_executable(name, given=None):
    """Path of the tool: ``given`` if it is set, else from PATH and the driver's default paths."""
    if given:
        found = shutil.which(given)
        if not found and os.path.exists(given):
            raise ToolMissing(f"executable={given}: the file is not executable for this user")
        if not found:
            raise ToolMissing(f"executable={given}: the file does not exist")
        return found
    path = os.pathsep.join([os.environ.get("PATH", os.defpath)] + list(PLACES))
    found = shutil.which(name, path=path)
    if not found:
        places = ", ".join(PLACES)
        raise ToolMissing(
            f"{name} is neither in PATH nor in {places}. Install the Ascend driver on this host, in a container mount "
            f"the tool from the host, or set its path with the option 'executable'."
        )
    return found


def environment(extra=None):
    """The process environment with the driver's library paths, untranslated messages, and ``extra``."""
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
    After a timeout ``timed_out`` is true and ``rc`` is None. A program that can't be started raises ToolMissing.
    """
    return execute(argv, timeout, environment(env), stdin)


def execute(argv, timeout, env, stdin=None, cwd=None, merged=False, most=None, inherited=(), largest=None):
    """As :func:`run`, with ``env`` as the whole environment and ``cwd`` as the working directory.

    ``merged``: both streams come in the order in which they were printed, in ``stdout``. More than ``most`` bytes of a stream
    end the command (None: MOST_OUTPUT). ``inherited``: descriptors that the command keeps open. ``stdin`` may be a function that
    writes much into the pipe; it runs in a thread, and what it could not write is for the command to notice.
    ``largest``: bytes of the largest file that the command can write.
    """
    most = MOST_OUTPUT if most is None else most
    # Not AnsibleModule.run_command: a hanging tool must be killed with its children, and this runs in threads.
    try:
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            argv,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            env=env,
            cwd=cwd,
            start_new_session=True,
            pass_fds=inherited,
        )
    except OSError as error:
        raise ToolMissing(f"{argv[0]} cannot be started: {error.strerror or error}") from error
    if largest is not None:
        with contextlib.suppress(ProcessLookupError):  # it may have ended
            hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1]
            largest = largest if hard == resource.RLIM_INFINITY else min(largest, hard)
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, largest))
    pipes = {"stdout": process.stdout} if merged else {"stdout": process.stdout, "stderr": process.stderr}
    with contextlib.ExitStack() as opened:
        for pipe in pipes.values():
            opened.enter_context(pipe)
        _feed(process, stdin)
        streams, timed_out = _collect(process, pipes, timeout, most)
    out, err = (bytes(streams.get(name, b"")) for name in ("stdout", "stderr"))
    if timed_out or process.returncode is None:
        return Output(argv, None, _decode(out), _decode(err), True)
    if max(len(out), len(err)) >= most:
        note = b"\nstopped: the tool printed more than %d MiB" % (most // 2**20)
        out, err = (out + note, err) if merged else (out, err + note)
        # A tool that ended by itself before it was killed did so with output that is cut off: no success either.
        return Output(argv, process.returncode or -signal.SIGKILL, _decode(out), _decode(err), False)
    return Output(argv, process.returncode, _decode(out), _decode(err), False)


def _feed(process, stdin):
    """Write ``stdin`` (a few letters for a prompt) and close the pipe; it is no error if the tool does not read it."""
    if callable(stdin):
        threading.Thread(target=_pour, args=(process.stdin, stdin), daemon=True).start()
    elif stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(stdin.encode())
            process.stdin.close()


def _pour(pipe, write):
    """Let a function write into the pipe, until it ends or the command does."""
    with contextlib.suppress(OSError), pipe:
        write(pipe)


def _collect(process, pipes, timeout, most):
    """Read the streams until they end, the tool ends, prints too much or takes too long -> ({name: bytes}, timed out).

    A daemon started by the tool may keep the pipes open; the tool's own output is complete when it has exited, so
    the pipes are read for only DRAIN more seconds.
    """
    streams, deadline = {name: bytearray() for name in pipes}, time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for name, pipe in pipes.items():
            selector.register(pipe, selectors.EVENT_READ, name)
        drain = None
        while selector.get_map():
            if drain is None and process.poll() is not None:
                drain = time.monotonic() + DRAIN
            if time.monotonic() >= (deadline if drain is None else min(drain, deadline)):
                break
            _read_ready(selector, streams, most)
            if any(len(data) >= most for data in streams.values()):
                _kill(process)
                return streams, False
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        _kill(process)
        return streams, True
    return streams, False


def _read_ready(selector, streams, most):
    for key, _events in selector.select(0.1):
        data = os.read(key.fd, 65536)
        if data:
            streams[key.data] += data[: most - len(streams[key.data])]
        else:
            selector.unregister(key.fileobj)


def _kill(process):
    """Kill the tool with its children; one in uninterruptible sleep is abandoned after GRACE seconds."""
    with contextlib.suppress(ProcessLookupError):  # it may exit between the timeout and the kill
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)


def _decode(data):
    return (data or b"").decode("utf-8", "replace")


class Tool:
    """An executable tool with its timeout: ``tool(args) -> Output``."""

    def __init__(self, path, timeout, runner=run):
        self.path, self.timeout, self._runner = path, timeout, runner

    def __call__(self, args, stdin=None):
        return self._runner([self.path] + list(args), self.timeout, stdin=stdin)


def tool_of(module, name, runner=run):
    """The adapter to AnsibleModule: the :class:`Tool` for the options ``executable`` and ``timeout``."""
    return Tool(find_executable(name, module.params["executable"]), module.params["timeout"], runner)
