# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of a deployment as one record, so that an archive can be checked again without the site."""

from __future__ import annotations

import typing as t

from ...module_utils.support.redact import LEFT_OUT, Redactor
from ..description.inventory import deployment_variables, inventory_of, members
from ..description.loader import plain

Variables = t.Mapping[str, t.Any]
SECRETS = "inference_secrets"
# What a check of the same hosts needs besides the deployment's own variables.
OPTIONS = ("inference_check_ignore", "host_check_thresholds", "host_check_tcp", "host_check_counter_seconds")


def declaration(
    planned: t.Collection[str], hostvars: t.Mapping[str, Variables], groups: t.Mapping[str, t.Any], only: str
) -> dict[str, t.Any]:
    """``{variables, hosts: {name: {groups, variables}}}`` of the planned hosts, without secrets.

    ``groups``: Ansible's groups of the inventory; ``only``: the group of the deployment, or empty.
    """
    hosts = {name: found for name, found in members(groups, only).items() if name in planned}
    controller = hostvars["localhost"]
    variables, _conflicts = deployment_variables(controller, hostvars, hosts)
    first = hostvars[next(iter(hosts))] if hosts else controller
    options = {name: plain(first[name]) for name in OPTIONS if name in first}
    secrets = variables.pop(SECRETS, None) or {}
    redactor = Redactor(str(value) for value in secrets.values())
    whole = {"variables": {**variables, **options}, "hosts": inventory_of(hostvars, hosts)}
    return t.cast("dict[str, t.Any]", _clean(whole, redactor))


def records(variables: Variables) -> list[str]:
    """What check_info and hccn_ping recorded on a host, from its registered results."""
    found = [(variables.get(name) or {}).get("record") for name in ("host_check_gathered", "host_check_pinged")]
    return [str(text) for text in found if text]


def _clean(value: t.Any, redactor: Redactor, name: str = "") -> t.Any:
    """The value with texts that have no secrets, such as a password in the URL of a package index. ``name``: of the field, or the word before it."""
    if isinstance(value, t.Mapping):
        outer = name if _is_secret(redactor, name) else ""
        return {
            redactor.without_secrets(str(key)): _clean(item, redactor, outer or str(key)) for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        before = [name, *(item if isinstance(item, str) and item.startswith("-") else name for item in value)]
        return [_clean(item, redactor, word) for item, word in zip(value, before, strict=False)]
    if value not in (None, "") and not isinstance(value, bool) and _is_secret(redactor, name):
        return LEFT_OUT
    return redactor.without_secrets(value) if isinstance(value, str) else value


def _is_secret(redactor: Redactor, name: str) -> bool:
    """Whether a field of this name holds a secret, also in the fields below it."""
    pair = f"{name}: value"
    return redactor.without_secrets(pair) != pair
