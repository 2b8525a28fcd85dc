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

UP, WAITING = ("STARTING", "RUNNING"), ("BACKOFF",)  # BACKOFF: ended by itself, and will be started again
ALREADY_ADDED, ALREADY_STARTED, BAD_NAME, NOT_RUNNING, SPAWN_ERROR = 90, 60, 10, 70, 50  # supervisor.xmlrpc.Faults


class SupervisorError(Exception):
    """supervisord cannot be reached, or refused something."""


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
        self.path, self.patience = path, timeout

    def make_connection(self, host):
        return _Connection(self.path, self.patience)


class Supervisord:
    """One supervisord. ``socket_path`` is its unix socket, ``timeout`` the patience for one answer in seconds."""

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
        """State of every program: ``{name: {"state", "pid", "start", "detail"}}``; empty if supervisord is not there."""
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

    def launch(self, command, config, environment, patience=60):
        """Start supervisord as a daemon that outlives this connection, and wait until it answers."""
        done = execute([command, "-c", config], patience, environment, cwd="/", merged=True)
        if done.rc != 0:
            raise SupervisorError(f"{command} did not start:\n{done.stdout}")
        _until(self.runs, patience, f"supervisord does not answer on {self.socket_path}")

    def shut_down(self, patience):
        """Stop every program and supervisord itself."""
        pid = self.rpc.getPID()
        self.rpc.shutdown()
        _until(lambda: not os.path.exists(f"/proc/{pid}"), patience, f"supervisord (pid {pid}) does not end")

    def differences(self):
        """Read the configuration again: names of added, changed and removed programs, none of them applied yet."""
        added, changed, removed = self.rpc.reloadConfig()[0]
        return added, changed, removed

    def add(self, name):
        """Make a configured program known."""
        self._tolerant((ALREADY_ADDED,), self.rpc.addProcessGroup, name)

    def forget(self, name, patience):
        """Stop a program and drop it."""
        self.stop([name], patience)
        self._tolerant((BAD_NAME,), self.rpc.removeProcessGroup, name)

    def start(self, name):
        """Start a program; returns at once.

        supervisord may just have done so itself, with the files that are there now. A program that ends at once is tried
        again by supervisord; its state says so, and its log why.
        """
        self._tolerant((ALREADY_STARTED, SPAWN_ERROR), self.rpc.startProcess, name, False)

    def stop(self, names, patience):
        """Stop programs, all at the same time, and wait until they have ended. One that waits to be started again is told as well."""

        def ended():
            states = {name: state["state"] for name, state in self.processes().items()}
            for name in names:
                if states.get(name) in UP + WAITING:  # once more if supervisord started it between two looks
                    self._tolerant((NOT_RUNNING,), self.rpc.stopProcess, name, False)
            return all(states.get(name) not in UP + WAITING + ("STOPPING",) for name in names)

        _until(ended, patience, "{} did not end".format(", ".join(names)))

    @staticmethod
    def _tolerant(codes, call, *args):
        try:
            call(*args)
        except xmlrpc.client.Fault as fault:
            if fault.faultCode not in codes:
                raise


def _until(condition, patience, complaint):
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise SupervisorError(f"{complaint} within {patience} s")
        time.sleep(0.1)
