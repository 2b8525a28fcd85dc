# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a runtime can do on a host: the same verbs for all. ``registry`` lists the runtimes."""

from __future__ import annotations

import os

from ..tools.runner import ToolMissing, execute

ENVIRONMENT = {"LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": ""}
MARGIN = 120  # seconds on top of a service's own time to stop, for the tool that stops it


class RuntimeProblem(Exception):
    """The runtime cannot be asked, or refused something; the text says what, and what to do."""


class NothingRuns(RuntimeProblem):
    """The runtime itself does not run, and so none of its services does."""


def command(argv, timeout=60, most=None):
    """Run a short command -> (exit code, both streams as one text). Raises RuntimeProblem if it cannot be run or hangs."""
    try:
        done = execute(argv, timeout, dict(os.environ, **ENVIRONMENT), merged=True, most=most)
    except ToolMissing as error:
        raise RuntimeProblem(str(error)) from error
    if done.timed_out:
        raise RuntimeProblem("{} did not end within {} s".format(" ".join(argv), timeout))
    return done.rc, done.stdout


def tail(path, lines):
    """The last lines of a file."""
    try:
        with open(path, "rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - 400 * lines))
            return "\n".join(stream.read().decode("utf-8", "replace").splitlines()[-lines:])
    except OSError as error:
        return f"({error})"


def patience(services):
    """Seconds that stopping these services may take."""
    return max([60] + [service.get("stop_timeout") or 0 for service in services]) + MARGIN


def state(word, up=False, pending=False, life=None, since=None, restarts=None, detail="", digest=""):
    """One service as its runtime sees it.

    ``state``: running, starting, absent or the runtime's own term; ``up``: it runs or is about to; ``pending``: it ended and
    the runtime will start it again; ``life``: changes with every start; ``since``: seconds since 1970 or None; ``restarts``:
    unexpected exits, None if unknown; ``digest``: what it was started with, "" if only its digest file knows.
    """
    return {
        "state": word,
        "up": up,
        "pending": pending,
        "life": life,
        "since": since,
        "restarts": restarts,
        "detail": detail,
        "digest": digest,
    }


class Runtime:
    """The verbs. ``settings`` are ``runtime_settings`` of the plan, with what the role adds; ``run`` is ``command``.

    Services are dicts with ``name`` and ``unit``, and ``log`` to read it; the changing verbs also take ``digest``,
    ``digest_file``, ``newer``, ``stop_timeout`` and, for containers, ``container``, ``stop_signal`` and ``work_directory``.
    """

    log_kind = "none"  # the ``kind`` of its logs in the plan

    def __init__(self, settings, run=command):
        self.settings, self.run = settings, run

    def states(self, services):
        """{unit: state} of these services and of all others that the runtime has for the deployment."""
        raise NotImplementedError

    def log(self, service, lines):
        """The last lines of a service's log."""
        raise NotImplementedError

    @staticmethod
    def log_commands(log, lines, since):
        """Two commands for a log of the plan: its last ``lines``, and all ``since`` that moment (seconds since 1970).

        Only for a ``log_kind`` of its own; a log of the kind file is read as a file.
        """
        raise NotImplementedError

    def outdated(self, service, found):
        """Whether a running service has to be replaced for a reason that only this runtime sees."""
        return False

    def apply(self, services, check):
        """Register exactly these services, start none, and remove others of the deployment.

        Returns ``(changed, [registered unit], [removed unit])``.
        """
        raise NotImplementedError

    def start(self, services):
        """Start services that do not run; does not wait until they answer."""
        raise NotImplementedError

    def stop(self, services):
        """Stop services, together, and wait until they have ended."""
        raise NotImplementedError

    def restart(self, services):
        """Stop and start services."""
        self.stop(services)
        self.start(services)

    def complete(self, check):
        """Do what is due once every service of the host runs -> whether anything was (or, in check mode, would be) done."""
        return False

    def remove(self, services, check):
        """Stop and remove everything that the runtime has for the deployment -> [what was removed]."""
        raise NotImplementedError
