# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service's user, its answers, and a model's files against the modules that root runs: nothing elsewhere is written, nothing waits for ever."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import socket
import sys
import threading
import time
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.collector import textfile
from ansible_collections.ascend.inference.plugins.module_utils.host import (
    chat_template,
    model_config,
    model_facts,
    model_weights,
)
from ansible_collections.ascend.inference.plugins.module_utils.probe import watchdog
from ansible_collections.ascend.inference.plugins.module_utils.router.base import MembersProblem
from ansible_collections.ascend.inference.plugins.module_utils.router.instances import Instances
from ansible_collections.ascend.inference.plugins.module_utils.router.workers import Workers
from ansible_collections.ascend.inference.plugins.module_utils.runtime import base, decisions, wait
from ansible_collections.ascend.inference.plugins.module_utils.status import probe as status_probe
from ansible_collections.ascend.inference.plugins.module_utils.status import services
from ansible_collections.ascend.inference.plugins.module_utils.support import gather
from ansible_collections.ascend.inference.plugins.module_utils.support.redact import Redactor
from ansible_collections.ascend.inference.plugins.module_utils.tools import foreign_file, foreign_json
from ansible_collections.ascend.inference.plugins.module_utils.tools import http_client as client
from ansible_collections.ascend.inference.plugins.module_utils.verify import answers, logs, probe

DEEP = "[" * 100000


def within(seconds, function, *arguments):
    """The result of a call, or the exception that it raised; fails if it takes longer."""
    found = []

    def call():
        try:
            found.append(function(*arguments))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, f"{function.__name__} waits for ever"
    return found[0]


@pytest.fixture
def run(tmp_path):
    """The folder in which services note their start; their user may put anything there."""
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def test_a_link_in_place_of_a_record_is_replaced_and_not_followed(run, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("of root")
    record = run / "router.removed"
    record.symlink_to(precious)
    for process in range(os.getpid() - 2, os.getpid() + 3):  # the name of the temporary file must not be guessed either
        (run / f"router.removed.{process}").symlink_to(precious)
    router = Instances("http://127.0.0.1:1")
    router.record, router.started = str(record), str(run / "router.digest")
    router._note({"10.0.0.1:7100"})
    assert precious.read_text() == "of root"
    assert not record.is_symlink() and json.loads(record.read_text()) == ["10.0.0.1:7100"]
    assert router._isolated() == {"10.0.0.1:7100"}


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "deep"])
def test_a_hostile_record_is_no_record(run, tmp_path, kind):
    router = Instances("http://127.0.0.1:1")
    router.record, router.started = str(run / "router.removed"), str(run / "router.digest")
    put(run / "router.removed", kind, tmp_path)
    assert within(10, router._isolated) == set()


def put(path, kind, tmp_path):
    """Something else than a usual file."""
    if kind == "pipe":
        os.mkfifo(str(path))
    elif kind == "link":
        (tmp_path / "elsewhere").write_text('["10.0.0.1:7100"]')
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text(DEEP)


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_hostile_digest_file_is_no_digest(run, tmp_path, kind):
    put(run / "decode-0.digest", kind, tmp_path)
    assert within(10, decisions.running_digest, {"digest_file": str(run / "decode-0.digest")}) == ""
    (run / "prefill-0.digest").write_text("6c48\n")
    assert decisions.running_digest({"digest_file": str(run / "prefill-0.digest")}) == "6c48"
    assert decisions.running_digest({"digest_file": ""}) == ""


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_a_hostile_log_is_not_read(run, tmp_path, kind):
    put(run / "decode-0.log", kind, tmp_path)
    assert within(10, base.tail, str(run / "decode-0.log"), 5).startswith("(")
    assert isinstance(within(10, logs._lines, str(run / "decode-0.log"), 0), OSError)
    (run / "prefill-0.log").write_text("one\ntwo\nthree\n")
    assert base.tail(str(run / "prefill-0.log"), 2) == "two\nthree" and logs._lines(str(run / "prefill-0.log"), 4) == [
        "two",
        "three",
    ]


@pytest.mark.parametrize("part", ["ascend", "ascend/log", "ascend/log/debug", "ascend/log/debug/plog"])
def test_a_link_in_place_of_a_folder_of_cann_leads_to_no_log_of_root(tmp_path, monkeypatch, part):
    home, secret = tmp_path / "home", tmp_path / "of-root"
    rest = "ascend/log/debug/plog"[len(part) :].lstrip("/")
    (secret / rest).mkdir(parents=True)
    (secret / rest / "auth.log").write_text("[ERROR] HCCL of root\n")
    (home / part).parent.mkdir(parents=True)
    (home / part).symlink_to(secret)
    folder = str(home / "ascend/log")
    (own,) = gather.plog_parts([folder], 0, 1000, Redactor())
    assert own.text, "an administrator may link the own folder"
    monkeypatch.setattr(gather.os, "geteuid", lambda: os.getuid() + 1)
    (part,) = gather.plog_parts([folder], 0, 1000, Redactor())
    assert part.text == "" and part.problem.startswith("not read:")


