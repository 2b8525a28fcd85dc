# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The alerts of an entry, as data like those of deployments. All of its metrics are always there."""

from __future__ import annotations

from .alerts import Alert

REFUSED = "ascend_inference_entry_refused_total{$of,"
ENTRY_DOWN = Alert(
    "EntryDown",
    "critical",
    ("up{$of} == 0",),
    30,
    "the host of the entry does not answer the query of its metrics",
    "The host or the program of the entry ended, Prometheus is not in inference_entry.monitoring, or a firewall is in between.",
    "Run status. If the entry serves there, open its status_port to Prometheus. Of two hosts the other one has the address after some seconds.",
    of="host",
)
ENTRY_MODEL = Alert(
    "EntryModelDown",
    "critical",
    ("sum by (host, model) (ascend_inference_entry_routers{$of}) == 0",),
    30,
    "no router answers for this model at the entry, neither its own nor its fallback",
    "Its deployments are down, their routers moved, or the network between them and the host of the entry is interrupted. Clients get status 503.",
    "Run status of its deployments, then entry, which reads where their routers are.",
    of="model",
)
ENTRY_FALLBACK = Alert(
    "EntryFallback",
    "warning",
    (
        'ascend_inference_entry_routers{$of,way="first"} == 0 and on (host, model) '
        'ascend_inference_entry_routers{$of,way="fallback"} > 0',
    ),
    60,
    "the fallback of this model answers in its place",
    "No router of its own deployments answers the entry.",
    "Run status of its deployments. Requests return by themselves.",
    of="model",
)
ENTRY_CERTIFICATE = Alert(
    "EntryCertificateExpires",
    "warning",
    ("ascend_inference_entry_certificate_expires_timestamp_seconds{$of} - time() < $threshold * 86400",),
    0,
    "the certificate of the entry expires soon or has expired",
    "Nobody renewed the file, or the playbook entry was not run since. Clients refuse an expired certificate.",
    "Write the new certificate into the files of inference_entry, and run entry.",
    threshold=14,
    unit="days",
    of="host",
)
ENTRY_LIMIT = Alert(
    "EntryTeamAtLimit",
    "warning",
    (f'sum by (team) (rate({REFUSED}reason!="key"}}[$window])) * 60 > $threshold',),
    900,
    "requests of this team are refused all the time, because it is at its limit",
    "The team sends more than its limit allows, or its client repeats refused requests without waiting for Retry-After.",
    "Look at usage, then raise the limit in inference_entry.teams and run entry, or talk to the team.",
    threshold=1,
    unit="refused requests per minute",
    window=300,
    of="team",
)
ENTRY_KEYS = Alert(
    "EntryUnknownKeys",
    "warning",
    (f'sum by (host) (rate({REFUSED}reason="key"}}[$window])) * 60 > $threshold',),
    300,
    "many requests have no key that the entry knows, and get status 401 or 429",
    "A client has a key that was removed, a team's new key was not deployed, or somebody guesses keys.",
    "Ask the teams whose keys changed last. Block addresses that guess at the firewall.",
    threshold=60,
    unit="requests per minute",
    window=300,
    of="host",
)
ENTRY_DIFFERS = Alert(
    "EntryHostsDiffer",
    "warning",
    ("count(count by (digest) (ascend_inference_entry_settings_info{$of})) > $threshold",),
    900,
    "the hosts of the entry run with different settings, keys of teams or certificates",
    "The last run of entry did not reach one of them. A removed key may still be valid there.",
    "Run entry, without --limit.",
    threshold=1,
    unit="versions",
    of="deployment",
)
ENTRY_ALERTS: tuple[Alert, ...] = (
    ENTRY_DOWN,
    ENTRY_MODEL,
    ENTRY_FALLBACK,
    ENTRY_CERTIFICATE,
    ENTRY_LIMIT,
    ENTRY_KEYS,
    ENTRY_DIFFERS,
)
