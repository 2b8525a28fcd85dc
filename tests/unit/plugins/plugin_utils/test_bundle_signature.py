# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What minisign is asked, what its answers mean, and what is said without the program."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import signature
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import SUMS, BundleError

# Keeps its arguments; signs by writing the file behind -x, and accepts what this program has signed.
MINISIGN = """#!/bin/sh
echo "$@" >> '{folder}/asked'
[ -e '{folder}/hangs' ] && exec sleep 60
for word; do [ "$before" = -x ] && place=$word; before=$word; done
[ "$1" = -S ] && echo signed > "$place"
[ "$1" = -V ] && {{ grep -q signed "$place" || {{ echo "no such key"; exit 1; }}; }}
exit 0
"""
KEY = "RW" + "A" * 54


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A bundle beside a folder with this program."""
    program = tmp_path / "bin" / "minisign"
    program.parent.mkdir()
    program.write_text(MINISIGN.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / SUMS).write_text("sums\n")
    return bundle


def asked(folder):
    return (folder.parent / "asked").read_text().split()


def test_a_bundle_is_signed_with_the_file_of_a_key(folder, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert not signature.exists(str(folder), signature.MINISIGN)
    signature.sign_minisign(str(folder), "~/secret.key")
    assert (folder / "SHA256SUMS.minisig").read_text() == "signed\n"
    assert signature.exists(str(folder), signature.MINISIGN) and not signature.exists(str(folder))
    *first, place, option, sums = asked(folder)
    assert first == ["-S", "-q", "-s", "/home/me/secret.key", "-x"] and (option, sums) == ("-m", str(folder / SUMS))
    assert not place.startswith(str(folder)), "another user may have put a link there"


@pytest.mark.parametrize(("key", "named"), [(KEY, ["-P", KEY]), ("~/a.pub", ["-p", "/home/me/a.pub"])])
def test_the_text_that_was_verified_is_read(folder, monkeypatch, key, named):
    monkeypatch.setenv("HOME", "/home/me")
    (folder / "SHA256SUMS.minisig").write_text("signed\n")
    assert signature.verify_minisign(str(folder), key) == "sums\n"
    *first, copy = asked(folder)
    assert first == ["-V", "-q", *named, "-x", str(folder / "SHA256SUMS.minisig"), "-m"]
    assert copy.endswith(SUMS) and not copy.startswith(str(folder))


def test_each_refusal_says_why(folder, monkeypatch):
    with pytest.raises(BundleError, match="has no signature SHA256SUMS.minisig.*inference_bundle_minisign_key"):
        signature.verify_minisign(str(folder), KEY)
    (folder / "SHA256SUMS.minisig").write_text("forged\n")
    with pytest.raises(BundleError, match="signature of the bundle failed: no such key.*do not use this bundle"):
        signature.verify_minisign(str(folder), KEY)
    monkeypatch.setattr(signature, "TIMEOUT", 0.2)
    (folder.parent / "hangs").touch()
    with pytest.raises(BundleError, match="minisign did not end within 0.2 s"):
        signature.verify_minisign(str(folder), KEY)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(BundleError, match="minisign is not installed on the controller. Fix: install minisign"):
        signature.sign_minisign(str(folder), "key")
