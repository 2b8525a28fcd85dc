#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_tuning
short_description: Set settings of a host for inference, remember the old values, and set them back
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Sets files below C(/proc/sys) and C(/sys), the CPUs of the interrupts of NPUs, drop-ins of units, and stops a service. What was there
    before is remembered, and is set back as soon as the setting is not wanted any more. Without any setting all are set back, and the
    record and the unit are removed.
  - A setting that others changed since is not set back; a warning names it.
  - Writes a unit of systemd that applies the settings of the kernel and of interrupts at boot, after C(systemd-sysctl). It is not enabled by
    this module.
  - Settings that the host does not have or that cannot be written are skipped, such as the governor on hosts without a driver for CPU
    frequencies, and all of them in a container whose C(/proc/sys) is read-only.
  - What the kernel refuses is left out, and the other settings are set. Check mode cannot know it.
  - What it refuses to set back is an error; everything else is set back, and the record keeps the old value.
  - Needs root.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  sysctl:
    description: Settings by name, each with its value.
    type: dict
    default: {}
  sysfs:
    description: Values by path. A path may have the wildcards of a shell; each matching file gets the value.
    type: dict
    default: {}
  interrupts:
    description:
      - By an NPU's address on the PCI bus, the CPUs of its interrupts C(sq_send_trigger_irq) and C(cq_update_irq), two lists as the kernel
        writes them.
    type: dict
    default: {}
  files:
    description: Drop-ins of units by path, each with its text. Only files named C(50-ascend-inference-tuning.conf) below C(/etc/systemd/system).
    type: dict
    default: {}
  services:
    description:
      - What happens to services of others, by unit. V(stopped) stops and disables it; that it ran, and whether it was enabled, is remembered.
        V(excluding) restarts it when its drop-in of O(files) changes. Only C(irqbalance.service) is allowed.
    type: dict
    default: {}
  systemctl:
    description: Path of systemctl. It is only used with O(services), and to start again what was stopped.
    type: path
  record:
    description: The file with the old values.
    type: path
    default: /var/lib/ascend-inference/tuning.json
  unit:
    description: The unit that applies the settings at boot.
    type: path
    default: /etc/systemd/system/ascend-inference-tuning.service
  root:
    description: The folder below which all paths are. Another one than V(/) is for tests.
    type: path
    default: /
seealso:
  - module: ascend.inference.kernel_settings
"""

EXAMPLES = r"""
- name: Let engines stay in memory and CPUs at full speed
  ascend.inference.host_tuning:
    sysctl: {vm.swappiness: "1", kernel.numa_balancing: "0"}
    sysfs: {/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor: performance}
  become: true

- name: Set everything back
  ascend.inference.host_tuning:
  become: true
"""

RETURN = r"""
steps:
  description: The changed files and services with the value before and after.
  returned: success
  type: list
  elements: dict
  sample: [{path: /proc/sys/vm/swappiness, before: "60", after: "1"}]
not_set:
  description: Settings that are not set, or not to the whole value, with the reason.
  returned: success
  type: dict
  sample: {"/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor": "the host has no such file"}
restart:
  description: Units whose CPUs changed. They get them when they are started again.
  returned: success
  type: list
  elements: str
  sample: [inference-prefill-0.service]
unit:
  description: Whether there is a unit to be enabled.
  returned: success
  type: bool
