# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the model fits into the memory of the planned devices: one line for each pool, and an error where it cannot."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ..description.findings import Finding
from ..description.values import read_json
from ..plan.render.vllm import split
from ..plan.rules.base import Rules
from ..releases.model_config import EXPERTS
from .memory import (
    Division,
    blocks,
    blocks_of_sequence,
    cached_layers,
    number_bytes,
    page_bytes,
    weights_per_rank,
)
from .observed import Observed, Record

RULES = Rules()
MIB, GIB = 2**20, 2**30
UTILIZATION = 0.9  # vLLM's default of --gpu-memory-utilization
BLOCK_SIZE = 128  # vLLM-Ascend's default of --block-size
HEADER = ("POOL", "HBM", "WEIGHTS", "KV CACHE", "TOKENS", "MAX-MODEL-LEN", "SEQUENCES", "MAX-NUM-SEQS")


@dataclass(frozen=True)
class Memory:
    """What one engine process needs on each of its devices, and has. Sizes are bytes."""

    pool: str
    service: str
    host: str
    hbm: int
    budget: int  # of weights and KV cache, before activations and graphs
    weights: int
    page: int  # of one block, all layers
    block_size: int
    blocks: int
    length: int  # --max-model-len, or what the model allows
    sequence_blocks: int  # that one sequence of that length takes
    sequences: str  # --max-num-seqs as given

    @property
    def tokens(self) -> int:
        """Tokens that the KV cache has room for, at most."""
        return self.blocks * self.block_size

    @property
    def full_sequences(self) -> float:
        """Sequences of the full length that fit at once, at most."""
        return self.blocks / self.sequence_blocks if self.sequence_blocks else 0.0


def memory_of_pools(case: Observed) -> list[Memory]:
    """For each pool the engine with the least room; empty where neither the model's nor the devices' sizes are known."""
    found: dict[str, Memory] = {}
    for host in case.hosts():
        model = _model(case, host)
        for service in case.services(host["name"]) if model else []:
            memory = _memory(case, host, service, model) if service["kind"] in ENGINE_KINDS else None
            if memory and (service["kind"] not in found or memory.blocks < found[service["kind"]].blocks):
                found[service["kind"]] = memory
    return [found[kind] for kind in ENGINE_KINDS if kind in found]


def _model(case: Observed, host: Record) -> Record:
    for model in case.part(host, "host").get("models") or []:
        if model["path"].rstrip("/") == case.plan["model"]["path"].rstrip("/") and (model.get("weights") or {}).get(
            "layers"
        ):
            return t.cast("Record", model)
    return {}


def _memory(case: Observed, host: Record, service: Record, model: Record) -> Memory | None:
    sizes = _hbm(case, host, service)
    if not sizes or not all(sizes):
        return None
    options = {name: values[0] if values else "" for name, values in split(service["argv"])}
    config = model["config"]
    division = _division(options)
    layers_of_draft = _draft_layers(options, config)
    weights = dict(model["weights"])
    if not layers_of_draft:  # the engine leaves out the weights of a draft that it does not run
        weights.update(layers=weights["layers"][: int(config.get("num_hidden_layers") or 0) or None], draft=[])
    needed = weights_per_rank(weights, config, division)
    hbm = min(sizes)
    budget = int(hbm * _number(options.get("gpu-memory-utilization"), UTILIZATION))
    block_size = int(_number(options.get("block-size"), BLOCK_SIZE))
    token = page_bytes(
        config,
        division,
        number_bytes(
            options.get("kv-cache-dtype", "auto"),
            options.get("dtype") or str(config.get("torch_dtype") or config.get("dtype") or "auto"),
        ),
    )
    layers = cached_layers(config, division, layers_of_draft)
    length = int(_number(options.get("max-model-len"), int(config.get("max_position_embeddings") or 0)))
    if not token or not layers or not length:
        return None
    return Memory(
        pool=service["kind"],
        service=service["name"],
        host=host["name"],
        hbm=hbm,
        budget=budget,
        weights=needed,
        page=token * block_size * layers,
        block_size=block_size,
        blocks=blocks(int(_number(options.get("kv-cache-memory-bytes"), budget - needed)), token, layers, block_size),
        length=length,
        sequence_blocks=blocks_of_sequence(length, block_size, division.context),
        sequences=options.get("max-num-seqs", ""),
    )


def _size(options: t.Mapping[str, str], name: str) -> int:
    return max(1, int(_number(options.get(name), 1)))


