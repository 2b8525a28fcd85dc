# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned entry with the real HAProxy under load: each route, refusal, limit and share, streams, fallback, and a reload."""

from __future__ import annotations

import collections
import concurrent.futures
import http.client
import itertools
import json
import re
import socket
import subprocess
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.entry import haproxy
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.made import entry_files
from ansible_collections.ascend.inference.tests.integration import _entry
from ansible_collections.ascend.inference.tests.integration._certificate import certify
from ansible_collections.ascend.inference.tests.integration._entry import COMPLETIONS, ENGINES, KEYS

QWEN, DS = {"messages": [], "model": "qwen3"}, {"messages": [], "model": "org/ds-v4"}


@pytest.fixture(scope="module")
def shared():
    """An entry that no test changes."""
    with _entry.started() as make:
        yield make()


@pytest.fixture
def entry():
    """A function that starts an entry for one test, with the settings that it changes."""
    with _entry.started() as make:
        yield make


def teams(**limits):
    return {"lab": {"keys_file": "lab", **limits}, "both": {"keys_file": "both"}}


def seen(entry):
    return {name: len(deployment.seen) for name, deployment in entry.deployments.items()}


def in_parallel(function, arguments, threads=16):
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, arguments))


@pytest.mark.parametrize("tls", [False, True])
def test_haproxy_reads_every_line(tmp_path, tls):
    _entry.install()
    settings = {
        "address": "::1",
        "body_mib": 192,
        "paths": ["/v1/embeddings"],
        "deployments": {
            "a": {"routers": ["[::1]:8000", "b:8000"], "health": "/health"},
            "b": {"routers": ["c:8000"], "health": "/health"},
        },
        "models": {
            "a/b:c@d+e_f": {"deployments": {"a": 3, "b": 0}},
            "x": {"deployment": "a", "fallback": "b"},
            "y": {"deployment": "b", "fallback": "a/b:c@d+e_f"},
        },
        "teams": {"t": {"keys_file": "k", "requests_per_minute": 7, "concurrent": 2, "models": ["x"]}},
        **({"certificate": "cert", "certificate_key": "key"} if tls else {"plain_http": True}),
    }
    texts = {"k": "sha256:" + "a" * 64}
    if tls:
        texts["cert"], texts["key"] = certify(tmp_path / "cert")
    for file in entry_files(
        settings, {"h": "::1"}, texts, "h", folder=str(tmp_path), run=str(tmp_path), state=str(tmp_path)
    ):
        with open(file["path"], "w") as written:
            written.write(file["content"].replace(" b:8000", " 127.0.0.2:8000").replace(" c:8000", " 127.0.0.3:8000"))
    done = subprocess.run(
        [haproxy.PROGRAM, "-c", "-f", str(tmp_path / "haproxy.cfg")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "WARNING" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_each_model_reaches_its_deployment_and_no_other(shared):
    before = seen(shared)
    assert {shared.model("qwen3") for dummy in range(10)} == {"qwen"}
    assert {shared.model("org/ds-v4", "both") for dummy in range(40)} == {"old", "new"}
    assert seen(shared)["qwen"] == before["qwen"] + 10


def test_the_engines_get_their_own_key_and_an_id_of_the_entry(shared):
    names = ["X-data-parallel-rank", "X-Worker-Priority", "X-Prefiller-Host-Port", "X-Forwarded-For", "Forwarded"]
    names += ["Cookie", "Traceparent", "X-Unheard-Of", "Expect", "TE", "Upgrade", "Proxy-Authorization", "X-Real-IP"]
    given = {name: "100-continue" if name == "Expect" else "3" for name in names}
    status, dummy, got = shared.ask(QWEN, **given, **{"X-Request-Id": "of-another", "User-Agent": "x/1"})
    path, headers, body = shared.deployments["qwen"].seen[-1]
    assert status == 200 and path == COMPLETIONS and json.loads(body) == QWEN
    assert headers["authorization"] == f"Bearer {ENGINES}" and headers["user-agent"] == "x/1"
    assert re.fullmatch("[0-9a-f-]{36}", headers["x-request-id"]) and got["x-request-id"] == headers["x-request-id"]
    assert not {name.lower() for name in names} & set(headers)
    assert headers["host"] == f"127.0.0.1:{shared.deployments['qwen'].port}"


def test_the_list_of_models_is_that_of_the_key(shared):
    for team, models in (("search", ["qwen3"]), ("both", ["org/ds-v4", "qwen3"]), ("lab", ["org/ds-v4", "qwen3"])):
        status, answer, dummy = shared.ask(None, team, "/v1/models", "GET")
        assert status == 200 and [model["id"] for model in answer["data"]] == models and answer["object"] == "list"


def test_refusals_have_the_form_of_the_api_and_reach_nobody(shared):
    before = seen(shared)
    cases = {
        "no key": (shared.ask(QWEN, None), 401, "authentication_error", "unknown API key"),
        "a wrong key": (shared.ask(QWEN, "wrong-key-0123456789"), 401, "authentication_error", "unknown API key"),
        "a foreign model": (shared.ask(DS, "search"), 403, "permission_error", "may not use the model org/ds-v4"),
        "no such model": (shared.ask({"model": "gpt"}), 404, "invalid_request_error", "model gpt does not exist"),
        "a model with quotes": (shared.ask({"model": 'a"b%[src]'}), 404, "invalid_request_error", "does not exist"),
        "no such path": (shared.ask(QWEN, path="/v1/responses"), 404, "invalid_request_error", "no such path"),
        "no such method": (shared.ask(None, method="GET"), 405, "invalid_request_error", "another method"),
        "models posted": (shared.ask({}, path="/v1/models"), 405, "invalid_request_error", "another method"),
        "no model": (shared.ask({"messages": []}), 400, "invalid_request_error", "names no model"),
        "no body": (shared.ask(b""), 400, "invalid_request_error", "not a JSON object"),
    }
    for name, ((status, answer, dummy), expected, kind, text) in cases.items():
        assert (status, answer["error"]["type"]) == (expected, kind), name
        assert text in answer["error"]["message"], (name, answer)
    assert seen(shared) == before


def test_without_a_key_no_method_and_no_model_is_learnt(shared):
    for body, path, method in (
        (None, COMPLETIONS, "DELETE"),
        ({}, "/v1/models", "POST"),
        ({"model": "gpt"}, COMPLETIONS, "POST"),
    ):
        assert shared.ask(body, "guess-of-a-stranger", path, method)[0] == 401


TWICE = "the body names its model twice"
# Bodies that a parser of the engines reads in another way than a careless search: the refusal, or the deployment that answers.
BODIES = {
    '{"model": "qwen3", "model": "org/ds-v4"}': TWICE,
    '{"model": "qwen3", "mod\\u0065l": "org/ds-v4"}': TWICE,
    '{"\\u006dodel": "qwen3"}': "qwen",
    '{"model": "org\\/ds-v4"}': ("old", "new"),
    '{"model": "qwen\\u0033"}': "qwen",
    '{"model": "qwen\\\\u0033"}': "does not exist",
    '{"model": "qwen3\\u0000"}': "does not exist",
    '{"model": "\\ud835\\udc5dwen3"}': "does not exist",
    '{"model": "qwen3\x00"}': "does not exist",
    '{"model\x00": "qwen3"}': "names no model",
    '{"model": "qwen3 "}': "does not exist",
    '{"model": "QWEN3"}': "does not exist",
    '{"model": ""}': "does not exist",
    '{"Model": "qwen3"}': "names no model",
    '{"messages": [{"model": "qwen3"}]}': "names no model",
    '{"messages": "\\"model\\": \\"qwen3\\""}': "names no model",
    '{"a": "\\\\", "model": "qwen3"}': "qwen",
    '{"a": "\\\\\\"", "model": "qwen3", "b": "}"}': "qwen",
    '{"a": {"model": "org/ds-v4", "x": ["]}", {}]}, "b": -1.5e+3, "c": null, "model": "qwen3"}': "qwen",
    ' \r\n\t{"model"\n:\t"qwen3"\r}\n': "qwen",
    '{"model": ["qwen3"]}': "the model is not a text",
    '{"model": null, "x": "qwen3"}': "the model is not a text",
    '[{"model": "qwen3"}]': "not a JSON object",
    '{"model": "qwen3"} {"model": "org/ds-v4"}': "not a JSON object",
    '{"model": "qwen3"': "not a JSON object",
    '{"model": "qwen3': "not a JSON object",
    "{'model': 'qwen3'}": "not a JSON object",
    '{"x": 1 /* , */, "model": "qwen3"}': "not a JSON object",
    '\ufeff{"model": "qwen3"}': "not a JSON object",
}


@pytest.mark.parametrize("body", BODIES)
def test_the_entry_finds_the_model_that_the_engine_finds_or_none(shared, body):
    expected, before = BODIES[body], seen(shared)
    status, answer, dummy = shared.ask(body.encode())
    if "deployment" in answer:
        found = json.loads(body)["model"]
        assert answer["deployment"] in expected and found in ("qwen3", "org/ds-v4")
    else:
        assert status in (400, 404) and expected in answer["error"]["message"], answer
        assert seen(shared) == before


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
def test_other_codings_are_refused(shared, coding):
    assert json.loads(json.dumps(QWEN).encode(coding)) == QWEN  # as engines read it
    assert shared.ask(json.dumps(QWEN).encode(coding))[0] == 400


@pytest.mark.parametrize("chunked", [False, True])
def test_a_model_behind_a_long_prompt_is_found(shared, chunked):
    text = json.dumps({"messages": [{"content": 'x"\\{' * 1100000}], "model": "qwen3"}).encode()
    assert 6 * 2**20 < len(text) < 8 * 2**20
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=60)
    body = iter([text[:100], text[100:]]) if chunked else text
    connection.request("POST", COMPLETIONS, body, {"Authorization": f"Bearer {KEYS['lab']}"}, encode_chunked=chunked)
    answer = json.loads(connection.getresponse().read())
    assert answer == {"deployment": "qwen", "bytes": len(text)}


def raw(entry, text):
    """The status lines and the text of the answers to bytes that are sent as they are."""
    answers = b""
    with socket.create_connection(("127.0.0.1", entry.port), timeout=30) as connection:
        connection.settimeout(3)
        try:
            connection.sendall(text.replace("KEY", f"Authorization: Bearer {KEYS['lab']}\r\nHost: x").encode("latin-1"))
            while more := connection.recv(65536):
                answers += more
        except (TimeoutError, ConnectionError):
            pass
    return [int(status) for status in re.findall(rb"^HTTP/1\.\d (\d+)", answers, re.M)], answers.decode()


def test_a_request_that_is_too_large_is_refused(shared):
    before = seen(shared)
    statuses, text = raw(shared, f"POST {COMPLETIONS} HTTP/1.1\r\nKEY\r\nContent-Length: {2**23 + 1}\r\n\r\n")
    assert statuses == [413] and "larger than 8 MiB" in text
    for length in (2**32 + 10, 2**63 - 1):
        assert raw(shared, f"POST {COMPLETIONS} HTTP/1.1\r\nKEY\r\nContent-Length: {length}\r\n\r\n")[0] == [413]
    chunk = "100000\r\n" + " " * 0x100000 + "\r\n"
    begin = f"POST {COMPLETIONS} HTTP/1.1\r\nKEY\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert raw(shared, begin + 9 * chunk + "0\r\n\r\n")[0][:1] in ([413], [])
    headers = "".join(f"X-{number}: {'x' * 8000}\r\n" for number in range(9))
    assert raw(shared, f"POST {COMPLETIONS} HTTP/1.1\r\nKEY\r\n{headers}Content-Length: 2\r\n\r\n{{}}")[0] == [431]
    assert seen(shared) == before
    exact = b'{"model": "qwen3", "x": "' + b"x" * (2**23 - 27) + b'"}'
    assert len(exact) == 2**23 and shared.ask(exact)[1] == {"deployment": "qwen", "bytes": 2**23}


LAB = f"Authorization: Bearer {KEYS['lab']}"
PATHS = ["/", "/health", "/metrics", "/add_worker", "/v1/completions/", "/v1/../add_worker", "//v1/completions"]
PATHS += [
    "/v1/%63ompletions",
    "/V1/completions",
    "/haproxy?stats",
    "/v1/completions;x",
    "/v1/modelsx",
    "/v1/models/qwen3",
]


def test_no_other_path_is_reached(shared):
    before = seen(shared)
    for path in PATHS:
        for method in ("POST", "GET"):
            assert raw(shared, f"{method} {path} HTTP/1.1\r\nKEY\r\nConnection: close\r\n\r\n")[0] == [404], path
    assert seen(shared) == before
    body = json.dumps(QWEN)
    for path in (f"http://elsewhere.example{COMPLETIONS}", f"{COMPLETIONS}?x=../add_worker"):
        text = f"POST {path} HTTP/1.1\r\nKEY\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        assert raw(shared, text.replace("KEY", "KEY" if "?" in path else f"Host: elsewhere.example\r\n{LAB}"))[0] == [
            200
        ]
        assert shared.deployments["qwen"].seen[-1][0] == COMPLETIONS
        assert "elsewhere" not in str(shared.deployments["qwen"].seen[-1][1])


