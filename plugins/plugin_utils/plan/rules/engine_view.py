# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The final options and environment of an engine, and the variable that each of them comes from."""

from __future__ import annotations

import contextlib
import functools
import json
import typing as t
from dataclasses import dataclass

from ...description.values import canonical, merged, read_json, whole
from ...description.variables import Description, HostSettings
from ..placement import Instance, Process
from ..render.vllm import split
from ..service import Service

# Derived options, and the pool variable that each is derived from
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


def extra_of(connector: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """A connector's kv_connector_extra_config; an empty mapping if it is not a mapping."""
    found = connector.get("kv_connector_extra_config")
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class EngineView:
    """One engine process as it will be started, with the layers of variables that it is derived from."""

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
        """Every option of the command line with its values, in order, including repeated ones."""
        return split(self.service.argv[3:])

    @functools.cached_property
    def table(self) -> dict[str, tuple[str, ...]]:
        """The values of each option; the last ones of a repeated option, as in argparse."""
        return dict(self.flags)

    @property
    def env(self) -> dict[str, str]:
        """The process' environment."""
        return self.service.env

    def layers(self, part: str) -> tuple[tuple[str, t.Mapping[str, t.Any]], ...]:
        """The user's mappings of ``args`` or ``env`` with their paths, highest precedence first."""
        pool, host = self.instance.pool, self.process.host.name
        own = pool.hosts.get(host, HostSettings())
        rank = str(self.process.first_rank)
        of_rank = pool.ranks[rank].env if part == "env" and rank in pool.ranks else {}
        return (
            *(((f"{self.pool_path}.ranks.{rank}.{part}", of_rank),) if of_rank else ()),
            (f"{self.pool_path}.hosts.{host}.{part}", getattr(own, part)),
            (f"{self.pool_path}.{part}", getattr(pool, part)),
            (f"inference_{part}", getattr(self.description, part)),
        )

    def user_value(self, flag: str) -> tuple[str, t.Any] | None:
        """Path and value of an option as the user wrote it, also in its ``no-`` form; None if the user did not set it."""
        for path, mapping in self.layers("args"):
            for key in mapping:
                if canonical(key) in (flag, f"no-{flag}"):
                    return f"{path}.{key}", mapping[key]
        return None

    def path(self, flag: str) -> str:
        """Path of an option: where the user set it, or the variable that it is derived from."""
        written = self.user_value(flag)
        if written:
            return written[0]
        if flag in DERIVED:
            return f"{self.pool_path}.{DERIVED[flag]}"
        if flag == "served-model-name":
            return "inference_model.name"
        return f"{self.pool_path}.args.{flag}"

    def key_path(self, flag: str, key: str) -> str:
        """Path of a key inside a JSON option: behind dots, if it or one above or below it is written so; else in the option's mapping."""
        keys = key.split(".")
        for count in range(len(keys), 0, -1):
            written = self.user_value(".".join((flag, *keys[:count])))
            if written:
                return ".".join((written[0], *keys[count:]))
        for path, mapping in self.layers("args"):
            for name in mapping:
                if canonical(name).startswith(f"{flag}.{key}."):
                    return f"{path}.{name}"
        return f"{self.path(flag)}.{key}"

    def env_path(self, name: str) -> str:
        """Path of an environment variable."""
        for path, mapping in self.layers("env"):
            if name in mapping:
                return f"{path}.{name}"
        return f"{self.pool_path}.env.{name}"

    def sets_env(self, name: str) -> bool:
        """Whether the user set an environment variable."""
        return any(name in mapping for dummy, mapping in self.layers("env"))

    def value(self, flag: str) -> str:
        """An option's first value; an empty string if it has none or is absent."""
        return (self.table.get(flag) or ("",))[0]

    def integer(self, flag: str) -> int | None:
        """An option's value as a number, including vLLM's short forms such as 4k and 1M."""
        return whole(self.value(flag))

    def truth(self, flag: str) -> bool | None:
        """True for ``--flag``, False for ``--no-flag``, None if neither is given."""
        answer = None
        for name, dummy in self.flags:
            if name in (flag, f"no-{flag}"):
                answer = name == flag
        return answer

    @functools.cached_property
    def dotted(self) -> tuple[tuple[str, str, dict[str, t.Any]], ...]:
        """Flag, option and mapping of each key behind dots: ``attention-config.backend``. vLLM reads its value as JSON."""
        found: list[tuple[str, str, dict[str, t.Any]]] = []
        for flag, given in self.flags:
            option, *keys = flag.split(".")
            value: t.Any = given[0] if given else True
            with contextlib.suppress(ValueError):
                value = json.loads(value) if keys and isinstance(value, str) else value
            for key in reversed(keys):
                value = {key: value}
            found += [(flag, option, value)] if keys else []
        return tuple(found)

    def mapping(self, flag: str) -> dict[str, t.Any]:
        """A JSON option's value with its keys behind dots; an empty mapping if it is not a JSON mapping.

        vLLM takes only the latter if both are written, which FLAG-DUPLICATE refuses; other rules judge both.
        """
        found = read_json(self.value(flag)) if flag in self.table else None
        found = found if isinstance(found, dict) else {}
        for _flag, option, value in self.dotted:
            found = merged(found, value) if option == flag else found
        return found

    @property
    def kv(self) -> dict[str, t.Any]:
        """The connector's configuration."""
        return self.mapping(KV)

    @functools.cached_property
    def connectors(self) -> tuple[dict[str, t.Any], ...]:
        """The connector's configuration, followed by those of nested connectors."""
        children = extra_of(self.kv).get("connectors")
        inside = children if isinstance(children, list) else []
        return tuple(found for found in (self.kv, *inside) if isinstance(found, dict) and found)

    def kv_path(self, *keys: str) -> str:
        """Path of a key of the connector's configuration: where the user set it, or the variable that it is derived from."""
        written = self.user_value(KV)
        if written:
            return ".".join((written[0], *keys))
        settings: t.Any = self.instance.pool.kv
        below = keys[1:] if keys[:1] == ("kv_connector_extra_config",) else ()
        for key in settings:
            if below and isinstance(settings[key], dict) and below[0] in settings[key]:
                return ".".join((f"{self.pool_path}.kv.{key}", *below))
        if keys and keys[0] in settings:
            return ".".join((f"{self.pool_path}.kv", *keys))
        return f"{self.pool_path}.kv" if settings else self.transfer_path

    @property
    def transfer_path(self) -> str:
        """The variable that names the connectors of the engine's pool."""
        own = getattr(self.instance.pool, "kv_transfer", "")
        return f"{self.pool_path}.kv_transfer" if own else "inference_kv_transfer"

    def sets_kv(self) -> bool:
        """Whether the user wrote any of the connector's configuration."""
        return bool(self.instance.pool.kv) or self.user_value(KV) is not None

    @property
    def speculative_tokens(self) -> int | None:
        """Number of speculative tokens; None without speculative decoding."""
        found = self.mapping("speculative-config").get("num_speculative_tokens")
        return whole(str(found)) if found is not None else None
