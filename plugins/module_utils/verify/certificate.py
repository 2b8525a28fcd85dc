# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The certificate of an https entry: its dates, its names, and who signed it."""

from __future__ import annotations

import socket
import ssl
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from ..tools.http_client import Target, context_of

# OpenSSL's X509_V_ERR_* of the dates, and of a name or an address that the certificate does not have
DATES = {9: "is not valid yet", 10: "has expired"}
NAMES = (62, 64)
SOON = 14 * 24 * 3600  # seconds before its end from which on a certificate is reported


class Certificate(NamedTuple):
    """pem: the server's certificate. Texts are empty where nothing is wrong.

    dates: that it is outside of its dates, ending: that it ends soon, name: that it does not have the name, issuer: that its issuer is not trusted.
    """

    pem: str = ""
    dates: str = ""
    ending: str = ""
    name: str = ""
    issuer: str = ""


def read_certificate(target: Target, timeout: float, now: float | None = None) -> Certificate:
    """Look at the certificate of an https target. Raises OSError without a TLS answer or with an unreadable CA file.

    Validation stops at its first error, so each question has its own connection: the dates with the certificate itself as the only trusted
    one, then the name in the same way, then the issuer without the name.
    """
    pem = ssl.DER_cert_to_PEM_cert(_connect(target._replace(validate_certs=False), timeout)[1])
    itself = target._replace(ca_data=pem, ca_path="", validate_certs=True)
    code, _unused, ends = _connect(itself._replace(check_name=False), timeout)
    if code in DATES:
        return Certificate(pem, dates=DATES[code])
    rest = ends - (time.time() if now is None else now)
    ending = f"expires in {rest / 86400:.0f} days" if ends and rest < SOON else ""
    name = ""
    if _connect(itself._replace(check_name=True), timeout)[0] in NAMES:
        name = f"is not valid for {target.server_name or urlsplit(target.url).hostname}"
    code = _connect(target._replace(check_name=False, validate_certs=True), timeout)[0]
    issuer = "" if not code else f"is not signed by a trusted authority (OpenSSL error {code})"
    return Certificate(pem, "", ending, name, issuer)


def _connect(target: Target, timeout: float) -> tuple[int, bytes, float]:
    """(OpenSSL's verification error or 0, the certificate in DER format, the end of its validity in seconds since 1970 or 0)."""
    parts = urlsplit(target.url)
    with socket.create_connection((parts.hostname or "", parts.port or 443), timeout) as plain:
        try:
            with context_of(target).wrap_socket(plain, server_hostname=target.server_name or parts.hostname) as secured:
                der = secured.getpeercert(True) or b""
                ends = (secured.getpeercert() or {}).get("notAfter")
                return 0, der, ssl.cert_time_to_seconds(ends) if ends else 0.0
        except ssl.SSLCertVerificationError as error:
            return error.verify_code, b"", 0.0
