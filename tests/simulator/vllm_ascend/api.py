# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The OpenAI-compatible server in front of the engine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import uuid

from . import http, log
from .metrics import Metrics
from .model import token_id, tokenize

WHO = "APIServer"


class Refused(Exception):
    """A response with a status other than 200."""

    def __init__(self, status, message, kind="BadRequestError"):
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": None, "code": status}}


def prompt_of(body, chat):
    """(text, pieces) of a request."""
    if chat:
        text = ""
        for message in body.get("messages") or ():
            content = message.get("content") or ""
            if isinstance(content, list):
                content = "".join(part.get("text", "") for part in content)
            text += f"<|im_start|>{message.get('role')}\n{content}<|im_end|>\n"
        text += "<|im_start|>assistant\n"
        return text, tokenize(text)
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], (str, list)):
        prompt = prompt[0]
    if isinstance(prompt, list) and all(isinstance(token, int) for token in prompt):
        pieces = [f"<{token}>" for token in prompt]
        return "".join(pieces), pieces
    if not isinstance(prompt, str) or not prompt:
        raise Refused(400, "The simulator takes one prompt: a text or a list of token ids.")
    return prompt, tokenize(prompt)


class Api:
    """Routes of one API server."""

    def __init__(self, engine, args):
        self.engine, self.args = engine, args
        names = getattr(args, "served_model_name", None)
        self.names = [names] if isinstance(names, str) else names or [args.model]
        self.keys = getattr(args, "api_key", None) or []
        if os.environ.get("VLLM_API_KEY"):
            self.keys = [*self.keys, os.environ["VLLM_API_KEY"]]
        shape = engine.shape
        ranks = shape.ranks if shape.external else range(shape.data)
        self.metrics = Metrics(engine.release, self.names[0], list(ranks))
        self.limit = int(
            getattr(args, "max_model_len", None) or engine.model.effective.get("max_position_embeddings", 32768)
        )
        self.busy = 0
        self.stopping = False
        self.dead = ""

    async def serve(self, made):
        return await asyncio.start_server(self._connection, sock=made, limit=64 * 2**20)

    async def _connection(self, reader, writer):
        peer = writer.get_extra_info("peername") or ("?", 0)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
            while True:
                request = await http.read_request(reader)
                if request is None:
                    break
                status = await self._until_gone(reader, self._answer(request, writer))
                if status is None:
                    break
                if request.path not in ("/health", "/metrics") or status != 200:
                    phrase = http.REASONS.get(status, "")
                    line = (
                        f'INFO:     {peer[0]}:{peer[1]} - "{request.method} {request.path} HTTP/1.1" {status} {phrase}'
                    )
                    log.raw(f"({WHO} pid={os.getpid()}) {line}")
        writer.close()

    @staticmethod
    async def _until_gone(reader, work):
        """Result of the work; None, and the work is cancelled, if the client disconnects first."""
        task = asyncio.ensure_future(work)
        while True:
            done, _pending = await asyncio.wait({task}, timeout=0.5)
            if done:
                return task.result()
            if reader.at_eof():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                return None

    async def _answer(self, request, writer):
        try:
            status, data = await self._route(request, writer)
        except Refused as error:
            status, data = error.status, http.response(error.status, error.body)
        except (ValueError, KeyError, TypeError) as error:
            refused = Refused(400, f"{type(error).__name__}: {error}")
            status, data = 400, http.response(400, refused.body)
        if data:
            writer.write(data)
            await writer.drain()
        return status

    async def _route(self, request, writer):
        path = request.path
        bearers = {f"Bearer {key}" for key in self.keys}
        if path.startswith("/v1") and bearers and request.headers.get("authorization") not in bearers:
            return 401, http.response(401, {"error": "Unauthorized"})
        simple = {
            ("GET", "/health"): self._health,
            ("GET", "/ping"): self._health,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/version"): lambda: (200, http.response(200, {"version": self.engine.release.vllm})),
            ("GET", "/v1/models"): self._models,
            ("POST", "/reset_prefix_cache"): self._reset,
        }
        if (request.method, path) in simple:
            return simple[(request.method, path)]()
        if (request.method, path) == ("POST", "/tokenize"):
            return self._tokenize(request.json())
        if request.method == "POST" and path in ("/v1/completions", "/v1/chat/completions"):
            return await self._complete(request, writer, path.endswith("chat/completions"))
        return 404, http.response(404, {"detail": "Not Found"})

    def _health(self):
        return (503, http.response(503, b"")) if self.dead else (200, http.response(200, b""))

    def _metrics(self):
        for number, rank in self.engine.ranks.items():
            self.metrics.usage[number] = rank.usage()
        self.metrics.running.update({number: 0 for number in self.engine.in_flight})
        for number, count in self.engine.in_flight.items():
            self.metrics.running[number] = count
        return 200, http.response(200, self.metrics.page(), "text/plain; version=0.0.4; charset=utf-8")

    def _models(self):
        now = int(time.time())
        cards = [
            {"id": name, "object": "model", "created": now, "owned_by": "vllm", "root": str(self.args.model),
             "parent": None, "max_model_len": self.limit}
            for name in self.names
        ]  # fmt: skip
        return 200, http.response(200, {"object": "list", "data": cards})

    def _reset(self):
        for rank in self.engine.ranks.values():
            rank.memory.prefixes.clear()
        return 200, http.response(200, b"")

    def _tokenize(self, body):
        _text, pieces = prompt_of(body, "messages" in body)
        tokens = [token_id(piece) for piece in pieces]
        return 200, http.response(200, {"count": len(tokens), "max_model_len": self.limit, "tokens": tokens})

    def _checked(self, body, chat):
        """Convert a client's request for the engine; raises Refused like vLLM."""
        name = body.get("model") or self.names[0]
        if name not in self.names:
            raise Refused(404, f"The model `{name}` does not exist.", "NotFoundError")
        text, pieces = prompt_of(body, chat)
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        room = self.limit - len(pieces)
        if room < 1 or (limit or 1) > room:
            raise Refused(
                400,
                f"This model's maximum context length is {self.limit} tokens. However, you requested "
                f"{(limit or 0) + len(pieces)} tokens ({len(pieces)} in the messages, {limit or 0} in the completion). "
                "Please reduce the length of the messages or completion.",
            )
        return {
            "prompt": text,
            "pieces": pieces,
            "max_tokens": limit or (room if chat else 16),
            "ignore_eos": bool(body.get("ignore_eos")) or (body.get("min_tokens") or 0) >= (limit or 16),
            "kv_transfer_params": body.get("kv_transfer_params"),
        }

    def _rank(self, named):
        """The rank that serves a request: the one that the header names (vLLM 0.11.1 and later), else the least busy one."""
        if named is None or not self.engine.release.has_rank_header:
            return self.engine.pick()
        ranks = list(self.engine.shape.ranks) if self.engine.shape.external else list(range(self.engine.shape.data))
        if not 0 <= int(named) < len(ranks):
            raise Refused(400, f"data_parallel_rank {named} is out of range [0, {len(ranks)}).")
        return ranks[int(named)]

    async def _complete(self, request, writer, chat):
        body = request.json()
        work = self._checked(body, chat)
        base = request.headers.get("x-request-id") or uuid.uuid4().hex
        name = f"chatcmpl-{base}" if chat else f"cmpl-{base}"
        work["id"] = name if chat else f"{name}-0"
        if self.stopping or self.dead:
            raise Refused(500, self.dead or "EngineCore is shutting down", "InternalServerError")
        number = self._rank(request.headers.get("x-data-parallel-rank"))
        self.busy += 1
        try:
            result = await self.engine.run(number, work)
        except asyncio.CancelledError:
            self.metrics.count(number, {"finish_reason": "abort"})
            raise
        finally:
            self.busy -= 1
        self.metrics.count(number, result)
        answer = Answer(name, body, chat, work, result)
        if result["finish_reason"] == "error":
            message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
            message = message if result.get("dead") else "Internal server error"
            if body.get("stream") and not result.get("dead"):
                await answer.stream_error(writer, message)
                return 200, b""
            raise Refused(500, message, "InternalServerError")
        if body.get("stream"):
            await answer.stream(writer)
            return 200, b""
        return 200, http.response(200, answer.whole())


