# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a recorded plan would send secrets and requests: to the inventory's own hosts only, whoever wrote the record."""

from __future__ import annotations

import typing as t
from urllib.parse import urlsplit

from ..description.inventory import PREFIX

Variables = t.Mapping[str, t.Any]
NAMES = (PREFIX + "address", "ansible_host", "inventory_hostname", PREFIX + "router")  # variables with addresses
ADDRESSES = ("url", "master_url", "bootstrap")  # keys of a plan's section verify, which service_verify and others ask
SECRETS = frozenset({"api_key", "client_keys"})  # those that plans of this collection give to services
ELSEWHERE = (
    "The recorded plan would send requests and keys to {}, which is no address of the inventory's. Nothing was changed. Fix: if it was one when the "
    "plan was deployed, give it back to the inventory for the rollback; otherwise find out who changed the record, and run site."
)
UNKNOWN_SECRET = (
    "The recorded plan would give services the secret {}, which no plan of this inventory gives to any. Nothing was changed. Fix: find out who "
    "changed the record, and run site."
)


def own_addresses(hostvars: t.Iterable[Variables], todays: Variables) -> set[str]:
    """The addresses that the inventory itself names: of its hosts, of ``inference_router``, and in today's plan if it can be made."""
    found = {str(host.get("address")) for host in todays.get("hosts", ())}
    found |= _named(todays.get("verify") or {})
    for variables in hostvars:
        *names, router = (variables.get(name) for name in NAMES)
        found |= {str(name) for name in names if name}
        found |= {str(value).partition("/")[0] for value in router.values()} if isinstance(router, dict) else set()
    return {address.lower() for address in found}


def foreign(plan: Variables, own: t.Container[str], todays: Variables) -> list[str]:
    """Refusals for a whole plan that names other addresses than ``own`` for requests, or other secrets than plans have."""
    known = SECRETS | _secrets(todays)
    elsewhere = sorted(address for address in _named(plan.get("verify") or {}) if address.lower() not in own)
    found = [ELSEWHERE.format(", ".join(elsewhere))] if elsewhere else []
    return found + [UNKNOWN_SECRET.format(name) for name in sorted(_secrets(plan) - known)]


def _named(value: t.Any) -> set[str]:
    """The hosts of all addresses in a plan's section ``verify``."""
    if isinstance(value, (list, tuple)):
        return {name for item in value for name in _named(item)}
    if not isinstance(value, dict):
        return set()
    found = {_host(str(value[key])) for key in ADDRESSES if value.get(key)}
    return found | {name for item in value.values() for name in _named(item)}


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:
        return url


def _secrets(plan: Variables) -> set[str]:
    """Names of the secrets that a plan gives to its services and to the verification."""
    check = plan.get("verify") or {}
    names = [check.get("engine_api_key"), (check.get("entry") or {}).get("api_key")]
    return {str(name) for service in plan.get("services", ()) for name in service.get("secret_env", {}).values()} | {
        str(name) for name in names if name
    }
