#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_files
short_description: Copy the files of a bundle to a host, once
version_added: 0.1.0
description:
  - Compares the files of a bundle that the host's platform needs with those in a folder of the host, and copies what is missing or differs
    in archives, or lets the host fetch it from a server in its rack (O(url)). Each file has its SHA-256 proved on the host before it gets its name.
  - Fails before anything is copied if the bundle has no files for the host's machine, Python or C library, or if the disk is too small.
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ascend.inference.attributes.changing
  - ascend.inference.attributes.with_action
options:
  path:
    description: The folder of the bundle on the controller. Used on the controller only.
    type: path
  manifest_sha256:
    description:
      - RV(ascend.inference.bundle#module:manifest_sha256) of the bundle as this run has verified it. The controller refuses a manifest that is another
        one now. Required there.
    type: str
  directory:
    description:
      - The folder on the host. Files in it that are not of the bundle are left alone. It is refused if root runs the module, and another user owns or
        can write to it or a folder above it.
    type: path
    default: /var/cache/ascend-inference/bundle
  state:
    description: V(compared) copies nothing, for a comparison of all hosts before the first one is changed.
    type: str
    choices: [compared, present]
    default: present
  files:
    description: SHA-256 and size of the files by name. Set by the action plugin.
    type: dict
    default: {}
  archive:
    description: The archive on the host. Set by the action plugin.
    type: path
  url:
    description:
      - Address at which an HTTP server of the rack has the folder of the bundle. The host fetches missing files from there, without proxies, and the
        controller sends none. The server needs the same manifest as the controller, and is compared with it before anything is copied.
    type: str
    default: ""
  images:
    description: Names of the images that the host runs. What an engine has already is not copied. On the host, entries of the manifest.
    type: list
    elements: raw
    default: []
  parts:
    description: Names of the files of each image. Set by the action plugin.
    type: dict
    default: {}
  engine:
    description: The container engine's command line program.
    type: str
    default: docker
  plan:
    description: The plan, from which the packages of the distribution follow. Used on the controller only; none means no packages.
    type: dict
    default: {}
  variables:
    description: The variables of the host that name other packages. Used on the controller only.
    type: dict
    default: {}
  packages:
    description: Names of the packages that roles install if the host lacks them. Set by the action plugin.
    type: list
    elements: str
    default: []
  packages_of_dnf:
    description: The same for hosts with dnf. Set by the action plugin.
    type: list
    elements: str
    default: []
  programs:
    description: The program that each of RV(packages_of_dnf) is for, if it has another name. Set by the action plugin.
    type: dict
    default: {}
  offered:
    description: Whether RV(packages_of_dnf) leaves out what a package source of the host offers. Set by the action plugin.
    type: bool
    default: true
seealso:
  - module: ascend.inference.bundle
"""

EXAMPLES = r"""
- name: Copy the files of the bundle
  ascend.inference.bundle_files:
    path: /media/bundle
    manifest_sha256: "{{ verified.manifest_sha256 }}"

- name: Fetch them from a server of the rack
  ascend.inference.bundle_files:
    path: /media/bundle
    manifest_sha256: "{{ verified.manifest_sha256 }}"
    url: http://192.0.2.9:8000
"""

RETURN = r"""
missing:
  description: Names of the files that were missing or differed.
  returned: success
  type: list
  elements: str
  sample: [httpx-0.28.1-py3-none-any.whl]
host:
  description: Machine, version of Python, version of the C library and distribution of the host.
  returned: success
  type: dict
  sample: {machine: aarch64, python: "3.11", glibc: "2.34", distribution: debian 12}
free:
  description: Free bytes on the disk of O(directory).
  returned: success
  type: int
  sample: 21474836480
platform:
  description: The platform of the bundle whose files the host gets.
  returned: success
  type: str
  sample: aarch64-python3.11-glibc2.34
cann_checksums:
  description: Checksums of the packages of CANN among the files, in the form of the variable of this name.
  returned: success
  type: dict
  sample: {}
packages:
  description: Names of the packages of the distribution that the host lacks and roles may install.
  returned: success
  type: list
  elements: str
  sample: [haproxy]
packages_of_dnf:
  description: Names of those packages that a host with dnf lacks, and with O(offered) that no package source of the host offers.
  returned: success
  type: list
  elements: str
  sample: []
repository:
  description: Whether the folder has packages of the host's distribution, with an index.
  returned: success
  type: bool
  sample: true
repository_type:
  description: Whether these packages are V(deb) or V(rpm); empty without packages.
  returned: success
  type: str
  sample: deb
repository_keys:
  description: Names of the files in the folder with which the signatures of these packages are compared. None for packages that are not signed.
  returned: success
  type: list
  elements: str
  sample: [RPM-GPG-KEY-2f2694cfc206990f]
images:
  description: The images of the host, C(name), C(digest) and C(config) each, for M(ascend.inference.bundle_images).
  returned: success
  type: list
  elements: dict
  sample: []
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files.trust import shared
from ..module_utils.install.bundle_files import (
    FilesError,
    fetch,
    free,
    host,
    lacking,
    lacking_of_dnf,
    missing,
    require_served,
    unpack,
)
from ..module_utils.install.bundle_images import still_needed
from ..module_utils.tools.disk import explained

ARGUMENTS = {
    "path": {"type": "path"},
    "manifest_sha256": {"type": "str"},
    "directory": {"type": "path", "default": "/var/cache/ascend-inference/bundle"},
    "state": {"type": "str", "choices": ["compared", "present"], "default": "present"},
    "files": {"type": "dict", "default": {}},
    "archive": {"type": "path"},
    "url": {"type": "str", "default": ""},
    "images": {"type": "list", "elements": "raw", "default": []},
    "parts": {"type": "dict", "default": {}},
    "engine": {"type": "str", "default": "docker"},
    "plan": {"type": "dict", "default": {}},
    "variables": {"type": "dict", "default": {}},
    "packages": {"type": "list", "elements": "str", "default": []},
    "packages_of_dnf": {"type": "list", "elements": "str", "default": []},
    "programs": {"type": "dict", "default": {}},
    "offered": {"type": "bool", "default": True},
}


def require_own(directory):
    """Raise ``FilesError`` if others could swap files after they were proved: root installs packages from there, and runs what they have."""
    folders = shared(directory) if os.geteuid() == 0 else []
    if folders:
        raise FilesError(
            f"{folders[0]} belongs to another user than root, or others can write to it, so files in {directory} could be swapped after they were "
            "compared with the bundle, and root would run them. [bundle_directory] Nothing was copied. Fix: leave inference_bundle_directory out, or "
            f"make {folders[0]} root's (chown root:root, chmod 755)"
        )


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    result = {"host": host(), "missing": [], "free": 0, "platform": "", "cann_checksums": {}, "images": []}
    result["packages"] = lacking(params["packages"])
    result["packages_of_dnf"] = lacking_of_dnf(params["packages_of_dnf"], params["programs"], params["offered"])
    fetching = params["url"] and params["state"] == "present" and not module.check_mode
    try:
        require_own(params["directory"])
        if params["archive"] and not module.check_mode:
            unpack(params["archive"], params["directory"], params["files"])
        if params["url"]:
            require_served(params["url"], params["manifest_sha256"])
        if fetching:
            fetch(params["url"], params["directory"], params["files"])
        result["missing"] = missing(params["directory"], still_needed(params))
        result["free"] = free(params["directory"])
    except (FilesError, OSError) as error:
        module.fail_json(msg=explained(error, params["directory"]), changed=False, **result)
    module.exit_json(changed=bool(params["archive"] or fetching), **result)


if __name__ == "__main__":
    main()