"""

import contextlib
import os
import re

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files.tree import TreeError
from ..module_utils.host.cpu_list import parse_cpus
from ..module_utils.host.interrupts import PCI
from ..module_utils.host.tuning import Tuning
from ..module_utils.host.tuning_facts import UNIT
from ..module_utils.tools.errors import ToolError
from ..module_utils.tools.file_lock import Busy, FileLock
from ..module_utils.tools.text import visible

LOCK = "/run/ascend-inference-tuning.lock"  # below the root; only root can write there
PATIENCE = 60  # seconds that another run may need
NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_-]+)+\Z")
PATTERN = re.compile(r"/sys/[\w/.*-]+\Z", re.ASCII)
VALUE = re.compile(r"[\w+-]+\Z", re.ASCII)  # written into a shell command of the unit
DROP_IN = re.compile(r"/etc/systemd/system/[\w@.-]+\.d/50-ascend-inference-tuning\.conf\Z", re.ASCII)
WANTED = ("sysctl", "sysfs", "interrupts", "files", "services")
SERVICES = {"irqbalance.service": ("stopped", "excluding")}


def problems(wanted):
    """Names, paths and values that cannot be written to a unit, and services that are not known."""
    sysctl, sysfs, interrupts, files, services = (wanted[name] for name in WANTED)
    found = [f"{name!r} is not the name of a kernel setting" for name in sysctl if not NAME.match(name)]
    found += [f"{path!r} is not a path below /sys" for path in sysfs if not PATTERN.match(path) or ".." in path]
    both = dict(sysctl, **sysfs)
    found += [f"{both[key]!r} is no value for {key}" for key in sorted(both) if not VALUE.match(both[key])]
    for address in sorted(interrupts):
        try:
            lists = [parse_cpus(cpus) for cpus in interrupts[address]]
        except ValueError as error:
            found.append(f"{address}: {error}")
            continue
        if not PCI.match(address) or len(lists) != 2 or not all(lists):
            found.append(f"{address!r}: expected an address on the PCI bus with two lists of CPUs")
    found += [f"{path!r} is no drop-in of this module" for path in sorted(files) if not DROP_IN.match(path)]
    found += [
        f"{unit}: {services[unit]!r}" for unit in sorted(services) if services[unit] not in SERVICES.get(unit, ())
    ]
    return found


def texts(options, name):
    """A dict option with texts as keys and values, and lists of texts for interrupts."""
    if name == "interrupts":
        pairs = options.items()
        return {str(key): [str(v) for v in value] if isinstance(value, (list, tuple)) else [] for key, value in pairs}
    return {str(key): str(value) for key, value in options.items()}


def main():
    options = {name: dict(type="dict", default={}) for name in WANTED}
    options.update(
        systemctl=dict(type="path"),
        record=dict(type="path", default="/var/lib/ascend-inference/tuning.json"),
        unit=dict(type="path", default=UNIT),
        root=dict(type="path", default="/"),
    )
    module = AnsibleModule(options, supports_check_mode=True)
    params = module.params
    wanted = {name: texts(params[name], name) for name in WANTED}
    if problems(wanted):
        module.fail_json(msg="Nothing was changed. " + "; ".join(problems(wanted)))
    try:
        result = tuned(params, wanted)
        if result[1] and not module.check_mode:  # compared again: another run may have changed the record since
            with locked(params["root"]):
                result = tuned(params, wanted, apply=True)
    except (ToolError, TreeError, Busy, OSError) as error:
        module.fail_json(msg=visible(f"Host tuning: {error}"))
    finish(module, *result)


@contextlib.contextmanager
def locked(root):
    """One run at a time: of two, the second one would write its record over the old values that the first one remembers."""
    path = root.rstrip("/") + LOCK
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with FileLock(path, PATIENCE) as lock:
        lock.sign()
        try:
            yield
        finally:
            os.unlink(path)


def tuned(params, wanted, apply=False):
    """(the settings, whether they differ, the difference, the steps), and with ``apply`` they are set."""
    tuning = Tuning(params["root"], params["record"], params["unit"], wanted, params["systemctl"])
    changed = tuning.changed
    if changed and apply:
        changed = tuning.apply()
    return tuning, changed, tuning.difference, tuning.shown


def finish(module, tuning, changed, difference, steps):
    """Warn and answer."""
    for note in tuning.notes:
        module.warn(note)
    steps = [dict(path=path, before=old, after=new) for path, old, new in steps]
    result = dict(changed=changed, steps=steps, restart=tuning.restart, unit=bool(tuning.unit), diff=difference)
    module.exit_json(not_set=tuning.skipped, **result)


if __name__ == "__main__":
    main()
