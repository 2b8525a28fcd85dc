# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A certificate that no authority has signed, made by openssl."""

from __future__ import annotations

import pathlib
import subprocess


def certify(place, name="localhost", also="IP:127.0.0.1"):
    """Write a certificate of two days to a file, and its key beside it with the suffix .key. Returns both texts."""
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    argv += ["-addext", f"subjectAltName={also}", "-out", str(place), "-keyout", f"{place}.key"]
    subprocess.run(argv, check=True, capture_output=True)
    return pathlib.Path(place).read_text(), pathlib.Path(f"{place}.key").read_text()
