# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watch of links beside real run.sh scripts: an engine on one host dies, and the one on the other host follows by itself.

The runtime is a loop that starts run.sh again, as Restart=always does. The engines keep their links as the connector does.
"""

from __future__ import annotations

import json
import os
import pathlib
import posixpath
import shlex
import signal
import subprocess
import sys
import time

import jinja2
import pytest
from ansible_collections.ascend.inference.plugins.module_utils.links import record
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.links import MODULE
from ansible_collections.ascend.inference.plugins.plugin_utils.views.program_code import code_files
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import ASK_PREFILL, PATIENCE, VLLM, ask
from ansible_collections.ascend.inference.tests.unit.simulator.test_llmdatadist import PORT, TABLE, Setup

TEMPLATES = pathlib.Path(__file__).resolve().parents[3] / "roles/service/templates"
CONNECTOR = "LLMDataDistCMgrConnector"


class Service:
    """An engine with its folder, run.sh and watch, and a loop as its runtime."""

    def __init__(self, setup, host, name, role, devices):
        self.folder = setup.cluster.folder / name
        self.address, self.port, self.name = host.address, setup.cluster.port(), name
        self.url = f"http://{self.address}:{self.port}"
        (self.folder / "work").mkdir(parents=True)
        (self.folder / "environment.sh").write_text("", encoding="utf-8")
        kv = {"kv_connector": CONNECTOR, "kv_role": role, "kv_port": setup.cluster.port()}
        argv = [VLLM, "serve", setup.cluster.model, "--host", self.address, "--port", self.port, "-tp", 2]
        self.argv = [*map(str, argv), "--kv-transfer-config", json.dumps(kv)]
        hccl = setup.cluster.port()
        self.environment = host.environment(
            *devices, **{"HCCL_IF_BASE_PORT": hccl, TABLE: setup.path, PORT: setup.cluster.port()}
        )
        self.environment["ASCEND_SIMULATOR_PYTHON"] = sys.executable
        self.log = self.folder / "log"

    def start(self, peer):
        """With ``peer`` in the settings of the watch."""
        settings = {
            "service": self.name,
            "connector": CONNECTOR,
            "own": self.url,
            "peers": {peer.name: peer.url},
            "record": str(self.folder / "work" / record.NAME),
            "interval": 0.3,
            "timeout": 5,
            "per_hour": 4,
            "stop_timeout": 5,
        }
        path = self.folder / "link_watch.json"
        path.write_text(json.dumps(settings), encoding="utf-8")
        watch = {"argv": [sys.executable, "-S", "-m", MODULE, str(path)]}
        item = {
            "kind": "decode",
            "name": self.name,
            "unit": self.name,
            "work_directory": str(self.folder),
            "code_directory": str(self.folder / "code"),
            "scripts": {name: str(self.folder / f"{name}.sh") for name in ("run", "environment")},
            "digest": "d",
            "digest_file": str(self.folder / "digest"),
            "start": {"limits": {}},
            "source": [],
            "secret_env": {},
            "argv": self.argv,
            "link_watch": watch,
        }
        for file in code_files(item):
            place = pathlib.Path(file["path"])
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file["content"], encoding="utf-8")
        loader = jinja2.FileSystemLoader(TEMPLATES)
        environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, trim_blocks=True)
        environment.filters.update(quote=shlex.quote, dirname=posixpath.dirname)
        text = environment.get_template("run.sh.j2").render(item=item, __service_start_waits=False)
        script = self.folder / "run.sh"
        script.write_text(text[text.index("#!/bin/sh") :], encoding="utf-8")
        with open(self.log, "w", encoding="utf-8") as log:
            self.loop = subprocess.Popen(
                [
                    "sh",
                    "-c",
                    'while :; do sh "$1" & echo "$!" >> "$2"; wait "$!"; done',
                    "loop",
                    script,
                    f"{script}.pids",
                ],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pids(self):
        """Of the engine's processes, one for each start."""
        path = self.folder / "run.sh.pids"
        return [int(line) for line in path.read_text(encoding="utf-8").split()] if path.exists() else []

    def ready(self, starts):
        """Wait until it has been started that often, and answers."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if len(self.pids) >= starts:
                try:
                    if ask(self.address, self.port, "/health", timeout=2)[0] == 200:
                        return
                except OSError:
                    pass
            time.sleep(0.1)
        raise AssertionError(f"not ready, {len(self.pids)} starts:\n{self.log.read_text(encoding='utf-8')}")

    def has_met(self, other):
        """Wait until the record has the process of ``other`` that runs now."""
        end, path = time.monotonic() + PATIENCE, str(self.folder / "work" / record.NAME)
        page = ask(other.address, other.port, "/metrics")[1]
        start = next(float(line.split()[1]) for line in page.splitlines() if line.startswith("process_start"))
        while record.read(path)["met"].get(other.name) != start:
            assert time.monotonic() < end, self.log.read_text(encoding="utf-8")
            time.sleep(0.1)

    def end(self):
        os.killpg(self.loop.pid, signal.SIGKILL)
        self.loop.wait()


def answered(prefill, decode, prompt):
    """Whether a request passes both sides; without a link decode never answers."""
    body = {"prompt": prompt, "max_tokens": 1, "kv_transfer_params": ASK_PREFILL}
    params = json.loads(ask(prefill.address, prefill.port, "/v1/completions", body)[1])["kv_transfer_params"]
    try:
        body = {"prompt": prompt, "max_tokens": 4, "kv_transfer_params": params}
        return ask(decode.address, decode.port, "/v1/completions", body, timeout=3)[0] == 200
    except TimeoutError:
        return False


@pytest.fixture
def pair(cluster):
    setup = Setup(cluster)
    setup.path.write_text(json.dumps(setup.table), encoding="utf-8")
    prefill = Service(setup, setup.hosts[0], "prefill-0", "kv_producer", (0, 1))
    decode = Service(setup, setup.hosts[1], "decode-0", "kv_consumer", (4, 5))
    prefill.start(decode)
    decode.start(prefill)
    yield prefill, decode
    for service in (prefill, decode):
        service.end()


def test_the_other_side_follows_once_and_both_link_again(pair, prompt):
    prefill, decode = pair
    for service in pair:
        service.ready(1)
    assert answered(prefill, decode, prompt)
    decode.has_met(prefill)
    prefill.has_met(decode)

    os.kill(prefill.pids[-1], signal.SIGKILL)
    prefill.ready(2)
    decode.ready(2)
    assert "prefill-0 was started again, and LLMDataDistCMgrConnector does not link" in decode.log.read_text(
        encoding="utf-8"
    )
    assert answered(prefill, decode, prompt)
    decode.has_met(prefill)
    prefill.has_met(decode)

    os.kill(decode.pids[-1], signal.SIGKILL)
    decode.ready(3)
    prefill.ready(3)
    assert answered(prefill, decode, prompt)
    time.sleep(1.5)  # several looks of both
    assert (len(prefill.pids), len(decode.pids)) == (3, 3)
