# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan with the made-up engine and print what is particular of it."""

import json

from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.deviations import _versions
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import software_files

WORDS = {
    "inference_engine": "toy",
    "inference_deployment": "x",
    "inference_model": {"path": "/m/tiny"},
    "inference_kv_transfer": "mooncake+store",
    "inference_pools": {"prefill": {}, "decode": {}},
}
HOSTS = {"one": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "10.1.1.1"}}}


def named(plan, name):
    return next(service for service in plan["services"] if service["name"] == name)


def option(service, name):
    return service["argv"][service["argv"].index(name) + 1]


plan = launch_plan(WORDS, HOSTS)
service = named(plan, "prefill-0")
client = json.loads(next(file["content"] for file in service["files"] if file["path"].endswith("mooncake.json")))
connectors = json.loads(option(service, "--kv-transfer-config"))["kv_connector_extra_config"]["connectors"]
print("engine", plan["engine"], plan["hosts"][0]["hardware"], service["devices"])
print("facts", json.dumps(plan["engine_facts"], sort_keys=True))
print("environment", plan["software"]["engine"]["venv"], service["env"]["TOY"], "PYTHONPATH" in service["env"])
print("connectors", *(connector["kv_connector"] for connector in connectors))
print("ports", *(port["name"] for port in service["ports"]))
print(
    "store", client["protocol"], client["metadata_server"], client["global_segment_size"], "local_buffer_size" in client
)
print("ends", option(service, "--shutdown-timeout"))
print("verified", plan["verify"]["block_size"], plan["verify"]["match"], plan["verify"]["transfer"]["protocol"])
print("restarts with", *software_files(plan, service))
lacking = list(_versions({"engine_facts": plan["engine_facts"], "findings": []}, {"one": {"kernel": "6"}}))
print("acceptance", *(finding.problem for finding in lacking))
image = launch_plan({**WORDS, "inference_runtime": "docker", "inference_image": "toy:1"}, HOSTS)
print("container", named(image, "prefill-0")["container"]["image"])
try:
    launch_plan({**WORDS, "inference_kv_transfer": "llmdatadist"}, HOSTS)
except PlanError as error:
    print("rule", *(finding.problem for finding in error.findings if finding.id == "CONNECTOR-CPU"))
