# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/upgrade.yml on one simulated host, up, back and into a broken release; and no secret in any place meanwhile.

Real are the playbooks, supervisord and upstream's proxies of both releases. Installing is left out (--skip-tags prepare):
the simulated engines stand where it would have put the releases, side by side.
"""

from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import yaml
from ansible_collections.ascend.inference.tests.e2e._wiring import CACHE, SIMULATOR, SOURCES, Host, write_cann
from ansible_collections.ascend.inference.tests.simulator import upstream_proxies

KEY = "planted-key-5b1f0c9e7d"
OLD, NEW = "0.18.0", "0.23.0"
ENTRY, ADDRESS = 27900, "127.0.0.28"


class Rack:
    """One host, two releases, and the playbooks of the collection."""

    def __init__(self, folder):
        self.folder, self.root, self.outputs = folder, folder / "r", []
        self.host = Host(folder, 3, "a2", None, {})
        write_cann(folder / "cann")
        for release in (OLD, NEW):
            self._install(release)
        (folder / "inventory.yml").write_text(yaml.safe_dump(self._inventory()))

    def _install(self, release):
        """What role vllm_ascend and role router leave behind, with the simulated engine and upstream's own proxy."""
        engine = self.root / "venvs" / f"vllm_ascend-{release}"
        metadata = engine / "lib" / f"vllm_ascend-{release}.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm-ascend\nVersion: {release}\n")
        program = engine / "bin" / "vllm"
        program.parent.mkdir()
        program.write_text(
            f"#!/bin/sh\nexport PYTHONPATH={engine}/lib ASCEND_SIMULATOR_PYTHON={sys.executable}\n"
            f'export ASCEND_SIMULATOR_STATE={self.host.state}\nexec {SIMULATOR}/bin/vllm "$@"\n'
        )
        program.chmod(0o755)
        router = self.root / "venvs" / f"router-load_balance-{release}"
        (router / "bin").mkdir(parents=True)
        (router / "share").mkdir()
        (router / "share" / "proxy").symlink_to(upstream_proxies.fetch(SOURCES[release], CACHE).resolve())
        python = router / "bin" / "python"
        stub = CACHE / "vllm-stub"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={stub} exec {upstream_proxies.python(CACHE)} "$@"\n')
        python.chmod(0o755)

    def _inventory(self):
        words = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "inference_release": OLD,
            "inference_runtime": "supervisor",
            "inference_hardware": "a2",
            "inference_devices": 8,
            "inference_interface": "lo",
            "inference_cann_path": str(self.folder / "cann"),
            "inference_root": str(self.root),
            "inference_model": {"path": str(self.host.model), "name": "it"},
            "inference_router": {"port": ENTRY},
            "inference_secrets": {"api_key": KEY},
            "inference_check_ignore": ["LIMIT-NOFILE"],  # what this machine allows is not what is tested
            "inference_start_timeout": 60,
            "inference_stop_timeout": 10,
            "inference_pools": {
                "prefill": {"tensor_parallel_size": 2, "ports": {"api": 27000, "kv": 27100, "hccl": 27300}},
                "decode": {"tensor_parallel_size": 1, "ports": {"api": 27400, "kv": 27500, "hccl": 27640}},
            },
            "host_check_hccn_conf": str(self.host.hccn_conf),
            "host_check_executables": {
                name: str(self.host.bin / name.replace("npu_", "npu-")) for name in ("npu_smi", "hccn_tool")
            },
        }
        host = {"node3": {"inference_address": ADDRESS}}
        return {"all": {"vars": words}, "prefill": {"hosts": host}, "decode": {"hosts": {"node3": {}}}}

    def play(self, *words):
        """One run, with everything that Ansible would ever print; (exit status, output)."""
        own = {"ANSIBLE_CACHE_PLUGIN": "jsonfile", "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(self.folder / "facts")}
        done = subprocess.run(
            ["ansible-playbook", "-i", "inventory.yml", "-vvv", "--diff", *words],
            env={**os.environ, **own, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOG_PATH": str(self.folder / "ansible.log")},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.outputs.append(done.stdout + done.stderr)
        return done.returncode, self.outputs[-1]

    def serves(self):
        """The release that the running engines say they are, when the service answers; else ''."""
        body = json.dumps({"model": "it", "prompt": "one two three", "max_tokens": 4}).encode()
        request = urllib.request.Request(
            f"http://{ADDRESS}:{ENTRY}/v1/completions", body, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert json.load(answer)["choices"][0]["text"]
        except OSError:
            return ""
        logs = [path.read_text() for path in (self.root / "deployments" / "inference" / "logs").glob("*code-0.log")]
        return logs[0].rsplit("with vLLM-Ascend ", 1)[1].split(" ")[0]


def places_of(rack):
    """Every place where the key is found outside of the files and environments that have to hold it."""
    found = [f"output of run {number}" for number, text in enumerate(rack.outputs) if KEY in text]
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if KEY.encode() in process.read_bytes():
                found.append(f"argv of {process.parent.name}")
        except OSError:
            continue
    for path in sorted(rack.folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path == rack.folder / "inventory.yml":
            continue
        if KEY.encode() in path.read_bytes():
            mode = stat.S_IMODE(path.stat().st_mode)
            if path.name != "secrets.sh" or mode != 0o600:
                found.append(f"{path} ({mode:o})")
    return found


@pytest.fixture
def rack(tmp_path_factory):
    try:
        made = Rack(tmp_path_factory.mktemp("u"))
    except upstream_proxies.Unreachable as error:
        pytest.skip(f"upstream's programs can't be fetched here: {error}")
    yield made
    made.play("ascend.inference.remove")


def test_up_and_back_and_a_broken_release(rack):
    code, output = rack.play("ascend.inference.deploy")
    assert code == 0, output[-6000:]
    assert rack.serves() == OLD
    secrets = list(rack.root.rglob("secrets.sh"))
    assert secrets and all(KEY in path.read_text() for path in secrets)  # the key is in use, so that it could be found

    program = rack.root / "venvs" / f"vllm_ascend-{NEW}" / "bin" / "vllm"
    right = program.read_text()
    program.write_text("#!/bin/sh\necho 'ImportError: this release is broken' >&2\nexit 1\n")
    upgrade = ("--skip-tags", "prepare", "ascend.inference.upgrade")
    code, output = rack.play(*upgrade, "-e", f"inference_release={NEW}")
    assert code != 0
    assert f"Release {NEW} was not verified, so {OLD} runs again and is verified." in output
    assert "this release is broken" in output
    assert rack.serves() == OLD

    program.write_text(right)
    code, output = rack.play(*upgrade, "-e", f"inference_release={NEW}")
    assert code == 0, output[-6000:]
    assert rack.serves() == NEW
    code, output = rack.play(*upgrade)
    assert code == 0, output[-6000:]
    assert rack.serves() == OLD
    assert places_of(rack) == []
