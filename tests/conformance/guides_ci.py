# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployments that the CI of a vLLM-Ascend release runs, from its source distribution, as entries that read_entry reads.

A file gives each node's command, or a template and the sizes with which a launcher starts it once for each rank.
"""

from __future__ import annotations

import pathlib
import re
import shlex
import typing as t

import yaml

CONFIGS = "tests/e2e/cases/models/configs"
CHOSEN = ".github/workflows/configs"  # which of them the CI runs, on which hardware
GROUPS = {"prefiller": "prefill", "decoder": "decode"}
HOSTS = {"prefill": "prefiller_host_index", "decode": "decoder_host_index"}
Entry = dict[str, t.Any]


def entries(folder: pathlib.Path, release: str) -> t.Iterator[Entry]:
    """The deployments over several nodes of a release's unpacked source distribution."""
    hardware = chosen(folder)
    for path in sorted((folder / CONFIGS).rglob("*.yaml")):
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        roles = list(_launched(config) if config.get("templates") else _started(config))
        soc = hardware.get(path.name, "")
        if roles and soc:
            source = {"repo": "vllm-ascend", "tag": release, "path": str(path.relative_to(folder))}
            yield {
                "id": path.stem,
                "source": {**source, "ref": f"v{release}"},
                "model": str(config["model"]),
                "hardware": {"soc": soc.upper()},
                "npu_per_node": config["npu_per_node"],
                "num_nodes": config["num_nodes"],
                "roles": roles,
            }


def chosen(folder: pathlib.Path) -> dict[str, str]:
    """{name of a file: hardware, a2 or a3} of what the CI runs."""
    found: dict[str, str] = {}
    for path in sorted((folder / CHOSEN).glob("*.yaml")):
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
        for soc, groups in tree.items() if isinstance(tree, dict) else ():
            for name in re.findall(r"'config_file_path': '([^']*)'", str(groups)):
                found.setdefault(pathlib.PurePath(name).name, soc[:2])
    return found


def _launched(config: t.Mapping[str, t.Any]) -> t.Iterator[Entry]:
    """The nodes of a launcher: sizes of ranks beside a template of their command."""
    groups = (config.get("routing") or {}).get("groups") or {}
    kinds = {node: GROUPS[group] for group in groups if group in GROUPS for node in groups[group]}
    templates = {item["node_index"]: item for item in config["templates"]}
    for sizes in config["config"]:
        node = sizes["node_index"]
        template = templates[node]
        yield {
            "role": kinds.get(node, "both"),
            "host": f"${{NODE_{node}_IP}}",
            "parallel": {key: value for key, value in sizes.items() if key != "node_index"},
            "env": dict(template.get("envs") or {}),
            "argv": ["vllm", "serve", str(config["model"]), *map(str, template["server_cmd_template"])],
        }


def _started(config: t.Mapping[str, t.Any]) -> t.Iterator[Entry]:
    """The nodes of a file that gives each node its own command."""
    hosts = config.get("disaggregated_prefill") or {}
    kinds = {node: kind for kind, word in HOSTS.items() for node in hosts.get(word) or ()}
    for node, item in enumerate(config.get("deployment") or ()):
        command = re.sub(r"\\\n", " ", str(item["server_cmd"]))
        firsts = [number for number in kinds if kinds[number] == kinds.get(node)] or [0]
        yield {
            "role": kinds.get(node, "both"),
            "host": f"${{NODE_{node}_IP}}",
            "shell_vars": {"MASTER_IP": f"${{NODE_{min(firsts)}_IP}}", "LOCAL_IP": f"${{NODE_{node}_IP}}"},
            "env": dict(item.get("envs") or {}),
            "argv": shlex.split(command),
        }
