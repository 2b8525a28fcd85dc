# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start scripts: a planned service's environment and command line as bash, with addresses from variables of the pod."""

from __future__ import annotations

import re
import shlex
import typing as t

from ...plan.service import Service

REFERENCE = re.compile(r"(\$\{[A-Z][A-Z0-9_]*\})")
WAIT_FOR_ENTRY = """\
ENTRY_IP=""
until [ -n "${ENTRY_IP}" ]; do
  ENTRY_IP="$(getent ahostsv4 "${ENTRY_ADDRESS}" | awk 'NR == 1 { print $1 }')" || true
  [ -n "${ENTRY_IP}" ] || { echo "waiting for the address of ${ENTRY_ADDRESS}" >&2; sleep 2; }
done
{ echo "${ENTRY_IP}" > "${TMPDIR:-/tmp}/ascend-inference-entry"; } || true
"""


def script(
    service: Service, variables: t.Collection[str], entry: str = "", literal: t.Mapping[str, str] | None = None
) -> str:
    """The bash script that starts ``service`` in its pod.

    ``variables`` are the names of the pod's variables besides POD_IP; ``entry`` is the address, in the plan, of the pod that
    runs the instance's first rank, if it is another one; ``literal`` has what stands for further addresses of the plan.
    """
    held = {service.address: "POD_IP"} | ({entry: "ENTRY_IP"} if entry else {})
    known = {*held.values(), *variables}
    swap = {address: "${" + name + "}" for address, name in held.items()} | dict(literal or {})
    lines = ["#!/bin/bash", f"# Starts {service.kind}. Written by ascend.inference: changes here are lost."]
    lines += [f"if [ -f {shlex.quote(path)} ]; then . {shlex.quote(path)}; fi" for path in service.source]
    lines.append("set -eu")
    if "START_ID" in known and any("${START_ID}" in argument for argument in service.argv):
        lines.append('START_ID="$(cat /proc/sys/kernel/random/uuid)"')
    if entry:
        lines.append(WAIT_FOR_ENTRY.rstrip("\n"))
    lines += [f"export {key}={quoted(_swapped(service.env[key], swap), known)}" for key in sorted(service.env)]
    arguments = [quoted(_swapped(argument, swap), known) for argument in service.argv]
    return "\n".join([*lines, "exec " + _folded(arguments)]) + "\n"


def quoted(text: str, known: t.Collection[str]) -> str:
    """One quoted shell string: everything literal, except ``${NAME}`` of the known names."""
    parts = []
    for part in REFERENCE.split(text):
        if REFERENCE.fullmatch(part) and part[2:-1] in known:
            parts.append(f'"{part}"')
        elif part:
            parts.append(shlex.quote(part))
    return "".join(parts) or "''"


def _swapped(text: str, swap: t.Mapping[str, str]) -> str:
    for placeholder in swap:
        text = text.replace(placeholder, swap[placeholder])
    return text


def _folded(arguments: t.Sequence[str]) -> str:
    """Each option with its values on a separate line."""
    text = arguments[0]
    for argument in arguments[1:]:
        text += (" \\\n  " if argument.startswith("--") else " ") + argument
    return text
