# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``vllm bench serve``: random words at a rate or at a time, their times, and the result's file.

It takes the options of the release that the playbooks give, and no other: ``tests/parsers`` has the real parsers. Facts from
``vllm/benchmarks/serve.py`` and ``endpoint_request_func.py`` of vLLM 0.11.0 and 0.13.0: a request waits for its arrival, then for a place among
``--max-concurrency``, and its times begin after both; of 0.9.1, which ends with ``--temperature``, see ``plugin_utils/bench/client.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

PATHS = {"openai": "/v1/completions", "openai-chat": "/v1/chat/completions"}
NUMBERS = ("seed", "num-prompts", "max-concurrency", "random-input-len", "random-output-len")
TEXTS = ("base-url", "endpoint", "model", "served-model-name", "percentile-metrics", "metric-percentiles", "result-dir")
SWITCHES = ("trust-remote-code", "ignore-eos", "disable-tqdm", "save-result", "save-detailed")
TIMES = ("ttft", "tpot", "itl", "e2el")
FIRST_BACKEND = (0, 10)  # before, --endpoint-type, and no --temperature


def parse(argv, vllm):
    """The options; argparse's error and status 2 for others."""
    old = tuple(int(part) for part in vllm.split(".")[:2]) < FIRST_BACKEND
    parser = argparse.ArgumentParser(prog="vllm bench serve", allow_abbrev=False)
    parser.add_argument("--endpoint-type" if old else "--backend", dest="backend", choices=PATHS, required=True)
    for name in (*TEXTS, "result-filename"):
        parser.add_argument(f"--{name}", required=True)
    for name in NUMBERS:
        parser.add_argument(f"--{name}", type=int)
    for name in SWITCHES:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--dataset-name", choices=["random"], required=True)
    parser.add_argument("--request-rate", type=float, default=float("inf"))
    parser.add_argument("--burstiness", type=float, default=1.0)
    parser.add_argument("--temperature", type=float)
    args = parser.parse_args(argv)
    if old and args.temperature is not None:
        raise AttributeError("'Namespace' object has no attribute 'backend'")
    if args.endpoint != PATHS[args.backend]:
        raise ValueError(f"URL of {args.backend} must end with {PATHS[args.backend]}")
    return args


def send(args, prompt):
    """(start, seconds to each text, tokens by the engine's usage, error) of one request, which is streamed."""
    content = {"messages": [{"role": "user", "content": prompt}]} if "chat" in args.backend else {"prompt": prompt}
    body = {"model": args.served_model_name, **content, "temperature": 0.0, "stream": True}
    body.update(max_tokens=args.random_output_len, stream_options={"include_usage": True})
    body.update({"ignore_eos": True} if args.ignore_eos else {})
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY')}"}
    request = urllib.request.Request(args.base_url + args.endpoint, json.dumps(body).encode(), headers)
    begun, times, tokens = time.perf_counter(), [], 0
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            for line in answer:
                if not line.startswith(b"data: {"):
                    continue
                event = json.loads(line[6:])
                if event.get("choices"):
                    times.append(time.perf_counter() - begun)
                elif event.get("usage"):
                    tokens = event["usage"]["completion_tokens"]
    except urllib.error.HTTPError as error:
        return begun, [], 0, f"{error.code} {error.reason}"
    except (OSError, ValueError) as error:
        return begun, [], 0, repr(error)
    problem = "" if times else "Never received a valid chunk to calculate TTFT.This response will be marked as failed!"
    return begun, times, tokens, problem


async def load(args):
    """What ``send`` returns of each request, in the order of their arrival."""
    draw = random.Random(args.seed)
    words = [
        " ".join(draw.choices(["ka", "lo", "mi", "nu"], k=args.random_input_len)) for dummy in range(args.num_prompts)
    ]
    places = asyncio.Semaphore(args.max_concurrency or args.num_prompts)
    loop = asyncio.get_running_loop()

    async def one(prompt):
        async with places:
            return await loop.run_in_executor(None, send, args, prompt)

    with ThreadPoolExecutor(args.num_prompts) as pool:
        loop.set_default_executor(pool)
        running = []
        for prompt in words:
            running.append(loop.create_task(one(prompt)))
            mean = 1 / args.request_rate
            await asyncio.sleep(draw.gammavariate(args.burstiness, mean / args.burstiness) if mean else 0)
        return await asyncio.gather(*running)


def result(args, answers, seconds):
    """The object of the result's file."""
    good = [(times, tokens) for _begun, times, tokens, error in answers if not error]
    found = {
        "completed": len(good),
        "failed": len(answers) - len(good),
        "duration": seconds,
        "total_input_tokens": args.random_input_len * len(good),
        "total_output_tokens": sum(tokens for _times, tokens in good),
        "request_throughput": len(good) / seconds,
        "output_throughput": sum(tokens for _times, tokens in good) / seconds,
        "output_lens": [tokens for _begun, _times, tokens, _error in answers],
        "errors": [error for _begun, _times, _tokens, error in answers],
        "max_concurrency": args.max_concurrency,
        "request_rate": args.request_rate if args.request_rate < float("inf") else "inf",
    }
    values = {
        "ttft": [times[0] for times, _tokens in good],
        "tpot": [(times[-1] - times[0]) / (tokens - 1) for times, tokens in good if tokens > 1],
        "itl": [after - before for times, _tokens in good for before, after in zip(times, times[1:])],
        "e2el": [times[-1] for times, _tokens in good],
    }
    for name in TIMES:
        ordered = sorted(values[name]) or [0.0]
        found[f"mean_{name}_ms"] = 1000 * statistics.fmean(ordered)
        for percent in map(int, args.metric_percentiles.split(",")):
            found[f"p{percent}_{name}_ms"] = 1000 * ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
    return found


def main(argv, vllm):
    """Run it; the exit status."""
    args = parse(argv, vllm)
    begun = time.perf_counter()
    answers = asyncio.run(load(args))
    found = result(args, answers, time.perf_counter() - begun)
    with open(os.path.join(args.result_dir, args.result_filename), "w", encoding="utf-8") as stream:
        json.dump(found, stream)
    print(f"Successful requests: {found['completed']}")
    return 0
