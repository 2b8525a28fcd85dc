# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which programs listen where the entry would: sockets of this process."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.entry.state import taken


@contextlib.contextmanager
def listening(address):
    """A port of the address at which this process listens."""
    with socket.socket() as server:
        server.bind((address, 0))
        server.listen(1)
        yield server.getsockname()[1]


@pytest.fixture
def port():
    with listening("127.0.0.1") as number:
        yield number


def test_another_program_at_the_same_address_is_named(port):
    (found,) = taken([f"127.0.0.1:{port}", "127.0.0.1:1"], "/no/such.cfg")
    assert found.startswith(f"127.0.0.1:{port} (") and "python" in found


def test_an_address_of_all_meets_each_other_one(port):
    assert taken([f"0.0.0.0:{port}"], "/no/such.cfg") and taken([f"[::]:{port}"], "/no/such.cfg")
    with listening("0.0.0.0") as everywhere:
        assert taken([f"192.0.2.1:{everywhere}"], "/no/such.cfg")


def test_other_addresses_other_ports_and_the_entry_itself_are_free(port):
    assert taken([f"127.0.0.2:{port}", "127.0.0.1:1"], "/no/such.cfg") == []
    (found,) = taken([f"127.0.0.1:{port}"], "/no/such.cfg")
    own = found.partition("(")[2].split(" ")[0].rstrip(")")
    assert taken([f"127.0.0.1:{port}"], own) == []
    assert taken([f"127.0.0.1:{port}"], "") == [found]


def test_the_entry_is_known_behind_the_old_processes_that_it_names():
    """Each reload puts the ids of processes with open streams before the file: -sf 101 102 ... -f FILE."""
    code = "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(1); print(s.getsockname()[1], flush=True); input()"
    old = [str(1000000 + number) for number in range(60)]
    argv = [sys.executable, "-c", code, "-sf", *old, "-f", "/etc/entry/haproxy.cfg"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        number = int(running.stdout.readline())
        try:
            assert taken([f"127.0.0.1:{number}"], "/etc/entry/haproxy.cfg") == []
            assert taken([f"127.0.0.1:{number}"], "/etc/other.cfg")
        finally:
            running.communicate(b"\n")
