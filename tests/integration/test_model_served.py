# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a hub's name in the inventory to a verified service, in one run of site: the hub's own client, the real playbook, a simulated NPU host."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import listing
from ansible_collections.ascend.inference.tests.integration import _hub_clients
from ansible_collections.ascend.inference.tests.integration._deployment import Deployment
from ansible_collections.ascend.inference.tests.integration._hub import Hub

NAMED = "huggingface:o/m@v1"


@pytest.fixture
def deployment(monkeypatch):
    """A host without the model, and its files as a hub has them. The hub's client comes from the index of this machine."""
    found = subprocess.run(
        [str(_hub_clients.python()), "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    )
    for line in found.stdout.splitlines():
        name, _equals, value = line.partition("=")
        if name.rpartition(".")[2] in ("index-url", "trusted-host", "cert"):
            monkeypatch.setenv(f"PIP_{name.rpartition('.')[2].upper().replace('-', '_')}", value.strip("'\""))
    with tempfile.TemporaryDirectory(prefix="hub-") as name:  # the path of a socket must be short
        made = Deployment(pathlib.Path(name))
        made.files = {each.name: each.read_bytes() for each in (made.folder / "model").iterdir()}
        shutil.rmtree(made.folder / "model")
        yield made
        made.stop()


@pytest.mark.long
def test_a_name_on_a_hub_becomes_a_verified_service(deployment):
    place = deployment.folder / "models/m"
    given = {
        "inference_model": {"path": str(place), "name": "x", "source": NAMED},
        "model_client_venv": str(deployment.folder / "hubs"),
        "model_token": "s3cret",
    }
    with Hub(deployment.files, token="s3cret") as hub:
        given["model_endpoint"] = hub.address
        wrong = json.loads(deployment.files["config.json"])
        hub.files = {
            **hub.files,
            "config.json": json.dumps({**wrong, "architectures": ["Glm5DSparkForCausalLM"]}).encode(),
        }
        done = deployment.play("site", **given)
        assert done.code != 0 and "MODEL-ARCHITECTURE" in done.output, done.output[-5000:]
        assert not place.exists() and not hub.fetched("model.safetensors") and deployment.processes() == []
        hub.files = deployment.files
        done = deployment.play("site", **given)
        assert done.code == 0 and "VERIFIED" in done.output, done.output[-5000:]
        assert listing.read(str(place))["source"] == NAMED and hub.fetched("model.safetensors") == 1
        done = deployment.play("site", **given)
        assert (done.code, done.changed) == (0, 0), done.output[-5000:]
        assert hub.fetched("model.safetensors") == 1 and "s3cret" not in done.output
    (place / "model.safetensors").write_bytes(b"short")
    deployment.stop()
    done = deployment.play("site", **given)
    assert done.code != 0 and "model.safetensors has 5 bytes" in done.output, done.output[-5000:]
    assert deployment.processes() == []  # nothing is served from files that are not those of the record
