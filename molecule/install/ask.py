# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client that never stops asking, on the node, and what it saw.

``ask.py ask URL MODEL`` appends a line "time when the answer ended, status" to ASKED for each request.
``ask.py judge SINCE`` compares that with systemd's journal: from SINCE to the moment at which the first unit was told to stop, every
request was answered, and so is the last one. Prints what it counted; status 1 if it is not so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

ASKED = "/run/asked"


def status(url, model):
    """HTTP status of one completion with text in it; 0 if there is no whole answer."""
    words = {"model": model, "prompt": f"The time is {time.time()}", "max_tokens": 4, "temperature": 0}
    request = urllib.request.Request(url, json.dumps(words).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status if json.load(answer)["choices"][0]["text"] else 0
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, ValueError, LookupError):
        return 0


def ask(url, model):
    """Ask until the unit is stopped."""
    while True:
        code = status(url, model)
        with open(ASKED, "a") as file:
            file.write(f"{time.time():.3f} {code}\n")
        time.sleep(0.3)


def judge(since):
    """Counts of one run of a playbook that began at ``since``, seconds since 1970."""
    words = ["journalctl", "--quiet", "--output=short-unix", f"--since=@{int(since)}", "--unit=inference-*"]
    journal = subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    stops = [float(line.split()[0]) for line in journal if "]: Stopping " in line]
    changed_over = min((stop for stop in stops if stop >= since), default=time.time())
    with open(ASKED) as file:
        asked = [(float(moment), int(code)) for moment, code in map(str.split, file)]
    before = [code for moment, code in asked if since <= moment < changed_over]
    missed = [code for moment, code in asked if moment >= changed_over and code != 200]
    print(
        f"{len(before)} requests before the change-over, {len(before) - before.count(200)} failed; {len(missed)} failed after it"
    )
    return len(before) >= 10 and set(before) == {200} and asked[-1][1] == 200


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        ask(*sys.argv[2:])
    sys.exit(0 if judge(float(sys.argv[2])) else 1)
