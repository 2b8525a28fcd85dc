# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Digests of the secrets of a plan's services, which a process records when it starts, and with which it is compared later."""

from __future__ import annotations

import functools
import hashlib
import json
import typing as t

ROUNDS = 20_000  # some ms, once for all services with the same secrets: whoever reads a record cannot guess short keys quickly


def secret_digests(
    plan: t.Mapping[str, t.Any], services: t.Iterable[t.Mapping[str, t.Any]], secrets: t.Mapping[str, t.Any]
) -> dict[str, str]:
    """``{service: digest}`` of those services that read secrets.

    By the name of a secret, and not by that of its environment variable, so that engines and routers with the same key have the same digest.
    One whose secret is not in ``secrets`` is left out: its file cannot be written either.
    """
    found = {}
    for service in services:
        names = sorted(set((service.get("secret_env") or {}).values()))
        if names and all(name in secrets for name in names):
            found[str(service["name"])] = _digest(
                json.dumps([[name, str(secrets[name])] for name in names]), str(plan["directory"])
            )
    return found


@functools.cache
def _digest(text: str, salt: str) -> str:
    """PBKDF2 with the deployment's folder as salt: equal keys of two deployments do not look equal."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), salt.encode(), ROUNDS).hex()[:32]


def own_secrets(services: t.Iterable[t.Mapping[str, t.Any]], secrets: t.Mapping[str, t.Any]) -> list[str]:
    """The values of the secrets that these services get: what a host may know of ``inference_secrets``."""
    names = sorted({name for service in services for name in (service.get("secret_env") or {}).values()})
    return [str(secrets[name]) for name in names if name in secrets]
