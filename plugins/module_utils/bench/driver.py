# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of ``vllm bench serve``, which every environment and image with an engine has, or of another program whose result has the same form.

Facts, from vLLM 0.9.1 to 0.32: the result is one JSON object; with ``--save-detailed`` it has ``output_lens`` and ``errors`` for each
request. An answer with status 200 and without text counts as failed with the error NO_TEXT, and as completed without tokens if it was no
stream of events. Both are counted as empty here.
"""

from __future__ import annotations

import math
import os
import pwd
import select
import shlex
import threading
from types import MappingProxyType
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ..runtime.registry import runtime_of
from ..tools import foreign_file, foreign_json
from ..tools.http_client import Target, ask
from ..tools.runner import MOST_LOG, execute
from ..verify.metrics import FINISHED, Samples, labels_of, read_metrics
from . import aisbench
from .aisbench import NO_TEXT

MOST_RESULT = 512 * 2**20  # bytes of a result file: 100,000 requests with their times have about 300 MiB
MOST_NUMBER = 1e18  # of a figure; NaN is not below it either
KEY = "OPENAI_API_KEY"  # the variable with the clients' or the engines' key
TAIL = 30  # lines of the command's output that are shown after a failure
OUTPUT = 1  # the descriptor of the module's result
LOOK = 1.0  # seconds between two looks for the reader of the module's result
# Runs the arguments, and ends them when its input ends, which the module holds open. So they end with the module, however it ends: also if it is
# killed, as another user, and in a container, where a signal to the command that entered it does not arrive.
HELD = (
    'exec 3<&0; "$@" </dev/null 3<&- & run=$!; { read -r <&3; kill -KILL 0; } >/dev/null 2>&1 & held=$!; '
    'wait "$run"; status=$?; kill "$held"; exit "$status"'
)
TIMES = ("ttft", "tpot", "itl", "e2el")
COUNTERS = {
    "requests": FINISHED,
    "prompt_tokens": "vllm:prompt_tokens_total",
    "generated_tokens": "vllm:generation_tokens_total",
    "tokens_from_outside": "vllm:prompt_tokens_by_source_total{source=external_kv_transfer}",
    "tokens_computed": "vllm:prompt_tokens_by_source_total{source=local_compute}",
    "preemptions": "vllm:num_preemptions_total",
    "queue_seconds": "vllm:request_queue_time_seconds_sum",
    "prefill_seconds": "vllm:request_prefill_time_seconds_sum",
    "decode_seconds": "vllm:request_decode_time_seconds_sum",
    # Of connectors that count their transfers: MooncakeConnectorV2 of vLLM-Ascend.
    "transfers": "vllm:mooncake_xfer_time_seconds_count",
    "transfer_seconds": "vllm:mooncake_xfer_time_seconds_sum",
    "transferred_bytes": "vllm:mooncake_bytes_transferred_sum",
    "failed_transfers": "vllm:mooncake_num_failed_transfers_total",
}
STARTED = "process_start_time_seconds"  # missing with several API servers
CACHE = "vllm:cache_config_info"  # a line for each data-parallel rank, whose labels are its settings
EXCESS = 1.2  # prompts of which a cache could hold none longer than the others
NAMES = ("completed", "failed", "duration", "total_input_tokens", "total_output_tokens")
RATES = ("request_throughput", "output_throughput", "total_token_throughput", "request_goodput")


class BenchError(Exception):
    """The benchmark did not run; the text says what is wrong, why it matters and how to fix it."""


class Command(NamedTuple):
    """argv: the whole command without its result file; source: scripts that are read before; directory: for the result file.

    container: the name of the container in which it runs, or empty; user: who runs it, if root calls the module (empty: the owner of
    ``directory``). config: for AISBench, its configuration without the key of the API, and its ``prompts`` (see prompts.py); empty for
    ``vllm bench serve``. runtime: whose container it is.
    """

    argv: Sequence[str]
    env: dict[str, str]
    source: Sequence[str]
    directory: str
    container: str = ""
    user: str = ""
    config: Mapping[str, Any] = MappingProxyType({})
    runtime: str = ""


def whole_argv(command: Command, path: str) -> list[str]:
    """The command as it is run: through a shell that reads the scripts, in the container or as the user. ``path``: its result, a file or a folder.

    Values of the environment stay out of the arguments, because one of them may be a key. Raises RuntimeProblem for an unknown runtime.
    """
    script = "".join(f". {shlex.quote(name)} >/dev/null && " for name in command.source) + "{ " + HELD + "; }"
    if command.config:  # it writes below its current folder, too
        script = f"cd {shlex.quote(path)} && {script}"
    inner = ["bash", "-c", script, "bench", *command.argv]
    if command.config:
        inner += aisbench.arguments(path)
    else:
        inner += ["--save-result", "--save-detailed", "--result-dir", os.path.dirname(path)]
        inner += ["--result-filename", os.path.basename(path)]
    if command.container:
        return [*runtime_of(command.runtime, {}).inside(command.container, sorted(command.env)), *inner]
    user = command.user or _owner(command.directory)
    if user and os.geteuid() == 0:
        return ["runuser", "--user", user, "--", *inner]
    return inner


def _owner(directory: str) -> str:
    """The name of the user who owns the service's folder; empty for root, and if nobody knows."""
    try:
        owner = os.stat(directory).st_uid
        return pwd.getpwuid(owner).pw_name if owner else ""
    except (OSError, KeyError):
        return ""


