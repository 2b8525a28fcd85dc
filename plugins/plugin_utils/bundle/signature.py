# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The signature over SHA256SUMS with GnuPG or minisign. Keys stay with those who sign and verify."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass

from ...module_utils.install.venv import write_atomically
from ...module_utils.tools.runner import execute
from .manifest import SIGNATURE, SUMS, BundleError

TIMEOUT = 300  # seconds; a card or an agent may ask for a PIN
PACKAGES = {"gpg": "GnuPG (gpg)", "gpgv": "GnuPG (gpgv)", "minisign": "minisign"}
PUBLIC_KEY = re.compile(r"RW[A-Za-z0-9+/]{54}")


@dataclass(frozen=True)
class Kind:
    """A kind of signatures: its file in the bundle, and the variables that name the key of those who sign and verify."""

    file: str
    sign: str
    verify: str


GNUPG = Kind(SIGNATURE, "inference_bundle_sign", "inference_bundle_keyring")
MINISIGN = Kind(f"{SUMS}.minisig", "inference_bundle_minisign_key", "inference_bundle_minisign_public_key")


def exists(folder: str, kind: Kind = GNUPG) -> bool:
    """Whether the bundle is signed."""
    return os.path.isfile(os.path.join(folder, kind.file))


def sign(folder: str, key: str) -> None:
    """Sign with the secret key ``key`` (id, fingerprint or address) of this user; raises ``BundleError``."""
    argv = ["gpg", "--batch", "--armor", "--local-user", key, "--detach-sign", "--output"]
    _signed(folder, GNUPG, argv, [os.path.join(folder, SUMS)], "check the key (gpg --list-secret-keys) and")


def sign_minisign(folder: str, key: str) -> None:
    """Sign with the file of a secret key of minisign that has no password; raises ``BundleError``."""
    argv = ["minisign", "-S", "-q", "-s", os.path.abspath(os.path.expanduser(key)), "-x"]
    # Without a terminal minisign reads a password from its input, and there is none.
    fix = "let minisign -G -W make a secret key that needs no password, or -C -W change one that has, and check"
    _signed(folder, MINISIGN, argv, ["-m", os.path.join(folder, SUMS)], fix)


def _signed(folder: str, kind: Kind, argv: list[str], more: list[str], fix: str) -> None:
    """Let the program write the signature into a folder of this user: it would follow a link that another user has put into that of the bundle."""
    with tempfile.TemporaryDirectory() as own:
        new = os.path.join(own, kind.file)
        _run([*argv, new, *more], f"{fix} {kind.sign}")
        with open(new, encoding="utf-8") as stream:
            write_atomically(os.path.join(folder, kind.file), stream.read())


def verify(folder: str, keyring: str) -> str:
    """Require a signature by a key of ``keyring`` (a file of 'gpg --export'); raises ``BundleError``.

    Returns the text of SHA256SUMS that the signature is of: the file itself may be another one when it is read again.
    """
    fix = f"do not use this bundle unless you know why; check {GNUPG.verify} (a file of gpg --export)"
    return _verified(
        folder, GNUPG, ["gpgv", "--keyring", os.path.abspath(keyring), os.path.join(folder, SIGNATURE)], fix
    )


def verify_minisign(folder: str, key: str) -> str:
    """The same for a signature of minisign. ``key``: the file of the public key, or its text (RW...)."""
    named = ["-P", key] if PUBLIC_KEY.fullmatch(key) else ["-p", os.path.abspath(os.path.expanduser(key))]
    argv = ["minisign", "-V", "-q", *named, "-x", os.path.join(folder, MINISIGN.file), "-m"]
    fix = f"do not use this bundle unless you know why; check {MINISIGN.verify} (the file of minisign -G, or its second line)"
    return _verified(folder, MINISIGN, argv, fix)


def _verified(folder: str, kind: Kind, argv: list[str], fix: str) -> str:
    """The text of a copy of SHA256SUMS that the program accepts."""
    if not exists(folder, kind):
        raise BundleError(
            f"{folder} has no signature {kind.file}, and {kind.verify} asks for one. Fix: make the bundle with {kind.sign}, or unset {kind.verify}"
        )
    with tempfile.TemporaryDirectory() as own:
        copy = shutil.copyfile(os.path.join(folder, SUMS), os.path.join(own, SUMS))
        _run([*argv, copy], fix)
        with open(copy, encoding="utf-8") as stream:
            return stream.read()


def _run(argv: list[str], fix: str) -> None:
    if not shutil.which(argv[0]):
        raise BundleError(f"{argv[0]} is not installed on the controller. Fix: install {PACKAGES[argv[0]]}")
    done = execute(argv, TIMEOUT, {**os.environ, "LC_ALL": "C"}, merged=True)
    if done.timed_out:
        raise BundleError(f"{argv[0]} did not end within {TIMEOUT} s. Fix: {fix}")
    if done.rc:
        raise BundleError(f"the signature of the bundle failed: {done.stdout.strip()[-800:]}. Fix: {fix}")
