#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module support_logs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: support_logs
short_description: Gather the last minutes of a host's logs without secrets and prompts
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the logs of the services that are deployed on the host, and the files that CANN writes (plog). Changes nothing.
  - Secrets and what may be a prompt or an answer of a client are left out on the host, before anything is returned. Rather too much is left
    out than too little, such as the rest of each line with a field C(content).
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
options:
  directory:
    description: The deployment's folder on the host.
    type: path
    required: true
  host:
    description: The host's name in the inventory.
    type: str
    required: true
  planned:
    description: The question of the plan for this host, used if none is deployed.
    type: dict
  minutes:
    description: How far the logs go back.
    type: int
    default: 30
  mib:
    description: Most MiB of the logs of all hosts together.
    type: int
    default: 64
  hosts:
    description: Number of hosts that share O(mib).
    type: int
    default: 1
  users:
    description: Users in whose home CANN may write its files. The connected user is always one of them.
    type: list
    elements: str
    default: []
  secrets:
    description: Values that are left out wherever they occur. Parts between spaces count as values.
    type: list
    elements: str
    default: []
seealso:
  - module: ascend.inference.support_archive
"""

EXAMPLES = r"""
- name: Gather the logs
  ascend.inference.support_logs:
    directory: /opt/ascend-inference/deployments/inference
    host: "{{ inventory_hostname }}"
  register: gathered
  no_log: true
"""

RETURN = r"""
parts:
  description: The files, as base64 of JSON compressed by zlib.
  returned: success
  type: str
  sample: eJyLjgUAARUAuQ==
rows:
  description: One entry for each file with C(name), C(bytes) and C(problem), which says why it is missing or incomplete.
  returned: success
  type: list
  elements: dict
  sample: [{name: decode-0.log, bytes: 20480, problem: ""}]
left_out:
  description: How many C(secrets) and C(texts) of clients were left out.
  returned: success
  type: dict
  sample: {secrets: 0, texts: 12}
problem:
  description: Why logs of services are missing, empty if there is no reason.
  returned: success
  type: str
  sample: ""
"""

import base64
import contextlib
import glob
import json
import os
import pwd
import time
import zlib

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.runtime.base import RuntimeProblem, command
from ..module_utils.status.plan import deployed, question
from ..module_utils.support.gather import plog_parts, service_part
from ..module_utils.support.redact import Redactor
from ..module_utils.tools.runner import MOST_LOG
from ..module_utils.tools.text import visible

TIMEOUT = 120  # seconds that a runtime may take to print a log
ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "host": {"type": "str", "required": True},
    "planned": {"type": "dict"},
    "minutes": {"type": "int", "default": 30},
    "mib": {"type": "int", "default": 64},
    "hosts": {"type": "int", "default": 1},
    "users": {"type": "list", "elements": "str", "default": []},
    "secrets": {"type": "list", "elements": "str", "default": [], "no_log": True},
}


def run(argv):
    """(return code, both streams as one text). OSError if it cannot be run or hangs."""
    try:
        return command(argv, TIMEOUT, MOST_LOG)
    except RuntimeProblem as error:
        raise OSError(str(error)) from error


def folders(users, directory):
    """Where CANN writes for the connected user, the given ones and services; a user who does not exist has none.

    Units name the deployment's folder of logs to CANN; the home of a container's user is the folder of its service that it may write to.
    """
    homes = {os.environ.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir}
    for user in users:
        with contextlib.suppress(KeyError):
            homes.add(pwd.getpwnam(user).pw_dir)
    homes.update(glob.glob(os.path.join(glob.escape(directory), "services/*/work")))
    return sorted([os.path.join(directory, "logs"), *(os.path.join(home, "ascend/log") for home in homes)])


def gathered(params, now):
    """(parts, left out, problem)."""
    plan, problem = deployed(params["directory"])
    known = question(plan, params["host"]) if plan else params["planned"]
    services = known["services"] if known else []
    redactor, since = Redactor(params["secrets"]), int(now - 60 * params["minutes"])
    each = params["mib"] * 2**20 // max(params["hosts"], 1) // (len(services) + 1)  # one share for CANN
    parts = [service_part(service, since, each, redactor, run) for service in services]
    parts += plog_parts(folders(params["users"], params["directory"]), since, each, redactor)
    return parts, redactor.counts, problem


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    parts, left_out, problem = gathered(module.params, time.time())
    packed = zlib.compress(json.dumps([[part.name, part.text] for part in parts]).encode("utf-8"))
    rows = [dict(part.row(), problem=visible(part.problem)) for part in parts]
    text = base64.b64encode(packed).decode("ascii")
    module.exit_json(changed=False, parts=text, rows=rows, left_out=left_out, problem=visible(problem))


if __name__ == "__main__":
    main()
