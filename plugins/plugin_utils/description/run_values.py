# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run variables with one boolean or number. They are judged before a playbook begins: Ansible takes a misspelt boolean for false."""

from __future__ import annotations

import math
import typing as t

BOOLEANS = (
    "allow_pause",
    "bundle_model",
    "check_packages",
    "fabric_accept_loss",
    "fabric_rollback",
    "keep_placement",
    "models_verify",
    "plan_only",
    "recipe_fit",
    "rehearse",
    "remove_caches",
    "remove_models",
    "status_fail",
)
NUMBERS = {  # unit and example
    "advise_seconds": ("seconds", 60),
    "drain_timeout": ("seconds", 300),
    "join_timeout": ("seconds", 300),
    "logs_mib": ("MiB", 64),
    "logs_minutes": ("minutes", 30),
    "trace_requests": ("requests", 8),
    "upgrade_watch": ("seconds", 60),
    "watchdog_per_hour": ("restarts", 2),
}
MAPPINGS = {  # example
    "bundle_archive_checksums": "{protobuf-25.1.tar.gz: 'sha256:...'}",
    "bundle_controller": "{machine: x86_64, python: '3.12', glibc: '2.35'}",
    "bundle_platform": "{machine: aarch64, python: '3.11', glibc: '2.35'}",
}
CHOICES = {
    "bundle_show": ("list",),
    "index_strategy": ("first-index", "unsafe-first-match", "unsafe-best-match"),
    "upgrade_mode": ("rolling", "blue_green", "recreate"),
    "watchdog": ("report", "restart"),
}
TEXTS = {  # example
    "bundle": "/srv/bundle",
    "bundle_archives": "/srv/archives",
    "bundle_base": "/srv/older-bundle",
    "bundle_directory": "/var/cache/ascend-inference/bundle",
    "bundle_keyring": "/srv/keys.gpg",
    "bundle_minisign_key": "/srv/minisign.key",
    "bundle_minisign_public_key": "/srv/minisign.pub",
    "bundle_path": "/srv/bundle",
    "bundle_url": "http://192.0.2.1/bundle",
    "recipe_show": "qwen3-235b-w8a8-a3",
}
FRACTIONS = ("upgrade_watch",)
WRITTEN = frozenset(
    ["true", "false", "yes", "no", "on", "off", "1", "0"]
)  # what the filter bool of each ansible-core knows


def wrong_values(variables: t.Mapping[str, t.Any]) -> list[str]:
    """Why run variables have no value of their type, one text for each. With ``-e name=value`` every value is a text."""
    found = []
    for name in (f"inference_{name}" for name in BOOLEANS):
        if name in variables and str(variables[name]).lower() not in WRITTEN:
            found.append(
                f"{name}: {_shown(variables[name])} is no boolean, and would silently be taken for false. Nothing was changed. "
                f"Fix: write true or false, such as {name}: true."
            )
    for name, (unit, example) in NUMBERS.items():
        path = f"inference_{name}"
        if path in variables and not _is_number(variables[path], name in FRACTIONS):
            found.append(
                f"{path}: {_shown(variables[path])} is no number of {unit}. Nothing was changed. "
                f"Fix: write {unit} as a number without a unit, such as {path}: {example}."
            )
    for name, example in MAPPINGS.items():
        path = f"inference_{name}"
        if variables.get(path) and not isinstance(variables[path], t.Mapping):
            found.append(
                f"{path}: {_shown(variables[path])} is no mapping. Nothing was changed. Fix: write {path}: {example}, "
                f"on the command line as JSON: -e '{{\"{path}\": {{...}}}}'."
            )
    for name, choices in CHOICES.items():
        path = f"inference_{name}"
        if variables.get(path) not in (None, "", *choices):
            found.append(
                f"{path}: {_shown(variables[path])} is no value of it. Nothing was changed. Fix: write {path}: {' or '.join(choices)}, or leave it out."
            )
    for name, example in TEXTS.items():
        path = f"inference_{name}"
        if isinstance(variables.get(path), (t.Mapping, list, tuple)):
            found.append(
                f"{path}: {_shown(variables[path])} is no text. Nothing was changed. Fix: write {path}: {example}."
            )
    return found


def _is_number(value: t.Any, fraction: bool) -> bool:
    try:
        number = float(str(value))
    except ValueError:
        return False
    return math.isfinite(number) and number >= 0 and (fraction or number == int(number))


def _shown(value: t.Any) -> str:
    return repr(str(value)[:80]) if isinstance(value, str) else str(value)[:80]
