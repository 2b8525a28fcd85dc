# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A load for drills and tests: completions with prompts that nobody sent before, at temperature 0, every second one as a stream.

With a rate, requests begin at fixed times whether earlier ones were answered or not, as those of independent clients do. Clients that wait
for their answers would stop asking during a fault, and hide it.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from typing import Any, Callable, NamedTuple

from ..tools.http_client import Target, ask
from ..verify.answers import Answer, read_answer, read_stream
from ..verify.prompts import completion_of, free_text, new_nonce, salted

MOST_TEXT, MOST_PROBLEM = 16384, 500  # characters
AFTER_FAILURE = 0.1  # seconds until a client asks again after a failure, if there is no rate


class Request(NamedTuple):
    """One request. ``begun``: seconds since 1970; ``first``, ``seconds``: until the first text and the end; -1 without a text.

    ``problem`` is empty for a complete answer; "empty": status 200 without text. ``nonce`` and ``number`` make its prompt.
    """

    nonce: str
    number: int
    stream: bool
    begun: float
    first: float
    seconds: float
    problem: str
    text: str

    @property
    def ended(self) -> float:
        """Seconds since 1970."""
        return self.begun + self.seconds


class Service(NamedTuple):
    """Target of the requests and their size. ``words``: length of a prompt; ``tokens``: of an answer; ``timeout``: of one request in seconds."""

    target: Target
    model: str
    words: int = 64
    tokens: int = 16
    timeout: float = 300.0


def prompt_of(service: Service, nonce: str, number: int) -> str:
    """The prompt of a request."""
    return free_text(nonce, number, service.words)


def send(service: Service, nonce: str, number: int, stream: bool, **more: Any) -> Request:
    """Ask once, and read the answer to its end. ``more``: additional keys of the body."""
    begun = time.time()
    body = completion_of(service.model, prompt_of(service, nonce, number), service.tokens, **more)
    if stream:
        body["stream"] = True
    reply = ask(service.target, "/v1/completions", body, service.timeout)
    answer = read_stream(reply) if stream else read_answer(reply)
    first = answer.ttft if stream and answer.ttft is not None else reply.seconds
    first, problem = (first if answer.text else -1.0), problem_of(answer)[:MOST_PROBLEM]
    return Request(nonce, number, stream, begun, first, reply.seconds, problem, kept(answer.text))


def kept(text: str) -> str:
    """A text as it is recorded: of one that is longer than any answer here the begin and a digest, so that a service cannot fill the disk."""
    if len(text) <= MOST_TEXT:
        return text
    return text[:MOST_TEXT] + " sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def repeat(service: Service, request: Request) -> Request:
    """Ask again for the same text, past all prefix caches: what a cache has kept may be wrong as well."""
    return send(service, request.nonce, request.number, False, **salted(new_nonce()))


def problem_of(answer: Answer) -> str:
    """Why an answer is no good; "empty" for status 200 without text."""
    if answer.problem == "empty" or (answer.status == 200 and not answer.text and answer.problem in ("incomplete", "")):
        return "empty"
    return f"{answer.problem}: {answer.detail}" if answer.problem else ""


class Load:
    """``clients`` threads that ask until ``stop``. ``rate``: requests per second of all together; 0: each asks as fast as it gets answers.

    ``keep(request)`` is called for each finished request, one at a time. ``unsent``: requests that were due while all clients waited.
    """

    def __init__(self, service: Service, clients: int, rate: float, keep: Callable[[Request], None]) -> None:
        self.service, self.rate, self.keep = service, rate, keep
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.unsent = self.sent = 0
        self.due = time.monotonic()
        self.threads = [threading.Thread(target=self._run, daemon=True) for _client in range(clients)]

    def start(self) -> None:
        """Begin to ask."""
        for thread in self.threads:
            thread.start()

    def stop(self, timeout: float) -> None:
        """Send nothing more, and wait at most ``timeout`` seconds for the answers that are due."""
        self.ended.set()
        end = time.monotonic() + timeout
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        while not self.ended.is_set():
            number = self._turn()
            if number is None:
                return
            request = send(self.service, new_nonce(), number, number % 2 == 1)
            with self.lock:
                self.keep(request)
            if request.problem and not self.rate:
                self.ended.wait(AFTER_FAILURE)

    def _turn(self) -> int | None:
        """Wait for the next due time -> the number of the request; None at the end."""
        with self.lock:
            self.sent += 1
            number, wait = self.sent, 0.0
            if self.rate:
                missed = max(0, int((time.monotonic() - self.due) * self.rate))
                self.unsent += missed
                self.due += (missed + 1) / self.rate
                wait = self.due - time.monotonic()
        return None if wait > 0 and self.ended.wait(wait) else number


class Records:
    """Requests in a file, one JSON array per line, so that another process can read them meanwhile."""

    def __init__(self, path: str) -> None:
        self.path = path

    def keep(self, request: Request) -> None:
        """Append a request."""
        self._append(list(request))

    def finish(self, unsent: int) -> None:
        """Mark the end of the load."""
        self._append({"unsent": unsent})

    def _append(self, row: Any) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "a") as stream:
            stream.write(json.dumps(row) + "\n")

    def read(self) -> tuple[list[Request], int | None]:
        """All requests so far, and the number of unsent ones, None while the load runs."""
        found, unsent = [], None
        try:
            with open(self.path) as stream:
                lines = [line for line in stream if line.endswith("\n")]
        except FileNotFoundError:
            return [], None
        for line in lines:
            row = json.loads(line)
            if isinstance(row, dict):
                unsent = row["unsent"]
            else:
                found.append(Request(*row))
        return found, unsent
