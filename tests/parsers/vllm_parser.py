# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside an environment of one vLLM and asks its own argument parser; starts no engine.

``vllm_parser.py flags`` prints the parser's options as JSON, for collect_flags.py.
``vllm_parser.py check`` reads one JSON list of words per line (what stands after ``vllm serve``) and answers each with
one JSON line ``{"ok": true, "message": ""}``: argparse, then ``EngineArgs``, then ``KVTransferConfig``.
``vllm_parser.py client`` does the same with what stands after ``vllm bench serve``: argparse.

What it cannot see: the content of --additional-config and of kv_connector_extra_config, the connector's name, and
whatever depends on the model. Rules of the planner judge those.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
import os
import sys
import typing as t

os.environ.update(VLLM_TARGET_DEVICE="empty", VLLM_LOGGING_LEVEL="ERROR", VLLM_NO_USAGE_STATS="1")


def let_models_be_registered_twice() -> None:
    """Old vLLM registers model types that a newer transformers already knows; the parser does not care."""
    from transformers.models.auto import configuration_auto

    mapping = configuration_auto._LazyConfigMapping
    register = mapping.register
    mapping.register = lambda self, key, value, exist_ok=False: register(self, key, value, exist_ok=True)


def first(*names: str) -> t.Any:
    """The first of the modules that this vLLM has; it moved them over the versions."""
    for name in names[:-1]:
        with contextlib.suppress(ModuleNotFoundError):  # raised where the parent is no package in this vLLM
            if importlib.util.find_spec(name):
                return importlib.import_module(name)
    return importlib.import_module(names[-1])


def parser() -> tuple[t.Any, t.Any]:
    """The parser of ``vllm serve`` and the module that made it, wherever this vLLM keeps them."""
    let_models_be_registered_twice()
    FlexibleArgumentParser = first("vllm.utils.argparse_utils", "vllm.utils").FlexibleArgumentParser
    cli_args = first("vllm.entrypoints.openai.cli_args", "vllm.entrypoints.launchers.cli_args")
    from vllm.platforms import current_platform

    if not getattr(current_platform, "device_type", ""):
        type(current_platform).device_type = "cpu"
    made = serve_parser(FlexibleArgumentParser, cli_args)
    for action in made._actions:
        if "--quantization" in action.option_strings and action.choices and "ascend" not in action.choices:
            action.choices = [*action.choices, "ascend"]  # vLLM-Ascend's platform adds it in the same way
    return made, cli_args


def client_parser() -> t.Any:
    """The parser of ``vllm bench serve``."""
    let_models_be_registered_twice()
    made = first("vllm.utils.argparse_utils", "vllm.utils").FlexibleArgumentParser(prog="vllm bench serve")
    importlib.import_module("vllm.benchmarks.serve").add_cli_args(made)
    return made


SAMPLES = (("int", "5"), ("float", "0.5"), ("size", "2k"), ("json", "{}"))


def serve_parser(kind: t.Any, cli_args: t.Any) -> t.Any:
    """The parser of ``vllm serve``: up to 0.9 the subcommand itself adds some of the flags."""
    import vllm

    if not vllm.__version__.startswith("0.9."):
        return cli_args.make_arg_parser(kind(prog="vllm serve"))
    from vllm.entrypoints.cli.serve import ServeSubcommand

    made = ServeSubcommand().subparser_init(kind(prog="vllm").add_subparsers())
    made.prog = "vllm serve"
    return made


def accepts(convert: t.Callable[[str], t.Any], sample: str) -> bool:
    """Whether an option's own type takes the sample."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            convert(sample)
        except Exception:
            return False
    return True


def kind_of(action: t.Any) -> str:
    """flag (no value), bool (with a ``--no-`` form), or what the option's own type accepts: int, float, size, json, str.

    ``+`` marks one or several values, ``?`` an optional one.
    """
    if action.nargs == 0:
        return "bool" if any(string.startswith("--no-") for string in action.option_strings) else "flag"
    many = "+" if action.nargs in ("+", "*") else "?" if action.nargs == "?" else ""
    if not action.type or accepts(action.type, "an: odd {word"):
        return "str" + many
    taken = [kind for kind, sample in SAMPLES if accepts(action.type, sample)]
    for kind in ("json", "size", "float", "int"):
        if kind in taken:
            return kind + many
    return "str" + many


def flags(made: t.Any) -> dict[str, dict[str, t.Any]]:
    """Each option by its long name, with kind, other spellings and short lists of choices."""
    found = {}
    for action in made._actions:
        names = [string[2:] for string in action.option_strings if string.startswith("--")]
        if not names or names[0] == "help":
            continue
        short = [string for string in action.option_strings if not string.startswith("--")]
        found[names[0].replace("_", "-")] = {
            "kind": kind_of(action),
            "spellings": short + [name.replace("_", "-") for name in names[1:] if not name.startswith("no-")],
            "choices": sorted(str(choice) for choice in action.choices if choice is not None) if action.choices else [],
        }
    return found


def build(module: t.Any, space: t.Any) -> None:
    """What ``vllm serve`` makes of its arguments before the engine starts."""
    from vllm.config import KVTransferConfig
    from vllm.engine.arg_utils import EngineArgs

    if hasattr(module, "validate_parsed_serve_args"):
        space.subparser = "serve"
        module.validate_parsed_serve_args(space)
    config = getattr(EngineArgs.from_cli_args(space), "kv_transfer_config", None)
    if isinstance(config, dict):
        KVTransferConfig(**config)


def refusal(made: t.Any, words: list[str], then: t.Callable[[t.Any], None]) -> str:
    """Why this vLLM does not accept the words, or what ``then`` makes of them; an empty string if it does."""
    output = io.StringIO()
    with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
        try:
            then(made.parse_args(words))
        except SystemExit:
            lines = output.getvalue().strip().splitlines()
            return next((line for line in reversed(lines) if "error:" in line), lines[-1] if lines else "refused")
        except Exception as error:
            return f"{type(error).__name__}: {str(error).strip()[:500]}"
    return ""


def main() -> None:
    """Answer on the real standard output; vLLM's imports may print to it before."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    made, module = (client_parser(), None) if sys.argv[1:] == ["client"] else parser()
    if sys.argv[1:] == ["flags"]:
        json.dump(flags(made), out)
    else:
        for line in sys.stdin:
            message = refusal(made, json.loads(line), functools.partial(build, module) if module else repr)
            out.write(json.dumps({"ok": not message, "message": message}) + "\n")
    out.flush()
    os._exit(0)  # threads that vLLM starts would keep the process alive


if __name__ == "__main__":
    main()
