# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base class of the runtimes on hosts, with the same methods for all. ``registry`` lists them."""

from __future__ import annotations

import os
import time

from ..tools import foreign_file
from ..tools.runner import ToolMissing, execute

ENVIRONMENT = {"LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}
MARGIN = 120  # seconds in addition to a service's stop timeout, for the tool that stops it


class RuntimeProblem(Exception):
    """The runtime is not available or refused an operation; the text contains the problem and the fix."""


class RuntimeNotRunning(RuntimeProblem):
    """The runtime itself is not running, so none of its services is."""


def command(argv, timeout=60, most=None):
    """Run a short command -> (exit code, both streams as one text). Raises RuntimeProblem if it cannot be run or times out."""
    try:
        done = execute(argv, timeout, dict(os.environ, **ENVIRONMENT), merged=True, most=most)
    except ToolMissing as error:
        raise RuntimeProblem(str(error)) from error
    if done.timed_out:
        raise RuntimeProblem("{} exceeded its timeout of {:g} s".format(" ".join(argv), round(timeout, 1)))
    return done.rc, done.stdout


def brief(seconds, run=command, clock=time.monotonic):
    """``command`` for a caller that has to answer soon: what is started later than ``seconds`` from now fails, and all of it ends by then."""
    end = clock() + seconds

    def run_until(argv, timeout=60, most=None):
        left = end - clock()
        if left <= 0:
            raise RuntimeProblem("{} was not run, because earlier commands took {} s".format(" ".join(argv), seconds))
        return run(argv, min(timeout, left), most)

    return run_until


MOST_OF_LOG = 8 * 1024 * 1024  # bytes of the end of a log


def tail(path, lines):
    """The last lines of a file."""
    try:
        with foreign_file.opened(path) as stream:
            stream.seek(0, 2)
            size = min(400 * lines, MOST_OF_LOG)
            stream.seek(max(0, stream.tell() - size))
            return "\n".join(stream.read(size).decode("utf-8", "replace").splitlines()[-lines:])
    except OSError as error:
        return f"({error})"


def stop_time(services):
    """The maximum number of seconds to stop these services."""
    return max([60] + [service.get("stop_timeout") or 0 for service in services]) + MARGIN


def state(name, up=False, pending=False, start_id=None, since=None, restarts=None, detail="", digest=""):
    """The state of one service in its runtime.

    ``state``: running, starting, absent or the runtime's own term; ``up``: it runs or is starting; ``pending``: it exited and
    the runtime will restart it; ``start_id``: changes with every start; ``since``: seconds since 1970 or None; ``restarts``:
    unexpected exits, None if unknown; ``digest``: of its configuration at start, "" if it is only in its digest file.
    """
    return {
        "state": name,
        "up": up,
        "pending": pending,
        "start_id": start_id,
        "since": since,
        "restarts": restarts,
        "detail": detail,
        "digest": digest,
    }


class Runtime:
    """The methods of a runtime. ``settings`` are ``runtime_settings`` of the plan and of the role; ``run`` is ``command``.

    Services are dicts with ``name`` and ``unit``, and ``log`` to read it; methods that change something also need ``digest``,
    ``digest_file``, ``newer``, ``stop_timeout``, ``starts_file`` where services count their starts and, for containers, ``container``,
    ``stop_signal`` and ``script``.
    """

    log_kind = "none"  # the ``kind`` of its logs in the plan

    def __init__(self, settings, run=command):
        self.settings, self.run = settings, run

    def states(self, services):
        """{unit: state} of these services and of all others of the deployment in the runtime."""
        raise NotImplementedError

    def pids(self, services):
        """{unit: id of its main process} of services that run."""
        raise NotImplementedError

    def log(self, service, lines):
        """The last lines of a service's log."""
        raise NotImplementedError

    @staticmethod
    def log_commands(log, lines, since):
        """Two commands for a log of the plan: its last ``lines``, and all ``since`` that moment (seconds since 1970).

        Only for runtimes with their own ``log_kind``; a log of the kind file is read as a file.
        """
        raise NotImplementedError

    @staticmethod
    def inside(unit, environment):
        """The arguments before a command that runs where the unit's process runs, with these variables of the caller (names).

        Only for runtimes whose services are in containers; elsewhere a command of the host sees what the service sees.
        """
        return []

    def outdated(self, service, found):
        """Whether a running service must be replaced for a reason specific to this runtime."""
        return False

    def apply(self, services, check, remove=True, keep=()):
        """Register exactly these services without starting them, and with ``remove`` stop and remove others of the deployment but those of ``keep``.

        Returns ``(changed, [registered unit], [other unit, also if it stays])``.
        """
        raise NotImplementedError

    def refresh(self, services):
        """Fetch what a comparison with the plan depends on; nothing of a service changes. Only for runtimes that fetch anything."""

    def start(self, services):
        """Start services that are not running, without waiting for readiness."""
        raise NotImplementedError

    def stop(self, services):
        """Stop services in parallel, and wait until they have exited."""
        raise NotImplementedError

    def restart(self, services):
        """Stop and start services."""
        self.stop(services)
        self.start(services)

    def complete(self, check):
        """Final steps when all services of the host run -> whether anything was (or, in check mode, would be) changed."""
        return False

    def remove(self, services, check):
        """Stop and remove everything of the deployment in the runtime -> [removed units]."""
        raise NotImplementedError
