# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn the archive of an acceptance into simulated hosts: their npu-smi and hccn_tool print what the real ones printed.

``python tests/simulator/replay.py ARCHIVE FOLDER [MODEL]`` writes an inventory for the playbook check and prints its path. MODEL: folder of the model on this
machine. Only the tools are replayed: what a check reads from the machine itself (memory, disks, kernel) is that of this machine, and the
ids of such findings are accepted in the inventory. A call that was not recorded fails with status 70 and is named on stderr.

An archive comes from others: what it names is written below FOLDER only, and no text of it is a template or a setting of Ansible.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = {"npu-smi": "npu_smi", "hccn_tool": "hccn_tool"}  # program -> key of host_check_executables
MOST = 2**30  # bytes of an archive when it is unpacked
NAME = re.compile(r"\w[\w.:-]*")  # of a host
sys.path.insert(0, HERE)

from ascend_cluster import MACHINE  # noqa: E402 - a sibling of this script


def contents(archive):
    """{path below the archive's folder: text}."""
    with tarfile.open(archive, encoding="utf-8") as stream:
        members, size = [], 0
        for member in stream:  # one after the other: nothing is unpacked beyond the limit
            size += member.size
            if member.size < 0:  # it would make room for others
                raise ValueError(f"{archive} has a member of {member.size} bytes")
            if size > MOST:
                raise ValueError(f"{archive} has more than {MOST} bytes")
            members += [member] if member.isfile() else []
        return {member.name.split("/", 1)[1]: stream.extractfile(member).read().decode("utf-8") for member in members}


def answers_of(files, host):
    """{"TOOL ARGUMENTS": [{rc, out, err, timed_out}]} of a host's recorded calls, in the order in which they were made."""
    found = {}
    for call in json.loads(files[f"{host}/tools.json"])["commands"]:
        name = " ".join([os.path.basename(call["argv"][0]), *call["argv"][1:]])
        texts = {
            key: files[f"{host}/{call[stream]}"] if call[stream] else ""
            for stream, key in (("stdout", "out"), ("stderr", "err"))
        }
        found.setdefault(name, []).append({"rc": call["rc"], "timed_out": call["timed_out"], **texts})
    return found


def inert(value):
    """The value with every text that Ansible would take for a template marked as none."""
    if isinstance(value, dict):
        return {key: inert(item) for key, item in value.items()}
    if isinstance(value, list):
        return [inert(item) for item in value]
    is_template = isinstance(value, str) and any(mark in value for mark in ("{{", "{%", "{#"))
    return {"__ansible_unsafe": value} if is_template else value


def own_settings(variables):
    """The variables without those of Ansible itself, inert."""
    return {name: inert(value) for name, value in variables.items() if not name.startswith("ansible_")}


def install(folder, host, files, python=sys.executable):
    """Write the recorded answers, programs and hccn.conf of a host -> its variables for the role host_check."""
    if not NAME.fullmatch(host):
        raise ValueError(f"the archive names a host {host!r}")
    place = os.path.join(str(folder), host)
    os.makedirs(os.path.join(place, "bin"), exist_ok=True)
    state = os.path.join(place, "answers.json")
    with open(state, "w", encoding="utf-8") as handle:
        json.dump(answers_of(files, host), handle, indent=1)
    for tool in TOOLS:
        path = os.path.join(place, "bin", tool)
        with open(path, "w", encoding="utf-8") as handle:
            handle.write("#!/bin/sh\n# The ascend.inference simulator, not a vendor tool.\n")
            handle.write(f"exec '{python}' -S '{HERE}/replayed_tool.py' '{state}' {tool} \"$@\"\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    conf = os.path.join(place, "hccn.conf")
    kept = next(iter(json.loads(files[f"{host}/tools.json"])["files"].values()), None)
    if kept:
        with open(conf, "w", encoding="utf-8") as handle:
            handle.write(files[f"{host}/{kept}"])
    executables = {key: os.path.join(place, "bin", tool) for tool, key in TOOLS.items()}
    return {"host_check_executables": executables, "host_check_hccn_conf": conf}


def replay(archive, folder, model=None, python=sys.executable):
    """Write simulated hosts and an inventory for the playbook check -> path of the inventory (JSON, which is YAML as well)."""
    folder, files = os.path.abspath(str(folder)), contents(archive)
    declared = json.loads(files["inventory.json"])
    variables = {
        **own_settings(declared["variables"]),
        "ansible_connection": "local",
        "ansible_python_interpreter": python,
    }
    variables.update(host_check_ping="full", inference_runtime="supervisor", inference_root="/tmp/ascend-replay")
    ignored = variables.get("inference_check_ignore") or []
    variables["inference_check_ignore"] = sorted({*ignored, *MACHINE})
    if model:
        variables["inference_model"] = {**variables["inference_model"], "path": str(model)}
    groups = {}
    for number, (host, declaration) in enumerate(sorted(declared["hosts"].items())):
        own = own_settings(declaration["variables"])
        own["inference_address"] = f"127.0.0.{2 + number}"  # of this machine
        if f"{host}/tools.json" in files:
            own.update(install(folder, host, files, python))
        for group in {*declaration["groups"]} - {"all"} or {"ungrouped"}:
            groups.setdefault(group, {"hosts": {}})["hosts"][host] = own
    path = os.path.join(folder, "inventory.yml")
    with open(path, "w", encoding="utf-8") as handle:
        json.dump({"all": {"vars": variables, "children": groups}}, handle, indent=1)
    return path


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(replay(*sys.argv[1:4]))
