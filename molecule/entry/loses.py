# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change the entry, and kill the node that has its address, while clients with a team's key use it; print what they saw.

    loses.py SCENARIO ADDRESS FOLDER      FOLDER: that of the scenario, with its inventory and the keys

It fails if a change loses a request, or if clients get no answer for longer than MOST after a death.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
import threading
import time

from address import MOST, Nodes, longest, short

UNITS = "ascend-inference-entry ascend-inference-address-_entry"
CONTEXT = ssl._create_unverified_context()
QUESTION = json.dumps({"model": "qwen3", "messages": []})


class Clients:
    """Four threads ask while a block runs. ``answers``: times; ``lost``: what each other request became."""

    def __init__(self, address, key, timeout=1.5):
        self.timeout = timeout
        self.address, self.headers, self.answers, self.lost = address, {"Authorization": f"Bearer {key}"}, [], []
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self._ask, daemon=True) for _number in range(4)]

    def _ask(self):
        while not self.ended.wait(0.2):
            connection = http.client.HTTPSConnection(self.address, timeout=self.timeout, context=CONTEXT)
            try:
                connection.request("POST", "/v1/chat/completions", QUESTION, self.headers)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status == 200:
                    self.answers.append(time.monotonic())
                else:
                    self.lost.append(f"{answer.status} {text[:200]!r}")
            except (OSError, http.client.HTTPException) as error:
                self.lost.append(repr(error))
            finally:
                connection.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_unused):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    @property
    def gap(self):
        return longest(self.answers)


def changes(nodes, key):
    """Another certificate and other shares: no request is lost, and the new certificate is shown."""
    folder = nodes.folder / "entry"
    before = ssl.get_server_certificate((nodes.address, 443))
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=entry"]
    subprocess.run([*made, "-keyout", folder / "certificate.key", "-out", folder / "certificate"], check=True)
    with Clients(nodes.address, key, timeout=30) as clients:  # late is not lost, on a busy machine
        nodes.play("entry", "certificate")
        time.sleep(2)
    print(f"another certificate: {len(clients.answers)} requests, {len(clients.lost)} lost", flush=True)
    if clients.lost or len(clients.answers) < 50:
        sys.exit(f"another certificate: lost {sorted(set(clients.lost))} of {len(clients.answers)}")
    if ssl.get_server_certificate((nodes.address, 443)) == before:
        sys.exit("the entry shows the former certificate")


def host_dies(nodes, key):
    """The address moves; the host returns, serves, and does not take it back."""
    first = nodes.one_holder("before")
    with Clients(nodes.address, key) as clients:
        time.sleep(3)
        nodes.docker("kill", "--signal=KILL", f"{nodes.scenario}-{first}")
        time.sleep(10)
    short(f"{first} dies", clients.gap, MOST)
    nodes.docker("start", f"{nodes.scenario}-{first}")
    active = f"systemctl is-active {UNITS}"
    nodes.until(f"{first} serves", lambda: nodes.run(first, active, check=False).split() == ["active"] * 2, 120)
    if nodes.one_holder("after") == first:
        sys.exit("the address moved back although its host served")


def program_dies(nodes, key):
    """systemd starts the entry again."""
    first = nodes.one_holder("before")
    with Clients(nodes.address, key) as clients:
        nodes.run(first, "systemctl kill --signal=KILL ascend-inference-entry")
        time.sleep(10)
    short(f"the program on {first} dies", clients.gap, 2 * MOST)


nodes = Nodes(*sys.argv[1:])
lab = (nodes.folder / "entry" / "lab").read_text(encoding="utf-8").strip()
for part in (changes, program_dies, host_dies):
    part(nodes, lab)
nodes.play("entry", "removal", inference_entry={"state": "absent"})
