# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one role on this machine with a real ansible-playbook, and read the recap."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import typing as t

from ansible_collections.ascend.inference.plugins.module_utils.install import venv

TREE = pathlib.Path(venv.__file__).absolute().parents[6]
"""The parent folder of ansible_collections from which this test imports."""

PROGRAM = pathlib.Path(sys.executable).with_name("ansible-playbook")


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: exit status, output, and the counters of the recap."""

    code: int
    output: str

    @property
    def changed(self) -> int:
        """Changed tasks of the recap; -1 if there is none."""
        found = re.findall(r"changed=(\d+)", self.output)
        return int(found[-1]) if found else -1

    @property
    def text(self) -> str:
        """The output on one line, to search for wrapped messages."""
        return " ".join(self.output.replace("\\n", " ").replace("\\", "").split())


def free_ports(count):
    """Ports that nothing listens on."""
    sockets = [socket.socket() for dummy in range(count)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    ports = [item.getsockname()[1] for item in sockets]
    for each in sockets:
        each.close()
    return ports


def free_range(count):
    """The first of ``count`` ports in a row that nothing listens on, below those that the kernel gives to outgoing connections."""
    first = random.randrange(27000, 32000, count)
    while True:
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for port in range(first, first + count):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first
        first = 27000 if first > 32000 else first + count


def play(
    folder: pathlib.Path,
    role: str,
    *options: str,
    facts: bool = True,
    within: t.Sequence[str] = (),
    defaults: dict[str, t.Any] | None = None,
    inventory: pathlib.Path | None = None,
    tasks_from: str = "main",
    **variables: t.Any,
) -> Run:
    """Run ``role`` on localhost with ``variables``; a playbook is written into ``folder``.

    ``within`` is a command that runs another one, ``defaults`` are defaults of modules. ``inventory`` has the interpreter of localhost, if a task
    replaces it: what the command line gives wins over that.
    """
    tasks = [
        {"ansible.builtin.include_role": {"name": f"ascend.inference.{role}", "tasks_from": tasks_from}, "name": "Role"}
    ]
    hosts = "{{ 'localhost' | ascend.inference._visible }}"  # imports filters once, see playbooks/shared/controller.yml
    book = [{"hosts": hosts, "connection": "local", "gather_facts": False, "name": "Test", "tasks": tasks}]
    if facts:
        book[0].update(gather_facts=True, gather_subset=["min"])
    if defaults:
        book[0].update(module_defaults=defaults)
    place = folder / "playbook.json.yml"
    place.write_text(json.dumps(book), encoding="utf-8")
    if inventory is None:
        variables = {"ansible_python_interpreter": sys.executable, **variables}
    others = os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": f"{TREE}:{others}" if others else str(TREE),
        "ANSIBLE_LOCALHOST_WARNING": "0",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "0",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_HOME": str(folder / "ansible"),
        "PIP_CONFIG_FILE": "/dev/null",
    }
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_DEFAULT_INDEX", "UV_FIND_LINKS"):
        environment.pop(name, None)
    argv = [
        *within,
        str(PROGRAM),
        "-i",
        str(inventory or "localhost,"),
        "-e",
        json.dumps(variables),
        *options,
        str(place),
    ]
    done = subprocess.run(
        argv, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return Run(done.returncode, done.stdout)
