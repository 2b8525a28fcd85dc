# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of vLLM engines: flags from sizes, the user's arguments on top."""

from __future__ import annotations

import json
import typing as t

Arguments = dict[str, t.Any]


def canonical(key: str) -> str:
    """The one form of a flag's name: ``--max_num_seqs``, ``max_num_seqs`` and ``max-num-seqs`` are ``max-num-seqs``.

    What stands behind a dot is a key inside a configuration, whose spelling counts: vLLM's parser leaves it as it is, so
    ``attention_config.indexer_kv_dtype`` is ``attention-config.indexer_kv_dtype``.
    """
    head, dot, tail = str(key).lstrip("-").partition(".")
    return head.replace("_", "-") + dot + tail


def merged(*layers: t.Mapping[str, t.Any]) -> Arguments:
    """Arguments of several layers by their canonical names, the later ones winning."""
    result: Arguments = {}
    for layer in layers:
        for key in layer:
            result[canonical(key)] = layer[key]
    return result


def words(arguments: t.Mapping[str, t.Any]) -> list[str]:
    """The arguments as argv words in the order given.

    ``true`` is the bare flag, ``false`` its ``--no-`` form, ``null`` leaves it out, a mapping is compact JSON, a list
    repeats its words behind one flag. A key inside a configuration (``compilation-config.mode``) always has one value,
    which vLLM reads as JSON.
    """
    argv: list[str] = []
    for key, value in arguments.items():
        if value is None:
            continue
        if "." in key and isinstance(value, (bool, dict, list, tuple)):
            argv += [f"--{key}", compact(value)]
        elif isinstance(value, bool):
            argv.append(f"--{key}" if value else f"--no-{key}")
        elif isinstance(value, dict):
            argv += [f"--{key}", compact(value)]
        elif isinstance(value, (list, tuple)):
            argv += [f"--{key}", *(str(item) for item in value)]
        else:
            argv += [f"--{key}", str(value)]
    return argv


def compact(value: t.Any) -> str:
    """JSON in one word, without blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
