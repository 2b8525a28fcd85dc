# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules for Kubernetes have in common: options, the connection, and how they fail."""

from __future__ import annotations

from ..tools.text import visible
from .client import LIBRARY_ERROR, Client
from .cluster import Cluster
from .errors import KubernetesProblem

CONNECTION = {
    "plan": {"type": "dict", "required": True},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
    "poll": {"type": "int", "default": 5},
}
WRITER = {"force_conflicts": {"type": "bool", "default": False}}


def run(module, missing_library, work):
    """Call ``work(cluster)``, which returns the module's result; every known problem is the module's message."""
    params, plan = module.params, module.params["plan"]
    if LIBRARY_ERROR:
        module.fail_json(
            msg=f"{missing_library} Install it where this task runs: python -m pip install 'kubernetes>=24.2'",
            exception=LIBRARY_ERROR,
        )
    if "kubernetes" not in plan:
        module.fail_json(
            msg="The plan is for the runtime {}. Set inference_runtime: kubernetes and plan again.".format(
                plan.get("runtime")
            )
        )
    try:
        cluster = Cluster(
            Client(params["kubeconfig"], params["context"]),
            plan["kubernetes"]["namespace"],
            params.get("force_conflicts"),
            params["poll"],
            module.check_mode,
        )
        _finish(module, module.exit_json, work(cluster))
    except KubernetesProblem as error:
        # It has lines of pods' logs and messages of events.
        _finish(module, module.fail_json, dict(error.result, msg=visible(str(error))))


def _finish(module, end, result):
    for text in result.pop("warnings", []):
        module.warn(visible(text))
    end(**result)
