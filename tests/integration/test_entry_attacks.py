# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned entry with the real HAProxy against clients that hold it up, or that send what its rules do not look at."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time

import pytest
from ansible_collections.ascend.inference.tests.integration import _entry
from ansible_collections.ascend.inference.tests.integration._entry import COMPLETIONS, KEYS, http_ask

QWEN = {"messages": [], "model": "qwen3"}
LAB = f"Authorization: Bearer {KEYS['lab']}\r\nHost: x"
START = f"POST {COMPLETIONS} HTTP/1.1\r\n{LAB}\r\n"


@pytest.fixture
def entry():
    """A function that starts an entry for one test, with the settings that it changes."""
    with _entry.started() as make:
        yield make


def connected(running, text, address="127.0.0.1"):
    connection = socket.create_connection((address, running.port), timeout=30)
    connection.sendall(text.encode("latin-1"))
    return connection


def answer(connection):
    """What arrives until the connection ends, or until nothing arrives for a while."""
    found = b""
    connection.settimeout(3)
    try:
        while more := connection.recv(65536):
            found += more
    except (TimeoutError, ConnectionError):
        pass
    connection.close()
    return found


SIZE = 64 * 2**20 - 100
# Bodies for which a pattern, or a step for each character, takes seconds.
LONG = {
    "numbers": (b'{"prompt": [', b"1,", b'1], "model": "gpt"}', "does not exist"),
    "one number": (b'{"prompt": ', b"1", b', "model": "gpt"}', "not a JSON object"),
    "blanks": (b'{"prompt": 1', b" ", b', "model": "gpt"}', "not a JSON object"),
    "key": (b'{"', b"\\u0061", b'": 1, "model": "gpt"}', "does not exist"),
    "brackets": (b'{"prompt": [', b"[],", b'1], "model": "gpt"}', "not found in time|does not exist"),
}


