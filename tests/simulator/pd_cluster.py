# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A SIMULATOR of a prefill/decode cluster for tests: nothing here computes a language model.

It implements everything that a verification observes: each prompt token has a KV value that depends on all previous tokens
and on the weights; decode computes its text from its KV, so lost or changed KV results in another text; KV is
transferred by HTTP from the prefill in kv_transfer_params, and only once; prefix caches, the store, /metrics,
/tokenize and log lines follow vLLM's and Mooncake's. Each of `faults` breaks one function.

Engine faults: dead, unhealthy, wrong_name, other_weights, recompute, garbage_kv, hang_pull, hang, no_kv_params,
               failed_pull_flag, no_transfer_line, no_pool_put, no_pool_get, pool_garbage, no_source_metrics,
               no_external_metrics, no_metrics, truncate, fails_completions, one_listener; fine_tune (other answers to free texts only),
               quantised (other probabilities only), noise (decides near ties differently), last_block (the last KV block is wrong),
               drops_tenth (every tenth transfer is silently recomputed), fails_tenth, no_chat_template, no_logprobs, ignores_rank, no_registry.
               recomputes_long (prompts of more than 100 tokens), resets (the counters start again at their fifth reading).
               `rank1:garbage_kv` breaks one data-parallel rank only.
Router faults: two_prefills, skips_prefill, drops_params, empty_200, swallows_errors, no_done, cut_stream, rewrites,
               strangers, dead, no_finish, no_chat, rewrites_chat, cuts_long, busy_once, wrong_usage (one prompt token), no_usage,
               one_decode (of several), joins (the last event of a stream and [DONE], as upstream's proxies may).
Frontend faults: open, open_chat (the chat API needs no key), key_begins (any key that begins with the right one), forwards_all, dead.
Master faults: standby, no_clients, dead, no_gets.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
import urllib.error
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = ["ka", "lo", "mi", "nu", "pe", "ra", "si", "to", "vu", "we", "xa", "yo", "za", "bi", "co", "du"]


class Server:
    """One HTTP server in a thread; subclasses return (status, body) or a list of stream chunks from `get` and `post`."""

    address = ("127.0.0.1", 0)  # a subclass may use another address
    tls = None  # an ssl.SSLContext of a server

    def __init__(self, name, faults=()):
        self.name = name
        self.faults = set(faults)
        self.stopping = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *unused):
                pass

            def do_GET(self):
                self._send(*owner.get_as(self.path, self.headers))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(*owner.post(self.path, body, self.headers))

            def _send(self, status, body, kind="application/json"):
                if status == 0:  # close without a response
                    self.close_connection = True
                    return
                data = body if isinstance(body, bytes) else body.encode()
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *unused):
                pass

        self.server = Quiet(self.address, Handler)
        if self.tls:
            self.server.socket = self.tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{'https' if self.tls else 'http'}://{self.address[0]}:{self.server.server_port}"
        if "dead" in self.faults:
            self.server.server_close()
        else:
            threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def get_as(self, path, headers):
        """GET with headers, for servers that look at them."""
        return self.get(path)

    def stop(self):
        self.stopping.set()
        if "dead" not in self.faults:
            self.server.shutdown()
            self.server.server_close()

    def hang(self):
        self.stopping.wait(120)
        return 0, ""


