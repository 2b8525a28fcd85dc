# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The liveness probe of an engine's pod, with an engine that answers on a real port; time passes only in the test."""

from __future__ import annotations

import http.server
import subprocess
import threading

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.kubernetes import stalled
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.kthena_plans import objects, plan, roles

PAGE = """\
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="a b"}} {running}
vllm:prompt_tokens_total{{engine="0",model_name="a b"}} 40.0
vllm:generation_tokens_total{{engine="0",model_name="a b"}} {tokens}
vllm:iteration_tokens_total_count{{engine="0",model_name="a b"}} {steps}
vllm:num_requests_running{{engine="1",model_name="a b"}} 2.0
vllm:generation_tokens_total{{engine="1",model_name="a b"}} {others}
"""


class Engine(http.server.ThreadingHTTPServer):
    """Its metrics; ``hears``: whether it answers /metrics, ``computes``: whether it answers requests."""

    daemon_threads = True
    hears, computes, values, asked = True, False, {}, 0
    released = None

    def page(self):
        """The metrics; the second engine behind the port always computes."""
        Engine.asked += 1
        values = {"running": 1.0, "tokens": 7.0, "steps": 3.0, "others": Engine.asked}
        return PAGE.format(**{**values, **Engine.values})


class Handler(http.server.BaseHTTPRequestHandler):
    """A hung engine accepts the connection and says nothing."""

    def log_message(self, *args):
        """Nothing."""

    def do_GET(self):
        """Metrics."""
        self.say(self.server.page() if Engine.hears else None)

    def do_POST(self):
        """A completion."""
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers["Authorization"])
        self.say("{}" if Engine.computes else None)

    def say(self, text):
        """Answer, or wait until the test is over."""
        if text is None:
            self.server.released.wait(20)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())


@pytest.fixture
def engine():
    """A hung engine with requests."""
    Engine.hears, Engine.computes, Engine.values, Engine.asked = True, False, {}, 0
    server = Engine(("127.0.0.1", 0), Handler)
    server.released, server.bodies, server.keys = threading.Event(), [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def probe(engine, tmp_path, monkeypatch):
    """One probe at a time in seconds; its exit status."""
    monkeypatch.setattr(stalled, "TIMEOUT", 0.6)
    monkeypatch.setattr(stalled.signal, "alarm", lambda seconds: None)
    monkeypatch.setattr(stalled.signal, "signal", lambda *of: None)
    monkeypatch.setenv("POD_IP", "127.0.0.1")
    words = ["x", "--port", str(engine.server_address[1]), "--model", "a b", "--after", "600"]
    words += ["--running", "vllm:num_requests_running", "--state", str(tmp_path / "state.json")]
    words += ["--entry", str(tmp_path / "entry")]
    for name in ("prompt_tokens_total", "generation_tokens_total", "iteration_tokens_total_count"):
        words += ["--work", f"vllm:{name}"]
    monkeypatch.setattr(stalled.sys, "argv", words)

    def look(now):
        monkeypatch.setattr(stalled.time, "time", lambda: 1e9 + now)
        return stalled.main()

    return look


def looks(probe, *times):
    """The exit statuses at these times."""
    return [probe(now) for now in times]


def test_an_engine_that_computes_nothing_fails_after_the_time(probe, engine, capsys):
    assert looks(probe, *range(0, 600, 60)) == [0] * 10
    assert engine.bodies == [], "no request of the probe before the time"
    assert probe(600) == stalled.STALLED
    assert "1 requests run, and for 600 s no token or step was computed" in capsys.readouterr().out
    assert b'"model": "a b"' in engine.bodies[0]


@pytest.mark.parametrize("name", ["tokens", "steps"])
def test_a_token_or_a_step_begins_the_time_anew(probe, name):
    looks(probe, *range(0, 600, 60))
    Engine.values = {name: 8.0}
    assert looks(probe, *range(600, 1200, 60)) == [0] * 10
    assert probe(1200) == stalled.STALLED


def test_metrics_without_an_end_are_read_to_a_bound(probe, monkeypatch):
    monkeypatch.setattr(stalled, "MOST", 10)
    assert len(stalled.metrics("127.0.0.1", int(stalled.sys.argv[2]))) == 10


def test_an_engine_without_requests_lives(probe):
    Engine.values = {"running": 0.0}
    assert looks(probe, *range(0, 1500, 60)) == [0] * 25
    Engine.values = {}
    assert looks(probe, *range(1500, 2100, 60)) == [0] * 10


def test_a_busy_engine_that_does_not_answer_lives(probe):
    looks(probe, *range(0, 600, 60))
    Engine.hears = False
    assert looks(probe, 600, 660) == [0, 0]
    Engine.hears = True
    assert probe(690) == stalled.STALLED, "the counters are still the same"
    Engine.hears = False
    assert probe(1000) == 0
    Engine.hears = True
    assert probe(1200) == 0, "what ran in between is not known"


def test_an_idle_engine_whose_metrics_were_left_behind_lives(probe, engine, monkeypatch):
    """All clients left at once, so its metrics still have a request (vLLM issue 22545)."""
    Engine.computes = True
    monkeypatch.setenv("VLLM_API_KEY", "key")
    assert looks(probe, *range(0, 1500, 60)) == [0] * 25
    assert set(engine.keys) == {"Bearer key"}


def test_what_is_not_known_ends_no_engine(probe, tmp_path, monkeypatch):
    looks(probe, *range(0, 600, 60))
    monkeypatch.setattr(Engine, "page", lambda self: "vllm:num_requests_running 1.0\nother 2\n")
    assert probe(600) == 0
    monkeypatch.setattr(Engine, "page", lambda self: "<html>")
    assert probe(630) == 0
    monkeypatch.undo()


def test_a_state_that_cannot_be_read_or_written_ends_no_engine(probe, tmp_path):
    looks(probe, *range(0, 600, 60))
    (tmp_path / "state.json").write_text("[")
    assert probe(600) == 0
    (tmp_path / "state.json").unlink()
    (tmp_path / "state.json").mkdir()
    assert looks(probe, 660, 1300) == [0, 0]


def command(container, folder, port):
    """The probe's command as the container has it, with the program in a folder; at once, and on this port."""
    words = list(container["livenessProbe"]["exec"]["command"])
    words[2] = words[2].replace("/workspace/probe", str(folder)).replace("--port 7200", f"--port {port}")
    words[2] = words[2].replace("--after 540", f"--after 0 --state {folder}/state.json --entry {folder}/entry")
    return words


def test_the_command_of_the_container_fails_only_by_the_programs_verdict(engine, tmp_path):
    planned = plan()
    box = roles(planned)["prefill"]["entryTemplate"]["spec"]["containers"][0]
    assert [box["livenessProbe"][key] for key in ("periodSeconds", "timeoutSeconds", "failureThreshold")] == [30, 30, 3]
    data = {key: text for item in objects(planned, "ConfigMap") for key, text in item["data"].items()}
    program = data["stalled.py"].replace("TIMEOUT = 10.0", "TIMEOUT = 1.5")
    mounted = {mount["mountPath"] for mount in box["volumeMounts"]}
    assert "/workspace/probe" in mounted
    (tmp_path / "stalled.py").write_text(program)
    words = command(box, tmp_path, engine.server_address[1])
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "POD_IP": "127.0.0.1"}
    found = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 1, found.stderr
    assert "no token or step was computed" in found.stdout
    Engine.computes = True
    assert subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0
    without = {**environment, "PATH": str(tmp_path)}
    assert subprocess.run(words, env=without, capture_output=True, check=False).returncode == 0, (
        "an image without python3"
    )


