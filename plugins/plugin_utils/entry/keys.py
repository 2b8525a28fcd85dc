# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of teams as digests. A key itself stays in its file on the controller."""

from __future__ import annotations

import hashlib
import re
import typing as t

from ..description.findings import Finding
from .settings import Entry

KEY = re.compile(r"[A-Za-z0-9._~+/=-]+")  # RFC 6750, b64token
DIGEST = re.compile(r"sha256:([0-9a-fA-F]{64})")
LEAST = 16  # characters: a shorter key can be found from its digest
WHY = "A request has to name exactly one team, and a key that can be guessed names none."


def team_keys(entry: Entry, texts: t.Mapping[str, str]) -> tuple[dict[str, str], list[Finding]]:
    """``{digest: team}``, and what is wrong with the files. ``texts``: contents by path. Findings contain no key."""
    found: dict[str, str] = {}
    findings = []
    for name, team in entry.teams.items():
        path = f"inference_entry.teams.{name}.keys_file"
        lines = [(number, line.strip()) for number, line in enumerate(texts[team.keys_file].splitlines(), 1)]
        written = [(number, line) for number, line in lines if line and not line.startswith("#")]
        if not written:
            findings.append(_finding(path, f"{team.keys_file} has no key", "Write a key into each line."))
        for number, line in written:
            digest, problem = _digest(line)
            if not problem and found.get(digest, name) != name:
                problem = f"is also a key of the team {found[digest]}"
            if problem:
                fix = "Write a random key of at least 16 characters, as openssl rand -hex 24 prints one."
                findings.append(_finding(path, f"line {number} of {team.keys_file} {problem}", fix))
            found[digest] = name
    return found, findings


def plain_key(text: str) -> str:
    """The first key of a file that is written there itself; "" if there is none. Secret."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line and not line.startswith(("#", "sha256:"))), "")


def _digest(line: str) -> tuple[str, str]:
    """Digest and problem of one line."""
    if given := DIGEST.fullmatch(line):
        return given[1].lower(), ""
    digest = hashlib.sha256(line.encode()).hexdigest()
    if line.startswith("sha256:"):
        return digest, "is not sha256: and 64 hexadecimal digits"
    if not KEY.fullmatch(line):
        return digest, "has a character other than A-Z a-z 0-9 . _ ~ + / = -"
    return digest, "" if len(line) >= LEAST else f"has fewer than {LEAST} characters"


def engine_keys(entry: Entry, texts: t.Mapping[str, str]) -> tuple[dict[str, str], list[Finding]]:
    """``{deployment: key}`` of those with a key, and what is wrong with it."""
    found, findings = {}, []
    for name, deployment in entry.deployments.items():
        if not deployment.api_key_file:
            continue
        key = texts[deployment.api_key_file].strip()
        if not key or any(not "!" <= character <= "~" for character in key):
            problem = f"{deployment.api_key_file} does not hold one key of printable characters without blanks"
            path = f"inference_entry.deployments.{name}.api_key_file"
            findings.append(_finding(path, problem, "Write the key, and nothing else, into the file."))
        found[name] = key
    return found, findings


def _finding(path: str, problem: str, fix: str) -> Finding:
    return Finding(path, "ENTRY-KEY", problem, fix, why=WHY)
