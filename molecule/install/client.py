# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client on the node that sends requests continuously, and the evaluation of the responses.

``client.py send URL MODEL`` appends a line "end time, status" to RESPONSES for each request.
``client.py evaluate SINCE`` compares them with systemd's journal: all requests between SINCE and the stop of the first unit, and the
last request, must have succeeded. Prints the counts; exits with status 1 otherwise.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

RESPONSES = "/run/responses"


def status(url, model):
    """HTTP status of one completion with text; 0 if there is no complete response."""
    body = {"model": model, "prompt": f"The time is {time.time()}", "max_tokens": 4, "temperature": 0}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status if json.load(response)["choices"][0]["text"] else 0
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, ValueError, LookupError):
        return 0


def send(url, model):
    """Send requests until the unit is stopped."""
    while True:
        code = status(url, model)
        with open(RESPONSES, "a") as file:
            file.write(f"{time.time():.3f} {code}\n")
        time.sleep(0.3)


def evaluate(since):
    """Counts of responses since ``since`` (seconds since 1970), the start of a playbook."""
    command = ["journalctl", "--quiet", "--output=short-unix", f"--since=@{int(since)}", "--unit=inference-*"]
    journal = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    stops = [float(line.split()[0]) for line in journal if "]: Stopping " in line]
    switched = min((stop for stop in stops if stop >= since), default=time.time())
    with open(RESPONSES) as file:
        responses = [(float(moment), int(code)) for moment, code in map(str.split, file)]
    before = [code for moment, code in responses if since <= moment < switched]
    missed = [code for moment, code in responses if moment >= switched and code != 200]
    print(
        f"{len(before)} requests before the switch, {len(before) - before.count(200)} failed; {len(missed)} failed after it"
    )
    return len(before) >= 10 and set(before) == {200} and responses[-1][1] == 200


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(*sys.argv[2:])
    sys.exit(0 if evaluate(float(sys.argv[2])) else 1)
