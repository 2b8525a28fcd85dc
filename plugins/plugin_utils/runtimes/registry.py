# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runtimes of the controller: ``inference_runtime`` is one of these names, and the first is its default.

A module is loaded when its runtime is requested for, because a runtime builds on the planner's records and the description's
variables, which read this list. ``module_utils/runtime/registry.py`` lists the runtimes on the hosts.
"""

from __future__ import annotations

import functools
import importlib
import typing as t

if t.TYPE_CHECKING:
    from .base import Runtime

# Names, and the modules of this folder that define RUNTIME.
MODULES = {
    "systemd": "systemd",
    "docker": "docker",
    "supervisor": "supervisor",
    "kubernetes": "kubernetes.runtime",
}
NAMES = tuple(MODULES)


@functools.cache
def runtime(name: str) -> Runtime:
    """The record of a runtime. Raises ``KeyError`` for an unknown name."""
    return t.cast("Runtime", importlib.import_module(f".{MODULES[name]}", __package__).RUNTIME)


def runtimes() -> tuple[Runtime, ...]:
    """Every record."""
    return tuple(runtime(name) for name in NAMES)


def in_cluster(name: t.Any) -> bool:
    """Whether a value of ``inference_runtime``, valid or not, is a runtime without hosts in the inventory."""
    return isinstance(name, str) and name in MODULES and runtime(name).in_cluster
