# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run modules in this process against simulated hosts; works on ansible-core 2.17 to 2.21 and on Python 3.7."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import socket
import sys
import threading

import pytest
from ansible.module_utils import basic

SIMULATOR = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "simulator"))
if SIMULATOR not in sys.path:
    sys.path.insert(0, SIMULATOR)

import ascend_cluster  # (found through the line above)

try:
    import hypothesis
except ImportError:  # the tests that need it are left out then
    pass
else:
    # Time says nothing about a property: other parts of the tests run beside these.
    hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    hypothesis.settings.load_profile("busy")


class Exit(Exception):
    pass


def arguments(params):
    """A context in which AnsibleModule finds ``params`` as its arguments."""
    try:
        from ansible.module_utils.testing import patch_module_args
    except ImportError:  # before 2.19
        return _old_arguments(params)
    return patch_module_args(params)


@contextlib.contextmanager
def _old_arguments(params):
    before = basic._ANSIBLE_ARGS
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": params}).encode()
    try:
        yield
    finally:
        basic._ANSIBLE_ARGS = before


def as_documented(source, result):
    """The controller takes only what a module documents, and refuses another type."""
    if sys.version_info < (3, 10):  # a target
        return
    module_answer = pytest.importorskip("ansible_collections.ascend.inference.plugins.plugin_utils.hosts.module_answer")
    printed = module_answer.PRINTED  # without control characters
    answer = {key: item for key, item in result.items() if item is not None and key not in printed}
    taken = json.loads(module_answer.checked(json.dumps(answer), module_answer.documented(source)))
    told = module_answer.shown(answer) if answer.get("failed") else answer  # Ansible prints the whole of a failure
    assert {key: taken.get(key) for key in answer} == json.loads(json.dumps(told)), taken.get("msg")


@pytest.fixture
def run_module(monkeypatch):
    """``run_module("npu_info", check=False, **options)`` -> the result as a dict, with ``failed`` and ``warnings`` always in it."""

    def leave(failed):
        def end(self, msg=None, **result):
            raise Exit(dict({"failed": failed, "msg": msg}, **result))

        return end

    monkeypatch.setattr(basic.AnsibleModule, "exit_json", leave(False))
    monkeypatch.setattr(basic.AnsibleModule, "fail_json", leave(True))

    def run(called, check=False, **options):
        warnings = []
        monkeypatch.setattr(basic.AnsibleModule, "warn", lambda self, warning, **kwargs: warnings.append(warning))
        module = importlib.import_module(f"ansible_collections.ascend.inference.plugins.modules.{called}")
        with arguments(dict(options, _ansible_check_mode=check, _ansible_diff=True)), pytest.raises(Exit) as left:
            module.main()
        result = dict(left.value.args[0], warnings=warnings)
        as_documented(importlib.import_module("inspect").getsource(module), result)
        return result

    return run


@pytest.fixture
def cluster(tmp_path):
    """``cluster(hosts=1, generation="a3", devices=16, **changes)``: simulated hosts in this test's folder."""
    return lambda **options: ascend_cluster.cluster(tmp_path, **options)


@pytest.fixture
def printing(tmp_path):
    """``printing(text, rc=0, err="")`` -> a program that always prints this, whatever it is asked."""

    def write(text, rc=0, err=""):
        for name, content in (("out", text), ("err", err)):
            (tmp_path / name).write_text(content, encoding="utf-8")
        program = tmp_path / "program"
        program.write_text(f"#!/bin/sh\ncat '{tmp_path}/out'\ncat '{tmp_path}/err' >&2\nexit {rc}\n", encoding="utf-8")
        program.chmod(0o755)
        return str(program)

    return write


class OddServer:
    """A server on a port of its own. ``serve(connection, number, ended)`` answers connection number 0, 1...; ``asked``: how many there were."""

    def __init__(self):
        self.socket, self.ended, self.asked, self.serve = socket.socket(), threading.Event(), 0, self.endless
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(5)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/health"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _address = self.socket.accept()
                self.asked += 1
                threading.Thread(target=self._answer, args=(connection, self.asked - 1), daemon=True).start()

    def _answer(self, connection, number):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            self.serve(connection, number, self.ended)

    @staticmethod
    def endless(connection, _number, ended):
        """A page that does not end."""
        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"paused": 60, "findings": [')
        while not ended.is_set():
            connection.sendall(b'"x",' * 4096)

    @staticmethod
    def dripping(connection, _number, ended):
        """A header line that does not end: each byte starts the timeout of a socket anew."""
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not ended.wait(0.05):
            connection.sendall(b"x")

    @staticmethod
    def continued(connection, _number, ended):
        """Nothing but provisional answers."""
        while not ended.is_set():
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 64)

    def elsewhere(self, connection, number, _ended):
        """A redirect to this server, once."""
        if number == 0:
            connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {self.url}\r\nContent-Length: 0\r\n\r\n".encode())


@pytest.fixture
def odd_server():
    """An ``OddServer``, which answers as no service of ours does."""
    server = OddServer()
    yield server
    server.ended.set()
    server.socket.close()


class Endless:
    """An HTTP server's answer without a length that goes on until the client leaves."""

    def __init__(self):
        self.asked = 0

    def whole(self, other, but):
        """A do_GET that answers this for addresses that end with ``but``, and otherwise as ``other``."""
        return lambda handler: (self.do_GET if handler.path.endswith(but) else other)(handler)

    @property
    def do_GET(self):
        def answer(handler):
            self.asked += 1
            handler.send_response(200)
            handler.end_headers()
            try:
                while True:
                    handler.wfile.write(b"x" * 2**16)
            except OSError:  # the client has closed the connection
                handler.close_connection = True

        return answer


@pytest.fixture
def endless():
    """``endless.do_GET`` for a handler of http.server; ``endless.asked``: how often it was."""
    return Endless()