def call(url, path, body=None, headers=None):
    """(status, text) of another simulated server."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, dict({"Content-Type": "application/json"}, **(headers or {})))
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def digest(*parts):
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()[:16]


class Engine(Server):
    def __init__(self, name, role, cluster, faults=()):
        self.role = role
        self.cluster = cluster
        self.lock = threading.Lock()
        self.cache = {}  # (rank, chain hash of a block) -> KV values of its tokens
        self.running = [0] * cluster.data_parallel
        self.finished = [0] * cluster.data_parallel
        self.pulls = 0
        self.held = {}  # request id -> KV that decode has not fetched yet
        self.count = dict.fromkeys(
            ("local_compute", "local_cache_hit", "external_kv_transfer", "prompt", "success", "promised", "ttft"), 0
        )
        self.log_path = os.path.join(cluster.directory, name + ".log")
        self.weights = "other" if "other_weights" in faults else "weights"
        super().__init__(name, faults)
        self.log("Creating v1 connector with name: SimulatedConnector and engine_id: " + name)
        for rank in range(cluster.ranks):
            if role == "prefill" and not ("one_listener" in faults and rank):
                self.log(f"KVCacheSendingThread started listening on path: tcp://127.0.0.1:{36000 + rank}")

    def log(self, line, level="INFO"):
        with open(self.log_path, "a") as stream:
            stream.write(time.strftime(f"{level} %m-%d %H:%M:%S [simulator] ") + line + "\n")

    def get(self, path):
        if path == "/health":
            return (503, "") if "unhealthy" in self.faults else (200, "")
        if path == "/v1/models":
            name = "stranger" if "wrong_name" in self.faults else self.cluster.model
            return 200, json.dumps(
                {"object": "list", "data": [{"id": name, "max_model_len": self.cluster.max_model_len}]}
            )
        if path == "/metrics" and "resets" in self.faults:
            self.readings = getattr(self, "readings", 0) + 1
            if self.readings == 5:
                self.count, self.finished = dict.fromkeys(self.count, 0), [0] * len(self.finished)
        if path == "/metrics":
            return (404, "") if "no_metrics" in self.faults else (200, self.metrics(), "text/plain; version=0.0.4")
        if path.startswith("/kv/"):
            with self.lock:
                kv = self.held.pop(path[4:], None)
            return (200, json.dumps(kv)) if kv else (404, "")
        if path == "/query" and "no_registry" not in self.faults:
            ranks = range(self.cluster.data_parallel)
            return 200, json.dumps({str(rank): {"engine_id": f"{self.name}-{rank}"} for rank in ranks})
        return 404, ""

    def has(self, fault, rank):
        return fault in self.faults or f"rank{rank}:{fault}" in self.faults

    def metrics(self):
        labels = f'engine="0",model_name="{self.cluster.model}"'
        lines = ["# HELP vllm:prompt_tokens_total Number of prefill tokens processed."]

        def counter(name, value, more=""):
            lines.append(f"vllm:{name}{{{labels}{more}}} {value:.1f}")

        for rank, number in enumerate(self.running):
            row = f'engine="{rank}",model_name="{self.cluster.model}"'
            lines += [f"vllm:num_requests_running{{{row}}} {number}", f"vllm:num_requests_waiting{{{row}}} 0"]
        counter("prompt_tokens_total", self.count["prompt"])
        for rank, number in enumerate(self.finished):
            row = f'engine="{rank}",model_name="{self.cluster.model}",finished_reason="length"'
            lines.append(f"vllm:request_success_total{{{row}}} {number:.1f}")
        counter("request_success_total", 0, ',finished_reason="abort"')
        counter("time_to_first_token_seconds_sum", self.count["ttft"])
        counter("time_to_first_token_seconds_count", self.count["success"])
        if "no_source_metrics" not in self.faults:
            for source in ("local_compute", "local_cache_hit", "external_kv_transfer"):
                counter("prompt_tokens_by_source_total", self.count[source], f',source="{source}"')
        if "no_external_metrics" not in self.faults:
            counter("external_prefix_cache_hits_total", self.count["promised"])
        return "\n".join(lines) + "\n"

    def post(self, path, body, headers):
        if self.cluster.api_key and headers.get("Authorization") != "Bearer " + self.cluster.api_key:
            return 401, json.dumps({"error": "Unauthorized: " + str(headers.get("Authorization"))})
        if path == "/tokenize":
            tokens = body["prompt"].split()
            if not self.cluster.tokenize:
                return 404, ""
            return 200, json.dumps({"count": len(tokens), "max_model_len": self.cluster.max_model_len})
        if path not in ("/v1/completions", "/v1/chat/completions"):
            return 404, ""
        if body.get("model", self.cluster.model) != self.cluster.model:
            message = f"The model `{body['model']}` does not exist."
            return 404, json.dumps({"error": {"message": message, "type": "NotFoundError", "code": 404}})
        if "hang" in self.faults:
            return self.hang()
        if "fails_completions" in self.faults:
            return 500, json.dumps({"error": "EngineCore died"})
        chat = path != "/v1/completions"
        if chat and "no_chat_template" in self.faults:
            return 400, json.dumps({"error": {"message": "the tokenizer has no chat template"}})
        if chat:
            body = dict(body, prompt="<user> " + body["messages"][0]["content"] + " <assistant>")
        rank = self.rank_of(headers.get("X-data-parallel-rank"))
        try:
            return self.complete(body, headers.get("X-Request-Id") or uuid.uuid4().hex, rank, chat)
        finally:
            with self.lock:
                self.running[rank] -= 1

    def rank_of(self, named):
        """The rank that serves a request: the named one, else the least busy one; of equally busy ones always the first, as in vLLM."""
        with self.lock:
            known = self.cluster.rank_header and "ignores_rank" not in self.faults
            rank = int(named) if named and known else self.running.index(min(self.running))
            self.running[rank] += 1
        return rank

    def complete(self, body, request_id, rank=0, chat=False):
        tokens = body["prompt"].split()
        if len(tokens) + body["max_tokens"] > self.cluster.max_model_len:
            if "truncate" not in self.faults:
                return 400, json.dumps({"error": {"message": "maximum context length exceeded", "code": 400}})
            tokens = tokens[: self.cluster.max_model_len - body["max_tokens"]]
        started = time.monotonic()
        params = body.get("kv_transfer_params") or {}
        if params.get("do_remote_prefill") and "hang_pull" in self.faults:
            return self.hang()
        if params.get("metaserver"):
            params = self.pushed(params, request_id)
            if not params:
                return self.hang()  # as the real one, which waits for ever
        kv, sources = self.kv_of(tokens, body.get("cache_salt", ""), params, rank)
        if kv is None:
            return 500, json.dumps({"error": "KV load failed"})
        generated = self.tokens_of(kv, body["max_tokens"], "The code again" not in body["prompt"])
        with self.lock:
            for source, number in sources.items():
                self.count[source] += number
            self.count["promised"] += sources["external_kv_transfer"]
            self.count["prompt"] += len(tokens)
            self.count["success"] += 1
            self.finished[rank] += 1
            self.count["ttft"] += time.monotonic() - started
        text = "".join(word for word, _logprob, _top in generated)
        answer = {
            "id": ("chatcmpl-" if chat else "cmpl-") + request_id,
            "object": "chat.completion" if chat else "text_completion",
            "choices": [{"index": 0, "finish_reason": "length"}],
            "usage": {"prompt_tokens": len(tokens), "completion_tokens": body["max_tokens"]},
        }
        answer["choices"][0].update({"message": {"role": "assistant", "content": text}} if chat else {"text": text})
        if body.get("logprobs") and "no_logprobs" not in self.faults:
            words, logprobs, tops = zip(*generated)
            answer["choices"][0]["logprobs"] = {"tokens": words, "token_logprobs": logprobs, "top_logprobs": tops}
            if chat:
                rows = [[{"token": word, "logprob": value} for word, value in top.items()] for top in tops]
                content = [
                    {"token": generated[n][0], "logprob": generated[n][1], "top_logprobs": row}
                    for n, row in enumerate(rows)
                ]
                answer["choices"][0]["logprobs"] = {"content": content}
        if params.get("do_remote_decode") and "no_kv_params" not in self.faults:
            held = self.hold(params.get("transfer_id") or request_id, kv)
            if not params.get("transfer_id"):  # vLLM's own connector answers no parameters
                answer["kv_transfer_params"] = held
        return (
            (200, stream_of(answer, text, body.get("stream_options")), "text/event-stream; charset=utf-8")
            if body.get("stream")
            else (200, json.dumps(answer))
        )

    def pushed(self, params, request_id):
        """Layerwise: ask the metaserver for KV, and return where the prefill that was asked holds it (here it is fetched, not pushed); {} if nobody."""
        message = {"request_id": f"cmpl-{request_id}-0", "do_remote_decode": True, "do_remote_prefill": False}
        if "no_callback" not in self.faults:
            call(params["metaserver"], "", {**message, "remote_host": self.address[0], "remote_port": 1})
        for engine in self.cluster.role("prefill"):
            if request_id in engine.held:
                place = {"remote_host": engine.address[0], "remote_port": engine.server.server_port}
                return {"do_remote_prefill": True, "remote_request_id": request_id, **place}
        return {}

    def hold(self, request_id, kv):
        with self.lock:
            self.held[request_id] = kv
        blocks = -(-len(kv) // self.cluster.block_size)
        self.log(f"Delaying free of {blocks} blocks for request cmpl-{request_id}-0")
        return {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_engine_id": self.name,
            "remote_request_id": request_id,
            "remote_block_ids": list(range(blocks)),
            "remote_host": self.address[0],
            "remote_port": self.server.server_port,
        }

    def kv_of(self, tokens, salt, params, rank=0):
        """(KV per token, tokens by source); local cache first, then KV of prefill or the store, then computed."""
        size = self.cluster.block_size
        full = (len(tokens) - 1) // size
        hashes = [digest(salt, *tokens[: (number + 1) * size]) for number in range(full)]
        kv = []
        for hashe in hashes:
            if (rank, hashe) not in self.cache:
                break
            kv += self.cache[rank, hashe]
        sources = {"local_cache_hit": len(kv), "external_kv_transfer": 0}
        recomputed = self.has("recompute", rank) or ("recomputes_long" in self.faults and len(tokens) > 100)
        if params.get("do_remote_prefill") and not recomputed and not self.dropped("drops_tenth"):
            got = self.pull(params, rank)
            if got is None:
                return None, {}
            sources["external_kv_transfer"] = len(got) - len(kv)
            kv = kv + got[len(kv) :]
        elif self.cluster.store is not None:
            got = self.pool_get(hashes[len(kv) // size :])
            sources["external_kv_transfer"] = len(got)
            kv = kv + got
        sources["local_compute"] = len(tokens) - len(kv)
        kv = kv + [digest(self.weights, *tokens[: number + 1]) for number in range(len(kv), len(tokens))]
        for number, hashe in enumerate(hashes):
            self.cache[rank, hashe] = kv[number * size : (number + 1) * size]
        if self.cluster.store is not None and "no_pool_put" not in self.faults:
            self.cluster.master.put({hashe: self.cache[rank, hashe] for hashe in hashes})
        return kv, sources

    def dropped(self, fault):
        """Whether this transfer is a tenth one, if the fault is planted."""
        if fault not in self.faults:
            return False
        with self.lock:
            self.pulls += 1
            return self.pulls % 10 == 0

    def pull(self, params, rank=0):
        if self.dropped("fails_tenth"):
            return None
        address = params.get("remote_bootstrap_addr") or "http://{remote_host}:{remote_port}".format(**params)
        request_id = params.get("transfer_id") or params["remote_request_id"]
        status, text = call(address, "/kv/" + request_id)
        if "failed_pull_flag" in self.faults:
            self.log("Mooncake transfer failed, ret: -1", "ERROR")
        if status != 200 or self.has("fails_pull", rank):
            return None
        if "no_transfer_line" not in self.faults:
            line = "KV cache transfer for request {0} took 1.25 ms. local_ip 127.0.0.1"
            for dummy in range(getattr(self.cluster, "tensor_parallel", 1)):  # each rank logs its part
                self.log(line.format(request_id))
        kv = json.loads(text)
        if "last_block" in self.faults:
            start = (len(kv) - 1) // self.cluster.block_size * self.cluster.block_size
            kv = kv[:start] + [value[::-1] for value in kv[start:]]
        return [value[::-1] for value in kv] if self.has("garbage_kv", rank) else kv

    def pool_get(self, hashes):
        if "no_pool_get" in self.faults:
            return []
        got = self.cluster.master.get_values(hashes)
        return [value[::-1] for value in got] if "pool_garbage" in self.faults else got

    def text_of(self, kv, number):
        return "".join(word for word, _logprob, _top in self.tokens_of(kv, number))

    def tokens_of(self, kv, number, free=False):
        """(text, log-probability, the two most probable texts) of each token. Every fifth position or so is a near tie."""
        weights = "tuned" if free and "fine_tune" in self.faults else self.weights
        state, tokens = digest(weights, *kv), []
        for _unused in range(number):
            value = int(digest(state, *(word for word, _logprob, _top in tokens)), 16)
            first, second = (" " + WORDS[(value // 16 + shift) % len(WORDS)] for shift in (0, 1 + value % 7))
            tie = free and value % 5 == 0
            shift = 0.3 if "quantised" in self.faults else 0.0
            top = {first: -0.7 - shift, second: (-0.71 if tie else -3.0) - shift}
            chosen = second if tie and "noise" in self.faults else first
            tokens.append((chosen, top[chosen], top))
        return tokens


def stream_of(answer, text, options=None):
    """As vLLM, with the usage in a last event only if the client asks for it."""
    words = [" " + word for word in text.split()]
    events = []
    for number, word in enumerate(words):
        last = number == len(words) - 1
        choice = {"index": 0, "finish_reason": "length" if last else None}
        choice.update({"delta": {"content": word}} if "message" in answer["choices"][0] else {"text": word})
        events.append({"id": answer["id"], "object": answer["object"], "choices": [choice]})
    if (options or {}).get("include_usage"):
        events.append({"id": answer["id"], "choices": [], "usage": answer["usage"]})
    return "".join("data: " + json.dumps(event) + "\n\n" for event in events) + "data: [DONE]\n\n"


class Master(Server):
    def __init__(self, name, cluster, faults=()):
        self.cluster = cluster
        self.values = {}
        self.gets = 0
        self.lock = threading.Lock()
        super().__init__(name, faults)

    def put(self, values):
        with self.lock:
            self.values.update(values)

    def get_values(self, hashes):
        got = []
        with self.lock:
            for hashe in hashes:
                if hashe not in self.values:
                    break
                got += self.values[hashe]
                self.gets += 1
        return got

    def get(self, path):
        if path == "/health":
            return 200, json.dumps({"role": "leader", "service_ready": "standby" not in self.faults})
        if path != "/metrics":
            return 404, ""
        clients = 0 if "no_clients" in self.faults else len(self.cluster.engines)
        lines = [
            f"master_active_clients {clients}",
            f"master_total_capacity_bytes {clients * 1024}",
            f"master_key_count {len(self.values)}",
            "valid_get_nums_ {}".format(0 if "no_gets" in self.faults else self.gets),
        ]
        return 200, "\n".join(lines) + "\n", "text/plain"


class Router(Server):
    """Prefill first, then decode with the response of prefill; round robin. Errors are returned to the client unless a fault hides them."""

    def __init__(self, name, cluster, faults=()):
        self.cluster = cluster
        self.turn = -1
        super().__init__(name, faults)

    def get(self, path):
        return (200, "{}") if path == "/health" else (404, "")

    def post(self, path, body, headers):
        if self.cluster.entry_key and headers.get("Authorization") != "Bearer " + self.cluster.entry_key:
            return 401, "{}"
        if "empty_200" in self.faults:
            return 200, ""
        if "busy_once" in self.faults:
            self.faults.remove("busy_once")
            return 429, "{}"
        if "messages" in body and "no_chat" in self.faults:
            return 404, ""
        if "messages" in body and "rewrites_chat" in self.faults:
            body = dict(
                body, messages=[{"role": "user", "content": "You are helpful . " + body["messages"][0]["content"]}]
            )
        if "prompt" in body and "rewrites" in self.faults:
            body = dict(body, prompt="You are helpful . " + body["prompt"])
        if "cuts_long" in self.faults and len(body.get("prompt", "").split()) > 100:
            body = dict(body, prompt=" ".join(body["prompt"].split()[:100]))
        status, text = self.route(path, body)
        if status != 200:
            return (200, "") if "swallows_errors" in self.faults else (status or 502, text)
        text = text.replace('"length"', "null") if "no_finish" in self.faults else text
        if "wrong_usage" in self.faults:
            text = re.sub(r'"prompt_tokens": \d+', '"prompt_tokens": 1', text)
        if "no_usage" in self.faults:
            text = re.sub(r'"prompt_tokens": \d+, ', "", text)
        if not body.get("stream"):
            return 200, text
        if "no_done" in self.faults:
            text = text.replace("data: [DONE]\n\n", "")
        if "joins" in self.faults:
            text = text.replace("\n\ndata: [DONE]", "data: [DONE]")
        if "cut_stream" in self.faults:
            text = text[: len(text) // 2]
        return 200, text, "text/event-stream"

    def route(self, path, body):
        self.turn += 1
        headers = {"X-Request-Id": uuid.uuid4().hex}
        if self.cluster.api_key:
            headers["Authorization"] = "Bearer " + self.cluster.api_key
        firsts, seconds = self.cluster.role("prefill"), self.cluster.role("decode")
        if "strangers" in self.faults:
            firsts, seconds = self.cluster.strangers[:1], self.cluster.strangers[1:]
        if not firsts:
            engines = self.cluster.role("colocated") or seconds
            return call(engines[self.turn % len(engines)].url, path, body, headers)
        if "two_prefills" in self.faults:
            seconds = firsts[::-1]
        if "one_decode" in self.faults:
            seconds = seconds[:1]
        first, second = firsts[self.turn % len(firsts)], seconds[self.turn // len(firsts) % len(seconds)]
        if "skips_prefill" not in self.faults:
            asked = {"do_remote_decode": True, "do_remote_prefill": False}
            if self.cluster.bootstrap:
                asked["transfer_id"] = headers["X-Request-Id"]
            half = dict(body, max_tokens=1, stream=False, kv_transfer_params=asked)
            status, text = call(first.url, path, half, headers)
            if status != 200:
                return status, text
            if "drops_params" not in self.faults:
                params = json.loads(text).get("kv_transfer_params")
                if self.cluster.bootstrap:
                    params = dict(asked, do_remote_prefill=True, do_remote_decode=False)
                    params.update(remote_engine_id=first.name + "-0", remote_bootstrap_addr=first.url)
                body = dict(body, kv_transfer_params=params)
        return call(second.url, path, body, headers)


class Front(Server):
    """A frontend with keys, a list of paths, and TLS if it has a context. It is the clients' entry in front of the router."""

    paths = ("/v1/models", "/v1/completions", "/v1/chat/completions")

    def __init__(self, name, cluster, faults=()):
        self.cluster, self.tls = cluster, cluster.tls
        super().__init__(name, faults)

    def refusal(self, path, headers):
        if path not in self.paths and "forwards_all" not in self.faults:
            return 404
        given, wanted = headers.get("Authorization") or "", "Bearer " + self.cluster.front_key
        right = not self.cluster.front_key or given == wanted
        right = right or ("key_begins" in self.faults and given.startswith(wanted))
        right = right or ("open_chat" in self.faults and path.endswith("/chat/completions"))
        return 0 if right or "open" in self.faults else 401

    def get_as(self, path, headers):
        refused = self.refusal(path, headers)
        return (refused, "{}") if refused else (200, json.dumps({"object": "list", "data": []}))

    def post(self, path, body, headers):
        refused = self.refusal(path, headers)
        if refused:
            return refused, "{}"
        status, text = call(self.cluster.router.url, path, body, {})
        return (status, text, "text/event-stream") if body.get("stream") else (status or 502, text)