def run_load(command: Command, path: str, wanted_tokens: int, timeout: float) -> dict[str, Any]:
    """Run the command -> its figures. ``wanted_tokens``: output tokens of each request, 0 if they are not known.

    Raises BenchError if it fails, takes too long, or writes no result.
    """
    ended = threading.Event()
    try:
        if command.config:
            aisbench.prepare(path, command.config, command.env.get(KEY, ""))
        done = execute(
            whole_argv(command, path),
            timeout,
            {**os.environ, **command.env},
            stdin=held(ended),
            merged=True,
            most=MOST_LOG,
        )
        if done.timed_out:
            raise BenchError(
                f"the benchmark did not end within {timeout:.0f} s. Fix: raise timeout, or use fewer prompts"
            )
        if done.rc != 0:
            raise BenchError(_failure(command, f"the benchmark failed with exit status {done.rc}", done.stdout))
        try:
            return figures(_result(command, path), wanted_tokens)
        except (OSError, ValueError) as error:  # of AISBench, which ends with status 0 also then
            problem = f"the benchmark wrote no result that can be read ({error})"
            raise BenchError(_failure(command, problem, done.stdout)) from error
    finally:
        ended.set()
        if command.config:
            aisbench.remove(path)
        elif os.path.lexists(path):
            os.unlink(path)


def _result(command: Command, path: str) -> dict[str, Any]:
    return aisbench.read(path, aisbench.asked(command.config)) if command.config else read_result(path)


def _failure(command: Command, problem: str, output: str) -> str:
    tail = "\n".join(output.splitlines()[-TAIL:])
    known = aisbench.trap(output) if command.config else ""
    return f"{problem}{': ' + known if known else ''}. The end of its output:\n{tail}"


def held(ended: threading.Event) -> Callable[[Any], None]:
    """What holds the command's input open until it has ``ended``, or until nobody reads the result of the module any more.

    A playbook that was interrupted does not end its modules over SSH. It closes the connection, which they see at their output.
    """

    def hold(_pipe: Any) -> None:
        while not ended.wait(LOOK) and not _hung_up(OUTPUT):
            pass

    return hold


def _hung_up(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _descriptor, event in poll.poll(0))


def read_result(path: str) -> dict[str, Any]:
    """The JSON object in a file that the service's user wrote: neither a link nor a pipe is read. Raises BenchError."""
    try:
        found = foreign_json.loads(foreign_file.read(path, MOST_RESULT))
    except (OSError, ValueError) as error:
        raise BenchError(f"the benchmark wrote no result that can be read: {error}") from error
    if not isinstance(found, dict):
        raise BenchError("the benchmark's result is not a JSON object")
    return found


