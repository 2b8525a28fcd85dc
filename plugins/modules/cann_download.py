#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cann_download
short_description: Fetch CANN packages from a server, with bounds
version_added: 0.1.0
description:
  - Fetches the packages that are not in O(directory), or have another checksum there.
  - A server that sends more than O(max_mib) MiB, or less than 1 MiB within 10 minutes, is given up. Of a file that could not be fetched nothing is left.
options:
  url:
    description: Address of the folder on the server.
    type: str
    required: true
  packages:
    description: Names of the packages.
    type: list
    elements: str
    required: true
  checksums:
    description: Checksum of each package by its name, as C(sha256:HEX). Others are not compared, and fetched only if they are not there.
    type: dict
    default: {}
  directory:
    description: Folder on the host. It must exist, except in check mode.
    type: path
    required: true
  max_mib:
    description: The largest package in MiB.
    type: int
    default: 16384
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
  - module: ascend.inference.cann_package
"""

EXAMPLES = r"""
- name: Fetch the toolkit
  ascend.inference.cann_download:
    url: https://packages.example/cann
    packages: [Ascend-cann-toolkit_9.1.0_linux-aarch64.run]
    checksums: "{{ cann_checksums }}"
    directory: /var/cache/ascend-inference/cann
"""

RETURN = r"""
fetched:
  description: Names of the packages that were fetched, in check mode that would be.
  returned: success
  type: list
  elements: str
  sample: [Ascend-cann-toolkit_9.1.0_linux-aarch64.run]
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.install.download import DownloadError, fetch, is_there
from ..module_utils.tools.text import visible

ARGUMENTS = dict(
    url=dict(type="str", required=True),
    packages=dict(type="list", elements="str", required=True),
    checksums=dict(type="dict", default={}),
    directory=dict(type="path", required=True),
    max_mib=dict(type="int", default=16384),
)


def main():
    """Compare, and fetch what is missing."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params, fetched = module.params, []
    try:
        for name in params["packages"]:
            path, checksum = os.path.join(params["directory"], name), str(params["checksums"].get(name, ""))
            if not is_there(path, checksum):
                fetched.append(name)
                if not module.check_mode:
                    fetch(params["url"].rstrip("/") + "/" + name, path, checksum, params["max_mib"] * 2**20)
    except (DownloadError, OSError, ValueError) as error:  # ValueError: an algorithm that does not exist
        module.fail_json(msg=visible(str(error)))
    module.exit_json(changed=bool(fetched), fetched=fetched)


if __name__ == "__main__":
    main()
