# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load of drills around a block of a test: unique prompts at temperature 0, every second one as a stream, without a pause.

    with Load(url, "tiny", clients=4) as load:
        ...  # the change
    assert load.report(expected) == {...}

``expected(prompt, tokens)`` is the text that an engine alone returns.
"""

from __future__ import annotations

import typing as t

from ansible_collections.ascend.inference.plugins.module_utils.drill import load
from ansible_collections.ascend.inference.plugins.module_utils.drill.figures import quantile
from ansible_collections.ascend.inference.plugins.module_utils.tools import http_client as client
from ansible_collections.ascend.inference.plugins.module_utils.verify import answers
from ansible_collections.ascend.inference.plugins.module_utils.verify.prompts import completion_of


class Load:
    """Clients that ask ``url`` (a router) until the block ends. ``words``: length of a prompt; ``tokens``: of an answer; ``rate``: per second."""

    def __init__(
        self,
        url: str,
        model: str,
        clients: int = 4,
        words: int = 24,
        tokens: int = 6,
        key: str = "",
        timeout: float = 60.0,
        rate: float = 0.0,
    ) -> None:
        self.service = load.Service(client.Target(url, key), model, words, tokens, timeout)
        self.requests: list[load.Request] = []
        self.joined = 0
        self.load = load.Load(self.service, clients, rate, self.requests.append)

    def __enter__(self) -> Load:
        self.load.start()
        return self

    def __exit__(self, *unused: t.Any) -> None:
        self.load.stop(self.service.timeout + 5)

    def prompt(self, request: load.Request) -> str:
        """The prompt of a request."""
        return load.prompt_of(self.service, request.nonce, request.number)

    def ask(self, prompt: str, stream: bool) -> answers.Answer:
        """Send one request with this prompt, and read its answer to the end."""
        body = completion_of(self.service.model, prompt, self.service.tokens, **({"stream": True} if stream else {}))
        reply = client.ask(self.service.target, "/v1/completions", body, self.service.timeout)
        return answers.read_stream(reply) if stream else answers.read_answer(reply)

    def report(self, expected: t.Callable[[str, int], str]) -> dict[str, t.Any]:
        """Numbers of answered, failed, empty and wrong requests, the longest time without a good answer in seconds, p99 to the first text.

        ``joined``: answers of which a proxy of upstream sent two events as one, see verify/answers.py. It does so without any change, too; they
        are no failures if their text is whole.
        """
        for number, request in enumerate(self.requests):
            if request.problem.startswith("joined: "):
                self.joined += 1
                self.requests[number] = request._replace(problem="")
        good = [request for request in self.requests if not request.problem]
        ends = sorted(request.ended for request in good)
        return {
            "answered": len(good),
            "failed": sorted({request.problem for request in self.requests if request.problem not in ("", "empty")}),
            "failures": sum(request.problem not in ("", "empty") for request in self.requests),
            "empty": sum(request.problem == "empty" for request in self.requests),
            "wrong": sum(request.text != expected(self.prompt(request), self.service.tokens) for request in good),
            "joined": self.joined,
            "gap": round(max((later - earlier for earlier, later in zip(ends, ends[1:])), default=0.0), 1),
            "first_p99": quantile(sorted(request.first for request in good), 0.99) or 0.0,
        }
