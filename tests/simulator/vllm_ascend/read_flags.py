# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the flags of the real ``vllm serve`` for ``flags.json``.

Run it once per vLLM version, with a Python that can import that version (no device is needed)::

    VLLM_TARGET_DEVICE=empty python read_flags.py flags.json

It adds the flags to the file: name and aliases -> {kind of value: [versions of vLLM that have it]}.
"""

from __future__ import annotations

import argparse
import json
import sys

KINDS = {"int": "int", "float": "float", "parse_dataclass": "json", "loads": "json", "union_dict_and_str": "text"}


def real_parser():
    """The parser of the installed vLLM, and its version."""
    import vllm
    from vllm.entrypoints.openai import cli_args
    from vllm.platforms import current_platform

    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser
    except ImportError:
        from vllm.utils import FlexibleArgumentParser
    if not getattr(current_platform, "device_type", ""):
        type(current_platform).device_type = "cpu"  # the parser needs any name
    return cli_args.make_arg_parser(FlexibleArgumentParser(prog="vllm serve")), vllm.__version__


def kind_of(action):
    """The kind of value of a flag: bool, flag, int, float, json, text, one of a|b, or a list of them."""
    if isinstance(action, argparse.BooleanOptionalAction):
        return "bool"
    if action.nargs == 0:
        return "flag"
    convert = action.type
    for cell in getattr(convert, "__closure__", None) or ():
        if callable(cell.cell_contents) and cell.cell_contents is not json.dumps:
            convert = cell.cell_contents
    kind = KINDS.get(getattr(convert, "__name__", ""), "text")
    if action.choices:
        kind = "one of " + "|".join(str(choice) for choice in action.choices)
    return kind + ({"+": " list", "*": " list", "?": " optional"}.get(action.nargs, ""))


def main(path):
    parser, version = real_parser()
    try:
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    except FileNotFoundError:
        known = {}
    for action in parser._actions:
        names = [name for name in action.option_strings if not name.startswith("--no-")]
        if not names or names[-1] == "--help":
            continue
        names.sort(key=lambda name: (not name.startswith("--"), name))
        versions = known.setdefault(" ".join(names), {}).setdefault(kind_of(action), [])
        if version not in versions:
            versions.append(version)
    with open(path, "w", encoding="utf-8") as file:
        lines = [f"{json.dumps(name)}: {json.dumps(known[name])}" for name in sorted(known)]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1])
