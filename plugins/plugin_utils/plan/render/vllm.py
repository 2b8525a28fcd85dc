# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of vLLM engines: flags from sizes, the user's arguments on top."""

from __future__ import annotations

import json
import typing as t

Arguments = dict[str, t.Any]


def merged(*layers: t.Mapping[str, t.Any]) -> Arguments:
    """Arguments of several layers, the later ones winning; ``max_num_seqs`` and ``max-num-seqs`` are one flag."""
    result: Arguments = {}
    for layer in layers:
        for key in layer:
            result[key.lstrip("-").replace("_", "-")] = layer[key]
    return result


def words(arguments: t.Mapping[str, t.Any]) -> list[str]:
    """The arguments as argv words in the order given.

    ``true`` is the bare flag, ``false`` its ``--no-`` form, ``null`` leaves it out, a mapping is compact JSON, a list
    repeats its words behind one flag.
    """
    argv: list[str] = []
    for key, value in arguments.items():
        if value is None:
            continue
        if isinstance(value, bool):
            argv.append(f"--{key}" if value else f"--no-{key}")
        elif isinstance(value, dict):
            argv += [f"--{key}", compact(value)]
        elif isinstance(value, (list, tuple)):
            argv += [f"--{key}", *(str(one) for one in value)]
        else:
            argv += [f"--{key}", str(value)]
    return argv


def compact(value: t.Any) -> str:
    """JSON in one word, without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
