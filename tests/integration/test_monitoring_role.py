# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Role monitoring on this machine: files once, a backup of a file that others changed, the dashboard once, removal. Grafana is simulated."""

from __future__ import annotations

import http.server
import json
import threading

import pytest
from ansible_collections.ascend.inference.tests.integration._playbook import play
from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import plan_of

pytestmark = pytest.mark.long
TOKEN = "glsa_secret_of_the_test"


class Grafana(http.server.BaseHTTPRequestHandler):
    """SIMULATED: two requests of Grafana's HTTP API, with the checks that the real one makes."""

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def allowed(self):
        good = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if not good:
            self.answer(401, {"message": "Invalid API key"})
        return good

    def do_GET(self):
        if self.allowed():
            found = self.server.boards.get(self.path.rpartition("/api/dashboards/uid/")[2])
            self.answer(*((200, {"dashboard": found}) if found else (404, {"message": "Dashboard not found"})))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.allowed():
            if self.path != "/api/dashboards/db" or not body["dashboard"].get("title") or body["overwrite"] is not True:
                self.answer(400, {"message": "bad request data"})
                return
            self.server.boards[body["dashboard"]["uid"]] = body["dashboard"]
            self.server.posts += 1
            self.answer(200, {"status": "success", "uid": body["dashboard"]["uid"], "version": self.server.posts})

    def log_message(self, *_given):
        pass


@pytest.fixture
def grafana():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Grafana)
    server.boards, server.posts = {}, 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_files_and_dashboard_are_written_once_and_removed(tmp_path, grafana):
    plan = plan_of("a3_mooncake_1p1d")
    folder = tmp_path / "monitoring"
    settings = {"directory": str(folder), "grafana_url": f"http://127.0.0.1:{grafana.server_address[1]}"}

    def run(*options, token=TOKEN, **more):
        values = {
            "monitoring_plan": plan,
            "monitoring_settings": {**settings, **more},
            "monitoring_grafana_token": token,
        }
        return play(tmp_path, "monitoring", *options, facts=False, **values)

    checked = run("--check", "--diff")
    assert checked.code == 0 and checked.changed > 0 and not folder.exists() and grafana.posts == 0, checked.output
    first = run()
    assert first.code == 0 and first.changed == 2 and grafana.posts == 1, first.output
    assert TOKEN not in first.output and "Not watched" in first.output
    rules = folder / "rules" / "ascend-inference-inference.yml"
    text = rules.read_text(encoding="utf-8")
    assert "{{ $labels.service }}" in text  # Prometheus' templates are none of Ansible
    board = json.loads((folder / "dashboards" / "ascend-inference-inference.json").read_text(encoding="utf-8"))
    assert grafana.boards[board["uid"]] == board
    second = run()
    assert (second.code, second.changed, grafana.posts) == (0, 0, 1), second.output

    rules.write_text("groups: []\n", encoding="utf-8")
    third = run()
    assert third.changed == 1 and rules.read_text(encoding="utf-8") == text, third.output
    backups = [path for path in rules.parent.iterdir() if path != rules]
    assert [path.read_text(encoding="utf-8") for path in backups] == ["groups: []\n"]
    assert not any(path.name.endswith((".yml", ".json")) for path in backups)  # Prometheus would read it

    refused = run(token="")
    assert refused.code != 0 and "inference_grafana_token is not" in " ".join(refused.output.split())
    gone = run(state="absent", grafana_url="")
    assert gone.code == 0 and gone.changed == 1, gone.output
    left = {path for path in folder.rglob("*") if path.is_file()}
    assert left == set(backups)