def figures(result: dict[str, Any], wanted_tokens: int) -> dict[str, Any]:
    """Counts, rates (per second) and times (ms) of a result.

    ``empty``: answers without a token; ``short``: answers with fewer tokens than wanted. Both are None if the result does not tell, also if it
    does not have a length for each request that it counted.
    """
    lengths, errors = result.get("output_lens"), result.get("errors")
    errors = [str(error or "") for error in (errors if isinstance(errors, list) else [])]
    silent = sum(1 for error in errors if NO_TEXT in error)
    found = {name: _number(result.get(name)) for name in (*NAMES, *RATES)}
    failed = found["failed"] if found["failed"] is not None else sum(1 for error in errors if error)
    answered = None
    if _lengths_of(lengths, found["completed"], failed):
        errors += [""] * (len(lengths) - len(errors))
        answered = [tokens for tokens, error in zip(lengths, errors) if not error]
    found["failed"] = failed - min(silent, failed)
    found["empty"] = None if answered is None else silent + sum(1 for tokens in answered if not tokens)
    found["short"] = (
        None if answered is None or not wanted_tokens else sum(1 for n in answered if 0 < n < wanted_tokens)
    )
    found["first_error"] = next((error[-300:] for error in errors if error and NO_TEXT not in error), "")
    for time in TIMES:
        for part in ("mean", "p50", "p90", "p99"):
            value = _number(result.get(f"{part}_{time}_ms"))
            found[f"{time}_{part}"] = None if value is None else round(float(value), 3)
    return found


def _lengths_of(lengths: Any, completed: Any, failed: Any) -> bool:
    """Whether these are the lengths of that many answers."""
    if not isinstance(lengths, list) or completed is None or len(lengths) != completed + failed:
        return False
    return all(_number(tokens) is not None for tokens in lengths)


def _number(value: Any) -> Any:
    """A finite number, not below zero, of a file that the service's user wrote; None for everything else."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if number and 0 <= value < MOST_NUMBER else None


def read_all(engines: Sequence[dict[str, str]], token: str = "") -> dict[str, Samples | None]:
    """The counters of engines ({name, url}) by name; None of one that does not answer."""
    found: dict[str, Samples | None] = {}
    for engine in engines:
        reply = ask(Target(engine["url"], token), "/metrics", timeout=10.0)
        found[engine["name"]] = read_metrics(reply.body) if reply.status == 200 and not reply.error else None
    return found


def prompts_that_evict(engine: dict[str, str], prompt_tokens: int, token: str = "") -> int:
    """How many prompts of this length an engine's KV cache cannot hold, from the size that it reports. Raises BenchError."""
    reply = ask(Target(engine["url"], token), "/metrics", timeout=10.0)
    sizes = labels_of(reply.body, CACHE) if reply.status == 200 and not reply.error else []
    blocks = [(size.get("num_gpu_blocks", ""), size.get("block_size", "")) for size in sizes]
    if not blocks or not all(number.isdigit() and size.isdigit() for number, size in blocks):
        raise BenchError(
            "{} does not report the size of its KV cache ({}), so the number of prompts that replace it is "
            "not known. Fix: set inference_bench.evict".format(engine["name"], CACHE)
        )
    tokens = sum(int(number) * int(size) for number, size in blocks)
    return math.ceil(EXCESS * tokens / prompt_tokens)


def growth(
    before: Samples | None, after: Samples | None, counters: Mapping[str, str] | None = None
) -> dict[str, float] | None:
    """What counters of one service (without any those of an engine) gained.

    None without both readings, and of a service that was restarted between them: what it counted before its end is lost.
    """
    if before is None or after is None or before.get(STARTED) != after.get(STARTED, before.get(STARTED)):
        return None
    found = {}
    for name, metric in (counters or COUNTERS).items():
        now, then = _number(after.get(metric)), _number(before.get(metric, 0.0))
        if now is None or then is None:
            continue
        if now < then:
            return None
        found[name] = round(now - then, 3)
    return found