def test_the_files_of_cann_of_another_user_are_read(tmp_path, monkeypatch):
    (tmp_path / "ascend/log/debug/plog").mkdir(parents=True)
    (tmp_path / "ascend/log/debug/plog/plog-1.log").write_text("[ERROR] HCCL x\n")
    monkeypatch.setattr(gather.os, "geteuid", lambda: os.getuid() + 1)
    (part,) = gather.plog_parts([str(tmp_path / "ascend/log")], 0, 1000, Redactor())
    assert part.text == "[ERROR] HCCL x\n"


def test_a_link_in_place_of_the_new_metrics_changes_no_file_of_root(tmp_path, monkeypatch):
    """The folder of node_exporter's textfiles is written by services, too, while root's timer writes its own file."""
    victim, folder = tmp_path / "shadow", tmp_path / "textfiles"
    victim.write_text("secret")
    victim.chmod(0o600)
    folder.mkdir()
    fdopen = os.fdopen

    def swapped(descriptor, *arguments, **more):
        (new,) = folder.iterdir()
        new.unlink()
        new.symlink_to(victim)
        return fdopen(descriptor, *arguments, **more)

    monkeypatch.setattr(textfile.os, "fdopen", swapped)
    textfile.write(str(folder), "npu.prom", "metrics")
    assert victim.stat().st_mode & 0o777 == 0o600 and victim.read_text() == "secret"


@pytest.mark.parametrize("worker", ["http://10.0.0.1:7100", None, []])
def test_a_worker_of_another_form_is_an_answer_that_is_refused(monkeypatch, worker):
    router = Workers("http://127.0.0.1:1")
    monkeypatch.setattr(
        router, "request", lambda *unused: (200, {"workers": [{"url": "http://10.0.0.2:7100"}, worker]})
    )
    with pytest.raises(MembersProblem, match="refused to list its workers"):
        router.read()


ODD = ["x", [], {}, True, 1e400, 10**400, [None], float("nan")]


@pytest.mark.parametrize("name", ["age", "interval", "timeout", "paused", "more"])
@pytest.mark.parametrize("value", ODD, ids=[str(number) for number in range(len(ODD))])
def test_odd_numbers_of_the_probe_are_a_finding_and_hide_no_other_service(name, value):
    page = {
        "findings": [],
        "paths": {"good": 1, "failed": 0, "unknown": 0},
        "stuck": ["decode-0"],
        "age": 1.0,
        "interval": 60.0,
        "timeout": 30.0,
        name: value,
    }
    (text,) = status_probe.findings(True, watchdog.page_of(json.dumps(page)))
    assert "gives no page of results" in text
    found = watchdog.decide(watchdog.page_of(json.dumps(page)), {"decode-0": ["decode-0"]}, [], 2, True, 1000.0)
    assert found.engine == "" and "unknown" in found.findings[0]


class Dripping:
    """A server that sends a byte now and then, and never an end."""

    def __init__(self, start, drip):
        self.start, self.drip, self.asked = start, drip, []
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(8)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.answer, args=(self.socket.accept()[0],), daemon=True).start()

    def answer(self, connection):
        with contextlib.suppress(OSError):
            self.asked.append(connection.recv(4096))
            connection.sendall(self.start)
            end = time.monotonic() + 30
            while time.monotonic() < end:
                connection.sendall(self.drip)
                time.sleep(0.2)


