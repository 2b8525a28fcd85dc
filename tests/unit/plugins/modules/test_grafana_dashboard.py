# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module grafana_dashboard against servers that are no Grafana. The rest: tests/integration/test_monitoring_role.py."""

from __future__ import annotations

import json
import socket
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import grafana

TOKEN = "planted-token"
BOARD = {"uid": "mine", "title": "Mine", "description": "2", "panels": []}


@pytest.fixture
def send(run_module, odd_server):
    return lambda **options: run_module(
        "grafana_dashboard",
        **{"url": odd_server.url, "token": TOKEN, "dashboard": BOARD, "folder": "f", **options},
    )


def answering(texts):
    """One JSON answer to each connection."""

    def serve(connection, number, _ended):
        status, body = texts[number]
        connection.sendall(f"HTTP/1.1 {status} OK\r\nConnection: close\r\n\r\n{json.dumps(body)}".encode())
        connection.shutdown(socket.SHUT_WR)

    return serve


@pytest.mark.parametrize(
    ("found", "check", "asked"),
    [
        ((404, {"message": "Dashboard not found"}), False, 2),
        ((200, {"dashboard": {**BOARD, "description": "1"}}), False, 2),
        ((200, {"dashboard": {**BOARD, "description": "1"}}), True, 1),
        ((200, {"dashboard": "x"}), False, 2),
        ((200, {"dashboard": BOARD}), False, 1),
    ],
)
def test_is_written_if_its_description_differs(send, odd_server, found, check, asked):
    odd_server.serve = answering([found, (200, {})])
    result = send(check=check)
    assert (result["failed"], odd_server.asked) == (False, asked), result
    assert result["changed"] == (found[1].get("dashboard") != BOARD)


@pytest.mark.parametrize("kind", ["endless", "dripping", "continued", "elsewhere"])
def test_an_answer_without_end_ends_at_a_bound_and_no_redirect_gets_the_token(send, odd_server, monkeypatch, kind):
    monkeypatch.setattr(grafana, "TIMEOUT", 0.5)
    monkeypatch.setattr(grafana, "MOST", 65536)
    odd_server.serve, started = getattr(odd_server, kind), time.monotonic()
    result = send()
    assert result["failed"] and "Fix: " in result["msg"] and TOKEN not in result["msg"], result
    assert odd_server.asked == 1 and time.monotonic() - started < 20


@pytest.mark.parametrize(("status", "body"), [(401, {"message": "\x1b[2JInvalid"}), (200, "x")])
def test_what_is_no_grafana_is_said(send, odd_server, status, body):
    odd_server.serve = answering([(status, body), (500, {})])
    result = send()
    assert result["failed"] and result["msg"].isprintable() and ("401" in result["msg"] or "500" in result["msg"])


def test_nobody_listens_and_a_dashboard_without_an_uid(send):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        result = send(url=f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert "refused" in result["msg"]
    assert "no uid" in send(dashboard={"description": "1"})["msg"]


@pytest.mark.parametrize("token", [TOKEN + "\n", TOKEN + "\r\nX-More: 1", TOKEN + " ", TOKEN + "\u00e9"])
def test_a_token_that_is_no_header_is_in_no_message(send, odd_server, token):
    odd_server.serve = answering([(200, {"dashboard": BOARD})])
    result = send(token=token)
    assert TOKEN not in json.dumps(result), "Ansible hides only the value as it was given"
    assert result["failed"] or token.endswith("\u00e9")
