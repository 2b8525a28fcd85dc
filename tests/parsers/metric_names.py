# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the programs that tests/parsers installed have the metrics that rules and dashboards of that version read?

vLLM's names are read from its wheel's modules, those of mooncake_master and vllm-router are texts in their binaries.
"""

from __future__ import annotations

import re
import sys
import typing as t
from pathlib import Path

import environments
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring import metrics
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.vllm_router import METRICS

sys.path.append(str(environments.ROOT / "tests" / "releases"))
import vllm_metrics  # noqa: E402

ENDS = re.compile(r"_(bucket|sum|count)$")  # of a histogram's series; the program has its name without them


def problems(judge: str, version: str) -> list[str]:
    """What the program of that version lacks, or has although it is listed as newer."""
    check = {"vllm": of_vllm, "mooncake_master": of_master, "vllm_router": of_router}.get(judge)
    return [f"{judge} {version}: {text}" for text in check(version)] if check else []


def of_vllm(version: str) -> t.Iterator[str]:
    """The wheel and metrics_data.py, which was read from source distributions, have the same names."""
    environments.vllm(version)
    found = set(vllm_metrics.read(environments.CACHE / f"vllm-{environments.BUILDS.get(version, version)}"))
    known = set(metrics.of_vllm(version))
    if len(found) < 20:
        yield f"only {len(found)} metrics were found in the wheel, so nothing is compared"
    yield from (f"the wheel has no metric {name}, metrics_data.py has it" for name in sorted(known - found))
    yield from (f"metrics_data.py has no metric {name}, the wheel has it" for name in sorted(found - known))


def of_master(version: str) -> t.Iterator[str]:
    """The binary has the names of its version, and none that is listed as newer."""
    binary = environments.mooncake_master(version)[0]
    texts = binary.read_bytes()
    known = metrics.of_master(version)
    for name in metrics.MASTER:
        if (name.encode() in texts) != (name in known):
            yield f"{name} is {'missing' if name in known else 'there'}, other than monitoring/metrics.py says"


def of_router(version: str) -> t.Iterator[str]:
    """The extension module has the names."""
    libraries: list[Path] = [
        path for path in environments.router(version).parent.parent.rglob("*.so") if "router" in path.name
    ]
    texts = b"".join(path.read_bytes() for path in libraries)
    names = sorted({name for mode in METRICS.values() for name in mode})
    yield from (f"it has no metric {name}" for name in names if ENDS.sub("", name).encode() not in texts)
