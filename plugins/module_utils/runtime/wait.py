# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for services: the health URL and the process, together, for all services of a host at once."""

from __future__ import annotations

import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from .programs import UP
from .supervisor import Supervisor


class Gone(Exception):
    """The runtime does not know the service, or cannot be asked."""


def answers(url, patience=5.0):
    """Whether the URL answers 200; the environment's proxies are not used."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        return opener.open(url, timeout=patience).status == 200
    except (OSError, urllib.error.URLError, ValueError):
        return False


def command(argv):
    """Exit code and output of a short command."""
    # Not AnsibleModule.run_command: this is no module, and that has no time-out.
    done = subprocess.run(  # pylint: disable=ansible-bad-function
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def tail(path, lines):
    """The last lines of a file."""
    try:
        with open(path, "rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - 400 * lines))
            return "\n".join(stream.read().decode("utf-8", "replace").splitlines()[-lines:])
    except OSError as error:
        return f"({error})"


# A runtime answers two questions. state(services): {name: (alive, life, text)}, where life changes with every restart.
# log(service, lines): text.


class SupervisorRuntime:
    """Programs of one supervisord."""

    def __init__(self, socket):
        self.supervisor = Supervisor(socket)

    def state(self, services):
        known = self.supervisor.processes()
        found = {}
        for one in services:
            info = known.get(one["unit"], {"state": "absent", "pid": 0, "detail": "supervisord does not know it"})
            found[one["name"]] = (info["state"] in UP, info["pid"], "{} {}".format(info["state"], info["detail"]))
        return found

    def log(self, service, lines):
        return tail(service["log"], lines)


class SystemdRuntime:
    """Units of the system's (or the user's) service manager."""

    def state(self, services):
        found = {}
        for one in services:
            _code, text = command(["systemctl", "show", "-p", "ActiveState,SubState,NRestarts,Result", one["unit"]])
            facts = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
            active = facts.get("ActiveState", "unknown")
            alive = active in ("active", "activating", "reloading") and facts.get("SubState") != "auto-restart"
            text = "{} ({}), result {}".format(active, facts.get("SubState", "?"), facts.get("Result", "?"))
            found[one["name"]] = (alive, facts.get("NRestarts", ""), text)
        return found

    def log(self, service, lines):
        return command(["journalctl", "--no-pager", "-o", "cat", "-n", str(lines), "-u", service["unit"]])[1]


class DockerRuntime:
    """Containers."""

    def state(self, services):
        found = {}
        template = "{{.State.Status}} {{.RestartCount}} {{.State.ExitCode}} {{.State.Error}}"
        for one in services:
            code, text = command(["docker", "inspect", "-f", template, one["unit"]])
            words = text.split(None, 3) if code == 0 else ["absent", "", "", text.strip()]
            found[one["name"]] = (words[0] in ("running", "created"), words[1], text.strip())
        return found

    def log(self, service, lines):
        return command(["docker", "logs", "--tail", str(lines), service["unit"]])[1]


class Waiter:
    """Waits for services; ``clock`` and ``sleep`` can be replaced in tests."""

    def __init__(self, runtime, restarts=0, interval=0.5, probe=answers, clock=time.monotonic, sleep=time.sleep):
        self.runtime, self.restarts, self.interval = runtime, restarts, interval
        self.probe, self.clock, self.sleep = probe, clock, sleep

    def wait(self, services):
        """Seconds to readiness by name, and complaints: ``({name: seconds}, {name: text})``.

        ``services``: dicts with name, unit, url, timeout, log. A service that is dead, or was restarted more often than
        allowed since the wait began, is a complaint at once, and so is everything else that is not ready by then.
        """
        begin, ready, failed, lives = self.clock(), {}, {}, {}
        while len(ready) < len(services) and not failed:
            pending = [one for one in services if one["name"] not in ready]
            states = self.runtime.state(pending)
            for one in pending:
                alive, life, text = states[one["name"]]
                seen = lives.setdefault(one["name"], [])
                if life and life not in seen:  # a program that is just being started has no pid yet
                    seen.append(life)
                if not alive or len(seen) > 1 + self.restarts:
                    failed[one["name"]] = "is dead: " + text
                elif self.clock() - begin > one["timeout"]:
                    failed[one["name"]] = "runs, but {} did not answer within {} s".format(one["url"], one["timeout"])
            if failed:
                break
            with ThreadPoolExecutor(max_workers=16) as pool:
                well = list(pool.map(self.probe, [one["url"] for one in pending]))
            ready.update((one["name"], round(self.clock() - begin, 1)) for one, good in zip(pending, well) if good)
            if len(ready) < len(services):
                self.sleep(self.interval)
        return ready, failed
