# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pause of the probe: a probe that runs has to say that it pauses, and one that does not run need not."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

import pytest
import yaml
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Page(http.server.BaseHTTPRequestHandler):
    """The page of a probe that pauses."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"paused": 50.0}')

    def log_message(self, *unused):
        pass


@pytest.fixture
def paused():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


@pytest.fixture
def closed():
    """A port that refuses connections."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def pause(tmp_path):
    """Pause the probes on these ports of 127.0.0.1, as hosts h1, h2...; the finished process."""

    def run(*ports):
        probes = []
        for number, port in enumerate(ports, 1):
            (tmp_path / f"h{number}").mkdir()
            url = f"http://127.0.0.1:{port}/health"
            probes.append(
                {"host": f"h{number}", "pause_file": str(tmp_path / f"h{number}/pause"), "health": {"url": url}}
            )
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        hosts = {probe["host"]: local for probe in probes}
        (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        include = {"ansible.builtin.include_tasks": str(ROOT / "playbooks/shared/probe_pause.yml")}
        play = {"name": "Pause", "hosts": "h1", "gather_facts": False, "tasks": [{"name": "Pause", **include}]}
        play["vars"] = {"inference_probe_pause": 60, "__inference_probes": probes}
        (tmp_path / "pause.yml").write_text(yaml.safe_dump([play]))
        arguments = [str(PROGRAM), "-i", str(tmp_path / "hosts.yml"), str(tmp_path / "pause.yml")]
        return subprocess.run(
            arguments, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=120, check=False
        )

    return run


def test_a_probe_that_does_not_run_is_said_and_not_waited_for(pause, paused, closed, tmp_path):
    done = pause(paused, closed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The probe on h2 does not run" in done.stdout and "FAILED - RETRYING" not in done.stdout
    assert [json.loads((tmp_path / name / "pause").read_text()) for name in ("h1", "h2")] == [60, 60]
