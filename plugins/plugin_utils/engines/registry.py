# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines: ``inference_engine`` is one of these names, and the first is its default."""

from __future__ import annotations

from . import vllm_ascend, vllm_cpu
from .base import Engine

ENGINES: tuple[Engine, ...] = (
    vllm_ascend.ENGINE,
    vllm_cpu.ENGINE,
)
NAMES = tuple(engine.name for engine in ENGINES)
DEFAULT = ENGINES[0]
_BY_NAME = {engine.name: engine for engine in ENGINES}


def engine(name: str) -> Engine:
    """The record of an engine. Raises ``KeyError`` for an unknown name."""
    return _BY_NAME[name]


def prefix_of(release: str) -> str:
    """What the name of a release says about its engine: its ``release_prefix``."""
    prefixes = (engine.release_prefix for engine in ENGINES if engine.release_prefix)
    return next((prefix for prefix in prefixes if release.startswith(prefix)), "")
