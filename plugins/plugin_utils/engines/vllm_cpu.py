# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Upstream vLLM on the processors of machines without NPUs, for demos and tests."""

from __future__ import annotations

from .base import Engine

ENGINE = Engine(
    name="vllm_cpu",
    title="the CPU engine",
    release="cpu-0.32.0",
    python_option="vllm_cpu_python",
    release_prefix="cpu-",
    roles=("vllm_cpu",),
    layers=("vllm", "mooncake"),
    npus=False,
    images=False,
    hardware="cpu",
    high_limits=False,
    quantization_option=False,
    shutdown_timeout=False,
    environment={
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_NO_USAGE_STATS": "1",
        # An engine imports torch and vLLM once instead of three times: 30 s of processor time instead of 51. Our plugin keeps the
        # value (vllm/platforms/cpu.py sets spawn), but `vllm serve` sets spawn before the plugin is loaded, if there is none.
        "VLLM_WORKER_MULTIPROC_METHOD": "fork",
    },
    plugin="ascend_inference_cpu",
    plugin_files=("plugin.py", "mooncake_serial.py"),
    connectors={"mooncake": "MooncakeSerialConnector", "store": "MooncakeStoreConnector"},
    protocol="tcp",
    metadata_server=True,
    segment_size="512mb",
    buffer_size="128mb",
    chunk_tokens=4096,
    # These engines use float32: equal weights showed no tie and a difference of 0.0000 nats, other weights in one layer 0.02.
    compared_tokens=16,
    near_tie=99,
    probability_difference=1,
)
