# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Alertmanager of the distribution and the real ansible-rulebook, which runs the collection's rulebook."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import typing as t

import yaml
from ansible_collections.ascend.inference.tests.e2e import _service as service

PACKAGES = ("prometheus-alertmanager", "openjdk-17-jre-headless")  # ansible-rulebook's rules run in Java
TOKEN = "a-long-random-text-of-the-test"
ENVIRONMENT = service.REPOSITORY / ".cache" / "rulebook"


def install() -> None:
    """Install both, without the service that the package of Alertmanager starts."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    argv = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES]
    subprocess.run(argv, check=True, env=environment, stdout=subprocess.DEVNULL)
    if not (ENVIRONMENT / "bin" / "ansible-rulebook").exists():
        subprocess.run(["uv", "venv", "-q", "--clear", str(ENVIRONMENT)], check=True)
        python = str(ENVIRONMENT / "bin" / "python")
        # The newest one, as who follows the guide gets; ansible-playbook is that of the other tests.
        subprocess.run(["uv", "pip", "install", "-q", "--python", python, "ansible-rulebook>=1.2"], check=True)


def alertmanager(folder: pathlib.Path, port: int, receiver: int) -> list[str]:
    """Write the configuration that guide_awx describes; returns the command."""
    hook = {
        "url": f"http://127.0.0.1:{receiver}/alerts",
        "http_config": {"authorization": {"credentials": TOKEN}},
        "send_resolved": False,
    }
    route = {"receiver": "rulebook", "group_by": ["deployment", "alertname"], "group_wait": "1s"}
    made = {"route": route, "receivers": [{"name": "rulebook", "webhook_configs": [hook]}]}
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(made), encoding="utf-8")
    address = ["--cluster.listen-address=", f"--web.listen-address=127.0.0.1:{port}"]
    return ["prometheus-alertmanager", "--config.file=alertmanager.yml", "--storage.path=alerts", *address]


def inventory(folder: pathlib.Path, deployment: service.Deployment, **more: t.Any) -> pathlib.Path:
    """A folder with the deployment's inventory, because ansible-rulebook gives no variables to ansible-playbook."""
    made = folder / "inventory"
    shutil.copytree(service.REPOSITORY / "inventories" / deployment.inventory, made)
    text = yaml.safe_load((made / "hosts.yml").read_text("utf-8"))
    own = {"inference_root": str(deployment.root), "inference_rehearse": False}
    text["all"]["vars"].update(own, **deployment.variables, **more)
    (made / "hosts.yml").write_text(yaml.safe_dump(text, sort_keys=False), encoding="utf-8")
    return made


def rulebook(folder: pathlib.Path, made: pathlib.Path, settings: dict[str, t.Any]) -> list[str]:
    """The command of guide_awx with these settings."""
    (folder / "settings.yml").write_text(json.dumps(settings), encoding="utf-8")
    argv = [str(ENVIRONMENT / "bin" / "ansible-rulebook"), "--rulebook", "ascend.inference.alerts", "--inventory"]
    return [*argv, str(made), "--vars", "settings.yml", "--verbose"]


@contextlib.contextmanager
def running(folder: pathlib.Path, name: str, argv: list[str]) -> t.Iterator[pathlib.Path]:
    """The program during the block; its log."""
    log = folder / f"{name}.log"
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
    with log.open("ab") as output:
        process = subprocess.Popen(argv, cwd=folder, stdout=output, stderr=output, env=environment)
        try:
            yield log
        finally:
            process.terminate()
            process.wait(timeout=60)
