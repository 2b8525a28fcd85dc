# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entry point ``vllm.general_plugins``: patches that vLLM's Mooncake connectors need on a CPU.

vLLM calls `register` in each of an engine's processes, before the engine's configuration is made. On a machine with an
accelerator it does nothing. Each change names the vLLM code that it replaces (vLLM 0.32.0).
"""

from __future__ import annotations

import os

SERIAL_CONNECTOR = "MooncakeSerialConnector"


def register() -> None:
    """Prepare this process; safe to call more than once."""
    import torch
    from vllm.platforms import current_platform

    if not current_platform.is_cpu() or torch.accelerator.is_available():
        return
    _register_serial_connector()
    _add_cpu_device(torch, type(current_platform))
    _skip_missing_connector_metrics()
    _keep_start_method(type(current_platform))


def _register_serial_connector() -> None:
    """Make the serial connector known by name, also inside MultiConnector, which takes registered names only."""
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory

    if SERIAL_CONNECTOR not in KVConnectorFactory._registry:
        KVConnectorFactory.register_connector(
            SERIAL_CONNECTOR, "ascend_inference_cpu.mooncake_serial", SERIAL_CONNECTOR
        )


class _PastEvent:
    """Replaces a CUDA event: on a CPU the forward pass is complete when the store connector records the event."""

    def __init__(self, *args, **kwargs):
        pass

    def record(self, stream=None):
        pass

    def synchronize(self):
        pass

    def query(self):
        return True


def _add_cpu_device(torch, platform: type) -> None:
    """Provide the accelerator's index (used by P2P) and an event to wait for (used by the store worker in wait_for_save)."""
    torch.accelerator.current_device_index = lambda: 0
    torch.cuda.Event = _PastEvent
    platform.set_device = classmethod(lambda cls, device: None)


def _skip_missing_connector_metrics() -> None:
    """MultiConnector asserts that each member has Prometheus metrics; Mooncake's P2P member has statistics but none.

    Without this the API server exits at the first transfer (vllm-project/vllm#43828).
    """
    from vllm.distributed.kv_transfer.kv_connector.v1 import multi_connector

    metrics = getattr(multi_connector, "MultiKVConnectorPromMetrics", None)
    if metrics is None:
        return

    def observe(self, transfer_stats_data, engine_idx=0):
        for name, data in transfer_stats_data.items():
            if name in self._prom_metrics:
                self._prom_metrics[name].observe(data, engine_idx)

    metrics.observe = observe


def _keep_start_method(platform: type) -> None:
    """CpuPlatform sets VLLM_WORKER_MULTIPROC_METHOD to spawn, regardless of the environment; keep the value of the environment.

    Default: fork. An engine then imports torch and vLLM once instead of three times: 12 s of CPU time instead of 31.
    """
    name = "VLLM_WORKER_MULTIPROC_METHOD"
    method = os.environ.get(name, "fork")
    original = platform.check_and_update_config.__func__
    if getattr(original, "keeps_start_method", False):
        return

    def check_and_update_config(cls, vllm_config):
        original(cls, vllm_config)
        os.environ[name] = method

    check_and_update_config.keeps_start_method = True
    platform.check_and_update_config = classmethod(check_and_update_config)
