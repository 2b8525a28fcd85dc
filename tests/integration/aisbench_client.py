# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``aisbench_client.py RECORD CONFIG --mode perf ...``: the prompts of a configuration of AISBench, and the files that ais_bench 3.1 writes of them.

Simulated: its places and texts are those of ``tests/unit/plugins/module_utils/test_bench_aisbench.py``; the requests are real.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import threading
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "simulator"))
from vllm_ascend import client  # noqa: E402 - the simulator is no package of the collection

PATHS = {"VLLMCustomAPI": "openai", "VLLMCustomAPIChat": "openai-chat"}


def answers(model, prompts):
    """What ``client.send`` returns of each prompt, ``batch_size`` at a time."""
    backend, options = PATHS[model["type"].rpartition(".")[2]], model["generation_kwargs"]
    fields = {"backend": backend, "endpoint": client.PATHS[backend], "base_url": model["url"]}
    fields.update(
        served_model_name=model["model"], random_output_len=model["max_out_len"], ignore_eos=options["ignore_eos"]
    )
    args, waiting, found = types.SimpleNamespace(**fields), list(prompts), []

    def work():
        while waiting:
            found.append(client.send(args, waiting.pop()))

    threads = [threading.Thread(target=work) for dummy in range(model["batch_size"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def main():
    """As the module says."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("record")
    parser.add_argument("config")
    parser.add_argument("--mode", choices=["perf"], required=True)
    parser.add_argument("--work-dir", type=pathlib.Path, required=True)
    parser.add_argument("--num-warmups", choices=["0"], required=True)
    parser.add_argument("--debug", action="store_true")
    given = parser.parse_args()
    config = json.loads(pathlib.Path(given.config).read_text(encoding="utf-8"))
    (model,), (dataset,) = config["models"], config["datasets"]
    with open(given.record, "a", encoding="utf-8") as stream:
        stream.write(json.dumps(model) + "\n")
    lines = pathlib.Path(dataset["path"]).read_text(encoding="utf-8").splitlines()
    begun = time.perf_counter()
    found = answers(model, [json.loads(line)["question"] for line in lines])
    seconds, failed = time.perf_counter() - begun, sum(1 for answer in found if answer[3])
    tokens = sum(answer[2] for answer in found)
    totals = {
        "Benchmark Duration": f"{1000 * seconds:.4f} ms",
        "Failed Requests": failed,
        "Success Requests": len(found) - failed,
    }
    totals.update({"Total Generated Tokens": tokens, "Output Token Throughput": f"{tokens / seconds:.4f} token/s"})
    totals["Request Throughput"] = f"{(len(found) - failed) / seconds:.4f} req/s"
    first = sorted(1000 * answer[1][0] for answer in found if answer[1]) or [0.0]
    part = {
        "Average": sum(first) / len(first),
        "Median": first[len(first) // 2],
        "P90": first[len(first) * 9 // 10],
        "P99": first[-1],
    }
    place = given.work_dir / "20261201_000000/performances" / model["abbr"]
    place.mkdir(parents=True)
    row = ",".join(["TTFT", "total", *(f"{value:.1f} ms" for value in part.values()), str(len(first))])
    table = f"Performance Parameters,Stage,{','.join(part)},N\n{row}\n"
    details = [
        json.dumps({"success": not error, "error_info": error, "output_tokens": number}) + "\n"
        for _begun, _times, number, error in found
    ]
    texts = {".csv": table, ".json": json.dumps({name: {"total": value} for name, value in totals.items()})}
    texts["_details.jsonl"] = "".join(details)
    for end, text in texts.items():
        (place / f"{dataset['abbr']}{end}").write_text(text, encoding="utf-8")


main()
