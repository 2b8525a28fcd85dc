# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drills on a host: the load, its figures, processes of services, kills and pauses."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill import etcd, fault, load, others, processes
from ansible_collections.ascend.inference.plugins.module_utils.drill.compare import chosen, compare
from ansible_collections.ascend.inference.plugins.module_utils.drill.figures import figures, quantile, timeline
from ansible_collections.ascend.inference.plugins.module_utils.drill.others import FREE, Holder
from ansible_collections.ascend.inference.plugins.module_utils.files import deployment_lock
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import state
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker import Docker
from ansible_collections.ascend.inference.plugins.module_utils.runtime.systemd import Systemd
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply, Target
from ansible_collections.ascend.inference.plugins.module_utils.verify.answers import Answer
from ansible_collections.ascend.inference.plugins.modules import service_fault, service_load
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.runs import RUN, begin


def request(ended, problem="", text="a", nonce="n"):
    return load.Request(nonce, 1, False, ended - 0.1, 0.05 if text else -1.0, 0.1, problem, text)


def steady(first, last, step=0.25):
    """Good answers every ``step`` seconds."""
    return [request(first + number * step) for number in range(int((last - first) / step))]


def test_figures_of_a_fault():
    requests = [*steady(0, 20), request(21.0, "cut: gone", ""), request(23.0, "empty", ""), *steady(24, 60)]
    found = figures(requests, 20.0, 5.0)
    baseline, after = found["baseline"], found["fault"]
    assert (baseline["requests"], baseline["failed"], baseline["per_second"]) == (80, 0, pytest.approx(4.0, 0.05))
    assert (after["answered"], after["failed"], after["empty"]) == (144, 1, 1)
    assert after["gap"] == pytest.approx(4.25)
    assert after["recovered"] == pytest.approx(4.0, abs=0.3)
    assert after["failing"] == pytest.approx(2.9)
    assert {"problem": "cut: gone", "count": 1} in after["problems"]
    rows = {row["second"]: row for row in found["timeline"]}
    assert (rows[-1]["good"], rows[1], rows[5]["good"]) == (4, {"second": 1, "good": 0, "bad": 1}, 4)


def test_a_service_that_stays_slow_has_not_recovered():
    found = figures([*steady(0, 20), *steady(20, 60, 0.5)], 20.0, 5.0)
    assert found["fault"]["recovered"] is None


def test_a_service_that_stops_answering_has_a_gap_until_the_end():
    found = figures([*steady(0, 20), request(50.0, "timeout: no answer", "")], 20.0, 5.0)
    assert found["fault"]["gap"] == pytest.approx(30.25)


def test_a_service_that_never_answered_has_a_gap_from_the_begin_and_no_recovery():
    found = figures([request(float(second), "timeout: no answer", "") for second in range(1, 40)], 20.0, 5.0)
    assert found["fault"]["gap"] == pytest.approx(38.1)
    assert (found["baseline"]["per_second"], found["fault"]["recovered"]) == (0.0, None)


def test_an_answer_without_text_is_empty():
    assert load.problem_of(Answer("incomplete", "missing in the answer: text", 200)) == "empty"
    assert load.problem_of(Answer("http_error", "HTTP 500", 500)).startswith("http_error")
    assert load.problem_of(Answer("", "", 200, text="a")) == ""


@pytest.mark.parametrize(
    "answers, verdict",
    [(["a"], (0, 0, 0)), (["b", "b", "b"], (1, 0, 0)), (["b", "a", "b"], (0, 1, 0)), ([None], (0, 0, 1))],
)
def test_a_wrong_text_is_wrong_each_time(answers, verdict):
    left = list(answers)

    def ask(_request):
        text = left.pop(0)
        return request(1.0, "" if text else "cut", text or "")

    found = compare([request(0.5)], ask)
    assert (len(found.wrong), found.unstable, found.lost) == verdict


def test_compared_requests_are_spread_and_good():
    requests = [request(float(number), "cut" if number % 2 else "", nonce=str(number)) for number in range(100)]
    picked = chosen(requests, 10)
    assert [item.nonce for item in picked] == [str(number) for number in range(0, 100, 10)]


