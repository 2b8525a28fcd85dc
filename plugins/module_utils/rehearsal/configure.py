# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs beside a release: makes the configuration of engines with vLLM's and vLLM-Ascend's own code.

Reads one JSON object per line, ``{"argv": [what stands after "vllm serve"], "env": {}}``, and answers each with a line
``{"index": its number, "kind": "", "text": "", "refused": false}``: an empty kind if the configuration can be made, else the class
of the error and its words. ``refused``: upstream's own code says no. What fails otherwise, in a stand-in or because something is missing
here, is no refusal.

Argument parser, AsyncEngineArgs, create_engine_config (which runs NPUPlatform.check_and_update_config and with it
AscendConfig), and the class of the KV connector. Modules are imported once; each command is judged in a fork, so that
its environment and what upstream caches end with it. The file is also written down on hosts, so it imports nothing of this collection.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import multiprocessing
import multiprocessing.connection
import os
import re
import sys
import time
import traceback

PATIENCE = 180  # seconds for one command
AT_ONCE = 4  # commands; each takes some 100 MiB that it does not share
MOST_WORDS = 600  # characters
NO_HUB = "VLLM_USE_MODELSCOPE"  # asks a hub even for a model's folder
OUR_OWN = "rehearsal"  # kind of what is no answer of upstream
MADE_UP = re.compile(r"MagicMock|SimpleNamespace|Anything|'torch\.npu'|torch_npu")  # of the stand-ins
OF_PYDANTIC = re.compile(r"(?:^|(?<= ))Value error, |\s*\[type=\w+, input_value=.*?, input_type=\w+\]")
UPSTREAM = re.compile(r"/(vllm|vllm_ascend|ascend_inference_cpu)/")


def first(names, attribute):
    """The attribute of the first of the modules that has it; vLLM moved them over the versions."""
    missing = []
    for name in names:
        try:
            return getattr(importlib.import_module(name), attribute)
        except (AttributeError, ModuleNotFoundError) as error:
            missing.append(str(error))
    raise SystemExit(f"this vLLM has no {attribute}: {'; '.join(missing)}")


def architectures(model):
    """Names of the classes in a model's config.json; none if it cannot be read."""
    try:
        with open(os.path.join(model, "config.json"), encoding="utf-8") as stream:
            found = json.load(stream)["architectures"]
        return {name for name in found if isinstance(name, str)}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return set()


def ready(cases):
    """Import everything that the commands need; returns the function that makes one's configuration."""
    places = ("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.launchers.cli_args")
    parser, validate = first(places, "make_arg_parser"), first(places, "validate_parsed_serve_args")
    words = first(("vllm.utils.argparse_utils", "vllm.utils"), "FlexibleArgumentParser")
    arguments = first(("vllm.engine.arg_utils",), "AsyncEngineArgs")
    usage = first(("vllm.usage.usage_lib",), "UsageContext").OPENAI_API_SERVER
    first(("vllm.plugins",), "load_general_plugins")()
    registry = importlib.import_module("vllm.model_executor.models.registry")
    registry._run_in_subprocess = lambda look: look()  # a Python of its own for each class takes ten seconds
    present = set(sys.modules)
    for model in sorted({case["argv"][0] for case in cases}):
        for name in sorted(architectures(model)):
            with contextlib.suppress(Exception):  # what the class lacks is upstream's answer when a command needs it
                registry.ModelRegistry.models[name].inspect_model_cls()
    # A class may put a module of its own in the place of vLLM's, which other classes need.
    for name in set(sys.modules) - present:
        if name.startswith("vllm.") and getattr(sys.modules[name], "__spec__", None) is None:
            del sys.modules[name]

    def configure(argv):
        space = parser(words(prog="vllm serve")).parse_args(argv)
        if getattr(space, "model_tag", None):
            space.model = space.model_tag
        space.subparser = "serve"
        validate(space)
        config = arguments.from_cli_args(space).create_engine_config(usage_context=usage)
        if config.kv_transfer_config is not None:
            factory = first(("vllm.distributed.kv_transfer.kv_connector.factory",), "KVConnectorFactory")
            factory.get_connector_class(config.kv_transfer_config)

    return configure


def innermost(error):
    """The words of an error without pydantic's frame around them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if "validation error" in lines[0] if lines else False:
        lines = [line for line in lines[1:] if not line.startswith("For further information")]
    return OF_PYDANTIC.sub("", " ".join(lines))[:MOST_WORDS]


def said_no(error):
    """Whether upstream's code refuses: it raised the error itself, of a kind that is meant for the user, and not over a stand-in."""
    frames = traceback.extract_tb(error.__traceback__)
    where = frames[-1].filename if frames else ""
    if MADE_UP.search(str(error)) or os.path.basename(where) in ("sitecustomize.py", "mock.py"):
        return False
    return isinstance(error, (ValueError, AssertionError, NotImplementedError)) or (
        isinstance(error, RuntimeError) and bool(UPSTREAM.search(where))
    )


def answer_to(configure, case):
    """The answer to one command; changes this process."""
    os.environ.update(case["env"])
    os.environ.pop(NO_HUB, None)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            configure(case["argv"])
    except SystemExit as error:
        text = said.getvalue().rpartition("error:")[2].strip()[:MOST_WORDS]
        return {"kind": "parser", "text": text, "refused": error.code == 2}
    except BaseException as error:  # whatever it is, it is an answer
        text = innermost(error)
        if not text and isinstance(error, AssertionError):  # without words: the line says what
            text = "assertion without words: " + (traceback.extract_tb(error.__traceback__)[-1].line or "")
        if "JUDGE_TRACE" in os.environ:
            text += "\n" + traceback.format_exc()
        return {"kind": type(error).__name__, "text": text, "refused": said_no(error)}
    return {"kind": "", "text": "", "refused": False}


def judged(configure, case, connection):
    """Judge one command in this fork and send the answer."""
    connection.send(answer_to(configure, case))
    connection.close()
    os._exit(0)


def answers(configure, cases):
    """Yield the answers of forks, in the order in which they come."""
    context, waiting, running = multiprocessing.get_context("fork"), list(enumerate(cases)), {}
    most = max(1, min(AT_ONCE, len(os.sched_getaffinity(0))))
    while waiting or running:
        while waiting and len(running) < most:
            index, case = waiting.pop(0)
            here, there = context.Pipe(False)
            process = context.Process(target=judged, args=(configure, case, there))
            process.start()
            there.close()
            running[here] = (index, process, time.monotonic() + PATIENCE)
        came = multiprocessing.connection.wait(list(running), 1)
        for here in [item for item in running if item in came or time.monotonic() > running[item][2]]:
            index, process, _deadline = running.pop(here)
            try:
                found = here.recv() if here in came else None
                text = f"no answer in {PATIENCE} s"
            except EOFError:
                found, text = None, "ended without an answer"
            process.kill()
            process.join()
            yield {"index": index, **(found or {"kind": OUR_OWN, "text": text, "refused": False})}


def main():
    """Answer on the real standard output; vLLM's imports may print to it before."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    cases = [json.loads(line) for line in sys.stdin]
    configure = ready(cases)
    for answer in answers(configure, cases):
        out.write(json.dumps(answer) + "\n")
        out.flush()
    out.close()
    os._exit(0)  # threads that vLLM starts would keep the process alive


if __name__ == "__main__":
    main()