def _division(options: t.Mapping[str, str]) -> Division:
    return Division(
        tensor=_size(options, "tensor-parallel-size"),
        pipeline=_size(options, "pipeline-parallel-size"),
        data=_size(options, "data-parallel-size"),
        context=_size(options, "decode-context-parallel-size") * _size(options, "prefill-context-parallel-size"),
        spread_experts="enable-expert-parallel" in options,
    )


def _draft_layers(options: t.Mapping[str, str], config: Record) -> int:
    """Layers of multi-token prediction, which have their own weights and KV cache."""
    speculative = read_json(options.get("speculative-config", "null"))
    if isinstance(speculative, dict) and "mtp" in str(speculative.get("method") or ""):
        return int(config.get("num_nextn_predict_layers") or config.get("mtp_num_hidden_layers") or 1)
    return 0


def _number(text: str | None, default: float) -> float:
    """An option's value as a number; the default where it has none, or one such as ``auto`` or ``32k``."""
    try:
        return float(text) if text else default
    except ValueError:
        return default


def memory_lines(case: Observed) -> list[str]:
    """The table of the pools as text; empty where nothing is known."""
    rows = [HEADER, *(_row(memory) for memory in memory_of_pools(case))]
    if len(rows) == 1:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return ["Memory of one device, at most (activations and graphs come on top of the weights):", *lines]


def _row(memory: Memory) -> tuple[str, ...]:
    return (
        memory.pool,
        gib(memory.hbm),
        gib(memory.weights),
        gib(memory.blocks * memory.page),
        str(memory.tokens),
        str(memory.length),
        f"{memory.full_sequences:.1f}",
        memory.sequences or "-",
    )


def gib(size: int) -> str:
    """A size as text, such as 61.2 GiB."""
    return f"{size / GIB:.1f} GiB"


@RULES.rule(
    "MODEL-MEMORY",
    "Raise tensor_parallel_size or pipeline_parallel_size, quantize the model, or lower max-model-len.",
    "vllm/v1/core/kv_cache_utils.py, _check_enough_kv_cache_memory",
)
def model_memory(case: Observed) -> t.Iterator[Finding]:
    """The weights and the KV cache of one full sequence do not fit into a device's memory.

    The engine loads for minutes and then stops: no available memory for the cache blocks.
    """
    yield from _at_least(case)
    for memory in memory_of_pools(case):
        where = f"{memory.host} {memory.service}"
        if memory.weights >= memory.budget:
            yield Finding.at(
                where,
                gib(memory.weights),
                f"the weights of one rank take {gib(memory.weights)}; the engine may use {gib(memory.budget)} of the device's "
                f"{gib(memory.hbm)}",
            )
        elif memory.blocks < memory.sequence_blocks:
            yield Finding.at(
                where,
                str(memory.length),
                f"beside {gib(memory.weights)} of weights there is room for {memory.tokens} tokens at most, and max-model-len is "
                f"{memory.length}",
            )


def _at_least(case: Observed) -> t.Iterator[Finding]:
    """Models of which only the size of all weights is known, as before they are fetched: even if each rank had an equal share of all of them."""
    path = case.plan["model"]["path"].rstrip("/")
    for host, facts in case.gathered("host"):
        models = [each for each in facts.get("models") or [] if each["path"].rstrip("/") == path]
        size = int(models[0].get("weight_bytes") or 0) if models else 0
        for service in case.services(host["name"]) if size else []:
            sizes = _hbm(case, host, service) if service["kind"] in ENGINE_KINDS else []
            if not sizes or not all(sizes):
                continue
            options = {name: values[0] if values else "" for name, values in split(service["argv"])}
            ranks = _division(options)
            # Experts are shared by the ranks of all three, with or without --enable-expert-parallel (vLLM, flatten_tp_across_dp_and_pcp)
            shared = ranks.spread_experts or any((models[0].get("config") or {}).get(name) for name in EXPERTS)
            spread = ranks.data * _size(options, "prefill-context-parallel-size") if shared else 1
            share = size // (ranks.tensor * ranks.pipeline * spread)
            budget = int(min(sizes) * _number(options.get("gpu-memory-utilization"), UTILIZATION))
            if share >= budget:
                problem = (
                    f"the weights take {gib(size)}, at least {gib(share)} of each device; the engine may use {gib(budget)} of its "
                    f"{gib(min(sizes))}"
                )
                yield Finding.at(f"{host['name']} {service['name']}", gib(size), problem)


def _hbm(case: Observed, host: Record, service: Record) -> list[int]:
    """Bytes of memory of each device of a service; 0 where a device's is unknown."""
    return [
        int(npu.get("hbm_total_mib") or 0) * MIB
        for other, device, name, npu in case.each_npu()
        if other["name"] == host["name"] and name == service["name"]
    ]
