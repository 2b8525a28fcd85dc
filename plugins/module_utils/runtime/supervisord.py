# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""supervisord over its unix socket: state, start, stop and configuration of programs, without supervisorctl."""

from __future__ import annotations

import http.client
import os
import socket
import time
import xmlrpc.client

from ..tools.runner import execute

UP, WAITING = ("STARTING", "RUNNING"), ("BACKOFF",)  # BACKOFF: exited unexpectedly, will be restarted
ALREADY_ADDED, ALREADY_STARTED, BAD_NAME, NOT_RUNNING, SPAWN_ERROR = 90, 60, 10, 70, 50  # supervisor.xmlrpc.Faults


class SupervisorError(Exception):
    """supervisord does not answer, or refused an operation."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        http.client.HTTPConnection.__init__(self, "localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class _Transport(xmlrpc.client.Transport):
    def __init__(self, path, timeout):
        xmlrpc.client.Transport.__init__(self)
        self.path, self.timeout = path, timeout

    def make_connection(self, host):
        return _Connection(self.path, self.timeout)


class Supervisord:
    """One supervisord. ``socket_path`` is its unix socket, ``timeout`` the timeout of a request in seconds."""

    def __init__(self, socket_path, timeout=120):
        self.socket_path = socket_path
        self.rpc = xmlrpc.client.ServerProxy("http://localhost", transport=_Transport(socket_path, timeout)).supervisor

    def runs(self):
        """Whether supervisord answers."""
        try:
            return self.rpc.getState()["statename"] == "RUNNING"
        except (OSError, http.client.HTTPException, xmlrpc.client.Error):
            return False

    def processes(self):
        """State of every program: ``{name: {"state", "pid", "start", "detail"}}``; empty if supervisord is not running."""
        try:
            answer = self.rpc.getAllProcessInfo()
        except (OSError, http.client.HTTPException):
            return {}
        return {
            item["name"]: {
                "state": item["statename"],
                "pid": item["pid"],
                "start": item["start"],
                "detail": item["spawnerr"] or item["description"],
            }
            for item in answer
        }

    def launch(self, command, config, environment, timeout=60):
        """Start supervisord as a daemon that outlives this connection, and wait until it answers."""
        done = execute([command, "-c", config], timeout, environment, cwd="/", merged=True)
        if done.rc != 0:
            raise SupervisorError(f"{command} did not start:\n{done.stdout}")
        _until(self.runs, timeout, f"supervisord does not answer on {self.socket_path}")

    def shut_down(self, timeout):
        """Stop every program and supervisord itself."""
        pid = self.rpc.getPID()
        self.rpc.shutdown()
        _until(lambda: not os.path.exists(f"/proc/{pid}"), timeout, f"supervisord (pid {pid}) did not exit")

    def differences(self):
        """Reload the configuration: names of added, changed and removed programs, not applied yet."""
        added, changed, removed = self.rpc.reloadConfig()[0]
        return added, changed, removed

    def add(self, name):
        """Add a configured program."""
        self._tolerant((ALREADY_ADDED,), self.rpc.addProcessGroup, name)

    def forget(self, name, timeout):
        """Stop and remove a program."""
        self.stop([name], timeout)
        self._tolerant((BAD_NAME,), self.rpc.removeProcessGroup, name)

    def start(self, name):
        """Start a program without waiting for it.

        supervisord may have started it already, with the current files. supervisord restarts a program that exits at
        once; its state shows that, and its log the reason.
        """
        self._tolerant((ALREADY_STARTED, SPAWN_ERROR), self.rpc.startProcess, name, False)

    def stop(self, names, timeout):
        """Stop programs in parallel, and wait until they have exited; including those in backoff."""

        def ended():
            states = {name: state["state"] for name, state in self.processes().items()}
            for name in names:
                if states.get(name) in UP + WAITING:  # again if supervisord restarted it meanwhile
                    self._tolerant((NOT_RUNNING,), self.rpc.stopProcess, name, False)
            return all(states.get(name) not in UP + WAITING + ("STOPPING",) for name in names)

        _until(ended, timeout, "{} did not exit".format(", ".join(names)))

    @staticmethod
    def _tolerant(codes, call, *args):
        try:
            call(*args)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode not in codes:
                raise


def _until(condition, timeout, problem):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise SupervisorError(f"{problem} within {timeout} s")
        time.sleep(0.1)
