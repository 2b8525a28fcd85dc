# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runtimes of hosts, by the name in the plan. The controller's list is ``plugin_utils/runtimes/registry.py``."""

from __future__ import annotations

from .base import RuntimeProblem, command
from .docker import Docker
from .supervisor import Supervisor
from .systemd import Systemd

RUNTIMES = {
    "docker": Docker,
    "supervisor": Supervisor,
    "systemd": Systemd,
}
LOGS = {runtime.log_kind: runtime for runtime in RUNTIMES.values()}  # runtime by kind of log


def runtime_of(name, settings, run=command):
    """The runtime of a plan, which runs its commands by ``run``. Raises RuntimeProblem for an unknown one."""
    if name not in RUNTIMES:
        raise RuntimeProblem(
            "unknown runtime {!r}; known: {}. The plan was created by another version of the collection, "
            "or the runtime is missing in module_utils/runtime/registry.py".format(name, ", ".join(sorted(RUNTIMES)))
        )
    return RUNTIMES[name](settings, run)
