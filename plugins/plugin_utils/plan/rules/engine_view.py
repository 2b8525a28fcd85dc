# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine's final words, and where in the user's description each of them stands."""

from __future__ import annotations

import functools
import json
import typing as t
from dataclasses import dataclass

from ...description.variables import Description, HostWords
from ..placement import Instance, Process
from ..render.vllm import canonical
from ..service import Service

# Flags that the planner derives, and the word of a pool from which each follows
DERIVED = {
    "tensor-parallel-size": "tensor_parallel_size",
    "pipeline-parallel-size": "pipeline_parallel_size",
    "prefill-context-parallel-size": "prefill_context_parallel_size",
    "decode-context-parallel-size": "decode_context_parallel_size",
    "data-parallel-size": "data_parallel_size",
    "data-parallel-size-local": "data_parallel_size",
    "data-parallel-start-rank": "data_parallel_size",
    "data-parallel-rank": "load_balancing",
    "data-parallel-address": "group",
    "data-parallel-rpc-port": "ports.dp_rpc",
    "headless": "hosts_per_instance",
    "port": "ports.api",
    "nnodes": "hosts_per_instance",
    "node-rank": "hosts_per_instance",
    "master-addr": "group",
    "master-port": "ports.dp_rpc",
}
KV = "kv-transfer-config"


def split(argv: t.Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Flags and their values, in order; what stands before the first flag is left out."""
    found: list[tuple[str, list[str]]] = []
    for word in argv:
        if word.startswith("--"):
            found.append((word[2:], []))
        elif found:
            found[-1][1].append(word)
    return tuple((name, tuple(values)) for name, values in found)


@functools.lru_cache(maxsize=4096)
def read_json(text: str) -> t.Any:
    """The value of a JSON text; None where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def extra_of(connector: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """A connector's own settings; an empty mapping where something else stands there."""
    found = connector.get("kv_connector_extra_config")
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Words:
    """One engine process as it will be started, with the description's layers behind it."""

    description: Description
    service: Service
    instance: Instance
    process: Process

    @property
    def kind(self) -> str:
        """The pool's name."""
        return self.instance.kind

    @property
    def pool_path(self) -> str:
        """The pool's place in the description."""
        return f"inference_pools.{self.kind}"

    @functools.cached_property
    def flags(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every flag of the command line with its values, in order, repeated ones repeated."""
        return split(self.service.argv[3:])

    @functools.cached_property
    def table(self) -> dict[str, tuple[str, ...]]:
        """The values of each flag; of a repeated one the last, as argparse has it."""
        return dict(self.flags)

    @property
    def env(self) -> dict[str, str]:
        """The process' environment."""
        return self.service.env

    def layers(self, part: str) -> tuple[tuple[str, t.Mapping[str, t.Any]], ...]:
        """The user's mappings of ``args`` or ``env`` with their paths, the strongest first."""
        pool, host = self.instance.pool, self.process.host.name
        own = pool.hosts.get(host, HostWords())
        return (
            (f"{self.pool_path}.hosts.{host}.{part}", getattr(own, part)),
            (f"{self.pool_path}.{part}", getattr(pool, part)),
            (f"inference_{part}", getattr(self.description, part)),
        )

    def said(self, flag: str) -> tuple[str, t.Any] | None:
        """Path and value of a flag as the user wrote it, also in its ``no-`` form; None if nobody asked for it."""
        for path, mapping in self.layers("args"):
            for key in mapping:
                if canonical(key) in (flag, f"no-{flag}"):
                    return f"{path}.{key}", mapping[key]
        return None

    def path(self, flag: str) -> str:
        """Where a flag stands: the user's word, or the word that it is derived from."""
        said = self.said(flag)
        if said:
            return said[0]
        if flag in DERIVED:
            return f"{self.pool_path}.{DERIVED[flag]}"
        if flag == "served-model-name":
            return "inference_model.name"
        return f"{self.pool_path}.args.{flag}"

    def env_path(self, name: str) -> str:
        """Where an environment variable stands."""
        for path, mapping in self.layers("env"):
            if name in mapping:
                return f"{path}.{name}"
        return f"{self.pool_path}.env.{name}"

    def asks_env(self, name: str) -> bool:
        """Whether the user set an environment variable."""
        return any(name in mapping for dummy, mapping in self.layers("env"))

    def value(self, flag: str) -> str:
        """A flag's first value; an empty string if it has none or is absent."""
        return (self.table.get(flag) or ("",))[0]

    def integer(self, flag: str) -> int | None:
        """A flag's value as a number; vLLM's 4k and 1M are numbers too."""
        return whole(self.value(flag))

    def truth(self, flag: str) -> bool | None:
        """True for ``--flag``, False for ``--no-flag``, None if neither is there."""
        answer = None
        for name, dummy in self.flags:
            if name in (flag, f"no-{flag}"):
                answer = name == flag
        return answer

    def mapping(self, flag: str) -> dict[str, t.Any]:
        """A JSON flag's value; an empty mapping where it is no JSON mapping."""
        found = read_json(self.value(flag)) if flag in self.table else None
        return found if isinstance(found, dict) else {}

    @property
    def kv(self) -> dict[str, t.Any]:
        """The connector's configuration."""
        return self.mapping(KV)

    @functools.cached_property
    def connectors(self) -> tuple[dict[str, t.Any], ...]:
        """The configuration, and those of the connectors inside it."""
        children = extra_of(self.kv).get("connectors")
        inside = children if isinstance(children, list) else []
        return tuple(one for one in (self.kv, *inside) if isinstance(one, dict) and one)

    def kv_path(self, *keys: str) -> str:
        """Where a key of the connector's configuration stands: the user's own, or what the planner derives it from."""
        said = self.said(KV)
        if said:
            return ".".join((said[0], *keys))
        at: t.Any = self.instance.pool.kv
        below = keys[1:] if keys[:1] == ("kv_connector_extra_config",) else ()
        for word in at:
            if below and isinstance(at[word], dict) and below[0] in at[word]:
                return ".".join((f"{self.pool_path}.kv.{word}", *below))
        if keys and keys[0] in at:
            return ".".join((f"{self.pool_path}.kv", *keys))
        return f"{self.pool_path}.kv" if at else "inference_kv_transfer"

    def asks_kv(self) -> bool:
        """Whether the user wrote any of the connector's configuration."""
        return bool(self.instance.pool.kv) or self.said(KV) is not None

    @property
    def speculative_tokens(self) -> int | None:
        """Tokens that are speculated at a time; None without speculation."""
        found = self.mapping("speculative-config").get("num_speculative_tokens")
        return whole(str(found)) if found is not None else None


def whole(text: str) -> int | None:
    """A whole number, also in vLLM's short forms 32k (1000) and 32K (1024)."""
    word, factor = str(text), 1
    units = {"k": 1000, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
    if word[-1:] in units:
        word, factor = word[:-1], units[word[-1]]
    try:
        return int(float(word) * factor) if factor > 1 else int(word)
    except ValueError:
        return None
