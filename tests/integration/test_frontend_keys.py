# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets cannot add lines to the files of the frontend."""

from __future__ import annotations

import hashlib
import pathlib
import subprocess

import pytest
from ansible_collections.ascend.inference.tests.integration._frontend import PROGRAM, planned
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports


def started(tmp_path, **keys):
    """The frontend's script with ``true`` in place of the program, and the files that it wrote."""
    _plan, service = planned(tmp_path, free_ports(3))
    (script,) = (file for file in service["files"] if file["content"].startswith("#!/bin/sh"))
    place = pathlib.Path(script["path"])
    (place.parent / "work").mkdir(parents=True, exist_ok=True)
    place.write_text(script["content"].replace(f"exec {PROGRAM}", "exec true"))
    environment = {"PATH": "/usr/bin:/bin", "FRONTEND_CLIENT_KEYS": "a", **keys}
    done = subprocess.run(["sh", str(place)], env=environment, capture_output=True, text=True, check=False)
    files = (place.parent / "work" / name for name in ("keys.map", "engine_keys.map"))
    return done, [file.read_text() if file.exists() else "" for file in files]


@pytest.mark.parametrize("key", ["x\ny", "x y", "x\x1b[2J", "x\u00e9", "x\r"])
def test_an_api_key_with_more_than_one_word_is_refused(tmp_path, key):
    done, (dummy, written) = started(tmp_path, FRONTEND_BACKEND_KEY=key)
    assert done.returncode == 1 and "api_key has a character that is not printable" in done.stderr
    assert written == "" and key not in done.stderr


@pytest.mark.parametrize("key", ["x;}", 'a"', "$host", "\x1b", "\u00e9", "*", "k*", "keys.ma?", "[k]eys.map", "/*"])
def test_a_client_key_with_another_character_is_refused(tmp_path, key):
    done, (written, dummy) = started(tmp_path, FRONTEND_CLIENT_KEYS=key)
    assert done.returncode == 1 and "a key of client_keys has a character" in done.stderr
    assert written == "" and key not in done.stderr


def test_usual_keys_are_written(tmp_path):
    done, (clients, engines) = started(
        tmp_path, FRONTEND_BACKEND_KEY='sk-A.b_1~+/=!#%&*"$\\', FRONTEND_CLIENT_KEYS="a b.c\td"
    )
    digests = [hashlib.sha256(key).hexdigest() for key in (b"a", b"b.c", b"d")]
    assert done.returncode == 0, done.stderr
    assert clients == "".join(f"{digest} key-{number}\n" for number, digest in enumerate(digests, 1))
    assert engines == 'routers Bearer sk-A.b_1~+/=!#%&*"$\\\n'
    done, (dummy, engines) = started(tmp_path)
    assert done.returncode == 0 and engines == ""
