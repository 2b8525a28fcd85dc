#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_delivery_info
short_description: Read the record of a model, and how far it is on its way
version_added: 0.1.0
description:
  - Compares the files at the path with the record that M(ascend.inference.model_delivery) left there, by their sizes, or by each byte.
options:
  path:
    description: Folder of the model.
    type: path
    required: true
  every_byte:
    description: Compare the digest of each file. Reads all of the model.
    type: bool
    default: false
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.model_delivery
"""

EXAMPLES = r"""
- name: Compare each byte
  ascend.inference.model_delivery_info:
    path: /models/Qwen3-30B-A3B
    every_byte: true
"""

RETURN = r"""
exists:
  description: Whether something is at the path.
  returned: success
  type: bool
record:
  description: "The record: C(source), C(revision), C(digest) and C(files) with C(name), C(size) and C(sha256). Empty without one."
  returned: success
  type: dict
differences:
  description: What differs from the record, as sentences. Without a record there is one about it if O(every_byte) is set.
  returned: success
  type: list
  elements: str
  sample: [model-00002-of-00004.safetensors is missing]
progress:
  description: Files and bytes of a delivery that is not complete, the run that it belongs to, and whether its process is at work.
  returned: success
  type: dict
  contains:
    run: {description: The run that began it., type: str, returned: success}
    runs: {description: Whether its process is at work., type: bool, returned: success}
    files: {description: Files of the model., type: int, returned: success}
    files_done: {description: Files that are complete., type: int, returned: success}
    bytes: {description: Bytes of the model., type: int, returned: success}
    bytes_there: {description: Bytes that have come., type: int, returned: success}
    error: {description: Why it ended before the model was complete; empty if it did not., type: str, returned: success}
  sample: {run: a1b2, runs: true, files: 14, files_done: 3, bytes: 61083000000, bytes_there: 13000000000, error: ""}
free:
  description: Free bytes where the path is or will be.
  returned: success
  type: int
foreign:
  description: Why the folder beside the path cannot be used; empty if it can.
  returned: success
  type: str
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import listing, own_folder
from ..module_utils.model import delivery
from ..module_utils.tools.text import visible


def free_at(path):
    """Free bytes of the disk of a path that may not exist yet."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def gather(path, every_byte):
    """The result of the module."""
    record, foreign, differences = listing.read(path), "", []
    if record:
        differences = [visible(text) for text in listing.differences(path, record["files"], every_byte)]
    elif every_byte:
        differences = [
            f"{path} has no record of a model that this collection brought, so its files are compared with nothing"
        ]
    try:
        own_folder.require_own(delivery.beside(path))
    except own_folder.Foreign as error:
        foreign = str(error)
    state = delivery.state(path)
    known = {"run": "", "files": 0, "files_done": 0, "bytes": 0, "bytes_there": 0, "error": ""}
    progress = {name: state.get(name, known[name]) for name in known} if state else {}
    return {
        "exists": os.path.lexists(path),
        "record": record,
        "differences": differences,
        "progress": dict(progress, runs=delivery.runs(state)) if state else {},
        "free": free_at(path),
        "foreign": foreign,
    }


def main():
    """Read."""
    arguments = dict(path=dict(type="path", required=True), every_byte=dict(type="bool", default=False))
    module = AnsibleModule(arguments, supports_check_mode=True)
    try:
        found = gather(module.params["path"].rstrip("/"), module.params["every_byte"])
    except OSError as error:
        module.fail_json(msg=visible(str(error)))
    module.exit_json(changed=False, **found)


if __name__ == "__main__":
    main()
