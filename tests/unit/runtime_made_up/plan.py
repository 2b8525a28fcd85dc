# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan with the made-up runtime and print what is particular of it."""

from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.distribution import names
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

WORDS = {
    "inference_engine": "vllm_cpu",
    "inference_runtime": "processes",
    "inference_deployment": "x",
    "inference_model": {"path": "/m/tiny"},
    "inference_pools": {"prefill": {}, "decode": {}},
}
HOSTS = {"one": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "10.1.1.1"}}}

plan = launch_plan(WORDS, HOSTS)
service = next(service for service in plan["services"] if service["name"] == "decode-0")
print("runtime", plan["runtime"])
print("unit", service["unit"])
print("log", service["log"])
print("facts", *(f"{name}={plan['runtime_facts'][name]}" for name in ("lifts_limits", "needs_root")))
print("section", {"processes": plan["processes"]})
own = {"processes_packages": {"Debian": ["own"]}}
print(
    "packages",
    [name for name in names(plan, "one", "RedHat", {}) if "procps" in name],
    [name for name in names(plan, "one", "Debian", own) if name == "own"],
)
try:
    launch_plan({**WORDS, "inference_deployment": "wrong"}, HOSTS)
except PlanError as error:
    print("rule", *(f"{finding.id} {finding.path}" for finding in error.findings))