def test_the_probe_can_be_left_out_or_replaced():
    box = roles(plan(kubernetes__stalled_after=0))["prefill"]["entryTemplate"]["spec"]["containers"][0]
    assert "livenessProbe" not in box
    settings = {"decode": {"container": {"livenessProbe": None}}}
    box = roles(plan(kubernetes__pods=settings))["decode"]["entryTemplate"]["spec"]["containers"][0]
    assert "livenessProbe" not in box


@pytest.fixture
def leaving(engine, monkeypatch, tmp_path):
    """What the node runs before it ends an engine; returns the seconds that passed."""
    passed, words = [0.0], ["x", "--port", str(engine.server_address[1]), "--model", "a", "--after", "1"]
    words += ["--running", "vllm:num_requests_running", "--work", "vllm:generation_tokens_total"]
    words += ["--leave", "300", "--entry", str(tmp_path / "entry"), "--pending", "vllm:num_requests_waiting"]
    monkeypatch.setattr(stalled, "TIMEOUT", 0.6)
    monkeypatch.setattr(stalled.sys, "argv", words)
    monkeypatch.setattr(stalled.time, "monotonic", lambda: passed[0])
    monkeypatch.setattr(stalled.time, "sleep", lambda seconds: passed.__setitem__(0, passed[0] + seconds))
    monkeypatch.setenv("POD_IP", "127.0.0.1")

    def run(page):
        monkeypatch.setattr(Engine, "page", lambda self: page(passed[0]))
        passed[0] = 0.0
        assert stalled.main() == 0
        return passed[0]

    return run


def left(running, waiting, tokens):
    """A page of metrics."""
    values = {"num_requests_running": running, "num_requests_waiting": waiting, "generation_tokens_total": tokens}
    return "".join(f'vllm:{name}{{engine="0"}} {values[name]}\n' for name in values)


def test_an_engine_ends_after_its_last_request(leaving):
    assert leaving(lambda now: left(0, 0, 5)) == 2
    assert leaving(lambda now: left(int(now < 90), int(now < 120), now)) == 122
    assert leaving(lambda now: left(1, 0, now)) == 300, "the node's time is over then"
    assert leaving(lambda now: left(0 if now in (3, 5) else 1, 0, now)) == 300, "a request came in between"


def test_an_engine_that_hangs_is_not_waited_for(leaving, monkeypatch):
    assert leaving(lambda now: left(1, 2, 5)) == stalled.QUIET
    assert leaving(lambda now: "other 1\n") == stalled.QUIET, "it does not tell what is left"
    monkeypatch.setattr(stalled, "POLL", stalled.QUIET / 2)
    Engine.hears = False
    assert leaving(lambda now: "") == stalled.QUIET


def test_a_worker_asks_the_pod_with_the_api(leaving, tmp_path):
    (tmp_path / "entry").write_text("127.0.0.2\n")
    assert leaving(lambda now: left(1, 0, now)) == 0, "nothing listens at the entry's address: it has ended"


def test_workers_of_an_instance_have_no_probe():
    """They have no API; the controller starts all pods of an instance again when one of them ends."""
    pools = {"prefill": {"data_parallel_size": 4, "tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 4}}
    role = roles(plan(pools=pools))["prefill"]
    assert "livenessProbe" in role["entryTemplate"]["spec"]["containers"][0]
    assert "livenessProbe" not in role["workerTemplate"]["spec"]["containers"][0]
