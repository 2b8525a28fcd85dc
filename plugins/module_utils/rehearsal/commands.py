# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which commands of engines are one configuration: those that differ in a rank, a port or an address only. Runs on Python 3.7."""

from __future__ import annotations

import re

OF_A_RANK = re.compile(r"--(host|port|data-parallel-(rank|start-rank|address|rpc-port)|node-rank|master-(addr|port))$")
OF_A_HOST = re.compile(r"_IP$|IFNAME$|_PORT|^(HOME|ASCEND_INFERENCE_SERVICE)$")
DEVICES = re.compile(r"DEVICES$")
IN_JSON = re.compile(r'"(engine_id|kv_ip|kv_port|kv_rank|lookup_rpc_port|bootstrap_port)": ?("[^"]*"|[0-9]+)')


def shape(argv, env):
    """What a command (without "vllm serve") has in common with those of the other ranks and instances; a tuple of texts."""
    words = ["" if index and OF_A_RANK.match(argv[index - 1]) else word for index, word in enumerate(argv)]
    words = [IN_JSON.sub(r'"\1":""', word) for word in words]
    settings = []
    for name, value in sorted(env.items()):
        if DEVICES.search(name):  # their number, not which ones
            value = str(len(value.split(",")))
        if not OF_A_HOST.search(name):
            settings.append(f"{name}={value}")
    return (*words, *settings)


def distinct(engines):
    """Engines (mappings with name, argv, env) by shape: a list of lists, each in the given order."""
    groups = {}
    for engine in engines:
        groups.setdefault(shape(engine["argv"], engine["env"]), []).append(engine)
    return list(groups.values())