BEGIN = b"HTTP/1.1 200 OK\r\n"
DRIPS = {
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "headers": (BEGIN + b"X-A: ", b"a"),
    "body": (BEGIN + b"Content-Length: 100000\r\n\r\n", b"a"),
    "body without a length": (BEGIN + b"\r\n", b"a"),
    "a line of a stream": (BEGIN + b"Content-Type: text/event-stream\r\n\r\ndata: ", b"a"),
    "chunks": (BEGIN + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
}


@pytest.mark.parametrize("what", DRIPS)
def test_the_timeout_bounds_an_exchange_that_never_ends(what):
    server = Dripping(*DRIPS[what])
    reply = within(10, client.ask, client.Target(server.url), "/v1/models", None, 1.0)
    assert (reply.error, reply.detail) == ("timeout", "no complete answer within 1 s")
    assert within(10, wait.answers, server.url + "/health", 1.0) is False
    server.socket.close()


class Redirecting(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        elsewhere = self.path == "/elsewhere"
        self.send_response(200 if elsewhere else 302)
        if not elsewhere:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *unused):
        pass


def test_a_service_cannot_send_the_modules_elsewhere():
    server = http.server.HTTPServer(("127.0.0.1", 0), Redirecting)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    assert wait.answers(url + "/health") is False
    assert client.ask(client.Target(url, token="key"), "/v1/models").status == 302
    assert wait.answers(url + "/elsewhere") is True
    server.shutdown()
    assert [path for path, _key in server.asked] == ["/health", "/v1/models", "/elsewhere"]


def test_an_answer_that_is_nested_too_deeply_is_an_answer_that_is_no_json(monkeypatch):
    with pytest.raises(ValueError):
        foreign_json.loads(DEEP)
    reply = client.Reply(200, DEEP, 0.1, "")
    assert "not_json" in answers.read_answer(reply)
    stream = client.Reply(200, "", 0.1, "", events=((0.1, DEEP), (0.2, "[DONE]")))
    assert answers._chunks(stream.events) == ([], True)
    router = Instances("http://127.0.0.1:1")
    monkeypatch.setattr(
        "ansible_collections.ascend.inference.plugins.module_utils.router.base.ask", lambda *a, **b: reply
    )
    with pytest.raises(MembersProblem):
        router._listed()


def test_a_number_of_many_digits_takes_no_time():
    """Reading one is quadratic: 8 MiB of digits take ten minutes on a Python without a limit of its own."""
    if hasattr(sys, "set_int_max_str_digits"):
        before = sys.get_int_max_str_digits()
        sys.set_int_max_str_digits(0)
    try:
        digits = "1" * 20000
        for text in (digits, f"-{digits}", f'{{"count": {digits}}}', f"[{digits}]".encode()):
            with pytest.raises(ValueError):
                foreign_json.loads(text)
        assert (
            foreign_json.loads("[-12, 3.5, 1e3, 123456789012345678901234567890]")[3] == 123456789012345678901234567890
        )
        assert services._json(f'{{"version": {digits}}}') == {} == watchdog.page_of(f'{{"at": {digits}}}')
    finally:
        if hasattr(sys, "set_int_max_str_digits"):
            sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", model_config.INDEX])
@pytest.mark.parametrize(
    "kind", ["pipe", "folder", "deep", "[]", '{"weight_map": [1], "metadata": 3}', '{"weight_map": {"a": {}}}']
)
def test_a_hostile_file_of_a_model_is_a_problem_of_the_model(tmp_path, name, kind):
    model = tmp_path / "model"
    model.mkdir()
    if kind[0] in "[{":
        (model / name).write_text(kind)
    else:
        put(model / name, kind, tmp_path)
    for found in (
        within(10, model_facts.read_config, str(model / name)),
        within(10, chat_template.exists, str(model), [name]),
        within(10, model_facts.missing_files, str(model)),
        within(10, model_config.missing_weights, str(model)),
    ):
        assert not isinstance(found, Exception), found
    weights = within(10, model_weights.damaged_files, str(model))
    assert not isinstance(weights, Exception), weights


def test_a_file_of_a_model_may_be_a_link(tmp_path):
    """As in the cache of the Hugging Face hub."""
    (tmp_path / "blob").write_text('{"hidden_size": 8}')
    (tmp_path / "config.json").symlink_to("blob")
    assert model_facts.read_config(str(tmp_path / "config.json")) == ({"hidden_size": 8}, "")


def test_a_file_that_grows_without_end_is_read_in_part(tmp_path):
    path = tmp_path / "endless"
    with open(str(path), "wb") as stream:
        stream.truncate(1 << 40)  # takes no space
    assert len(foreign_file.read(str(path))) == foreign_file.MOST
    assert len(base.tail(str(path), 5)) <= foreign_file.MOST


@pytest.mark.parametrize("count", [1, -5, 1e400, 10**400, 0.001])
def test_an_engine_that_counts_tokens_wrongly_does_not_make_prompts_without_end(monkeypatch, count):
    sizes = []

    def ask(_target, _path, body, **_more):
        sizes.append(len(body["prompt"]))
        return client.Reply(200, json.dumps({"count": count}), 0.1, "", "", ())

    monkeypatch.setattr(probe, "ask", ask)
    asking = types.SimpleNamespace(
        plan=types.SimpleNamespace(model="m", engines=["decode-0"]),
        target=str,
        limits=types.SimpleNamespace(request=1.0),
    )
    words = probe.Probe.words_for(asking, 300, 600)
    assert words <= 600 and max(sizes) < 20_000
