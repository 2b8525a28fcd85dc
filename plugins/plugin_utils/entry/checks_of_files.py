# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the entry's files on the controller: its certificate, the key of it, and who can read keys."""

from __future__ import annotations

import datetime
import fnmatch
import functools
import ipaddress
import os
import typing as t
from dataclasses import dataclass

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
except ImportError:  # ansible-core requires it, but ansible-test imports files without it
    x509 = serialization = None

from ..description.findings import Finding
from ..hosts.thresholds import Thresholds
from ..plan.rules.base import Rules
from .settings import Entry

RULES = Rules()
DAY = 86400
VAULT = b"$ANSIBLE_VAULT"


@dataclass(frozen=True)
class Files:
    """The settings, ``texts`` of their files and ``paths`` of these files on the controller by the names in the settings, and ``now`` in seconds since 1970."""

    entry: Entry
    texts: t.Mapping[str, str]
    paths: t.Mapping[str, str]
    now: float

    @functools.cached_property
    def certificate(self) -> t.Any:
        """The certificate that clients see, which is the first of the file. Raises ValueError."""
        return x509.load_pem_x509_certificate(self.texts[self.entry.certificate].encode())


@RULES.rule(
    "ENTRY-CERTIFICATE",
    "Order a certificate for the names that clients use, and write its file, or correct the file.",
    "RFC 5280, RFC 9525",
)
def certificate(case: Files) -> t.Iterator[Finding]:
    """The certificate of the entry is not one that clients accept, or not for long.

    Clients end the connection before they ask anything, once it is so.
    """
    path = "inference_entry.certificate"
    if case.entry.plain_http:
        return
    try:
        found = case.certificate
    except ValueError as error:
        yield Finding.at(path, case.entry.certificate, f"the file has no certificate in PEM format: {error}")
        return
    begins, ends = (_seconds(found, name) for name in ("not_valid_before", "not_valid_after"))
    left = (ends - case.now) / DAY
    if begins > case.now:
        yield Finding.at(path, case.entry.certificate, f"the certificate is valid only from {_date(begins)} on")
    if left < 0:
        yield Finding.at(path, case.entry.certificate, f"the certificate has expired on {_date(ends)}")
    elif left < Thresholds.certificate_days:
        problem = f"the certificate expires in {left:.0f} days, on {_date(ends)}"
        yield Finding.at(path, case.entry.certificate, problem, severity="warning")
    yield from _named(case, found)


def _named(case: Files, found: t.Any) -> t.Iterator[Finding]:
    """Whether the certificate is that of the address. Clients may use a name for it, which only they know."""
    path, address = "inference_entry.certificate", case.entry.address
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        problem = "the certificate has no subject alternative name, and clients compare no other one"
        yield Finding.at(path, case.entry.certificate, problem, severity="warning")
        return
    called = names.get_values_for_type(x509.DNSName)
    addresses = names.get_values_for_type(x509.IPAddress)
    try:
        fits = ipaddress.ip_address(address) in addresses
    except ValueError:
        fits = any(_matches(address.lower(), name.lower()) for name in called)
        called = []
    if not fits and called:
        problem = f"the certificate is of {', '.join(called)}, so clients have to use that, and not {address}"
        yield Finding.at(path, case.entry.certificate, problem, severity="remark")
    elif not fits:
        problem = f"the certificate is not of {address}, but of {', '.join(map(str, [*names])) or 'nobody'}"
        yield Finding.at(path, case.entry.certificate, problem, severity="warning")


def _matches(name: str, pattern: str) -> bool:
    return name.count(".") == pattern.count(".") and fnmatch.fnmatchcase(name, pattern)


@RULES.rule("ENTRY-CERTIFICATE-KEY", "Name the key with which this certificate was made.", "the two files")
def certificate_key(case: Files) -> t.Iterator[Finding]:
    """The key of the certificate is not its own, or cannot be read.

    The program refuses both, and the entry does not start.
    """
    path, name = "inference_entry.certificate_key", case.entry.certificate_key
    if case.entry.plain_http:
        return
    try:
        key = serialization.load_pem_private_key(case.texts[name].encode(), None)
    except (ValueError, TypeError) as error:  # TypeError: it has a password
        fault = "it has a password, which nobody types on the host" if isinstance(error, TypeError) else f"{error}"
        yield Finding.at(path, name, f"the file has no key in PEM format that can be used: {fault}")
        return
    try:
        certified = _public(case.certificate.public_key())
    except ValueError:
        return  # the certificate itself is a finding
    if _public(key.public_key()) != certified:
        yield Finding.at(path, name, f"the key is not that of {case.entry.certificate}")


@RULES.rule(
    "ENTRY-KEY-MODE",
    "chmod 600 FILE, or chmod 700 for its folder, or encrypt the file with Ansible Vault.",
    "chmod(1)",
    "warning",
)
def modes(case: Files) -> t.Iterator[Finding]:
    """Other users of the controller can read or change a file of keys.

    Whoever reads it is that team, or the entry itself; whoever changes it gives himself a key.
    """
    keys = {f".teams.{name}.keys_file": team.keys_file for name, team in case.entry.teams.items()}
    keys.update(
        {f".deployments.{name}.api_key_file": each.api_key_file for name, each in case.entry.deployments.items()}
    )
    keys[".certificate_key"] = case.entry.certificate_key
    for name, file in keys.items():
        path = os.path.expanduser(case.paths.get(file, ""))
        others = _others(path) if path else ""
        if others:
            yield Finding.at(f"inference_entry{name}", file, f"{others} of the controller can read or change {path}")


def _others(path: str) -> str:
    """Who else reads or writes a file; empty if nobody, if it is a vault, or if it is not there."""
    try:
        mode, folder = os.stat(path).st_mode, os.stat(os.path.dirname(path) or ".").st_mode
        with open(path, "rb") as file:
            if file.read(len(VAULT)) == VAULT:
                return ""
    except OSError:
        return ""
    if folder & 0o001 and mode & 0o006:
        return "all users"
    return "users of its group" if folder & 0o010 and mode & 0o060 else ""


def _public(key: t.Any) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return bytes(key.public_bytes(serialization.Encoding.DER, form))


def _seconds(found: t.Any, name: str) -> float:
    time = getattr(found, f"{name}_utc", None)  # cryptography 42
    return float((time or getattr(found, name).replace(tzinfo=datetime.timezone.utc)).timestamp())


def _date(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d")
