#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: python_venv
short_description: "For your playbooks: create a Python virtual environment atomically"
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Installs requirements into a virtual environment with C(uv), or with C(pip) where C(uv) is unavailable, compiles them,
    imports them as proof, and only then writes a stamp.
  - An environment without its stamp, or one whose installation was interrupted, is built again from nothing. With the
    stamp in place and the same requirements nothing is run at all.
  - One process at a time builds below the same folder, also if hosts share it over NFS. The others wait, and find what they need.
  - C(uv) first writes a lock, the file C(.ascend-inference/LAYER.lock) of the environment, with the versions of all packages and the hashes of
    their files, and then installs the packages of the lock. They need their hashes, unless one of them has none, such as a folder of sources.
    An environment that is built again takes the packages of its lock.
  - A package that several indexes have comes from the first of them, so that nobody can replace it on another one. Extra indexes come before
    the index. C(pip) has no such order.
  - C(uv) itself is installed in one version, by its hash.
  - The package index, extra indexes, folders of wheels and the certificate bundle of C(pip)'s own configuration hold for
    C(uv) too. Keep credentials there or in C(.netrc), not in this module's options.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
  - ascend.inference.attributes.with_action
options:
  path:
    description: Directory of the environment. An existing directory that is not an environment of this module is never changed.
    type: path
    required: true
  layer:
    description: Name of this set of requirements. One environment may have several layers.
    type: str
    default: base
  requirements:
    description: Requirements in the format of C(pip). Pin them; a range is not evaluated again once it is installed.
    type: list
    elements: str
    required: true
  exclude:
    description: Distributions to exclude although others depend on them. Needs C(uv); ignored with C(pip).
    type: list
    elements: str
    default: []
  overrides:
    description:
      - Requirements that replace what installed packages require of the same distributions, where packages of a tested combination
        contradict each other. Needs C(uv); ignored with C(pip).
    type: list
    elements: str
    default: []
  imports:
    description: Modules that must be importable afterwards.
    type: list
    elements: str
    default: []
  python:
    description: Interpreter for a new environment. By default the one that runs this module.
    type: str
    default: ""
  tools:
    description: Environment with C(uv), created when first needed. Empty means C(pip).
    type: str
    default: ""
  index_url:
    description: Package index instead of the configured one.
    type: str
    default: ""
  extra_index_urls:
    description: Additional indexes.
    type: list
    elements: str
    default: []
  fallback_index_urls:
    description: Indexes that are added only if installation fails without them.
    type: list
    elements: str
    default: []
  package_indexes:
    description:
      - Indexes with the packages that they may be asked for. Such an index is used for these packages only, and only if the other indexes
        do not have them. Needs C(uv); ignored with C(pip).
    type: dict
    default: {}
  metadata:
    description: Requirements of packages that are built from source, by C(NAME==VERSION), for the resolution with O(package_indexes).
    type: dict
    default: {}
  find_links:
    description: Additional folders or pages of wheels.
    type: list
    elements: str
    default: []
  index_strategy:
    description:
      - Which of several indexes C(uv) takes a package from, as its option C(--index-strategy). With V(unsafe-first-match) and
        V(unsafe-best-match) it takes versions that the first index with the package does not have from others, for indexes that are
        incomplete mirrors.
      - The default is the variable C(inference_index_strategy), then E(UV_INDEX_STRATEGY) of the host.
    type: str
    choices: [first-index, unsafe-first-match, unsafe-best-match]
    default: first-index
  no_index:
    description: Install only from O(find_links), without an index.
    type: bool
    default: false
  no_binary:
    description: Distributions to build from source even if there are wheels.
    type: list
    elements: str
    default: []
  sdists:
    description:
      - SHA-256 of source distributions by C(NAME==VERSION). If one of O(no_binary) is built from another file, the module fails before the
        build. Needs C(uv); ignored with C(pip).
    type: dict
    default: {}
  build_with_environment:
    description: Build in this environment instead of an isolated one; build requirements must be in an earlier layer.
    type: bool
    default: false
  build_user:
    description:
      - The user who builds O(no_binary), folders of sources and packages that have no wheel for the host, if the module runs as root. A build runs any code
        of the package. It works in
        a folder of its own beside the environment; root installs copies of the wheels. Made as a system user if it does not exist; must not be root. Needs
        C(uv) and C(setpriv) of util-linux.
      - Empty means the connected user.
    type: str
    default: ""
  environment:
    description: Environment variables for the installation, such as those that builds read.
    type: dict
    default: {}
  sources:
    description: Shell files to source before the installation and before the imports, such as CANN's C(set_env.sh).
    type: list
    elements: path
    default: []
  check:
    description: Fail if C(pip check) finds incompatible packages.
    type: bool
    default: false
  lock:
    description: Name of a file in the environment for the list of installed packages with versions.
    type: str
    default: ""
  hashes:
    description:
      - Text of a lock that an earlier run wrote, to install the same packages again. One of other requirements is not used.
      - If the variable C(inference_lock_directory) names a directory on the controller, locks are read from it, and those that are missing are
        written to it. Then all hosts get the same packages.
    type: str
    default: ""
  confirm_hashes:
    description:
      - Use O(hashes) only if the host, with its versions as preferred ones, resolves the same packages and versions from its own index.
        Of one whose second line says that one host resolved it alone, only the versions are preferred.
        Set by the action plugin for locks that another host may have written.
    type: bool
    default: false
  return_hashes:
    description: Return RV(hashes). Set by the action plugin.
    type: bool
    default: false
  lock_timeout:
    description: Seconds to wait for another process that builds an environment beside this one.
    type: int
    default: 3600
  advice:
    description: The fix in the error message if a requirement is not available.
    type: str
    default: ""
  installed:
    description:
      - The result of M(ascend.inference.installed_info) for this host earlier in the same run. If it has this layer with the same
        requirements, no module runs on the host. Used on the controller only.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Install the router
  ascend.inference.python_venv:
    path: /opt/ascend-inference/venvs/router
    requirements: [vllm-router==0.1.17]
    imports: [vllm_router]
