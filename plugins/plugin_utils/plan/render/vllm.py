# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of vLLM engines: options derived from sizes, overridden by the user's."""

from __future__ import annotations

import json
import typing as t

from ...description.values import canonical

Arguments = dict[str, t.Any]


def merged(*layers: t.Mapping[str, t.Any]) -> Arguments:
    """Options of several layers by canonical name; later layers take precedence."""
    result: Arguments = {}
    for layer in layers:
        for key in layer:
            result[canonical(key)] = layer[key]
    return result


def split(argv: t.Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Options and their values, in order; arguments before the first option are omitted."""
    found: list[tuple[str, list[str]]] = []
    for argument in argv:
        if argument.startswith("--"):
            found.append((argument[2:], []))
        elif found:
            found[-1][1].append(argument)
    return tuple((name, tuple(values)) for name, values in found)


def command_line(arguments: t.Mapping[str, t.Any]) -> list[str]:
    """The options as a list of command line arguments, in the given order.

    ``true`` is the option without a value, ``false`` its ``--no-`` form, ``null`` omits it, a mapping is compact JSON, a list
    becomes several values of one option, mappings among them as JSON. A key inside a configuration (``compilation-config.mode``) always has one value,
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
            argv += [f"--{key}", *(compact(item) if isinstance(item, (dict, list)) else str(item) for item in value)]
        else:
            argv += [f"--{key}", str(value)]
    return argv


def compact(value: t.Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
