#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: source_archive
short_description: Unpack an archive of sources, whole or not at all
version_added: 0.1.0
description:
  - Unpacks the one folder of a C(.tar.gz) as O(path), unless O(path) exists. Files belong to the user that runs the module.
  - Until it is whole it is in the folder O(path) with the suffix C(.new). One of this name that this module did not make is refused, and stays.
options:
  archive:
    description: The archive on the host.
    type: path
    required: true
  path:
    description: The folder that the sources become.
    type: path
    required: true
extends_documentation_fragment:
  - ascend.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.own_folder
"""

EXAMPLES = r"""
- name: Unpack the sources of vLLM-Ascend
  ascend.inference.source_archive:
    archive: /var/cache/ascend-inference/bundle/vllm-ascend.tar.gz
    path: /opt/ascend-inference/sources/vllm-ascend
"""

RETURN = r""" # """

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import own_folder
from ..module_utils.tools.runner import ToolMissing, environment, execute
from ..module_utils.tools.text import visible

PATIENCE = 3600  # seconds


class UnpackError(Exception):
    """The program could not unpack the archive; the text has its output."""


def unpack(archive, path):
    """Unpack into an own folder and rename. Raises ``UnpackError``, ``Foreign`` or ``OSError``."""
    new = path + ".new"
    own_folder.begin(new)
    own_folder.end(new)  # of a run that was killed: files of another archive may be in it
    content = own_folder.begin(new)
    mask = os.umask(0o022)
    try:
        rights = ["--no-same-owner", "--no-same-permissions"]  # without the second, root's tar ignores the mask
        argv = ["tar", *rights, "--strip-components", "1", "-xzf", archive, "-C", content]
        done = execute(argv, PATIENCE, environment(), merged=True)
        if done.rc or done.timed_out:
            raise UnpackError(
                f"{archive} cannot be unpacked: {done.stdout.strip()[-800:] or 'tar did not end'}. Fix: fetch it again"
            )
        os.rename(content, path)
    finally:
        os.umask(mask)
        own_folder.end(new)


def main():
    """Unpack the archive unless the sources are there."""
    module = AnsibleModule(
        dict(archive=dict(type="path", required=True), path=dict(type="path", required=True)), supports_check_mode=True
    )
    path = module.params["path"].rstrip("/")
    changed = not os.path.exists(path)
    try:
        if changed:
            own_folder.require_own(path + ".new")
        if changed and not module.check_mode:
            unpack(module.params["archive"], path)
    except (UnpackError, own_folder.Foreign, ToolMissing, OSError) as error:
        module.fail_json(msg=visible(str(error)))
    module.exit_json(changed=changed)


if __name__ == "__main__":
    main()