class Answer:
    """One result in OpenAI's format."""

    def __init__(self, name, body, chat, work, result):
        self.body, self.chat, self.work, self.result = body, chat, work, result
        kind = "chat.completion" if chat else "text_completion"
        self.head = {"id": name, "object": kind, "created": int(time.time()), "model": body.get("model")}

    def usage(self):
        prompt, made = len(self.work["pieces"]), len(self.result["pieces"])
        return {"prompt_tokens": prompt, "total_tokens": prompt + made, "completion_tokens": made}

    def whole(self):
        text = "".join(self.result["pieces"])
        content = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        ended = {"finish_reason": self.result["finish_reason"], "stop_reason": self.result["stop_reason"]}
        choice = {"index": 0, **content, "logprobs": None, **ended}
        params = self.result["kv_transfer_params"]
        return {**self.head, "choices": [choice], "usage": self.usage(), "kv_transfer_params": params}

    def chunk(self, text, last):
        content = {"delta": {"content": text}} if self.chat else {"text": text}
        ended = {"finish_reason": None, "stop_reason": None}
        if last:
            ended = {"finish_reason": self.result["finish_reason"], "stop_reason": self.result["stop_reason"]}
        head = dict(self.head, object="chat.completion.chunk" if self.chat else "text_completion")
        return {**head, "choices": [{"index": 0, **content, "logprobs": None, **ended}]}

    async def stream(self, writer):
        writer.write(http.STREAM_HEAD)
        pieces = self.result["pieces"]
        for place, piece in enumerate(pieces):
            writer.write(http.event(self.chunk(piece, place == len(pieces) - 1)))
            await writer.drain()
        if (self.body.get("stream_options") or {}).get("include_usage"):
            writer.write(http.event({**self.head, "choices": [], "usage": self.usage()}))
        writer.write(http.event("[DONE]") + b"0\r\n\r\n")
        await writer.drain()

    async def stream_error(self, writer, message):
        writer.write(http.STREAM_HEAD)
        error = {"message": message, "type": "InternalServerError", "param": None, "code": 500}
        writer.write(http.event({"error": error}) + http.event("[DONE]") + b"0\r\n\r\n")
        await writer.drain()