"""

RETURN = r"""
path:
  description: Directory of the environment.
  returned: always
  type: str
  sample: /opt/ascend-inference/venvs/router
python:
  description: Interpreter of the environment.
  returned: always
  type: str
  sample: /opt/ascend-inference/venvs/router/bin/python
hashes:
  description: The text of the lock.
  returned: changed and O(return_hashes) is true
  type: str
"""

import os
import sys

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.install.resolution import chosen
from ..module_utils.install.venv import Builder, VenvError, is_incomplete, read_stamp, read_text
from ..module_utils.install.venv_options import ARGUMENTS, result, wanted
from ..module_utils.tools.credentials import hide_passwords
from ..module_utils.tools.disk import explained
from ..module_utils.tools.file_lock import LOCK, Busy, FileLock
from ..module_utils.tools.text import visible


def strategy(params):
    """The strategy for several indexes as uv's variable; its own default is that of the option."""
    wanted_strategy = params["index_strategy"]
    return {} if wanted_strategy == "first-index" else {"UV_INDEX_STRATEGY": wanted_strategy}


def builder(params, inherited):
    """The builder that these parameters ask for; its commands keep the descriptors ``inherited``."""
    options = {
        "index-url": [params["index_url"]] if params["index_url"] else [],
        "extra-index-url": params["extra_index_urls"],
        "find-links": params["find_links"],
    }
    more = {
        "sources": params["sources"],
        "env": {**strategy(params), **{name: str(value) for name, value in params["environment"].items()}},
        "advice": params["advice"],
        "no_index": params["no_index"],
        "inherited": inherited,
        "given_lock": params["hashes"],
        "confirm": params["confirm_hashes"],
        "build_user": params["build_user"],
        "sdists": params["sdists"],
    }
    if params["package_indexes"]:
        indexes, metadata = params["package_indexes"], params["metadata"]
        more["choose"] = lambda made, wish, env: chosen(made, wish, env, indexes, metadata)
    return Builder(params["path"], params["python"] or sys.executable, params["tools"], options, **more)


def build(params, wish):
    """Build the layer; false if another process did meanwhile."""
    beside = os.path.dirname(params["path"].rstrip("/"))
    os.makedirs(beside, mode=0o755, exist_ok=True)
    with FileLock(os.path.join(beside, LOCK), params["lock_timeout"]) as lock:
        if read_stamp(params["path"], params["layer"]) == wish:
            return False
        lock.sign()
        builder(params, (lock.descriptor,)).build(params["layer"], wish, params["fallback_index_urls"])
        return True


def lock_of(params):
    """What is returned of the lock."""
    path = Builder(params["path"], "").lock_path(params["layer"])
    return {"hashes": read_text(path)} if params["return_hashes"] else {}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    hide_passwords(module)
    params = module.params
    found = result(params, read_stamp(params["path"], params["layer"]))
    try:
        if found["changed"]:
            is_incomplete(params["path"])
        if found["changed"] and not module.check_mode:
            found["changed"] = build(params, wanted(params))
            found.update(lock_of(params))
    except (VenvError, Busy, OSError) as error:
        module.fail_json(msg=visible(explained(error, params["path"])), **{**found, "changed": False})
    module.exit_json(**found)


if __name__ == "__main__":
    main()