GOOD = json.dumps(QWEN)
HIDDEN = f"POST /instances/add HTTP/1.1\r\nHost: x\r\nContent-Length: {len(GOOD)}\r\n\r\n{GOOD}"
START = f"POST {COMPLETIONS} HTTP/1."
SMUGGLED = {
    "length and chunks": f"{START}1\r\nKEY\r\nContent-Length: {len(HIDDEN) + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "two lengths": f"{START}1\r\nKEY\r\nContent-Length: 0\r\nContent-Length: {len(HIDDEN)}\r\n\r\n{HIDDEN}",
    "unknown coding": f"{START}1\r\nKEY\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "two codings": f"{START}1\r\nKEY\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n{HIDDEN}",
    "chunks in HTTP/1.0": f"{START}0\r\nKEY\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{HIDDEN}",
    "size of a chunk": f"{START}1\r\nKEY\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{HIDDEN}",
    "line in a header": f"{START}1\r\nKEY\r\nX-A: b\n{HIDDEN}",
    "space before the colon": f"{START}1\r\nKEY\r\nTransfer-Encoding : chunked\r\nContent-Length: {len(HIDDEN)}\r\n\r\n{HIDDEN}",
    "NUL in the path": f"POST {COMPLETIONS}%00/../instances/add HTTP/1.1\r\nKEY\r\n\r\n{HIDDEN}",
    "pipelined": f"{START}1\r\nKEY\r\nContent-Length: {len(GOOD)}\r\n\r\n{GOOD}{HIDDEN}",
    "no version": "GET /instances/add\r\n\r\n",
    "CONNECT": "CONNECT 127.0.0.1:80 HTTP/1.1\r\nKEY\r\n\r\n",
    "TRACE": f"TRACE {COMPLETIONS} HTTP/1.1\r\nKEY\r\n\r\n",
    "another protocol": f"{START}1\r\nKEY\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: {len(GOOD)}\r\n\r\n{GOOD}",
    "two keys": f"{START}1\r\nKEY\r\nAuthorization: Bearer other\r\nContent-Length: {len(GOOD)}\r\n\r\n{GOOD}",
    "dropped headers": f"{START}1\r\nKEY\r\nConnection: X-Request-Id, Authorization\r\nContent-Length: {len(GOOD)}\r\n\r\n{GOOD}",
    "underscores": f"{START}1\r\nKEY\r\nX_Request_Id: a\r\nX_data_parallel_rank: 3\r\nContent-Length: {len(GOOD)}\r\n\r\n{GOOD}",
}


