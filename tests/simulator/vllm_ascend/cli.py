# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of ``vllm serve``: the real flags of the release, with the errors of argparse and vLLM."""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import uuid

from . import release as releases
from .errors import Died

FLAGS = pathlib.Path(__file__).with_name("flags.json")
KV_KEYS = {
    "kv_connector", "engine_id", "kv_buffer_device", "kv_buffer_size", "kv_role", "kv_rank", "kv_parallel_size",
    "kv_ip", "kv_port", "kv_connector_extra_config", "kv_connector_module_path", "enable_permute_local_kv",
    "kv_load_failure_policy",
}  # fmt: skip
ROLES = ("kv_producer", "kv_both", "kv_consumer")


def _whole(text):
    """vLLM's human readable integers: 8192, 32k, 1M, and -1 or auto."""
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?)([kKmMgG]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"invalid integer: {text}")
    scale = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}[match.group(2)]
    return int(float(match.group(1)) * scale)


def _json(text):
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"Value {text} cannot be converted to {json.loads}.") from error


def _kind_options(name, kind):
    """Keyword arguments of add_argument for one kind of flag."""
    if kind == "bool":
        return {"action": argparse.BooleanOptionalAction}
    if kind == "flag":
        return {"action": "store_true"}
    base, dummy, many = kind.partition(" ") if not kind.startswith("one of ") else (kind, "", "")
    options = {"nargs": {"list": "+", "optional": "?"}[many]} if many else {}
    if base.startswith("one of "):
        options["choices"] = base[len("one of ") :].replace(" list", "").split("|")
    convert = {"int": int, "float": float, "json": _json}.get(base)
    if name in ("--max-model-len", "--max-num-batched-tokens"):
        convert = _whole
    if convert:
        options["type"] = convert
    return options


class Parser(argparse.ArgumentParser):
    """vLLM's FlexibleArgumentParser: underscores in flags are dashes, ``--x.key value`` is JSON."""

    def parse_args(self, args=None, namespace=None):
        arguments, nested = [], {}
        rest = list(args or ())
        while rest:
            argument = rest.pop(0)
            if argument.startswith("--"):
                flag, equals, value = argument.partition("=")
                flag = "--" + flag[2:].replace("_", "-") if "." not in flag else flag
                if "." in flag:
                    head, dummy, path = flag.partition(".")
                    value = value if equals else rest.pop(0) if rest else ""
                    _set_nested(nested.setdefault(head.replace("_", "-").replace("--", "--"), {}), path, value)
                    continue
                argument = flag + equals + value
            arguments.append(argument)
        for flag, value in nested.items():
            arguments += [flag, json.dumps(value)]
        return super().parse_args(arguments, namespace)


def _set_nested(where, path, value):
    keys = path.split(".")
    for key in keys[:-1]:
        where = where.setdefault(key, {})
    try:
        where[keys[-1]] = json.loads(value)
    except ValueError:
        where[keys[-1]] = value


def flag_table(vllm):
    """{names: kind} of the vLLM whose flags were read last before, or at, the version."""
    with open(FLAGS, encoding="utf-8") as file:
        known = json.load(file)
    versions = sorted({v for kinds in known.values() for seen in kinds.values() for v in seen}, key=releases.key)
    fitting = [v for v in versions if releases.key(v) <= releases.key(vllm)] or versions[:1]
    chosen = fitting[-1]
    return {names: kind for names, kinds in known.items() for kind, seen in kinds.items() if chosen in seen}


def parser(vllm):
    """The parser of ``vllm serve`` of one version of vLLM."""
    made = Parser(prog="vllm serve", description="simulator of vllm serve on Ascend NPUs")
    made.add_argument("model_tag", nargs="?")
    for names, kind in flag_table(vllm).items():
        made.add_argument(*names.split(" "), **_kind_options(names.split(" ")[0], kind))
    made.set_defaults(
        port=8000, host=None, tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1,
        block_size=None, gpu_memory_utilization=0.9, dtype="auto", seed=None,
    )  # fmt: skip
    return made


def parse(argv, release):
    """Namespace of a command line; exits with status 2 like argparse."""
    made = parser(release.vllm)
    args = made.parse_args(argv)
    args.model = args.model_tag or getattr(args, "model", None)
    if not args.model:
        made.error("the following arguments are required: model_tag")
    for name in ("kv_transfer_config", "additional_config"):
        value = getattr(args, name, None)
        if isinstance(value, str):  # --additional-config is a string until the engine reads it
            try:
                setattr(args, name, json.loads(value))
            except ValueError as error:
                raise Died(f"TypeError: additional_config should be a dict, got {value!r} ({error})") from error
    args.additional_config = args.additional_config or {}
    if isinstance(getattr(args, "hf_overrides", None), str):
        args.hf_overrides = _json(args.hf_overrides)
    args.kv_transfer_config = kv_config(args.kv_transfer_config, release, made) if args.kv_transfer_config else None
    args.block_size = int(args.block_size or 128)
    return args


def kv_config(config, release, made):
    """The checked --kv-transfer-config with its defaults."""
    unknown = sorted(set(config) - KV_KEYS)
    if unknown and release.since("0.18.0rc1"):  # 0.11 and 0.13 silently accept unknown keys
        made.error(f"argument --kv-transfer-config: KVTransferConfig: Unexpected keyword argument {', '.join(unknown)}")
    role = config.get("kv_role")
    if role is not None and role not in ROLES:
        made.error(f"argument --kv-transfer-config: Unsupported kv_role: {role}. Supported roles are {ROLES}")
    if config.get("kv_connector") and role is None:
        made.error(
            "argument --kv-transfer-config: Please specify kv_role when kv_connector is set, "
            f"supported roles are {ROLES}"
        )
    whole = dict(config)
    whole["kv_port"] = int(config.get("kv_port", 14579))
    whole["engine_id"] = config.get("engine_id") or str(uuid.uuid4())
    whole["kv_connector_extra_config"] = config.get("kv_connector_extra_config") or {}
    whole.setdefault("kv_load_failure_policy", release.load_failure_policy)
    return whole