class Completions(BaseHTTPRequestHandler):
    """Answers with the last word of the prompt; slow answers on demand."""

    seconds = 0.0
    bodies = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        time.sleep(self.seconds)
        choice = {"text": " end", "finish_reason": "length"}
        answer = {"id": "1", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 1}}
        data = json.dumps(answer).encode()
        kind = "application/json"
        if body.get("stream"):
            data, kind = b"data: " + data + b"\n\ndata: [DONE]\n\n", "text/event-stream"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        data = self.metrics.pop(0).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *unused):
        pass


@pytest.fixture
def server():
    class Own(Completions):
        bodies, metrics = [], []

    made = HTTPServer(("127.0.0.1", 0), Own)
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made, Own
    made.shutdown()
    made.server_close()


def service_of(server):
    return load.Service(Target(f"http://127.0.0.1:{server.server_port}"), "tiny", 8, 4, 10.0)


def test_the_load_has_unique_prompts_streams_and_a_record(server, tmp_path):
    records = load.Records(str(tmp_path / "requests"))
    made = load.Load(service_of(server[0]), 4, 40.0, records.keep)
    made.start()
    time.sleep(0.5)
    made.stop(5)
    requests, unsent = records.read()
    assert unsent is None, "the load has not ended for readers"
    records.finish(made.unsent)
    assert records.read()[1] == made.unsent
    bodies = server[1].bodies
    assert len(requests) == len(bodies) > 5
    assert all(not item.problem and item.text == " end" for item in requests)
    assert len({body["prompt"] for body in bodies}) == len(bodies)
    assert {body.get("stream", False) for body in bodies} == {True, False}
    assert all(body["temperature"] == 0 for body in bodies)
    assert len(requests) < 40, "not faster than the rate"
    again = load.repeat(service_of(server[0]), requests[0])
    assert bodies[-1]["prompt"] == load.prompt_of(service_of(server[0]), requests[0].nonce, requests[0].number)
    assert again.text == requests[0].text and bodies[-1]["cache_salt"]


def test_a_long_answer_fills_no_disk():
    first, second = "a" * 100000, "a" * 99999 + "b"
    assert len(load.kept(first)) < 20000 and load.kept(first) != load.kept(second) and load.kept("a\ud800") == "a\ud800"


def test_requests_that_nobody_could_send_are_counted(server, tmp_path):
    server[1].seconds = 0.4
    made = load.Load(service_of(server[0]), 1, 20.0, load.Records(str(tmp_path / "requests")).keep)
    made.start()
    time.sleep(1.2)
    made.stop(5)
    assert made.unsent >= 8


def test_others_are_seen_by_the_counters(server):
    def text(running, finished):
        return (
            f'vllm:num_requests_running{{engine="0"}} {running}\nvllm:request_success_total{{engine="0"}} {finished}\n'
        )

    engines = [{"name": "decode-0", "url": f"http://127.0.0.1:{server[0].server_port}"}]
    server[1].metrics[:] = [text(0, 5), text(0, 5)]
    assert others.users(engines, "", 0, lambda seconds: None) == []
    server[1].metrics[:] = [text(0, 5), text(0, 7)]
    assert others.users(engines, "", 0, lambda seconds: None) == ["decode-0 has 0 requests and finished 2"]
    server[1].metrics[:] = [text(0, 5), text(1, 5)]
    assert len(others.users(engines, "", 0, lambda seconds: None)) == 1
    for odd in ("", text("NaN", 5), text(0, "NaN")):
        server[1].metrics[:] = [text(0, 5), odd]
        assert others.users(engines, "", 0, lambda seconds: None) == ["decode-0 does not answer with its counters"]
    gone = [{"name": "decode-1", "url": "http://127.0.0.1:9"}]
    assert others.users(gone, "", 0, lambda seconds: None) == ["decode-1 does not answer with its counters"]


def process(pid, title):
    return processes.Process(pid, 1, title, "0")


