# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that installs packages of its distribution: this machine with copies of its folders, and playbooks on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM, TREE, Run

# Programs of this machine on copies of its folders that vanish with the process, and without a route.
HOST = """
set -e
mount -t tmpfs none "$0"
for folder in /etc /usr /var; do
    mkdir -p "$0$folder/upper" "$0$folder/work"
    mount -t overlay none -o "lowerdir=$folder,upperdir=$0$folder/upper,workdir=$0$folder/work" "$folder"
done
exec "$@"
"""
PLAN = {
    "runtime": "systemd",
    "runtime_facts": {"contained": False},
    "hosts": [{"name": "localhost"}],
    "services": [{"host": "localhost", "kind": "frontend"}],
    "engine": "vllm_cpu",
    "engine_facts": {"npus": False},
    "software": {"router": {"frontend": "haproxy"}, "mooncake": {"needed": False}},
    "model": {"source": "tiny"},
}


def can_isolate(folder):
    argv = ["unshare", "--net", "--mount", "sh", "-c", HOST, str(folder), "true"]
    return subprocess.run(argv, check=False, capture_output=True).returncode == 0


def run(folder, tasks, *within, **variables):
    """Run tasks on localhost with the plugins of this tree."""
    book = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "name": "Test", "tasks": tasks}]
    (folder / "book.yml").write_text(json.dumps(book))
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(folder / "ansible")}
    environment["ANSIBLE_COLLECTIONS_PATH"] = f"{TREE}:{os.environ.get('ANSIBLE_COLLECTIONS_PATH', '')}"
    given = json.dumps({"ansible_python_interpreter": sys.executable, **variables})
    argv = [*within, str(PROGRAM), "-i", "localhost,", "-e", given, str(folder / "book.yml")]
    done = subprocess.run(
        argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return Run(done.returncode, done.stdout)
