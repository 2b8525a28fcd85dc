# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verification through a real HAProxy with TLS and keys, as the plan describes both; the engines are simulated."""

from __future__ import annotations

import datetime
import ipaddress
import urllib.parse

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.gate import verify
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.module_utils.verify.probe import Keys, Limits
from ansible_collections.ascend.inference.plugins.module_utils.verify.verdict import verdict
from ansible_collections.ascend.inference.tests.integration._frontend import (
    SECRETS,
    install,
    planned,
    started,
    stop,
)
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports
from ansible_collections.ascend.inference.tests.simulator.pd_cluster import Cluster

pytest.importorskip("cryptography", reason="makes certificates")
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

LIMITS = Limits(connect=0.0, request=30.0, settle=2.0)
CLIENT = SECRETS["client_keys"].split()[1]
# What is wrong: days of validity left, the key of the verification, a change of the configuration, the step that fails, its message
KNOWN = "    acl known var(txn.team) -m found\n"
MAIN = "    http-request set-var(txn.id) uuid()\n"
FAULTS = {
    "nothing": (30, CLIENT, None, None, ""),
    "the certificate has expired": (-1, CLIENT, None, "access", "expired"),
    "the frontend asks for no key": (30, CLIENT, (KNOWN, "    acl known always_true\n"), "access", "without a key"),
    "the frontend forwards everything": (
        30,
        CLIENT,
        (MAIN, f"{MAIN}    http-request return status 200 if {{ path /metrics }}\n"),
        "access",
        "/metrics is answered with HTTP 200",
    ),
    "clients have another key": (30, "old-KEY", None, "entry", "401"),
}


def certificate(folder, days):
    """A certificate of 127.0.0.1 that signs itself; the path of its file, beside its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "service")])
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(end - datetime.timedelta(days=60)).not_valid_after(end)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = made.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    path = folder / "certificate.pem"
    path.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (folder / "certificate.pem.key").write_bytes(secret)
    return str(path)


@pytest.mark.parametrize(("days", "key", "change", "step", "message"), FAULTS.values(), ids=FAULTS)
def test_verification_goes_where_clients_go(tmp_path, days, key, change, step, message):
    install()
    with Cluster(tmp_path, prefill=1, decode=1, entry_key=SECRETS["api_key"], api_key=SECRETS["api_key"]) as cluster:
        ports = [urllib.parse.urlsplit(cluster.router.url).port, *free_ports(2)]
        path = certificate(tmp_path, days)
        plan, service = planned(tmp_path / "root", ports, path, {"ca_file": path})
        entry = plan["verify"]["entry"]
        assert entry["url"] == f"https://127.0.0.1:{ports[1]}" and entry["ca_path"] == path
        if change:
            (file,) = [file for file in service["files"] if change[0] in file["content"]]
            file["content"] = file["content"].replace(*change)
        frontend = started(service, tmp_path / "log")
        try:
            assert frontend.poll() is None, (tmp_path / "log").read_text()
            section = read_plan(cluster.plan(entry=entry))
            report = verdict(section, verify(section, Keys(SECRETS["api_key"], key), LIMITS), [])
        finally:
            stop(frontend)
    failed = [f"{item['step']}: {item['message']}" for item in report["steps"] if item["status"] == "failed"]
    assert report["verified"] is (step is None), report["summary"]
    if step is None:
        access = [item["message"] for item in report["steps"] if item["step"] == "access"]
        assert "certificate valid" in access[0] and "without a key" in access[0] and "paths of operators" in access[0]
        ran = {item["step"] for item in report["steps"] if item["status"] == "passed"}
        assert {"entry", "stream", "chat", "transfer", "pairs", "texts", "long", "burst"} <= ran
    else:
        assert [text for text in failed if text.startswith(f"{step}: ") and message in text], failed
    text = str(report)
    assert not [secret for secret in (*SECRETS["client_keys"].split(), SECRETS["api_key"], "old-KEY") if secret in text]