def test_the_process_of_a_rank():
    main, helper = process(1, "vllm serve"), process(2, "python -c from multiprocessing.resource_tracker import main")
    core, worker = process(3, "VLLM::EngineCore_DP0"), [process(4, "VLLM::Worker_TP0"), process(5, "VLLM::Worker_TP1")]
    assert processes.rank_of([main, helper, core, *worker]) == worker[1]
    assert processes.rank_of([main, helper, core]) == core
    assert processes.rank_of([main, helper]) is None


class Runtime:
    def __init__(self, pid, states=()):
        self.pid, self.left = pid, list(states)

    def pids(self, services):
        return {"unit": self.pid} if self.pid else {}

    def states(self, services):
        return {"unit": self.left.pop(0) if len(self.left) > 1 else self.left[0]}


SERVICE = {"name": "decode-0", "unit": "unit", "url": ""}


def test_victims_are_processes_of_the_service(family):
    found = fault.victims(Runtime(family.pid), [SERVICE], "main", whole=True)["decode-0"]
    assert [item.pid for item in found][0] == family.pid and "sleep 60" in found[1].title
    assert len(fault.victims(Runtime(family.pid), [SERVICE], "main", whole=False)["decode-0"]) == 1
    with pytest.raises(fault.FaultError, match="decode-0 does not run"):
        fault.victims(Runtime(0), [SERVICE], "main", whole=False)
    with pytest.raises(fault.FaultError, match="no process of a rank"):
        fault.victims(Runtime(family.pid), [SERVICE], "rank", whole=False)


def stopped(pid):
    with open(f"/proc/{pid}/stat") as stream:
        return stream.read().rpartition(")")[2].split()[0] == "T"


def test_a_pause_ends(family):
    victims = processes.tree(family.pid)
    turns = [True, False, True]

    def sleep(_seconds):
        wanted = turns.pop(0)
        until(lambda: all(stopped(item.pid) == wanted for item in victims))

    before = signal.getsignal(signal.SIGTERM)
    fault.pause(victims, 0.01, 2, sleep)
    assert turns == [] and signal.getsignal(signal.SIGTERM) is before
    until(lambda: not any(stopped(item.pid) for item in victims))


def test_a_pause_ends_if_the_module_is_killed(family):
    code = (
        "import sys; from ansible_collections.ascend.inference.plugins.module_utils.drill import fault, processes; "
        "fault.pause(processes.tree(int(sys.argv[1])), 60, 1)"
    )
    module = subprocess.Popen(
        [sys.executable, "-c", code, str(family.pid)], env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    )
    try:
        until(lambda: stopped(family.pid))
    finally:
        module.kill()
        module.wait()
    until(lambda: not stopped(family.pid))


def until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_killed_process_is_gone_and_another_one_with_its_id_is_left_alone(family):
    victims = processes.tree(family.pid)[:1]
    reused = [item._replace(started="1") for item in victims]
    with pytest.raises(fault.FaultError, match="ended before the fault"):
        fault.kill(reused)
    assert family.poll() is None
    children = processes.tree(family.pid)[1:]
    fault.kill(victims)
    assert family.wait() == -signal.SIGKILL
    fault.kill(children)


def test_a_service_has_recovered_when_another_process_answers():
    old, new = state("running", True, start_id=1), state("running", True, start_id=2)
    answers = []
    runtime = Runtime(1, [old, state("restarting", pending=True), new])
    service = dict(SERVICE, url="http://x")
    found = fault.recovered(
        runtime, [service], {"unit": 1}, 10, lambda url: bool(answers.append(1)) or len(answers) > 1
    )
    assert found["decode-0"] is not None and len(answers) == 2
    assert fault.recovered(Runtime(1, [old]), [SERVICE], {"unit": 1}, 0.3) == {"decode-0": None}
    assert fault.recovered(Runtime(1, [old]), [SERVICE], {}, 10)["decode-0"] is not None


def test_a_fault_counts_its_seconds_without_the_clock(monkeypatch):
    params = {"runtime": "", "settings": {}, "services": [SERVICE], "part": "main", "action": "kill", "timeout": 1}
    monkeypatch.setattr(service_fault, "runtime_of", lambda *given: Runtime(1, [state("running", True, start_id=1)]))
    monkeypatch.setattr(service_fault, "victims", lambda *given: {"decode-0": []})
    monkeypatch.setattr(service_fault, "kill", lambda found: None)
    monkeypatch.setattr(service_fault, "recovered", lambda *given: time.sleep(0.2) or {"decode-0": 0.2})
    module = type("Module", (), {"params": params, "check_mode": False})
    assert 0.2 <= service_fault.run(module)["seconds"] < 60


