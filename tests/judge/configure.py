# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs beside a release: makes the configuration of engines with vLLM's and vLLM-Ascend's own code.

Reads one JSON object per line, ``{"argv": [what stands after "vllm serve"], "env": {}, "architectures": []}``, and
answers each with a line ``{"kind": "", "text": ""}``: empty if the configuration can be made, else the class of the error and its words.

Argument parser, AsyncEngineArgs, create_engine_config (which runs NPUPlatform.check_and_update_config and with it
AscendConfig), and the class of the KV connector. Modules are imported once; each command is judged in a fork, so that
its environment and what upstream caches end with it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import multiprocessing
import os
import sys
import typing as t

PATIENCE = 180  # seconds for one command


def first(names: t.Iterable[str], attribute: str) -> t.Any:
    """The attribute of the first of the modules that has it; vLLM moved them over the versions."""
    missing: list[str] = []
    for name in names:
        try:
            return getattr(importlib.import_module(name), attribute)
        except (AttributeError, ModuleNotFoundError) as error:
            missing.append(str(error))
    raise SystemExit(f"this vLLM has no {attribute}: {'; '.join(missing)}")


def ready(architectures: t.Iterable[str]) -> t.Callable[[list[str]], None]:
    """Import everything that the commands need."""
    places = ("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.launchers.cli_args")
    parser, validate = first(places, "make_arg_parser"), first(places, "validate_parsed_serve_args")
    words = first(("vllm.utils.argparse_utils", "vllm.utils"), "FlexibleArgumentParser")
    arguments = first(("vllm.engine.arg_utils",), "AsyncEngineArgs")
    usage = first(("vllm.usage.usage_lib",), "UsageContext").OPENAI_API_SERVER
    first(("vllm.plugins",), "load_general_plugins")()
    registry = importlib.import_module("vllm.model_executor.models.registry")
    registry._run_in_subprocess = lambda look: look()  # a Python of its own for each class takes ten seconds
    for name in sorted(architectures):
        with contextlib.suppress(Exception):  # what the class lacks is upstream's answer when a command needs it
            registry.ModelRegistry.models[name].inspect_model_cls()

    def configure(argv: list[str]) -> None:
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


def innermost(error: BaseException) -> str:
    """The words of an error without pydantic's frame around them."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if "validation error" in lines[0] if lines else False:
        lines = [line for line in lines[1:] if not line.startswith("For further information")]
    return " ".join(lines)[:600]


def judged(configure: t.Callable[[list[str]], None], case: dict[str, t.Any], answer: t.Any) -> None:
    """Judge one command and send the answer."""
    os.environ.update(case["env"])
    said, kind, text = io.StringIO(), "", ""
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            configure(case["argv"])
    except SystemExit:
        kind, text = "parser", said.getvalue().rpartition("error:")[2].strip()[:600]
    except BaseException as error:  # whatever it is, it is upstream's answer
        kind, text = type(error).__name__, innermost(error)
        if "JUDGE_TRACE" in os.environ:
            import traceback

            text += "\n" + traceback.format_exc()
    answer.send({"kind": kind, "text": text})
    answer.close()
    os._exit(0)


def asked(configure: t.Callable[[list[str]], None], case: dict[str, t.Any]) -> dict[str, str]:
    """The answer of a fork."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(False)
    process = context.Process(target=judged, args=(configure, case, there))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(PATIENCE) else {"kind": "judge", "text": f"no answer in {PATIENCE} s"}
    except EOFError:
        return {"kind": "judge", "text": "ended without an answer"}
    finally:
        process.kill()
        process.join()


def main() -> None:
    """Answer on the real standard output; vLLM's imports may print to it before."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    cases = [json.loads(line) for line in sys.stdin]
    configure = ready({name for case in cases for name in case["architectures"]})
    for case in cases:
        out.write(json.dumps(asked(configure, case)) + "\n")
        out.flush()
    out.close()
    os._exit(0)  # threads that vLLM starts would keep the process alive


if __name__ == "__main__":
    main()