class Cluster:
    """with Cluster(directory, prefill=2, decode=1, faults={"decode-0": {"recompute"}}) as cluster: verify(cluster.plan())"""

    model = "tiny"

    def __init__(self, directory, prefill=0, decode=0, colocated=0, pool=False, faults=None, **settings):
        self.directory = str(directory)
        self.block_size = settings.pop("block_size", 8)
        self.max_model_len = settings.pop("max_model_len", 200)
        self.ranks = settings.pop("ranks", 1)
        self.api_key = settings.pop("api_key", "")
        self.entry_key = settings.pop("entry_key", "")
        self.tokenize = settings.pop("tokenize", True)
        self.data_parallel = settings.pop("data_parallel", 1)
        self.rank_header = settings.pop("rank_header", True)
        self.bootstrap = settings.pop("bootstrap", False)
        self.front_key = settings.pop("front_key", "")
        self.tls = settings.pop("tls", None)
        routers = settings.pop("routers", 1)
        fronted = settings.pop("front", bool(self.front_key or self.tls or routers > 1))
        assert not settings, settings
        faults = dict(faults or {})
        self.store = True if pool else None
        self.engines = []
        self.master = Master("mooncake_master-0", self, faults.pop("mooncake_master-0", ())) if pool else None
        for role, number in (("prefill", prefill), ("decode", decode), ("colocated", colocated)):
            for index in range(number):
                name = f"{role}-{index}"
                self.engines.append(Engine(name, role, self, faults.pop(name, ())))
        names = [f"router-{index}" for index in range(routers)]
        self.routers = [Router(name, self, faults.pop(name, ())) for name in names]
        self.router = self.routers[0]  # the only one that the frontend uses
        self.front = Front("frontend", self, faults.pop("frontend", ())) if fronted else None
        self.strangers = []
        if "strangers" in self.router.faults:
            self.strangers = [Engine("stranger-" + role, role, self) for role in ("prefill", "decode")]
        assert not faults, f"no such service: {faults}"

    def role(self, role):
        return [engine for engine in self.engines if engine.role == role]

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for server in self.engines + self.strangers + self.routers + [s for s in (self.front, self.master) if s]:
            server.stop()

    def plan(self, **changes):
        """The `verify` section of this cluster's plan."""
        engines = {
            role: [self._engine(engine) for engine in self.role(role)] for role in ("prefill", "decode", "colocated")
        }
        split = bool(self.role("decode"))
        plan = {
            "mode": ("disaggregated+pool" if self.store else "disaggregated")
            if split
            else "pool"
            if self.store
            else "colocated",
            "model": self.model,
            "entry": {"name": "router-0", "host": "node1", "url": self.router.url, "kind": "load_balance"},
            "store": None,
            "transfer": {
                "protocol": ("bootstrap" if self.bootstrap else "prefill_answers") if split else "none",
                "listeners_per_prefill": self.ranks if split else 0,
                "lines_per_request": 1,
            },
            "release": {
                "name": "simulated",
                "has_prompt_tokens_by_source": True,
                "lines": {
                    "transferred": "" if self.bootstrap else "KV cache transfer for request ",
                    "delayed": "Delaying free of ",
                    "listening": "started listening on path: tcp://",
                },
                "known_limits": [],
                "has_rank_header": self.rank_header,
            },
            "block_size": self.block_size,
            "min_prompt_tokens": 0,
            "max_tokens": 8,
            "chunk_tokens": 64,
        }
        if self.front:
            plan["routers"] = [{"name": router.name, "host": "node1", "url": router.url} for router in self.routers]
            plan["entry"] = {"name": "frontend", "host": "node1", "url": self.front.url, "kind": "frontend"}
            plan["entry"]["refused_paths"] = ["/instances/add", "/metrics"]
            if self.front_key:
                plan["entry"]["api_key"] = "client_keys"
        if self.store:
            number = len(self.engines)
            store = {"name": "mooncake_master-0", "host": "node1", "master_url": self.master.url}
            plan["store"] = dict(store, clients=number, capacity_bytes=1024 * number)
        plan.update(engines)
        plan.update(changes)
        return plan

    def _engine(self, engine):
        log = {"kind": "file", "path": engine.log_path}
        found = {"name": engine.name, "host": "node1", "url": engine.url, "log": log, "ranks": self.data_parallel}
        return dict(found, bootstrap=engine.url) if self.bootstrap and engine.role == "prefill" else found
