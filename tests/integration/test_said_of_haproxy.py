# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the product says of HAProxy, asked of the program: the largest buffer, and the longest path of a socket."""

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.settings import LARGEST_BODY
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.balancer import SOCKET

PROGRAM = "/usr/sbin/haproxy"
REST = """
defaults
  mode http
  timeout client 1s
  timeout connect 1s
  timeout server 1s
frontend f
  bind unix@{}
"""


def run(tmp_path, line, *arguments, socket=""):
    """Exit status and output of HAProxy with a line in its section global; one that serves is ended, and its status is None."""
    path = tmp_path / "haproxy.cfg"
    path.write_text(f"global\n  {line}\n" + REST.format(socket or tmp_path / "s"))
    command = [PROGRAM, "-f", str(path), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def test_a_buffer_of_256_mib_is_refused_and_the_largest_body_is_not(tmp_path):
    assert run(tmp_path, f"tune.bufsize {LARGEST_BODY * 2**20}", "-c")[0] == 0
    status, text = run(tmp_path, f"tune.bufsize {256 * 2**20}", "-c")
    assert status == 1 and "must be below 256 MB" in text


@pytest.fixture
def folder():
    """A folder with a short path, because that of a socket is limited."""
    made = subprocess.run(["mktemp", "-d", "/tmp/XXXXXX"], capture_output=True, text=True, check=True).stdout.strip()
    yield made
    subprocess.run(["rm", "-r", made], check=True)


@pytest.mark.parametrize(("length", "binds"), [(SOCKET, True), (108, False)])
def test_a_longer_socket_cannot_be_bound(tmp_path, folder, length, binds):
    name = folder + "/" + "s" * (length - len(folder) - 1)
    status, text = run(tmp_path, f"stats socket {name} level admin", socket=f"{folder}/f")
    assert (status is None) == binds, text
