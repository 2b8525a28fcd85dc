# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What somebody means by a name that is not known: names that are spelt alike, and the names of hardware.

Numbers carry meaning, so likeness does not reach across them: 910B is no misspelt 910A, and V2 no misspelt V1.
"""

from __future__ import annotations

import difflib
import re
import typing as t

from ...module_utils.tools.engine_kinds import ENGINE_KINDS

NUMBER = re.compile(r"[a-z]?\d+[a-z]?")
# Generation by parts of the names of chips, cards, servers and racks, without blanks; the first that is found counts.
# Chips: npu-smi. Servers: "Atlas 800I A2", "Atlas 900 A3 SuperPoD"; A5 is the generation of the 950 in images and builds.
HARDWARE = (
    (r"^200i", ""),  # 200I A2 has another chip, which serves no model of this collection
    (r"950|91095|a5(?!\d)", "950"),
    (r"a2(?!\d)|910b", "a2"),
    (r"a3(?!\d)|910c|91093|cloudmatrix384", "a3"),
    (r"310p|300i(duo|pro)|300vpro", "310p"),
    (r"910(a|pro)|800(9000|9010)", "910a"),
)


# Other names of keys: of vLLM's and Kubernetes' settings, and their short forms.
KEYS = {
    "tp": "tensor_parallel_size",
    "dp": "data_parallel_size",
    "pp": "pipeline_parallel_size",
    "pcp": "prefill_context_parallel_size",
    "dcp": "decode_context_parallel_size",
    "ep": "expert_parallel",
    "replicas": "instances",
    "count": "instances",
    "arguments": "args",
    "options": "args",
    "environment": "env",
    "volumes": "mounts",
    "hostname": "address",
    "model": "path",
    "engine_args": "args",
    "vllm_args": "args",
    "extra_args": "args",
    "envs": "env",
    "num_instances": "instances",
    "served_model_name": "name",
}
# Other names of keys that only some records have: of a service, where it listens or the group of its host; a pool has hosts of its own.
PLACES = {"host": ("hosts", "bind", "group"), "address": ("bind",), "listen": ("bind",)}
# Variables that others have, or that are keys here, without the prefix
VARIABLES = {
    "port": "router.port",
    "model_name": "model.name",
    "model_path": "model.path",
    "npus": "devices",
    "nic": "interface",
    "chip": "hardware",
    "soc_version": "hardware",
    "version": "release",
    "connector": "kv_transfer",
    "kv_connector": "kv_transfer",
    "docker": "container",
    "k8s": "kubernetes",
    "proxy": "router",
    "engine_args": "args",
    "vllm_args": "args",
    "extra_args": "args",
    "environment": "env",
    "envs": "env",
    **{name: f"pools.{name}" for name in ENGINE_KINDS},
}


# Other words for the values of variables.
ENGINE = {"vllm": "vllm_ascend", "ascend": "vllm_ascend", "cpu": "vllm_cpu"}
RUNTIME = {
    "k8s": "kubernetes",
    "kthena": "kubernetes",
    "container": "docker",
    "containers": "docker",
    "supervisord": "supervisor",
}


def engine_meant(word: str) -> str:
    """The engine that another word stands for; empty if it is none."""
    return ENGINE.get(word.lower().replace("-", "_"), "")


def runtime_meant(word: str) -> str:
    """The runtime that another word stands for; empty if it is none."""
    return RUNTIME.get(word.lower(), "")


def key_meant(key: str) -> str:
    """The key that another name stands for, such as tensor_parallel_size for tp and TP_size; else the name as keys are written.

    >>> key_meant("TP-size"), key_meant("Data-Parallel-Size")
    ('tensor_parallel_size', 'data_parallel_size')
    """
    plain = key.strip().lower().replace("-", "_")
    return KEYS.get(plain) or KEYS.get(plain.removesuffix("_size")) or plain


def key_in(key: str, fields: t.Container[str]) -> str:
    """The key of a record that another name stands for; else the name as keys are written.

    >>> key_in("host", ["bind", "port"]), key_in("tp", ["bind", "port"])
    ('bind', 'tensor_parallel_size')
    """
    meant = key_meant(key)
    return meant if meant in fields else next((name for name in PLACES.get(meant, ()) if name in fields), meant)


def without_blank(text: t.Any) -> tuple[str, str]:
    """Key and value of a text such as ``tp:8``, for which a blank behind the colon was meant; empty if it is none."""
    found = re.fullmatch(r"([A-Za-z][\w-]*):(\S.*)", text) if isinstance(text, str) else None
    return (found.group(1), found.group(2)) if found else ("", "")


def close(name: str, known: t.Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """The known names that are spelt most alike and have all numbers of this one, at most ``count``, the likest first."""
    alike = [item for item in dict.fromkeys(known) if same_numbers(name, item)]
    return difflib.get_close_matches(name, alike, n=count, cutoff=cutoff)


def same_numbers(name: str, other: str) -> bool:
    """Whether another name has all numbers of a name, with the letters that belong to them: w8a8 of r1-w8a8, not V2 of V1."""
    return set(NUMBER.findall(name.lower())) <= set(NUMBER.findall(other.lower()))


def generation_of(name: str) -> str:
    """The generation (inference_hardware) that a name of hardware stands for; empty if it is none, or one of several.

    >>> generation_of("Ascend 910B4-1"), generation_of("Atlas 900 A3 SuperPoD"), generation_of("910")
    ('a2', 'a3', '')
    """
    plain = re.sub(r"[\W_]|atlas|ascend|huawei", "", name.lower())
    return next((word for pattern, word in HARDWARE if re.search(pattern, plain)), "")
