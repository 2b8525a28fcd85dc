# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the entry tells of its settings in its metrics, and what of them the hosts should tell. No secret is in it."""

from __future__ import annotations

import datetime
import hashlib
import json
import typing as t

try:
    from cryptography import x509
except ImportError:  # ansible-core requires it, but ansible-test imports files without it
    x509 = None

from . import haproxy
from .keys import team_keys
from .pair import pair_of
from .plan import Route, entry_plan
from .reading import read_entry
from .settings import Entry

PREFIX = "ascend_inference_entry_"


def settings_digest(entry: Entry, hosts: t.Mapping[str, str], texts: t.Mapping[str, str]) -> str:
    """The same for all hosts: of the first one's files without keys of engines, and of the certificate."""
    plan = entry_plan(entry, pair_of(hosts, next(iter(hosts))))
    contents = haproxy.files(plan, "", "", "", team_keys(entry, texts)[0], {})
    whole = json.dumps([contents, texts.get(entry.certificate, "")], sort_keys=True)
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def told(entry: Entry, hosts: t.Mapping[str, str], texts: t.Mapping[str, str]) -> str:
    """Lines of metrics that change with the files alone."""
    lines = [
        f"# TYPE {PREFIX}settings_info gauge",
        f'{PREFIX}settings_info{{digest="{settings_digest(entry, hosts, texts)}"}} 1',
    ]
    ends = _ends(texts.get(entry.certificate, ""))
    if ends:
        name = f"{PREFIX}certificate_expires_timestamp_seconds"
        lines += [f"# TYPE {name} gauge", f"{name} {ends}"]
    return "".join(f"{line}\n" for line in lines)


def entry_expected(settings: t.Any, hosts: t.Mapping[str, str], texts: t.Mapping[str, str]) -> dict[str, t.Any]:
    """``{digest, routers: {model: [routers, those of its fallback]}}``: what hosts with these settings tell. Raises PlanError.

    ``texts``: contents of the sources of ``entry_service``; without them there is no digest.
    """
    entry = read_entry(settings, hosts)
    plan = entry_plan(entry, pair_of(hosts, next(iter(hosts))))
    digest = settings_digest(entry, hosts, texts) if texts else ""
    return {"digest": digest, "routers": {route.model: _numbers(route) for route in plan.routes}}


def _numbers(route: Route) -> list[int]:
    first = sum(not way.spare and way.weight > 0 for way in route.ways)
    return [first, sum(way.spare for way in route.ways) + bool(route.other)]


def _ends(certificate: str) -> int:
    """When the certificate ends, in seconds since 1970; 0 if it cannot be read, which the program refuses itself."""
    try:
        found = x509.load_pem_x509_certificate(certificate.encode())
    except ValueError:
        return 0
    ends = getattr(found, "not_valid_after_utc", None)  # cryptography 42
    return int((ends or found.not_valid_after.replace(tzinfo=datetime.timezone.utc)).timestamp())
