# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that adds engines to a router that keeps its members in memory: run.sh of the router starts it beside the router."""

from __future__ import annotations

PROGRAM = r'''# Written by ascend.inference. The next deployment replaces changes.
"""Add the engines of a file to vllm-router after its start, each as soon as it answers.

Arguments: URL of the router, file with {"model": name, "members": [{"url", "worker_type"}]}. The file is read in every round, so that an
engine that leaves meanwhile is not added.
"""
import json
import sys
import threading
import time
import urllib.request


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Where another address answers, the engine does not."""

    def redirect_request(self, *unused):
        return None


opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)


def ask(url, payload=None):
    """Whether the URL answers 200 within 5 s. In a thread: the timeout of a socket starts anew with every byte of an answer without end."""
    good = []
    worker = threading.Thread(target=exchange, args=(url, payload, good), daemon=True)
    worker.start()
    worker.join(5)
    return bool(good)


def exchange(url, payload, good):
    data = None if payload is None else json.dumps(payload).encode()
    try:
        with opener.open(urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=5) as answer:
            good += [True] if answer.status == 200 else []
    except Exception:  # whatever an engine sends
        pass


def missing(path, added):
    """Members of the file that were not added yet, and the model's name."""
    with open(path) as stream:
        found = json.load(stream)
    return [member for member in found["members"] if member["url"] not in added], found["model"]


def main(router, path):
    added = set()
    while not ask(router + "/readiness"):
        time.sleep(0.5)
    while True:
        due, model = missing(path, added)
        if not due:
            return
        for member in due:
            if ask(member["url"] + "/health") and ask(router + "/workers", dict(member, model_id=model)):
                added.add(member["url"])
        time.sleep(0.5)


main(*sys.argv[1:])
'''