@pytest.mark.parametrize("form", SMUGGLED)
def test_no_second_request_hides_in_a_first_one(shared, form):
    taken = shared.deployments["qwen"].seen
    before = len(taken)
    statuses, text = raw(shared, SMUGGLED[form])
    assert set(statuses) <= {200, 400, 401, 404, 405, 422, 501}, text
    assert {path for path, dummy, dummy2 in taken[before:]} <= {COMPLETIONS}, taken[before:]
    for dummy, headers, body in taken[before:]:
        assert headers["authorization"] == f"Bearer {ENGINES}" and re.fullmatch(
            "[0-9a-f-]{36}", headers["x-request-id"]
        )
        assert not {"upgrade", "x-data-parallel-rank", "x_data_parallel_rank", "x_request_id"} & set(headers)
        assert body in (GOOD.encode(), b"")


def test_no_key_of_a_client_is_written(shared):
    texts = {
        path.name: path.read_text() for path in shared.folder.iterdir() if path.is_file() and path.suffix != ".sock"
    }
    assert not [name for name, text in texts.items() for key in KEYS.values() if key in text]
    assert [name for name, text in texts.items() if ENGINES in text] == ["engine_keys.map"]


def test_requests_of_a_minute_are_limited_exactly(entry):
    running = entry(teams=teams(requests_per_minute=40))
    for dummy in range(20):  # refused before the body is read: not counted
        assert running.ask(QWEN, path="/v1/nowhere")[0] == 404 and running.ask(QWEN, method="PUT")[0] == 405
    statuses = collections.Counter(in_parallel(lambda dummy: running.ask(QWEN)[0], range(100)))
    assert statuses[200] + statuses[429] == 100 and 40 <= statuses[200] <= 41, statuses
    status, answer, headers = running.ask(QWEN)
    assert (status, answer["error"]["code"], headers["retry-after"]) == (429, "rate_limit_exceeded", "2")
    assert running.ask(QWEN, "both")[0] == 200
    assert running.ask(None, "lab", "/v1/models", "GET")[0] == 200


