# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thresholds of host checks: one record, each field with its unit and the source of its default."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Thresholds:
    """The keys of ``host_check_thresholds``; each is documented in the role's argument specification."""

    # Atlas 800T A2 user guide: chips work up to about 100 degrees and throttle above; idle ones are below 60.
    temperature_celsius: float = 85.0
    # npu-smi shows about 3 of 64 GiB in use on an idle chip (samples of drivers 23 to 26); engines allocate 0.9 of it.
    hbm_used_percent: float = 10.0
    # npu-smi reference, "ecc-info": isolated pages are replaced at the next reset, uncorrected errors stop a process.
    ecc_double_bit_errors: int = 0
    ecc_isolated_pages: int = 64
    # hccn_tool reference, "link_stat": a stable port has no link changes.
    link_downs: int = 3
    # hccn_tool reference, "stat": counters of damaged packets do not grow on a good cable.
    error_packets: int = 0
    # A pair is slow compared with others: ping times of one fabric differ by less than a factor of ten.
    slow_pair_factor: float = 10.0
    slow_pair_ms: float = 1.0
    # time.time() of two hosts is compared for delayed frees (knowledge_failures, N12); the rest is connection set-up.
    clock_seconds: float = 10.0
    # vLLM-Ascend installation guide and Mooncake troubleshooting: files, locked memory, mappings, shared memory.
    open_files: int = 65536
    max_map_count: int = 262144
    shm_mib: int = 1024
    disk_free_mib: int = 10 * 1024
    # Certain to fail: vLLM's and torch's wheels alone are larger, and services that run fill this with their logs.
    disk_least_mib: int = 512
    # An environment with vLLM and torch has about 50,000 files; two fit during an upgrade.
    disk_free_inodes: int = 200_000
    disk_least_inodes: int = 1000
    # A worker of vLLM with a tiny model on CPU has 0.7 GiB resident; torch_npu and CANN's libraries come on top.
    memory_mib_per_device: int = 2048
    # A C++ compiler takes 1 to 2 GiB for a large file with templates; most files need less, and not all compilers run at once.
    build_mib_per_job: int = 512
    # Sources with history and submodules of vLLM and vLLM-Ascend, and the objects of CANN's kernels, on top of disk_free_mib.
    build_disk_mib: int = 10 * 1024
    # Certificates that expire soon: a month is enough to replace them.
    certificate_days: int = 30


def thresholds(given: t.Mapping[str, t.Any] | None = None) -> Thresholds:
    """The defaults, overridden by ``given``. Raises ``ValueError`` for an unknown name or a value that is not a number."""
    known = {field.name: type(field.default) for field in dataclasses.fields(Thresholds)}
    wrong = sorted(set(given or {}) - set(known))
    if wrong:
        raise ValueError(f"unknown threshold {', '.join(wrong)}; known: {', '.join(sorted(known))}")
    try:
        return Thresholds(**{name: known[name](value) for name, value in (given or {}).items()})
    except (TypeError, ValueError) as error:
        raise ValueError(f"a threshold is not a number: {error}") from error
