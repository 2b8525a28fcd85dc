# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan's objects as YAML, suitable for ``kubectl apply -f -``."""

from __future__ import annotations

import typing as t

import yaml

NOTE = "# ConfigMap {name} is filled with the pods' addresses by the role kthena, not by kubectl.\n"


class _Dumper(yaml.SafeDumper):
    """Scripts as blocks, and quotes around strings that other YAML parsers read as numbers."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else "'" if _like_a_number(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _like_a_number(value: str) -> bool:
    """PyYAML writes the string 1e5 or 0128 without quotes; kubectl reads both as numbers and the server refuses them."""
    for read in (float, lambda text: int(text, 0)):
        try:
            read(value)
        except ValueError:
            continue
        return True
    return False


_Dumper.add_representer(str, _text)
_Dumper.ignore_aliases = lambda *_unused: True  # type: ignore[method-assign]  # no aliases: each document is independent


def manifests(plan: t.Mapping[str, t.Any]) -> str:
    """The plan's objects as YAML documents, in apply order; each begins with ``---``, and ``...`` ends the last.

    The targets are empty: the addresses for the router are known only when pods run.
    """
    parts = []
    for item in plan["objects"]:
        if item["kind"] == "ConfigMap" and item["metadata"]["name"] == plan["kubernetes"]["targets"]["config_map"]:
            parts.append(NOTE.format(name=item["metadata"]["name"]))
        parts.append(yaml.dump(item, Dumper=_Dumper, sort_keys=False, explicit_start=True, width=1000))
    return "".join(parts) + "...\n"
