#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: probe_pause
short_description: Let the probe of a deployment send no requests for a time
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Writes the file that pauses the service C(probe), and waits until its page says that it pauses. What it sends would count as requests of
    others in a measurement.
  - A probe that does not run sends nothing and is not waited for.
attributes:
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  file:
    description: The file, as the plan has it in C(pause_file) of the probe.
    type: path
    required: true
  seconds:
    description: Length of the pause, which ends by itself after it. V(0) ends one now.
    type: int
    required: true
  url:
    description: URL of the probe's health page. Required for a pause.
    type: str
    default: ""
  timeout:
    description: Most seconds to wait for the end of a round that is under way. With engines that hang it takes some of their timeouts.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: Pause the probe for an hour
  ascend.inference.probe_pause:
    file: /opt/ascend-inference/deployments/inference/services/probe/pause
    url: http://10.0.0.1:7900/health
    seconds: 3600
"""

RETURN = r"""
running:
  description: Whether the probe runs. Null if it was not asked, because the pause ended or in check mode.
  returned: success
  type: bool
  sample: true
"""

import contextlib
import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.probe.silence import NotPaused, wait_until_paused
from ..module_utils.tools import foreign_file
from ..module_utils.tools.disk import explained
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "file": {"type": "path", "required": True},
    "seconds": {"type": "int", "required": True},
    "url": {"type": "str", "default": ""},
    "timeout": {"type": "int", "default": 120},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    path, seconds, url = module.params["file"], module.params["seconds"], module.params["url"]
    if seconds > 0 and not url:
        module.fail_json(msg="A pause needs the URL of the probe's health page. Fix: set url")
    changed, running = seconds > 0 or os.path.lexists(path), None
    try:
        if not module.check_mode:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            if seconds > 0:
                foreign_file.write(path, f"{seconds}\n", 0o644)
                running = wait_until_paused(url, module.params["timeout"])
    except OSError as error:
        told = explained(error, os.path.dirname(path), ". Fix: run deploy, which makes its folder")
        module.fail_json(msg=visible(f"Pause of the probe: {told}"))
    except NotPaused as error:
        module.fail_json(msg=visible(str(error)))
    module.exit_json(changed=changed, running=running)


if __name__ == "__main__":
    main()
