# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets cannot add directives or variables to the frontend's configuration."""

from __future__ import annotations

import pathlib
import subprocess

import pytest
from ansible_collections.ascend.inference.tests.integration._frontend import PROGRAM, planned
from ansible_collections.ascend.inference.tests.integration._playbook import free_ports


def started(tmp_path, **keys):
    """The frontend's script with ``true`` in place of nginx, and the file that it wrote."""
    _plan, service = planned(tmp_path, free_ports(3))
    (script,) = (file for file in service["files"] if file["content"].startswith("#!/bin/sh"))
    place = pathlib.Path(script["path"])
    (place.parent / "work").mkdir(parents=True, exist_ok=True)
    place.write_text(script["content"].replace(f"exec {PROGRAM}", "exec true"))
    environment = {"PATH": "/usr/bin:/bin", "FRONTEND_CLIENT_KEYS": "a", **keys}
    done = subprocess.run(["sh", str(place)], env=environment, capture_output=True, text=True, check=False)
    return done, (place.parent / "work/keys.conf").read_text()


@pytest.mark.parametrize("key", ['x";} server {listen 1;}#', "x\ny", "x y", "$http_host", "x\\", "x\x1b[2J"])
def test_an_api_key_that_nginx_could_read_as_configuration_is_refused(tmp_path, key):
    done, written = started(tmp_path, FRONTEND_BACKEND_KEY=key)
    assert done.returncode == 1 and "api_key has a space, a control character or one of" in done.stderr
    assert key not in written and key not in done.stderr


@pytest.mark.parametrize("key", ["x;} server {listen 1;}", "a\tb", 'a"', "$host", "\x1b"])
def test_a_client_key_that_nginx_could_read_as_configuration_is_refused(tmp_path, key):
    done, written = started(tmp_path, FRONTEND_CLIENT_KEYS=key)
    assert "server" not in written and "$host" not in written and '"a"' not in written
    assert done.returncode == 1 or key == "a\tb", "a tab separates two keys"


@pytest.mark.parametrize("key", ["*", "k*", "keys.con?", "[k]eys.conf", "/*"])
def test_a_client_key_that_the_shell_could_read_as_names_of_files_is_refused(tmp_path, key):
    done, written = started(tmp_path, FRONTEND_CLIENT_KEYS=key)
    assert done.returncode == 1 and "a key of client_keys has a character" in done.stderr
    assert "Bearer" not in written


def test_usual_keys_are_written(tmp_path):
    done, written = started(tmp_path, FRONTEND_BACKEND_KEY="sk-A.b_1~+/=!#%&*", FRONTEND_CLIENT_KEYS="a b.c")
    assert done.returncode == 0, done.stderr
    assert 'default "Bearer sk-A.b_1~+/=!#%&*";' in written and r'"~^Bearer b\.c$" 2;' in written
    done, written = started(tmp_path)
    assert done.returncode == 0 and 'default "";' in written