@pytest.mark.parametrize(
    "runtime, settings",
    [(Systemd, {"target": "x.target", "directory": "/none"}), (Docker, {"deployment": "x"})],
)
def test_the_runtimes_name_main_processes(runtime, settings):
    def run(argv, timeout=60):
        return 0, {"a": "4711\n", "b": "0\n"}[argv[-1]]

    assert runtime(settings, run).pids([{"unit": "a"}, {"unit": "b"}]) == {"a": 4711}


def call(monkeypatch, **params):
    """The result of the module service_load; ``failed`` with the text if it fails."""
    done = {}

    def end(module, **result):
        done.update(result)
        raise SystemExit

    monkeypatch.setattr(service_load.AnsibleModule, "exit_json", end)
    monkeypatch.setattr(service_load.AnsibleModule, "fail_json", lambda module, msg: end(module, failed=msg))
    given = {"ANSIBLE_MODULE_ARGS": dict(params, _ansible_remote_tmp="/tmp", _ansible_keep_remote_files=False)}
    monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_ARGS", json.dumps(given).encode())
    monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_PROFILE", "legacy", raising=False)
    with pytest.raises(SystemExit):
        service_load.main()
    return done


def test_a_load_from_its_begin_to_its_report(monkeypatch, server, tmp_path):
    target = {"url": f"http://127.0.0.1:{server[0].server_port}", "model": "tiny", "directory": str(tmp_path)}
    load_ = {**target, "words": 8, "output_tokens": 4, "request_timeout": 10}
    sending = call(monkeypatch, state="running", rate=20, clients=4, seconds=0.6, **load_)
    assert sending["requests"] > 5
    begun = load.Records(str(tmp_path / "requests.jsonl")).read()[0][3].ended
    found = call(monkeypatch, state="reported", begun=begun, window=0.2, **load_)["figures"]
    assert found["baseline"]["requests"] + found["fault"]["requests"] == sending["requests"]
    assert (found["fault"]["failed"], found["fault"]["wrong"]) == (0, 0) and found["fault"]["compared"] > 0
    assert (tmp_path / "stop").exists()
    call(monkeypatch, state="reported", begun=begun, earliest=begun - 0.5, ago=0.1, **load_)
    for clock in (-5, 3600):
        text = call(monkeypatch, state="reported", begun=begun + clock, earliest=begun, ago=0.1, **load_)["failed"]
        assert "differ by at least" in text and "chrony" in text


@pytest.mark.parametrize("ends", ["another run", "nobody"])
def test_a_load_ends_with_the_lock_of_its_run(monkeypatch, server, tmp_path, ends):
    """The controller was killed, and the next run has taken the lock over; or somebody has removed it."""
    base = tmp_path / "deployments" / "inference"
    base.mkdir(parents=True)
    begin(base)
    target = {"url": f"http://127.0.0.1:{server[0].server_port}", "model": "tiny", "directory": str(tmp_path)}
    sending, begun = threading.Event(), time.monotonic()

    def take_over():
        sending.wait(10)
        if ends == "nobody":
            os.unlink(deployment_lock.path_of(str(base)))
        else:
            begin(base, run={**RUN, "id": "another"}, replace=RUN["id"])

    send = load.send
    monkeypatch.setattr(load, "send", lambda *given: (given[2] == 6 and sending.set(), send(*given))[1])
    threading.Thread(target=take_over, daemon=True).start()
    more = {"words": 8, "output_tokens": 4, "request_timeout": 10, "rate": 20, "clients": 4}
    sent = call(monkeypatch, state="running", seconds=60, deployment=f"{base}/", **target, **more)
    assert sent["requests"] >= 6 and time.monotonic() - begun < 20


