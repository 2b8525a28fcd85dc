# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start the planned balancer with the distribution's own HAProxy."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.integration._frontend import ask

PROGRAM = "/usr/sbin/haproxy"


def install():
    """Installs HAProxy if it is missing (needs root), without starting the package's service."""
    if not os.path.exists(PROGRAM):
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            pytest.skip("needs haproxy, or root to install it")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        subprocess.run(["apt-get", "install", "-y", "-q", "haproxy"], check=True, env=environment)


def planned(root, first, **router):
    """The plan of a deployment on this machine with two routers, at ``first`` and 20 ports higher; the balancer is one and two ports higher."""
    variables = {
        "inference_engine": "vllm_cpu",
        "inference_runtime": "supervisor",
        "inference_root": str(root),
        "inference_model": {"path": "/models/tiny", "name": "tiny"},
        "inference_pools": {"prefill": {}, "decode": {}},
        "inference_router": {
            "instances": 2,
            "port": first,
            "metrics_port": first + 3,
            "balancer": "haproxy",
            "balancer_port": first + 1,
            "balancer_status_port": first + 2,
            **router,
        },
    }
    host = {"groups": ["prefill", "decode", "router"], "variables": {"inference_address": "127.0.0.1"}}
    return launch_plan(variables, {"here": host})


def started(plan, log):
    """The process of the planned balancer, as its run.sh starts it. Its output is appended to the file ``log``."""
    (service,) = [service for service in plan["services"] if service["kind"] == "balancer"]
    for file in service["files"]:
        place = pathlib.Path(file["path"])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file["content"])
    pathlib.Path(service["scratch_directory"]).mkdir(exist_ok=True)
    pathlib.Path(plan["balancer"]["socket"]).parent.mkdir(parents=True, exist_ok=True)
    with open(log, "a") as output:
        process = subprocess.Popen(service["argv"], stdout=output, stderr=output, cwd=service["scratch_directory"])
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end:
        try:
            ask(service["health"]["url"])
            break
        except OSError:
            time.sleep(0.1)
    return process


def stop(process):
    """End a balancer."""
    if process.poll() is None:
        process.terminate()
        process.wait(timeout=30)