@pytest.mark.parametrize("body", [b"[" * 10000, b"{}", {"model": "gpt"}, {"model": "org/ds-v4"}], ids=str)
def test_a_body_that_is_refused_counts_like_another_one(entry, body):
    running = entry(teams={**teams(), "lab": {"keys_file": "lab", "models": ["qwen3"], "requests_per_minute": 3}})
    statuses = [running.ask(body)[0] for dummy in range(5)]
    assert set(statuses[:3]) <= {400, 403, 404} and statuses[3:] == [429, 429]
    assert running.ask(QWEN, "both")[0] == 200


def test_a_body_that_does_not_arrive_counts_like_another_one(entry):
    running = entry(teams=teams(requests_per_minute=3))
    head = (
        f"POST {COMPLETIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEYS['lab']}\r\nContent-Length: 9\r\n\r\n{{"
    )
    held = [socket.create_connection(("127.0.0.1", running.port)) for dummy in range(3)]
    for each in held:
        each.sendall(head.encode())
    time.sleep(0.5)
    assert running.ask(QWEN)[0] == 429
    for each in held:
        each.close()


def test_requests_at_a_time_are_limited_exactly(entry):
    running = entry(teams=teams(concurrent=5))
    running.deployments["qwen"].how = "slow"
    statuses = collections.Counter(in_parallel(lambda dummy: running.ask(QWEN)[0], range(12), 12))
    assert statuses[200] + statuses[429] == 12 and 4 <= statuses[200] <= 6, statuses
    running.deployments["qwen"].how = ""
    assert running.ask(QWEN)[0] == 200


