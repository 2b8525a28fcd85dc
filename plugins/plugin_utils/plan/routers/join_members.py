# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that give a router its engines when it starts; run.sh of the router starts them.

Both leave out the engines of a file that a run writes while they are out of the router (module_utils/router/away.py): those may be about to stop.
If all of a pool are there, none of it is left out: the router would have nothing to send requests to.
"""

from __future__ import annotations

PROGRAM = r'''# Written by ascend.inference. The next deployment replaces changes.
"""Add the engines of a file to vllm-router after its start, each as soon as it answers.

Arguments: URL of the router, file with {"model": name, "members": [{"url", "worker_type"}]}, file with a list of URLs that are left out. Both are
read in every round, so that an engine that leaves meanwhile is not added.
"""
import json
import sys
import threading
import time
import urllib.parse
import urllib.request


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Where another address answers, the engine does not."""

    def redirect_request(self, *unused):
        return None


opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)


def ask(url, payload=None, method=None, text=None):
    """Whether the URL answers 200 within 5 s; the list text gets the answer.

    In a thread: the timeout of a socket starts anew with every byte of an answer without end.
    """
    data = None if payload is None else json.dumps(payload).encode()
    good = []
    worker = threading.Thread(target=exchange, args=(url, data, method, good, text), daemon=True)
    worker.start()
    worker.join(5)
    return bool(good)


def exchange(url, data, method, good, text):
    try:
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        with opener.open(request, timeout=5) as answer:
            if text is not None:
                text.append(answer.read())
            good += [True] if answer.status == 200 else []
    except Exception:  # whatever an engine sends
        pass


def left_out(path, members):
    """URLs that are left out; without the list, or if it is none, nothing is."""
    try:
        with open(path) as stream:
            away = set(json.load(stream))
    except (OSError, TypeError, ValueError):
        return set()
    used = {member["worker_type"] for member in members if member["url"] not in away}
    return {member["url"] for member in members if member["url"] in away and member["worker_type"] in used}


def read(path):
    """The members of the file, and the model's name."""
    with open(path) as stream:
        found = json.load(stream)
    return found["members"], found["model"]


def listed(router):
    """URLs that the router has. One that is added again gets twice as many requests."""
    text = []
    try:
        return {worker["url"] for worker in json.loads(text[0])["workers"]} if ask(router + "/workers", text=text) else set()
    except (KeyError, TypeError, ValueError):
        return set()


def main(router, path, away):
    added = set()
    while not ask(router + "/readiness"):
        time.sleep(0.5)
    while True:
        members, model = read(path)
        out = left_out(away, members)
        due = [member for member in members if member["url"] not in added | out]
        if not due:
            return
        for member in due:
            url = member["url"]
            if not ask(url + "/health") or url in left_out(away, members):
                continue
            if url in listed(router):  # a run has added it meanwhile
                added.add(url)
            elif ask(router + "/workers", dict(member, model_id=model)):
                added.add(url)
                if url in left_out(away, members):  # taken out while it was added
                    ask(router + "/workers/" + urllib.parse.quote(url, safe=""), method="DELETE")
        time.sleep(0.5)


main(*sys.argv[1:])
'''

# Arguments: the file, then the router's arguments that list engines: URLs, or two lists of hosts and ports, paired by position. Prints a command of
# the shell that sets these arguments without the engines of the file.
KEPT = r"""
import json, shlex, sys
try:
    away = set(json.load(open(sys.argv[1])))
except (OSError, TypeError, ValueError):  # what is no list leaves nothing out
    away = set()
groups = []
for argument in sys.argv[2:]:
    if argument.startswith("--"):
        groups.append([argument])
    else:
        groups[-1].append(argument)
lists = {group[0]: group[1:] for group in groups}
kept = []
for option, *values in groups:
    urls = values
    if option.endswith(("-hosts", "-ports")):
        hosts, ports = lists[option[:-6] + "-hosts"], lists[option[:-6] + "-ports"]
        urls = ["http://%s:%s" % ("[%s]" % host if ":" in host else host, port) for host, port in zip(hosts, ports)]
    stay = [value for value, url in zip(values, urls) if url not in away]
    kept += [option] + (stay or values)
print("set -- " + " ".join(map(shlex.quote, kept)))
"""
