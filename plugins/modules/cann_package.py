#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cann_package
short_description: "For your playbooks: install CANN packages from their self-extracting archives"
version_added: 0.1.0
description:
  - Installs toolkit, kernels (called ops from CANN 8.5 on) and NNAL from C(.run) files, side by side with other versions.
  - Installed versions are read from the files that the installers write last, and read again after each installation. The
    exit status of an installer is not relied on.
  - An interrupted installation is detected by the next run, removed and repeated.
  - Driver and firmware are never changed.
options:
  packages:
    description: Paths of the packages on the host. They are installed in the required order.
    type: list
    elements: path
    required: true
  checksums:
    description:
      - Checksum of each package by the name of its file, as C(sha256:HEX). A package that others than the own user and root can change, such as
        one on a network share, is copied below O(install_path) and compared there before it is run.
      - Others are not compared here.
    type: dict
    default: {}
  install_path:
    description: Directory below which CANN is installed.
    type: path
    default: /usr/local/Ascend
  for_all:
    description: Install for all users. Needs root.
    type: bool
    default: true
  missing_ok:
    description: Ignore package files that do not exist. Only for check mode, to show what would be installed.
    type: bool
    default: false
  free_mib:
    description: Required free space in MiB on the file system of O(install_path).
    type: int
    default: 10240
  timeout:
    description: Timeout of one installer in seconds.
    type: float
    default: 3600
extends_documentation_fragment:
  - ascend.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
author:
  - The ascend.inference contributors (@ascend-inference)
"""

EXAMPLES = r"""
- name: Install CANN 9.1.0 for A3
  ascend.inference.cann_package:
    packages:
      - /srv/cann/Ascend-cann-toolkit_9.1.0_linux-aarch64.run
      - /srv/cann/Ascend-cann-A3-ops_9.1.0_linux-aarch64.run
      - /srv/cann/Ascend-cann-nnal_9.1.0_linux-aarch64.run
  register: cann

- name: Show the files that a process must source
  ansible.builtin.debug:
    var: cann.environment
"""

RETURN = r"""
installed:
  description: Installed packages after the run, by kind and version, with their path.
  returned: success
  type: dict
  sample: {toolkit: {"9.1.0": {path: /usr/local/Ascend/cann-9.1.0, arch: aarch64}}, kernels: {}, nnal: {}}
current:
  description: The toolkit's version that set_env.sh selects.
  returned: success
  type: str
environment:
  description: Shell files that a process must source, in order.
  returned: success
  type: list
  elements: str
driver:
  description: Versions of driver and firmware; empty if not installed.
  returned: success
  type: dict
  sample: {driver: 25.5.1, firmware: 7.8.0.2.212}
actions:
  description: Installed packages; in check mode those that would be installed.
  returned: success
  type: list
  elements: str
"""

import os
import shutil

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import ascend_software as software
from ..module_utils.install import cann
from ..module_utils.tools.file_lock import LOCK, Busy, FileLock
from ..module_utils.tools.runner import run
from ..module_utils.tools.text import visible

ARGUMENTS = dict(
    packages=dict(type="list", elements="path", required=True),
    checksums=dict(type="dict", default={}),
    install_path=dict(type="path", default="/usr/local/Ascend"),
    for_all=dict(type="bool", default=True),
    missing_ok=dict(type="bool", default=False),
    free_mib=dict(type="int", default=10240),
    timeout=dict(type="float", default=3600),
)


def wanted(params):
    """The missing packages in installation order, and problems of those that cannot be installed."""
    packages, problems = [], []
    for path in params["packages"]:
        try:
            packages.append(software.package_of(path))
        except ValueError as error:
            problems.append(str(error))
    machine = os.uname().machine
    problems += [
        f"{package.name} is for {package.arch}, but this host is {machine}"
        for package in packages
        if package.arch != machine
    ]
    missing = cann.missing(packages, cann.state(params["install_path"], machine))
    absent = [] if params["missing_ok"] else [item for item in missing if not os.path.isfile(item.path)]
    problems += [f"{item.path} does not exist" for item in absent]
    return missing, problems


def space(params, missing):
    """Problems with free space."""
    place = params["install_path"]
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    free = shutil.disk_usage(place).free // 2**20
    if missing and free < params["free_mib"]:
        return [
            "{} has {} MiB free, but {} are needed: free disk space, or lower free_mib".format(
                place, free, params["free_mib"]
            )
        ]
    return []


def main():
    """Compare, install what is missing, read back."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params, root = module.params, module.params["install_path"]
    missing, problems = wanted(params)
    problems += space(params, missing)
    if problems:
        module.fail_json(msg=visible("Nothing was installed. " + "; ".join(problems)))
    before = software.installed(root, os.uname().machine)
    try:
        if missing and not module.check_mode:
            install(params, missing)
    except (cann.InstallError, Busy, OSError) as error:
        module.fail_json(msg=visible(str(error)))
    module.exit_json(**result(root, missing, before))


def install(params, missing):
    """Install what is missing; one process at a time below the same folder, and what another one installed is left alone."""
    root = params["install_path"]
    os.makedirs(root, exist_ok=True)
    with FileLock(os.path.join(root, LOCK), params["timeout"]) as lock:
        lock.sign()
        for package in missing:
            if not cann.is_installed(root, package):
                checksum = str(params["checksums"].get(package.name, ""))
                with cann.unchangeable(root, package, checksum) as own:
                    cann.install(run, root, own, params["for_all"], params["timeout"])


def result(root, missing, before):
    """The module's result; in check mode with the expected difference."""
    machine = os.uname().machine
    names = [item.name for item in missing]
    shown = sorted(f"{kind} {version}" for kind in before for version in before[kind])
    then = sorted(set(shown) | {f"{item.kind} {item.version}" for item in missing})
    return dict(
        changed=bool(missing),
        actions=["install " + name for name in names],
        installed=software.installed(root, machine),
        current=software.current(root, machine),
        environment=software.environment(root),
        driver=software.driver(),
        diff=dict(before="\n".join(shown) + "\n", after="\n".join(then) + "\n"),
    )


if __name__ == "__main__":
    main()