def test_guesses_are_slowed_and_known_keys_of_the_same_address_are_not(entry):
    running = entry()
    statuses = collections.Counter(running.ask(QWEN, f"guess-{number}")[0] for number in range(60))
    assert statuses == {401: haproxy.GUESSES, 429: 60 - haproxy.GUESSES}
    assert {running.ask(QWEN)[0] for dummy in range(10)} == {200}


def test_shares_are_kept(entry):
    running = entry(models={"m": {"deployments": {"old": 80, "new": 20, "qwen": 0}}}, teams=teams())
    found = collections.Counter(in_parallel(lambda dummy: running.model("m"), range(400)))
    assert found["old"] + found["new"] == 400 and abs(found["new"] - 80) <= 2, found


def test_the_fallback_answers_while_nobody_else_does_and_no_request_fails(entry):
    running = entry(teams=teams())
    assert "qwen" not in {running.model("org/ds-v4") for dummy in range(40)}
    for name in ("old", "new"):
        running.deployments[name].close()
    time.sleep(0.2)
    found = collections.Counter(running.model("org/ds-v4") for dummy in range(20))
    assert found == {"qwen": 20}, found
    assert running.health()[0] == 200
    running.deployments["qwen"].close()
    time.sleep(0.2)
    status, answer, dummy = running.ask(DS)
    assert status == 503 and answer["error"]["message"] == "no router of this model answers"
    assert running.health()[0] == 503


