# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the timer ascend-inference-proxy-metrics: asks the proxies on this host for their engines. Only the standard library.

Called with the folder of node_exporter's textfile collector and a file of settings: {deployment, file, proxies: [{service, url}]}.
"""

from __future__ import annotations

import json
import sys
import time

from ..tools import foreign_json
from ..tools.http_client import Target, ask
from .metrics import PROXY_HELP, proxy_samples, text_of
from .textfile import write

TIMEOUT = 10  # seconds


def answer_of(url):
    """(status, body as JSON or None); status 0: no answer."""
    reply = ask(Target(url), "", timeout=TIMEOUT)
    try:
        return reply.status, foreign_json.loads(reply.body)
    except ValueError:
        return reply.status, None


def main(argv):
    """One round. The exit status is 0 also if a proxy does not answer: that is in the metrics."""
    folder, path = argv
    with open(path, encoding="utf-8") as stream:
        settings = json.load(stream)
    answers = {proxy["service"]: answer_of(proxy["url"]) for proxy in settings["proxies"]}
    found = proxy_samples(settings["deployment"], answers, time.time())
    write(folder, settings["file"], text_of(found, PROXY_HELP))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
