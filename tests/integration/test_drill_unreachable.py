# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fault is not made if the host of the load does not answer once, when it is to look for other users of the service."""

from __future__ import annotations

import json
import pathlib
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE

# The connection of the host is lost for the first module service_load only.
CONNECTION = '''
import os
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection.local import Connection as Local
DOCUMENTATION = """
name: flaky
short_description: local, and lost once
description: For a test.
author: [tests]
options: {}
"""
MARK = os.path.join(os.path.dirname(__file__), "lost")
class Connection(Local):
    transport = "flaky"
    def put_file(self, in_path, out_path):
        if os.environ["FLAKY"] == "yes" and "service_load" in out_path and not os.path.exists(MARK):
            open(MARK, "w").close()
            raise AnsibleConnectionFailure("lost")
        return super().put_file(in_path, out_path)
'''
BOOK = """
- hosts: load
  gather_facts: false
  ignore_unreachable: true
  vars:
    ansible_connection: flaky
    ansible_pipelining: false
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  tasks:
    - ansible.builtin.include_tasks: "{{ shared }}/fault.yml"
    - ansible.builtin.copy:
        content: "{{ __inference_drill_results | to_json }}"
        dest: "{{ result }}"
        mode: "0600"
"""
SETTINGS = {"words": 8, "tokens": 1, "request_timeout": 10, "rate": 4, "clients": 4, "before": 1, "after": 1}


class Completions(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        choice = {"text": " end", "finish_reason": "length"}
        data = json.dumps(
            {"id": "1", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
        ).encode()
        if body.get("stream"):
            data = b"data: " + data + b"\n\ndata: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if body.get("stream") else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.mark.long
@pytest.mark.parametrize("lost", [True, False])
def test_no_fault_without_the_answer_about_other_users(tmp_path, lost):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    entry = {"url": f"http://127.0.0.1:{server.server_port}"}
    fault = {
        "host": "hit",
        "services": [{"name": "decode-0", "unit": "drill-test-without-a-container", "url": ""}],
        "log_hosts": [],
        "masters": [],
        "longest": 20,
        "action": "kill",
        "part": "main",
        "seconds": 0,
        "times": 1,
        "timeout": 1,
    }
    docker = {"deployment": "x", "docker": str(tmp_path / "no-docker")}
    variables = {
        "inference_fault": fault,
        "inference_plan": {
            "runtime": "docker",
            "runtime_settings": docker,
            "verify": {"entry": entry, "model": "tiny"},
        },
        "__inference_drill": {"engines": [], "settings": SETTINGS},
        "shared": str(pathlib.Path(TREE) / "ansible_collections/ascend/inference/playbooks/shared"),
        "result": str(tmp_path / "result.json"),
    }
    plugins = tmp_path / "connection_plugins"
    plugins.mkdir()
    (plugins / "flaky.py").write_text(CONNECTION)
    (tmp_path / "book.yml").write_text(BOOK)
    (tmp_path / "variables.json").write_text(json.dumps(variables))
    (tmp_path / "hosts").write_text("load\nhit ansible_connection=local\n")
    done = subprocess.run(
        ["env", f"FLAKY={'yes' if lost else 'no'}", str(PROGRAM), "-i", "hosts", "-e", "@variables.json", "book.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    server.shutdown()
    print(done.stdout, done.stderr)
    (found,) = json.loads((tmp_path / "result.json").read_text())
    assert found["fault"] == {}
    assert ("load: unreachable. No fault was made" in found["problem"]) == lost
