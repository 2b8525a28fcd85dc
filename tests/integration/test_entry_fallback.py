# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another model that takes over, with the real HAProxy: its name is in the body, no request is lost or carried out twice, and usage stays right."""

from __future__ import annotations

import collections
import itertools
import json
import pathlib
import threading
import time

import pytest
from ansible_collections.ascend.inference.tests.integration import _entry
from ansible_collections.ascend.inference.tests.integration._entry import COMPLETIONS

BIG = "org/ds-v4"


@pytest.fixture
def entry():
    """An entry in which qwen3 takes over for ds-v4, whose deployment has no key of engines. The team may use ds-v4 alone."""
    with _entry.started() as make:
        running = make()
        routers = {name: [f"127.0.0.1:{each.port}"] for name, each in running.deployments.items()}
        running.write(
            models={"qwen3": {"deployment": "qwen"}, BIG: {"deployment": "old", "fallback": "qwen3"}},
            deployments={
                "qwen": {"routers": routers["qwen"], "api_key_file": "engines"},
                "old": {"routers": routers["old"]},
            },
            teams={"lab": {"keys_file": "lab", "models": [BIG]}},
        )
        running.restart()
        yield running


def test_the_other_model_gets_its_own_name_and_key_from_the_first_request_on(entry):
    assert entry.model(BIG) == "old"
    entry.deployments["old"].close()
    time.sleep(0.2)
    bodies = [b'{"model":"%s","messages":[]}', b'{"messages": [{"model": "x"}], "\\u006dodel" : "%s", "n": 1 }']
    for number in range(20):
        status, answer, headers = entry.ask(bodies[number % 2] % BIG.replace("/", "\\/").encode())
        path, got, body = entry.deployments["qwen"].seen[-1]
        assert (status, answer["deployment"], answer["bytes"]) == (200, "qwen", len(body)), (number, status, answer)
        assert body == bodies[number % 2] % b"qwen3" and path == COMPLETIONS
        assert got["authorization"] == f"Bearer {_entry.ENGINES}" and got["x-request-id"] == headers["x-request-id"]
    assert entry.health() == (200, json.dumps({"routers": {BIG: 1, "qwen3": 1}}))
    assert entry.ask({"model": "qwen3"})[0] == 403
    entry.deployments["qwen"].close()
    time.sleep(3)
    assert entry.ask({"model": BIG})[0] == 503 and entry.health()[0] == 503


@pytest.mark.parametrize("options", [None, {"include_usage": True}])
@pytest.mark.parametrize("stream", [False, True])
def test_usage_is_that_of_the_model_that_was_asked_for_and_counted_once(entry, stream, options):
    entry.deployments["old"].close()
    time.sleep(0.2)
    asked = {"count": [7, 5, 3], "model": BIG, "stream": stream}
    if stream and options:
        asked["stream_options"] = options
    data = json.dumps(asked).encode()
    key = {"Authorization": f"Bearer {_entry.KEYS['lab']}"}
    status, text, dummy = _entry.http_ask(entry.port, "POST", COMPLETIONS, data, key)
    assert status == 200 and ('"usage"' in text) == bool(options or not stream)
    assert text.endswith("data: [DONE]\n\n") or not stream
    time.sleep(0.3)
    lines = [
        path.read_text() for path in pathlib.Path(entry.folder, "usage").glob("*-*-*.*") if "index" not in path.name
    ]
    assert "".join(lines) == f"lab\t{BIG}\t1\t0\t7\t5\t3\n"


def test_under_load_no_request_is_lost_or_carried_out_twice(entry):
    done, found, numbers = threading.Event(), [], itertools.count()

    def load():
        while not done.is_set():
            status, answer, dummy = entry.ask({"messages": [next(numbers)], "model": BIG})
            found.append(answer["deployment"] if status == 200 else status)

    clients = [threading.Thread(target=load) for dummy in range(8)]
    for client in clients:
        client.start()
    time.sleep(1.5)
    entry.deployments["old"].close()  # it ends with the requests that it has
    time.sleep(2)
    done.set()
    for client in clients:
        client.join(30)
    counts = collections.Counter(found)
    assert set(counts) <= {"old", "qwen", 502} and counts["qwen"] > 100 and counts[502] <= 2 * len(clients), counts
    carried = [json.loads(body)["messages"][0] for each in entry.deployments.values() for *dummy, body in each.seen]
    assert len(carried) == len(set(carried)), "a request was carried out twice"
