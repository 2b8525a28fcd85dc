# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The signature over SHA256SUMS with GnuPG. Keys stay in the keyrings of those who sign and verify."""

from __future__ import annotations

import os
import shutil
import tempfile

from ...module_utils.tools.runner import execute
from .manifest import SIGNATURE, SUMS, BundleError

TIMEOUT = 300  # seconds; a card or an agent may ask for a PIN


def exists(folder: str) -> bool:
    """Whether the bundle is signed."""
    return os.path.isfile(os.path.join(folder, SIGNATURE))


def sign(folder: str, key: str) -> None:
    """Sign with the secret key ``key`` (id, fingerprint or address) of this user; raises ``BundleError``."""
    new = os.path.join(folder, SIGNATURE + ".new")
    argv = ["gpg", "--batch", "--yes", "--armor", "--local-user", key, "--output", new, "--detach-sign"]
    _run([*argv, os.path.join(folder, SUMS)], "check the key (gpg --list-secret-keys) and inference_bundle_sign")
    os.replace(new, os.path.join(folder, SIGNATURE))


def verify(folder: str, keyring: str) -> str:
    """Require a signature by a key of ``keyring`` (a file of 'gpg --export'); raises ``BundleError``.

    Returns the text of SHA256SUMS that the signature is of: the file itself may be another one when it is read again.
    """
    if not exists(folder):
        raise BundleError(
            f"{folder} has no signature {SIGNATURE}, and inference_bundle_keyring asks for one. Fix: make the bundle with "
            "inference_bundle_sign, or unset inference_bundle_keyring"
        )
    with tempfile.TemporaryDirectory() as own:
        copy = shutil.copyfile(os.path.join(folder, SUMS), os.path.join(own, SUMS))
        argv = ["gpgv", "--keyring", os.path.abspath(keyring), os.path.join(folder, SIGNATURE), copy]
        _run(
            argv, "do not use this bundle unless you know why; check inference_bundle_keyring (a file of gpg --export)"
        )
        with open(copy, encoding="utf-8") as stream:
            return stream.read()


def _run(argv: list[str], fix: str) -> None:
    if not shutil.which(argv[0]):
        raise BundleError(f"{argv[0]} is not installed on the controller. Fix: install GnuPG ({argv[0]})")
    done = execute(argv, TIMEOUT, {**os.environ, "LC_ALL": "C"}, merged=True)
    if done.timed_out:
        raise BundleError(f"{argv[0]} did not end within {TIMEOUT} s. Fix: {fix}")
    if done.rc:
        raise BundleError(f"the signature of the bundle failed: {done.stdout.strip()[-800:]}. Fix: {fix}")
