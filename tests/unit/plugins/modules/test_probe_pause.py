# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module probe_pause: a measurement that begins before the probe is silent counts requests of the probe. Its answer may be anything."""

from __future__ import annotations

import os
import socket
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.probe import silence
from ansible_collections.ascend.inference.plugins.module_utils.tools import http_client


@pytest.fixture
def probe(odd_server, monkeypatch):
    monkeypatch.setattr(silence, "WAIT", 0.0)
    return odd_server


@pytest.fixture
def pause(run_module, tmp_path):
    """Calls the module; the file is in a folder as the deployment makes it."""
    return lambda probe, **options: run_module(
        "probe_pause", **{"file": str(tmp_path / "pause"), "url": probe.url, "seconds": 60, "timeout": 60, **options}
    )


def bodies(*texts):
    """Answers one after the other; the last one to all further questions."""

    def serve(connection, number, _ended):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + texts[min(number, len(texts) - 1)])
        connection.shutdown(socket.SHUT_WR)

    return serve


def test_waits_for_the_end_of_its_round(probe, pause, tmp_path):
    (tmp_path / "pause").write_text("60\n")  # of a killed run: the pause begins when the file is written
    os.utime(tmp_path / "pause", (1, 1))
    probe.serve = bodies(b'{"paused": 0}', b"{}", b"[1]", b'{"paused": "1"}', b"[" * 100000, b'{"paused": 1.5}')
    result = pause(probe)
    assert (result["failed"], result["running"], probe.asked) == (False, True, 6), result
    assert (tmp_path / "pause").read_text() == "60\n" and (tmp_path / "pause").stat().st_mtime > 1


def test_a_probe_that_does_not_run_is_not_waited_for(probe, pause, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # not listening
        result = pause(probe, url=f"http://127.0.0.1:{taken.getsockname()[1]}/health")
    assert (result["failed"], result["running"]) == (False, False)
    assert (tmp_path / "pause").exists()


def test_the_end_of_a_pause_asks_nobody(probe, pause, tmp_path):
    (tmp_path / "pause").write_text("60\n")
    assert pause(probe, seconds=0, check=True)["changed"] and (tmp_path / "pause").exists()
    result = pause(probe, seconds=0)
    assert (result["changed"], result["running"], probe.asked) == (True, None, 0)
    assert not (tmp_path / "pause").exists() and not pause(probe, seconds=0)["changed"]


@pytest.mark.parametrize("kind", ["endless", "dripping", "continued", "elsewhere"])
def test_an_answer_without_end_ends_at_a_bound(probe, pause, monkeypatch, kind):
    monkeypatch.setattr(http_client, "BYTES_KEPT", 65536)
    monkeypatch.setattr(silence, "ANSWER", 0.5)
    probe.serve, started = getattr(probe, kind), time.monotonic()
    result = pause(probe, timeout=0)
    assert result["failed"] and probe.url in result["msg"] and "Fix: " in result["msg"] and len(result["msg"]) < 600
    assert probe.asked == 1 and time.monotonic() - started < 20


def test_no_control_character_of_the_answer_is_printed(probe, pause):
    probe.serve = bodies(b'\x1b[2J{"paused": \n')
    assert pause(probe, timeout=0)["msg"].isprintable()


def test_a_link_in_place_of_the_file_is_not_followed(probe, pause, tmp_path):
    (tmp_path / "victim").write_text("as it was")
    (tmp_path / "pause").symlink_to(tmp_path / "victim")
    probe.serve = bodies(b'{"paused": 60}')
    assert not pause(probe)["failed"]
    assert (tmp_path / "victim").read_text() == "as it was" and not (tmp_path / "pause").is_symlink()


def test_a_missing_folder_and_a_missing_url_are_said(probe, pause, tmp_path):
    assert "Fix: run deploy" in pause(probe, file=str(tmp_path / "none/pause"))["msg"]
    assert "Fix: set url" in pause(probe, url="")["msg"]
