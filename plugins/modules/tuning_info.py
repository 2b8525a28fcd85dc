#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: tuning_info
short_description: Gather the state of all settings that tuning concerns
version_added: 0.1.0
description:
  - Reads kernel settings, governors, transparent huge pages, the CPUs of NUMA nodes, the interrupts of NPUs with their CPUs, irqbalance,
    and whether jemalloc and the programs that vLLM-Ascend's CPU binding needs are installed.
  - Runs no command and changes nothing.
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  root:
    description: The folder below which all paths are. Another one than V(/) is for tests.
    type: path
    default: /
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.host_tuning
"""

EXAMPLES = r"""
- name: Gather the state of tuning
  ascend.inference.tuning_info:
  register: tuning
"""

RETURN = r"""
machine:
  description: The machine type.
  returned: success
  type: str
  sample: aarch64
sysctl:
  description: Kernel settings that the host has, by name.
  returned: success
  type: dict
  sample: {vm.swappiness: "60", kernel.numa_balancing: "1", vm.nr_hugepages: "0"}
governors:
  description: C(found) is the number of CPUs by governor, C(possible) whether their drivers offer C(performance). Empty without a driver.
  returned: success
  type: dict
  sample: {found: {ondemand: 320}, possible: true}
transparent_hugepages:
  description: The values of C(enabled) and C(defrag).
  returned: success
  type: dict
  sample: {enabled: always, defrag: madvise}
memory:
  description: Memory in MiB, and huge pages as counts.
  returned: success
  type: dict
  sample: {memory_total_mib: 1546000, hugepages_total: 0, hugepage_size_kib: 2048}
online:
  description: The CPUs, as a list of the kernel.
  returned: success
  type: str
  sample: 0-319
nodes:
  description: The CPUs of each NUMA node.
  returned: success
  type: dict
  sample: {"0": 0-79, "1": 80-159}
interrupts:
  description:
    - By an NPU's address on the PCI bus, the C(numbers) and C(cpus) of its interrupts C(send) (C(sq_send_trigger_irq)) and C(update)
      (C(cq_update_irq)), its NUMA C(node) (-1 if it is not known), and the CPUs that are C(near).
  returned: success
  type: dict
  sample:
    "0000:c1:00.0": {numbers: {send: 812, update: 813}, cpus: {send: 0-319, update: 0-319}, node: 0, near: 0-79}
irqbalance:
  description: Whether it is C(active), and the interrupts that its command line excludes.
  returned: success
  type: dict
  sample: {active: true, banned: []}
jemalloc:
  description: Path of the distribution's library. Empty if it is not installed.
  returned: success
  type: str
  sample: /usr/lib64/libjemalloc.so.2
tools:
  description: Which of C(lscpu), C(migratepages) and C(taskset) the host has.
  returned: success
  type: list
  elements: str
remembered:
  description: Values of before the first change by M(ascend.inference.host_tuning), by path. Empty for other users than root.
  returned: success
  type: dict
  sample: {/proc/sys/vm/swappiness: "60\n"}
boot:
  description: Whether C(systemd) manages the host, the C(unit) that applies settings at boot, and whether it is C(present).
  returned: success
  type: dict
  sample: {systemd: true, unit: ascend-inference-tuning.service, present: false}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.tuning_facts import tuning_facts


def main():
    module = AnsibleModule(dict(root=dict(type="path", default="/")), supports_check_mode=True)
    module.exit_json(changed=False, **tuning_facts(module.params["root"]))


if __name__ == "__main__":
    main()