def test_under_load_the_fallback_takes_over_and_only_what_is_in_flight_fails(entry):
    running = entry(teams=teams())
    done, found, numbers = threading.Event(), [], itertools.count()

    def load():
        while not done.is_set():
            status, answer, dummy = running.ask({"messages": [next(numbers)], "model": "org/ds-v4"})
            found.append(answer["deployment"] if status == 200 else status)

    clients = [threading.Thread(target=load) for dummy in range(8)]
    for client in clients:
        client.start()
    time.sleep(1.5)
    for name in ("old", "new"):  # it ends with the requests that it has
        running.deployments[name].close()
        time.sleep(1)
    time.sleep(1.5)
    done.set()
    for client in clients:
        client.join(30)
    assert {"old", "new", "qwen"} <= set(found) <= {"old", "new", "qwen", 502}, collections.Counter(found)
    assert found.count("qwen") > 100 and found.count(502) <= 2 * len(clients), collections.Counter(found)
    carried = [
        json.loads(body)["messages"][0] for each in running.deployments.values() for dummy, dummy2, body in each.seen
    ]
    assert len(carried) == len(set(carried)), "a request was carried out twice"


def test_a_request_that_was_sent_is_not_sent_again(entry):
    running = entry()
    running.deployments["qwen"].how = "end"
    status, answer, dummy = running.ask(QWEN)
    assert status == 502 and "ended during the request" in answer["error"]["message"]
    assert seen(running) == {"qwen": 1, "old": 0, "new": 0}


