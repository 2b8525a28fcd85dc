# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the planned frontend with the distribution's own HAProxy."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.error
import urllib.request

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

PROGRAM = "/usr/sbin/haproxy"
BODY = b'{"model": "tiny"}'
SECRETS = {"client_keys": "first.Key+1 second-KEY", "api_key": "backends-own"}


def install():
    """Installs HAProxy if it is missing (needs root), and stops the server that the package starts."""
    if not os.path.exists(PROGRAM):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            pytest.skip("needs HAProxy, or root to install it")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        subprocess.run(["apt-get", "install", "-y", "-q", "haproxy"], check=True, env=environment)


def planned(root, ports, certificate="", verify=None, **router):
    """The plan of a deployment on this machine, and its frontend. ``router``: more of inference_router."""
    variables = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "supervisor",
        "inference_root": str(root),
        "inference_rules_ignore": [
            "SUPERVISOR-SOCKET",
            "SOCKET-PATH",
        ],  # no supervisor runs in this test; the name of a test's folder is too long
        "inference_model": {"path": "/models/tiny", "name": "tiny"},
        "inference_pools": {"prefill": {}, "decode": {}},
        "inference_secrets": SECRETS,
        "inference_verify": verify or {},
        "inference_router": {
            "port": ports[0],
            "frontend": "haproxy",
            "frontend_port": ports[1],
            "frontend_status_port": ports[2],
            "certificate": certificate,
            "certificate_key": certificate and certificate + ".key",
            **router,
        },
    }
    host = {"groups": ["prefill", "decode", "router"], "variables": {"inference_address": "127.0.0.1"}}
    plan = launch_plan(variables, {"here": host})
    assert not any(secret in json.dumps(plan) for secret in ("first.Key+1", "second-KEY", "backends-own"))
    (service,) = [service for service in plan["services"] if service["kind"] == "frontend"]
    return plan, service


def ask(url, key=None, data=None, method=None, **more):
    """Status and body."""
    request = urllib.request.Request(url, data, {"Authorization": f"Bearer {key}"} if key else {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30, **more) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def started(service, log, secrets=None):
    """The process of a planned frontend. It answers, or it has ended. Its output is appended to the file ``log``."""
    for file in service["files"]:
        place = pathlib.Path(file["path"])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file["content"])
        place.chmod(int(file["mode"], 8))
    pathlib.Path(service["scratch_directory"]).mkdir(exist_ok=True)
    environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    given = SECRETS if secrets is None else secrets
    environment.update({name: given[key] for name, key in service["secret_env"].items()})
    with open(log, "a") as output:
        process = subprocess.Popen(
            service["argv"], env=environment, stdout=output, stderr=output, cwd=service["scratch_directory"]
        )
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        try:
            if ask(service["health"]["url"])[0] == 200:
                break
        except OSError:
            time.sleep(0.2)
    return process


def stop(process):
    """End a frontend at once, with what clients have not finished."""
    if process.poll() is None:
        process.terminate()
        process.wait(timeout=60)
