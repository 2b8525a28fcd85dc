# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection knows about an engine. Each engine is one record of this class; ``registry`` lists them."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

FACTS = ("npus", "roles", "versions", "high_limits", "quantization_option")


@dataclass(frozen=True)
class Engine:
    """An engine: a value of ``inference_engine``.

    Those fields that FACTS names become ``engine_facts`` of the plan. Planner, rules, checks, playbooks and roles test fields, never the name.
    """

    name: str
    title: str  # in messages: "the CPU engine"
    release: str  # default of inference_release
    roles: tuple[str, ...]  # roles that install it on a host, in order
    layers: tuple[str, ...]  # stamps of its environment (module python_venv): a newer one restarts its services
    npus: bool  # runs on NPUs: needs driver, firmware and CANN, and gets devices. If not, it takes no devices of a host
    images: bool  # there are images with it, for runtimes in containers
    hardware: str  # default of inference_hardware
    python_option: str = ""  # variable of the role that names another Python of the host for its environment
    release_prefix: str = ""  # names of its releases begin with it; releases of vLLM-Ascend have none
    versions: tuple[str, ...] = ("kernel",)  # columns of an acceptance report that have to be known
    high_limits: bool = True  # locks memory and opens many files: more than a user's limits usually allow
    quantization_option: bool = True  # reads a quantized model wrongly without --quantization
    shutdown_timeout: bool = True  # gets --shutdown-timeout, if its release has it, and some time more to end
    # Values of its environment, beside those that follow from the plan.
    environment: t.Mapping[str, str] = field(default_factory=dict)
    plugin: str = ""  # package of our plugin for it, in the folder share of its environment; empty: it needs none
    plugin_files: tuple[str, ...] = ()  # files of this package that restart its services if they are newer
    # Connectors of vLLM itself by the names of inference_kv_transfer. Prefill offers KV cache at a bootstrap port. Empty: it has those of
    # vLLM-Ascend, each with a port in its configuration.
    connectors: t.Mapping[str, str] = field(default_factory=dict)
    # Mooncake's clients
    protocol: str = "ascend"
    metadata_server: bool = False  # exchange metadata over the master's HTTP service, not with each other
    segment_size: str = "1GB"  # default of inference_store.segment_size
    buffer_size: str = ""  # default of inference_store.buffer_size; empty: Mooncake's
    # Verification
    block_size: int = 128  # default of --block-size, in tokens
    chunk_tokens: int = 8192  # vLLM's largest default of max-num-batched-tokens for a server
    compared_tokens: int = 8  # of 16: outputs of engines of different sizes may diverge later
    near_tie: int = 60  # least probability of a near tie, in percent
    probability_difference: int = 30  # most difference of probabilities, in percent

    def facts(self) -> dict[str, t.Any]:
        """The facts, as in the plan."""
        values = {name: getattr(self, name) for name in FACTS}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
