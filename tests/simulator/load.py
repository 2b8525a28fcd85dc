# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A load generator for tests: unique prompts at temperature 0, every second one as a stream, without a pause.

    with Load(url, "tiny", clients=4) as load:
        ...  # the change
    assert load.report(expected) == {...}

``expected(prompt, tokens)`` is the text that an engine alone returns.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import threading
import time
import typing as t
from urllib.parse import urlsplit


@dataclasses.dataclass
class Request:
    """One request. ``problem``: why it failed, "" if it did not; ``first`` and ``seconds`` from sending."""

    prompt: str
    stream: bool
    begun: float
    text: str = ""
    problem: str = ""
    first: float = 0.0
    seconds: float = 0.0


class Load:
    """Clients in threads that ask ``url`` (a router) until the block ends. ``words``: length of a prompt; ``tokens``: of an answer."""

    def __init__(
        self,
        url: str,
        model: str,
        clients: int = 4,
        words: int = 24,
        tokens: int = 6,
        key: str = "",
        timeout: float = 60.0,
    ) -> None:
        self.parts, self.model, self.words, self.tokens = urlsplit(url), model, words, tokens
        self.key, self.timeout = key, timeout
        self.requests: list[Request] = []
        self.ended = threading.Event()
        self.nonce = os.urandom(4).hex()
        self.threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(clients)]

    def __enter__(self) -> Load:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused: t.Any) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join(self.timeout + 5)

    def _run(self, client: int) -> None:
        count = 0
        while not self.ended.is_set():
            count += 1
            prompt = " ".join(f"{self.nonce}-{client}-{count}-{word}" for word in range(self.words))
            self.requests.append(self.ask(prompt, count % 2 == 0))
            if self.requests[-1].problem:
                time.sleep(0.1)  # a router that is away is not asked ten thousand times

    def ask(self, prompt: str, stream: bool) -> Request:
        """Send one request and read its answer to the end."""
        found = Request(prompt, stream, time.monotonic())
        connection = http.client.HTTPConnection(self.parts.hostname or "", self.parts.port or 80, timeout=self.timeout)
        body = {"model": self.model, "prompt": prompt, "max_tokens": self.tokens, "temperature": 0, "stream": stream}
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        try:
            connection.request("POST", "/v1/completions", json.dumps(body), headers)
            answer = connection.getresponse()
            found.first = time.monotonic() - found.begun
            text = answer.read().decode()
            if answer.status != 200:
                found.problem = f"HTTP {answer.status}: {text[:200]}"
            elif stream and "data: [DONE]" not in text:
                found.problem = "the stream has no end"
            else:
                found.text = streamed(text) if stream else json.loads(text)["choices"][0]["text"]
        except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
            found.problem = f"{type(error).__name__}: {error}"
        finally:
            connection.close()
        found.seconds = time.monotonic() - found.begun
        return found

    def report(self, expected: t.Callable[[str, int], str]) -> dict[str, t.Any]:
        """Numbers of answered, failed, empty and wrong requests, the longest time without a good answer in seconds, p99 to the first byte."""
        good = [request for request in self.requests if not request.problem and request.text]
        ends = sorted(request.begun + request.seconds for request in good)
        firsts = sorted(request.first for request in good)
        return {
            "answered": len(good),
            "failed": sorted({request.problem for request in self.requests if request.problem}),
            "failures": sum(bool(request.problem) for request in self.requests),
            "empty": sum(not request.problem and not request.text for request in self.requests),
            "wrong": sum(request.text != expected(request.prompt, self.tokens) for request in good),
            "gap": round(max((later - earlier for earlier, later in zip(ends, ends[1:])), default=0.0), 1),
            "first_p99": round(firsts[int(len(firsts) * 0.99)], 3) if firsts else 0.0,
        }


def streamed(text: str) -> str:
    """The text of a stream of server-sent events."""
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return "".join(choice["text"] for event in events for choice in event["choices"])