def arrivals(port, tokens):
    """Seconds at which the events of one stream arrived."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps({"model": "qwen3", "stream": True, "max_tokens": tokens})
    connection.request("POST", COMPLETIONS, body, {"Authorization": f"Bearer {KEYS['lab']}"})
    answer, found = connection.getresponse(), []
    while line := answer.readline():
        if line.startswith(b"data:"):
            found.append(time.monotonic())
    connection.close()
    return found


def test_streams_arrive_as_they_are_made(entry):
    running = entry()
    running.deployments["qwen"].gap = 0.1
    found = in_parallel(lambda dummy: arrivals(running.port, 20), range(20), 20)
    assert {len(stream) for stream in found} == {20}
    gaps = sorted(later - before for stream in found for before, later in itertools.pairwise(stream))
    assert gaps[len(gaps) // 2] > 0.05, "events arrived together, so they were held back"
    assert sum(gap < 0.02 for gap in gaps) < len(gaps) / 10


def test_a_changed_configuration_loses_no_request_and_no_count(entry):
    running = entry(teams={"lab": {"keys_file": "lab", "requests_per_minute": 20}, "both": {"keys_file": "both"}})
    assert [running.ask(QWEN)[0] for dummy in range(22)] == [200] * 20 + [429] * 2
    running.deployments["qwen"].gap = 0.2
    stream, done, found = [], threading.Event(), []
    held = threading.Thread(target=lambda: stream.extend(arrivals_of_both(running)))
    held.start()

    def load():
        while not done.is_set():
            found.append(running.model("org/ds-v4", "both"))

    clients = [threading.Thread(target=load) for dummy in range(8)]
    for client in clients:
        client.start()
    time.sleep(6)  # a process takes counts over, and hands them on, when it is 5 s old
    running.write(models={**running.settings["models"], "more": {"deployment": "qwen"}})
    running.reload()
    time.sleep(6)
    running.write(models={"org/ds-v4": {"deployments": {"new": 1, "old": 0}}, "qwen3": {"deployment": "qwen"}})
    running.reload()
    time.sleep(2)
    done.set()
    for client in (*clients, held):
        client.join(60)
    assert set(found) == {"old", "new"} and len(found) > 200, collections.Counter(found)
    assert {running.model("org/ds-v4", "both") for dummy in range(20)} == {"new"}
    assert len(stream) == 80, "a stream that was open before the change ended with it"
    assert running.ask(QWEN)[0] == 429, "the team began to count anew"


def arrivals_of_both(running):
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    body = json.dumps({"model": "qwen3", "stream": True, "max_tokens": 80})
    connection.request("POST", COMPLETIONS, body, {"Authorization": f"Bearer {KEYS['both']}"})
    return [line for line in connection.getresponse() if line.startswith(b"data:")]


def begun(entry, length):
    """A connection on which only the headers of a request have arrived."""
    head = f"POST {COMPLETIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEYS['lab']}\r\n{length}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", entry.port))
    connection.sendall(head.encode())
    return connection


def sized(size):
    return b'{"model": "qwen3", "x": "' + b"x" * (size - 27) + b'"}'


def test_requests_at_a_time_have_a_limit_in_bytes(entry):
    running = entry(teams=teams(), arriving_mib=10)
    held = [begun(running, f"Content-Length: {4 * 2**20}") for dummy in range(2)]
    time.sleep(0.5)
    for length in (
        f"Content-Length: {3 * 2**20}",
        "Transfer-Encoding: chunked",
    ):  # of unknown length: room for the largest one
        refused = begun(running, length)
        text = refused.recv(4096).decode()
        refused.close()
        assert text.startswith("HTTP/1.1 503 ") and "retry-after: 1\r\n" in text.lower() and "no more room" in text
    assert running.ask(sized(2 * 2**20))[0] == 200 and running.ask(QWEN)[0] == 200
    held.pop().close()
    time.sleep(0.5)
    assert running.ask(sized(3 * 2**20))[0] == 200, "a client that has gone leaves its room"
    held.pop().close()
    time.sleep(0.5)
    for dummy in range(30):
        assert running.ask(sized(8 * 2**20))[0] == 200, "an answer leaves the room of its request"


def test_a_stream_needs_no_room_for_its_request(entry):
    running = entry(teams=teams(), arriving_mib=10)
    running.deployments["qwen"].gap = 0.1
    text = json.dumps({"model": "qwen3", "stream": True, "max_tokens": 60, "x": "x" * (7 * 2**20)}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
    connection.request("POST", COMPLETIONS, text, {"Authorization": f"Bearer {KEYS['lab']}"})
    answer = connection.getresponse()
    assert answer.readline() == b"data: 0\n"
    assert running.ask(sized(8 * 2**20))[0] == 200
    assert sum(line.startswith(b"data:") for line in answer) == 59