@pytest.mark.parametrize("form", LONG)
def test_no_body_holds_up_other_requests_or_ends_the_process(entry, form):
    running = entry(body_mib=64)
    begin, middle, end, expected = LONG[form]
    text, found = begin + middle * (SIZE // len(middle)) + end, []
    client = threading.Thread(target=lambda: found.append(running.ask(text)))
    client.start()
    longest = 0.0
    while client.is_alive():
        before = running.computed()
        running.health()
        longest = max(longest, running.computed() - before)
        time.sleep(0.02)
    status, said, dummy = found[0]
    assert status in (400, 404) and re.search(expected, said["error"]["message"])
    # Processor time of the only thread, so that other programs of this machine do not count.
    assert longest < 1, "HAProxy ends itself when a thread computes for two seconds without an end"
    assert running.model("qwen3") == "qwen" and "exited" not in (running.folder / "log").read_text()


# 4 MiB each: with a step for each sign they took 0.7 to 1.7 s of the only thread.
MANY = {
    "brackets": (b'{"prompt": [', b"[],", b"1]", "does not exist"),
    "open brackets": (b'{"prompt": ', b"[", b"", "not a JSON object"),
    "strings": (b'{"prompt": [', b'"",', b"1]", "does not exist"),
    "members": (b"{", b'"a":1,', b'"b":1', "more than 1024 members"),
    "members inside": (b'{"vllm_xargs": {', b'"a":[],', b'"b":1}', "more than 1024 members"),
}


@pytest.mark.parametrize("form", MANY)
def test_a_body_of_many_signs_costs_little(entry, form):
    running, (begin, middle, end, expected) = entry(), MANY[form]
    before = running.computed()
    dummy, said, dummy2 = running.ask(begin + middle * (2**22 // len(middle)) + end + b', "model": "gpt"}')
    assert expected in said["error"]["message"]
    assert running.computed() - before < 0.5


# Values that end in another window of the search than they begin, and strings and backslashes at its edge.
EDGES = [
    begin + b"x" * number + end
    for number in range(4080, 4100, 3)
    for begin, end in ((b'"', b'"'), (b'["', b'\\"]", {}]'))
]


def test_a_value_at_the_edge_of_a_window_ends_where_the_engine_says(entry):
    running = entry()
    for edge in [*EDGES, b"[" * 500 + b"[]," * 2000 + b"1" + b"]" * 500, b"[" + b'{"\\\\": "]"},' * 2000 + b'"\\\\"]']:
        text = b'{"prompt": ' + edge + b', "model": "qwen3"}'
        assert running.ask(text)[1]["bytes"] == len(text), edge[-20:]


def test_fields_behind_the_chunks_do_not_become_headers(entry):
    running = entry()
    body = json.dumps(QWEN)
    chunks = "".join(f"1\r\n{character}\r\n" for character in body)
    trailers = "X-data-parallel-rank: 3\r\nAuthorization: Bearer other\r\n"
    found = answer(connected(running, f"{START}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n{trailers}\r\n"))
    assert found.startswith(b"HTTP/1.1 200")
    dummy, headers, got = running.deployments["qwen"].seen[-1]
    assert got == body.encode() and headers["content-length"] == str(len(body))
    assert "transfer-encoding" not in headers and "x-data-parallel-rank" not in headers


def test_another_protocol_version_is_refused(entry):
    found = answer(connected(entry(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
    assert found.startswith(b"HTTP/1.1 400") and b"cannot be read" in found


def test_a_team_over_its_limit_sends_no_body(entry):
    running = entry(teams={"lab": {"keys_file": "lab", "requests_per_minute": 2}})
    assert [running.ask(QWEN)[0] for dummy in range(3)] == [200, 200, 429]
    before = time.monotonic()
    assert connected(running, f"{START}Content-Length: 8000000\r\n\r\n{{").recv(65536).startswith(b"HTTP/1.1 429")
    assert time.monotonic() - before < 2


def test_addresses_of_one_network_guess_together(entry):
    running = entry(address="::1")
    text = "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert answer(connected(running, text, "::1")).startswith(b"HTTP/1.1 401")
    with socket.socket(socket.AF_UNIX) as admin:
        admin.connect(str(running.folder / "admin.sock"))
        admin.sendall(b"show table strangers\n")
        table = answer(admin).decode()
    assert "key=:: " in table, table


def test_a_stranger_keeps_an_unfinished_request_for_ten_seconds(entry):
    connection = connected(entry(), "GET / HTTP/1.1\r\nX: ")
    before = time.monotonic()
    connection.settimeout(20)
    assert connection.recv(65536).startswith(b"HTTP/1.1 408") and time.monotonic() - before < 12


def test_the_time_of_a_client_is_for_its_request_and_not_for_the_engine(entry):
    running = entry(client_timeout=2)
    running.deployments["qwen"].gap = 4
    body = json.dumps({**QWEN, "stream": True, "max_tokens": 2})  # 4 s without an event
    status, text, dummy = http_ask(running.port, "POST", COMPLETIONS, body, {"Authorization": f"Bearer {KEYS['lab']}"})
    assert status == 200 and text.count("data:") == 2
    connection = connected(running, f"{START}Content-Length: 30\r\n\r\n")
    before = time.monotonic()
    try:
        for dummy in range(20):
            connection.sendall(b"{")
            time.sleep(0.3)
    except OSError:
        pass
    assert answer(connection).startswith(b"HTTP/1.1 408") and time.monotonic() - before < 10


def test_a_removed_key_ends_with_the_change_also_on_an_open_connection(entry):
    running = entry()
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    headers = {"Authorization": f"Bearer {KEYS['both']}"}
    connection.request("POST", COMPLETIONS, json.dumps(QWEN), headers)
    assert json.loads(connection.getresponse().read())["deployment"] == "qwen"
    running.write(teams={"lab": {"keys_file": "lab"}})
    running.reload()
    time.sleep(2)
    connection.auto_open = 0
    connection.request("POST", COMPLETIONS, json.dumps(QWEN), headers)
    assert connection.getresponse().status == 401, "the former process still takes the key"
    assert running.ask(QWEN, "both")[0] == 401


def test_a_key_that_stays_is_taken_once_more_on_an_open_connection(entry):
    running = entry()
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    headers = {"Authorization": f"Bearer {KEYS['both']}"}
    connection.request("POST", COMPLETIONS, json.dumps(QWEN), headers)
    assert json.loads(connection.getresponse().read())["deployment"] == "qwen"
    running.reload()
    time.sleep(2)
    connection.auto_open = 0
    connection.request("POST", COMPLETIONS, json.dumps(QWEN), headers)
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("connection")) == (200, "close")


def test_no_request_of_a_replaced_process_is_counted_for_ever(entry):
    running = entry(teams={"lab": {"keys_file": "lab", "concurrent": 1}})
    running.deployments["qwen"].gap = 5
    body = json.dumps({**QWEN, "stream": True, "max_tokens": 2})
    headers = {"Authorization": f"Bearer {KEYS['lab']}"}
    client = threading.Thread(target=lambda: http_ask(running.port, "POST", COMPLETIONS, body, headers))
    client.start()
    time.sleep(6)  # a process hands its tables on when it is 5 s old
    assert running.model("org/ds-v4") == 429
    running.reload()
    client.join(30)
    assert running.model("org/ds-v4") in ("old", "new")


PLACE = {"do_remote_prefill": True, "remote_host": "192.0.2.66", "remote_port": 20001, "remote_block_ids": [[1]]}
TRANSFERS = {
    "plain": {"kv_transfer_params": PLACE},
    "empty": {"kv_transfer_params": {}},
    "of encoders": {"ec_transfer_params": PLACE},
    "inside": {"vllm_xargs": {"x": [1, "}"], "kv_transfer_params": "text"}},
}


@pytest.mark.parametrize("escaped", [False, True])
@pytest.mark.parametrize("form", TRANSFERS)
def test_a_client_does_not_say_where_an_engine_gets_kv_cache(entry, form, escaped):
    """A proxy passes it on to decode where prefill has nothing to hand over, and vLLM obeys it: it asks that address, or takes those blocks."""
    running = entry()
    body = json.dumps({**QWEN, **TRANSFERS[form]})
    if escaped:
        body = body.replace("_transfer", "".join(f"\\u{ord(character):04x}" for character in "_transfer"))
    status, said, dummy = running.ask(body.encode())
    assert status == 400 and "is not for clients" in said["error"]["message"]
    assert running.deployments["qwen"].seen == []


@pytest.mark.parametrize(
    "member",
    [
        {"kv_transfer_params": None},
        {"vllm_xargs": {}},
        {"vllm_xargs": None},
        {"vllm_xargs": {"own": 1}},
        {"tools": [{"function": {"parameters": {"properties": {"kv_transfer_params": {"type": "string"}}}}}]},
        {"user": '"kv_transfer_params": {}'},
    ],
)
def test_what_only_looks_like_it_is_answered(entry, member):
    assert entry().ask({**QWEN, **member})[0] == 200


def test_control_characters_of_a_client_reach_no_router(entry):
    """Routers write headers into logs that people read in a terminal."""
    running = entry()
    for name, text in (
        ("User-Agent", "a\x1b]0;b\x07"),
        ("Accept", "a\x7f"),
        ("Content-Type", "a\x00"),
        ("X-Other", "\x08"),
    ):
        text, body = f"{name}: {text}\r\nConnection: close\r\n", json.dumps(QWEN)
        found = answer(connected(running, f"{START}{text}Content-Length: {len(body)}\r\n\r\n{body}"))
        assert found.startswith(b"HTTP/1.1 400") and b"cannot be read" in found, found
    assert running.deployments["qwen"].seen == []
    status, dummy, dummy2 = running.ask(QWEN, **{"User-Agent": "a\tb \xe9"})
    assert status == 200


def test_a_stranger_pipelines_nothing(entry):
    """Each refusal of one connection would cost the only thread a copy of the buffer."""
    text = "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n"
    got = answer(connected(entry(), text * 50))
    assert got.count(b"HTTP/1.1 401") == 1 and b"connection: close" in got.lower()


@pytest.mark.parametrize(
    "asked", ["GET /v1/models", "GET /v1/chat/completions", "GET /nowhere"], ids=["list", "method", "path"]
)
def test_a_team_pipelines_nothing_that_is_answered_here(entry, asked):
    """Thousands of such requests on one connection would have the only thread until they are answered."""
    got = answer(connected(entry(), f"{asked} HTTP/1.1\r\n{LAB}\r\n\r\n" * 50))
    assert got.count(b"HTTP/1.1 ") == 1 and b"connection: close" in got.lower()


@pytest.mark.parametrize("header", ["Content-Length: 9", "Transfer-Encoding: chunked"])
def test_a_list_is_asked_for_without_a_body(entry, header):
    got = answer(connected(entry(), f"GET /v1/models HTTP/1.1\r\n{LAB}\r\n{header}\r\n\r\n"))
    assert got.startswith(b"HTTP/1.1 400")
