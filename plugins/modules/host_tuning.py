#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_tuning
short_description: Set kernel settings of a host, remember the old values, and set them back
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Sets files below C(/proc/sys) and C(/sys). The value that each had before is remembered, and is set back as soon as the setting is not
    wanted any more. Without any setting all are set back, and the record and the unit are removed.
  - A setting that others changed since is not set back; a warning names it.
  - Writes a unit of systemd that applies the same settings at boot, after C(systemd-sysctl). It is not enabled by this module.
  - Settings that the host does not have are skipped, such as the governor on hosts without a driver for CPU frequencies.
  - Needs root.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
options:
  sysctl:
    description: Settings by name, each with its value.
    type: dict
    default: {}
  sysfs:
    description: Values by path. A path may have the wildcards of a shell; each matching file gets the value.
    type: dict
    default: {}
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
  description: The changed files with the value before and after.
  returned: success
  type: list
  elements: dict
  sample: [{path: /proc/sys/vm/swappiness, before: "60", after: "1"}]
skipped:
  description: Settings that the host does not have, with the reason.
  returned: success
  type: dict
  sample: {"/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor": "the host has no such file"}
unit:
  description: Whether there is a unit to be enabled.
  returned: success
  type: bool
"""

import re

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.tuning import Tuning
from ..module_utils.tools.errors import ToolError

NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_-]+)+\Z")
PATTERN = re.compile(r"/sys/[\w/.*-]+\Z", re.ASCII)
VALUE = re.compile(r"[\w+-]+\Z", re.ASCII)  # written into a shell command of the unit


def problems(sysctl, sysfs):
    """Names, paths and values that cannot be written to a unit."""
    found = [f"{name!r} is not the name of a kernel setting" for name in sysctl if not NAME.match(name)]
    found += [f"{path!r} is not a path below /sys" for path in sysfs if not PATTERN.match(path) or ".." in path]
    both = dict(sysctl, **sysfs)
    return found + [f"{both[key]!r} is no value for {key}" for key in sorted(both) if not VALUE.match(both[key])]


def main():
    options = dict(
        sysctl=dict(type="dict", default={}),
        sysfs=dict(type="dict", default={}),
        record=dict(type="path", default="/var/lib/ascend-inference/tuning.json"),
        unit=dict(type="path", default="/etc/systemd/system/ascend-inference-tuning.service"),
        root=dict(type="path", default="/"),
    )
    module = AnsibleModule(options, supports_check_mode=True)
    params = module.params
    sysctl, sysfs = ({str(key): str(value) for key, value in params[name].items()} for name in ("sysctl", "sysfs"))
    if problems(sysctl, sysfs):
        module.fail_json(msg="Nothing was changed. " + "; ".join(problems(sysctl, sysfs)))
    try:
        tuning = Tuning(params["root"], params["record"], params["unit"], sysctl, sysfs)
        changed, difference = tuning.changed, tuning.difference
        if changed and not module.check_mode:
            tuning.apply()
    except (ToolError, OSError) as error:
        module.fail_json(msg=f"Host tuning: {error}")
    for note in tuning.notes:
        module.warn(note)
    steps = [dict(path=path, before=old.strip(), after=new.strip()) for path, old, new in tuning.steps]
    module.exit_json(changed=changed, steps=steps, skipped=tuning.skipped, unit=bool(tuning.unit), diff=difference)


if __name__ == "__main__":
    main()
