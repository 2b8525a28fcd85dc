# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole module with a program that writes a result, an engine and a router whose counters grow with each reading."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
import types

import pytest
from ansible_collections.ascend.inference.plugins.modules import service_bench

MODULE = "ansible_collections.ascend.inference.plugins.modules.service_bench"
RESULT = {"completed": 2, "failed": 0, "output_lens": [4, 0], "errors": ["", ""]}
PROGRAM = f"""
import json, sys
folder, name = (sys.argv[sys.argv.index(option) + 1] for option in ("--result-dir", "--result-filename"))
json.dump({RESULT!r}, open(folder + "/" + name, "w"))
"""


@pytest.fixture
def metrics():
    """The URL of a page with counters of an engine and of a router, which are higher each time; and the headers of requests."""
    asked = []

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers.get("Authorization"))
            names = ("vllm:prompt_tokens_total", "vllm_router_retries_total")
            body = "".join(f"{name} {10 * len(asked)}\n" for name in names).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *unused):
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


def test_counters_of_engines_and_of_others_are_read_before_and_after(tmp_path, metrics):
    url, asked = metrics
    arguments = {
        "deployment": str(tmp_path),
        "directory": str(tmp_path),
        "argv": [sys.executable, "-c", PROGRAM],
        "engines": [{"name": "decode-0", "url": url}],
        "others": [
            {"name": "router", "kind": "router", "url": url},
            {"name": "store", "kind": "store", "url": "http://127.0.0.1:9"},
        ],
        "engine_api_key": "secret",
        "output_tokens": 4,
    }
    done = subprocess.run(
        [sys.executable, "-m", MODULE],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert (found["figures"]["completed"], found["figures"]["empty"]) == (2, 1)
    assert found["engines"] == {"decode-0": {"prompt_tokens": 20.0}}
    assert found["others"] == {"router": {"retries": 20.0}, "store": None}
    assert asked == ["Bearer secret", None, "Bearer secret", None], "keys belong to engines"


@pytest.mark.parametrize("check", [False, True])
def test_a_trace_that_is_too_long_is_refused_before_anything_is_sent(tmp_path, check):
    trace = tmp_path / "trace.jsonl"
    trace.write_text('{"timestamp": 0, "input_length": 600, "output_length": 9, "hash_ids": [1, 2]}\n')
    arguments = {
        "deployment": str(tmp_path),
        "directory": str(tmp_path),
        "argv": ["false"],
        "trace": str(trace),
        "most_tokens": 608,
        "_ansible_check_mode": check,
    }
    done = subprocess.run(
        [sys.executable, "-m", MODULE],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert found["failed"] and "1 of 1 requests" in found["msg"] and "larger max-model-len" in found["msg"]


AISBENCH = """
import json, sys
config = json.load(open(sys.argv[1]))
print(len(open(config["datasets"][0]["path"]).read().splitlines()), "prompts")
"""
VOCABULARY = {"model": {"vocab": {f"\u0120{one}{two}": 0 for one in "abcdefghij" for two in "klmnopqrst"}}}


def test_aisbench_gets_as_many_prompts_as_replace_a_cache(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(VOCABULARY))
    prompts = {"model": str(tmp_path), "count": 3, "tokens": 5, "prefix": 0, "prefixes": 1, "seed": 1}
    for evict, count in (("", 3), ("d1", 7)):
        arguments = {
            "deployment": str(tmp_path),
            "directory": str(tmp_path),
            "argv": [sys.executable, "-c", AISBENCH],
            "config": {"models": [{}], "datasets": [{}], "prompts": prompts},
            "engines": [{"name": "d1", "url": "http://127.0.0.1:1"}],
            "evict": evict,
            "prompt_tokens": 5,
        }
        program = f"from {MODULE.rpartition('.')[0]} import service_bench as m; m.prompts_that_evict = lambda *given: 7; m.main()"
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"{count} prompts" in json.loads(done.stdout)["msg"], done.stderr


class Failed(Exception):
    pass


@pytest.mark.parametrize(
    ("evict", "tokens", "asked"), [("d1", 1, "d1"), ("d0", 512, "d0"), ("d1", 0, ""), ("d2", 512, "")]
)
def test_the_cache_of_a_named_engine_is_evicted_by_prompts_of_a_length(monkeypatch, evict, tokens, asked):
    def fail_json(msg):
        raise Failed(msg)

    params = {
        "evict": evict,
        "prompt_tokens": tokens,
        "engines": [{"name": "d0"}, {"name": "d1"}],
        "engine_api_key": "k",
    }
    monkeypatch.setattr(service_bench, "prompts_that_evict", lambda *given: given)
    module = types.SimpleNamespace(params=params, fail_json=fail_json)
    if asked:
        assert service_bench.eviction(module) == ({"name": asked}, tokens, "k")
    else:
        with pytest.raises(Failed, match="evict: name one of the engines"):
            service_bench.eviction(module)
