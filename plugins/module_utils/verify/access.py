# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step access: what the entry refuses. Without a key nothing is served, and clients do not reach paths of operators."""

from __future__ import annotations

from typing import Any

from ..tools.http_client import Reply, Target, ask, context_of
from .certificate import read_certificate
from .faults import Problem
from .probe import Probe
from .prompts import chat_of, completion_of
from .records import Record, failed, passed, skipped

LISTED = "/v1/models"
REFUSED = (401, 403)
TIMEOUT = 30.0


def why_not(plan: Any) -> str:
    """The reason to skip the step; "" if the entry refuses something."""
    if plan.entry.api_key or plan.entry.refused_paths or plan.entry.url.startswith("https://"):
        return ""
    return "the entry has no TLS, asks for no key and refuses no path"


def check_access(probe: Probe) -> list[Record]:
    """The certificate first: the other requests need to know how far it can be trusted."""
    entry, looked_at = probe.plan.entry, []
    broken: list[Problem] = []
    if ask(probe.entry._replace(validate_certs=False), LISTED, timeout=TIMEOUT).never_connected:
        return [skipped("access", "the entry does not answer; see step entry")]
    if entry.url.startswith("https://") and entry.validate_certs:
        broken += check_certificate(probe)
        looked_at.append("certificate valid")
    if entry.api_key:
        broken += _keys(probe)
        looked_at.append("no answer without a key or with a wrong one")
    if entry.refused_paths:
        broken += _paths(probe)
        looked_at.append(f"{len(entry.refused_paths)} paths of operators are refused")
    if broken:
        return [failed("access", "entry", problem) for problem in broken]
    return [passed("access", "entry", ", ".join(looked_at))]


def check_certificate(probe: Probe) -> list[Problem]:
    """Errors of the certificate; what cannot be judged is a remark. Later requests trust exactly this certificate."""
    entry = probe.plan.entry
    try:
        context_of(Target("", ca_path=entry.ca_path))
    except (OSError, ValueError) as error:
        return [Problem(f"the CA file {entry.ca_path} cannot be used: {error}", "ca_file")]
    try:
        found = read_certificate(probe.entry, min(TIMEOUT, probe.limits.request))
    except (OSError, ValueError) as error:
        return [Problem(f"no TLS connection: {error}", "no_tls")]
    if found.dates:
        return [Problem("its certificate " + found.dates, "certificate_dates")]
    problems = []
    if found.ending:
        probe.remark("entry", Problem("its certificate " + found.ending, "certificate_ends"))
    if found.name and entry.server_name:
        problems.append(Problem("its certificate " + found.name, "certificate_name"))
    elif found.name:
        probe.remark("entry", Problem("its certificate " + found.name, "certificate_name_unknown"))
    if found.issuer and entry.ca_path:
        problems.append(
            Problem(f"its certificate {found.issuer}, with the CA file {entry.ca_path}", "certificate_issuer")
        )
    elif found.issuer:
        probe.remark("entry", Problem("its certificate " + found.issuer, "certificate_issuer_unknown"))
    if not problems and (found.name or found.issuer):
        probe.entry = probe.entry._replace(ca_data=found.pem, ca_path="", check_name=not found.name)
    return problems


def _keys(probe: Probe) -> list[Problem]:
    """Requests without a key and with a wrong one must not be served; nor with one that only begins like a right one."""
    problems = []
    requests = (
        (LISTED, None, REFUSED),
        ("/v1/completions", completion_of(probe.plan.model, "x", 1), REFUSED),
        ("/v1/chat/completions", chat_of(probe.plan.model, "x", 1), (*REFUSED, 404)),  # 404: it has no chat
    )
    keys = [("without a key", ""), ("with a wrong key", "wrong-" + "0" * 16)]
    keys += [("with a longer key that begins with the right one", probe.entry.token + "0")] if probe.entry.token else []
    for text, token in keys:
        for path, payload, refused in requests:
            reply = _ask(probe, token, path, payload)
            if reply.status not in refused:
                problems.append(Problem(f"{path} {text} is answered with {_seen(reply)}, not HTTP 401", "open_entry"))
    return problems


def _paths(probe: Probe) -> list[Problem]:
    """Paths of operators must not exist for clients. GET only: none of them changes a service by it."""
    problems = []
    for path in probe.plan.entry.refused_paths:
        reply = _ask(probe, probe.entry.token, path, None)
        if reply.status == 401:
            return problems  # the key is wrong, as the step of the entry says, and more requests would be guesses
        if reply.status != 404:
            problems.append(Problem(f"{path} is answered with {_seen(reply)}, not HTTP 404", "open_path"))
    return problems


def _ask(probe: Probe, token: str, path: str, payload: dict[str, Any] | None) -> Reply:
    target = probe.entry._replace(token=token, validate_certs=False)  # the certificate has been judged
    return ask(target, path, payload, min(TIMEOUT, probe.limits.request))


def _seen(reply: Reply) -> str:
    return f"HTTP {reply.status}" if reply.status else reply.detail or reply.error
