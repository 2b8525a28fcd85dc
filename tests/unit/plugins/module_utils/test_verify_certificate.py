# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verification through TLS, as clients reach the service: dates, names and issuers of the certificate."""

from __future__ import annotations

import datetime
import ipaddress
import re
import ssl

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.gate import verify
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys, Limits
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster

pytest.importorskip("cryptography", reason="makes certificates")
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

LIMITS = Limits(connect=0.0, request=20.0, settle=1.0)
NOW = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)


def name_of(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


class Authority:
    """An own authority, as most companies have."""

    def __init__(self, folder):
        self.folder, self.key = folder, ec.generate_private_key(ec.SECP256R1())
        certificate = self.signed(
            name_of("authority"), self.key.public_key(), NOW + datetime.timedelta(days=99), authority=True
        )
        self.path = folder / "ca.pem"
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def signed(self, subject, public_key, end, names=(), authority=False):
        made = x509.CertificateBuilder(name_of("authority"), subject, public_key, x509.random_serial_number())
        made = made.not_valid_before(end - datetime.timedelta(days=400)).not_valid_after(end)
        made = made.add_extension(x509.BasicConstraints(authority, None), critical=True)
        if names:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return made.sign(self.key, hashes.SHA256())

    def server(self, days=90, name="", address="127.0.0.1"):
        """The TLS context of a server whose certificate ends in so many days."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(name)] if name else [x509.IPAddress(ipaddress.ip_address(address))]
        end = NOW + datetime.timedelta(days=days)
        certificate = self.signed(name_of("server"), key.public_key(), end, names)
        path = self.folder / "server.pem"
        form = serialization.PrivateFormat.PKCS8
        secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + secret)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(path))
        return context


def run(folder, context, **entry):
    with Cluster(folder, prefill=1, decode=1, front_key="planted-key", tls=context) as cluster:
        plan = cluster.plan()
        plan["entry"].update(entry)
        return verify(read_plan(plan), Keys("", "planted-key"), LIMITS)


def found(report):
    return {(item["id"], item["severity"]) for item in report["findings"]}


# case: (what the server has, what the plan says of the entry, findings); the CA file of the plan is the authority's unless it is False
CASES = {
    "sound, with the clients' CA file": ({}, {}, set()),
    "sound, with the clients' name": ({"name": "llm.example"}, {"server_name": "llm.example"}, set()),
    "expired": ({"days": -1}, {}, {("VERIFY-CERTIFICATE-DATES", "error")}),
    "not valid yet": ({"days": 500}, {}, {("VERIFY-CERTIFICATE-DATES", "error")}),
    "expires soon": ({"days": 5}, {}, {("VERIFY-CERTIFICATE-ENDS", "warning")}),
    "not for the clients' name": (
        {"name": "llm.example"},
        {"server_name": "other.example"},
        {("VERIFY-CERTIFICATE-NAME", "error")},
    ),
    "not for the address, and the clients' name is unknown": (
        {"name": "llm.example"},
        {},
        {("VERIFY-CERTIFICATE-NAME-UNKNOWN", "warning")},
    ),
    "expires soon, and not for the address": (
        {"days": 5, "name": "llm.example"},
        {},
        {("VERIFY-CERTIFICATE-ENDS", "warning"), ("VERIFY-CERTIFICATE-NAME-UNKNOWN", "warning")},
    ),
    "not for this address": ({"address": "10.9.9.9"}, {}, {("VERIFY-CERTIFICATE-NAME-UNKNOWN", "warning")}),
    "an unknown issuer, and no CA file": ({}, {"ca_path": False}, {("VERIFY-CERTIFICATE-ISSUER-UNKNOWN", "warning")}),
    "another CA file": ({}, {"ca_path": "other"}, {("VERIFY-CERTIFICATE-ISSUER", "error")}),
    "no such CA file": ({}, {"ca_path": "/no/such.pem"}, {("VERIFY-CA-FILE", "error")}),
    "no certificate in the CA file": ({}, {"ca_path": __file__}, {("VERIFY-CA-FILE", "error")}),
}


@pytest.mark.parametrize(("has", "entry", "expected"), CASES.values(), ids=CASES)
def test_the_certificate_is_judged(tmp_path, has, entry, expected):
    authority = Authority(tmp_path)
    if entry.get("ca_path") == "other":
        (tmp_path / "other").mkdir()
        entry = dict(entry, ca_path=str(Authority(tmp_path / "other").path))
    entry = dict({"ca_path": str(authority.path)}, **entry)
    if entry["ca_path"] is False:
        del entry["ca_path"]
    report = run(tmp_path, authority.server(**has), **entry)
    of_access = {step["status"] for step in report["steps"] if step["step"] == "access"}
    errors = {item for item in expected if item[1] == "error"}
    assert {item for item in found(report) if re.search("CERTIFICATE|TLS|CA-FILE", item[0])} == expected
    assert of_access == {"failed" if errors else "passed"}
    if not errors:
        assert report["verified"] is True, report["summary"]
        assert found(report) == expected