def test_a_load_goes_on_while_its_run_holds_the_lock(tmp_path):
    base, now = tmp_path / "inference", [0.0]
    begin(base)
    held, path = Holder(str(base), lambda: now[0]), deployment_lock.path_of(str(base))
    record = pathlib.Path(path).read_text()
    for text, gone in (
        ("", False),
        (record, False),
        ("", False),
        ("{", True),
    ):  # a lock that is being written has no record
        pathlib.Path(path).write_text(text)
        assert held.gone() is gone
        now[0] += FREE
    assert not Holder("").gone() and not Holder(str(tmp_path / "other")).gone()


def test_no_fault_follows_a_bad_baseline(monkeypatch, tmp_path):
    records = load.Records(str(tmp_path / "requests.jsonl"))
    records.keep(request(time.time() - 1))
    given = {"state": "baseline", "directory": str(tmp_path), "seconds": 0.5}
    begin, done = time.time(), call(monkeypatch, **given)
    assert begin <= done.pop("ended") <= time.time() and done == {"changed": False, "requests": 1}
    records.keep(request(time.time(), "cut: gone", ""))
    assert "1 of 2 requests got no good answer before any fault: cut: gone" in call(monkeypatch, **given)["failed"]
    records.finish(0)
    assert "ended before" in call(monkeypatch, **given)["failed"]


@pytest.mark.parametrize(
    ("values", "part", "found"),
    [
        ([], 0.5, None),
        ([1.0], 0.99, 1.0),
        ([1.0, 2.0], 0.5, 2.0),
        ([1.0, 2.0, 3.0], 0.5, 2.0),
        ([1.0, 2.0], 1.0, 2.0),
        ([0.12345], 0.5, 0.123),
    ],
)
def test_quantiles(values, part, found):
    assert quantile(values, part) == found


def test_each_figure_of_a_fault_has_its_edge():
    sent = [
        request(10.0),
        request(10.5, "cut", ""),
        request(12.0, "empty", ""),
        request(13.0, "cut", ""),
        request(13.5, "a", ""),
        request(15.0),
    ]
    found = figures(sent, 10.0, 1.0)
    assert (found["baseline"]["requests"], found["baseline"]["answered"], found["baseline"]["seconds"]) == (1, 1, 0.1)
    after = found["fault"]
    assert (after["requests"], after["answered"], after["failed"], after["empty"]) == (5, 1, 3, 1)
    assert (after["gap"], after["failing"], after["seconds"], after["recovered"]) == (5.0, 3.4, 5.0, None)
    assert after["problems"] == [
        {"problem": "cut", "count": 2},
        {"problem": "a", "count": 1},
        {"problem": "empty", "count": 1},
    ]
    many = figures([request(11.0, f"p{number:02}", "") for number in range(12)], 10.0, 1.0)["fault"]["problems"]
    assert [row["problem"] for row in many] == [f"p{number:02}" for number in range(8)]
    nothing = figures([], 10.0, 1.0)
    assert (nothing["baseline"]["per_second"], nothing["fault"]["gap"], nothing["fault"]["failing"]) == (0.0, 0.0, 0.0)


def test_the_timeline_counts_from_the_fault():
    rows = timeline([request(9.5), request(10.0, "cut", ""), request(11.9)], 9.4, 10.0, 11.9)
    assert rows == [
        {"second": -1, "good": 1, "bad": 0},
        {"second": 0, "good": 0, "bad": 1},
        {"second": 1, "good": 1, "bad": 0},
    ]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ("{run} 0\n{done} 5\n", "{run} 0\n{done} 5\n", ""),
        ("{run} 9\n{done} 5\n", "{run} 0\n{done} 5\n", ""),
        ("{run} 0\n{done} 5\n", "{run} 0\n{done} 6\n", "e has 0 requests and finished 1"),
        ("{run} 0\n{done} 5\n", "{run} 1\n{wait} 2\n{done} 5\n", "e has 3 requests and finished 0"),
        ("{run} 0\n{done} 5\n", "{run} 0\n{done} 4\n", "e has 0 requests and finished 0"),
        ("{run} 0\n", "{run} 0\n", ""),
        ("{run} 0\n", "{run} 0\n{done} 4\n", "e does not answer with its counters"),
        ("{run} 0\n", "{wait} 0\n", "e does not answer with its counters"),
        (None, "{run} 0\n", "e does not answer with its counters"),
        ("{run} 0\n", None, "e does not answer with its counters"),
    ],
)
def test_who_uses_an_engine(monkeypatch, before, after, text):
    names = {"run": others.HAVE[0], "wait": others.HAVE[1], "done": "vllm:request_success_total"}
    left = [Reply(0 if page is None else 200, (page or "").format(**names), 0.0, "") for page in (before, after)]
    slept = []
    monkeypatch.setattr(others, "ask", lambda target, path, timeout: left.pop(0))
    found = others.users([{"name": "e", "url": "http://x"}], "k", 3.0, slept.append)
    assert found == ([text] if text else []) and slept == [3.0]


