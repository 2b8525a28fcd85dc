# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``bench_client.py URL REQUESTS TOKENS --result-dir ... --result-filename ...``: all requests at once, and what vllm bench serve writes of them."""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import threading
import time
import urllib.parse
from pathlib import Path

NAME = "--served-model-name"
MODEL = sys.argv[sys.argv.index(NAME) + 1] if NAME in sys.argv else "m"


def ask(address: str, tokens: int) -> list[float]:
    """Seconds from the request to each token."""
    connection, begun, times = http.client.HTTPConnection(address, timeout=30), time.perf_counter(), []
    body = {"model": MODEL, "prompt": "x", "max_tokens": tokens, "stream": True}
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    for line in connection.getresponse():
        if line.startswith(b"data: {") and any(choice.get("text") for choice in json.loads(line[6:])["choices"]):
            times.append(time.perf_counter() - begun)
    return times


def main() -> None:
    """As the module says."""
    url, count, tokens = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    address, answers, begun = urllib.parse.urlsplit(url).netloc, [], time.perf_counter()
    threads = [threading.Thread(target=lambda: answers.append(ask(address, tokens))) for _number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, good = time.perf_counter() - begun, [times for times in answers if times]
    result = {
        "completed": count,
        "failed": 0,
        "duration": seconds,
        "total_input_tokens": count,
        "total_output_tokens": sum(len(times) for times in answers),
        "output_throughput": sum(len(times) for times in answers) / seconds,
        "p50_ttft_ms": 1000 * statistics.median(times[0] for times in good),
        "p50_tpot_ms": 1000 * statistics.median((times[-1] - times[0]) / (len(times) - 1) for times in good),
        "output_lens": [len(times) for times in answers],
        "errors": [""] * count,
    }
    place = Path(sys.argv[sys.argv.index("--result-dir") + 1]) / sys.argv[sys.argv.index("--result-filename") + 1]
    place.write_text(json.dumps(result), encoding="utf-8")


main()