GOOD, LEADS = json.dumps({"health": "true"}), "etcd_server_is_leader 1\n"


@pytest.mark.parametrize(
    ("health", "metrics", "state_of_it"),
    [
        ((200, GOOD), (200, LEADS), "leads"),
        ((200, json.dumps({"health": True})), (200, LEADS), "leads"),
        ((200, GOOD), (200, "etcd_server_is_leader 0\n"), "follows"),
        ((200, GOOD), (200, ""), "follows"),
        ((200, json.dumps({"health": "false"})), (200, LEADS), ""),
        ((200, "[]"), (200, LEADS), ""),
        ((200, "no JSON"), (200, LEADS), ""),
        ((503, GOOD), (200, LEADS), ""),
        ((200, GOOD), (404, LEADS), ""),
        ((0, GOOD), (0, LEADS), ""),
    ],
)
def test_a_member_of_etcd_serves_if_it_is_healthy_and_says_who_leads(health, metrics, state_of_it):
    def get(target, path, _payload, _timeout):
        status, body = {"/health": health, "/metrics": metrics}[path]
        return Reply(status or 200, body, 0.0, "" if status else "cut")

    seen = etcd.look({"a": "http://a"}, get)
    assert (seen.leader, seen.serving) == ("a" if state_of_it == "leads" else "", ("a",) if state_of_it else ())


@pytest.mark.parametrize(
    ("members", "serving", "left"),
    [(3, "abc", None), (3, "ab", 1), (2, "ab", 1), (5, "abcd", None), (5, "abc", 2), (1, "a", 0)],
)
def test_without_the_leader_a_majority_of_all_members_is_left(members, serving, left):
    """``left``: how many, if those are too few."""
    urls = {name: "http://" + name for name in "abcde"[:members]}
    told = etcd.without_majority(urls, etcd.Seen("a", serving=tuple(serving)))
    assert (
        (f"without it {left} would be left; a majority is {members // 2 + 1}" in told) if left is not None else not told
    )


@pytest.mark.parametrize(("number", "again"), [(signal.SIGSTOP, [signal.SIGCONT]), (signal.SIGKILL, [])])
def test_processes_that_were_reached_before_a_foreign_one_run_again(monkeypatch, number, again):
    sent = []

    def send(_processes, asked):
        sent.append(asked)
        if asked != signal.SIGCONT:
            raise PermissionError("process 7")

    monkeypatch.setattr(fault, "send", send)
    with pytest.raises(fault.FaultError, match="process 7: the processes belong to another user"):
        fault._signal([], number)
    assert sent == [number, *again]


@pytest.mark.parametrize(
    ("part", "whole", "pids"),
    [("main", False, [7]), ("main", True, [7, 8, 9]), ("rank", False, [8]), ("rank", True, [8, 9])],
)
def test_a_fault_meets_the_main_process_or_one_rank(monkeypatch, part, whole, pids):
    made = {number: processes.Process(number, 1, "engine", "0") for number in (7, 8, 9)}
    monkeypatch.setattr(fault, "tree", lambda pid: [made[number] for number in (7, 8, 9) if number >= pid])
    monkeypatch.setattr(fault, "rank_of", lambda found: made[8])
    found = fault.victims(Runtime(7), [SERVICE], part, whole)["decode-0"]
    assert [item.pid for item in found] == pids
